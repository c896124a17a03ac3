//! Rows that were timed alone, after a walk through memory or without one.

use oscost_model::case::Case;
use oscost_model::cool::walk_of;
use oscost_model::record::{Record, Row, RowOutcome};

use super::unmeasured::UnmeasuredRow;

/// Whether a row was timed alone, after a walk through memory or without one.
pub(super) fn has_walk(row: &Row) -> bool {
    row.outcome == RowOutcome::Measured && walk_of(&row.target.treatments).is_some()
}

/// The rows of a run that were timed alone; `None` if there are none, or beside prices under
/// treatments.
pub(super) fn walks_of(record: &Record, treatments: &[String]) -> Option<Record> {
    let has_walks = treatments.is_empty() && record.results.iter().any(has_walk);
    has_walks.then(|| {
        let mut walks = record.clone();
        walks.results.retain(has_walk);
        walks
    })
}

/// The cases that were skipped on a host after a walk through memory, or after one of no length:
/// they cannot be timed so.
pub(super) fn uncoolable_cases(record: &Record, host: &str) -> Vec<Case> {
    let is_walk = |row: &&Row| walk_of(&row.target.treatments).is_some() && row.target.host == host;
    let rows = record.results.iter().filter(is_walk).filter_map(|row| UnmeasuredRow::of(row, None));
    rows.filter(|row| row.outcome == RowOutcome::Skipped).map(|row| row.case).collect()
}
