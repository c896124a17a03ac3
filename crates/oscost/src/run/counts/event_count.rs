//! Counting events of ops and programs: by workers of their own, in turns with the timed ones, so
//! that no timed worker has an open counter (docs/explanation/METHOD.md, section 17).

use std::time::{Duration, Instant};

use oscost_model::counters::{CounterEvent, EventCounts, TreeCounts};
use oscost_model::journal::{CountingOutcome, Entry};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{BatchPlan, Task, WorkerSpec};

use super::counted_events::{CountedEvents, has_ops};
use super::quick_counting::{PlannedTime, counting_workers};
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::rows::rounds::REFERENCE_CASE_WORKERS;
use crate::run::rows::row::RowRun;
use crate::run::state::Run;

impl Run<'_> {
    /// Plans how many workers count the events of the rows from `first` on, in a quick run. `rest` is
    /// what it takes beside its rows.
    pub(crate) fn plan_counting(&mut self, first: usize, rest: Duration) {
        let Some(counted) = self.counted_events.clone().filter(CountedEvents::is_planned) else {
            return;
        };
        let has_plan = |&at: &usize| {
            let row = &self.rows[at];
            let plan = row.progress.plan().filter(|_| row.needs_worker());
            plan.is_some_and(|plan| has_ops(plan, ops_per_message(row)))
        };
        let mut rows: Vec<usize> = (first..self.rows.len()).filter(has_plan).collect();
        rows.sort_by_key(|&at| !self.rows[at].planned.requested);
        let time = |&at: &usize| {
            let row = &self.rows[at];
            let plan = row.progress.plan()?;
            // Whether other tasks work for its ops is not known before its calls are counted.
            let inherits = row.count_is_due || self.inherits(at, plan);
            let counting = counted.plan(plan, 0, inherits);
            let references = if row.planned.is_reference { 2 * REFERENCE_CASE_WORKERS } else { 0 };
            Some(PlannedTime::of(plan, &counting, references))
        };
        let times: Vec<PlannedTime> = rows.iter().filter_map(time).collect();
        let workers = counting_workers(&times, rest.as_nanos() as f64);
        for (row, workers) in rows.into_iter().zip(workers) {
            self.rows[row].counting.set_planned(workers);
        }
    }

    /// Counts events of a row after its timed worker of a round, if that is due.
    pub(crate) fn count_events_if_due(&mut self, row: usize, round: u32) -> Result<(), RunError> {
        let Some(counted) = self.counted_events.clone() else { return Ok(()) };
        let Some(plan) = self.rows[row].progress.plan().cloned() else { return Ok(()) };
        // Its call count shows whether other tasks work for its ops.
        if self.rows[row].given_up
            || self.rows[row].count_is_due
            || self.time_is_up()
            || !counted.is_due(&self.rows[row].counting, round)
        {
            return Ok(());
        }
        let inherits = self.inherits(row, &plan);
        let seed = self.order.worker_seed();
        let start = WorkerStart { seed, forked: false, inherits };
        self.count_events(row, &plan, Turn { round, set: 0, attaches: false }, start)
    }

    /// Counts events of both sides of a comparison, after their timed pair of a round.
    pub(crate) fn count_events_of_pair(
        &mut self,
        rows: &[usize],
        plan: &BatchPlan,
        round: u32,
        set: u32,
    ) -> Result<(), RunError> {
        let Some(counted) = &self.counted_events else { return Ok(()) };
        if !counted.is_compared(round) {
            return Ok(());
        }
        let alive =
            |row: &usize| !self.rows[*row].given_up && !self.rows[*row].counting.is_given_up();
        let mut order: Vec<usize> = rows.iter().copied().filter(alive).collect();
        // A side alone has nothing to be compared with.
        if order.len() < 2 {
            return Ok(());
        }
        self.order.shuffle(&mut order);
        // The same layout and the same tasks on both sides: only the target differs.
        let start = WorkerStart {
            seed: self.order.worker_seed(),
            forked: order.iter().any(|&row| {
                self.rows[row].treatments.applied.iter().any(AppliedTreatment::supports_twins)
            }),
            inherits: order.iter().any(|&row| self.inherits(row, plan)),
        };
        for row in order {
            self.count_events(row, plan, Turn { round, set, attaches: true }, start)?;
        }
        Ok(())
    }

    fn count_events(
        &mut self,
        row: usize,
        plan: &BatchPlan,
        turn: Turn,
        start: WorkerStart,
    ) -> Result<(), RunError> {
        let Some(counted) = self.counted_events.clone() else { return Ok(()) };
        if !has_ops(plan, ops_per_message(&self.rows[row])) {
            return Ok(());
        }
        let WorkerStart { seed, forked, inherits } = start;
        let mut plan = counted.plan(plan, self.rows[row].counting.workers(), inherits);
        // The two sides of a pair are attached.
        if !turn.attaches {
            plan = counted.with_deferred_work(plan);
        }
        if plan.deferred_work_ns.is_some() {
            self.rows[row].counting.set_long();
        }
        let spec = self.worker_spec(row, Task::CountEvents(plan));
        let spec = WorkerSpec { seed, forked, ..spec };
        let peer = self.rows[row].peer_location();
        let started_at = Instant::now();
        let result: Result<EventCounts, JobFailure> = match turn.attaches {
            true => {
                self.with_attached(row, |_| 0, |run| Ok(run.workers.count_events(spec, peer)?))?
            }
            false => self.workers.count_events(spec, peer)?,
        };
        let outcome = result.map(|counts| CountingOutcome::Batches(Box::new(counts)));
        self.emit_counting(row, turn, started_at.elapsed(), outcome);
        Ok(())
    }

    /// Emits what a counting worker counted. A lost one is data, and never a reason to give up its
    /// row: after the second, the row is not counted further.
    fn emit_counting(
        &mut self,
        row: usize,
        turn: Turn,
        took: Duration,
        outcome: Result<CountingOutcome, JobFailure>,
    ) {
        let counting = &mut self.rows[row].counting;
        counting.add_worker(took);
        let outcome = outcome.unwrap_or_else(|JobFailure { outcome, reason, is_final, .. }| {
            counting.add_loss(is_final);
            CountingOutcome::Lost { outcome, reason }
        });
        let at_s = self.started_at.elapsed().as_secs_f64();
        let (row, Turn { round, set, .. }) = (row as u32, turn);
        self.emit(Entry::EventsCounted { row, round, at_s, set, outcome });
    }

    /// Whether other tasks work for the ops of a row: their events belong to it.
    fn inherits(&self, row: usize, plan: &BatchPlan) -> bool {
        let row = &self.rows[row];
        let has_tasks = row.count.as_ref().is_some_and(|count| {
            count.tasks.is_some_and(|tasks| tasks > 0) || !count.peer.is_empty()
        });
        row.planned.definition.sleeps(Some(plan.mode)) || has_tasks
    }

    /// The events that are counted over a program's process tree after its trial of a round.
    pub(crate) fn events_of_trial(
        &self,
        row: usize,
        opportunity: u32,
        is_one_of_pair: bool,
    ) -> Vec<CounterEvent> {
        let Some(counted) = &self.counted_events else { return Vec::new() };
        counted.of_trial(&self.rows[row].counting, opportunity, is_one_of_pair)
    }

    /// Emits the counts of a program's process tree.
    pub(crate) fn emit_tree_counts(
        &mut self,
        row: usize,
        round: u32,
        set: u32,
        took: Duration,
        counts: Result<TreeCounts, JobFailure>,
    ) {
        let outcome = counts.map(|counts| CountingOutcome::Tree(Box::new(counts)));
        self.emit_counting(row, Turn { round, set, attaches: false }, took, outcome);
    }
}

/// The quoted ops of a message of a row.
fn ops_per_message(row: &RowRun) -> u64 {
    row.planned.definition.ops_per_message(&row.planned.case.point)
}

/// How a counting worker is started.
#[derive(Clone, Copy)]
struct WorkerStart {
    seed: u64,
    /// Whether it works in a forked process: its address space is then that of a child.
    forked: bool,
    inherits: bool,
}

/// The turn of a counting worker.
#[derive(Clone, Copy)]
struct Turn {
    round: u32,
    /// Its set in a comparison, or 0.
    set: u32,
    /// Whether treatments are attached for it, not for the whole run.
    attaches: bool,
}
