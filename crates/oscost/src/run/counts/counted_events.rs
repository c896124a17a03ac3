//! What is counted, how often, and by which plan.

use oscost_model::counters::{CounterEvent, CounterFacts, CounterRead, CountingPlan};
use oscost_model::worker::{BatchPlan, Mode};

use super::row_counting::RowCounting;

/// The rounds of a comparison, or the trials of compared programs, in which both sides are counted: six
/// pairs have an interval, and one may be lost.
const COMPARED_ROUNDS: u32 = 7;
/// Groups of batches of a set, in batches of the length of the timed ones.
const QUICK_GROUPS: u32 = 3;
/// The same in longer runs.
const GROUPS: u32 = 5;
/// Counted batches have a quarter of the ops, and there are four times as many. A count needs no
/// long batch, since reading it has no step, and the shorter a batch is the fewer of them an
/// interrupt hits: at 1000 ticks a second one in five of 200 us, and one in twenty of 50 us.
const DIVISION: u64 = 4;
/// The same if a batch is one op: its own variation is that of single ops.
const SHOTS: u32 = 25;

/// For how long the ops of a batch of few are counted where counts were asked for, so that they have what
/// the kernel defers for many: 15 ticks at 250 a second, of which it does so at every second or third.
/// One part of it too many or too few is then a seventh of all.
const DEFERRED_WORK_NS: f64 = 60e6;
/// Fewer ops in a counted batch: the worker decides, of its plan, which are counted so.
const FEW_OPS: u64 = 16;

/// What is counted in a run.
#[derive(Clone, Debug)]
pub(crate) struct CountedEvents {
    /// The sets of the work, at least one; each set is counted in batches of its own.
    work: Vec<Vec<CounterEvent>>,
    /// The others.
    others: Vec<Vec<CounterEvent>>,
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
        let mut work = facts.sets();
        let is_counted = !work.is_empty() && (facts.can_count_work() || is_requested);
        // Without work the kernel's own events are the only set.
        let others = work.split_off(work.len().min(facts.work_sets().len().max(1)));
        is_counted.then_some(Self { work, others, read_by: facts.read_by, is_requested, is_quick })
    }

    /// The sets of a row's next worker: the work, and one of the others in turn. Where events are
    /// inherited, each costs at every fork, also one of another set: a worker then has one set.
    fn sets_of(&self, worker: u32, inherits: bool) -> Vec<Vec<CounterEvent>> {
        let Self { work, others, .. } = self;
        let in_turn = |sets: &[Vec<CounterEvent>], turn: u32| {
            sets.get(turn as usize % sets.len().max(1)).cloned()
        };
        match inherits {
            false => work.iter().cloned().chain(in_turn(others, worker)).collect(),
            // Most workers count the work.
            true if self.is_requested && worker % 3 == 2 && !others.is_empty() => {
                in_turn(others, worker / 3).into_iter().collect()
            }
            true => in_turn(work, worker).into_iter().collect(),
        }
    }

    /// The plan of a row's next worker.
    pub(super) fn plan(&self, plan: &BatchPlan, worker: u32, inherits: bool) -> CountingPlan {
        let groups = if self.is_quick { QUICK_GROUPS } else { GROUPS };
        let batches = match plan.mode {
            Mode::U | Mode::B => divided(plan, groups),
            Mode::T => BatchPlan { groups: groups.min(plan.groups), ..plan.clone() },
            Mode::S | Mode::C | Mode::F => {
                BatchPlan { groups: SHOTS.min(plan.groups), ..plan.clone() }
            }
        };
        let sets = self.sets_of(worker, inherits);
        CountingPlan { batches, sets, inherits, read_by: self.read_by, deferred_work_ns: None }
    }

    /// The plan of a worker of a row that is not compared with another one: where counts were asked
    /// for, and a batch has few ops, with the work that the kernel defers. How much of it is in a
    /// worker's mean varies by more than a comparison of work is to find.
    pub(super) fn with_deferred_work(&self, plan: CountingPlan) -> CountingPlan {
        let BatchPlan { mode, iterations, .. } = plan.batches;
        let is_long = self.is_requested && mode == Mode::B && iterations < FEW_OPS;
        CountingPlan { deferred_work_ns: is_long.then_some(DEFERRED_WORK_NS), ..plan }
    }

    /// The workers that count the events of an arm in so many rounds of a comparison.
    pub(crate) fn of_arm(&self, plan: &BatchPlan, rounds: u32) -> PlannedCounting {
        let workers = (0..rounds).filter(|&round| self.is_compared(round)).count() as u32;
        PlannedCounting { workers, plan: self.plan(plan, 0, false) }
    }

    /// Whether the number of workers that count is planned: a quick run is to stay quick, unless the
    /// user asked for counts.
    pub(super) fn is_planned(&self) -> bool {
        self.is_quick && !self.is_requested
    }

    /// Whether a row is counted after its timed worker of a round.
    pub(super) fn is_due(&self, counting: &RowCounting, round: u32) -> bool {
        counting.is_due(round, self.is_requested)
    }

    /// Whether both sides of a comparison are counted in a round.
    pub(super) fn is_compared(&self, round: u32) -> bool {
        round < COMPARED_ROUNDS || self.is_requested
    }

    /// The events that are counted over a program's process tree after a timed trial; none if none
    /// are due after so many opportunities. A counted trial takes as long as a timed one, which a
    /// quick run has no time for.
    pub(super) fn of_trial(
        &self,
        counting: &RowCounting,
        opportunity: u32,
        is_one_of_pair: bool,
    ) -> Vec<CounterEvent> {
        let is_compared = is_one_of_pair && opportunity < COMPARED_ROUNDS;
        let is_due = match is_one_of_pair {
            true => is_compared,
            false => counting.is_due(opportunity, false),
        };
        let is_due = is_due && !self.is_quick || self.is_requested;
        if !is_due || counting.is_given_up() {
            return Vec::new();
        }
        // The work of both sides is compared by as many pairs as have an interval; misses are not.
        let worker = if is_compared { 0 } else { counting.workers() };
        let inherits = true;
        self.sets_of(worker, inherits).into_iter().next().unwrap_or_default()
    }
}

/// The workers of an arm that count its events.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCounting {
    /// How many.
    pub(crate) workers: u32,
    /// The plan of each; where events are inherited, it has one set only.
    pub(crate) plan: CountingPlan,
}

/// A plan of shorter batches that take as long as so many groups of the given one.
fn divided(plan: &BatchPlan, groups: u32) -> BatchPlan {
    let iterations = (plan.iterations / DIVISION).max(1);
    let times = (plan.iterations / iterations).clamp(1, DIVISION);
    BatchPlan {
        iterations,
        // An op of milliseconds has few groups.
        groups: groups.min(plan.groups) * times as u32,
        batch_ns: plan.batch_ns / (plan.iterations as f64 / iterations as f64).max(1.0),
        ..plan.clone()
    }
}

/// The plan by which an inspection counts the work of a short system call.
pub(crate) fn inspection_plan(facts: &CounterFacts) -> Option<CountingPlan> {
    let sets: Vec<Vec<CounterEvent>> = facts.sets().into_iter().take(1).collect();
    let batches = BatchPlan {
        mode: Mode::B,
        // About 50 us, as a pilot aims at.
        iterations: 500,
        unroll_factors: vec![1],
        groups: GROUPS,
        batch_ns: 50_000.0,
        coarse_clock: false,
    };
    let read_by = facts.read_by;
    facts.can_count_work().then_some(CountingPlan {
        batches,
        sets,
        inherits: false,
        read_by,
        deferred_work_ns: None,
    })
}

/// Whether the ops of a plan can be counted per op: where the op computes the figure, or is a byte
/// of a transfer, a count per op means nothing.
pub(super) fn has_ops(plan: &BatchPlan, ops_per_message: u64) -> bool {
    match plan.mode {
        Mode::F => false,
        Mode::T => ops_per_message > 1,
        Mode::U | Mode::B | Mode::S | Mode::C => true,
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::CounterProbe;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

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
        assert_eq!(firsts(2, false), [work, CounterEvent::PageFaults]);
        assert_eq!(firsts(3, false), [work, CounterEvent::BranchMisses]);
        assert!((0..9).all(|worker| firsts(worker, true) == [work]));
        let requested = CountedEvents { is_requested: true, ..counted };
        assert_eq!(requested.sets_of(2, true)[0][0], CounterEvent::BranchMisses);
        assert_eq!(requested.sets_of(5, true)[0][0], CounterEvent::StalledCycles);
    }

    #[test]
    fn with_two_counters_each_worker_has_both_sets_of_the_work_and_inherited_ones_are_in_turn() {
        let two = CounterFacts { simultaneous: Some(2), ..facts(true) };
        let counted = CountedEvents::new(&two, false, false).unwrap();
        let firsts = |worker, inherits| -> Vec<CounterEvent> {
            counted.sets_of(worker, inherits).iter().map(|set| set[0]).collect()
        };
        let [user, ..] = CounterEvent::WORK;
        let both = CounterEvent::Instructions;
        assert_eq!(firsts(0, false), [both, user, CounterEvent::BranchMisses]);
        assert_eq!(firsts(1, false), [both, user, CounterEvent::L1iMisses]);
        let inherited: Vec<_> = (0..4).flat_map(|worker| firsts(worker, true)).collect();
        assert_eq!(inherited, [both, user, both, user]);
    }

    #[test]
    fn a_program_counts_the_work_and_on_request_the_others_in_turn() {
        let counted = CountedEvents::new(&facts(true), false, false).unwrap();
        let requested = CountedEvents { is_requested: true, ..counted.clone() };
        let first = |counted: &CountedEvents, workers, round, is_one_of_pair| {
            let counting = RowCounting { workers, ..RowCounting::default() };
            counted.of_trial(&counting, round, is_one_of_pair).first().copied()
        };
        let (work, misses) = (CounterEvent::InstructionsUser, CounterEvent::BranchMisses);
        assert_eq!(first(&counted, 2, 8, false), Some(work));
        let of_workers: Vec<_> = (0..6).map(|it| first(&requested, it, it, false)).collect();
        let stalled = CounterEvent::StalledCycles;
        let expected = [work, work, misses, work, work, stalled].map(Some);
        assert_eq!(of_workers, expected);
        // As many pairs as have an interval have the work of both sides, whatever was counted of a
        // row in other pairs.
        for opportunity in 0..COMPARED_ROUNDS {
            for workers in [opportunity, 2 * opportunity] {
                assert_eq!(first(&requested, workers, opportunity, true), Some(work));
                assert_eq!(first(&counted, workers, opportunity, true), Some(work));
            }
        }
        assert_eq!(first(&requested, 8, 8, true), Some(CounterEvent::PageFaults));
        assert_eq!(first(&counted, 0, COMPARED_ROUNDS, true), None);
        let quick = CountedEvents { is_quick: true, ..counted };
        assert_eq!(first(&quick, 0, 0, false), None);
    }

    #[test]
    fn counts_that_were_asked_for_have_deferred_work_where_a_batch_has_few_ops() {
        let counted = CountedEvents::new(&facts(true), false, true).unwrap();
        let requested = CountedEvents { is_requested: true, ..counted.clone() };
        let long = |counted: &CountedEvents, plan: &BatchPlan| {
            let plan = counted.with_deferred_work(counted.plan(plan, 0, false));
            plan.deferred_work_ns.is_some()
        };
        // A quarter of the ops of a timed batch.
        assert!(long(&requested, &pilot(Mode::B, 4)) && long(&requested, &pilot(Mode::B, 63)));
        assert!(!long(&requested, &pilot(Mode::B, 64)) && !long(&requested, &pilot(Mode::S, 1)));
        assert!(!long(&counted, &pilot(Mode::B, 4)), "a run without --counters has no time for it");
    }

    #[test]
    fn counted_batches_are_shorter_and_take_as_long_together() {
        let plan = |iterations, groups| BatchPlan {
            mode: Mode::B,
            iterations,
            unroll_factors: vec![1],
            groups,
            batch_ns: 100.0 * iterations as f64,
            coarse_clock: false,
        };
        let counted = CountedEvents::new(&facts(true), false, true).unwrap();
        let batches = |plan: BatchPlan| counted.plan(&plan, 0, false).batches;
        let of = |plan: BatchPlan| (batches(plan.clone()).iterations, batches(plan).groups);
        assert_eq!(of(plan(500, 21)), (125, 12));
        assert_eq!(batches(plan(500, 21)).batch_ns, 12_500.0);
        // One op is not divided.
        assert_eq!(of(plan(1, 21)), (1, 3));
        assert_eq!(of(plan(2, 21)), (1, 6));
        assert_eq!(of(plan(500, 1)), (125, 4));
        let shots = BatchPlan { mode: Mode::S, ..plan(1, 201) };
        assert_eq!(of(shots), (1, 25));
    }

    #[test]
    fn an_arm_is_counted_in_seven_rounds_or_in_all_if_that_is_requested() {
        let plan = pilot(Mode::B, 500);
        let counted = CountedEvents::new(&facts(true), false, true).unwrap();
        let workers = |counted: &CountedEvents| counted.of_arm(&plan, 8).workers;
        assert_eq!(workers(&counted), COMPARED_ROUNDS);
        assert_eq!(workers(&CountedEvents { is_requested: true, ..counted.clone() }), 8);
        assert_eq!(counted.of_arm(&plan, 3).workers, 3);
        assert_eq!(counted.of_arm(&plan, 8).plan.sets.len(), 2);
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
