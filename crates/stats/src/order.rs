//! Order statistics of sorted values.

/// Sorts values in ascending order. They must not be NaN.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    debug_assert!(values.iter().all(|value| !value.is_nan()), "a measured value is NaN");
    let mut ordered = values.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    ordered
}

/// The median: the middle value, or the mean of the two middle values. `None` without values.
///
/// It is the estimate of every case, since fewer than half of the values being disturbed cannot
/// move it far (docs/explanation/METHOD.md, section 4).
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

/// The median of values in any order, which it reorders, in linear time. They must not be NaN. `None`
/// without values.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut above, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !is_even {
        return Some(above);
    }
    let below = below.iter().copied().max_by(f64::total_cmp)?;
    Some(below + (above - below) * 0.5)
}

/// The `p` quantile, for `p` from 0 (minimum) to 1 (maximum). `None` without values.
///
/// Type 7 of Hyndman and Fan (1996), the default of R and NumPy: linear interpolation between
/// values. [`quantile_reportable`] tells whether there are enough values to report it.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    debug_assert!((0.0..=1.0).contains(&p), "a share is between 0 and 1");
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let step = sorted[above] - sorted[below];
    Some(sorted[below] + (position - below as f64) * step)
}

/// The accepted probability, on each side, that a quantile lies beyond all values: half of the 5 %
/// of a two-sided 95 % interval.
const ONE_SIDED_ERROR: f64 = 0.025;

/// Whether `count` values can bound the quantile `p` from both sides with 95 % confidence.
///
/// All of `count` values fall on one side of it with probability `p^count`, or `(1-p)^count` on
/// the other. While the larger of the two exceeds 2.5 %, the quantile may lie beyond the largest
/// value, so it is not reported. Solved for the count, `ln 0.025 / ln p`: 6 for
/// p50, 36 for p90, 368 for p99, 3688 for p99.9.
pub fn quantile_reportable(count: usize, p: f64) -> bool {
    p.max(1.0 - p).powf(count as f64) <= ONE_SIDED_ERROR
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_median_of_an_even_list_is_the_mean_of_its_two_middle_values() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 10.0]), Some(2.5));
        assert_eq!(median(&[1.0, 2.0, 10.0]), Some(2.0));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_quantile_agrees_with_type_7_of_r() {
        // R: quantile(c(1, 2, 4, 8, 16), c(0, .1, .25, .9, 1), type = 7)
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (p, expected) in [(0.0, 1.0), (0.1, 1.4), (0.25, 2.0), (0.9, 12.8), (1.0, 16.0)] {
            let found = quantile(&values, p).unwrap();
            assert!((found - expected).abs() < 1e-12, "p = {p}: {found}, not {expected}");
        }
        assert_eq!(quantile(&[], 0.9), None);
    }

    #[test]
    fn a_quantile_is_reportable_from_the_count_that_bounds_it_on_both_sides() {
        for (p, enough) in [(0.5, 6), (0.9, 36), (0.1, 36), (0.99, 368), (0.999, 3688)] {
            assert!(quantile_reportable(enough, p), "p = {p}, n = {enough}");
            assert!(!quantile_reportable(enough - 1, p), "p = {p}, n = {}", enough - 1);
        }
        assert!(!quantile_reportable(1_000_000, 1.0), "the largest possible value is unbounded");
    }

    proptest! {
        #[test]
        fn sorting_does_not_depend_on_the_order_of_values(
            values in prop::collection::vec(-1e9..1e9, 0..50),
            rotation in 0usize..50,
        ) {
            let mut rotated = values.clone();
            rotated.rotate_left(rotation.min(values.len()));
            rotated.reverse();
            prop_assert_eq!(sorted(&values), sorted(&rotated));
            prop_assert_eq!(median(&sorted(&values)), median_in_place(&mut rotated));
        }

        #[test]
        fn a_quantile_lies_within_the_values_and_grows_with_its_share(
            values in prop::collection::vec(-1e9..1e9, 1..50),
            low in 0.0..=1.0f64,
            more in 0.0..=1.0f64,
        ) {
            let high = (low + more).min(1.0);
            let values = sorted(&values);
            let at_low = quantile(&values, low).unwrap();
            let at_high = quantile(&values, high).unwrap();
            let rounding = 1e-6;
            prop_assert!(at_low <= at_high + rounding);
            prop_assert!(values[0] <= at_low + rounding);
            prop_assert!(at_high <= values[values.len() - 1] + rounding);
        }
    }
}
