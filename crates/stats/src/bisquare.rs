//! Location and spread by the bisquare (Beaton and Tukey 1974): nearly as exact as mean and standard
//! deviation if all values are normal, and blind to values that are far from the others.

use super::order;

/// Values further than this from the location, in standard deviations, have no weight; 95 % of the
/// efficiency of the mean is left.
const LOCATION_REACH: f64 = 4.685;
/// The same for the spread, in median absolute deviations (Lax 1985).
const SPREAD_REACH: f64 = 9.0;
/// The weights change by less than 1 % after so many steps.
const STEPS: usize = 6;

/// What the spread by [`spread`] keeps of the degrees of freedom of normal values: its efficiency is
/// 0.86 (Lax 1985), less a little for few values.
pub const SPREAD_EFFICIENCY: f64 = 0.8;

/// The biweight midvariance of the values around `centre`, as a standard deviation; 0 if more than
/// half of them are equal to the centre. `None` below two values.
///
/// Up to half of the values may be disturbed.
pub fn spread(values: &[f64], centre: f64) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mut distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let typical = order::median_in_place(&mut distances)?;
    if typical == 0.0 {
        return Some(0.0);
    }
    let (mut squares, mut slope) = (0.0, 0.0);
    for value in values {
        let distance = (value - centre) / (SPREAD_REACH * typical);
        let left = 1.0 - distance * distance;
        if left > 0.0 {
            squares += (value - centre).powi(2) * left.powi(4);
            slope += left * (1.0 - 5.0 * distance * distance);
        }
    }
    Some((values.len() as f64 * squares).sqrt() / slope.abs())
}

/// The degrees of freedom of Student's distribution that has the tails of a value over the [`spread`] of
/// so many, of which it is one, around their median.
///
/// The spread is small where a little more than half of the values happen to agree, since it takes the
/// others for disturbed. That is far more common among few values than a small standard deviation is.
pub fn spread_degrees(count: usize) -> f64 {
    /// By so many fewer than those of the efficiency the tails of ten to thirty values are covered.
    const OF_TAILS: f64 = 2.7;
    let of_few = (count / 2) as f64;
    of_few.max(SPREAD_EFFICIENCY * (count as f64 - 1.0) - OF_TAILS)
}

/// The weight of each value, from 0 to 1, in the location of all of them, each of which has a standard
/// deviation of its own (above 0): the squares of these decide among values that are not disturbed.
/// Otherwise one that is badly known, and therefore never far away, would draw the location to itself
/// until those that are well known are far away. `None` without values.
pub fn weights(values: &[f64], deviations: &[f64]) -> Option<Vec<f64>> {
    let mut location = order::median_in_place(&mut values.to_vec())?;
    let least = deviations.iter().copied().fold(f64::INFINITY, f64::min);
    let precisions: Vec<f64> = deviations.iter().map(|it| (least / it).powi(2)).collect();
    let mut weights = precisions.clone();
    for _ in 0..STEPS {
        let parts = values.iter().zip(deviations).zip(&precisions);
        for (weight, ((value, deviation), precision)) in weights.iter_mut().zip(parts) {
            let distance = (value - location) / (LOCATION_REACH * deviation);
            *weight = precision * (1.0 - distance * distance).max(0.0).powi(2);
        }
        // Two values that are far apart are both far from their middle: neither is the disturbed one.
        let Some(mean) = weighted_mean(values, &weights) else { return Some(precisions) };
        location = mean;
    }
    Some(weights)
}

/// The mean with these weights; `None` if they add up to nothing.
pub fn weighted_mean(values: &[f64], weights: &[f64]) -> Option<f64> {
    let total: f64 = weights.iter().sum();
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    (total > 0.0).then(|| sum / total)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;
    use statrs::distribution::ContinuousCDF;

    use super::*;
    use crate::between_runs::student;
    use crate::random::standard_normal;

    #[test]
    fn the_spread_follows_its_formula() {
        // Distances 2, 1, 0, 1, 2 with a median of 1: u is 2/9, 1/9 and 0.
        let squares: f64 = 2.0 * 4.0 * (77.0f64 / 81.0).powi(4) + 2.0 * (80.0f64 / 81.0).powi(4);
        let slope = 2.0 * (77.0 / 81.0) * (61.0 / 81.0) + 2.0 * (80.0 / 81.0) * (76.0 / 81.0) + 1.0;
        let expected = (5.0 * squares).sqrt() / slope;
        let found = spread(&[1.0, 2.0, 3.0, 4.0, 5.0], 3.0).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        assert_eq!([spread(&[1.0], 1.0), spread(&[4.0; 5], 4.0)], [None, Some(0.0)]);
    }

    #[test]
    fn disturbed_values_move_neither_spread_nor_location() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut values: Vec<f64> = (0..4_000).map(|_| standard_normal(&mut random)).collect();
        let clean = spread(&values, 0.0).unwrap();
        assert!((clean - 1.0).abs() < 0.04, "{clean}");
        values.extend([40.0; 200]);
        let disturbed = spread(&values, 0.0).unwrap();
        assert!((disturbed - 1.0).abs() < 0.08, "{disturbed}");
        let weights = weights(&values, &vec![1.0; values.len()]).unwrap();
        assert!(weights[4_000..].iter().all(|&weight| weight == 0.0));
        assert!(weighted_mean(&values, &weights).unwrap().abs() < 0.06);
    }

    #[test]
    fn a_value_is_as_far_from_the_others_as_student_says() {
        const SAMPLES: usize = 4_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
        for count in [4, 6, 8, 15] {
            let beyond = student(spread_degrees(count)).unwrap().inverse_cdf(0.9995);
            let mut found = 0;
            for _ in 0..SAMPLES {
                let values: Vec<f64> = (0..count).map(|_| standard_normal(&mut random)).collect();
                let centre = order::median_in_place(&mut values.clone()).unwrap();
                let size = count as f64;
                let reach =
                    beyond * spread(&values, centre).unwrap() * (size / (size - 0.8)).sqrt();
                found += values.iter().filter(|&value| (value - centre).abs() > reach).count();
            }
            // One in a thousand is expected; of six values, 3.5 if their degrees of freedom are those of
            // the efficiency.
            let share = found as f64 / (SAMPLES * count) as f64;
            assert!(share < 2.2e-3, "{count}: {share}");
        }
    }

    #[test]
    fn a_badly_known_value_does_not_draw_the_location_to_itself() {
        let values = [0.0, 0.001, -0.001, 0.002, -0.2];
        let deviations = [0.004, 0.004, 0.004, 0.004, 0.1];
        let weights = weights(&values, &deviations).unwrap();
        assert!(weights[..4].iter().all(|&weight| weight > 0.9), "{weights:?}");
        assert!(weights[4] < 0.002, "{weights:?}");
        assert!(weighted_mean(&values, &weights).unwrap().abs() < 0.001);
    }

    #[test]
    fn of_two_distant_values_neither_is_disturbed() {
        assert_eq!(weights(&[0.0, 100.0], &[1.0, 1.0]), Some(vec![1.0, 1.0]));
        assert_eq!(weights(&[], &[]), None);
        assert_eq!(weighted_mean(&[1.0], &[0.0]), None);
    }
}
