//! What repeated measurements of many things say of the error of one: differences within a thing
//! contain none of its own effect, so they are the errors of measurement alone.

use statrs::distribution::{ContinuousCDF, Normal};

use super::between_runs::student;

/// The independent contrasts of some repeats (Helmert 1876): one fewer than repeats, each with the
/// variance of one repeat, if repeats are independent.
pub fn contrasts(repeats: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let contrast = |(count, &value): (usize, &f64)| {
        let before = count as f64;
        let contrast =
            (count > 0).then(|| (sum - before * value) / (before * (before + 1.0)).sqrt());
        sum += value;
        contrast
    };
    repeats.iter().enumerate().filter_map(contrast).collect()
}

/// So many values are beyond the quantile by which tails are judged.
const TAIL_VALUES: usize = 20;
/// In many values they are judged by this share.
const TAIL_SHARE: f64 = 1e-3;
/// The quantile that tells the scale.
const SCALE_QUANTILE: f64 = 0.6;
/// Fewer values tell nothing of their tails.
const MIN_VALUES: usize = 200;
/// The degrees of freedom that are told apart.
const DEGREES: [f64; 14] =
    [100.0, 60.0, 40.0, 30.0, 20.0, 15.0, 12.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0];

/// The degrees of freedom of the Student's distribution whose tails are as heavy as those of these
/// values, of which the distances from their centre are given in ascending order. `None` if the tails
/// are at most those of normal values, or if there are too few values to tell.
///
/// The outermost twenty values, or one in a thousand, are compared with the middle ones by quantiles.
pub fn tail_degrees(sorted_distances: &[f64]) -> Option<f64> {
    let count = sorted_distances.len();
    if count < MIN_VALUES {
        return None;
    }
    let outer = TAIL_VALUES.max((count as f64 * TAIL_SHARE) as usize);
    let scale = sorted_distances[(count as f64 * SCALE_QUANTILE) as usize];
    let ratio = sorted_distances[count - outer] / scale;
    let [tail, middle] = [outer as f64 / count as f64, 1.0 - SCALE_QUANTILE]
        .map(|both_sides| 1.0 - both_sides / 2.0);
    let normal = Normal::standard();
    // Without a scale half of the values are equal: the ratio is infinite, or no number.
    if ratio <= normal.inverse_cdf(tail) / normal.inverse_cdf(middle) {
        return None;
    }
    let covers = |degrees: &f64| {
        student(*degrees).is_some_and(|it| ratio <= it.inverse_cdf(tail) / it.inverse_cdf(middle))
    };
    Some(DEGREES.into_iter().find(covers).unwrap_or(DEGREES[DEGREES.len() - 1]))
}

/// The next heavier tails that are told apart: what an estimate of few outermost values may have
/// missed. Of the heaviest, these.
pub fn heavier_tails(degrees: f64) -> f64 {
    let heavier = DEGREES.into_iter().find(|&it| it < degrees);
    heavier.unwrap_or(DEGREES[DEGREES.len() - 1])
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::{order, random};

    #[test]
    fn contrasts_contain_errors_alone() {
        assert_eq!(contrasts(&[7.0]), Vec::<f64>::new());
        assert_eq!(contrasts(&[4.0, 4.0, 4.0]), [0.0, 0.0]);
        let found = contrasts(&[1.0, 3.0, 8.0]);
        assert!((found[0] + 2.0 / 2f64.sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found[1] + 12.0 / 6f64.sqrt()).abs() < 1e-12, "{found:?}");
        // Their squares add up to those around the mean: 9 + 1 + 16.
        let squares: f64 = found.iter().map(|it| it * it).sum();
        assert!((squares - 26.0).abs() < 1e-12, "{squares}");
    }

    #[test]
    fn heavy_tails_are_told_from_normal_ones() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(21);
        let mut degrees_of = |draw: &mut dyn FnMut(&mut Xoshiro256PlusPlus) -> f64,
                              count: usize| {
            let distances: Vec<f64> = (0..count).map(|_| draw(&mut random).abs()).collect();
            tail_degrees(&order::sorted(&distances))
        };
        let normal = degrees_of(&mut random::standard_normal, 40_000);
        assert!(normal.is_none_or(|degrees| degrees >= 30.0), "{normal:?}");
        let three = degrees_of(&mut |random| random::student(random, 3), 40_000);
        assert!(three.is_some_and(|degrees| (2.0..=4.0).contains(&degrees)), "{three:?}");
        assert_eq!(degrees_of(&mut |random| random::student(random, 3), 150), None);
        assert_eq!(tail_degrees(&[0.0; 500]), Some(2.0), "nothing is known of the scale");
        assert_eq!([f64::INFINITY, 30.0, 3.0, 2.0].map(heavier_tails), [100.0, 20.0, 2.0, 2.0]);
    }
}
