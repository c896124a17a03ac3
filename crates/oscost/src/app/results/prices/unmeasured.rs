//! Rows that price runs have tried in vain.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::record::{Row, RowOutcome};

use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;

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

    /// Whether a selector names it.
    pub(super) fn is_named(&self, selector: &str, catalog: &Catalog) -> bool {
        let Some(named) = Case::parse(selector) else { return false };
        let definition = catalog.get(&self.case.benchmark);
        let point = definition.map(|it| it.with_implied(&self.case.point));
        self.case.benchmark == named.benchmark
            && point.is_some_and(|point| point.includes(&named.point))
    }
}
