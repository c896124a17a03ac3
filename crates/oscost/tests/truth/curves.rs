//! Breaks and laws of growth with known true curves: S15 and S16 of docs/explanation/METHOD.md, section
//! 10. A test named `control` uses a wrong method on purpose, which shows that the row would detect
//! it.

use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order::{median, sorted};
use oscost_stats::scaling::{Law, Scaling, SizeCost, fit_scaling};
use oscost_stats::segments::{
    LogPoint, PENALTY_PER_LOG_POINTS, Segments, raise_small_uncertainties, segments, with_penalty,
};

use crate::shapes::Source;
use crate::share::share;

/// The noise of a point.
const NOISE: f64 = 0.02;
/// Sizes that grow by the root of two.
const STEP: f64 = std::f64::consts::LN_2 / 2.0;
/// 37 of them: more than five decades.
const SIZES: usize = 37;

/// A curve in steps of one with known noise.
fn curve(height: impl Fn(f64) -> f64, source: &mut Source) -> Vec<LogPoint> {
    (0..SIZES)
        .map(|at| LogPoint {
            x: at as f64 * STEP,
            y: height(at as f64) + source.lognormal(NOISE).ln(),
            sd: NOISE,
        })
        .collect()
}

/// A straight line on logarithmic scales.
fn straight(at: f64) -> f64 {
    5.0 + 0.4 * STEP * at
}

const CURVES: u32 = 3_000;

#[test]
fn s16_a_straight_curve_seldom_seems_to_bend() {
    let mut source = Source::seeded(16);
    let wrong = share(CURVES, || {
        segments(&curve(straight, &mut source)).is_some_and(|found| !found.breaks.is_empty())
    });
    println!("false breaks: {wrong:.1} %");
    assert!(wrong <= 2.0, "{wrong:.1} %");
}

#[test]
fn s16_control_at_half_the_penalty_every_sixth_straight_curve_bends() {
    let mut source = Source::seeded(16);
    let half = PENALTY_PER_LOG_POINTS / 2.0 * (SIZES as f64).ln();
    let wrong = share(CURVES, || {
        with_penalty(&curve(straight, &mut source), half).is_some_and(|it| !it.breaks.is_empty())
    });
    println!("false breaks at half the penalty: {wrong:.1} %");
    assert!(wrong > 15.0, "{wrong:.1} %");
}

/// Whether a break was found within this many steps of the true one.
fn near(found: Option<Segments>, truth: f64, steps: f64) -> bool {
    let found = found.map_or(Vec::new(), |found| found.breaks);
    found.iter().any(|it| (it.position / STEP - truth).abs() <= steps)
}

/// Whether the interval of the break nearest to the true one contains it.
fn held(found: &Segments, truth: f64) -> bool {
    found.breaks.iter().any(|it| (it.last_before as f64..=it.first_after as f64).contains(&truth))
}

#[test]
fn s16_a_jump_of_fifteen_per_cent_is_found_within_a_step() {
    let mut source = Source::seeded(16);
    let jump = |at: f64| straight(at) + if at > 18.5 { 1.15f64.ln() } else { 0.0 };
    let mut inside = 0;
    let found = share(CURVES, || {
        let found = segments(&curve(jump, &mut source));
        inside += u32::from(found.as_ref().is_some_and(|found| held(found, 18.5)));
        near(found, 18.5, 1.0)
    });
    let inside = 100.0 * f64::from(inside) / f64::from(CURVES);
    println!("jumps within a step: {found:.1} %, inside their interval: {inside:.1} %");
    assert!(found >= 99.0, "{found:.1} %");
    assert!(inside >= 95.0, "{inside:.1} %");
}

#[test]
fn s16_a_slope_that_changes_by_a_tenth_is_found_within_three_steps() {
    let mut source = Source::seeded(16);
    let bend = |at: f64| straight(at) + 0.1 * STEP * (at - 18.0).max(0.0);
    let mut inside = 0;
    let found = share(CURVES, || {
        let found = segments(&curve(bend, &mut source));
        inside += u32::from(found.as_ref().is_some_and(|found| held(found, 18.0)));
        near(found, 18.0, 3.0)
    });
    let inside = 100.0 * f64::from(inside) / f64::from(CURVES);
    println!("bends within three steps: {found:.1} %, inside their interval: {inside:.1} %");
    assert!(found >= 99.0, "{found:.1} %");
    assert!(inside >= 93.0, "{inside:.1} %");
}

/// A size with its repetitions, as in a record.
fn sized(n: f64, truth: f64, repetitions: usize, source: &mut Source) -> SizeCost {
    // The median of these values is as uncertain as one value with the given noise.
    let between = NOISE * (repetitions as f64).sqrt() / 1.2533;
    let repetitions: Vec<f64> =
        (0..repetitions).map(|_| truth * source.lognormal(between)).collect();
    let ordered = sorted(&repetitions);
    let interval = median_hs(&ordered, Nominal::FIXED).expect("six repetitions or more");
    let sd = (interval.hi / interval.lo).ln() / (2.0 * 1.96);
    let figure = median(&ordered).expect("six repetitions or more");
    SizeCost { n, figure, sd, repetitions }
}

/// A curve whose noise is known only from the repetitions of each point.
fn measured(
    height: impl Fn(f64) -> f64,
    n: usize,
    by: usize,
    source: &mut Source,
) -> Vec<LogPoint> {
    let spot = |at: usize| {
        let one = sized(1.0, height(at as f64).exp(), by, source);
        LogPoint { x: at as f64 * STEP, y: one.figure.ln(), sd: one.sd }
    };
    (0..n).map(spot).collect()
}

#[test]
fn s16_intervals_of_few_repetitions_cause_no_more_false_breaks() {
    for (n, repetitions) in [(9, 6), (9, 15), (9, 30), (37, 6), (37, 15), (37, 30)] {
        let mut source = Source::seeded(17);
        let wrong = share(CURVES, || {
            let spots = raise_small_uncertainties(&measured(straight, n, repetitions, &mut source));
            segments(&spots).is_some_and(|found| !found.breaks.is_empty())
        });
        println!("{n} points of {repetitions} repetitions: {wrong:.1} % false");
        assert!(wrong <= 2.0, "{n} points of {repetitions} repetitions: {wrong:.1} %");
    }
}

#[test]
fn s16_control_uncertainties_that_are_not_raised_cause_many_false_breaks() {
    let mut source = Source::seeded(17);
    let wrong = share(CURVES, || {
        let spots = measured(straight, SIZES, 10, &mut source);
        segments(&spots).is_some_and(|found| !found.breaks.is_empty())
    });
    println!("with the uncertainty of each point: {wrong:.1} % false");
    assert!(wrong > 5.0, "{wrong:.1} %");
}

#[test]
fn s16_a_jump_is_also_found_with_intervals_of_fifteen_repetitions() {
    let mut source = Source::seeded(18);
    let jump = |at: f64| straight(at) + if at > 18.5 { 1.15f64.ln() } else { 0.0 };
    let found = share(CURVES, || {
        near(
            segments(&raise_small_uncertainties(&measured(jump, SIZES, 15, &mut source))),
            18.5,
            1.0,
        )
    });
    println!("jumps of 15 % by their own intervals: {found:.1} %");
    assert!(found >= 95.0, "{found:.1} %");
}

/// Sizes from 1 to 1024 in half octaves, with ten repetitions each.
fn sizes(cost: Cost, source: &mut Source) -> Vec<SizeCost> {
    let ns = (0..=20).map(|at| (f64::from(at) * STEP).exp().round());
    ns.map(|n| sized(n, cost(n), 10, source)).collect()
}

/// A cost: its fixed part, its marginal part and its law.
type Truth = (f64, f64, Law);
/// The same as a function of the size.
type Cost = fn(f64) -> f64;

const SHAPES: [(Truth, Cost); 7] = [
    ((700.0, 0.0, Law::Constant), |_| 700.0),
    ((0.0, 5.0, Law::Linear), |n| 5.0 * n),
    ((500.0, 2.0, Law::Linear), |n| 500.0 + 2.0 * n),
    ((500.0, 20.0, Law::Linear), |n| 500.0 + 20.0 * n),
    ((200.0, 30.0, Law::Log), |n| 200.0 + 30.0 * n.log2()),
    ((100.0, 3.0, Law::NLog), |n| 100.0 + 3.0 * n * n.log2()),
    ((1_000.0, 0.05, Law::Square), |n| 1_000.0 + 0.05 * n * n),
];

#[test]
fn s15_seven_laws_are_distinguished_and_their_intervals_cover_their_costs() {
    const RUNS: u32 = 1_000;
    for ((fixed, marginal, law), cost) in SHAPES {
        let mut source = Source::seeded(15);
        let mut held = [0u32; 2];
        let right = share(RUNS, || {
            let found = fit_scaling(&sizes(cost, &mut source), 200, 1);
            let Some(Scaling { law: found, fixed: a, marginal: b, .. }) = found else {
                return false;
            };
            held[0] += u32::from(a.interval.contains(fixed));
            held[1] += u32::from(b.map_or(law == Law::Constant, |b| b.interval.contains(marginal)));
            found == law
        });
        let [a, b] = held.map(|times| 100.0 * f64::from(times) / f64::from(RUNS));
        println!("{fixed} + {marginal} {}: {right:.1} %, a {a:.1} %, b {b:.1} %", law.text());
        let least = if law == Law::Constant { 98.0 } else { 99.0 };
        assert!(right >= least, "{}: {right:.1} %", law.text());
        assert!(a >= 93.0 && b >= 93.0, "{}: a in {a:.1} %, b in {b:.1} %", law.text());
    }
}

/// The law by least squares through the origin, a common method.
fn without_an_intercept(sizes: &[SizeCost]) -> Law {
    let left = |law: &Law| {
        let of = |n: f64| if *law == Law::Constant { 1.0 } else { law.value_at(n) };
        let sum = |term: &dyn Fn(&SizeCost) -> f64| sizes.iter().map(term).sum::<f64>();
        let factor = sum(&|it| of(it.n) * it.figure) / sum(&|it| of(it.n).powi(2));
        sum(&|it| (it.figure - factor * of(it.n)).powi(2))
    };
    let best = Law::ALL.into_iter().min_by(|one, other| left(one).total_cmp(&left(other)));
    best.unwrap_or(Law::Constant)
}

#[test]
fn s15_control_without_an_intercept_a_fixed_cost_gives_another_law() {
    for (at, wrong) in [(2, Law::Log), (4, Law::Constant)] {
        let ((_, _, law), cost) = SHAPES[at];
        let mut source = Source::seeded(15);
        let right = share(1_000, || without_an_intercept(&sizes(cost, &mut source)) == law);
        println!("{} without an intercept: {right:.1} % right", law.text());
        assert!(right <= 1.0, "{right:.1} %");
        let found = without_an_intercept(&sizes(cost, &mut source));
        assert_eq!(found, wrong, "{}", law.text());
    }
}

#[test]
fn s15_laws_that_cannot_be_distinguished_are_both_named() {
    // From 1 Ki to 256 Ki the logarithm itself grows by a factor of less than two.
    let mut source = Source::seeded(15);
    let cost = |n: f64| 90_000.0 + 2.0 * n;
    let named = share(300, || {
        let ns = (10..=18).map(|power| f64::from(1 << power));
        let sizes: Vec<SizeCost> = ns.map(|n| sized(n, cost(n), 6, &mut source)).collect();
        let found = fit_scaling(&sizes, 100, 1);
        found.is_some_and(|it| it.law == Law::Linear || it.runner_up == Some(Law::Linear))
    });
    println!("the true law is among the named: {named:.1} %");
    assert!(named >= 99.0, "{named:.1} %");
}
