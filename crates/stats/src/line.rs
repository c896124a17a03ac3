//! A straight line through measured points.

/// The slope of the least-squares line through points `(x, y)`, in units of `y` per unit of `x`.
///
/// `None` with fewer than two distinct `x`.
///
/// The line has an intercept. A line through the origin would add fixed costs (clock, loop, call)
/// to the slope: for x = d, 2d, .. Nd and a fixed cost c it is too steep by `3c / ((2N+1) d)`
/// (docs/explanation/METHOD.md, section 2).
///
/// Sums are relative to the first point and to running means (Welford 1962), so a large common
/// offset, such as a time stamp, costs no precision.
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

/// The slope through integer points, computed exactly before the final division: sets of points on
/// lines of the same slope give the same number to the last bit, whatever their intercepts. `None`
/// with fewer than two distinct `x`, or on overflow of 128 bits.
pub fn slope_of_counts(mut points: impl Iterator<Item = (u64, i64)>) -> Option<f64> {
    let (first_x, first_y) = points.next()?;
    let (mut count, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (1i128, 0, 0, 0, 0);
    for (x, y) in points {
        let x = i128::from(x) - i128::from(first_x);
        let y = i128::from(y) - i128::from(first_y);
        (count, sum_x, sum_y) = (count + 1, sum_x + x, sum_y + y);
        // No batch is this large, but a file may contain any number.
        sum_xx = x.checked_mul(x)?.checked_add(sum_xx)?;
        sum_xy = x.checked_mul(y)?.checked_add(sum_xy)?;
    }
    let over = |xy: i128, x: i128, y: i128| count.checked_mul(xy)?.checked_sub(x.checked_mul(y)?);
    let (rise, run) = (over(sum_xy, sum_x, sum_y)?, over(sum_xx, sum_x, sum_x)?);
    if run <= 0 {
        return None;
    }
    // Equal slopes have the same lowest terms.
    let common = greatest_common_divisor(rise.unsigned_abs(), run.unsigned_abs());
    let common = i128::try_from(common).ok()?;
    Some((rise / common) as f64 / (run / common) as f64)
}

fn greatest_common_divisor(mut one: u128, mut other: u128) -> u128 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fixed_cost_does_not_change_the_slope() {
        let points = (1..=10).map(|n| (f64::from(n), 500.0 + 2.0 * f64::from(n)));
        assert!((slope(points).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn counts_on_lines_of_one_slope_have_the_same_slope_to_the_last_bit() {
        for (rise, expected) in [(324, 324.0), (12_925, 12_925.0), (0, 0.0), (-3, -3.0)] {
            for fixed in [0, 7, 911, 1 << 50] {
                let points = [1u64, 2, 5, 9, 16].map(|n| (n, fixed + rise * n as i64));
                assert_eq!(slope_of_counts(points.into_iter()), Some(expected));
            }
        }
        // A third of an instruction, at two intercepts.
        let third = |fixed: i64| slope_of_counts([(3, fixed), (6, fixed + 1)].into_iter());
        assert_eq!((third(10), third(9_999_999_999)), (Some(1.0 / 3.0), Some(1.0 / 3.0)));
        assert_eq!(slope_of_counts([(4, 1), (4, 2)].into_iter()), None);
        assert_eq!(slope_of_counts([(0, i64::MIN), (u64::MAX, i64::MAX)].into_iter()), None);
        assert_eq!(slope_of_counts([].into_iter()), None);
    }

    #[test]
    fn a_line_needs_two_distinct_x() {
        assert_eq!(slope([].into_iter()), None);
        assert_eq!(slope([(3.0, 1.0)].into_iter()), None);
        assert_eq!(slope([(0.1, 1.0), (0.1, 2.0), (0.1, 9.0)].into_iter()), None);
        assert_eq!(slope([(3.0, 1.0), (4.0, 3.0)].into_iter()), Some(2.0));
    }

    #[test]
    fn noise_is_averaged_by_least_squares() {
        // By hand: x about 2 is -1, 0, 1 and y is 1, 2, 6, so the slope is (6 - 1) / 2.
        assert_eq!(slope([(1.0, 1.0), (2.0, 2.0), (3.0, 6.0)].into_iter()), Some(2.5));
    }

    #[test]
    fn a_large_common_offset_costs_no_precision() {
        let nanoseconds_since_1970 = 1.7e18;
        let points =
            (0..1000).map(|i| f64::from(i) * 1024.0).map(|x| (nanoseconds_since_1970 + x, 3.0 * x));
        assert!((slope(points).unwrap() - 3.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_slope_scales_with_units_and_does_not_depend_on_origin_or_order(
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
