//! Figures, ratios and counts of a table of machines as they are read.

use std::cmp::Ordering;

use oscost_model::record::Ratio;
use oscost_model::unit::Unit;

use crate::estimate::machine_table::{CountedModes, TableFigure};
use crate::report::figures::{Style, times};

/// A figure; without a unit, calls of an empty function.
pub(super) fn figure(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => Style::of(value, unit).with_unit(value),
        None => format!("{} calls", times(value)),
    }
}

/// That a figure is exact; otherwise its interval, or of several machines the lowest and the highest,
/// in the unit of the figure. Empty if there is neither.
pub(super) fn range(of: &TableFigure, unit: Option<Unit>) -> String {
    let number = |value: f64| match unit {
        Some(unit) => Style::of(of.value, unit).number(value),
        None => times(value),
    };
    match (of.interval, of.spread) {
        _ if of.is_exact => " [exact]".to_owned(),
        (Some([low, high]), _) => format!(" [{} .. {}]", number(low), number(high)),
        (None, Some([low, high])) => format!(" ({} to {})", number(low), number(high)),
        (None, None) => String::new(),
    }
}

/// A ratio: two decimals, and fewer of a large one.
pub(in crate::report::view) fn factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.2}") } else { times(ratio) }
}

/// A ratio of instructions, which repeat to a tenth of a per cent.
pub(super) fn count_factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.3}") } else { factor(ratio) }
}

/// A ratio with its interval.
pub(super) fn ratio(it: &Ratio, factor: fn(f64) -> String) -> String {
    let ends = it.ci95.map(|[low, high]| format!(" [{} .. {}]", factor(low), factor(high)));
    format!("x {}{}", factor(it.value), ends.unwrap_or_default())
}

/// As many digits of a count as repeat.
fn repeating_digits(count: f64) -> String {
    let steps = match count.abs() {
        1e5.. => 1.0,
        100.0.. => 10.0,
        _ => 100.0,
    };
    number((count * steps).round() / steps)
}

/// What a processor counted; that of user mode alone is marked.
pub(super) fn count(value: f64, modes: CountedModes) -> String {
    let mark = match modes {
        CountedModes::Both => "",
        CountedModes::User => " u",
    };
    format!("{} insn{mark}", repeating_digits(value))
}

/// The interval of such a count, or of several machines the lowest and the highest.
pub(super) fn count_range(of: &TableFigure) -> String {
    let ends = |[low, high]: [f64; 2]| (repeating_digits(low), repeating_digits(high));
    match (of.interval.map(ends), of.spread.map(ends)) {
        (Some((low, high)), _) => format!(" [{low} .. {high}]"),
        (None, Some((low, high))) => format!(" ({low} to {high})"),
        (None, None) => String::new(),
    }
}

/// A count of instructions in all its digits.
pub(super) fn number(count: f64) -> String {
    Style::of(count, Unit::InstructionsPerOp).number(count)
}

/// How an exact count differs from another one: `3,332 fewer`.
pub(super) fn count_difference(count: f64, base: f64) -> String {
    match count.total_cmp(&base) {
        Ordering::Less => format!("{} fewer", number(base - count)),
        Ordering::Equal => "equal".to_owned(),
        Ordering::Greater => format!("{} more", number(count - base)),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(in crate::report::view) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
