//! Tests on simulated runs with known truth: cores whose rate is another one in each run.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::between_runs::{Prior, RunVariation};
use crate::order;

/// Repetitions of a run.
const REPETITIONS: usize = 10;
/// The standard deviation of repetitions within a run.
const WITHIN: f64 = 0.02;
/// That between runs, without the core's rate.
const BETWEEN: f64 = 0.03;

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A core that runs at half to all of its rate.
    fn rate(&mut self) -> f64 {
        (0.5 + 0.5 * self.uniform()).ln()
    }

    /// A run of a case that takes one cycle, or one nanosecond where its slope is 0.
    fn run(&mut self, slope: f64, between: f64) -> RatedRun {
        let (rate, level) = (self.rate(), between * self.normal());
        let workers: Vec<[f64; 2]> = (0..REPETITIONS)
            .map(|_| {
                let time = level - slope * rate + WITHIN * self.normal();
                [time, time + rate + 0.002 * self.normal()]
            })
            .collect();
        let median = |of: usize| {
            let logs: Vec<f64> = workers.iter().map(|it| it[of]).collect();
            RunMedian::of(&logs).unwrap()
        };
        RatedRun { time: median(0), cycles: median(1) }
    }

    fn runs(&mut self, slope: f64, count: usize) -> Vec<RatedRun> {
        (0..count).map(|_| self.run(slope, BETWEEN)).collect()
    }
}

fn dependence(groups: &[&[RatedRun]]) -> CoreDependence {
    let groups: Vec<Vec<RatedCost>> =
        groups.iter().map(|runs| runs.iter().map(RatedRun::rated_cost).collect()).collect();
    let groups: Vec<&[RatedCost]> = groups.iter().map(Vec::as_slice).collect();
    CoreDependence::of(&[PeriodRegression::of(&groups)])
}

/// The share of cases that are said to follow the core.
fn share_of_followers(slope: f64, runs: usize) -> f64 {
    const CASES: usize = 2_000;
    let mut random = Random::new(41 + runs as u64);
    let found = (0..CASES).filter(|_| dependence(&[&random.runs(slope, runs)]).follows());
    found.count() as f64 / CASES as f64
}

#[test]
fn a_cost_that_follows_the_core_is_found_and_one_of_memory_is_left_alone() {
    for (runs, at_least) in [(5, 0.5), (8, 0.9), (20, 0.99)] {
        let (core, memory) = (share_of_followers(1.0, runs), share_of_followers(0.0, runs));
        assert!(core >= at_least && memory <= 0.002, "{runs} runs: {core}, {memory}");
        // Half of its time follows: in cycles it would vary as much.
        let half = share_of_followers(0.5, runs);
        assert!(half <= 0.06, "{runs} runs: {half}");
    }
}

#[test]
fn a_core_of_one_rate_decides_nothing() {
    let none = CoreDependence::of(&[]);
    assert_eq!(none.slope, 0.5);
    assert!(!none.follows() && none.interval.contains(0.0) && none.interval.contains(1.0));
    let steady = [RatedCost { cost: 1.0, rate: 2.0 }; 9];
    assert_eq!(CoreDependence::of(&[PeriodRegression::of(&[&steady])]), none);
    assert_eq!(CoreDependence::of(&[PeriodRegression::of(&[&steady[..2], &[]])]), none);
}

#[test]
fn what_two_systems_or_sides_differ_by_is_no_dependence() {
    let mut random = Random::new(43);
    // The rate is the same within a side: only the sides differ, in rate as in cost.
    let mut side = |rate: f64| -> Vec<RatedCost> {
        (0..9)
            .map(|_| RatedCost { cost: 0.01 * random.normal() - rate, rate: rate + 1e-4 })
            .collect()
    };
    let (base, new) = (side(0.0), side(-0.7));
    let apart = CoreDependence::of(&[PeriodRegression::of(&[&base, &new])]);
    assert!(!apart.follows(), "{apart:?}");
    let mixed = CoreDependence::of(&[PeriodRegression::of(&[&[base, new].concat()])]);
    assert!(mixed.follows(), "the control: {mixed:?}");
}

#[test]
fn sums_of_two_sets_of_groups_are_those_of_all_groups() {
    let mut random = Random::new(47);
    let costs =
        |runs: Vec<RatedRun>| -> Vec<RatedCost> { runs.iter().map(RatedRun::rated_cost).collect() };
    let (one, other) = (costs(random.runs(1.0, 5)), costs(random.runs(1.0, 7)));
    let all = PeriodRegression::of(&[&one, &other]);
    assert_eq!(PeriodRegression::of(&[&one]).plus(PeriodRegression::of(&[&other])), all);
    assert_eq!(all.degrees_of_freedom, 10.0);
}

#[test]
fn an_interval_in_cycles_holds_the_long_run_figure_and_is_narrower_than_that_of_time() {
    const CASES: usize = 4_000;
    let prior = Prior { deviation: BETWEEN, degrees_of_freedom: 4.0 };
    for earlier in [0, 1, 5, 20] {
        let mut random = Random::new(53 + earlier as u64);
        let (mut held, mut widths) = (0, [Vec::new(), Vec::new()]);
        for _ in 0..CASES {
            // Cases vary by a factor around what their class does.
            let between = BETWEEN * (0.3 * random.normal()).exp();
            let runs: Vec<RatedRun> = (0..earlier).map(|_| random.run(1.0, between)).collect();
            let run = random.run(1.0, between);
            let interval = |of: fn(&RatedRun) -> RunMedian| {
                let earlier: Vec<RunMedian> = runs.iter().map(of).collect();
                RunVariation::of(&earlier, prior).interval(&of(&run), Nominal::FIXED)
            };
            let (time, cycles) = (interval(|it| it.time), interval(|it| it.cycles));
            held += usize::from(cycles.contains(0.0));
            widths[0].push(time.half_width());
            widths[1].push(cycles.half_width());
        }
        let share = held as f64 / CASES as f64;
        // Up to 99 % while the prior rules.
        assert!((0.93..=0.995).contains(&share), "{earlier} earlier runs: {share}");
        let [time, cycles] = widths.map(|it| order::median(&order::sorted(&it)).unwrap());
        if earlier >= 5 {
            assert!(cycles < 0.5 * time, "{earlier} earlier runs: {cycles} of {time}");
        }
    }
}

#[test]
fn rates_that_never_change_leave_the_slope_open() {
    for (count, rate) in [(6, 3.698_195_449_954_799_3_f64), (15, 2.6), (40, 3.0)] {
        let costs: Vec<RatedCost> = (0..count)
            .map(|at| RatedCost { cost: 0.01 * f64::from(at % 3), rate: rate.ln() })
            .collect();
        for regressions in [vec![], vec![PeriodRegression::of(&[&costs])]] {
            let CoreDependence { slope, interval } = CoreDependence::of(&regressions);
            assert!((slope - PRIOR_SLOPE).abs() < 1e-9, "{slope}");
            let half_width = 1.96 * PRIOR_SLOPE_SD;
            assert!(
                (interval.half_width() - half_width).abs() < 0.001,
                "{interval:?} {regressions:?}"
            );
        }
    }
}
