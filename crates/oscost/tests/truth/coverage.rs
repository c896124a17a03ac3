//! The statistics with known true values: how often an interval contains the true median. Each test
//! is a row of docs/explanation/METHOD.md, section 10; a test named `control` uses a wrong method
//! on purpose, which shows that the row would detect it.
//!
//! Seeds are fixed, so a test passes always or never. The counts are so large that other seeds
//! would pass too: the results are four standard errors from the accepted limits.

use oscost_stats::interval::{Interval, Nominal, median_exact, median_hs};
use oscost_stats::order::{median, sorted};
use oscost_stats::stopping::{
    AdaptiveStopping, Decision, Goal, Look, THOROUGH_FIRST_PHASE, thorough_repetitions,
};

use crate::shapes::{Shape, Source, UNDISTURBED};
use crate::share::share;

/// The standard error of a coverage near 95 % is then 0.15 points.
const RUNS: u32 = 20_000;

/// The share of simulated runs, in per cent, whose interval contains `truth`.
fn coverage(runs: u32, truth: f64, mut run: impl FnMut() -> Interval) -> f64 {
    share(runs, || run().contains(truth))
}

fn draws(shape: Shape, count: usize, source: &mut Source) -> Vec<f64> {
    (0..count).map(|_| shape.draw(source)).collect()
}

#[test]
fn s2_hs_interval_covers_five_shapes_at_each_n() {
    for shape in Shape::ALL {
        for n in [6, 8, 10, 12, 15, 20, 30, 60] {
            let mut source = Source::seeded(2);
            let covered = coverage(RUNS, shape.median(), || {
                median_hs(&sorted(&draws(shape, n, &mut source)), Nominal::FIXED).unwrap()
            });
            println!("{shape:?}, n = {n}: {covered:.1} %");
            assert!((93.0..=97.0).contains(&covered), "{shape:?}, n = {n}: {covered:.1} %");
        }
    }
}

/// The values 1 to n: an exact interval over them is the pair of ranks itself.
fn ranks(n: u32) -> Vec<f64> {
    (1..=n).map(f64::from).collect()
}

/// Number of values, and the ranks of the exact 95 % interval, counted from 1. The first five are
/// published with nanobench; the rest are from exact sums of binomial coefficients.
const EXACT_RANKS: [(u32, f64, f64); 10] = [
    (6, 1.0, 6.0),
    (12, 3.0, 10.0),
    (20, 6.0, 15.0),
    (52, 19.0, 34.0),
    (100, 40.0, 61.0),
    (1000, 469.0, 532.0),
    (1074, 505.0, 570.0),
    (1075, 505.0, 571.0),
    (2000, 956.0, 1045.0),
    (100_000, 49_690.0, 50_311.0),
];

#[test]
fn s3_exact_interval_has_the_ranks_of_the_binomial_tables() {
    for (n, lo, hi) in EXACT_RANKS {
        let found = median_exact(&ranks(n), Nominal::FIXED);
        assert_eq!(found, Some(Interval { lo, hi }), "n = {n}");
    }
}

#[test]
fn s3_hs_interval_is_within_one_rank_of_the_exact_one_even_if_powers_of_two_underflow() {
    for (n, lo, hi) in EXACT_RANKS {
        let found = median_hs(&ranks(n), Nominal::FIXED).unwrap();
        assert!((lo..=lo + 1.0).contains(&found.lo), "n = {n}: {found:?}");
        assert!((hi - 1.0..=hi).contains(&found.hi), "n = {n}: {found:?}");
    }
}

/// The total number of batches of a case, however many repetitions share them.
const BATCHES: usize = 300;
/// The spread of the logarithm of batches within a repetition.
const WITHIN_SD: f64 = 0.01;

/// The batches of one repetition: they share the effect of its process's layout on the cost.
fn repetition(batches: usize, between: f64, source: &mut Source) -> Vec<f64> {
    let level = UNDISTURBED * source.lognormal(between);
    (0..batches).map(|_| level * source.lognormal(WITHIN_SD)).collect()
}

/// Fewer runs here, since each draws 300 batches; the standard error is 0.24 points.
const HIERARCHY_RUNS: u32 = RUNS / 2;

#[test]
fn s4_repetition_medians_cover_whatever_the_spread_between_repetitions() {
    for repetitions in [6, 10] {
        for between in [0.0, 0.005, 0.01, 0.02, 0.05] {
            let mut source = Source::seeded(4);
            let covered = coverage(HIERARCHY_RUNS, UNDISTURBED, || {
                let medians: Vec<f64> = (0..repetitions)
                    .map(|_| repetition(BATCHES / repetitions, between, &mut source))
                    .map(|batches| median(&sorted(&batches)).unwrap())
                    .collect();
                median_hs(&sorted(&medians), Nominal::FIXED).unwrap()
            });
            println!("{repetitions} repetitions, between {between}: {covered:.1} %");
            assert!(covered >= 93.0, "{repetitions} repetitions, {between}: {covered:.1} %");
        }
    }
}

#[test]
fn s4_control_pooled_batches_of_ten_repetitions_cover_far_too_little() {
    let mut source = Source::seeded(4);
    let covered = coverage(HIERARCHY_RUNS, UNDISTURBED, || {
        let pooled: Vec<f64> =
            (0..10).flat_map(|_| repetition(BATCHES / 10, 0.005, &mut source)).collect();
        median_hs(&sorted(&pooled), Nominal::FIXED).unwrap()
    });
    println!("pooled: {covered:.1} %");
    assert!(covered < 80.0, "{covered:.1} %");
}

/// The precision goals of an ordinary run, of a thorough one, and of a more precise one.
const GOALS: [Goal; 3] = [
    Goal { relative_half_width: 0.02, max_repetitions: 400 },
    Goal { relative_half_width: 0.01, max_repetitions: 400 },
    Goal { relative_half_width: 0.005, max_repetitions: 400 },
];

/// The interim look of a rule at these values, and their interval.
fn look(values: &[f64], nominal: Nominal) -> (Look, Interval) {
    let ordered = sorted(values);
    let interval = median_hs(&ordered, nominal).expect("ten values or more");
    let relative_half_width =
        Some(interval.half_width() / median(&ordered).expect("ten values or more"));
    (Look { repetitions: values.len(), relative_half_width }, interval)
}

/// Repeats a case until `rule` stops it; the interval is that of the last look.
fn adaptive(
    shape: Shape,
    goal: Goal,
    nominal: Nominal,
    rule: impl Fn(&mut AdaptiveStopping, Look) -> Decision,
    source: &mut Source,
) -> Interval {
    let mut stopping = AdaptiveStopping::new(goal);
    let mut values = draws(shape, stopping.first_look(), source);
    loop {
        assert!(values.len() <= goal.max_repetitions, "more repetitions than allowed");
        let (look, interval) = look(&values, nominal);
        match rule(&mut stopping, look) {
            Decision::Continue { until } => {
                values.extend(draws(shape, until - values.len(), source))
            }
            Decision::Stop { .. } => return interval,
        }
    }
}

#[test]
fn s6_adaptive_stopping_covers_five_shapes_at_three_goals() {
    for shape in Shape::ALL {
        for goal in GOALS {
            let mut source = Source::seeded(6);
            let covered = coverage(RUNS, shape.median(), || {
                adaptive(shape, goal, Nominal::ADAPTIVE, AdaptiveStopping::look, &mut source)
            });
            println!("{shape:?}, {goal:?}: {covered:.1} %");
            assert!(covered >= 93.5, "{shape:?}, {goal:?}: {covered:.1} %");
        }
    }
}

#[test]
fn s6_control_stopping_at_the_first_narrow_look_covers_too_little() {
    // The second goal: for the first one, ten lognormal values are always narrow enough, and a rule
    // that always stops at the same count has no bias.
    let goal = GOALS[1];
    let impatient = |stopping: &mut AdaptiveStopping, look: Look| match look.relative_half_width {
        Some(now) if now <= goal.relative_half_width => Decision::Stop { converged: true },
        _ => stopping.look(look),
    };
    let mut source = Source::seeded(6);
    let covered = coverage(RUNS, Shape::Lognormal.median(), || {
        adaptive(Shape::Lognormal, goal, Nominal::FIXED, impatient, &mut source)
    });
    println!("first narrow look, {goal:?}: {covered:.1} %");
    assert!(covered <= 93.0, "{covered:.1} %");
}

#[test]
fn s6_a_new_second_phase_of_a_fixed_count_needs_no_allowance_for_interim_looks() {
    for shape in Shape::ALL {
        for goal in GOALS {
            let mut source = Source::seeded(6);
            let covered = coverage(RUNS, shape.median(), || {
                let values = draws(shape, THOROUGH_FIRST_PHASE, &mut source);
                let (first_phase, _) = look(&values, Nominal::FIXED);
                let count = thorough_repetitions(first_phase, goal);
                median_hs(&sorted(&draws(shape, count, &mut source)), Nominal::FIXED).unwrap()
            });
            println!("{shape:?}, {goal:?}, thorough: {covered:.1} %");
            assert!(covered >= 93.5, "{shape:?}, {goal:?}: {covered:.1} %");
        }
    }
}
