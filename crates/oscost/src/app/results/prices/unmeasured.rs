//! Rows that price runs have tried in vain.

use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::record::{Row, RowOutcome};

use crate::bill::usual_cases;
use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;
use crate::plan;

/// How long what was too disturbed is not tried again: on a noisy machine each bill would otherwise
/// spend its seconds on the same rows.
const DISTURBED_TIME: Duration = Duration::from_secs(600);

/// A row without a figure.
pub(super) struct UnmeasuredRow {
    pub(super) case: Case,
    pub(super) outcome: RowOutcome,
    reason: String,
    /// How long ago its run was started, if that is known.
    age: Option<Duration>,
}

impl UnmeasuredRow {
    /// A row that was tried in vain, in a run of this age; `None` if it has a figure, or was not tried.
    pub(super) fn of(row: &Row, age: Option<Duration>) -> Option<Self> {
        let reason = row.reason.clone().unwrap_or_default();
        let is_tried = row.outcome != RowOutcome::Measured
            && !reason.starts_with(ENDED_BEFORE_FIRST_REPETITION);
        let case = Case::new(row.benchmark.clone(), row.point.clone());
        is_tried.then_some(Self { case, outcome: row.outcome, reason, age })
    }

    /// Whether another attempt would be in vain, too; what was too disturbed may be measured later.
    pub(super) fn is_final(&self) -> bool {
        self.outcome != RowOutcome::Unmeasurable || self.age.is_some_and(|age| age < DISTURBED_TIME)
    }

    /// What happened, in words.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.case, self.what_happened())
    }

    /// The same without the case.
    pub(super) fn what_happened(&self) -> String {
        let what = match self.outcome {
            RowOutcome::Skipped => "was skipped",
            RowOutcome::TimedOut => "exceeded its time limit",
            RowOutcome::Failed => "failed",
            RowOutcome::Unmeasurable | RowOutcome::Measured => "could not be measured",
        };
        format!("{what}: {}", self.reason)
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
