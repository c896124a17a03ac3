//! Counts of ops whose work, cycles per instruction, clock and waiting are known.

mod amortized;

use std::collections::BTreeMap;

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::counters::{
    CPI, CountedBatch, CountedSet, CounterEvent, CounterRead, EventCounts, GHZ, INSN,
};
use oscost_model::record::{Cause, CountedRepetition, Ratio};
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode, Sample};

use super::decomposition::{TimedChange, decomposition};
use super::term::{Matching, Sides};
use super::worker::{CountedFigures, CountedOps, counted_figures};
use crate::estimate::rows::worker::SampleContext;

const CLOCK: Calibration = Calibration {
    kind: ClockKind::Tsc,
    ticks_per_ns: 2.0,
    quantum_ticks: 2.0,
    inside_ticks: 40.0,
    pair_ticks: 60.0,
};

/// An op on a core, all of it known.
#[derive(Clone, Copy)]
struct Truth {
    user: f64,
    kernel: f64,
    cpi: f64,
    ghz: f64,
    waiting_ns: f64,
}

impl Truth {
    fn running_ns(self) -> f64 {
        (self.user + self.kernel) * self.cpi / self.ghz
    }

    fn time_ns(self) -> f64 {
        self.running_ns() + self.waiting_ns
    }
}

const GETPPID: Truth = Truth { user: 12.0, kernel: 293.0, cpi: 1.41, ghz: 2.6, waiting_ns: 0.0 };
/// What reading the counters adds to a batch.
const READS: Truth = Truth { user: 90.0, kernel: 2_000.0, cpi: 1.5, ghz: 2.6, waiting_ns: 0.0 };
/// What an interrupt adds to a batch.
const INTERRUPT: f64 = 6_000.0;

/// How much the parts of a worker vary, as standard deviations of logarithms, and how many of its
/// batches an interrupt hits.
#[derive(Clone, Copy)]
struct Noise {
    work: f64,
    core: f64,
    clock: f64,
    interrupted: f64,
}

const QUIET: Noise = Noise { work: 0.0, core: 0.0, clock: 0.0, interrupted: 0.0 };
/// As on a shared guest: work repeats to a tenth of a per cent, cycles do not.
const SHARED: Noise = Noise { work: 0.001, core: 0.02, clock: 0.005, interrupted: 0.2 };

/// The sum of twelve uniform deviates approximates a normal deviate.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}

fn plan(mode: Mode) -> BatchPlan {
    let unroll_factors = if mode.is_slope() { vec![1, 2, 4, 8] } else { vec![1] };
    BatchPlan {
        mode,
        iterations: 500,
        unroll_factors,
        groups: 5,
        batch_ns: 1e5,
        coarse_clock: false,
    }
}

fn context(plan: &BatchPlan) -> SampleContext<'_> {
    SampleContext { plan, clock: &CLOCK, unit: Unit::NsPerOp, switches: false, major_faults: false }
}

/// Ops that create no tasks.
fn ops(context: SampleContext<'_>) -> CountedOps<'_> {
    CountedOps { context, tasks_per_op: 0.0, amortized: false }
}

/// One batch of these ops, in the events of the first set.
fn batch(op: Truth, ops: u64, round: u32, extra: f64) -> CountedBatch {
    let n = ops as f64;
    let user = op.user * n + READS.user;
    let kernel = op.kernel * n + READS.kernel + extra;
    let cycles =
        (op.user + op.kernel) * n * op.cpi + (READS.user + READS.kernel) * READS.cpi + extra;
    let running = cycles / op.ghz;
    let wall = running + op.waiting_ns * n;
    CountedBatch {
        sample: Sample {
            round,
            n: ops,
            ticks: (CLOCK.ticks_per_ns * wall) as i64,
            cpu_ns: Some(running as u64),
            ..Sample::default()
        },
        counts: [user, kernel, cycles, running].map(|it| it.round() as u64).to_vec(),
        enabled_ns: 1_000,
        counting_ns: 1_000,
    }
}

/// The counts of a worker, in batches of a plan.
fn counts(op: Truth, noise: Noise, plan: &BatchPlan, seed: &mut Seed) -> EventCounts {
    let vary = |value: f64, sd: f64, seed: &mut Seed| value * (sd * normal(seed)).exp();
    let work = vary(1.0, noise.work, seed);
    let op = Truth {
        user: op.user * work,
        kernel: op.kernel * work,
        cpi: vary(op.cpi, noise.core, seed),
        ghz: vary(op.ghz, noise.clock, seed),
        ..op
    };
    let batches = (0..plan.groups).flat_map(|round| {
        plan.unroll_factors.iter().map(move |&factor| (round, plan.iterations * u64::from(factor)))
    });
    let batches: Vec<CountedBatch> = batches
        .map(|(round, ops)| {
            let hit = seed.unit() < noise.interrupted;
            batch(op, ops, round, if hit { INTERRUPT } else { 0.0 })
        })
        .collect();
    let events = [&CounterEvent::WORK[..], &[CounterEvent::TaskClock]].concat();
    let empty = vec![batch(op, 0, 0, 0.0); 9];
    let set = CountedSet { events, batches, empty, ..CountedSet::default() };
    EventCounts {
        read_by: CounterRead::Rdpmc,
        inherited: false,
        times_itself: false,
        kernel: true,
        sets: vec![set],
        disturbance: Box::default(),
    }
}

fn figures(op: Truth, noise: Noise, mode: Mode, seed: &mut Seed) -> CountedFigures {
    let plan = plan(mode);
    counted_figures(&counts(op, noise, &plan, seed), ops(context(&plan)))
}

fn near(found: f64, truth: f64, share: f64) -> bool {
    (found / truth - 1.0).abs() < share
}

#[test]
fn what_reading_adds_is_not_in_a_figure_and_is_stated() {
    for mode in [Mode::B, Mode::U] {
        let found = figures(GETPPID, QUIET, mode, &mut Seed::new(1));
        let of = |metric: &str| found.figures[metric];
        assert!(near(of(INSN).value, 305.0, 1e-4), "{mode:?} {:?}", of(INSN));
        assert!(near(of("insn_kernel").value, 293.0, 1e-4));
        assert!(near(of(CPI).value, 1.41, 2e-3) && near(of(GHZ).value, 2.6, 2e-3), "{found:?}");
        let added = (READS.user + READS.kernel) / 500.0;
        assert!(near(of(INSN).raw - of(INSN).value, added, 0.01));
        assert!(near(of(INSN).overhead.unwrap(), added, 0.01));
        assert!(found.void.is_empty());
    }
}

#[test]
fn interrupts_in_two_of_five_batches_do_not_move_instructions() {
    let plan = plan(Mode::B);
    let mut counts = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    for at in [1, 3] {
        counts.sets[0].batches[at] = batch(GETPPID, 500, at as u32, INTERRUPT);
    }
    let found = counted_figures(&counts, ops(context(&plan)));
    assert!(near(found.figures[INSN].value, 305.0, 1e-5), "{found:?}");
}

#[test]
fn a_set_that_is_no_count_is_void_with_its_reason() {
    let plan = plan(Mode::B);
    let good = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    let broken = |change: &dyn Fn(&mut CountedSet)| {
        let mut counts = good.clone();
        change(&mut counts.sets[0]);
        let found = counted_figures(&counts, ops(context(&plan)));
        assert!(found.figures.is_empty(), "{found:?}");
        found.void.into_iter().next().unwrap()
    };
    let multiplexed = broken(&|set| set.batches[2].counting_ns = 900);
    assert!(multiplexed.contains("multiplexed"), "{multiplexed}");
    let by_worker = broken(&|set| set.void = Some("instructions:u stood still".to_owned()));
    assert_eq!(by_worker, "instructions:u stood still");
    let short = broken(&|set| set.batches[0].counts.truncate(3));
    assert!(short.contains("count for each event"), "{short}");
    let twice = broken(&|set| set.events[3] = CounterEvent::Cycles);
    assert_eq!(twice, "a set names cycles twice");
    let many = broken(&|set| set.events = vec![CounterEvent::Cycles; 1_000]);
    assert_eq!(many, "a set names 1000 events, and there are 14");
    let longer = broken(&|set| set.empty[0].counting_ns = u64::MAX);
    assert_eq!(longer, "the events were counted for longer than they were enabled");
    let disturbed = broken(&|set| {
        set.batches[..3].iter_mut().for_each(|it| it.sample.involuntary_switches = 1);
    });
    assert_eq!(disturbed, "3 of 5 counted batches were disturbed");
}

#[test]
fn user_counts_alone_make_no_instructions_of_both_modes() {
    let plan = plan(Mode::B);
    let mut counts = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    let set = &mut counts.sets[0];
    set.events.remove(1);
    for batch in set.batches.iter_mut().chain(&mut set.empty) {
        batch.counts.remove(1);
    }
    let found = counted_figures(&counts, ops(context(&plan)));
    assert!(found.figures.contains_key("insn_user") && !found.figures.contains_key(INSN));
}

#[test]
fn cycles_over_the_wall_time_of_an_op_that_waits_are_no_clock() {
    let waiting = Truth { waiting_ns: 5_000.0, ..GETPPID };
    let found = figures(waiting, QUIET, Mode::B, &mut Seed::new(1));
    assert!(near(found.figures[GHZ].value, 2.6, 2e-3));
    let running = found.running_ns.unwrap();
    assert!(near(found.time_ns.unwrap() - running, 5_000.0, 0.01), "{found:?}");
    // Without the task's clock there is none.
    let plan = plan(Mode::B);
    let mut counts = counts(waiting, QUIET, &plan, &mut Seed::new(1));
    let set = &mut counts.sets[0];
    set.events.pop();
    for batch in set.batches.iter_mut().chain(&mut set.empty) {
        batch.counts.pop();
        batch.sample.cpu_ns = None;
    }
    let waits = SampleContext { switches: true, ..context(&plan) };
    let found = counted_figures(&counts, ops(waits));
    assert!(!found.figures.contains_key(GHZ) && found.running_ns.is_none(), "{found:?}");
}

#[test]
fn the_figures_of_a_worker_belong_together() {
    let mut seed = Seed::new(4);
    for mode in [Mode::B, Mode::U] {
        let noise = Noise { interrupted: 0.3, ..SHARED };
        let found = figures(GETPPID, noise, mode, &mut seed);
        let of = |metric: &str| found.figures[metric].value;
        let product = of(INSN) * of(CPI) / of(GHZ);
        assert!(near(product, found.running_ns.unwrap(), 1e-3), "{mode:?} {found:?}");
        assert!(near(of("insn_user") + of("insn_kernel"), of(INSN), 1e-3));
    }
}

#[test]
fn cycles_of_user_mode_are_no_clock_and_have_their_own_instructions() {
    let plan = plan(Mode::B);
    let mut counts = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    counts.kernel = false;
    let set = &mut counts.sets[0];
    set.events.remove(1);
    for batch in set.batches.iter_mut().chain(&mut set.empty) {
        batch.counts.remove(1);
    }
    let found = counted_figures(&counts, ops(context(&plan)));
    assert!(found.figures.contains_key(CPI) && !found.figures.contains_key(GHZ), "{found:?}");
    // Cycles of both modes by the instructions of one are nothing.
    counts.kernel = true;
    let found = counted_figures(&counts, ops(context(&plan)));
    assert!(!found.figures.contains_key(CPI) && !found.figures.contains_key(GHZ), "{found:?}");
}

/// The same counts by a processor that counts two events at once.
fn by_two_counters(counts: &EventCounts) -> EventCounts {
    let set = &counts.sets[0];
    let with = |events: &[CounterEvent], of: fn(&[u64]) -> Vec<u64>| {
        let batch = |it: &CountedBatch| CountedBatch { counts: of(&it.counts), ..it.clone() };
        CountedSet {
            events: events.to_vec(),
            batches: set.batches.iter().map(batch).collect(),
            empty: set.empty.iter().map(batch).collect(),
            ..set.clone()
        }
    };
    let [user, kernel, cycles] = CounterEvent::WORK;
    let together = [CounterEvent::Instructions, cycles, CounterEvent::TaskClock];
    let sets = vec![
        with(&together, |it| vec![it[0] + it[1], it[2], it[3]]),
        with(&[user, kernel], |it| vec![it[0], it[1]]),
    ];
    EventCounts { sets, ..counts.clone() }
}

#[test]
fn with_two_counters_cycles_and_instructions_of_both_modes_are_of_the_same_batches() {
    for mode in [Mode::B, Mode::U] {
        let plan = plan(mode);
        let noise = Noise { interrupted: 0.3, ..SHARED };
        let mut counts = by_two_counters(&counts(GETPPID, noise, &plan, &mut Seed::new(4)));
        // Interrupts hit other batches of the second set.
        for batch in &mut counts.sets[1].batches {
            batch.counts[1] += 10 * batch.sample.n;
        }
        let found = counted_figures(&counts, ops(context(&plan)));
        let of = |metric: &str| found.figures[metric].value;
        assert!(near(of(INSN), 305.0, 0.01) && near(of(CPI), 1.41, 0.1), "{mode:?} {found:?}");
        assert!(near(of(INSN) * of(CPI) / of(GHZ), found.running_ns.unwrap(), 1e-3), "{found:?}");
        assert!(near(of("insn_user"), 12.0, 0.01) && near(of("insn_kernel"), 303.0, 0.01));
        // Without the first set there is the sum of the second one, and nothing of the core.
        counts.sets[0].void = Some("cycles stood still".to_owned());
        let rest = counted_figures(&counts, ops(context(&plan))).figures;
        assert!(near(rest[INSN].value, 315.0, 0.01) && !rest.contains_key(CPI), "{rest:?}");
        // A count of user mode alone is not one of both.
        let mut hidden = EventCounts { kernel: false, ..counts };
        hidden.sets[0].void = None;
        hidden.sets.truncate(1);
        let found = counted_figures(&hidden, ops(context(&plan))).figures;
        assert!(found.contains_key("cycles") && !found.contains_key(INSN), "{found:?}");
    }
}

#[test]
fn what_inheriting_adds_is_not_in_a_figure_and_the_end_of_tasks_is_no_waiting() {
    let plan = plan(Mode::B);
    let mut counts = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    counts.inherited = true;
    counts.sets[0].added_per_process = Some(vec![0.0, 50.0, 90.0, 20.0]);
    let context = context(&plan);
    let found =
        counted_figures(&counts, CountedOps { context, tasks_per_op: 2.0, amortized: false });
    let insn = found.figures[INSN];
    assert!(near(insn.value, 305.0 - 100.0, 1e-4), "{insn:?}");
    assert!(insn.overhead.unwrap() > 100.0 && insn.raw > 305.0, "{insn:?}");
    assert_eq!(found.running_ns, None, "{found:?}");
    counts.times_itself = true;
    assert_eq!(counted_figures(&counts, ops(context)).time_ns, None);
}

#[test]
fn cold_and_short_ops_after_a_system_call_have_no_figures_of_the_core() {
    let plan = BatchPlan { iterations: 1, unroll_factors: vec![1], ..plan(Mode::C) };
    let mut counts = counts(GETPPID, QUIET, &plan, &mut Seed::new(1));
    let has_cycles = |counts: &EventCounts| {
        let found = counted_figures(counts, ops(context(&plan)));
        assert!(near(found.figures[INSN].value, 305.0, 0.01), "{found:?}");
        [CPI, GHZ, "cycles"].map(|metric| found.figures.contains_key(metric))
    };
    assert_eq!(has_cycles(&counts), [true; 3]);
    counts.read_by = CounterRead::Read;
    assert_eq!(has_cycles(&counts), [false; 3]);
}

/// The counting workers of a row, and its timed figure, in which the core varies as it does in them.
fn row(op: Truth, noise: Noise, workers: u32, seed: &mut Seed) -> Vec<CountedRepetition> {
    let counted = |round| {
        let found = figures(op, noise, Mode::B, seed);
        let named = found.figures.iter().map(|(&name, figure)| (name.to_owned(), figure.value));
        CountedRepetition {
            round,
            at_s: f64::from(round),
            figures: named.collect::<BTreeMap<String, f64>>(),
            time_ns: found.time_ns,
            running_ns: found.running_ns,
        }
    };
    (0..workers).map(counted).collect()
}

/// What was planted between two sides, and its name.
struct Plant {
    name: &'static str,
    change: fn(Truth, f64) -> Truth,
    cause: Cause,
}

const PLANTS: [Plant; 6] = [
    Plant {
        name: "a neighbour on the core",
        change: |op, by| Truth { cpi: op.cpi * by, ..op },
        cause: Cause::Core,
    },
    Plant {
        name: "a waiting peer",
        change: |op, by| Truth { waiting_ns: op.waiting_ns + (by - 1.0) * op.time_ns(), ..op },
        cause: Cause::Waiting,
    },
    Plant {
        name: "a lower clock",
        change: |op, by| Truth { ghz: op.ghz / by, ..op },
        cause: Cause::Clock,
    },
    Plant {
        name: "a lower quota",
        // Throttled: off the CPU for a share of each period.
        change: |op, by| Truth { waiting_ns: op.waiting_ns + (by - 1.0) * op.running_ns(), ..op },
        cause: Cause::Waiting,
    },
    Plant {
        name: "an added call",
        change: |op, by| Truth {
            user: op.user + 5.0,
            kernel: op.kernel + (by - 1.0) * (op.user + op.kernel) - 5.0,
            ..op
        },
        cause: Cause::Work,
    },
    Plant {
        name: "a filter",
        // Its instructions are cheaper than those of the call.
        change: |op, by| {
            let insn = op.user + op.kernel;
            let added = 1.3 * (by - 1.0) * insn;
            let cpi = (insn * op.cpi + added * op.cpi / 1.3) / (insn + added);
            Truth { kernel: op.kernel + added, cpi, ..op }
        },
        cause: Cause::Work,
    },
];

/// A change of the timed ops, of which nothing more is known.
fn timed(log_ratio: f64) -> TimedChange {
    TimedChange { log_ratio, interval: None, counting: None }
}

#[test]
fn planted_causes_are_named_right_in_95_per_cent_of_the_rows_that_moved() {
    for matching in [Matching::ByRound, Matching::Unmatched, Matching::Runs] {
        for Plant { name, change, cause } in PLANTS {
            let mut seed = Seed::new(27);
            let (mut moved, mut right) = (0, 0);
            for number in 0..300 {
                let size = 1.15 + f64::from(number % 10) / 10.0;
                let op = Truth {
                    kernel: 100.0 * f64::from(1 + number % 40),
                    waiting_ns: if number % 3 == 0 { 300.0 } else { 0.0 },
                    ..GETPPID
                };
                let base = row(op, SHARED, 8, &mut seed);
                let new = row(change(op, size), SHARED, 8, &mut seed);
                // The timed workers see the same core on another round.
                let timed_noise = 0.01 * normal(&mut seed);
                let log_ratio = (change(op, size).time_ns() / op.time_ns()).ln() + timed_noise;
                if log_ratio.abs() <= 0.1f64.ln_1p() {
                    continue;
                }
                moved += 1;
                let sides = Sides { base: &base, new: &new, matching, variation: None };
                let found = decomposition(sides, timed(log_ratio));
                right += u32::from(found.unwrap().cause == cause);
            }
            assert!(moved >= 250, "{name}: {moved} rows moved");
            assert!(20 * right >= 19 * moved, "{name} {matching:?}: {right} of {moved}");
        }
    }
}

#[test]
fn a_change_that_the_counted_ops_do_not_show_has_no_cause() {
    let mut seed = Seed::new(5);
    let (base, new) = (row(GETPPID, SHARED, 8, &mut seed), row(GETPPID, SHARED, 8, &mut seed));
    let matching = Matching::ByRound;
    let sides = Sides { base: &base, new: &new, matching, variation: None };
    let found = decomposition(sides, timed(0.3)).unwrap();
    assert_eq!(found.cause, Cause::Unknown);
    assert!(found.sentence.contains("cause unknown"), "{}", found.sentence);
    let found = decomposition(sides, timed(0.002)).unwrap();
    assert_eq!(found.cause, Cause::None);
}

#[test]
fn a_sentence_says_that_the_work_is_the_same_and_what_is_not() {
    let mut seed = Seed::new(5);
    let neighbour = Truth { cpi: 1.3 * GETPPID.cpi, ..GETPPID };
    let noise = Noise { core: 0.01, ..QUIET };
    let base = row(GETPPID, noise, 8, &mut seed);
    let new = row(neighbour, noise, 8, &mut seed);
    let matching = Matching::ByRound;
    let sides = Sides { base: &base, new: &new, matching, variation: None };
    let found = decomposition(sides, timed(1.3f64.ln())).unwrap();
    assert!(found.sentence.starts_with("work 1.000 (to 0.0"), "{}", found.sentence);
    let cpi = found.cpi.as_ref().unwrap().value;
    assert!(near(cpi, 1.3, 0.02), "{cpi}");
    let said = format!("cycles per instruction {cpi:.2} [");
    assert!(found.sentence.contains(&said), "{}", found.sentence);
    assert!(found.sentence.ends_with("the core was shared or its caches were colder"));
    let filter = Truth { kernel: GETPPID.kernel + 91.0, ..GETPPID };
    let new = row(filter, noise, 8, &mut seed);
    let matching = Matching::ByRound;
    let sides = Sides { base: &base, new: &new, matching, variation: None };
    let found = decomposition(sides, timed(1.3f64.ln())).unwrap();
    assert!(found.sentence.contains("(instructions: +91.0 in the kernel)"), "{}", found.sentence);
}

#[test]
fn what_counting_added_is_a_term_of_its_own_with_the_error_of_both_changes() {
    let mut seed = Seed::new(5);
    let noise = Noise { core: 0.01, ..QUIET };
    let (base, new) = (row(GETPPID, noise, 8, &mut seed), row(GETPPID, noise, 8, &mut seed));
    let counting = |sides: &[&[CountedRepetition]; 2], ci95| {
        let [base, new] = *sides;
        let sides = Sides { base, new, matching: Matching::Unmatched, variation: None };
        let ratio = Ratio { value: 1.0, ci95 };
        decomposition(sides, TimedChange::of(&ratio, Some(1.02))).unwrap().counting.unwrap()
    };
    let narrow = counting(&[&base, &new], Some([0.999, 1.001]));
    let wide = counting(&[&base, &new], Some([0.9, 1.1]));
    let width = |of: &Ratio| of.ci95.map(|[low, high]| high - low).unwrap();
    assert_eq!([narrow.value, wide.value], [1.02; 2]);
    assert!(width(&narrow) > 0.005 && width(&narrow) < 0.06, "{narrow:?}");
    assert!(width(&wide) > 0.19 && width(&wide) < 0.25, "{wide:?}");
    // Neither a change without an interval nor a few workers have one.
    assert_eq!(counting(&[&base, &new], None).ci95, None);
    assert_eq!(counting(&[&base[..3], &new[..3]], Some([0.999, 1.001])).ci95, None);
}
