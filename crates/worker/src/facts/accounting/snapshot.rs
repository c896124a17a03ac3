//! Disturbance counters of a CPU: read before and after a timed part, never inside one.

use oscost_model::facts::Snapshot;

use crate::facts::source::reader;
use crate::facts::source::roots::Roots;
use crate::facts::system::cgroup;

/// Maximum size of `/proc/interrupts`: some 100 CPUs with 400 lines. A sum over part of the file
/// would be wrong, so with a longer one the sum is unknown.
const MAX_INTERRUPTS_BYTES: usize = 512 << 10;

/// `user nice system idle iowait irq softirq steal`; the guest times after them are contained in
/// `user` and `nice`.
const STAT_COLUMNS: usize = 8;
const IDLE_COLUMNS: std::ops::Range<usize> = 3..5;

/// Reads all counters that are readable.
pub(in crate::facts) fn take(roots: &Roots, cpu: u32) -> Snapshot {
    let stat = reader::lines(&roots.at("proc/stat"));
    let ticks = stat.and_then(|stat| ticks(&stat, cpu));
    let pressure = reader::lines(&roots.at("proc/pressure/cpu"));
    let interrupts = reader::whole(&roots.at("proc/interrupts"), MAX_INTERRUPTS_BYTES);
    let loadavg = reader::value(&roots.at("proc/loadavg")).unwrap_or_default();
    let mut load = loadavg.split_whitespace();
    let group = cgroup::own_group(roots, "cpu");
    let throttling = group.map(|group| group.throttling()).unwrap_or_default();
    Snapshot {
        cpu,
        steal_ticks: ticks.map(|ticks| ticks.steal),
        total_ticks: ticks.map(|ticks| ticks.total),
        busy_ticks: ticks.map(|ticks| ticks.busy),
        pressure_cpu_some_avg10_pct: pressure.and_then(|text| some_avg10(&text)),
        interrupts: interrupts.and_then(|text| column_sum(&text, cpu)),
        throttled_periods: throttling.periods,
        throttled_us: throttling.us,
        load_1min: load.next().and_then(finite),
        runnable_tasks: load.nth(2).and_then(|tasks| tasks.split_once('/')?.0.parse().ok()),
    }
}

/// A finite number: JSON has no infinity and no NaN.
pub(in crate::facts) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Clock ticks of a CPU since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::facts) struct CpuTicks {
    /// Those in which the hypervisor ran another guest.
    pub(in crate::facts) steal: u64,
    pub(in crate::facts) total: u64,
    /// Those in which it was neither idle nor waited for a disk.
    pub(in crate::facts) busy: u64,
}

/// The ticks of one CPU.
pub(in crate::facts) fn ticks(stat: &str, cpu: u32) -> Option<CpuTicks> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
    let columns = line.split_whitespace().take(STAT_COLUMNS).map(str::parse);
    let columns: Vec<u64> = columns.collect::<Result<_, _>>().ok()?;
    let steal = *columns.get(STAT_COLUMNS - 1)?;
    let total = columns.iter().try_fold(0, |sum: u64, ticks| sum.checked_add(*ticks))?;
    let idle =
        columns.get(IDLE_COLUMNS)?.iter().try_fold(0, |sum: u64, it| sum.checked_add(*it))?;
    Some(CpuTicks { steal, total, busy: total.checked_sub(idle)? })
}

/// `some avg10=0.07 avg60=...`, in percent.
pub(in crate::facts) fn some_avg10(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("avg10=")).and_then(finite)
}

/// The sum of the column of one CPU. The first line names the CPUs that are online, so a column is
/// not the CPU number. `ERR` and `MIS` count for the whole machine, in the column of the first CPU.
fn column_sum(interrupts: &str, cpu: u32) -> Option<u64> {
    let name = format!("CPU{cpu}");
    let mut lines = interrupts.lines();
    let column = lines.next()?.split_whitespace().position(|word| word == name)?;
    let of_cpus = lines.filter_map(|line| line.split_once(':'));
    let of_cpus = of_cpus.filter(|(label, _)| !matches!(label.trim(), "ERR" | "MIS" | "Err"));
    let counts = of_cpus
        .filter_map(|(_, counts)| counts.split_whitespace().nth(column)?.parse::<u64>().ok());
    counts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_1_is_not_confused_with_cpu_10() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu10 1 1 1 1 1 1 1 5 0 0\ncpu1 1 2 3 4 5 6 7 8 9 9\n";
        assert_eq!(ticks(stat, 1), Some(CpuTicks { steal: 8, total: 36, busy: 27 }));
        assert_eq!(ticks(stat, 10), Some(CpuTicks { steal: 5, total: 12, busy: 10 }));
        assert_eq!(ticks(stat, 2), None);
    }

    #[test]
    fn interrupts_are_summed_by_the_name_of_the_column() {
        let text =
            "      CPU0   CPU3\n 24:  1  20  IO-APIC 5-edge ACPI\nLOC:  4  500  Local\nERR:  7\n";
        assert_eq!(column_sum(text, 0), Some(5));
        assert_eq!(column_sum(text, 3), Some(520));
        assert_eq!(column_sum(text, 1), None);
        assert_eq!(column_sum("", 0), None);
    }

    #[test]
    fn a_value_that_is_not_a_finite_number_is_unknown() {
        assert_eq!(some_avg10("some avg10=0.07 avg60=0.38\nfull avg10=9\n"), Some(0.07));
        assert_eq!(some_avg10("some avg10=inf\n"), None);
        assert_eq!(some_avg10("full avg10=1\n"), None);
    }
}
