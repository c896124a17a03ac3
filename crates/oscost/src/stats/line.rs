//! A straight line through measured points.

/// The slope of the least-squares line through points `(x, y)`, in units of `y` per unit of `x`.
///
/// The line has an intercept. One forced through the origin turns every fixed cost (the clock,
/// the loop, the call) into slope: measured at d, 2d, .. Nd with a fixed cost c it is too steep
/// by `3c / ((2N+1) d)` (docs/METHOD.md, section 2).
///
/// Both coordinates are taken relative to the first point and from there to their running means
/// (Welford 1962), so that a large common offset, a time stamp say, costs no digits. `None` with
/// fewer than two distinct `x`.
pub fn slope(mut points: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (first_x, first_y) = points.next()?;
    let mut count = 1.0;
    let (mut mean_x, mut mean_y) = (0.0, 0.0);
    let (mut sum_xx, mut sum_xy) = (0.0, 0.0);
    for (x, y) in points.map(|(x, y)| (x - first_x, y - first_y)) {
        count += 1.0;
        let from_old_mean = x - mean_x;
        mean_x += from_old_mean / count;
        mean_y += (y - mean_y) / count;
        sum_xx += from_old_mean * (x - mean_x);
        sum_xy += from_old_mean * (y - mean_y);
    }
    (sum_xx > 0.0).then(|| sum_xy / sum_xx)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fixed_cost_does_not_leak_into_the_slope() {
        let points = (1..=10).map(|n| (f64::from(n), 500.0 + 2.0 * f64::from(n)));
        assert!((slope(points).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_needs_two_distinct_places() {
        assert_eq!(slope([].into_iter()), None);
        assert_eq!(slope([(3.0, 1.0)].into_iter()), None);
        assert_eq!(slope([(0.1, 1.0), (0.1, 2.0), (0.1, 9.0)].into_iter()), None);
        assert_eq!(slope([(3.0, 1.0), (4.0, 3.0)].into_iter()), Some(2.0));
    }

    #[test]
    fn noise_is_weighed_by_least_squares() {
        // By hand: x about 2 is -1, 0, 1 and y is 1, 2, 6, so the slope is (6 - 1) / 2.
        assert_eq!(slope([(1.0, 1.0), (2.0, 2.0), (3.0, 6.0)].into_iter()), Some(2.5));
    }

    #[test]
    fn a_large_common_offset_costs_no_digits() {
        let nanoseconds_since_1970 = 1.7e18;
        let points =
            (0..1000).map(|i| f64::from(i) * 1024.0).map(|x| (nanoseconds_since_1970 + x, 3.0 * x));
        assert!((slope(points).unwrap() - 3.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_slope_follows_a_change_of_unit_and_of_origin_and_forgets_the_order(
            points in prop::collection::vec((0.0..1e3f64, -1e3..1e3f64), 2..40),
            scale in 0.1..10.0f64,
            shift in -1e3..1e3f64,
        ) {
            // Points that nearly share one x have a slope of any size, and rounding to match.
            let xs = points.iter().map(|point| point.0);
            let span = xs.clone().fold(f64::MIN, f64::max) - xs.fold(f64::MAX, f64::min);
            prop_assume!(span > 1.0);
            let before = slope(points.iter().copied()).unwrap();
            let moved = points.iter().rev().map(|(x, y)| (x * scale + shift, y + shift));
            let after = slope(moved).unwrap();
            prop_assert!((before / scale - after).abs() < 1e-5, "{} {}", before / scale, after);
        }
    }
}
