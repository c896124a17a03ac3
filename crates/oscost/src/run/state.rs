//! The state of a run while it measures, and the journal entries that every part of it emits.

use std::time::Instant;

use oscost_model::clock::Calibration;
use oscost_model::journal::{Entry, Phase, WorkerOutcome};

use super::counts::counted_events::CountedEvents;
use super::error::RunError;
use super::jobs::job::JobFailure;
use super::jobs::workers::Workers;
use super::observer::Observer;
use super::progress::Schedule;
use super::rows::row::RowRun;
use crate::plan::RandomOrder;

/// A worker may be killed or hang through no fault of its case (out of memory, the machine was
/// suspended): it counts as lost and is repeated. The second loss is attributed to the case.
pub(super) const MAX_LOST_WORKERS: u32 = 1;
/// Why calls are not counted.
pub(super) const NO_TIME_TO_COUNT: &str = "the time was up before its calls were counted";

/// A run while it measures.
pub(super) struct Run<'a> {
    pub(super) workers: Workers<'a>,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) order: RandomOrder,
    pub(super) started_at: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) cpu: Option<u32>,
    pub(super) peer_cpu: Option<u32>,
    pub(super) clock: Option<Calibration>,
    /// The events that are counted; `None` if none are.
    pub(super) counted_events: Option<CountedEvents>,
    pub(super) interruptions_per_s: f64,
    pub(super) rounds_done: u32,
    /// Whether pairs are missing because the time was up.
    pub(super) pairs_missing: bool,
    /// Whether rows have no pilot because its share of the time was over.
    pub(super) pilots_missing: bool,
    /// Whether a program was left out for lack of time.
    pub(super) programs_missing: bool,
    /// The present stage, for reports of progress.
    pub(super) schedule: Schedule,
    pub(super) rows: Vec<RowRun>,
}

impl Run<'_> {
    pub(super) fn emit(&mut self, entry: Entry) {
        self.observer.observe(&entry);
    }

    /// Emits the outcome of a worker that has just ended; `set` is its set in a comparison, or 0.
    pub(super) fn emit_worker(
        &mut self,
        row: usize,
        phase: Phase,
        set: u32,
        outcome: WorkerOutcome,
    ) {
        let at_s = self.now_s();
        self.emit_worker_at(row, phase, at_s, set, outcome);
    }

    /// The same for a worker that ended at another time, in seconds since the start of the run.
    pub(super) fn emit_worker_at(
        &mut self,
        row: usize,
        phase: Phase,
        at_s: f64,
        set: u32,
        outcome: WorkerOutcome,
    ) {
        self.emit(Entry::Worker { row: row as u32, phase, at_s, set, outcome });
    }

    /// The seconds since the start of the run.
    pub(super) fn now_s(&self) -> f64 {
        self.started_at.elapsed().as_secs_f64()
    }

    pub(super) fn time_is_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Sleeps until that time, the deadline or Ctrl-C.
    pub(super) fn sleep_until(&mut self, until: Instant) -> Result<(), RunError> {
        let until = self.deadline.map_or(until, |deadline| until.min(deadline));
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            self.workers.sleep(left)?;
        }
        Ok(())
    }

    /// Counts a lost worker of a row, which is given up if another one would be lost too.
    pub(super) fn count_lost_worker(&mut self, row: usize, failure: JobFailure) {
        self.rows[row].lost_workers += 1;
        if failure.is_final || self.rows[row].lost_workers > MAX_LOST_WORKERS {
            self.give_up(row, failure);
        }
    }

    /// Stops measuring a row: it is not measurable, its op fails, or its workers are lost
    /// repeatedly.
    pub(super) fn give_up(&mut self, row: usize, failure: JobFailure) {
        self.rows[row].given_up = true;
        let JobFailure { outcome, reason, .. } = failure;
        self.emit(Entry::Abandoned { row: row as u32, outcome, reason });
    }

    /// Gives up all rows that are still measured.
    pub(super) fn give_up_all(&mut self, failure: &JobFailure) {
        for row in 0..self.rows.len() {
            if !self.rows[row].given_up {
                self.give_up(row, failure.clone());
            }
        }
    }
}
