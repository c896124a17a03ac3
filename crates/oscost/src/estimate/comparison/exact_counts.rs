//! Figures compared that are counts, of machines that repeat themselves to the last instruction
//! (docs/explanation/METHOD.md, section 16).
//!
//! Nothing is left to chance there, and so nothing is asked of statistics: where both sides are
//! exact the difference is one of whole numbers, and where one is not, the ranges of both are all
//! that is known.

use oscost_model::record::{AddedCost, Comparison, Ratio, Record, Row};
use oscost_model::unit::Unit;

use super::comparability::{is_cost, machine};
use super::verdict::Verdict;
use super::{interleaved, verdict_text};
use oscost_stats::order;

/// Whether a row's figure is a count, whose repetitions are compared and not estimated from.
pub fn is_count(row: &Row) -> bool {
    row.unit == Unit::InstructionsPerOp || row.estimate.as_ref().is_some_and(|it| it.exact)
}

/// What may come by chance, where a verdict is given.
const MAX_CHANCE: f64 = 0.05;

/// All that was counted on one side.
#[derive(Debug)]
pub(super) struct CountSide {
    /// Ascending, and not empty.
    values: Vec<f64>,
    /// The same, worker by worker; nothing of one that was lost.
    workers: Vec<Option<f64>>,
    exact: bool,
    rows: u32,
}

impl CountSide {
    /// The repetitions of a side's rows; `None` where they have none.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<Self> {
        let rows: Vec<&Row> = rows.collect();
        let workers = rows.iter().flat_map(|row| row.repetitions.iter().map(|it| it.value));
        let workers: Vec<Option<f64>> = workers.collect();
        let values = order::sorted(&workers.iter().copied().flatten().collect::<Vec<_>>());
        let each = rows.iter().all(|row| row.estimate.as_ref().is_some_and(|it| it.exact));
        // Runs that are exact each by itself may still differ from each other.
        let exact = each && values.first()? == values.last()?;
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

    /// Whether two sides said the same, each worker of one what that of the other said: of two workers at
    /// least, or it would prove little, and where none was lost.
    fn repeats(&self, other: &CountSide) -> bool {
        let is_whole = self.workers.iter().all(Option::is_some);
        is_whole && self.values.len() > 1 && self.workers == other.workers
    }

    /// Whether all of it has a place among ratios.
    fn is_cost(&self) -> bool {
        self.values.iter().all(|&value| is_cost(value))
    }
}

/// What is found of two sides.
#[derive(Debug, PartialEq)]
pub(super) struct CountComparison {
    ratio: Ratio,
    /// New less base, and its bounds.
    added: (f64, [f64; 2]),
    p: f64,
    verdict: Verdict,
    mde_pct: Option<f64>,
    pairs: u32,
    /// Whether ranges were all that could be compared.
    by_range: bool,
}

/// Compares two sides; `None` where they differ and have no ratio, one of them being nothing or less.
pub(super) fn compare_counts(base: &CountSide, new: &CountSide) -> Option<CountComparison> {
    let exact = base.exact && new.exact;
    let (from, to) = (base.median(), new.median());
    // What a boot repeats it repeats in its order: a side that is not exact for a tick in its third
    // worker has it in the third worker again.
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
    // Three values beyond three others are no rarity: what lies between must be more than either
    // side is wide. Of exact sides that is any difference.
    let wide = base.width().max(new.width());
    let chance = chance_of_separation(base.values.len(), new.values.len());
    let far = bounds[0] > wide || bounds[1] < -wide;
    let apart = far && (exact || chance <= MAX_CHANCE);
    let verdict = match apart {
        _ if equal => Verdict::Equivalent,
        true if to > from => Verdict::Larger,
        true => Verdict::Smaller,
        false => Verdict::Inconclusive,
    };
    let p = match apart {
        true if exact => 0.0,
        true => chance,
        false => 1.0,
    };
    let ratio = match equal {
        // Of nothing and nothing, too.
        true => Ratio { value: 1.0, ci95: Some([1.0; 2]) },
        false => {
            Ratio { value: to / from, ci95: Some([new.min() / base.max(), new.max() / base.min()]) }
        }
    };
    let pairs = match (base.rows, new.rows) {
        (1, 1) => base.values.len().min(new.values.len()) as u32,
        (base, new) => base.min(new),
    };
    let mde_pct = exact.then_some(0.0);
    let ranged = !exact && !alike;
    Some(CountComparison {
        ratio,
        added: (to - from, bounds),
        p,
        verdict,
        mde_pct,
        pairs,
        by_range: ranged,
    })
}

/// How likely at most all values of one side lie beyond all of the other, where nothing tells the
/// sides apart: two orders among all that there are.
fn chance_of_separation(base: usize, new: usize) -> f64 {
    let orders = (1..=base).fold(1.0, |all, nth| all * (new + nth) as f64 / nth as f64);
    (2.0 / orders).min(1.0)
}

impl CountComparison {
    /// As a record has it: of these rows, by their indices, and how they were measured.
    pub(super) fn comparison(
        self,
        (base, new): ((u32, &Row), (u32, &Row)),
        design: &str,
        span_s: f64,
    ) -> Comparison {
        let CountComparison {
            ratio,
            added: (value, bounds),
            p,
            verdict,
            mde_pct,
            pairs,
            by_range: ranged,
        } = self;
        let mut flags = Vec::new();
        let calls = |row: &Row| row.calls.as_ref().map(|calls| calls.per_op.clone());
        if calls(base.1).zip(calls(new.1)).is_some_and(|(base, new)| base != new) {
            flags.push("CALLS_DIFFER".to_owned());
        }
        if ranged {
            flags.push("NOT_EXACT".to_owned());
        }
        Comparison {
            case: base.1.case.clone(),
            metric: interleaved::PRIMARY.to_owned(),
            base: base.0,
            new: new.0,
            design: design.to_owned(),
            pairs,
            span_s,
            ratio,
            added: AddedCost { value, ci95: Some(bounds), unit: base.1.unit },
            p,
            // There is no row among many that is so by chance: what is exact is not, and of the
            // others each stands for itself.
            q: p,
            verdict: verdict_text(verdict, base.1.better).to_owned(),
            mde_pct,
            ties: 0,
            monitor_events_per_op: None,
            control: false,
            flags,
        }
    }
}

/// Why counts of two runs cannot be compared: an emulator, a processor, a size of memory or a worker
/// that is another one takes other instructions for the same work. Another kernel, or another
/// command line of it, is what is asked about.
pub(super) fn count_difference(base: (&Record, &Row), new: (&Record, &Row)) -> Option<String> {
    let of = |(run, row): (&Record, &Row)| {
        machine(run, Some(&row.target.machine)).and_then(|machine| machine.vm.clone())
    };
    let (Some(one), Some(other)) = (of(base), of(new)) else {
        return Some("how the machine was booted is not known of each side".to_owned());
    };
    let memory = |mib: u32| format!("{mib} MiB of memory");
    for (what, base, new) in [
        ("another emulator", one.emulator, other.emulator),
        ("another means of emulation", one.accel, other.accel),
        ("another CPU", one.cpu, other.cpu),
        ("another machine", memory(one.mem_mib), memory(other.mem_mib)),
    ] {
        if base != new {
            return Some(format!("{what}: {base} and {new}"));
        }
    }
    let (base, new) = (&base.0.tool.worker.hash, &new.0.tool.worker.hash);
    (base != new).then(|| {
        "another build of the worker: an instruction of difference may be its own".to_owned()
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
    fn one_instruction_is_found_with_its_sign() {
        let found = compare_counts(&exactly(12_925.0), &exactly(12_926.0)).unwrap();
        assert_eq!((found.verdict, found.added), (Verdict::Larger, (1.0, [1.0, 1.0])));
        assert_eq!((found.p, found.mde_pct, found.pairs), (0.0, Some(0.0), 3));
        let found = compare_counts(&exactly(12_926.0), &exactly(12_925.0)).unwrap();
        assert_eq!((found.verdict, found.added.0), (Verdict::Smaller, -1.0));
    }

    #[test]
    fn what_is_equal_is_equivalent_even_where_it_is_nothing() {
        for value in [324.0, 1.0 / 3.0, 0.0, -2.0] {
            let found = compare_counts(&exactly(value), &exactly(value)).unwrap();
            assert_eq!(
                (found.verdict, found.ratio.value, found.p),
                (Verdict::Equivalent, 1.0, 1.0)
            );
        }
        assert_eq!(
            compare_counts(&exactly(0.0), &exactly(1.0)),
            None,
            "there is no ratio to nothing"
        );
    }

    #[test]
    fn what_does_not_repeat_is_told_apart_by_its_range_alone() {
        let wide = side(&[320.0, 322.0, 324.0, 325.0, 331.0], false);
        let alike = |value: f64| side(&[value; 5], true);
        let found = compare_counts(&wide, &alike(343.0)).unwrap();
        assert_eq!((found.verdict, found.added), (Verdict::Larger, (19.0, [12.0, 23.0])));
        assert_eq!((found.by_range, found.mde_pct), (true, None));
        assert!((found.p - 2.0 / 252.0).abs() < 1e-12, "two of the orders of ten: {}", found.p);
        let found = compare_counts(&wide, &alike(342.0)).unwrap();
        assert_eq!((found.verdict, found.p), (Verdict::Inconclusive, 1.0));
        let few = compare_counts(&wide, &side(&[900.0; 3], false)).unwrap();
        assert_eq!(few.verdict, Verdict::Larger, "two of the orders of eight are rare");
        let fewer =
            compare_counts(&side(&[320.0, 331.0], false), &side(&[900.0; 2], false)).unwrap();
        assert_eq!(fewer.verdict, Verdict::Inconclusive, "two of the orders of four are not");
        let lost = side(&[324.0; 2], false);
        let found = compare_counts(&lost, &exactly(324.0)).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive, "a repetition of it was lost");
    }

    #[test]
    fn what_does_not_repeat_within_a_boot_but_from_boot_to_boot_is_equal() {
        let (one, other) = ([320.0, 322.0, 331.0], [320.0, 331.0, 322.0]);
        let found = compare_counts(&side(&one, false), &side(&one, false)).unwrap();
        assert_eq!((found.verdict, found.added), (Verdict::Equivalent, (0.0, [0.0; 2])));
        assert_eq!((found.by_range, found.p, found.ratio.value), (false, 1.0, 1.0));
        assert_eq!(found.mde_pct, None, "what lies within the range would not have shown");
        let found = compare_counts(&side(&one, false), &side(&other, false)).unwrap();
        assert_eq!((found.verdict, found.by_range), (Verdict::Inconclusive, true));
        let single = || side(&[320.0], false);
        assert_eq!(compare_counts(&single(), &single()).unwrap().verdict, Verdict::Inconclusive);
        let lost = CountSide { workers: vec![Some(320.0), None, Some(331.0)], ..side(&one, false) };
        let found = compare_counts(&lost, &side(&one, false)).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        let found = compare_counts(&lost, &lost).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive, "what was lost may have differed");
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
            let (there, back) = (compare_counts(&one, &other).unwrap(), compare_counts(&other, &one).unwrap());
            let swapped = match there.verdict {
                Verdict::Larger => Verdict::Smaller,
                Verdict::Smaller => Verdict::Larger,
                same => same,
            };
            prop_assert_eq!(back.verdict, swapped);
            let (value, [low, high]) = there.added;
            prop_assert_eq!(back.added, (-value, [-high, -low]));
            prop_assert!(there.p == back.p || (there.p - back.p).abs() < 1e-12);
            let [low, high] = there.ratio.ci95.unwrap();
            prop_assert!(low <= there.ratio.value && there.ratio.value <= high);
        }

        #[test]
        fn a_side_equals_itself_and_any_instruction_more_shows(value in 1u32..1 << 30, more in 1u32..99) {
            let (base, new) = (exactly(value.into()), exactly(f64::from(value) + f64::from(more)));
            prop_assert_eq!(compare_counts(&base, &base).unwrap().verdict, Verdict::Equivalent);
            let found = compare_counts(&base, &new).unwrap();
            prop_assert_eq!((found.verdict, found.added.0), (Verdict::Larger, more.into()));
        }
    }
}
