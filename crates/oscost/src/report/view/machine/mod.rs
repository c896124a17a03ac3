//! What a machine is made of, as text and as JSON: every row is always there, with a value or with
//! the reason why there is none.

mod hardware;
mod software;

use std::fmt::Write as _;

use oscost_model::clock::{Calibration, ClockVerdict};
use oscost_model::facts::{Bound, Facts, NetworkCard};
use oscost_model::protocol::{CpuProbe, WorkerBuild};
use serde::Serialize;

use crate::report::text::{fold, plain};

/// The column in which values begin.
const VALUES_AT: usize = 22;

/// Disks and sorts of cards that are described in full.
const MOST_DEVICES: usize = 16;

/// All that is known of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// Its facts.
    pub facts: &'a Facts,
    /// Which clocks can be used there.
    pub clocks: &'a [ClockVerdict],
    /// The program that measures there.
    pub program: &'a WorkerBuild,
    /// How fast core and counter run.
    pub rates: &'a Rates,
}

/// How fast core and counter run.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// A spin on one CPU.
    pub probe: Option<CpuProbe>,
    /// The clock, calibrated there.
    pub calibration: Option<Calibration>,
    /// Why neither was asked for.
    pub unasked: Option<String>,
}

/// A value, or why there is none.
enum Shown {
    Value(String),
    Hidden(String),
}

/// A value, or the reason.
fn or(value: Option<String>, why: impl FnOnce() -> String) -> Shown {
    value.map_or_else(|| Shown::Hidden(why()), Shown::Value)
}

/// The text.
pub fn text(machine: &Description<'_>) -> String {
    let mut out = String::new();
    for group in groups(machine) {
        if !out.is_empty() {
            out.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", plain(&group.title));
        for (name, shown) in group.rows {
            let value = match shown {
                Shown::Value(value) => value,
                Shown::Hidden(why) => format!("not visible: {why}"),
            };
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            let indent = " ".repeat(VALUES_AT);
            let value = broken(&value, 78 - VALUES_AT);
            let _ = writeln!(out, "  {name:<20}{}", fold(&value, 78 - VALUES_AT, &indent));
        }
    }
    out
}

/// Words that are longer than a line, in pieces: a command line may hold such.
fn broken(text: &str, width: usize) -> String {
    let pieces = |word: &str| -> String {
        let letters: Vec<char> = word.chars().collect();
        let pieces: Vec<String> = letters.chunks(width).map(|it| it.iter().collect()).collect();
        pieces.join(" ")
    };
    text.split_whitespace().map(pieces).collect::<Vec<_>>().join(" ")
}

/// Names and what is shown of them, in order.
type Rows = Vec<(&'static str, Shown)>;

/// Rows that belong together.
struct Group {
    title: String,
    rows: Rows,
}

fn groups(machine: &Description<'_>) -> Vec<Group> {
    let facts = machine.facts;
    let group = |title: &str, rows| Group { title: title.to_owned(), rows };
    let mut groups = vec![
        group("Processor", hardware::processor(machine)),
        group("Caches", hardware::caches(facts)),
        group("Memory", hardware::memory(facts)),
    ];
    groups.extend(facts.disks.iter().take(MOST_DEVICES).map(|disk| Group {
        title: format!("Disk {}", disk.name),
        rows: hardware::disk_rows(facts, disk),
    }));
    if facts.disks.is_empty() {
        let none = why(facts, "/sys/block", "no block device holds anything");
        groups.push(group("Disk", vec![("model", Shown::Hidden(none))]));
    }
    let cards: Vec<&NetworkCard> =
        facts.network.iter().filter(|card| card.kind != "loopback").take(MOST_DEVICES).collect();
    groups.extend(cards.iter().map(|card| Group {
        title: match card.count {
            1 => format!("Network card ({})", card.kind),
            count => format!("Network cards ({}, {count} equal ones)", card.kind),
        },
        rows: hardware::card_rows(facts, card),
    }));
    if cards.is_empty() {
        let none = why(facts, "/sys/class/net", "no card shows but loopback");
        groups.push(group("Network card", vec![("model", Shown::Hidden(none))]));
    }
    groups.push(group("System", software::system(machine)));
    groups.push(group("Clocks and scheduling", software::scheduling(machine)));
    groups.push(group("Limits", software::limits(facts)));
    groups.push(group("Security and tracing", software::security(facts)));
    groups.push(group("Processor flaws", software::flaws(facts)));
    groups
}

/// Why a fact is not known: what its source says, or `otherwise` where it can be read.
fn why(facts: &Facts, source: &str, otherwise: &str) -> String {
    match facts.unread.get(source) {
        Some(why) => format!("{source} {why}"),
        None => otherwise.to_owned(),
    }
}

/// Why the firmware's table tells nothing.
fn firmware(facts: &Facts, otherwise: &str) -> String {
    match facts.unread.get("/sys/firmware/dmi/tables/DMI").map(String::as_str) {
        Some("needs root") => "needs root (the firmware's table, DMI)".to_owned(),
        Some("does not exist") if facts.is_guest() => "no DMI in this guest".to_owned(),
        Some("does not exist") => "no DMI on this machine".to_owned(),
        Some(why) => format!("the firmware's table (DMI) {why}"),
        None => otherwise.to_owned(),
    }
}

fn no_cpufreq(facts: &Facts) -> String {
    let whose = if facts.is_guest() { ": the host's" } else { "" };
    format!("no cpufreq here{whose}")
}

fn bound(bound: Bound, show: impl Fn(u64) -> String) -> String {
    match bound {
        Bound::Max(number) => show(number),
        Bound::Unlimited(_) => "unlimited".to_owned(),
    }
}

/// Words in a row; an empty list is told as such.
fn words(words: Option<&[String]>) -> Option<String> {
    words.map(|words| if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

fn plural(count: u64, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}

fn kib(kib: u64) -> String {
    bytes(kib.saturating_mul(1024))
}

fn mib(mib: u64) -> String {
    bytes(mib.saturating_mul(1 << 20))
}

/// A size in the largest binary unit of which it holds one, with the digits that count.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let shown = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") };
    format!("{shown} {}", UNITS[unit])
}

/// Numbers in order as the kernel lists them: `0-3,8`.
fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let shown = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    facts: &'a Facts,
    clocks: &'a [ClockVerdict],
    program: Program<'a>,
    rates: RatesShown<'a>,
}

#[derive(Serialize)]
struct Program<'a> {
    version: &'a str,
    link: &'a str,
    libc: &'a str,
}

#[derive(Serialize)]
struct RatesShown<'a> {
    cpu: Option<u32>,
    core_cycles_per_ns: Option<f64>,
    clock: Option<&'static str>,
    ticks_per_ns: Option<f64>,
    unasked: Option<&'a str>,
}

/// The facts as one JSON object.
pub fn json(machine: &Description<'_>) -> Result<String, serde_json::Error> {
    let rates = machine.rates;
    let document = Document {
        schema: "oscost.machine/1",
        facts: machine.facts,
        clocks: machine.clocks,
        program: Program {
            version: &machine.program.version,
            link: &machine.program.link,
            libc: &machine.program.libc,
        },
        rates: RatesShown {
            cpu: rates.probe.as_ref().map(|probe| probe.cpu),
            core_cycles_per_ns: rates.probe.as_ref().and_then(|it| it.core_cycles_per_ns),
            clock: rates.calibration.map(|clock| clock.kind.text()),
            ticks_per_ns: rates.calibration.map(|clock| clock.ticks_per_ns),
            unasked: rates.unasked.as_deref(),
        },
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_written_as_people_read_them() {
        assert_eq!(kib(48), "48 KiB");
        assert_eq!(kib(24_684_092), "23.5 GiB");
        assert_eq!(bytes(274_877_906_944), "256 GiB");
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(ranges(&[0, 1, 2, 8]), "0-2,8");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken() {
        let text = broken(&format!("a {} b", "x".repeat(100)), 40);
        assert!(text.split(' ').all(|word| word.len() <= 40), "{text}");
        assert_eq!(text.replace(' ', "").len(), 102);
    }
}
