//! Counted batches on machines of known truth.

use oscost_model::counters::{CountedBatch, CountedSet};
use oscost_model::worker::{BatchPlan, Mode};

use super::*;
use crate::bench::Shape;
use crate::engine::collect::BatchJitter;
use crate::engine::events::scripted::ScriptedCounters;
use crate::engine::simulator::{AmortizedWork, Execution, Truth};

const EVENTS: [CounterEvent; 4] = [
    CounterEvent::InstructionsUser,
    CounterEvent::InstructionsKernel,
    CounterEvent::Cycles,
    CounterEvent::TaskClock,
];

fn plan(mode: Mode, iterations: u64, unroll_factors: &[u32]) -> BatchPlan {
    let unroll_factors = unroll_factors.to_vec();
    BatchPlan { mode, iterations, unroll_factors, groups: 21, batch_ns: 5e4, coarse_clock: false }
}

fn counted(execution: Execution, plan: &BatchPlan) -> CountedSet {
    counted_up_to(execution, plan, u64::MAX)
}

/// The counts of work that allows so many ops in a batch.
fn counted_up_to(execution: Execution, plan: &BatchPlan, max_ops: u64) -> CountedSet {
    counted_events(&EVENTS, execution, plan, max_ops)
}

/// The counts of these events.
fn counted_events(
    events: &[CounterEvent],
    execution: Execution,
    plan: &BatchPlan,
    max_ops: u64,
) -> CountedSet {
    let truth = Truth { execution, ..Truth::QUIET };
    let machine = SimulatedMachine::new(&truth, 7, 0.0);
    let mut counters = SimCounters::open(&machine, events).unwrap();
    let mut work = machine.work(Shape::Repeat).with_max_batch_ops(max_ops);
    let mut collector = machine.collector();
    collector.warm_up(&mut work, plan).unwrap();
    let mut jitter = BatchJitter::new(7);
    collector.count_set(&mut work, plan, None, &mut jitter, 0, &mut counters).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of a count per op, without what reading adds.
fn per_op(set: &CountedSet, at: usize) -> f64 {
    assert_eq!(set.void, None);
    let empty = median(set.empty.iter().map(|batch| batch.counts[at] as f64).collect());
    let value = |batch: &CountedBatch| (batch.counts[at] as f64 - empty) / batch.sample.n as f64;
    median(set.batches.iter().map(value).collect())
}

#[test]
fn instructions_cycles_and_time_of_counted_batches_are_those_of_the_op() {
    let set = counted(Execution::QUIET, &plan(Mode::B, 400, &[1]));
    // Two of the loop are part of a batch without a slope.
    assert_eq!(per_op(&set, 0), 62.0);
    assert_eq!(per_op(&set, 1), 240.0);
    let (cycles, clock_ns) = (per_op(&set, 2), per_op(&set, 3));
    assert!((cycles / clock_ns - 2.6).abs() < 0.001, "{cycles} and {clock_ns}");
    assert!((cycles / (124.25 * 2.6) - 1.0).abs() < 0.1, "{cycles}");
    assert_eq!((set.batches.len(), set.empty.len()), (21, 9));
    // What reading adds is known exactly here.
    assert!(set.empty.iter().all(|batch| batch.counts[..2] == [40, 900]), "{:?}", set.empty);
}

#[test]
fn two_counters_at_once_have_instructions_and_cycles_of_the_same_batches() {
    let together = [CounterEvent::Instructions, CounterEvent::Cycles, CounterEvent::TaskClock];
    let plan = plan(Mode::B, 400, &[1]);
    let noisy = Execution { interrupts_per_s: 4_000.0, ..Execution::QUIET };
    for execution in [Execution::QUIET, noisy] {
        let set = counted_events(&together, execution, &plan, u64::MAX);
        assert_eq!(set.void, None, "an interrupt of the loop of known length is no defect");
        let exact = |batch: &CountedBatch| batch.sample.n * 302 + 940;
        assert!(set.batches.iter().all(|batch| batch.counts[0] >= exact(batch)));
        assert!(set.batches.iter().any(|batch| batch.counts[0] == exact(batch)));
    }
    let set = counted_events(&together, Execution::QUIET, &plan, u64::MAX);
    let (insn, cycles, clock_ns) = (per_op(&set, 0), per_op(&set, 1), per_op(&set, 2));
    assert_eq!(insn, 302.0);
    assert!((cycles / clock_ns - 2.6).abs() < 0.001, "{cycles} and {clock_ns}");
    let lossy = Execution { defect: Some(CounterDefect::Loses(0.9)), ..Execution::QUIET };
    let void = counted_events(&together, lossy, &plan, u64::MAX).void.unwrap_or_default();
    assert!(void.contains("a loop of 999999 instructions was counted as 8999"), "{void}");
}

#[test]
fn the_slope_over_unroll_factors_has_neither_loop_nor_reads() {
    let set = counted(Execution::QUIET, &plan(Mode::U, 200, &[1, 2, 4, 8]));
    assert_eq!(set.batches.len(), 84);
    for group in set.batches.chunks(4) {
        let of = |ops: u64| {
            let smallest = group.iter().map(|batch| batch.sample.n).min().unwrap();
            group.iter().find(|batch| batch.sample.n == ops * smallest).unwrap()
        };
        let (one, eight) = (of(1), of(8));
        let slope =
            (eight.counts[0] - one.counts[0]) as f64 / (eight.sample.n - one.sample.n) as f64;
        assert_eq!(slope, 60.0);
    }
}

#[test]
fn a_slower_clock_changes_the_time_and_not_the_cycles_and_a_neighbour_changes_both() {
    let plan = plan(Mode::B, 400, &[1]);
    let quiet = counted(Execution::QUIET, &plan);
    let slow = counted(Execution { clock: 0.5, ..Execution::QUIET }, &plan);
    let shared = counted(Execution { neighbour: Some((1.0, 1.4)), ..Execution::QUIET }, &plan);
    let ratio = |set: &CountedSet, at| per_op(set, at) / per_op(&quiet, at);
    for (set, cycles, time) in [(&slow, 1.0, 2.0), (&shared, 1.4, 1.4)] {
        assert_eq!((ratio(set, 0), ratio(set, 1)), (1.0, 1.0), "the work is the same");
        assert!((ratio(set, 2) / cycles - 1.0).abs() < 0.05, "{}", ratio(set, 2));
        assert!((ratio(set, 3) / time - 1.0).abs() < 0.05, "{}", ratio(set, 3));
    }
}

#[test]
fn waiting_is_in_the_ticks_and_in_no_counter() {
    let plan = plan(Mode::B, 400, &[1]);
    let quiet = counted(Execution::QUIET, &plan);
    let waiting = counted(Execution { wait_ns: 1_000.0, ..Execution::QUIET }, &plan);
    let ns = |set: &CountedSet| {
        median(set.batches.iter().map(|it| it.sample.ticks as f64 / it.sample.n as f64).collect())
            / Truth::QUIET.ticks_per_ns
    };
    assert!((ns(&waiting) - ns(&quiet) - 1_000.0).abs() < 20.0);
    assert!((per_op(&waiting, 3) / per_op(&quiet, 3) - 1.0).abs() < 0.01);
}

#[test]
fn interrupts_only_add_instructions_in_the_kernel() {
    let noisy = Execution { interrupts_per_s: 4_000.0, ..Execution::QUIET };
    let set = counted(noisy, &plan(Mode::B, 400, &[1]));
    let exact = |batch: &CountedBatch| batch.sample.n * 240 + 900;
    assert!(set.batches.iter().all(|batch| batch.counts[1] >= exact(batch)));
    assert!(set.batches.iter().any(|batch| batch.counts[1] > exact(batch)));
    assert!(set.batches.iter().any(|batch| batch.counts[1] == exact(batch)), "the lower mode");
}

/// The median number of ops in a batch.
fn ops(set: &CountedSet) -> u64 {
    let mut ops: Vec<u64> = set.batches.iter().map(|batch| batch.sample.n).collect();
    ops.sort_unstable();
    ops[ops.len() / 2]
}

#[test]
fn batches_become_longer_where_what_reading_adds_varies_too_much_for_them() {
    let short = BatchPlan { batch_ns: 5e3, ..plan(Mode::B, 40, &[1]) };
    let restless = Execution { read_insn_spread: 100.0, ..Execution::QUIET };
    let steady = counted(Execution::QUIET, &short);
    assert!((36..=44).contains(&ops(&steady)), "{}", ops(&steady));
    let set = counted(restless, &short);
    // A batch of 40 ops has 12,000 instructions, of which a thousandth is looked for.
    assert!(set.empty.iter().any(|batch| batch.counts[1] > 925), "{:?}", set.empty);
    assert!(2 * ops(&set) >= 3 * ops(&steady), "{}", ops(&set));
    assert_eq!((set.batches.len(), set.empty.len()), (21, 9), "as many of them");
    assert!((per_op(&set, 1) / 240.0 - 1.0).abs() < 0.002, "{}", per_op(&set, 1));
    // Long ones stay as they are, and no batch has more ops than its work allows.
    let long = counted(restless, &plan(Mode::B, 4_000, &[1]));
    assert!((3_600..=4_400).contains(&ops(&long)), "{}", ops(&long));
    let bounded = counted_up_to(restless, &short, 90);
    assert!(bounded.batches.iter().all(|batch| batch.sample.n <= 90), "{bounded:?}");
    assert!(ops(&bounded) > ops(&steady));
}

#[test]
fn batches_that_cannot_be_long_enough_say_by_how_much_they_are_too_short() {
    let short = BatchPlan { batch_ns: 5e3, ..plan(Mode::B, 40, &[1]) };
    let restless = Execution { read_insn_spread: 1_000.0, ..Execution::QUIET };
    let bounded = counted_up_to(restless, &short, 90);
    assert!(bounded.short_by.is_some_and(|by| by >= 2), "{:?}", bounded.short_by);
    assert_eq!(bounded.void, None, "what they count is kept");
    assert_eq!(counted(Execution::QUIET, &short).short_by, None);
    // One op is one op: nothing is said of a length that it does not have.
    assert_eq!(counted(restless, &plan(Mode::S, 1, &[1])).short_by, None);
}

/// The mean of the instructions of both modes per op, without what reading adds.
fn mean_insn(set: &CountedSet) -> f64 {
    assert_eq!(set.void, None);
    let insn = |batch: &CountedBatch| (batch.counts[0] + batch.counts[1]) as f64;
    let empty = median(set.empty.iter().map(insn).collect());
    let per_op = set.batches.iter().map(|batch| (insn(batch) - empty) / batch.sample.n as f64);
    per_op.sum::<f64>() / set.batches.len() as f64
}

#[test]
fn work_that_one_op_does_for_many_is_counted_in_long_batches_and_said() {
    // Short ones, of which most have no such work.
    let short = BatchPlan { groups: 20, batch_ns: 12.5e3, ..plan(Mode::B, 14, &[1]) };
    let insn_kernel = 390.0 - Execution::QUIET.insn_user - Execution::QUIET.loop_insn;
    for every in [48.0, 63.0] {
        let amortized = Some(AmortizedWork { every, insn: 2_900.0 });
        let execution = Execution { insn_kernel, amortized, ..Execution::QUIET };
        let set = counted(execution, &short);
        assert!(set.amortized, "every {every}");
        assert_eq!((set.batches.len(), set.empty.len()), (5, 9));
        let truth = 390.0 + 2_900.0 / every;
        let found = mean_insn(&set);
        assert!((found / truth - 1.0).abs() < 0.005, "every {every}: {found}, not {truth}");
        // Each has the user's instructions, which none does for many.
        assert_eq!(per_op(&set, 0), 62.0);
        let slope = counted(execution, &plan(Mode::U, 50, &[1, 2, 4, 8]));
        assert!(slope.amortized, "every {every}");
    }
    let own_work = Execution { insn_kernel, ..Execution::QUIET };
    let set = counted(own_work, &short);
    assert!(!set.amortized && set.batches.len() == 20);
    assert_eq!(mean_insn(&set), 390.0);
}

#[test]
fn interrupts_in_a_fifth_of_the_batches_are_no_work_of_ops() {
    // Batches of 50 us, and those that are compared.
    let noisy = Execution { interrupts_per_s: 4_000.0, ..Execution::QUIET };
    let restless = Execution { read_insn_spread: 100.0, ..noisy };
    let plan = BatchPlan { groups: 9, ..plan(Mode::B, 400, &[1]) };
    let marked = |execution: Execution| {
        let is_marked = |seed| {
            let truth = Truth { execution, ..Truth::QUIET };
            let machine = SimulatedMachine::new(&truth, seed, 0.0);
            let mut counters = SimCounters::open(&machine, &EVENTS).unwrap();
            let mut work = machine.work(Shape::Repeat);
            let mut jitter = BatchJitter::new(seed);
            let mut collector = machine.collector();
            let set = collector.count_set(&mut work, &plan, None, &mut jitter, 0, &mut counters);
            set.unwrap().amortized
        };
        (1..=100).filter(|&seed| is_marked(seed)).count()
    };
    // Six of seven batches of 50 us are hit by chance in one of 3,000 cases.
    for execution in [Execution::QUIET, noisy, restless] {
        assert!(marked(execution) <= 1, "{execution:?}");
    }
}

/// Instructions of an op of 14 us, with its loop.
const LONG_OP_INSN: f64 = 7_000.0;
/// Those of the work that the kernel does later for each such op.
const DEFERRED_INSN: f64 = 186.0;

/// An op of 14 us on a core of two nanoseconds an instruction, under 250 ticks a second; every so many
/// ops the kernel does the work that all of these have left.
fn deferring(every: f64, insn: f64) -> Truth {
    let execution = Execution {
        insn_kernel: LONG_OP_INSN - Execution::QUIET.insn_user - Execution::QUIET.loop_insn,
        ghz: 0.5,
        interrupts_per_s: 250.0,
        interrupt_insn: 6_000.0,
        amortized: Some(AmortizedWork { every, insn: insn * every }),
        ..Execution::QUIET
    };
    Truth { op_ns: 14_000.0, execution, ..Truth::QUIET }
}

/// The counts of one of its workers.
fn counted_long(
    truth: &Truth,
    seed: u64,
    events: &[CounterEvent],
    deferred_work_ns: Option<f64>,
) -> CountedSet {
    let machine = SimulatedMachine::new(truth, seed, 0.0);
    let mut counters = SimCounters::open(&machine, events).unwrap();
    let mut work = machine.work(Shape::Repeat);
    let plan = BatchPlan { groups: 12, batch_ns: 14e3, ..plan(Mode::B, 1, &[1]) };
    let mut collector = machine.collector();
    collector.warm_up_to_count(&mut work, &plan).unwrap();
    let mut jitter = BatchJitter::new(seed);
    collector.count_set(&mut work, &plan, deferred_work_ns, &mut jitter, 0, &mut counters).unwrap()
}

#[test]
fn work_that_the_kernel_does_later_is_counted_over_many_ticks_and_said() {
    let truth = LONG_OP_INSN + DEFERRED_INSN;
    let mut shares = Vec::new();
    for every in [500.0, 570.0, 640.0, 710.0] {
        for seed in 1..=5 {
            let machine = deferring(every, DEFERRED_INSN);
            let set = counted_long(&machine, seed, &EVENTS, Some(60e6));
            assert!(set.spans_ticks && set.amortized, "every {every}, seed {seed}");
            assert_eq!((set.batches.len(), set.empty.len()), (123, 9));
            shares.push(mean_insn(&set) / truth);
            // Without this time its batches are of one op, and their median has none of it.
            let short = counted_long(&machine, seed, &EVENTS, None);
            assert!(!short.spans_ticks && short.batches.len() == 12);
            assert_eq!(per_op(&short, 1), LONG_OP_INSN - 62.0);
        }
    }
    // A worker has one part of it too many or too few; ticks are 0.3 %.
    assert!(shares.iter().all(|share| (share - 1.0).abs() < 0.012), "{shares:?}");
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((mean - 1.0).abs() < 0.006, "{mean}: {shares:?}");
}

#[test]
fn ticks_alone_are_no_work_that_the_kernel_does_later() {
    let quiet = deferring(600.0, 0.0);
    let sets = (1..=20).map(|seed| counted_long(&quiet, seed, &EVENTS, Some(60e6)));
    let sets: Vec<CountedSet> = sets.collect();
    assert!(sets.iter().all(|set| set.spans_ticks && set.batches.len() == 123));
    // 15 ticks are 0.3 %; 25 of them, half a per cent.
    let marked = sets.iter().filter(|set| set.amortized).count();
    assert!(marked <= 2, "{marked}");
    // Batches without a tick are the lower mode.
    let exact = |batch: &CountedBatch| batch.sample.n * 6_938 + 900;
    let is_exact = |set: &CountedSet| set.batches.iter().any(|it| it.counts[1] == exact(it));
    assert!(sets.iter().all(is_exact));
}

#[test]
fn events_that_are_no_instructions_are_counted_in_the_batches_of_the_plan() {
    let events = [CounterEvent::BranchMisses, CounterEvent::TaskClock];
    let set = counted_long(&deferring(600.0, DEFERRED_INSN), 1, &events, Some(60e6));
    assert!(!set.spans_ticks && !set.amortized && set.batches.len() == 12);
}

#[test]
fn sets_without_instructions_do_not_show_work_that_one_op_does_for_many() {
    let amortized = Some(AmortizedWork { every: 48.0, insn: 2_900.0 });
    let execution = Execution { amortized, ..Execution::QUIET };
    let plan = plan(Mode::B, 14, &[1]);
    let events = [CounterEvent::BranchMisses, CounterEvent::TaskClock];
    let misses = counted_events(&events, execution, &plan, u64::MAX);
    assert!(!misses.amortized && misses.batches.len() == 21);
    // Nor do batches of few ops.
    let plan = BatchPlan { iterations: 5, ..plan };
    assert!(!counted_up_to(execution, &plan, 7).amortized);
}

#[test]
fn single_shots_and_counters_that_fail_leave_the_plan_as_it_is() {
    let restless = Execution { read_insn_spread: 1_000.0, ..Execution::QUIET };
    let shots = counted(restless, &plan(Mode::S, 1, &[1]));
    assert!(shots.batches.iter().all(|batch| batch.sample.n == 1));
    let defect = Some(CounterDefect::Backwards);
    let set = counted(Execution { defect, ..restless }, &plan(Mode::B, 40, &[1]));
    assert!(set.void.unwrap_or_default().contains("went backwards"));
}

#[test]
fn counters_that_wrap_lose_nothing() {
    let wrapping = Execution { defect: Some(CounterDefect::Wraps(40)), ..Execution::QUIET };
    let set = counted(wrapping, &plan(Mode::B, 400, &[1]));
    assert_eq!((per_op(&set, 0), per_op(&set, 1)), (62.0, 240.0));
}

#[test]
fn defects_make_a_set_void_with_their_reason() {
    let still = CounterDefect::StandsStill;
    for (defect, reason) in [
        (CounterDefect::Multiplexed(0.6), "multiplexed: they counted for 60 %"),
        (still(CounterEvent::InstructionsUser), "the counter of instructions:u stood still"),
        (still(CounterEvent::Cycles), "the counter of cycles stood still"),
        (
            CounterDefect::Loses(0.9),
            "a loop of 999999 instructions in user mode was counted as 8999",
        ),
        (CounterDefect::Backwards, "the counter of cycles went backwards"),
    ] {
        let set = counted(
            Execution { defect: Some(defect), ..Execution::QUIET },
            &plan(Mode::B, 400, &[1]),
        );
        let void = set.void.unwrap_or_default();
        assert!(void.contains(reason), "{defect:?}: {void}");
    }
}

/// Why a set is void whose windows are all this one.
fn void_of(window: &WindowCounts) -> String {
    let plan = plan(Mode::B, 400, &[1]);
    let machine = SimulatedMachine::new(&Truth::QUIET, 7, 0.0);
    let window = window.clone();
    let mut counters = ScriptedCounters::new(&EVENTS, move |_| Ok(window.clone()));
    let mut work = machine.work(Shape::Repeat);
    let mut collector = machine.collector();
    collector.warm_up(&mut work, &plan).unwrap();
    let mut jitter = BatchJitter::new(7);
    let set = collector.count_set(&mut work, &plan, None, &mut jitter, 0, &mut counters);
    set.unwrap().void.unwrap_or_default()
}

#[test]
fn windows_that_contradict_themselves_make_a_set_void() {
    for (counts, enabled_ns, counting_ns, reason) in [
        (vec![1; 3], 9, 9, "a read returned 3 counts for a group of 4 events"),
        (vec![1; 5], 9, 9, "a read returned 5 counts for a group of 4 events"),
        (vec![], 9, 9, "a read returned 0 counts for a group of 4 events"),
        (vec![0; 4], 9, 9, "the counter of instructions:u stood still"),
        (vec![u64::MAX; 4], 9, 9, "all 21 batches have 18446744073709551615 cycles"),
        (vec![1; 4], 9, 0, "not scheduled: they counted for none of 9 ns"),
        (vec![1; 4], 0, 9, "the counters counted for longer than they were enabled"),
        (vec![1; 4], 0, u64::MAX, "the counters counted for longer than they were enabled"),
    ] {
        let void = void_of(&WindowCounts { counts, enabled_ns, counting_ns });
        assert!(void.contains(reason), "{reason}: {void}");
    }
}

#[test]
fn absent_and_hidden_events_are_refused() {
    let open = |defect, events: &[CounterEvent]| {
        let execution = Execution { defect: Some(defect), ..Execution::QUIET };
        let machine = SimulatedMachine::new(&Truth { execution, ..Truth::QUIET }, 1, 0.0);
        SimCounters::open(&machine, events).map(drop)
    };
    let error = open(CounterDefect::Absent, &CounterEvent::WORK).unwrap_err();
    assert_eq!(error.errno, Errno::ENOENT);
    assert!(open(CounterDefect::Absent, &CounterEvent::SOFTWARE).is_ok());
    let error = open(CounterDefect::UserOnly, &CounterEvent::WORK).unwrap_err();
    assert_eq!((error.event, error.errno), (CounterEvent::InstructionsKernel, Errno::EACCES));
    assert!(open(CounterDefect::UserOnly, &[CounterEvent::Cycles]).is_ok());
}
