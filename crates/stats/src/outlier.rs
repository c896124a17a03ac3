//! Whether a value is one of its equals, or differs from them by more than they vary among
//! themselves.

use statrs::distribution::{ContinuousCDF, Normal};

use super::between_runs::student;
use super::{order, robust};

/// Fewer values say too little of how far they vary.
pub const MIN_EQUALS: usize = 6;

/// The variance of the mean of normal values over that of their median.
const MEDIAN_EFFICIENCY: f64 = 0.637;

/// What the median absolute deviation keeps of the degrees of freedom of normal values: its
/// efficiency (Rousseeuw and Croux 1993).
const DEVIATION_EFFICIENCY: f64 = 0.37;

/// Values that should be equal. Up to half of them may be something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equals {
    /// Their median.
    pub centre: f64,
    /// Their robust standard deviation.
    pub deviation: f64,
    /// How many they are.
    pub count: usize,
}

impl Equals {
    /// The centre and the spread of these values; `None` below [`MIN_EQUALS`].
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = order::sorted(values);
        let count = sorted.len();
        if count < MIN_EQUALS {
            return None;
        }
        // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
        let small_sample_factor = count as f64 / (count as f64 - 0.8);
        let deviation = small_sample_factor * robust::mad_sd(&sorted)?;
        Some(Self { centre: order::median(&sorted)?, deviation, count })
    }

    /// The probability that one more value of their kind lies at least as far from their centre, on
    /// either side: Student's t of a normal value, with the degrees of freedom of the robust
    /// deviation.
    pub fn p(&self, value: f64) -> f64 {
        let count = self.count as f64;
        let of_centre = 1.0 / (MEDIAN_EFFICIENCY * count);
        let error = self.deviation * (1.0 + of_centre).sqrt();
        let distance = (value - self.centre).abs();
        if error == 0.0 {
            return if distance == 0.0 { 1.0 } else { 0.0 };
        }
        let degrees_of_freedom = DEVIATION_EFFICIENCY * (count - 1.0);
        student(degrees_of_freedom).map_or(1.0, |it| 2.0 * it.cdf(-distance / error))
    }
}

/// The probability of a difference of this size or larger, on either side, if there is none: of a
/// normal value with this standard error.
pub fn two_sided_p(difference: f64, standard_error: f64) -> f64 {
    if standard_error == 0.0 {
        return if difference == 0.0 { 1.0 } else { 0.0 };
    }
    2.0 * Normal::standard().cdf(-difference.abs() / standard_error)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::random::standard_normal;

    #[test]
    fn the_p_of_a_normal_value_is_that_of_the_tables() {
        assert!((two_sided_p(1.959_964, 1.0) - 0.05).abs() < 1e-6);
        assert!((two_sided_p(-5.151_658, 2.0) - 0.01).abs() < 1e-6);
        assert_eq!([two_sided_p(0.0, 0.0), two_sided_p(0.1, 0.0)], [1.0, 0.0]);
    }

    #[test]
    fn few_values_are_no_equals_and_equal_ones_have_no_other_among_them() {
        assert_eq!(Equals::of(&[1.0; MIN_EQUALS - 1]), None);
        let equal = Equals::of(&[1.0; 9]).unwrap();
        assert_eq!([equal.p(1.0), equal.p(1.001)], [1.0, 0.0]);
    }

    #[test]
    fn a_value_of_their_kind_is_rarely_called_another_one_and_a_distant_one_is() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(33);
        let (mut alarms, mut found) = (0, 0);
        for _ in 0..2_000 {
            let mut normal = || standard_normal(&mut random);
            let mut values: Vec<f64> = (0..15).map(|_| normal()).collect();
            // Two that are not of their kind do not hide a third.
            (values[0], values[1]) = (12.0, 13.0);
            let equals = Equals::of(&values).unwrap();
            alarms += u32::from(equals.p(normal()) <= 0.05);
            found += u32::from(equals.p(12.0 + normal()) <= 0.01);
        }
        assert!(alarms <= 140, "{alarms} of 2000");
        assert!(found >= 1_900, "{found} of 2000");
    }
}
