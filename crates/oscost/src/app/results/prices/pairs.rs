//! Rows that are compared in pairs for what is added to prices: timed alone, after a walk through
//! memory or without one; and with raw calls in their loop, or through a function.

use oscost_model::case::Case;
use oscost_model::cool::walk_of;
use oscost_model::raw_call::raw_call_of;
use oscost_model::record::{Record, Row, RowOutcome};

use super::unmeasured::UnmeasuredRow;

/// Whether a row was timed alone, after a walk through memory or without one.
pub(super) fn has_walk(row: &Row) -> bool {
    row.outcome == RowOutcome::Measured && walk_of(&row.target.treatments).is_some()
}

/// Whether the raw calls of a row were made as a treatment says.
pub(super) fn has_raw_calls(row: &Row) -> bool {
    row.outcome == RowOutcome::Measured && raw_call_of(&row.target.treatments).is_some()
}

/// Whether a row may be one of a pair.
pub(super) fn is_of_pair(row: &Row) -> bool {
    has_walk(row) || has_raw_calls(row)
}

/// The rows of a run that may be of a pair; `None` if there are none, or beside prices under
/// treatments.
pub(super) fn pairs_of(record: &Record, treatments: &[String]) -> Option<Record> {
    let has_pairs = treatments.is_empty() && record.results.iter().any(is_of_pair);
    has_pairs.then(|| {
        let mut pairs = record.clone();
        pairs.results.retain(is_of_pair);
        pairs
    })
}

/// The cases that were skipped on a host after a walk through memory, or after one of no length:
/// they cannot be timed so.
pub(super) fn uncoolable_cases(record: &Record, host: &str) -> Vec<Case> {
    skipped_cases(record, host, |treatments| walk_of(treatments).is_some())
}

/// The cases that were skipped on a host under a treatment that says how raw calls are made: they
/// have no loop of raw calls.
pub(super) fn cases_without_raw_loop(record: &Record, host: &str) -> Vec<Case> {
    skipped_cases(record, host, |treatments| raw_call_of(treatments).is_some())
}

fn skipped_cases(record: &Record, host: &str, is_under: impl Fn(&[String]) -> bool) -> Vec<Case> {
    let is_tried = |row: &&Row| is_under(&row.target.treatments) && row.target.host == host;
    let tried = record.results.iter().filter(is_tried);
    let rows = tried.filter_map(|row| UnmeasuredRow::of(row, None));
    rows.filter(|row| row.outcome == RowOutcome::Skipped).map(|row| row.case).collect()
}
