//! Pairs of rows of one case in one run: without something, and with it.

use oscost_model::raw_call::{RawCall, raw_call_of};
use oscost_model::record::{Record, Row, RowOutcome};

/// Both rows of a case in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPair<'a> {
    /// Without what is added.
    pub(super) base: &'a Row,
    /// With it.
    pub(super) with: &'a Row,
}

/// The pairs of a run, of which these are the treatments. Two rows of different runs are no pair:
/// the machine was not the same.
pub(super) fn row_pairs<'a>(
    record: &'a Record,
    is_base: impl Fn(&[String]) -> bool,
    is_with: impl Fn(&[String]) -> bool,
) -> Vec<RowPair<'a>> {
    let measured = |row: &&Row| row.outcome == RowOutcome::Measured;
    let mut pairs = Vec::new();
    for with in record.results.iter().filter(measured) {
        if !is_with(&with.target.treatments) {
            continue;
        }
        let base = record.results.iter().filter(measured).find(|row| {
            row.case == with.case
                && row.target.host == with.target.host
                && is_base(&row.target.treatments)
        });
        pairs.extend(base.map(|base| RowPair { base, with }));
    }
    pairs
}

/// The pairs of cases whose raw calls were made in their loop, and through a function.
pub(super) fn function_pairs(record: &Record) -> Vec<RowPair<'_>> {
    let is = |how: RawCall| move |treatments: &[String]| raw_call_of(treatments) == Some(how);
    row_pairs(record, is(RawCall::Inline), is(RawCall::Function))
}
