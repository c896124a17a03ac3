//! Earlier runs of the systems that are compared: they show how far a case's figure varies between
//! runs in which nothing changed.

use oscost_model::record::Row;
use oscost_stats::between_runs::RunMedian;

use crate::estimate::between_runs::SystemRuns;

/// Earlier runs, by case. None of them is among the compared runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlierRuns {
    /// Runs of the base's system.
    pub base: SystemRuns,
    /// Runs of the new system; empty if that is the base's.
    pub new: SystemRuns,
    /// How many more of both have a compared case, but are left out since the machine was very noisy.
    pub very_noisy: usize,
}

impl EarlierRuns {
    /// The instructions of the case of these rows, base and new, in earlier runs, those of a boot in one
    /// item.
    pub(super) fn work_boots(&self, base: &Row, new: &Row) -> Vec<Vec<RunMedian>> {
        let mut boots = self.base.work_boots(base);
        boots.extend(self.new.work_boots(new));
        boots
    }
}
