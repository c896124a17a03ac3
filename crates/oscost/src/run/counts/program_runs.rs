//! What the runs of a program were, timed and counted.

use oscost_model::counters::TreeCounts;
use oscost_model::program::Trial;
use oscost_model::program_calls::ProgramCalls;

use crate::run::counts::group_runs::GroupRuns;

/// The runs of a program.
#[derive(Clone, Debug)]
pub struct ProgramRuns {
    /// Those that were timed.
    pub trials: Vec<Trial>,
    /// What each counted one did, or why it could not be counted.
    pub counted: Result<Vec<ProgramCalls>, String>,
    /// Why it was counted without its treatments; `None` if it was counted under them.
    pub counted_without: Option<String>,
    /// The events of the processor in further runs, one a block, or why they could not be counted.
    pub events: Result<Vec<TreeCounts>, String>,
    /// The CPU times of further runs in control groups, or why there are none; `None` where the
    /// kernel divides the CPU time of its processes well enough.
    pub groups: Option<Result<GroupRuns, String>>,
    /// Whether the user ended them: they are those that were done by then.
    pub interrupted: bool,
}

impl ProgramRuns {
    /// Whether there are trials, and a counted run or the reason why there is none.
    pub(super) fn can_be_billed(&self) -> bool {
        let is_uncounted = self.counted.as_ref().is_ok_and(Vec::is_empty);
        !self.trials.is_empty() && !is_uncounted
    }
}
