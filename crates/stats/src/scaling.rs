//! How a cost grows with a size: which law, its fixed and its marginal cost, and how sure that is.
//!
//! Laws are fitted with an intercept and with relative weights, since a cost is a fixed part and a
//! growing one, and since each point is uncertain by a share of itself (docs/METHOD.md, section
//! 8). Fitted without an intercept, 500 + 2 N would be called logarithmic every time (S15).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::interval::Interval;
use super::order;

/// With fewer sizes than these two laws can hardly be told apart ...
pub const FEWEST: usize = 8;
/// ... nor where the largest is not so many times the smallest.
pub const LEAST_SPAN: f64 = 100.0;
/// A law that grows must grow by this share of its fixed cost over the sizes that were measured ...
const LEAST_GROWTH: f64 = 0.05;
/// ... and by so many times the uncertainty of a point.
const GROWTH_SDS: f64 = 3.0;
/// Two laws whose BIC is closer than this are both named: odds of some twenty to one.
pub const CLOSE: f64 = 6.0;
/// How often repetitions are drawn anew for the intervals of the two costs.
pub const REDRAWS: usize = 2_000;

/// A law of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// The same at every size.
    Constant,
    /// The logarithm to base 2.
    Log,
    /// Proportional.
    Linear,
    /// The size times its logarithm to base 2.
    NLog,
    /// The square.
    Square,
    /// The cube.
    Cube,
}

impl Law {
    /// All of them; those that grow come in the order of their growth.
    pub const ALL: [Law; 6] =
        [Law::Constant, Law::Log, Law::Linear, Law::NLog, Law::Square, Law::Cube];

    /// The law as people write it.
    pub fn text(self) -> &'static str {
        match self {
            Law::Constant => "1",
            Law::Log => "log N",
            Law::Linear => "N",
            Law::NLog => "N log N",
            Law::Square => "N^2",
            Law::Cube => "N^3",
        }
    }

    /// What the marginal cost is multiplied with at a size.
    pub fn of(self, n: f64) -> f64 {
        match self {
            Law::Constant => 0.0,
            Law::Log => n.log2(),
            Law::Linear => n,
            Law::NLog => n * n.log2(),
            Law::Square => n * n,
            Law::Cube => n * n * n,
        }
    }

    /// The size, of 1 or more, at which [`Self::of`] is `value`; `None` where none is.
    pub fn size_at(self, value: f64) -> Option<f64> {
        let found = match self {
            Law::Constant => return None,
            Law::Log => value.exp2(),
            Law::Linear => value,
            Law::NLog => {
                // Newton's way from above: the function is convex and grows.
                let mut n = value.max(2.0);
                for _ in 0..60 {
                    n -= (n * n.log2() - value) / (n.log2() + std::f64::consts::LOG2_E);
                }
                n
            }
            Law::Square => value.sqrt(),
            Law::Cube => value.cbrt(),
        };
        (found.is_finite() && found >= 1.0).then_some(found)
    }
}

/// A size, what it costs, and the repetitions behind that.
#[derive(Clone, Debug, PartialEq)]
pub struct Sized {
    /// The size, 1 or more.
    pub n: f64,
    /// The figure: the median of the repetitions.
    pub figure: f64,
    /// The standard deviation of the logarithm of the figure.
    pub sd: f64,
    /// What each repetition said.
    pub repetitions: Vec<f64>,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The value.
    pub value: f64,
    /// The range that is to hold it in 95 of 100 runs.
    pub interval: Interval,
}

/// How a cost grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The law.
    pub law: Law,
    /// Another law that the points cannot tell from it.
    pub second: Option<Law>,
    /// What is paid at any size.
    pub fixed: Known,
    /// What is paid for each unit of the law; `None` where nothing grows.
    pub marginal: Option<Known>,
    /// The size from which on the growing part is the larger one.
    pub crossover: Option<Known>,
    /// The sum of squared residuals, each in units of its point's uncertainty.
    pub squares: f64,
}

/// The law that some sizes follow; `None` with too few of them, or where one is not a positive
/// number. All chance comes from the seed.
pub fn scaling(sizes: &[Sized], redraws: usize, seed: u64) -> Option<Scaling> {
    let whole = |size: &Sized| {
        size.n >= 1.0
            && size.n.is_finite()
            && size.figure > 0.0
            && size.figure.is_finite()
            && size.sd.is_normal()
    };
    let smallest = sizes.iter().map(|size| size.n).fold(f64::INFINITY, f64::min);
    let largest = sizes.iter().map(|size| size.n).fold(0.0, f64::max);
    let enough = sizes.len() >= FEWEST && largest >= LEAST_SPAN * smallest;
    if !enough || !sizes.iter().all(whole) {
        return None;
    }
    let points: Vec<(f64, f64)> = sizes.iter().map(|size| (size.n, size.figure)).collect();
    let mut fits: Vec<Fit> = Law::ALL.iter().map(|&law| Fit::of(law, &points)).collect();
    fits.sort_by(|one, other| one.bic.total_cmp(&other.bic));
    let sds = order::sorted(&sizes.iter().map(|size| size.sd).collect::<Vec<_>>());
    let least = LEAST_GROWTH.max(GROWTH_SDS * order::median(&sds)?);
    let grows = |fit: &Fit| {
        let growth = fit.marginal * (fit.law.of(largest) - fit.law.of(smallest));
        growth > least * fit.fixed
    };
    let redrawn = |fit: &Fit| Redrawn::of(fit.law, sizes, redraws, seed);
    // What hardly grows, or by what may as well be nothing, does not grow.
    let best = fits.first().filter(|fit| fit.law == Law::Constant || grows(fit));
    let best = best.map(|fit| (fit, redrawn(fit)));
    let holds =
        |(fit, drawn): &(&Fit, Redrawn)| fit.law == Law::Constant || drawn.marginal.lo > 0.0;
    let (fit, drawn) = match best.filter(holds) {
        Some(best) => best,
        None => {
            let constant = fits.iter().find(|fit| fit.law == Law::Constant)?;
            (constant, redrawn(constant))
        }
    };
    let second = fits
        .iter()
        .filter(|other| other.law != fit.law && fit.law != Law::Constant)
        .filter(|other| other.law != Law::Constant && grows(other))
        .find(|other| other.bic - fit.bic < CLOSE);
    let growing = fit.law != Law::Constant;
    let crossover = fit.law.size_at(fit.fixed / fit.marginal).filter(|_| growing);
    let squares = sizes
        .iter()
        .map(|size| ((size.figure / fit.at(size.n)).ln() / size.sd).powi(2))
        .sum::<f64>();
    Some(Scaling {
        law: fit.law,
        second: second.map(|other| other.law),
        fixed: Known { value: fit.fixed, interval: drawn.fixed },
        marginal: growing.then_some(Known { value: fit.marginal, interval: drawn.marginal }),
        crossover: crossover
            .zip(drawn.crossover)
            .map(|(value, interval)| Known { value, interval }),
        squares,
    })
}

/// What least squares need of some points, relative: the target is 1 everywhere, and the columns
/// of the fixed and of the growing part are divided by the figure.
struct Sums {
    /// The largest value of the law: in units of it a cube loses no digits.
    unit: f64,
    ones: f64,
    grown: f64,
    both: f64,
    one: f64,
    growth: f64,
}

impl Sums {
    fn of(law: Law, points: &[(f64, f64)]) -> Self {
        let top = points.iter().map(|&(n, _)| law.of(n)).fold(0.0, f64::max);
        let unit = if top > 0.0 { top } else { 1.0 };
        let mut sums = Self { unit, ones: 0.0, grown: 0.0, both: 0.0, one: 0.0, growth: 0.0 };
        for &(n, figure) in points {
            let (u, v) = (1.0 / figure, law.of(n) / unit / figure);
            sums.ones += u * u;
            sums.grown += v * v;
            sums.both += u * v;
            sums.one += u;
            sums.growth += v;
        }
        sums
    }

    /// The fixed and the growing part of least squares, whatever their signs.
    fn free(&self) -> (f64, f64) {
        let Self { ones, grown, both, one, growth, .. } = *self;
        let bent = ones * grown - both * both;
        ((one * grown - growth * both) / bent, (growth * ones - one * both) / bent)
    }
}

/// The slope of the line of least relative squares through points, which may fall as well.
pub(super) fn free_slope(points: &[(f64, f64)]) -> f64 {
    let sums = Sums::of(Law::Linear, points);
    sums.free().1 / sums.unit
}

/// A law fitted to points: `fixed + marginal * law(n)`, neither below zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    law: Law,
    pub(super) fixed: f64,
    pub(super) marginal: f64,
    bic: f64,
}

impl Fit {
    /// The fit of least relative squares: each residual is divided by the figure.
    pub(super) fn of(law: Law, points: &[(f64, f64)]) -> Self {
        let sums = Sums::of(law, points);
        let Sums { unit, ones, grown, one, growth, .. } = sums;
        let alone = |sum: f64, squares: f64| if squares > 0.0 { sum / squares } else { 0.0 };
        let free = sums.free();
        let (fixed, marginal) = match law {
            Law::Constant => (alone(one, ones), 0.0),
            _ if !(free.0.is_finite() && free.1.is_finite()) => (alone(one, ones), 0.0),
            _ if free.0 < 0.0 => (0.0, alone(growth, grown)),
            _ if free.1 < 0.0 => (alone(one, ones), 0.0),
            _ => free,
        };
        let residual = |&(n, figure): &(f64, f64)| {
            ((fixed + marginal * law.of(n) / unit) / figure - 1.0).powi(2)
        };
        let count = points.len() as f64;
        // Points that lie on a law to the last digit leave rounding, whose logarithm says nothing.
        let squares = points.iter().map(residual).sum::<f64>().max(1e-20 * count);
        let parameters = if law == Law::Constant { 1.0 } else { 2.0 };
        let bic = count * (squares / count).ln() + parameters * count.ln();
        Self { law, fixed, marginal: marginal / unit, bic }
    }

    /// What it says of a size.
    pub(super) fn at(&self, n: f64) -> f64 {
        self.fixed + self.marginal * self.law.of(n)
    }
}

/// The intervals of a law's costs: repetitions are drawn anew, size by size, with replacement, and
/// the law is fitted to their medians.
struct Redrawn {
    fixed: Interval,
    marginal: Interval,
    crossover: Option<Interval>,
}

impl Redrawn {
    fn of(law: Law, sizes: &[Sized], redraws: usize, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut fixed, mut marginal) = (Vec::new(), Vec::new());
        let mut crossovers = Vec::new();
        let mut points = Vec::with_capacity(sizes.len());
        for _ in 0..redraws.max(1) {
            points.clear();
            points.extend(sizes.iter().map(|size| (size.n, redraw(size, &mut random))));
            let fit = Fit::of(law, &points);
            fixed.push(fit.fixed);
            marginal.push(fit.marginal);
            // Where nothing grows the crossover is beyond every size.
            let at = law.size_at(fit.fixed / fit.marginal);
            crossovers.push(at.unwrap_or(if fit.fixed > fit.marginal {
                f64::INFINITY
            } else {
                1.0
            }));
        }
        let crossover = middle(&crossovers);
        Self {
            fixed: middle(&fixed),
            marginal: middle(&marginal),
            crossover: crossover.hi.is_finite().then_some(crossover),
        }
    }
}

/// The median of as many repetitions as there are, drawn with replacement; the figure itself where
/// there are none to draw from.
pub(super) fn redraw(size: &Sized, random: &mut Xoshiro256PlusPlus) -> f64 {
    let count = size.repetitions.len() as u128;
    let one = |_| size.repetitions[((u128::from(random.next_u64()) * count) >> 64) as usize];
    let drawn: Vec<f64> = (0..size.repetitions.len()).map(one).collect();
    let drawn = order::median(&order::sorted(&drawn)).filter(|&figure| figure > 0.0);
    drawn.unwrap_or(size.figure)
}

/// The middle 95 % of what was drawn.
pub(super) fn middle(values: &[f64]) -> Interval {
    let sorted = order::sorted(values);
    let rank = |share: f64| ((sorted.len() - 1) as f64 * share).round() as usize;
    Interval { lo: sorted[rank(0.025)], hi: sorted[rank(0.975)] }
}

/// The exponent of a curve over its last decade, with its interval: the slope of logarithms, each
/// point weighted by its uncertainty. `None` with fewer than two sizes there.
pub fn last_exponent(sizes: &[Sized]) -> Option<Known> {
    let largest = sizes.iter().map(|size| size.n).fold(0.0, f64::max);
    let last = || sizes.iter().filter(|size| size.n * 10.0 >= largest && size.figure > 0.0);
    let weight = |size: &Sized| size.sd.powi(-2);
    let total: f64 = last().map(weight).sum();
    let mean =
        |of: fn(&Sized) -> f64| last().map(|size| weight(size) * of(size)).sum::<f64>() / total;
    let (x, y) = (mean(|size| size.n.ln()), mean(|size| size.figure.ln()));
    let xx: f64 = last().map(|size| weight(size) * (size.n.ln() - x).powi(2)).sum();
    let xy: f64 =
        last().map(|size| weight(size) * (size.n.ln() - x) * (size.figure.ln() - y)).sum();
    let (value, half) = (xy / xx, 1.96 / xx.sqrt());
    let interval = Interval { lo: value - half, hi: value + half };
    (value.is_finite() && half.is_finite()).then_some(Known { value, interval })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sizes from 1 to 1024, each twice the one before, of which nothing is uncertain.
    fn exact(cost: impl Fn(f64) -> f64) -> Vec<Sized> {
        (0..=10)
            .map(|power| f64::from(1 << power))
            .map(|n| Sized { n, figure: cost(n), sd: 0.01, repetitions: vec![cost(n); 6] })
            .collect()
    }

    fn law(sizes: &[Sized]) -> Scaling {
        scaling(sizes, 50, 1).expect("enough sizes")
    }

    #[test]
    fn a_fixed_and_a_marginal_cost_come_back_with_their_crossover() {
        let found = law(&exact(|n| 500.0 + 2.0 * n));
        assert_eq!((found.law, found.second), (Law::Linear, None));
        assert!((found.fixed.value - 500.0).abs() < 1e-6, "{found:?}");
        let marginal = found.marginal.unwrap();
        assert!((marginal.value - 2.0).abs() < 1e-9 && marginal.interval.half_width() < 1e-9);
        assert!((found.crossover.unwrap().value - 250.0).abs() < 1e-6, "{found:?}");
        assert!(found.squares < 1e-9);
    }

    #[test]
    fn every_law_is_told_from_the_others_when_nothing_is_uncertain() {
        for wanted in Law::ALL {
            let found = law(&exact(|n| 100.0 + 3.0 * wanted.of(n)));
            assert_eq!((found.law, found.second), (wanted, None));
        }
    }

    #[test]
    fn what_grows_by_less_than_a_twentieth_is_constant() {
        assert_eq!(law(&exact(|n| 1_000.0 + 0.04 * n)).law, Law::Constant);
        assert_eq!(law(&exact(|n| 1_000.0 + 0.06 * n)).law, Law::Linear);
        let mut coarse = exact(|n| 1_000.0 + 0.06 * n);
        coarse.iter_mut().for_each(|size| size.sd = 0.03);
        assert_eq!(law(&coarse).law, Law::Constant, "3 sigma are more than it grows");
    }

    #[test]
    fn a_cost_that_shrinks_is_no_growth() {
        let found = law(&exact(|n| 1_000.0 / n));
        assert_eq!((found.law, found.marginal, found.crossover), (Law::Constant, None, None));
        assert!(found.squares > 1e3, "and the law does not hold");
    }

    #[test]
    fn without_a_fixed_cost_nothing_is_crossed() {
        let found = law(&exact(|n| 5.0 * n));
        assert_eq!((found.law, found.crossover), (Law::Linear, None));
        assert!(found.fixed.value.abs() < 1e-9);
    }

    #[test]
    fn too_little_or_nonsense_has_no_law() {
        let good = exact(|n| 500.0 + 2.0 * n);
        assert_eq!(scaling(&good[..7], 50, 1), None, "seven sizes");
        let near: Vec<Sized> =
            (1..=20).map(|n| Sized { n: f64::from(n), ..good[0].clone() }).collect();
        assert_eq!(scaling(&near, 50, 1), None, "one decade");
        for spoil in [
            |size: &mut Sized| size.figure = -1.0,
            |size: &mut Sized| size.figure = f64::NAN,
            |size: &mut Sized| size.n = 0.0,
            |size: &mut Sized| size.sd = f64::NAN,
        ] {
            let mut bad = good.clone();
            spoil(&mut bad[4]);
            assert_eq!(scaling(&bad, 50, 1), None, "{:?}", bad[4]);
        }
    }

    #[test]
    fn the_last_decade_has_an_exponent() {
        let of = |sizes: &[Sized]| last_exponent(sizes).unwrap();
        assert!((of(&exact(|n| 3.0 * n * n)).value - 2.0).abs() < 1e-9);
        let late = of(&exact(|n| 500.0 + 2.0 * n));
        assert!((0.5..0.8).contains(&late.value), "{late:?}");
        assert!(late.interval.contains(late.value) && late.interval.half_width() < 0.1);
        assert_eq!(last_exponent(&exact(|n| n)[..1]), None);
        assert_eq!(last_exponent(&[]), None);
    }

    proptest! {
        #[test]
        fn a_law_gives_the_size_back(n in 1.5..1e6f64) {
            for law in Law::ALL.into_iter().skip(1) {
                let back = law.size_at(law.of(n)).unwrap();
                prop_assert!((back / n - 1.0).abs() < 1e-9, "{law:?}: {back}, not {n}");
            }
        }

        #[test]
        fn costs_follow_a_change_of_unit(unit in 1e-3..1e3f64, fixed in 1.0..1e4f64) {
            let one = law(&exact(|n| fixed + 7.0 * n));
            let other = law(&exact(|n| unit * (fixed + 7.0 * n)));
            prop_assert_eq!(one.law, other.law);
            let marginal = |of: &Scaling| of.marginal.map_or(0.0, |it| it.value);
            prop_assert!((marginal(&one) * unit - marginal(&other)).abs() < 1e-6 * unit);
        }
    }
}
