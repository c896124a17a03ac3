//! Partial pooling: several quantities of one kind, each measured with its own error, are drawn to
//! their common mean the more, the worse they are known.
//!
//! How much they differ beyond their errors is estimated by moments (DerSimonian and Laird 1986); each is
//! then the mean of its own figure and of the common one, weighed by what is known of it (Morris 1983).
//! Where errors are large beside the differences, all are the common mean; where each is known well, each
//! is its own.
//!
//! Few quantities tell badly how much they differ, and too small a spread would make the intervals too
//! narrow: on simulated quantities whose spread is that of the smallest error 83 % would hold the truth. The
//! scatter is therefore taken at two of its standard errors more, and the spread as much wider as an interval
//! of Student's distribution is for as many quantities as tell it: at least 92 % do, also of quantities that
//! are hardly known and rest on the spread alone, of which 86 % would.

use crate::interval::{NORMAL_95, Nominal};
use crate::student;

/// The scatter of quantities is known to its standard error alone: it is taken at so many of them more.
const SCATTER_ERRORS: f64 = 2.0;

/// A variance is searched by so many halvings: to a part in 10^18.
const HALVINGS: u32 = 60;

/// With one degree of freedom Student's interval is three times as wide as with two: too wide for a scatter
/// that is taken at two standard errors more.
const MIN_DEGREES_OF_FREEDOM: f64 = 2.0;

/// A figure with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBar {
    /// The figure.
    pub value: f64,
    /// Its standard error, above 0.
    pub standard_error: f64,
}

/// What several quantities have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Their mean.
    pub mean: ErrorBar,
    /// The variance between them, beyond their errors: the most that their scatter allows, and more, the
    /// fewer tell it.
    pub variance_between: f64,
}

impl Pool {
    /// That of these quantities; `None` of fewer than two, and of one whose error is not above 0.
    pub fn of(measured: &[ErrorBar]) -> Option<Self> {
        let is_usable = |it: &ErrorBar| it.standard_error > 0.0 && it.value.is_finite();
        if measured.len() < 2 || !measured.iter().all(is_usable) {
            return None;
        }
        let by_error = weighted(measured, 0.0);
        let scatter = |it: &ErrorBar| ((it.value - by_error.mean) / it.standard_error).powi(2);
        let scatter: f64 = measured.iter().map(scatter).sum();
        let freedom = measured.len() as f64 - 1.0;
        let scale = by_error.weights - by_error.squared_weights / by_error.weights;
        // By errors alone the scatter has the mean `freedom` and the variance twice that.
        let most = scatter + SCATTER_ERRORS * (2.0 * freedom).sqrt();
        // Scatter below what the errors alone would give leaves nothing between the quantities.
        let by_moments = ((most - freedom) / scale).max(0.0);
        let of_scatter = by_moments.max(even_variance(measured));
        // Those that are known badly tell little of it: as many tell it as have the weight (Kish 1965).
        let by_scatter = weighted(measured, of_scatter);
        let telling = by_scatter.weights.powi(2) / by_scatter.squared_weights;
        let variance_between = student_factor(telling - 1.0).powi(2) * of_scatter;
        let common = weighted(measured, variance_between);
        let standard_error = (1.0 / common.weights).sqrt();
        Some(Self { mean: ErrorBar { value: common.mean, standard_error }, variance_between })
    }

    /// One of the quantities, drawn to their mean.
    pub fn draw(&self, own: ErrorBar) -> ErrorBar {
        let own_variance = own.standard_error.powi(2);
        let to_mean = own_variance / (own_variance + self.variance_between);
        let value = own.value + to_mean * (self.mean.value - own.value);
        let variance =
            (1.0 - to_mean) * own_variance + (to_mean * self.mean.standard_error).powi(2);
        ErrorBar { value, standard_error: variance.sqrt() }
    }

    /// Another quantity of the same kind, which was not measured.
    pub fn other(&self) -> ErrorBar {
        let variance = self.variance_between + self.mean.standard_error.powi(2);
        ErrorBar { value: self.mean.value, standard_error: variance.sqrt() }
    }
}

/// How much wider an interval of Student's distribution is than one of a normal distribution.
fn student_factor(degrees_of_freedom: f64) -> f64 {
    let degrees_of_freedom = degrees_of_freedom.max(MIN_DEGREES_OF_FREEDOM);
    let standard = student::Estimate { value: 0.0, standard_error: 1.0, degrees_of_freedom };
    standard.interval(Nominal::FIXED).hi / NORMAL_95
}

/// The variance between quantities at which their scatter, weighed by the whole variance of each, is what
/// chance gives (Paule and Mandel 1982). The moments weigh by errors alone: two quantities that are known
/// well and alike would hide that two others, known less well, differ.
fn even_variance(measured: &[ErrorBar]) -> f64 {
    let freedom = measured.len() as f64 - 1.0;
    let is_more_than_chance = |between: f64| {
        let mean = weighted(measured, between).mean;
        let of = |it: &ErrorBar| (it.value - mean).powi(2) / (it.standard_error.powi(2) + between);
        measured.iter().map(of).sum::<f64>() > freedom
    };
    if !is_more_than_chance(0.0) {
        return 0.0;
    }
    let values = || measured.iter().map(|it| it.value);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    // With this variance none is far enough from the mean.
    let (mut low, mut high) = (0.0, measured.len() as f64 * (most - least).powi(2));
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if is_more_than_chance(middle) { low = middle } else { high = middle }
    }
    high
}

/// Sums of weights, each the inverse of a variance.
struct Weighted {
    mean: f64,
    weights: f64,
    squared_weights: f64,
}

fn weighted(measured: &[ErrorBar], variance_between: f64) -> Weighted {
    let weight = |it: &ErrorBar| 1.0 / (it.standard_error.powi(2) + variance_between);
    let weights: f64 = measured.iter().map(weight).sum();
    let squared_weights = measured.iter().map(|it| weight(it).powi(2)).sum();
    let sum: f64 = measured.iter().map(|it| weight(it) * it.value).sum();
    Weighted { mean: sum / weights, weights, squared_weights }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::random::standard_normal;

    fn bar(value: f64, standard_error: f64) -> ErrorBar {
        ErrorBar { value, standard_error }
    }

    #[test]
    fn quantities_that_differ_by_their_errors_alone_are_their_mean() {
        let pool = Pool::of(&[bar(70.0, 10.0), bar(74.0, 10.0), bar(-300.0, 5_000.0)]).unwrap();
        assert!((pool.mean.value - 72.0).abs() < 0.1, "{pool:?}");
        // Q is 0.09 and the scale 0.01: (0.09 + 2 * 2 - 2) / 0.01; two tell it, whose Student's quantile is
        // taken as 4.303, times (4.303 / 1.96)^2.
        assert!((pool.variance_between.sqrt() - 31.7).abs() < 0.1, "{pool:?}");
        assert!((pool.mean.standard_error - 23.5).abs() < 0.1, "{pool:?}");
        let drawn = pool.draw(bar(-300.0, 5_000.0));
        assert!((drawn.value - pool.mean.value).abs() < 0.1, "{drawn:?}");
        assert!((pool.other().standard_error - 39.5).abs() < 0.2, "{:?}", pool.other());
    }

    #[test]
    fn quantities_that_are_known_well_stay_their_own() {
        let pool = Pool::of(&[bar(100.0, 1.0), bar(200.0, 1.0), bar(900.0, 1.0)]).unwrap();
        assert!((pool.mean.value - 400.0).abs() < 1e-3, "{pool:?}");
        let drawn = pool.draw(bar(200.0, 1.0));
        assert!((drawn.value - 200.0).abs() < 0.01, "{drawn:?}");
        assert!((drawn.standard_error - 1.0).abs() < 0.01, "{drawn:?}");
        // One that was not measured may be any of these.
        assert!(pool.other().standard_error > 400.0);
    }

    #[test]
    fn quantities_that_are_known_less_well_may_differ_from_two_that_are_alike() {
        let measured = [bar(71.0, 4.0), bar(75.0, 4.0), bar(140.0, 20.0), bar(180.0, 40.0)];
        let pool = Pool::of(&measured).unwrap();
        let drawn = measured.map(|own| pool.draw(own).value);
        assert!(drawn[0] < 74.0 && drawn[2] > 130.0 && drawn[3] > 140.0, "{drawn:?}");
    }

    #[test]
    fn one_quantity_or_one_without_an_error_is_no_pool() {
        assert_eq!(Pool::of(&[bar(1.0, 1.0)]), None);
        assert_eq!(Pool::of(&[bar(1.0, 1.0), bar(2.0, 0.0)]), None);
        assert_eq!(Pool::of(&[bar(1.0, 1.0), bar(f64::NAN, 1.0)]), None);
    }

    /// Quantities, each with what is measured of it.
    struct Trial {
        truths: Vec<f64>,
        measured: Vec<ErrorBar>,
    }

    /// How often intervals hold the truth, and the squared errors of drawn figures beside those of their
    /// own, of the quantities from one on.
    struct Outcome {
        coverage: f64,
        squares: f64,
    }

    /// Draws the quantities of four hundred trials, each with a pool of its own.
    fn outcome(
        seed: u64,
        from: usize,
        trial: impl Fn(&mut Xoshiro256PlusPlus) -> Trial,
    ) -> Outcome {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut held, mut all, mut own_squares, mut drawn_squares) = (0, 0, 0.0, 0.0);
        for _ in 0..400 {
            let Trial { truths, measured } = trial(&mut random);
            let pool = Pool::of(&measured).unwrap();
            for (&truth, &own) in truths.iter().zip(&measured).skip(from) {
                let drawn = pool.draw(own);
                let off = (drawn.value - truth).abs();
                held += i32::from(off <= 1.96 * drawn.standard_error);
                all += 1;
                own_squares += (own.value - truth).powi(2);
                drawn_squares += off.powi(2);
            }
        }
        let coverage = f64::from(held) / f64::from(all);
        Outcome { coverage, squares: drawn_squares / own_squares }
    }

    /// What is measured of these truths with these errors.
    fn trial_of(truths: Vec<f64>, errors: &[f64], random: &mut Xoshiro256PlusPlus) -> Trial {
        let of =
            |(truth, &error): (&f64, &f64)| bar(truth + error * standard_normal(random), error);
        let measured = truths.iter().zip(errors).map(of).collect();
        Trial { truths, measured }
    }

    /// So many truths around a mean.
    fn around(mean: f64, spread: f64, count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        (0..count).map(|_| mean + spread * standard_normal(random)).collect()
    }

    /// Of quantities with a true spread, measured with errors that differ by sixteen times.
    #[test]
    fn drawn_quantities_are_nearer_to_the_truth_and_their_intervals_hold_it() {
        let errors: Vec<f64> = (0..10).map(|place| 4.0 * f64::from(1 << (place / 2))).collect();
        for spread in [0.0, 2.0, 5.0, 10.0, 40.0] {
            let found = outcome(7, 0, |random| {
                let truths = around(75.0, spread, errors.len(), random);
                trial_of(truths, &errors, random)
            });
            assert!((0.915..=0.99).contains(&found.coverage), "{spread}: {}", found.coverage);
            assert!(found.squares < 0.8, "{spread}: {}", found.squares);
        }
    }

    /// What a filter adds to calls of 100 ns, to which errors of nanoseconds belong, and to a fork, an exec
    /// and an exit, whose errors are microseconds: the truth is the same for all but a spread.
    #[test]
    fn quantities_that_are_hardly_known_are_those_of_the_others_of_their_kind() {
        const OF_TASKS: [f64; 3] = [1_500.0, 2_500.0, 3_500.0];
        for of_calls in [&[4.0, 8.0][..], &[4.0, 8.0, 16.0], &[4.0, 4.0, 8.0, 8.0, 16.0, 32.0]] {
            let errors = [of_calls, &OF_TASKS].concat();
            for spread in [0.0, 2.0, 10.0, 40.0] {
                let found = outcome(11, of_calls.len(), |random| {
                    let truths = around(75.0, spread, errors.len(), random);
                    trial_of(truths, &errors, random)
                });
                let told = (of_calls.len(), spread);
                assert!(found.coverage >= 0.92, "{told:?}: {}", found.coverage);
                assert!(found.squares < 0.35, "{told:?}: {}", found.squares);
            }
        }
    }

    /// What a monitor adds to a fork, an exec and an exit, 20 us beyond a call each, around which they
    /// differ: they are a pool of their own.
    #[test]
    fn few_quantities_that_differ_stay_as_true_as_their_own() {
        const ERRORS: [f64; 3] = [1_500.0, 2_500.0, 3_500.0];
        for count in [2, 3] {
            for spread in [0.0, 1_000.0, 3_000.0, 10_000.0] {
                let found = outcome(13, 0, |random| {
                    let truths = around(20_090.0, spread, count, random);
                    trial_of(truths, &ERRORS[..count], random)
                });
                let told = (count, spread);
                assert!(found.coverage >= 0.92, "{told:?}: {}", found.coverage);
                assert!(found.squares < 1.05, "{told:?}: {}", found.squares);
            }
        }
    }
}
