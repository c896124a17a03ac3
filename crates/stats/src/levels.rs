//! Two levels: repetitions that come from two heaps instead of around one value, such as workers
//! that ran with and without a neighbour on their core.

use super::{moments, order};

/// Levels closer than this, as a difference of logarithms, are not reported: an interval around one
/// value describes them well.
const MIN_DISTANCE: f64 = 0.1;

/// Each level needs this many values: one alone is an outlier.
const MIN_VALUES: usize = 2;

/// Two levels of logarithms of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevels {
    /// The median of the values of the lower level.
    pub low: f64,
    /// The number of values of the lower level.
    pub low_count: usize,
    /// The median of the values of the higher level.
    pub high: f64,
    /// The number of values of the higher level.
    pub high_count: usize,
}

/// The two levels of these sorted logarithms; `None` if they are around one value, or fewer than
/// six.
///
/// The values are split where the gap between neighbours is largest compared with the pooled
/// standard deviation on both sides. There are two levels if the gap is 36/n of these deviations and
/// at least 3. Six to sixty values of one normal or t distribution have such a gap in 2 to 4 of 100
/// samples, those of an exponential one in 5 to 7.
pub fn two_levels(sorted: &[f64]) -> Option<TwoLevels> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let count = sorted.len();
    if count < 3 * MIN_VALUES {
        return None;
    }
    let squares = |values: &[f64]| {
        let mean = moments::mean(values).unwrap_or(0.0);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let needed = (36.0 / count as f64).max(3.0);
    let is_split = |&at: &usize| {
        let (low, high) = sorted.split_at(at);
        let deviation = ((squares(low) + squares(high)) / (count - 2) as f64).sqrt();
        high[0] - low[at - 1] > needed * deviation
    };
    let gap = |at: &usize| sorted[*at] - sorted[at - 1];
    let split = (MIN_VALUES..=count - MIN_VALUES)
        .filter(is_split)
        .max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
    let (low, high) = sorted.split_at(split);
    let levels = TwoLevels {
        low: order::median(low)?,
        low_count: low.len(),
        high: order::median(high)?,
        high_count: high.len(),
    };
    (levels.high - levels.low >= MIN_DISTANCE).then_some(levels)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    fn logs(values: &[f64]) -> Vec<f64> {
        order::sorted(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
    }

    #[test]
    fn workers_of_two_heaps_have_two_levels() {
        // getppid on a shared guest, in nanoseconds.
        let found = two_levels(&logs(&[307.0, 195.0, 319.0, 191.0, 304.0, 197.0])).unwrap();
        assert_eq!((found.low_count, found.high_count), (3, 3));
        assert!((found.low.exp() - 195.0).abs() < 1e-9 && (found.high.exp() - 307.0).abs() < 1e-9);
    }

    #[test]
    fn an_outlier_a_small_step_and_a_wide_spread_are_no_levels() {
        for values in [
            [3.84, 4.08, 4.07, 4.03, 3.92, 14.2],
            [100.0, 100.1, 100.2, 103.0, 103.1, 103.2],
            [100.0, 120.0, 140.0, 165.0, 200.0, 240.0],
        ] {
            assert_eq!(two_levels(&logs(&values)), None, "{values:?}");
        }
        assert_eq!(two_levels(&logs(&[1.0, 1.0, 2.0, 2.0, 2.0])), None);
        assert_eq!(two_levels(&[0.0; 9]), None);
    }

    #[test]
    fn values_around_one_value_rarely_have_two_levels_and_those_of_two_heaps_mostly() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut uniform = move || ((random.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53);
        let mut normal =
            move || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        for count in [6, 15, 30] {
            let mut share = |distance: f64| {
                let found = (0..2_000).filter(|_| {
                    // The heap of a worker is random, as on a machine.
                    let values: Vec<f64> = (0..count)
                        .map(|_| 0.05 * normal() + if normal() > 0.0 { distance } else { 0.0 })
                        .collect();
                    two_levels(&order::sorted(&values)).is_some()
                });
                found.count() as f64 / 2_000.0
            };
            let (one, two) = (share(0.0), share(0.6));
            assert!(one <= 0.03, "{count} values around one: {one}");
            assert!(two >= if count == 6 { 0.5 } else { 0.9 }, "{count} values of two: {two}");
        }
    }
}
