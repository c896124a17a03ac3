//! Which figures of rows have a logarithm that says something.

use oscost_model::record::{Row, RowOutcome};
use oscost_model::unit::Unit;

/// The median of a row in this unit with these flags; `None` if it is not above 0, cannot be told from
/// 0, or is a yes or a no.
pub(super) fn usable_median(unit: Unit, flags: &[String], median: f64) -> Option<f64> {
    let is_below = flags.iter().any(|flag| flag == "BELOW_DETECTION");
    let has_logarithm = median.is_finite() && median > 0.0;
    (!is_below && unit != Unit::YesOrNo && has_logarithm).then_some(median)
}

/// The figure of a whole row; `None` also if it was not measured.
pub(super) fn usable_figure(row: &Row) -> Option<f64> {
    let estimate = row.estimate.as_ref().filter(|_| row.outcome == RowOutcome::Measured)?;
    usable_median(row.unit, &row.flags, estimate.median)
}
