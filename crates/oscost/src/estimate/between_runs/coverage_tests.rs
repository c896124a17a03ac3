//! Coverage of the intervals between runs on machines with known truth: workers, heaps of workers and
//! of runs, the core's rate, runs and boots (docs/explanation/METHOD.md, section 4).

use std::array;

use oscost_model::record::Repetition;
use oscost_stats::interval::median_hs;
use oscost_stats::random::{standard_normal, student, uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::estimate::made_up_rows::{conditions, row};

/// Repetitions of a run.
const REPETITIONS: usize = 15;
/// The distance of two heaps, as a logarithm: 42 %.
const HEAPS: f64 = 0.35;

/// What makes the figures of a case vary, as standard deviations of logarithms. Its class says 5 %.
#[derive(Clone, Copy, Debug)]
struct Truth {
    workers: f64,
    /// The share of workers that lie on the higher one of two heaps.
    worker_heap: f64,
    /// The share of runs all workers of which do.
    run_heap: f64,
    /// Of the core's rate, which each run has for itself.
    rate: f64,
    runs: f64,
    boots: f64,
}

const STEADY: Truth =
    Truth { workers: 0.02, worker_heap: 0.0, run_heap: 0.0, rate: 0.0, runs: 0.02, boots: 0.0 };
const VARYING: Truth = Truth { runs: 0.045, ..STEADY };
const OF_THE_CORE: Truth = Truth { rate: 0.03, runs: 0.03, ..STEADY };
const OF_BOOTS: Truth = Truth { boots: 0.045, ..STEADY };
const HEAPS_OF_WORKERS: Truth = Truth { worker_heap: 0.5, ..STEADY };
const HEAPS_OF_RUNS: Truth = Truth { run_heap: 0.5, ..STEADY };

/// The kinds of cases for which a single run is promised an interval.
const KINDS: [Truth; 5] = [STEADY, VARYING, OF_THE_CORE, OF_BOOTS, HEAPS_OF_WORKERS];

/// Whether earlier runs are of the boot of the last one, or each of a boot of its own.
#[derive(Clone, Copy, Debug)]
enum Boots {
    One,
    Each,
}

/// A case of this kind, whose long-run figure is 1.
struct SimulatedCase {
    truth: Truth,
    /// Cases of a kind vary by different amounts.
    factor: f64,
    random: Xoshiro256PlusPlus,
}

impl SimulatedCase {
    fn new(truth: Truth, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let factor = (0.3 * standard_normal(&mut random)).exp();
        Self { truth, factor, random }
    }

    fn boot(&mut self) -> f64 {
        self.factor * self.truth.boots * standard_normal(&mut self.random)
    }

    /// The place of a value on one of two heaps around 0.
    fn heap(&mut self, share: f64) -> f64 {
        if share == 0.0 {
            return 0.0;
        }
        let is_high = uniform(&mut self.random) <= share;
        if is_high { HEAPS / 2.0 } else { -HEAPS / 2.0 }
    }

    /// The logarithms of the values of a run.
    fn run(&mut self, boot: f64) -> [f64; REPETITIONS] {
        let Truth { workers, worker_heap, run_heap, rate, runs, .. } = self.truth;
        let of_run = self.factor * runs * standard_normal(&mut self.random);
        let of_rate = rate * standard_normal(&mut self.random);
        let level = boot + of_run + of_rate + self.heap(run_heap);
        array::from_fn(|_| {
            let of_worker = workers * student(&mut self.random, 4);
            level + self.heap(worker_heap) + of_worker
        })
    }

    /// Whether the interval of a run holds the long-run figure, by so many earlier runs.
    fn holds(&mut self, earlier: usize, boots: Boots, template: &Row) -> bool {
        let mut known = SystemRuns::default();
        let mut boot = self.boot();
        for at in 0..earlier {
            if matches!(boots, Boots::Each) {
                boot = self.boot();
            }
            let of_run = RunMedian::of(&self.run(boot)).unwrap();
            let name = match boots {
                Boots::One => "boot".to_owned(),
                Boots::Each => format!("boot {at}"),
            };
            known.insert("local", &template.case, Some(&name), of_run);
        }
        if matches!(boots, Boots::Each) {
            boot = self.boot();
        }
        let mut rows = [measured(template, &self.run(boot))];
        let known = variations(&rows, &known);
        set_intervals(&mut rows, &known, &conditions([100.0; 2]));
        let [low, high] = rows[0].estimate.as_ref().unwrap().between_run_ci95.unwrap();
        (low..=high).contains(&1.0)
    }
}

/// A row with these repetitions, one second apart.
fn measured(template: &Row, logs: &[f64]) -> Row {
    let mut row = template.clone();
    let first = row.repetitions[0].clone();
    let repetition = |(at, log): (usize, &f64)| Repetition {
        at_s: at as f64,
        value: Some(log.exp()),
        ..first.clone()
    };
    row.repetitions = logs.iter().enumerate().map(repetition).collect();
    let values = order::sorted(&logs.iter().map(|log| log.exp()).collect::<Vec<f64>>());
    let interval = median_hs(&values, Nominal::FIXED).unwrap();
    let estimate = row.estimate.as_mut().unwrap();
    estimate.median = order::median(&values).unwrap();
    estimate.ci95 = Some([interval.lo, interval.hi]);
    row
}

/// The share of the intervals of cases of this kind that hold the long-run figure.
fn coverage(truth: Truth, earlier: usize, boots: Boots) -> f64 {
    const CASES: u64 = 500;
    let template = row("syscall/read", 1.0);
    let held = (0..CASES).filter(|&seed| {
        SimulatedCase::new(truth, 1_000 * earlier as u64 + seed).holds(earlier, boots, &template)
    });
    held.count() as f64 / CASES as f64
}

#[test]
fn the_interval_of_a_run_holds_the_long_run_figure_of_each_kind_of_case() {
    for boots in [Boots::One, Boots::Each] {
        for earlier in [0, 1, 5, 20] {
            let shares = KINDS.map(|truth| coverage(truth, earlier, boots));
            let mixed = shares.iter().sum::<f64>() / shares.len() as f64;
            let found = format!("{earlier} runs, boots: {boots:?}: {shares:?}");
            // Of a kind, the standard error of a share of 95 % is 1 %.
            assert!(shares.iter().all(|&share| share >= 0.93), "{found}");
            assert!(mixed >= 0.95, "{found}");
        }
    }
}

#[test]
fn from_twenty_boots_on_the_prior_does_not_widen_intervals() {
    for truth in [VARYING, OF_THE_CORE, OF_BOOTS] {
        let share = coverage(truth, 20, Boots::Each);
        assert!((0.92..=0.985).contains(&share), "{truth:?}: {share}");
    }
}

#[test]
fn a_heap_that_all_workers_of_a_run_share_is_known_from_other_runs_alone() {
    // What the figure would be on the other heap is nowhere in a first run.
    let [first, second] = [0, 1].map(|earlier| coverage(HEAPS_OF_RUNS, earlier, Boots::Each));
    assert!(first < 0.3 && second < 0.3, "{first} {second}");
    let later = [5, 20].map(|earlier| coverage(HEAPS_OF_RUNS, earlier, Boots::Each));
    assert!(later[0] >= 0.88 && later[1] >= 0.95, "{later:?}");
}

#[test]
fn at_most_one_of_twenty_ordinary_runs_has_the_flag_of_drift() {
    const RUNS: u32 = 4_000;
    const CASES: [&str; 3] = ["timer/nothing", "timer/clock-gettime", "syscall/getppid:via=raw"];
    // Its class says 5 %.
    let share = |deviation: f64| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(53);
        let rows = CASES.map(|case| row(case, 100.0));
        let flagged = (0..RUNS).filter(|_| {
            let mut there = conditions([100.0; 2]);
            let cases = &mut there[0].reference_cases;
            for case in CASES {
                let mut third = || 100.0 * (deviation * standard_normal(&mut random)).exp();
                cases.before.insert(case.to_owned(), third());
                cases.after.insert(case.to_owned(), third());
            }
            flag_drift(&mut there, &rows, &[]);
            there[0].flags == ["REFERENCE_DRIFT"]
        });
        flagged.count() as f64 / f64::from(RUNS)
    };
    // From one end of a run to the other it varies by no more than from run to run.
    let (ordinary, moving) = (share(0.05), share(0.1));
    assert!((0.03..=0.06).contains(&ordinary) && moving > 0.4, "{ordinary} {moving}");
}

/// A run on a machine that wanders around its long-run figure by 20 %, slowly: its autocorrelation
/// falls to 1/e over so many lengths of a run.
fn wandering_run(lengths: f64, random: &mut Xoshiro256PlusPlus) -> [f64; REPETITIONS] {
    const DEVIATION: f64 = 0.2;
    let kept = (-1.0 / (lengths * REPETITIONS as f64)).exp();
    let fresh = DEVIATION * (1.0 - kept * kept).sqrt();
    let mut level = DEVIATION * standard_normal(random);
    array::from_fn(|_| {
        level = kept * level + fresh * standard_normal(random);
        level + 0.02 * student(random, 4)
    })
}

/// How often the interval of a first run holds the long-run figure, and how often one by the class of
/// the case alone would.
fn coverage_of_first_runs(
    mut run: impl FnMut(&mut Xoshiro256PlusPlus) -> [f64; REPETITIONS],
) -> [f64; 2] {
    const CASES: u32 = 1_000;
    let template = row("syscall/read", 1.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(43);
    let mut held = [0, 0];
    for _ in 0..CASES {
        let logs = run(&mut random);
        let mut rows = [measured(&template, &logs)];
        let of_class = RunVariation::of(&[], prior(&rows[0]));
        let by_class = of_class.interval(&RunMedian::of(&logs).unwrap(), Nominal::FIXED);
        set_intervals(&mut rows, &[], &conditions([100.0; 2]));
        let [low, high] = rows[0].estimate.as_ref().unwrap().between_run_ci95.unwrap();
        held[0] += u32::from((low..=high).contains(&1.0));
        held[1] += u32::from(by_class.contains(0.0));
    }
    held.map(|count| f64::from(count) / f64::from(CASES))
}

#[test]
fn a_row_that_moves_while_the_run_lasts_has_a_wider_interval() {
    for (lengths, by_class_at_most, at_least) in [(0.3, 0.80, 0.88), (1.0, 0.65, 0.78)] {
        let [share, by_class] = coverage_of_first_runs(|random| wandering_run(lengths, random));
        assert!(share >= at_least && by_class <= by_class_at_most, "{share} {by_class}");
    }
}

#[test]
fn the_interval_of_a_row_that_does_not_move_is_that_of_its_class() {
    let template = row("syscall/read", 1.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(47);
    let is_wider = |_: &u32| {
        let logs: [f64; REPETITIONS] = array::from_fn(|_| 0.02 * student(&mut random, 4));
        let mut rows = [measured(&template, &logs)];
        let of_class = RunVariation::of(&[], prior(&rows[0]));
        let by_class = of_class.interval(&RunMedian::of(&logs).unwrap(), Nominal::FIXED);
        set_intervals(&mut rows, &[], &conditions([100.0; 2]));
        let [low, high] = rows[0].estimate.as_ref().unwrap().between_run_ci95.unwrap();
        (high / low).ln() > 2.0 * by_class.half_width() + 1e-9
    };
    let wider = (0..500).filter(is_wider).count();
    assert!(wider <= 10, "{wider} of 500");
}
