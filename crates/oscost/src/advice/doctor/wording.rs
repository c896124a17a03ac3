//! Shares, durations and lists of names in the sentences of findings.

/// A share in per cent, with two significant digits.
pub(super) fn pct(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A duration with a fitting unit.
pub(super) fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.0} us", ns / 1e3),
    }
}

/// Names joined with commas and "and"; at most `max_names` of them.
pub(super) fn join_names(names: &[String], max_names: usize) -> String {
    let shown = &names[..names.len().min(max_names)];
    let more = names.len() - shown.len();
    match (shown, more) {
        (_, 1..) => format!("{} and {more} more", shown.join(", ")),
        ([one], 0) => one.clone(),
        ([before @ .., last], 0) => format!("{} and {last}", before.join(", ")),
        ([], 0) => String::new(),
    }
}
