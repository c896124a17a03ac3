//! Figures as sentences quote them: in three digits, with their intervals, and with the flag of one
//! that should not be used.

use oscost_model::program::CPU;
use oscost_model::record::{Metric, Row};
use oscost_model::unit::Unit;

use crate::advice::trust::CPU_CONTENTION;
use crate::advice::words::Kind;
use crate::report::figures::{per_cent, rough, times};
use crate::report::view::run::flags::unusable;
use crate::report::view::run::instructions;
use crate::report::view::run::row;

/// A comparison in which no smaller change would show is too noisy to say anything.
pub(super) const MAX_DETECTABLE_PCT: f64 = 50.0;
/// From this ratio on it is easier to read than a share in per cent.
pub(super) const MIN_TIMES: f64 = 2.0;

/// The figure of a measured row; `None` if it has none that is a number.
pub(super) fn quote(row: &Row) -> Option<String> {
    let estimate = row.estimate.as_ref().filter(|it| it.median.is_finite())?;
    let text = match bound(row) {
        Some(bound) => format!("less than {}", rough(bound, row.unit)),
        None if instructions::is_counted(row) => instructions::rough_figure(row),
        None => {
            let figure = rough(estimate.median, row.unit);
            match shown_interval(row).map(|ends| interval_text(ends, row.unit)) {
                Some(interval) if interval == figure => figure,
                Some(interval) => format!("{figure} ({interval})"),
                None => format!("{figure} (no interval)"),
            }
        }
    };
    let warning = warning(Kind::RowFlag, &row.flags);
    Some(format!("{text}{warning}{}", cpu_time(row).unwrap_or_default()))
}

/// The CPU time of a command that waited for a CPU; `None` of others.
fn cpu_time(row: &Row) -> Option<String> {
    let Metric { unit, estimate, .. } =
        row.metrics.get(CPU).filter(|_| row::has(row, CPU_CONTENTION))?;
    let figure = Some(estimate.median).filter(|it| it.is_finite()).map(|it| rough(it, *unit))?;
    let interval = estimate.between_run_ci95.or(estimate.ci95);
    let interval = interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
    let interval = interval.map(|ends| format!(" ({})", interval_text(ends, *unit)));
    let interval = interval.unwrap_or_default();
    Some(format!("; it waited for a CPU, and its CPU time is {figure}{interval}"))
}

/// The upper end of what cannot be told from zero; `None` of other rows.
pub(super) fn bound(row: &Row) -> Option<f64> {
    row::bound(row).filter(|high| high.is_finite())
}

/// The interval that the table shows; `None` if there is none of numbers.
pub(super) fn shown_interval(row: &Row) -> Option<[f64; 2]> {
    let estimate = row.estimate.as_ref()?;
    let interval = estimate.between_run_ci95.or(estimate.ci95)?;
    interval.iter().all(|end| end.is_finite()).then_some(interval)
}

/// Whether the intervals of two rows are apart.
pub(super) fn are_apart(one: &Row, other: &Row) -> bool {
    let Some(([low, high], [other_low, other_high])) =
        shown_interval(one).zip(shown_interval(other))
    else {
        return false;
    };
    high < other_low || other_high < low
}

/// The ends of an interval; a unit that both have is written once.
pub(super) fn interval_text([low, high]: [f64; 2], unit: Unit) -> String {
    range(&rough(low, unit), &rough(high, unit))
}

/// From one figure to another; a unit that both have is written once.
pub(super) fn range(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => high.to_owned(),
        (Some((digits, unit)), Some((_, same))) if unit == same => format!("{digits} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// That a figure or a verdict should not be used; nothing of others.
pub(super) fn warning(kind: Kind, flags: &[String]) -> String {
    unusable(kind, flags).map_or_else(String::new, |flag| format!(" (do not use: {flag})"))
}

/// A ratio: as so many times, or as a difference in per cent.
pub(super) fn relative(ratio: f64) -> String {
    let pct = 100.0 * (ratio - 1.0);
    match ratio {
        _ if ratio >= MIN_TIMES => format!("{} times", times(ratio)),
        _ if per_cent(pct.abs()) == per_cent(0.0) => per_cent(0.0),
        _ if pct > 0.0 => format!("+{}", per_cent(pct)),
        _ => format!("-{}", per_cent(-pct)),
    }
}

/// A number of cases.
pub(super) fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
