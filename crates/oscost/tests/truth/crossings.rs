//! Which of two curves is cheaper, with known true costs: S15 of docs/explanation/METHOD.md,
//! section 10, for pairs of curves. A test named `control` uses a wrong method on purpose.

use oscost_stats::crossing::{
    CurveOrder, LawFits, Resampling, compare_curves, fitted_slope, secant_slope,
};
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order::{median, sorted};
use oscost_stats::scaling::{Law, SizeCost, fit_scaling};
use oscost_stats::segments::{LogPoint, raise_small_uncertainties};

use crate::shapes::Source;
use crate::share::share;

/// The noise of a point.
const NOISE: f64 = 0.02;
/// The numbers of family `event`.
const NUMBERS: [f64; 10] = [10.0, 18.0, 32.0, 56.0, 100.0, 180.0, 320.0, 560.0, 1_000.0, 1_800.0];
/// The resampling of the tests.
const RESAMPLING: Resampling = Resampling { resamples: 200, extra_log_sd: 0.0, seed: 1 };

/// A curve whose noise is known only from the repetitions of each point, as in a run.
fn curve(cost: impl Fn(f64) -> f64, by: usize, source: &mut Source) -> Vec<SizeCost> {
    let between = NOISE * (by as f64).sqrt() / 1.2533;
    let mut sizes = NUMBERS.map(|n| {
        let repetitions: Vec<f64> = (0..by).map(|_| cost(n) * source.lognormal(between)).collect();
        let ordered = sorted(&repetitions);
        let interval = median_hs(&ordered, Nominal::FIXED).expect("six repetitions or more");
        let sd = ((interval.hi / interval.lo).ln() / (2.0 * 1.96)).max(0.01);
        SizeCost { n, figure: median(&ordered).expect("six or more"), sd, repetitions }
    });
    let spots = sizes.each_ref().map(|it| LogPoint { x: it.n.ln(), y: it.figure.ln(), sd: it.sd });
    for (size, spot) in sizes.iter_mut().zip(raise_small_uncertainties(&spots)) {
        size.sd = spot.sd;
    }
    sizes.to_vec()
}

fn poll(n: f64) -> f64 {
    400.0 + 21.0 * n
}

#[test]
fn s15_linear_and_constant_curves_are_recognised_and_compared() {
    let mut source = Source::seeded(15);
    let (mut laws, mut judged) = (0, 0);
    let (mut more, mut ends, mut at) = (0, 0, 0);
    const RUNS: u32 = 1_000;
    for _ in 0..RUNS {
        let select = curve(|n| 310.0 + 9.0 * n, 15, &mut source);
        let poll = curve(poll, 15, &mut source);
        // Costlier than poll up to 76 descriptors: they cross within the numbers.
        let epoll = curve(|_| 2_000.0, 15, &mut source);
        let law = |sizes: &[SizeCost]| fit_scaling(sizes, 100, 1).map(|found| found.law);
        laws += u32::from(
            [law(&select), law(&poll), law(&epoll)]
                == [Some(Law::Linear), Some(Law::Linear), Some(Law::Constant)],
        );
        let all =
            compare_curves(&poll, &select).is_some_and(|it| it.cheaper_wins_from == Some(10.0));
        let crossed = compare_curves(&poll, &epoll).is_some_and(|it| {
            (it.costlier_wins_until, it.cheaper_wins_from, it.alternates)
                == (Some(56.0), Some(100.0), false)
        });
        judged += u32::from(all && crossed);
        let seeds = [1, 2].map(|seed| Resampling { seed, ..RESAMPLING });
        let line = |sizes: &[SizeCost], at: usize| fitted_slope(sizes, seeds[at]).expect("a line");
        more += u32::from(
            line(&poll, 0).difference(&line(&epoll, 1)).estimate().interval.contains(21.0),
        );
        let between = |sizes: &[SizeCost], at: usize| {
            secant_slope(sizes, [100.0, 1_000.0], seeds[at]).expect("two ends")
        };
        ends += u32::from(
            between(&poll, 0).difference(&between(&select, 1)).estimate().interval.contains(12.0),
        );
        let fits = |law, sizes: &[SizeCost], at: usize| LawFits::new(law, sizes, seeds[at]);
        let meets =
            fits(Law::Linear, &poll, 0).crossover(&fits(Law::Constant, &epoll, 1), [10.0, 1_800.0]);
        at += u32::from(meets.is_some_and(|it| it.interval.contains(1_600.0 / 21.0)));
    }
    let [laws, judged, more, ends, at] =
        [laws, judged, more, ends, at].map(|times| 100.0 * f64::from(times) / f64::from(RUNS));
    println!("laws {laws:.1} %, compared {judged:.1} %");
    println!("covered: added cost {more:.1} %, by the ends {ends:.1} %, crossover {at:.1} %");
    assert!(laws >= 97.0 && judged >= 97.0, "{laws:.1} %, {judged:.1} %");
    assert!(more >= 92.0 && ends >= 92.0 && at >= 92.0, "{more:.1} %, {ends:.1} %, {at:.1} %");
}

/// Whether one of two curves is called cheaper.
fn claims(found: Option<CurveOrder>) -> bool {
    found.is_some_and(|it| it.costlier_wins_until.is_some() || it.cheaper_wins_from.is_some())
}

#[test]
fn s15_of_two_equal_curves_neither_is_called_cheaper() {
    for repetitions in [6, 15, 30] {
        let mut source = Source::seeded(16);
        let wrong = share(4_000, || {
            let one = curve(poll, repetitions, &mut source);
            claims(compare_curves(&one, &curve(poll, repetitions, &mut source)))
        });
        println!("{repetitions} repetitions: {wrong:.2} % of equal pairs are distinguished");
        assert!(wrong <= 1.0, "{repetitions} repetitions: {wrong:.2} %");
    }
}

#[test]
fn s15_a_difference_of_one_per_cent_is_hardly_ever_claimed_and_never_in_the_wrong_direction() {
    let mut source = Source::seeded(17);
    let mut against = 0;
    let claimed = share(4_000, || {
        let costlier = curve(|n| 1.01 * poll(n), 15, &mut source);
        let cheaper = curve(poll, 15, &mut source);
        // The one that is measured as costlier at the last size comes first, as in a run.
        let swapped = costlier[9].figure < cheaper[9].figure;
        let found = if swapped {
            compare_curves(&cheaper, &costlier)
        } else {
            compare_curves(&costlier, &cheaper)
        };
        against += u32::from(found.is_some_and(|it| {
            if swapped { it.cheaper_wins_from.is_some() } else { it.costlier_wins_until.is_some() }
        }));
        claims(found)
    });
    println!("1 % apart: claimed {claimed:.2} %, in the wrong direction {against} of 4000");
    assert!(claimed <= 2.0, "{claimed:.2} %");
    assert!(against <= 4, "{against}");
}

#[test]
fn s15_control_points_compared_alone_at_two_deviations_distinguish_every_fourth_equal_pair() {
    let mut source = Source::seeded(16);
    let wrong = share(1_000, || {
        let one = curve(poll, 15, &mut source);
        let other = curve(poll, 15, &mut source);
        one.iter().zip(&other).any(|(one, other)| {
            ((one.figure / other.figure).ln() / one.sd.hypot(other.sd)).abs() > 1.96
        })
    });
    println!("at 1.96 deviations anywhere: {wrong:.1} %");
    assert!(wrong >= 15.0, "{wrong:.1} %");
}

#[test]
fn s15_equal_marginal_costs_are_distinguished_no_more_often_than_stated() {
    let mut source = Source::seeded(18);
    let wrong = share(2_000, || {
        let one = curve(poll, 15, &mut source);
        let other = curve(|n| 800.0 + 21.0 * n, 15, &mut source);
        let line = |sizes: &[SizeCost], seed| {
            fitted_slope(sizes, Resampling { seed, extra_log_sd: 0.01, ..RESAMPLING })
                .expect("a line")
        };
        !line(&one, 1).difference(&line(&other, 2)).estimate().interval.contains(0.0)
    });
    println!("equal marginal costs distinguished: {wrong:.1} %");
    assert!(wrong <= 5.0, "{wrong:.1} %");
}
