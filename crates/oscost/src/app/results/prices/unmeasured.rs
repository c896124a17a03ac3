//! Rows that price runs have tried in vain.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::record::{Row, RowOutcome};

use crate::bill::usual_cases;
use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;
use crate::plan;

/// A row without a figure.
pub(super) struct UnmeasuredRow {
    pub(super) case: Case,
    pub(super) outcome: RowOutcome,
    reason: String,
}

impl UnmeasuredRow {
    /// A row that was tried in vain; `None` if it has a figure, or was not tried.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let reason = row.reason.clone().unwrap_or_default();
        let is_tried =
            row.outcome != RowOutcome::Measured && reason != ENDED_BEFORE_FIRST_REPETITION;
        let case = Case::new(row.benchmark.clone(), row.point.clone());
        is_tried.then_some(Self { case, outcome: row.outcome, reason })
    }

    /// What happened, in words.
    pub(super) fn text(&self) -> String {
        let what = match self.outcome {
            RowOutcome::Skipped => "was skipped",
            RowOutcome::TimedOut => "exceeded its time limit",
            RowOutcome::Failed => "failed",
            RowOutcome::Unmeasurable | RowOutcome::Measured => "could not be measured",
        };
        format!("{} {what}: {}", self.case, self.reason)
    }
}

/// The cases whose rows price a selector: the most usual ones that it names, of all sizes if its
/// calls have sizes. One that the catalog does not have names none.
pub(super) fn pricing_cases(
    selector: &str,
    size_axis: Option<&str>,
    catalog: &Catalog,
) -> Vec<Case> {
    let named = plan::select(catalog, &[selector.to_owned()], Extent::Default);
    usual_cases(selector, size_axis, named.unwrap_or_default(), catalog)
}
