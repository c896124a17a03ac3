//! The interrupts that each CPU received, and the affinity of those of devices.

use oscost_model::watch::InterruptActivity;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// Maximum size of `/proc/interrupts`: some 100 CPUs with 400 lines. A truncated table would be
/// wrong.
const MAX_BYTES: usize = 512 << 10;

/// Maximum number of sources; a large server has some 500.
const MAX_SOURCES: usize = 1024;

/// A line of `/proc/interrupts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::facts) struct Source {
    irq: String,
    name: Option<String>,
    times: Vec<u64>,
}

/// The present table, by number or by the kernel's abbreviation; counts in the order of `cpus`.
/// `None` if it cannot be read completely.
pub(in crate::facts) fn table(roots: &Roots, cpus: &[u32]) -> Option<Vec<Source>> {
    parse_table(&reader::whole(&roots.at("proc/interrupts"), MAX_BYTES)?, cpus)
}

fn parse_table(text: &str, cpus: &[u32]) -> Option<Vec<Source>> {
    let mut lines = text.lines();
    // The first line names the CPUs that are online, so a column is not the CPU number.
    let columns: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let mut wanted = Vec::new();
    for cpu in cpus {
        let name = format!("CPU{cpu}");
        wanted.push(columns.iter().position(|column| *column == name)?);
    }
    let mut sources = Vec::new();
    for line in lines.take(MAX_SOURCES) {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // These count for the whole machine, in one column.
        let of_no_cpu = matches!(label.trim(), "ERR" | "MIS" | "Err");
        let Some((counts, names)) = words.split_at_checked(columns.len()) else { continue };
        let mut times = Vec::new();
        for &at in &wanted {
            times.extend(counts.get(at).and_then(|word| word.parse::<u64>().ok()));
        }
        let irq = parse::printable(label, 16).filter(|_| !of_no_cpu && times.len() == wanted.len());
        if let Some(irq) = irq {
            sources.push(Source { irq, name: name(names), times });
        }
    }
    Some(sources)
}

/// The name of a source. In the line of a device, the chip, its input and the trigger mode precede
/// the name.
fn name(words: &[&str]) -> Option<String> {
    let is_trigger = |word: &&str| ["edge", "level", "fasteoi"].iter().any(|it| word.ends_with(it));
    let begin = words.iter().position(is_trigger).map_or(0, |at| at + 1);
    parse::printable(&parse::mask_mac(&words.get(begin..)?.join(" ")), 64)
}

/// The difference of two tables: all sources of devices, and other sources with interrupts.
pub(in crate::facts) fn difference(
    roots: &Roots,
    before: &[Source],
    after: Vec<Source>,
) -> Vec<InterruptActivity> {
    let active = |Source { irq, name, times: now }: Source| {
        let then = before.iter().find(|then| then.irq == irq);
        let grown = now.iter().enumerate().map(|(at, &now)| {
            now.saturating_sub(then.and_then(|then| then.times.get(at)).copied().unwrap_or(0))
        });
        let times: Vec<u64> = grown.collect();
        let is_device = irq.parse::<u32>().is_ok();
        if !is_device && times.iter().all(|&times| times == 0) {
            return None;
        }
        let list = |file: &str| {
            let path = roots.at("proc/irq").join(&irq).join(file);
            is_device.then(|| reader::list(&path)).flatten()
        };
        let (allowed, effective) = (list("smp_affinity_list"), list("effective_affinity_list"));
        Some(InterruptActivity { irq, name, counts: times, allowed, effective })
    };
    after.into_iter().filter_map(active).collect()
}

/// The number of interrupts of a CPU; `cpu_index` is its index among the recorded CPUs.
pub(in crate::facts) fn sum(active: &[InterruptActivity], cpu_index: usize) -> u64 {
    active.iter().filter_map(|source| source.counts.get(cpu_index)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU3
 24:          1         20  IO-APIC   5-edge      ACPI:Ged
 41:          7          0 PCI-MSIX-0000:00:04.0   1-edge      enx525400123456-rx-0
LOC:        100        500   Local timer interrupts
ERR:          9
";

    #[test]
    fn sources_are_read_by_the_names_of_columns_and_without_addresses() {
        let table = parse_table(TABLE, &[3]).unwrap();
        let of = |irq: &str| {
            let found = table.iter().find(|source| source.irq == irq).unwrap();
            (found.name.clone().unwrap(), found.times.clone())
        };
        assert_eq!(of("24"), ("ACPI:Ged".into(), vec![20]));
        assert_eq!(of("41"), ("enx***-rx-0".into(), vec![0]));
        assert_eq!(of("LOC"), ("Local timer interrupts".into(), vec![500]));
        assert_eq!(table.len(), 3, "ERR belongs to no CPU");
        assert_eq!(parse_table(TABLE, &[1]), None, "that CPU has no column");
        assert_eq!(parse_table("", &[0]), None);
    }
}
