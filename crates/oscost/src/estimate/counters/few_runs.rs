//! The difference of the instructions of a few runs a side. The range of three to five values is no
//! interval: they agree by chance, the more often the fewer they are.

use oscost_stats::between_runs::RunDifference;
use oscost_stats::interval::Nominal;
use oscost_stats::moments;
use oscost_stats::student::Estimate;

/// The difference of the means of two sides, new minus base, each with at least two logarithms, by
/// Student's distribution with the deviation of each side (Welch 1947). A side that varies by less than
/// `least_sd` is taken to vary by that, with the degrees of freedom that it has: what other cases vary
/// by does not show how well its own deviation is known.
pub(super) fn difference_of_means(
    base: &[f64],
    new: &[f64],
    least_sd: f64,
) -> Option<RunDifference> {
    let difference = difference(base, new, least_sd)?;
    Some(RunDifference {
        value: difference.value,
        interval: difference.interval(Nominal::FIXED),
        p: difference.two_sided_p(),
        standard_error: difference.standard_error,
        degrees_of_freedom: difference.degrees_of_freedom,
    })
}

fn difference(base: &[f64], new: &[f64], least_sd: f64) -> Option<Estimate> {
    Some(mean(new, least_sd)?.minus(mean(base, least_sd)?))
}

fn mean(logs: &[f64], least_sd: f64) -> Option<Estimate> {
    let deviation = moments::standard_deviation(logs)?.max(least_sd);
    let count = logs.len() as f64;
    Some(Estimate {
        value: moments::mean(logs)?,
        standard_error: deviation / count.sqrt(),
        degrees_of_freedom: count - 1.0,
    })
}

#[cfg(test)]
mod tests {
    use oscost_model::seed::Seed;
    use oscost_stats::order;

    use super::*;

    const LEAST_SD: f64 = 0.0008;

    /// The sum of twelve uniform deviates approximates a normal deviate.
    fn normal(seed: &mut Seed) -> f64 {
        (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
    }

    fn runs(count: usize, mean: f64, sd: f64, seed: &mut Seed) -> Vec<f64> {
        (0..count).map(|_| mean + sd * normal(seed)).collect()
    }

    /// The p without the interval, which takes longer.
    fn p(base: &[f64], new: &[f64]) -> f64 {
        difference(base, new, LEAST_SD).unwrap().two_sided_p()
    }

    /// The p of the range of the values, widened by the deviation of other cases, with exponential
    /// tails: the control.
    fn p_by_range(base: &[f64], new: &[f64]) -> f64 {
        let [base, new] = [base, new].map(order::sorted);
        let value = order::median(&new).unwrap() - order::median(&base).unwrap();
        let toward_zero = match value > 0.0 {
            true => value - (new[0] - base[base.len() - 1]),
            false => new[new.len() - 1] - base[0] - value,
        };
        let others = 1.960 * (2.0 / base.len() as f64).sqrt() * LEAST_SD;
        0.05f64.powf(value.abs() / toward_zero.hypot(others))
    }

    #[test]
    fn equal_work_has_a_small_p_as_rarely_as_that_says_however_far_runs_differ() {
        const CASES: u32 = 20_000;
        const COUNTS: [usize; 4] = [3, 4, 5, 6];
        let mut seed = Seed::new(28);
        for sd in [0.0002, 0.0008, 0.002, 0.003, 0.004] {
            let (mut below, mut by_range) = ([0u32; 3], 0u32);
            for count in COUNTS {
                for _ in 0..CASES {
                    let base = runs(count, 0.0, sd, &mut seed);
                    let new = runs(count, 0.0, sd, &mut seed);
                    let p = p(&base, &new);
                    let levels = [0.05, 0.001, 0.0001];
                    below.iter_mut().zip(levels).for_each(|(it, at)| *it += u32::from(p < at));
                    by_range += u32::from(count == 3 && p_by_range(&base, &new) < 0.001);
                }
            }
            let [twentieth, thousandth, ten_thousandth] = below;
            // Of 80,000: 4,000, 80 and 8, and three deviations of chance.
            assert!(twentieth < 4_200, "{sd}: {twentieth}");
            assert!(thousandth < 107, "{sd}: {thousandth}");
            assert!(ten_thousandth < 17, "{sd}: {ten_thousandth}");
            // The control has them several times too often, of 20,000 with three runs a side.
            assert!(sd < 0.003 || by_range > 60, "{sd}: {by_range}");
        }
    }

    #[test]
    fn work_that_varies_on_one_side_only_has_at_most_twice_as_many_small_p() {
        const CASES: u32 = 20_000;
        let mut seed = Seed::new(29);
        for count in [3, 4, 5, 6] {
            let mut below = 0;
            for _ in 0..CASES {
                let base = runs(count, 0.0, 0.0002, &mut seed);
                let new = runs(count, 0.0, 0.003, &mut seed);
                below += u32::from(p(&base, &new) < 0.001);
            }
            // Twice 20, and three deviations of chance.
            assert!(below < 60, "{count}: {below}");
        }
    }

    #[test]
    fn one_per_cent_is_found_among_ninety_rows_by_three_runs_a_side_that_repeat() {
        const CASES: u32 = 2_000;
        let mut seed = Seed::new(30);
        // The only change among 90 rows.
        let level = 0.05 / 90.0;
        let mut share = |count: usize, sd: f64| {
            let is_found = |_| {
                let base = runs(count, 0.0, sd, &mut seed);
                let new = runs(count, 0.01f64.ln_1p(), sd, &mut seed);
                p(&base, &new) < level
            };
            f64::from((0..CASES).map(is_found).filter(|it| *it).count() as u32) / f64::from(CASES)
        };
        for count in [3, 4, 5, 6] {
            let found = share(count, 0.0003);
            assert!(found > 0.99, "{count}: {found}");
        }
        for (count, at_least) in [(3, 0.7), (4, 0.95), (5, 0.95), (6, 0.95)] {
            let found = share(count, 0.0008);
            assert!(found > at_least, "{count}: {found}");
        }
    }

    #[test]
    fn runs_that_agree_to_the_last_digit_have_the_deviation_of_other_cases() {
        let found = difference_of_means(&[6.0; 3], &[6.002; 3], LEAST_SD).unwrap();
        assert!((found.value - 0.002).abs() < 1e-12, "{found:?}");
        assert!((found.standard_error / (LEAST_SD * (2.0 / 3.0f64).sqrt()) - 1.0).abs() < 1e-9);
        assert!((found.degrees_of_freedom - 4.0).abs() < 1e-9, "{found:?}");
        // 2.776 standard errors.
        assert!((found.interval.lo - (0.002 - 0.001_813)).abs() < 1e-5, "{found:?}");
        assert!(0.01 < found.p && found.p < 0.05, "{found:?}");
        assert_eq!(difference_of_means(&[6.0], &[6.0; 3], LEAST_SD), None);
    }
}
