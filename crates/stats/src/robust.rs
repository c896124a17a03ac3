//! Robust measures of spread and location, reported as cross-checks and never used to reject
//! values.

use super::order;

/// The ratio of standard deviation to median absolute deviation of a normal distribution: the
/// inverse of its upper quartile.
const NORMAL_SD_PER_MAD: f64 = 1.482_602_218_505_602;

/// The robust standard deviation, in the unit of the values: 1.4826 times the median absolute
/// deviation from the median (Hampel 1974). `None` below two values.
///
/// Up to half of the values may be disturbed.
pub fn mad_sd(sorted: &[f64]) -> Option<f64> {
    if sorted.len() < 2 {
        return None;
    }
    let centre = order::median(sorted)?;
    let distances: Vec<f64> = sorted.iter().map(|value| (value - centre).abs()).collect();
    Some(NORMAL_SD_PER_MAD * order::median(&order::sorted(&distances))?)
}

/// The half-sample mode (Bickel and Frühwirth 2006), in the unit of the values. `None` without
/// values.
///
/// It repeatedly keeps the narrowest half of the values. It is immune to disturbance on one side,
/// but two and a half times as noisy as the median, so it only serves to check the median
/// (docs/explanation/METHOD.md, section 4).
///
/// Of equally narrow halves it keeps the middle one: a coarse clock produces many ties, and keeping
/// the first would bias the mode towards the lowest.
pub fn half_sample_mode(sorted: &[f64]) -> Option<f64> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let mut kept = sorted;
    loop {
        match *kept {
            [] => return None,
            [only] => return Some(only),
            [low, high] => return Some(f64::midpoint(low, high)),
            [low, middle, high] => {
                let (below, above) = (middle - low, high - middle);
                return Some(if below < above {
                    f64::midpoint(low, middle)
                } else if above < below {
                    f64::midpoint(middle, high)
                } else {
                    middle
                });
            }
            _ => kept = narrowest_half(kept),
        }
    }
}

/// The lower half-sample mode of counts that disturbances only raise, in the unit of the values.
/// `None` without values.
///
/// An interrupt adds its instructions to the count of an op and never removes any, so of equally
/// narrow halves the lower one is kept, and of two values the lower. The result is one of the
/// values.
pub fn lower_mode(sorted: &[f64]) -> Option<f64> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let mut kept = sorted;
    while kept.len() > 2 {
        kept = narrowest_halves(kept)[0];
    }
    kept.first().copied()
}

fn narrowest_half(sorted: &[f64]) -> &[f64] {
    let ties = narrowest_halves(sorted);
    ties[(ties.len() - 1) / 2]
}

/// The narrowest halves, the lowest first; at least one of two values or more.
fn narrowest_halves(sorted: &[f64]) -> Vec<&[f64]> {
    let half = sorted.len().div_ceil(2);
    let width = |values: &[f64]| values[half - 1] - values[0];
    let min_width = sorted.windows(half).map(width).fold(f64::INFINITY, f64::min);
    sorted.windows(half).filter(|values| width(values) == min_width).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lower_mode_of_counts_is_not_moved_by_interrupts() {
        for (values, mode) in [
            (&[305.0, 305.0, 305.0, 912.0, 4_000.0][..], 305.0),
            (&[305.0, 305.0, 912.0], 305.0),
            (&[305.0, 306.0, 912.0], 305.0),
            // Half of the batches were hit by the same interrupt.
            (&[305.0, 305.0, 912.0, 912.0], 305.0),
            (&[305.0, 912.0], 305.0),
            (&[305.0], 305.0),
        ] {
            assert_eq!(lower_mode(values), Some(mode), "{values:?}");
        }
        assert_eq!(lower_mode(&[]), None);
    }

    #[test]
    fn the_robust_sd_of_a_normal_sample_is_its_standard_deviation() {
        // The 999 quantiles of a distribution are a sample without sampling error: a logistic curve
        // with the quartiles of the standard normal distribution has its robust sd, 1.
        let upper_quartile = 0.674_489_750_196_081_7;
        let values: Vec<f64> = (1..1000)
            .map(|i| f64::from(i) / 1000.0)
            .map(|p| upper_quartile * (p / (1.0 - p)).ln() / 3f64.ln())
            .collect();
        assert!((mad_sd(&values).unwrap() - 1.0).abs() < 0.002);
    }

    #[test]
    fn one_value_has_no_spread_and_none_has_no_mode() {
        assert_eq!(mad_sd(&[]), None);
        assert_eq!(mad_sd(&[4.0]), None);
        assert_eq!(mad_sd(&[4.0, 4.0]), Some(0.0));
        assert_eq!(half_sample_mode(&[]), None);
        assert_eq!(half_sample_mode(&[4.0]), Some(4.0));
    }

    #[test]
    fn the_mode_is_where_values_are_dense_whatever_the_outliers() {
        let values = [9.0, 9.9, 10.0, 10.1, 11.0, 40.0, 90.0, 400.0];
        let mode = half_sample_mode(&values).unwrap();
        assert!((9.9..=10.1).contains(&mode), "{mode}");
    }

    #[test]
    fn the_mode_of_evenly_spaced_values_is_in_their_middle() {
        let values: Vec<f64> = (1..=101).map(f64::from).collect();
        let mode = half_sample_mode(&values).unwrap();
        assert!((mode - 51.0).abs() <= 3.0, "{mode}");
    }

    #[test]
    fn a_third_value_joins_the_nearer_of_its_neighbours() {
        assert_eq!(half_sample_mode(&[1.0, 2.0, 4.0]), Some(1.5));
        assert_eq!(half_sample_mode(&[1.0, 3.0, 4.0]), Some(3.5));
        assert_eq!(half_sample_mode(&[1.0, 2.0, 3.0]), Some(2.0));
    }

    proptest! {
        // Whole numbers and powers of two: no rounding, so ties stay ties.
        #[test]
        fn spread_and_mode_follow_a_change_of_unit_and_of_origin(
            values in prop::collection::vec(-1_000_000i32..1_000_000, 2..60),
            doublings in -8i32..8,
            shift in -1_000_000i32..1_000_000,
        ) {
            let scale = 2f64.powi(doublings);
            let before: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let before = order::sorted(&before);
            let moved = |value: f64| value * scale + f64::from(shift);
            let after: Vec<f64> = before.iter().copied().map(moved).collect();
            let mode = |values: &[f64]| half_sample_mode(values).unwrap();
            prop_assert_eq!(moved(mode(&before)), mode(&after));
            let (before, after) = (mad_sd(&before).unwrap(), mad_sd(&after).unwrap());
            prop_assert!((before * scale - after).abs() <= 1e-12 * after);
        }
    }
}
