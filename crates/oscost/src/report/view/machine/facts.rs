//! Facts of a machine as text: each has a value, or the reason why it has none.

use oscost_model::facts::{Bound, Facts};

pub(super) use crate::report::text::plural;
use crate::report::view::document::Fact;

/// A fact: its value, or the reason why it has none; without control characters.
pub(super) fn fact(name: &str, value: Option<String>, why: impl FnOnce() -> String) -> Fact {
    match value {
        Some(value) => Fact::new(name, value.replace(char::is_control, "")),
        None => hidden_fact(name, &why()),
    }
}

/// A fact without a value.
pub(super) fn hidden_fact(name: &str, why: &str) -> Fact {
    Fact::new(name, format!("not visible: {}", why.replace(char::is_control, "")))
}

/// Why a fact is unknown: the error of its source, or `otherwise` if the source was read.
pub(super) fn missing_reason(facts: &Facts, source: &str, otherwise: &str) -> String {
    match facts.unread.get(source) {
        Some(why) => format!("{source} {why}"),
        None => otherwise.to_owned(),
    }
}

/// Why the firmware's table has no fact.
pub(super) fn firmware(facts: &Facts, otherwise: &str) -> String {
    match facts.unread.get("/sys/firmware/dmi/tables/DMI").map(String::as_str) {
        Some("needs root") => "needs root (the firmware's table, DMI)".to_owned(),
        Some("does not exist") if facts.is_guest() => "no DMI in this guest".to_owned(),
        Some("does not exist") => "no DMI on this machine".to_owned(),
        Some(why) => format!("the firmware's table (DMI) {why}"),
        None => otherwise.to_owned(),
    }
}

pub(super) fn no_cpufreq(facts: &Facts) -> String {
    let hint = if facts.is_guest() { ": the host sets the frequency" } else { "" };
    format!("no cpufreq{hint}")
}

pub(super) fn bound(bound: Bound, show: impl Fn(u64) -> String) -> String {
    match bound {
        Bound::Max(number) => show(number),
        Bound::Unlimited(_) => "unlimited".to_owned(),
    }
}

/// A list as text; `none` for an empty one.
pub(super) fn words(words: Option<&[String]>) -> Option<String> {
    words.map(|words| if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

pub(super) fn kib(kib: u64) -> String {
    bytes(kib.saturating_mul(1024))
}

pub(super) fn mib(mib: u64) -> String {
    bytes(mib.saturating_mul(1 << 20))
}

/// A size in the largest binary unit that it reaches; with one decimal unless it is a whole number.
pub(super) fn bytes(bytes: u64) -> String {
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

/// Ascending numbers as the kernel lists them: `0-3,8`.
pub(super) fn ranges(numbers: &[u32]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_formatted() {
        assert_eq!(kib(48), "48 KiB");
        assert_eq!(kib(24_684_092), "23.5 GiB");
        assert_eq!(bytes(274_877_906_944), "256 GiB");
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(ranges(&[0, 1, 2, 8]), "0-2,8");
        assert_eq!(ranges(&[]), "");
    }
}
