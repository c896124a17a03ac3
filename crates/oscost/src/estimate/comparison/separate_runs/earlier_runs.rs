//! Earlier runs of the systems that are compared: they show how far a case's figure varies between
//! runs in which nothing changed.

use crate::estimate::between_runs::SystemRuns;

/// Earlier runs, by case. None of them is among the compared runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlierRuns {
    /// Runs of the base's system.
    pub base: SystemRuns,
    /// Runs of the new system; empty if that is the base's.
    pub new: SystemRuns,
}
