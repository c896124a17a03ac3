//! Which quoted figures of a poor run hardly vary between their processes: a very noisy machine
//! disturbs some ops and leaves others alone.

use oscost_model::record::{Record, Row};

use crate::advice::words::{Kind, Severity};
use crate::report::figures::per_cent;
use crate::report::text::plain;
use crate::report::view::run::flags::{severity, unusable};
use crate::report::view::run::row::spread_pct;

/// The goal of a run that is no other one: half its interval, which is narrower.
const MAX_SPREAD_PCT: f64 = 2.0;
/// An interval needs as many.
const MIN_REPETITIONS: u32 = 6;

/// The quoted rows that vary little, in a sentence; `None` if there are none, or if something is wrong
/// with all figures of the run.
pub(super) fn sentence<'a>(
    record: &Record,
    quoted: impl Iterator<Item = &'a Row>,
) -> Option<String> {
    let mut flags = record.conditions.iter().flat_map(|it| &it.flags);
    if flags.any(|flag| severity(Kind::RunFlag, flag) == Severity::Unusable) {
        return None;
    }
    let mut parts = quoted.filter_map(|row| {
        let repetitions = row.estimate.as_ref()?.repetitions;
        let is_usable = unusable(Kind::RowFlag, &row.flags).is_none();
        let spread = spread_pct(row).filter(|pct| (0.0..=MAX_SPREAD_PCT).contains(pct))?;
        let is_steady = is_usable && repetitions >= MIN_REPETITIONS;
        is_steady.then(|| (plain(&row.case), per_cent(spread), repetitions))
    });
    let (case, spread, repetitions) = parts.next()?;
    let others: String = parts.map(|(case, spread, _)| format!(", {case} by {spread}")).collect();
    Some(format!("Still, {case} varies by {spread} between its {repetitions} processes{others}."))
}
