//! Confidence intervals of a median, from order statistics. They assume independent values of one
//! distribution, but nothing about its shape.

/// Half of an interval of 95 % in standard errors of a normal distribution.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// A closed interval, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end, never below `lo`.
    pub hi: f64,
}

impl Interval {
    /// Half of the distance between the ends, in the unit of the values.
    pub fn half_width(&self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    /// Whether `x` lies between the ends or on one of them.
    pub fn contains(&self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }
}

/// A nominal confidence level, from 0 to 1.
///
/// The constants are the levels of the method. [`FIXED`](Self::FIXED) and
/// [`ADAPTIVE`](Self::ADAPTIVE) depend on how the number of repetitions was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nominal(f64);

impl Nominal {
    /// 95 %, for a number of repetitions that was fixed beforehand, without interim looks.
    pub const FIXED: Self = Self(0.95);

    /// 96.5 %, for [`AdaptiveStopping`](super::stopping::AdaptiveStopping), where it covers the
    /// true median in 95 % of runs.
    ///
    /// A rule that stops when the interval is narrow prefers runs where it is narrow by chance. In
    /// simulations of five distributions and three goals, nominal 95 % intervals cover the truth in
    /// 93 to 95 % after two consecutive narrow looks, those of 96.5 % in 95 to 97 %
    /// (docs/explanation/METHOD.md, section 3).
    pub const ADAPTIVE: Self = Self(0.965);

    /// 90 %, for an equivalence test by two one-sided tests at 5 %.
    pub const EQUIVALENCE: Self = Self(0.90);

    /// The level of a run from its record: `ADAPTIVE` for a level above 95 %, otherwise `FIXED`.
    pub fn from_run_level(share: f64) -> Self {
        if share > Self::FIXED.0 { Self::ADAPTIVE } else { Self::FIXED }
    }

    /// The level for each of `count` intervals that are to hold simultaneously at this level
    /// (Bonferroni correction).
    #[must_use]
    pub fn bonferroni(self, count: usize) -> Self {
        Self(1.0 - (1.0 - self.0) / count.max(1) as f64)
    }

    /// The level for each of `count` intervals of which `discoveries` were made by the procedure of
    /// Benjamini and Hochberg at what this level leaves (of 95 %: 5 %): an interval then excludes no
    /// effect if and only if it is one of them (Benjamini and Yekutieli 2005).
    #[must_use]
    pub fn corrected(self, discoveries: usize, count: usize) -> Self {
        let share = discoveries.max(1) as f64 / count.max(1) as f64;
        Self(1.0 - (1.0 - self.0) * share)
    }

    /// The level, from 0 to 1.
    pub fn share(self) -> f64 {
        self.0
    }
}

/// The exact interval of a median: the innermost symmetric pair of order statistics that covers the
/// median with at least the nominal probability. `None` below six values (at 95 %).
///
/// It is exact for every continuous distribution, but its coverage comes in steps: with ten values
/// the 95 % interval covers 97.9 %.
pub fn median_exact(sorted: &[f64], nominal: Nominal) -> Option<Interval> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let n = sorted.len();
    let Ranks { k, .. } = Ranks::for_level(nominal, n)?;
    Some(Interval { lo: sorted[k - 1], hi: sorted[n - k] })
}

/// The reported interval of a median: the exact interval, interpolated to the nominal coverage by
/// the method of Hettmansperger and Sheather (1986). `None` below six values (at 95 %).
///
/// The interpolation is exact for the Laplace distribution, and within one percentage point of the
/// nominal 95 % for the distributions of costs, from six values on (docs/explanation/METHOD.md,
/// section 4).
pub fn median_hs(sorted: &[f64], nominal: Nominal) -> Option<Interval> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let n = sorted.len();
    let MedianRanks { outer: k, inward } = MedianRanks::of(nominal, n)?;
    // From the outer value, so that equal neighbours give exactly their value.
    let between = |outer: f64, inner: f64| outer + inward * (inner - outer);
    Some(Interval {
        lo: between(sorted[k - 1], sorted[k]),
        hi: between(sorted[n - k], sorted[n - k - 1]),
    })
}

/// The values that an end of [`median_hs`] lies between.
pub(crate) struct MedianRanks {
    /// The rank of the outer one, counted from 1.
    pub(crate) outer: usize,
    /// How far the end lies from it towards the next one, from 0 to 1.
    pub(crate) inward: f64,
}

impl MedianRanks {
    /// Those of `n` values; `None` if they are too few for the level.
    pub(crate) fn of(nominal: Nominal, n: usize) -> Option<Self> {
        let Ranks { k, coverage, coverage_inside } = Ranks::for_level(nominal, n)?;
        let excess = (coverage - nominal.0) / (coverage - coverage_inside);
        let (from_end, to_middle) = (k as f64, (n - 2 * k) as f64);
        let inward = (n - k) as f64 * excess / (from_end + to_middle * excess);
        Some(Self { outer: k, inward })
    }
}

/// The `k`-th values from both ends, counted from 1, and their coverage.
struct Ranks {
    k: usize,
    /// The probability that the median lies between the values of rank `k`.
    coverage: f64,
    /// The same for rank `k + 1`; below the nominal probability.
    coverage_inside: f64,
}

impl Ranks {
    /// The largest `k` that reaches the nominal probability for `n` values; `None` if none does.
    ///
    /// Each value is below the median with probability 1/2, so the pair of rank `k` covers the
    /// median with the probability of `k` to `n-k` heads in `n` tosses of a coin. The sum starts at
    /// the centre: `2^-n`, the first term of the tail, is zero from n = 1075 on, which would
    /// silently give a far too narrow interval.
    fn for_level(nominal: Nominal, n: usize) -> Option<Self> {
        let mut k = n / 2;
        // The central term C(n, n/2) / 2^n as (1/2)(3/4)(5/6)...: an odd n shares that of n + 1.
        let mut heads_k: f64 = (1..=n.div_ceil(2)).map(|i| 1.0 - 0.5 / i as f64).product();
        // An odd n has two likeliest numbers of heads, k and k + 1.
        let mut coverage = if n.is_multiple_of(2) { heads_k } else { 2.0 * heads_k };
        let mut coverage_inside = 0.0;
        while coverage < nominal.0 && k > 0 {
            heads_k *= k as f64 / (n - k + 1) as f64;
            k -= 1;
            coverage_inside = coverage;
            coverage += 2.0 * heads_k;
        }
        (k > 0).then_some(Self { k, coverage, coverage_inside })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::order;
    use super::*;

    const BOTH: [Nominal; 2] = [Nominal::FIXED, Nominal::ADAPTIVE];

    /// The number of outcomes of `n` tosses with `k` to `n - k` heads, by Pascal's triangle.
    fn outcomes(n: usize, k: usize) -> u64 {
        let mut row = vec![1u64];
        for _ in 0..n {
            row = (0..=row.len())
                .map(|i| row.get(i).unwrap_or(&0) + i.checked_sub(1).map_or(0, |left| row[left]))
                .collect();
        }
        (k..=n.saturating_sub(k)).map(|heads| row[heads]).sum()
    }

    #[test]
    fn the_ranks_agree_with_pascals_triangle_up_to_fifty_values() {
        for nominal in BOTH {
            for n in 0..=50 {
                let share = |k| outcomes(n, k) as f64 / 2f64.powi(n as i32);
                let expected = (1..=n.div_ceil(2)).rev().find(|&k| share(k) >= nominal.share());
                let ranks = Ranks::for_level(nominal, n);
                assert_eq!(ranks.as_ref().map(|ranks| ranks.k), expected, "n = {n}");
                if let Some(Ranks { k, coverage, coverage_inside }) = ranks {
                    assert!((coverage - share(k)).abs() < 1e-14, "n = {n}");
                    assert!((coverage_inside - share(k + 1)).abs() < 1e-14, "n = {n}");
                }
            }
        }
    }

    #[test]
    fn six_values_are_the_minimum_for_an_interval() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        for nominal in BOTH {
            assert_eq!(median_exact(&values, nominal), Some(Interval { lo: 1.0, hi: 6.0 }));
            assert!(median_hs(&values, nominal).is_some());
            for fewer in 0..6 {
                assert_eq!(median_exact(&values[..fewer], nominal), None);
                assert_eq!(median_hs(&values[..fewer], nominal), None);
            }
        }
    }

    #[test]
    fn ten_values_give_the_interpolated_interval_worked_out_by_hand() {
        // Of 1024 outcomes 1002 lie between the values of rank 2, 912 between those of rank 3, so
        // the excess over 95 %, which is 972.8 outcomes, is 29.2 / 90 of the step between them.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = median_hs(&values, Nominal::FIXED).unwrap();
        let inward = 8.0 * 29.2 / (2.0 * 90.0 + 6.0 * 29.2);
        assert!((found.lo - (2.0 + inward)).abs() < 1e-12, "{found:?}");
        assert!((found.hi - (9.0 - inward)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let found = median_hs(&[0.1; 11], Nominal::ADAPTIVE);
        assert_eq!(found, Some(Interval { lo: 0.1, hi: 0.1 }));
        assert_eq!(found.map(|interval| interval.half_width()), Some(0.0));
    }

    proptest! {
        #[test]
        fn an_interval_contains_the_median_and_the_exact_one_contains_the_interpolated_one(
            values in prop::collection::vec(-1e9..1e9, 6..200),
        ) {
            let values = order::sorted(&values);
            let median = order::median(&values).unwrap();
            for nominal in BOTH {
                let exact = median_exact(&values, nominal).unwrap();
                let hs = median_hs(&values, nominal).unwrap();
                prop_assert!(hs.contains(median));
                prop_assert!(exact.contains(hs.lo) && exact.contains(hs.hi));
            }
        }

        #[test]
        fn more_confidence_is_never_narrower(values in prop::collection::vec(-1e9..1e9, 6..200)) {
            let values = order::sorted(&values);
            let [fixed, adaptive] = BOTH.map(|nominal| median_hs(&values, nominal).unwrap());
            prop_assert!(adaptive.half_width() >= fixed.half_width() - 1e-5);
        }

        #[test]
        fn an_interval_follows_a_change_of_unit_and_of_origin(
            values in prop::collection::vec(-1e6..1e6, 6..60),
            scale in 1e-3..1e3f64,
            shift in -1e6..1e6f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
            let before = median_hs(&order::sorted(&values), Nominal::FIXED).unwrap();
            let after = median_hs(&order::sorted(&moved), Nominal::FIXED).unwrap();
            // Rounding at the largest number that occurs here, 1e9.
            prop_assert!((before.lo * scale + shift - after.lo).abs() < 1e-5);
            prop_assert!((before.hi * scale + shift - after.hi).abs() < 1e-5);
        }

        #[test]
        fn the_ranks_of_many_values_agree_with_the_normal_approximation(n in 100usize..50_000) {
            let Ranks { k, .. } = Ranks::for_level(Nominal::FIXED, n).unwrap();
            let normal = n as f64 / 2.0 - 1.96 * (n as f64).sqrt() / 2.0;
            prop_assert!((k as f64 - normal).abs() <= 1.0, "k = {}, normal {}", k, normal);
        }
    }
}
