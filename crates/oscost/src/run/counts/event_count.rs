//! Counting events of ops and programs: by workers of their own, in turns with the timed ones, so
//! that no timed worker has an open counter (docs/explanation/METHOD.md, section 17).

use std::time::{Duration, Instant};

use oscost_model::counters::{
    CounterEvent, CounterFacts, CounterRead, CountingPlan, EventCounts, TreeCounts,
};
use oscost_model::journal::{CountingOutcome, Entry};
use oscost_model::worker::{BatchPlan, Mode, Task};

use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::state::{MAX_LOST_WORKERS, Run};

/// Every row gets this many counting workers: with fewer there is no interval ...
const MIN_WORKERS: u32 = 3;
/// ... and further ones while they take at most this part of the time of the timed workers, so that
/// a run is hardly longer, or hardly less precise in the same time.
const TIME_PART: u32 = 10;
/// The rounds of a comparison in which both sides are counted: six pairs have an interval, and one
/// may be lost.
const COMPARED_ROUNDS: u32 = 7;
/// Groups of batches of a set: the lower mode of three is not moved by an interrupt in one.
const QUICK_GROUPS: u32 = 3;
/// The same in longer runs.
const GROUPS: u32 = 5;
/// The same if a batch is one op: its own variation is that of single ops.
const SHOTS: u32 = 25;

/// What is counted in a run.
#[derive(Clone, Debug)]
pub(crate) struct CountedEvents {
    /// Each is counted in batches of its own; the first has the work.
    sets: Vec<Vec<CounterEvent>>,
    read_by: Option<CounterRead>,
    /// Whether the user asked for counts (`--counters`): then every round counts, whatever time it
    /// takes.
    is_requested: bool,
    is_quick: bool,
}

impl CountedEvents {
    /// What is counted on a machine; `None` if nothing is. Without counters of the processor the
    /// kernel's own events are only counted if the user asked for them.
    pub(crate) fn new(facts: &CounterFacts, is_requested: bool, is_quick: bool) -> Option<Self> {
        let sets = facts.sets();
        let is_counted = !sets.is_empty() && (facts.can_count_work() || is_requested);
        is_counted.then_some(Self { sets, read_by: facts.read_by, is_requested, is_quick })
    }

    /// The sets of a row's next worker: the work, and one of the others in turn. Where events are
    /// inherited, each costs at every fork, also one of another set: a worker then has one set.
    fn sets_of(&self, worker: u32, inherits: bool) -> Vec<Vec<CounterEvent>> {
        let Some((work, others)) = self.sets.split_first() else { return Vec::new() };
        let other = || others.get(worker as usize % others.len().max(1)).cloned();
        match inherits {
            false => std::iter::once(work.clone()).chain(other()).collect(),
            // Most workers count the work.
            true if self.is_requested && worker % 3 == 2 => {
                let turn = worker as usize / 3 % others.len().max(1);
                vec![others.get(turn).unwrap_or(work).clone()]
            }
            true => vec![work.clone()],
        }
    }

    fn plan(&self, plan: &BatchPlan, worker: u32, inherits: bool) -> CountingPlan {
        let groups = match (plan.mode.is_single_shot(), self.is_quick) {
            (true, _) => SHOTS,
            (false, true) => QUICK_GROUPS,
            (false, false) => GROUPS,
        };
        let batches = BatchPlan { groups: groups.min(plan.groups), ..plan.clone() };
        let sets = self.sets_of(worker, inherits);
        CountingPlan { batches, sets, inherits, read_by: self.read_by }
    }
}

/// How far the events of a row have been counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowCounting {
    workers: u32,
    lost: u32,
    /// The time of its counting workers.
    took: Duration,
    /// The time of its timed workers.
    pub(crate) timed: Duration,
}

impl RowCounting {
    /// Whether a worker counts after the timed one of this round.
    fn is_due(&self, round: u32, is_requested: bool) -> bool {
        if self.lost > MAX_LOST_WORKERS {
            return false;
        }
        // The first ones are in every second round, so that they are spread over a short run.
        let is_early = self.workers < MIN_WORKERS && 2 * self.workers <= round;
        let with_next = self.took + self.took / self.workers.max(1);
        let is_cheap = self.workers >= MIN_WORKERS && TIME_PART * with_next <= self.timed;
        is_requested || is_early || is_cheap
    }
}

/// Whether the ops of a plan can be counted per op: where the op computes the figure, or is a byte
/// of a transfer, a count per op means nothing.
fn has_ops(plan: &BatchPlan, ops_per_message: u64) -> bool {
    match plan.mode {
        Mode::F => false,
        Mode::T => ops_per_message > 1,
        Mode::U | Mode::B | Mode::S | Mode::C => true,
    }
}

impl Run<'_> {
    /// Counts events of a row after its timed worker of a round, if that is due.
    pub(crate) fn count_events_if_due(&mut self, row: usize, round: u32) -> Result<(), RunError> {
        let Some(counted) = self.counted_events.clone() else { return Ok(()) };
        let Some(plan) = self.rows[row].progress.plan().cloned() else { return Ok(()) };
        if self.rows[row].given_up
            || self.time_is_up()
            || !self.rows[row].counting.is_due(round, counted.is_requested)
        {
            return Ok(());
        }
        self.count_events(row, &plan, Turn { round, set: 0, attaches: false })
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
        if round >= COMPARED_ROUNDS && !counted.is_requested {
            return Ok(());
        }
        let alive = |row: &usize| {
            !self.rows[*row].given_up && self.rows[*row].counting.lost <= MAX_LOST_WORKERS
        };
        let mut order: Vec<usize> = rows.iter().copied().filter(alive).collect();
        // A side alone has nothing to be compared with.
        if order.len() < 2 {
            return Ok(());
        }
        self.order.shuffle(&mut order);
        for row in order {
            self.count_events(row, plan, Turn { round, set, attaches: true })?;
        }
        Ok(())
    }

    fn count_events(&mut self, row: usize, plan: &BatchPlan, turn: Turn) -> Result<(), RunError> {
        let Some(counted) = self.counted_events.clone() else { return Ok(()) };
        let planned = &self.rows[row].planned;
        if !has_ops(plan, planned.definition.ops_per_message(&planned.case.point)) {
            return Ok(());
        }
        let inherits = self.inherits(row, plan);
        let plan = counted.plan(plan, self.rows[row].counting.workers, inherits);
        let spec = self.worker_spec(row, Task::CountEvents(plan));
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
        counting.workers += 1;
        counting.took += took;
        let outcome = outcome.unwrap_or_else(|JobFailure { outcome, reason, is_final, .. }| {
            counting.lost += if is_final { MAX_LOST_WORKERS + 1 } else { 1 };
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

    /// The events that are counted over a program's process tree after its trial of a round; none
    /// if no trial is due. A counted trial takes as long as a timed one, which a quick run has no
    /// time for.
    pub(crate) fn events_of_trial(
        &self,
        row: usize,
        round: u32,
        is_compared: bool,
    ) -> Vec<CounterEvent> {
        let Some(counted) = &self.counted_events else { return Vec::new() };
        let counting = &self.rows[row].counting;
        let is_due = match is_compared {
            true => round < COMPARED_ROUNDS && counting.lost <= MAX_LOST_WORKERS,
            false => counting.is_due(round, false),
        };
        let is_due = is_due && !counted.is_quick || counted.is_requested;
        let work = counted.sets.first().cloned().unwrap_or_default();
        if is_due && counting.lost <= MAX_LOST_WORKERS { work } else { Vec::new() }
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

/// The turn of a counting worker.
#[derive(Clone, Copy)]
struct Turn {
    round: u32,
    /// Its set in a comparison, or 0.
    set: u32,
    /// Whether treatments are attached for it, not for the whole run.
    attaches: bool,
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::CounterProbe;

    use super::*;

    fn facts(has_pmu: bool) -> CounterFacts {
        let probe = |&event: &CounterEvent| CounterProbe {
            event,
            refused: (!has_pmu && !event.is_software()).then(|| "no such device".to_owned()),
        };
        CounterFacts {
            events: CounterEvent::ALL.iter().map(probe).collect(),
            simultaneous: has_pmu.then_some(6),
            ..CounterFacts::default()
        }
    }

    #[test]
    fn without_counters_of_the_processor_nothing_is_counted_unless_it_is_requested() {
        assert!(CountedEvents::new(&facts(false), false, false).is_none());
        assert!(CountedEvents::new(&CounterFacts::default(), true, false).is_none());
        let software = CountedEvents::new(&facts(false), true, false).unwrap();
        assert_eq!(software.sets_of(0, false), [CounterEvent::SOFTWARE.to_vec()]);
        assert!(CountedEvents::new(&facts(true), false, false).is_some());
    }

    #[test]
    fn each_worker_counts_the_work_and_the_others_in_turn_and_one_set_where_it_is_inherited() {
        let counted = CountedEvents::new(&facts(true), false, false).unwrap();
        let firsts = |worker, inherits| -> Vec<CounterEvent> {
            counted.sets_of(worker, inherits).iter().map(|set| set[0]).collect()
        };
        let work = CounterEvent::InstructionsUser;
        assert_eq!(firsts(0, false), [work, CounterEvent::BranchMisses]);
        assert_eq!(firsts(1, false), [work, CounterEvent::StalledCycles]);
        assert_eq!(firsts(2, false), [work, CounterEvent::BranchMisses]);
        assert!((0..9).all(|worker| firsts(worker, true) == [work]));
        let requested = CountedEvents { is_requested: true, ..counted };
        assert_eq!(requested.sets_of(2, true)[0][0], CounterEvent::BranchMisses);
        assert_eq!(requested.sets_of(5, true)[0][0], CounterEvent::StalledCycles);
    }

    #[test]
    fn three_workers_are_spread_over_a_quick_run_and_more_take_a_tenth_of_the_time() {
        // A counting worker takes a fifth of the time of a timed one.
        let mut counting = RowCounting::default();
        let mut rounds = Vec::new();
        for round in 0..60 {
            counting.timed += Duration::from_millis(10);
            if counting.is_due(round, false) {
                rounds.push(round);
                counting.workers += 1;
                counting.took += Duration::from_millis(2);
            }
        }
        assert_eq!(rounds[..3], [0, 2, 4]);
        // 600 ms of timed workers: 60 ms.
        assert_eq!(rounds.len(), 30, "{rounds:?}");
        assert!(TIME_PART * counting.took <= counting.timed);
        let lost = RowCounting { lost: MAX_LOST_WORKERS + 1, ..RowCounting::default() };
        assert!(!lost.is_due(0, true));
    }

    #[test]
    fn figures_that_ops_compute_and_bytes_have_no_count_per_op() {
        let plan = |mode| BatchPlan {
            mode,
            iterations: 1,
            unroll_factors: vec![1],
            groups: 21,
            batch_ns: 1.0,
            coarse_clock: false,
        };
        assert!(!has_ops(&plan(Mode::F), 1) && !has_ops(&plan(Mode::T), 1));
        assert!(has_ops(&plan(Mode::T), 64) && has_ops(&plan(Mode::U), 1));
    }
}
