//! The parameters of a run.

use std::time::Duration;

use oscost_model::definition::Timer;
use oscost_model::journal::{PlannedRow, RunHeader};
use oscost_model::record::Machine;
use oscost_model::treatment::TreatmentSet;

use super::comparison::ComparisonPlan;
use super::rows::stopping::Profile;
use crate::plan::SkippedRow;

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The header: the first entry of the journal.
    pub header: RunHeader,
    /// The machine, as described by its supervisor.
    pub machine: Machine,
    /// Tracers that were found attached to its system.
    pub tracers: Vec<String>,
    /// The rows.
    pub rows: Vec<PlannedRow>,
    /// The timers of the timer survey, if the rows are that survey.
    pub timers: Vec<Timer>,
    /// The stopping rule.
    pub profile: Profile,
    /// The time budget; `None` for no limit.
    pub budget: Option<Duration>,
    /// The treatments of each row; rows beyond the end of the list have none.
    pub treatments: Vec<TreatmentSet>,
    /// What is compared with what, if rows are to be measured side by side.
    pub comparison: Option<ComparisonPlan>,
    /// Whether the observer is asked for additional rows, for the second half of the budget.
    pub refine: bool,
    /// The time budget of the trials of programs.
    pub trials: TrialBudget,
    /// Rows that cannot be measured here.
    pub skipped: Vec<SkippedRow>,
    /// In which rounds events are counted.
    pub event_counting: EventCounting,
    /// The requested CPU.
    pub requested_cpu: Option<u32>,
    /// The requested CPU of the second process of a case on one machine.
    pub peer_cpu: Option<u32>,
}

/// In which rounds events are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventCounting {
    /// In a few, where the processor's counters are visible.
    #[default]
    InFewRounds,
    /// In every one, and the kernel's own events without counters of the processor.
    InEveryRound,
    /// In none.
    InNoRound,
}

/// The time budget of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialBudget {
    /// The time that they are to fit into, beyond the minimum number.
    pub time_budget: Duration,
    /// Whether compared trials are spread over a minute.
    pub spread: bool,
    /// Whether the system calls of each program are counted, in an extra, untimed run.
    pub count_calls: bool,
    /// The limit of the whole run, from its start; `None` for no limit.
    pub run_limit: Option<Duration>,
}
