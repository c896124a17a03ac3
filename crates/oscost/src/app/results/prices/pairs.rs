//! Rows that are compared in pairs for what is added to prices: timed alone, after a walk through
//! memory or without one; and with raw calls in their loop, or through a function.

use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::cool::walk_of;
use oscost_model::raw_call::raw_call_of;
use oscost_model::record::{Record, Row, RowOutcome};

use super::pair_kind::PairKind;
use super::unmeasured::UnmeasuredRow;

/// What happened to rows whose comparison is void.
const CONTROL_FAILED: &str =
    "was compared in vain: the control of the comparison showed an effect (VOID)";

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

/// The rows of a run that may be of a pair; `None` if there are none, beside prices under treatments,
/// and of a run whose control showed an effect (it is void): a difference of its rows may be that effect.
pub(super) fn pairs_of(record: &Record, treatments: &[String], is_void: bool) -> Option<Record> {
    let has_pairs = treatments.is_empty() && record.results.iter().any(is_of_pair);
    (has_pairs && !is_void).then(|| {
        let mut pairs = record.clone();
        pairs.results.retain(is_of_pair);
        // They name rows by their places.
        pairs.comparisons.clear();
        pairs
    })
}

/// A case of which a run has tried in vain to measure a pair.
pub(super) struct RefusedPair {
    pub(super) kind: PairKind,
    pub(super) case: Case,
    /// The treatment of its row.
    pub(super) treatment: String,
    /// Whether it was skipped.
    pub(super) is_skipped: bool,
    /// What happened, in words.
    pub(super) reason: String,
}

/// The pairs that a run of this age has tried in vain on a host, as far as another attempt would be in
/// vain, too; all of them if it is void.
pub(super) fn refused_pairs(
    record: &Record,
    host: &str,
    age: Option<Duration>,
    is_void: bool,
) -> Vec<RefusedPair> {
    let mut refused: Vec<RefusedPair> = Vec::new();
    // The second rows of pairs come last in a run, and know why a case has no pair.
    for row in record.results.iter().rev().filter(|row| row.target.host == host) {
        let Some(kind) = PairKind::of(&row.target.treatments) else { continue };
        let case = Case::new(row.benchmark.clone(), row.point.clone());
        let treatment = row.target.treatments.join("+");
        let is_known = |it: &RefusedPair| it.kind == kind && it.case == case;
        if refused.iter().any(is_known) {
            continue;
        }
        let happened = match row.outcome {
            RowOutcome::Measured => is_void.then(|| CONTROL_FAILED.to_owned()),
            _ => {
                let tried = UnmeasuredRow::of(row, age).filter(UnmeasuredRow::is_final);
                tried.map(|tried| tried.what_happened())
            }
        };
        let is_skipped = row.outcome == RowOutcome::Skipped;
        refused.extend(happened.map(|reason| RefusedPair {
            kind,
            case,
            treatment,
            is_skipped,
            reason,
        }));
    }
    refused
}
