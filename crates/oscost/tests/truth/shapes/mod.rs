//! Five distributions of the values of a case, each with its true median.
//!
//! Only the median is estimated, so any shape may be used: a symmetric one, three with one-sided
//! disturbance of increasing strength, and one with two levels. All are near 124, the cost of
//! getppid(2) in nanoseconds, with a spread of a few per cent.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The undisturbed cost.
pub(crate) const UNDISTURBED: f64 = 124.0;

/// A stream of random numbers, determined by a seed.
pub(crate) struct Source(Xoshiro256PlusPlus);

impl Source {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform on (0, 1]: never 0, whose logarithm has no value.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal, by Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Lognormal with median 1; `log_sd` is the spread of its logarithm.
    pub(crate) fn lognormal(&mut self, log_sd: f64) -> f64 {
        (log_sd * self.normal()).exp()
    }
}

/// The shape of a distribution; [`Shape::draw`] has its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Lognormal,
    FloorAndExponential,
    TenthContaminated,
    Bimodal,
    ParetoTail,
}

/// The spread of the logarithm of values that differ by small noise alone.
const SMALL_NOISE: f64 = 0.01;
/// The tail of [`Shape::ParetoTail`]: below 2, so its variance is infinite.
const TAIL_INDEX: f64 = 1.5;

impl Shape {
    pub(crate) const ALL: [Self; 5] = [
        Self::Lognormal,
        Self::FloorAndExponential,
        Self::TenthContaminated,
        Self::Bimodal,
        Self::ParetoTail,
    ];

    /// One value.
    pub(crate) fn draw(self, source: &mut Source) -> f64 {
        let relative = match self {
            Self::Lognormal => source.lognormal(0.02),
            Self::FloorAndExponential => 1.0 + 0.03 * source.exponential(),
            // A preempted repetition costs from a third more to several times as much.
            Self::TenthContaminated if source.uniform() <= 0.1 => 1.3 + source.exponential(),
            Self::TenthContaminated => source.lognormal(SMALL_NOISE),
            // Two memory layouts, of which the one with probability 0.3 costs a tenth more.
            Self::Bimodal if source.uniform() <= 0.3 => 1.1 * source.lognormal(SMALL_NOISE),
            Self::Bimodal => source.lognormal(SMALL_NOISE),
            Self::ParetoTail => 1.0 + 0.02 * (source.uniform().powf(-1.0 / TAIL_INDEX) - 1.0),
        };
        UNDISTURBED * relative
    }

    /// The median of the distribution, by its formula.
    pub(crate) fn median(self) -> f64 {
        let relative = match self {
            Self::Lognormal => 1.0,
            Self::FloorAndExponential => 1.0 + 0.03 * 2f64.ln(),
            // The upper part is at least nine standard deviations above the lower one, so the
            // median is a quantile of the lower one: 5/9 and 5/7, here in standard deviations.
            Self::TenthContaminated => (SMALL_NOISE * 0.139_710_298_881_862_1).exp(),
            Self::Bimodal => (SMALL_NOISE * 0.565_948_821_932_863_1).exp(),
            Self::ParetoTail => 1.0 + 0.02 * (2f64.powf(1.0 / TAIL_INDEX) - 1.0),
        };
        UNDISTURBED * relative
    }
}

#[test]
fn half_of_the_draws_of_each_shape_are_below_its_median() {
    for shape in Shape::ALL {
        let mut source = Source::seeded(1);
        let draws = 200_000;
        let below = (0..draws).filter(|_| shape.draw(&mut source) < shape.median()).count();
        let share = below as f64 / f64::from(draws);
        // Four standard errors.
        assert!((share - 0.5).abs() < 0.0045, "{shape:?}: {share}");
    }
}
