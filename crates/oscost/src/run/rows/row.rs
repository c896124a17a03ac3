//! A row while it is being measured.

use std::time::Duration;

use oscost_model::calls::CallCount;
use oscost_model::journal::PlannedRow;
use oscost_model::program::Trial;
use oscost_model::treatment::TreatmentSet;

use super::iteration_cost::IterationCost;
use super::stopping::{Profile, RowProgress};
use crate::run::counts::row_counting::RowCounting;
use crate::run::jobs::workers::PeerLocation;

/// A row while it is being measured.
pub(crate) struct RowRun {
    pub(crate) planned: PlannedRow,
    pub(crate) treatments: TreatmentSet,
    pub(crate) progress: RowProgress,
    pub(crate) given_up: bool,
    pub(crate) lost_workers: u32,
    /// The calls of its counted ops.
    pub(crate) count: Option<CallCount>,
    /// The number of timed ops, in a run without a comparison.
    pub(crate) timed_ops: u64,
    /// How far its events have been counted.
    pub(crate) counting: RowCounting,
    /// The run of its program with warm caches.
    pub(crate) warm_up: Option<Trial>,
    /// The number of lines that its program wrote in its warm-up.
    pub(crate) warm_lines: Option<u64>,
    /// The cost of an iteration in its last worker; `None` before the first.
    pub(super) iteration_cost: Option<IterationCost>,
    /// How long its last worker took, with its start and all preparation.
    pub(super) worker_time: Option<Duration>,
    /// How long its pilot took, with its start and all preparation; `None` before it.
    pub(super) pilot_time: Option<Duration>,
    /// Whether its calls are still to be counted.
    pub(crate) count_is_due: bool,
}

/// A worker that takes at most this long is short: most take 5 to 20 ms, those of cold files and of
/// large sets of descriptors hundreds.
const SHORT_WORKER: Duration = Duration::from_millis(50);
/// The calls of a row whose pilot takes longer are counted after the first repetition of all rows:
/// the counted copy prepares the same again.
const LONG_PILOT: Duration = Duration::from_millis(500);
/// A row that may take longer to prepare, such as a file of 128 MiB, has its pilot after the others.
const LONG_SETUP_MS: u64 = 5_000;

impl RowRun {
    pub(crate) fn new(planned: PlannedRow, profile: Profile) -> Self {
        Self {
            progress: RowProgress::new(profile),
            planned,
            treatments: TreatmentSet::default(),
            given_up: false,
            lost_workers: 0,
            count: None,
            timed_ops: 0,
            counting: RowCounting::default(),
            warm_up: None,
            warm_lines: None,
            iteration_cost: None,
            worker_time: None,
            pilot_time: None,
            count_is_due: false,
        }
    }

    /// Whether the row needs no further worker.
    pub(crate) fn is_settled(&self) -> bool {
        self.given_up
            || self.progress.is_settled()
            || !self.planned.requested
            || self.planned.workload.is_some()
    }

    /// Where its peer runs.
    pub(crate) fn peer_location(&self) -> PeerLocation {
        if self.planned.target.peer.is_some() {
            PeerLocation::RemoteMachine
        } else {
            PeerLocation::SameMachine
        }
    }

    /// Whether its workers are short, and it has fewer repetitions than the first rounds give. Before
    /// its first worker its pilot shows that, which has some batches more.
    pub(super) fn is_short_and_lacks(&self, repetitions: usize) -> bool {
        !self.is_settled()
            && self.progress.lacks(repetitions)
            && self.worker_time.or(self.pilot_time).is_some_and(|time| time <= SHORT_WORKER)
    }

    /// Whether its preparation may take seconds.
    pub(super) fn has_long_setup(&self) -> bool {
        self.planned.definition.setup_ms(&self.planned.case.point) > LONG_SETUP_MS
    }

    /// Whether its preparation took so long that its calls are not counted before it is measured.
    pub(super) fn is_long_to_prepare(&self) -> bool {
        self.pilot_time.is_some_and(|time| time > LONG_PILOT)
    }

    /// Whether it gets a worker in the next round; a reference case always does.
    pub(crate) fn needs_worker(&self) -> bool {
        !self.given_up
            && self.planned.workload.is_none()
            && (self.planned.is_reference || !self.progress.is_settled())
    }
}
