//! Comparison of counts, of machines that repeat themselves to the last instruction
//! (docs/explanation/METHOD.md, section 16).
//!
//! Such figures have no sampling error, so no statistics are applied: if both sides are exact, the
//! difference is one of whole numbers; if one is not, the ranges of both are all that is known.

use oscost_model::record::{AddedCost, Comparison, Ratio, Row};

use super::rows::{IndexedRow, PRIMARY, RunRow, calls_differ, is_cost};
use super::verdict::Verdict;
use oscost_stats::order;

/// The highest probability of a separation by chance at which a verdict is given.
const MAX_CHANCE: f64 = 0.05;

/// The counts of one side.
#[derive(Debug)]
pub(super) struct CountSide {
    /// Ascending, and not empty.
    values: Vec<f64>,
    /// The same, worker by worker; `None` for a lost worker.
    workers: Vec<Option<f64>>,
    exact: bool,
    rows: u32,
}

impl CountSide {
    /// The repetitions of a side's rows; `None` if they have none.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<Self> {
        let rows: Vec<&Row> = rows.collect();
        let workers = rows.iter().flat_map(|row| row.repetitions.iter().map(|it| it.value));
        let workers: Vec<Option<f64>> = workers.collect();
        let values = order::sorted(&workers.iter().copied().flatten().collect::<Vec<_>>());
        let all_exact = rows.iter().all(|row| row.estimate.as_ref().is_some_and(|it| it.exact));
        // Runs may be exact and still differ from each other.
        let exact = all_exact && values.first()? == values.last()?;
        Some(Self { values, workers, exact, rows: rows.len() as u32 })
    }

    fn min(&self) -> f64 {
        self.values[0]
    }

    fn max(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    fn width(&self) -> f64 {
        self.max() - self.min()
    }

    fn median(&self) -> f64 {
        order::median(&self.values).unwrap_or(f64::NAN)
    }

    /// Whether each worker of one side has the count of the corresponding worker of the other: with
    /// at least two workers, since one proves little, and none lost.
    fn repeats(&self, other: &CountSide) -> bool {
        let is_complete = self.workers.iter().all(Option::is_some);
        is_complete && self.values.len() > 1 && self.workers == other.workers
    }

    /// Whether ratios can be formed with all values.
    fn is_cost(&self) -> bool {
        self.values.iter().all(|&value| is_cost(value))
    }
}

/// The difference between two sides.
#[derive(Debug, PartialEq)]
pub(super) struct CountComparison {
    ratio: Ratio,
    /// New minus base.
    added: f64,
    /// The bounds of that difference.
    added_bounds: [f64; 2],
    p: f64,
    verdict: Verdict,
    mde_pct: Option<f64>,
    pairs: u32,
    /// Whether only ranges could be compared.
    by_range: bool,
}

/// Compares two sides; `None` if they differ and have no ratio, since one is 0 or less.
pub(super) fn compare_counts(base: &CountSide, new: &CountSide) -> Option<CountComparison> {
    let exact = base.exact && new.exact;
    let (from, to) = (base.median(), new.median());
    // Boots repeat themselves worker by worker: if a timer tick makes the third worker of one boot
    // inexact, it does so in the third worker of every boot.
    let alike = base.repeats(new);
    let equal = alike || exact && from == to;
    let has_ratio = base.is_cost() && new.is_cost();
    if !equal && !has_ratio {
        return None;
    }
    let bounds = match alike {
        true => [0.0; 2],
        false => [new.min() - base.max(), new.max() - base.min()],
    };
    // Three values beyond three others are not rare: the gap must be wider than either side. For
    // exact sides that is any difference.
    let width = base.width().max(new.width());
    let chance = chance_of_separation(base.values.len(), new.values.len());
    let has_gap = bounds[0] > width || bounds[1] < -width;
    let separated = has_gap && (exact || chance <= MAX_CHANCE);
    let verdict = match separated {
        _ if equal => Verdict::Equivalent,
        true if to > from => Verdict::Larger,
        true => Verdict::Smaller,
        false => Verdict::Inconclusive,
    };
    let p = match separated {
        true if exact => 0.0,
        true => chance,
        false => 1.0,
    };
    let ratio = match equal {
        // Also if both are 0.
        true => Ratio { value: 1.0, ci95: Some([1.0; 2]) },
        false => {
            Ratio { value: to / from, ci95: Some([new.min() / base.max(), new.max() / base.min()]) }
        }
    };
    let pairs = match (base.rows, new.rows) {
        (1, 1) => base.values.len().min(new.values.len()) as u32,
        (base, new) => base.min(new),
    };
    Some(CountComparison {
        ratio,
        added: to - from,
        added_bounds: bounds,
        p,
        verdict,
        mde_pct: exact.then_some(0.0),
        pairs,
        by_range: !exact && !alike,
    })
}

/// The probability that all values of one side are beyond all values of the other if the sides do
/// not differ: two of all possible orders.
fn chance_of_separation(base: usize, new: usize) -> f64 {
    let orders = (1..=base).fold(1.0, |all, nth| all * (new + nth) as f64 / nth as f64);
    (2.0 / orders).min(1.0)
}

impl CountComparison {
    /// The record of the comparison of these rows.
    pub(super) fn comparison(
        self,
        base: IndexedRow<'_>,
        new: IndexedRow<'_>,
        design: &str,
        span_s: f64,
    ) -> Comparison {
        let mut flags = Vec::new();
        if calls_differ(base.row, new.row) {
            flags.push("CALLS_DIFFER".to_owned());
        }
        if self.by_range {
            flags.push("NOT_EXACT".to_owned());
        }
        let ci95 = Some(self.added_bounds);
        Comparison {
            case: base.row.case.clone(),
            metric: PRIMARY.to_owned(),
            base: base.index,
            new: new.index,
            design: design.to_owned(),
            pairs: self.pairs,
            span_s,
            ratio: self.ratio,
            added: AddedCost { value: self.added, ci95, unit: base.row.unit },
            p: self.p,
            // Not corrected for the number of rows: an exact difference is never due to chance, and
            // each of the others is judged alone.
            q: self.p,
            verdict: self.verdict.text(base.row.better).to_owned(),
            mde_pct: self.mde_pct,
            ties: 0,
            added_cycles: None,
            monitor_events_per_op: None,
            decomposition: None,
            control: false,
            flags,
        }
    }
}

/// Why the counts of two runs cannot be compared: another emulator, processor, memory size or
/// worker takes other instructions for the same work. Another kernel or kernel command line is what
/// is compared.
pub(super) fn count_difference(base: RunRow<'_>, new: RunRow<'_>) -> Option<String> {
    let vm = |it: RunRow<'_>| it.machine().and_then(|machine| machine.vm.clone());
    let (Some(one), Some(other)) = (vm(base), vm(new)) else {
        return Some("one side does not record how its machine was booted".to_owned());
    };
    let memory = |mib: u32| format!("{mib} MiB of memory");
    for (what, base, new) in [
        ("another emulator", one.emulator, other.emulator),
        ("another kind of emulation", one.accel, other.accel),
        ("another CPU", one.cpu, other.cpu),
        ("another machine", memory(one.mem_mib), memory(other.mem_mib)),
    ] {
        if base != new {
            return Some(format!("{what}: {base} and {new}"));
        }
    }
    (base.run.tool.worker.hash != new.run.tool.worker.hash).then(|| {
        "another build of the worker: differences of a few instructions may be its own".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn side(values: &[f64], exact: bool) -> CountSide {
        let workers = values.iter().copied().map(Some).collect();
        CountSide { values: order::sorted(values), workers, exact, rows: 1 }
    }

    fn exactly(value: f64) -> CountSide {
        side(&[value; 3], true)
    }

    #[test]
    fn a_difference_of_one_instruction_is_found_with_its_sign() {
        let found = compare_counts(&exactly(12_925.0), &exactly(12_926.0)).unwrap();
        assert_eq!(found.verdict, Verdict::Larger);
        assert_eq!((found.added, found.added_bounds), (1.0, [1.0, 1.0]));
        assert_eq!((found.p, found.mde_pct, found.pairs), (0.0, Some(0.0), 3));
        let found = compare_counts(&exactly(12_926.0), &exactly(12_925.0)).unwrap();
        assert_eq!((found.verdict, found.added), (Verdict::Smaller, -1.0));
    }

    #[test]
    fn equal_counts_are_equivalent_even_if_they_are_zero() {
        for value in [324.0, 1.0 / 3.0, 0.0, -2.0] {
            let found = compare_counts(&exactly(value), &exactly(value)).unwrap();
            assert_eq!(
                (found.verdict, found.ratio.value, found.p),
                (Verdict::Equivalent, 1.0, 1.0)
            );
        }
        assert_eq!(compare_counts(&exactly(0.0), &exactly(1.0)), None, "there is no ratio to 0");
    }

    #[test]
    fn inexact_counts_are_compared_by_their_ranges() {
        let wide = side(&[320.0, 322.0, 324.0, 325.0, 331.0], false);
        let alike = |value: f64| side(&[value; 5], true);
        let found = compare_counts(&wide, &alike(343.0)).unwrap();
        assert_eq!(found.verdict, Verdict::Larger);
        assert_eq!((found.added, found.added_bounds), (19.0, [12.0, 23.0]));
        assert_eq!((found.by_range, found.mde_pct), (true, None));
        assert!(
            (found.p - 2.0 / 252.0).abs() < 1e-12,
            "two of the orders of ten values: {}",
            found.p
        );
        let found = compare_counts(&wide, &alike(342.0)).unwrap();
        assert_eq!((found.verdict, found.p), (Verdict::Inconclusive, 1.0));
        let few = compare_counts(&wide, &side(&[900.0; 3], false)).unwrap();
        assert_eq!(few.verdict, Verdict::Larger, "two of the orders of eight values are rare");
        let fewer =
            compare_counts(&side(&[320.0, 331.0], false), &side(&[900.0; 2], false)).unwrap();
        assert_eq!(
            fewer.verdict,
            Verdict::Inconclusive,
            "two of the orders of four values are not"
        );
        let lost = side(&[324.0; 2], false);
        let found = compare_counts(&lost, &exactly(324.0)).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive, "a repetition of it was lost");
    }

    #[test]
    fn counts_that_repeat_from_boot_to_boot_are_equal_even_if_they_vary_within_a_boot() {
        let (one, other) = ([320.0, 322.0, 331.0], [320.0, 331.0, 322.0]);
        let found = compare_counts(&side(&one, false), &side(&one, false)).unwrap();
        assert_eq!(found.verdict, Verdict::Equivalent);
        assert_eq!((found.added, found.added_bounds), (0.0, [0.0; 2]));
        assert_eq!((found.by_range, found.p, found.ratio.value), (false, 1.0, 1.0));
        assert_eq!(found.mde_pct, None, "an effect within the range would not have been detected");
        let found = compare_counts(&side(&one, false), &side(&other, false)).unwrap();
        assert_eq!((found.verdict, found.by_range), (Verdict::Inconclusive, true));
        let single = || side(&[320.0], false);
        assert_eq!(compare_counts(&single(), &single()).unwrap().verdict, Verdict::Inconclusive);
        let lost = CountSide { workers: vec![Some(320.0), None, Some(331.0)], ..side(&one, false) };
        let found = compare_counts(&lost, &side(&one, false)).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        let found = compare_counts(&lost, &lost).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive, "the lost repetition may have differed");
    }

    fn any_side() -> impl Strategy<Value = CountSide> {
        let exact = (1u32..1_000).prop_map(|value| exactly(value.into()));
        let wide = proptest::collection::vec(1u32..1_000, 2..6)
            .prop_map(|values| side(&values.into_iter().map(f64::from).collect::<Vec<_>>(), false));
        prop_oneof![exact, wide]
    }

    proptest! {
        #[test]
        fn swapped_sides_swap_the_verdict_and_the_sign(one in any_side(), other in any_side()) {
            let forward = compare_counts(&one, &other).unwrap();
            let back = compare_counts(&other, &one).unwrap();
            let swapped = match forward.verdict {
                Verdict::Larger => Verdict::Smaller,
                Verdict::Smaller => Verdict::Larger,
                same => same,
            };
            prop_assert_eq!(back.verdict, swapped);
            let [low, high] = forward.added_bounds;
            prop_assert_eq!((back.added, back.added_bounds), (-forward.added, [-high, -low]));
            prop_assert!(forward.p == back.p || (forward.p - back.p).abs() < 1e-12);
            let [low, high] = forward.ratio.ci95.unwrap();
            prop_assert!(low <= forward.ratio.value && forward.ratio.value <= high);
        }

        #[test]
        fn a_side_equals_itself_and_each_further_instruction_is_found(
            value in 1u32..1 << 30,
            more in 1u32..99,
        ) {
            let (base, new) = (exactly(value.into()), exactly(f64::from(value) + f64::from(more)));
            prop_assert_eq!(compare_counts(&base, &base).unwrap().verdict, Verdict::Equivalent);
            let found = compare_counts(&base, &new).unwrap();
            prop_assert_eq!((found.verdict, found.added), (Verdict::Larger, more.into()));
        }
    }
}
