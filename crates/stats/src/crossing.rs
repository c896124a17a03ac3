//! Comparison of two curves: which one is cheaper in which range, and the difference of their
//! slopes.
//!
//! A statement about a size rests on the points at that size only, so it holds whatever the curves
//! do between sizes. Fitted laws only locate the intersection within a gap. Differences below three
//! standard deviations are not significant, since a run compares many pairs at many sizes
//! (docs/explanation/METHOD.md, section 8).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::random::standard_normal;
use super::scaling::{
    Fit, Law, SizeCost, ValueWithInterval, central_interval, relative_slope, resample_median,
};

/// The minimum number of sizes that both curves have.
pub const MIN_COMMON_SIZES: usize = 5;
/// The significant difference of two logarithms, in units of their combined standard deviation: by
/// chance once in four hundred.
const MIN_SEPARATION_SDS: f64 = 3.0;
/// The minimum number of consecutive points for a statement about a range.
const MIN_TAIL_POINTS: usize = 2;
/// Laws are extrapolated by at most half a decade beyond the sizes ...
const MAX_EXTRAPOLATION: f64 = 3.162_277_660_168_379_5;
/// ... on a grid of this many steps with linear interpolation.
const GRID_STEPS: usize = 160;

/// Where each of two curves is significantly cheaper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveOrder {
    /// The smallest and the largest common size.
    pub numbers: [f64; 2],
    /// The largest size at which the costlier curve is significantly cheaper.
    pub costlier_wins_until: Option<f64>,
    /// From this size up to the largest the other curve is significantly cheaper.
    pub cheaper_wins_from: Option<f64>,
    /// Whether the other curve is also significantly cheaper below `costlier_wins_until`.
    pub alternates: bool,
}

/// Compares the curve with the higher cost at the largest size with another one, both with
/// ascending sizes. `None` with fewer than [`MIN_COMMON_SIZES`] common sizes.
pub fn compare_curves(costlier: &[SizeCost], cheaper: &[SizeCost]) -> Option<CurveOrder> {
    let shared = common_sizes(costlier, cheaper);
    let (first, last) = (shared.first()?, shared.last()?);
    if shared.len() < MIN_COMMON_SIZES {
        return None;
    }
    let sign = |&(one, other): &(&SizeCost, &SizeCost)| {
        let apart = (one.figure / other.figure).ln() / one.sd.hypot(other.sd);
        match apart {
            _ if apart > MIN_SEPARATION_SDS => 1,
            _ if apart < -MIN_SEPARATION_SDS => -1,
            _ => 0,
        }
    };
    let signs: Vec<(f64, i8)> = shared.iter().map(|pair| (pair.0.n, sign(pair))).collect();
    let tail = signs.iter().rev().take_while(|(_, sign)| *sign > 0).count();
    let from = (tail >= MIN_TAIL_POINTS).then(|| signs[signs.len() - tail].0);
    let below: Vec<usize> = (0..signs.len()).filter(|&at| signs[at].1 < 0).collect();
    let until = below.last().filter(|_| from.is_some() || below.len() >= MIN_TAIL_POINTS);
    let often = until.is_some_and(|&at| signs[..at].iter().any(|(_, sign)| *sign > 0));
    let until = until.map(|&at| signs[at].0);
    Some(CurveOrder {
        numbers: [first.0.n, last.0.n],
        costlier_wins_until: until,
        cheaper_wins_from: from,
        alternates: often,
    })
}

/// The points of two curves at their common sizes.
fn common_sizes<'a>(
    one: &'a [SizeCost],
    other: &'a [SizeCost],
) -> Vec<(&'a SizeCost, &'a SizeCost)> {
    let at = |n: f64| other.iter().find(|it| it.n == n);
    one.iter().filter_map(|it| Some((it, at(it.n)?))).collect()
}

/// A value and its bootstrap resamples.
#[derive(Clone, Debug, PartialEq)]
pub struct ResampledValue {
    /// The value.
    pub value: f64,
    draws: Vec<f64>,
}

impl ResampledValue {
    /// The difference from another value with as many resamples from another seed.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let draws = self.draws.iter().zip(&other.draws).map(|(one, other)| one - other);
        Self { value: self.value - other.value, draws: draws.collect() }
    }

    /// The value with the central 95 % of its resamples.
    pub fn estimate(&self) -> ValueWithInterval {
        ValueWithInterval { value: self.value, interval: central_interval(&self.draws) }
    }
}

/// Parameters of bootstrap resampling.
#[derive(Clone, Copy, Debug)]
pub struct Resampling {
    /// The number of resamples.
    pub resamples: usize,
    /// An additional uncertainty of each point that repetitions do not average out, as the standard
    /// deviation of its natural logarithm.
    pub extra_log_sd: f64,
    /// The seed.
    pub seed: u64,
}

impl Resampling {
    /// Calls `take` with each resample of the points.
    fn for_each(self, sizes: &[SizeCost], mut take: impl FnMut(&[(f64, f64)])) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut points = Vec::with_capacity(sizes.len());
        for _ in 0..self.resamples.max(1) {
            points.clear();
            for size in sizes {
                let figure = resample_median(size, &mut random);
                points.push((
                    size.n,
                    figure * (self.extra_log_sd * standard_normal(&mut random)).exp(),
                ));
            }
            take(&points);
        }
    }
}

fn points(sizes: &[SizeCost]) -> Vec<(f64, f64)> {
    sizes.iter().map(|size| (size.n, size.figure)).collect()
}

/// The slope of the relative least-squares line: the cost of one more unit of size. `None` below
/// two sizes.
pub fn fitted_slope(sizes: &[SizeCost], resampling: Resampling) -> Option<ResampledValue> {
    let mut draws = Vec::with_capacity(resampling.resamples);
    resampling.for_each(sizes, |points| draws.push(relative_slope(points)));
    if_finite(ResampledValue { value: relative_slope(&points(sizes)), draws })
}

/// The average slope between two sizes. `None` if one of them is missing.
pub fn secant_slope(
    sizes: &[SizeCost],
    ends: [f64; 2],
    resampling: Resampling,
) -> Option<ResampledValue> {
    let at = |n: f64| sizes.iter().find(|size| size.n == n).cloned();
    let two = [at(ends[0])?, at(ends[1])?];
    let slope = |points: &[(f64, f64)]| (points[1].1 - points[0].1) / (points[1].0 - points[0].0);
    let mut draws = Vec::with_capacity(resampling.resamples);
    resampling.for_each(&two, |points| draws.push(slope(points)));
    if_finite(ResampledValue { value: slope(&points(&two)), draws })
}

fn if_finite(resampled: ResampledValue) -> Option<ResampledValue> {
    let is_finite =
        resampled.value.is_finite() && resampled.draws.iter().all(|draw| draw.is_finite());
    is_finite.then_some(resampled)
}

/// Fits of a law to the points of a curve and to their resamples.
#[derive(Clone, Debug)]
pub struct LawFits {
    fit: Fit,
    drawn: Vec<Fit>,
}

impl LawFits {
    /// Fits a law to the points and to their resamples.
    pub fn new(law: Law, sizes: &[SizeCost], resampling: Resampling) -> Self {
        let mut drawn = Vec::with_capacity(resampling.resamples);
        resampling.for_each(sizes, |points| drawn.push(Fit::of(law, points)));
        Self { fit: Fit::of(law, &points(sizes)), drawn }
    }

    /// The size above which this curve is costlier than `cheaper` by both laws, within the range
    /// `numbers` or half a decade beyond. `None` if its interval exceeds that range.
    pub fn crossover(&self, cheaper: &Self, numbers: [f64; 2]) -> Option<ValueWithInterval> {
        let [first, last] =
            [(numbers[0] / MAX_EXTRAPOLATION).max(1.0), numbers[1] * MAX_EXTRAPOLATION];
        let value = last_crossing(&self.fit, &cheaper.fit, [first, last])?;
        let crossing = |(costlier, cheaper): (&Fit, &Fit)| {
            // Without an intersection the order at the last size holds everywhere.
            let is_costlier = costlier.cost_at(last) > cheaper.cost_at(last);
            last_crossing(costlier, cheaper, [first, last]).unwrap_or(if is_costlier {
                0.0
            } else {
                f64::INFINITY
            })
        };
        let sizes: Vec<f64> = self.drawn.iter().zip(&cheaper.drawn).map(crossing).collect();
        let interval = central_interval(&sizes);
        let inside = interval.lo >= first && interval.hi <= last;
        (inside && interval.contains(value)).then_some(ValueWithInterval { value, interval })
    }
}

/// The largest size between `first` and `last` at which the first law becomes the costlier one.
fn last_crossing(costlier: &Fit, cheaper: &Fit, [first, last]: [f64; 2]) -> Option<f64> {
    let (from, step) = (first.ln(), (last / first).ln() / GRID_STEPS as f64);
    let apart = |at: usize| {
        let n = (from + step * at as f64).exp();
        costlier.cost_at(n) - cheaper.cost_at(n)
    };
    let mut above = apart(GRID_STEPS);
    for at in (0..GRID_STEPS).rev() {
        let below = apart(at);
        if below <= 0.0 && above > 0.0 {
            let share = below / (below - above);
            return Some((from + step * (at as f64 + share)).exp());
        }
        above = below;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half decades from 10 to 10,000, with a small relative uncertainty.
    fn exact(cost: impl Fn(f64) -> f64) -> Vec<SizeCost> {
        let ns = [10.0, 32.0, 100.0, 316.0, 1_000.0, 3_162.0, 10_000.0];
        let size =
            |n: f64| SizeCost { n, figure: cost(n), sd: 0.01, repetitions: vec![cost(n); 6] };
        ns.map(size).to_vec()
    }

    const CHANCE: Resampling = Resampling { resamples: 50, extra_log_sd: 0.0, seed: 1 };

    fn linear(n: f64) -> f64 {
        100.0 + 2.0 * n
    }

    #[test]
    fn each_curve_is_cheaper_on_its_side_of_the_crossover() {
        let (poll, epoll) = (exact(linear), exact(|_| 500.0));
        let found = compare_curves(&poll, &epoll).unwrap();
        assert_eq!(
            (found.costlier_wins_until, found.cheaper_wins_from, found.alternates),
            (Some(100.0), Some(316.0), false)
        );
        assert_eq!(found.numbers, [10.0, 10_000.0]);
        let fits = |law, sizes: &[SizeCost]| LawFits::new(law, sizes, CHANCE);
        let (expensive, inexpensive) = (fits(Law::Linear, &poll), fits(Law::Constant, &epoll));
        let at = expensive.crossover(&inexpensive, found.numbers).unwrap();
        assert!((at.value - 200.0).abs() < 0.2, "{at:?}");
        assert!(
            inexpensive.crossover(&expensive, found.numbers).is_none(),
            "there is none in the other direction"
        );
    }

    #[test]
    fn a_crossover_is_extrapolated_by_at_most_half_a_decade() {
        let numbers = [10.0, 10_000.0];
        let of = |fixed: f64| {
            let expensive = LawFits::new(Law::Linear, &exact(move |n| fixed + 2.0 * n), CHANCE);
            expensive.crossover(&LawFits::new(Law::Constant, &exact(|_| 500.0), CHANCE), numbers)
        };
        assert!((of(490.0).unwrap().value - 5.0).abs() < 0.01);
        assert_eq!(of(496.0), None, "at 2, outside the measured range");
        assert_eq!(of(600.0), None, "never");
    }

    #[test]
    fn differences_below_three_deviations_are_not_significant() {
        let of =
            |factor: f64| compare_curves(&exact(|n| factor * linear(n)), &exact(linear)).unwrap();
        assert_eq!((of(1.04).costlier_wins_until, of(1.04).cheaper_wins_from), (None, None));
        assert_eq!((of(1.05).costlier_wins_until, of(1.05).cheaper_wins_from), (None, Some(10.0)));
    }

    #[test]
    fn a_single_point_at_the_end_is_not_a_range() {
        let mut expensive = exact(linear);
        expensive[6].figure *= 1.5;
        assert_eq!(compare_curves(&expensive, &exact(linear)).unwrap().cheaper_wins_from, None);
        expensive[5].figure *= 1.5;
        assert_eq!(
            compare_curves(&expensive, &exact(linear)).unwrap().cheaper_wins_from,
            Some(3_162.0)
        );
        expensive[1].figure *= 1.5;
        expensive[3].figure /= 1.5;
        let found = compare_curves(&expensive, &exact(linear)).unwrap();
        assert_eq!(
            (found.costlier_wins_until, found.cheaper_wins_from, found.alternates),
            (Some(316.0), Some(3_162.0), true)
        );
    }

    #[test]
    fn too_few_common_sizes_give_no_result() {
        let (one, other) = (exact(linear), exact(|n| 3.0 * linear(n)));
        assert!(compare_curves(&one[..5], &other).is_some());
        assert_eq!(compare_curves(&one[..4], &other), None);
        assert_eq!(compare_curves(&[], &other), None);
    }

    #[test]
    fn fitted_and_secant_slope_agree_on_a_line() {
        let sizes = exact(linear);
        let line = fitted_slope(&sizes, CHANCE).unwrap();
        assert!((line.value - 2.0).abs() < 1e-9, "{}", line.value);
        let ends = secant_slope(&sizes, [100.0, 1_000.0], CHANCE).unwrap();
        let both = line.difference(&ends).estimate();
        assert!(both.value.abs() < 1e-9 && both.interval.half_width() < 1e-9, "{both:?}");
        let falling = fitted_slope(&exact(|n| 1_000.0 - 0.05 * n), CHANCE).unwrap();
        assert!((falling.value + 0.05).abs() < 1e-9, "{}", falling.value);
        assert_eq!(secant_slope(&sizes, [100.0, 999.0], CHANCE), None);
        assert_eq!(fitted_slope(&sizes[..1], CHANCE), None);
    }
}
