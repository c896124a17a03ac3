//! Judges the claims of a study that compares two targets.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Row, RowOutcome};
use oscost_stats::interval::Interval;

use super::claim::{Claim, Criterion};
use super::equal_added_cost::{EqualAddedResult, equal_added};
use super::judgement::{Basis, JudgedClaim, unsound_flag};
use super::published_result::published_result;
use super::verdict::{Verdict, judge_bounds};
use crate::studies::figures::rounds::IntervalEstimate;
use crate::studies::figures::unit::{BaseUnit, ClockRates, UnitKind, base_unit};
use crate::studies::study::Study;

/// The rows of a case on both targets.
#[derive(Clone, Copy, Default)]
pub(in crate::studies) struct CaseRows<'a> {
    /// The rows of base and new.
    pub(in crate::studies) sides: [Option<&'a Row>; 2],
    /// Their comparison.
    pub(in crate::studies) comparison: Option<&'a Comparison>,
}

impl CaseRows<'_> {
    /// The flag for which no claim may rest on these rows.
    fn disqualifying_flag(&self) -> Option<String> {
        let of_rows = self.sides.iter().flatten().find_map(|row| unsound_flag(row));
        let of_both = || {
            let mut flags = self.comparison.iter().flat_map(|it| &it.flags);
            flags.find(|flag| *flag == "UNRELIABLE").cloned()
        };
        of_rows.or_else(of_both)
    }
}

/// Judges a claim by the rows of its cases, in their order; `unsound` if no difference of the run is
/// valid, and why.
pub(in crate::studies) fn judge_two_targets<'a>(
    study: &Study,
    claim: &'a Claim,
    cases: &[CaseRows<'_>],
    unsound: Option<&str>,
) -> JudgedClaim<'a> {
    let mut judged = JudgedClaim {
        claim,
        verdict: Verdict::Undecided("it is a claim on one target".to_owned()),
        runs: 1,
        because: None,
        basis: Basis::OwnEstimates,
        interval_basis: None,
        added: None,
        values: vec![],
        deciding: vec![],
        own: None,
        placements: vec![],
        published: published_result(study, claim),
    };
    match &claim.criterion {
        Criterion::Within(_) => {}
        Criterion::EqualAdded => {
            let added: Vec<BTreeMap<u32, f64>> =
                cases.iter().map(|case| added_by_round(case.sides)).collect();
            let EqualAddedResult { verdict, added, each } = equal_added(&added);
            (judged.verdict, judged.added, judged.values) = (verdict, added, each);
        }
        Criterion::Added { min, max, unit } => {
            judged.values = cases.iter().map(added_cost).collect();
            // It is a unit of time, which has a size on every machine.
            let size = unit.size(ClockRates::default()).unwrap_or(f64::NAN);
            let bounds = Interval { lo: min * size, hi: max * size };
            judged.verdict = judge_bounds(&judged.values, bounds);
        }
        Criterion::Ratio { min, max } => {
            judged.values = cases.iter().map(ratio).collect();
            judged.verdict = judge_bounds(&judged.values, Interval { lo: *min, hi: *max });
        }
        Criterion::LargestRatio => {
            judged.values = cases.iter().map(slowdown).collect();
            judged.verdict = judge_largest(&judged.values);
        }
    }
    let flag = cases
        .iter()
        .zip(&claim.cases)
        .find_map(|(case, key)| Some((key, case.disqualifying_flag()?)));
    if let Some(why) = unsound {
        judged.verdict = Verdict::Undecided(why.to_owned());
    } else if let Some((key, flag)) = flag {
        judged.verdict = Verdict::Undecided(format!("no claim may rest on {key}, which is {flag}"));
    }
    judged
}

/// The ratio of new to base.
fn ratio(case: &CaseRows<'_>) -> Option<IntervalEstimate> {
    let ratio = &case.comparison?.ratio;
    let interval = ratio.ci95.map(|[lo, hi]| Interval { lo, hi });
    Some(IntervalEstimate { value: ratio.value, interval })
}

/// The factor by which the new target is slower: of a rate, which falls, the inverse of its ratio.
fn slowdown(case: &CaseRows<'_>) -> Option<IntervalEstimate> {
    let ratio = ratio(case)?;
    let unit = case.comparison?.added.unit;
    let is_rate = matches!(base_unit(unit).kind, UnitKind::Rate | UnitKind::Frames | UnitKind::Ops);
    if !is_rate {
        return Some(ratio);
    }
    let inverse = |it: Interval| Interval { lo: 1.0 / it.hi, hi: 1.0 / it.lo };
    Some(IntervalEstimate { value: 1.0 / ratio.value, interval: ratio.interval.map(inverse) })
}

/// What is added, in nanoseconds.
fn added_cost(case: &CaseRows<'_>) -> Option<IntervalEstimate> {
    let added = &case.comparison?.added;
    let BaseUnit { kind, size } = base_unit(added.unit);
    let in_ns = |[lo, hi]: [f64; 2]| Interval { lo: lo * size, hi: hi * size };
    (kind == UnitKind::Time)
        .then(|| IntervalEstimate { value: added.value * size, interval: added.ci95.map(in_ns) })
}

/// Whether the first of some factors is the largest: by intervals that do not overlap.
fn judge_largest(factors: &[Option<IntervalEstimate>]) -> Verdict {
    let intervals: Option<Vec<Interval>> =
        factors.iter().map(|factor| factor.and_then(|factor| factor.interval)).collect();
    let Some((first, others)) = intervals.as_deref().and_then(<[Interval]>::split_first) else {
        let why = "too few rounds for an interval, or not all of its cases were measured on both \
                   targets";
        return Verdict::Undecided(why.to_owned());
    };
    if others.iter().any(|other| first.hi < other.lo) {
        Verdict::DoesNotHold
    } else if others.iter().all(|other| other.hi < first.lo) {
        Verdict::Holds
    } else {
        let why = "its interval overlaps that of another case: more rounds would decide";
        Verdict::Undecided(why.to_owned())
    }
}

/// What is added to a case in each round that has both sides, in nanoseconds.
fn added_by_round(sides: [Option<&Row>; 2]) -> BTreeMap<u32, f64> {
    let of = |row: Option<&Row>| -> BTreeMap<u32, f64> {
        let measured = row.filter(|row| row.outcome == RowOutcome::Measured);
        let workers = measured.iter().flat_map(|row| {
            let BaseUnit { kind, size } = base_unit(row.unit);
            let ns = (kind == UnitKind::Time).then_some(size);
            row.repetitions
                .iter()
                .filter_map(move |worker| Some((worker.round, worker.value? * ns?)))
        });
        workers.collect()
    };
    let [base, new] = sides.map(of);
    base.into_iter().filter_map(|(round, base)| Some((round, new.get(&round)? - base))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_the_largest_if_its_interval_lies_above_all_others() {
        let spot = |lo: f64, hi: f64| {
            let interval = Some(Interval { lo, hi });
            Some(IntervalEstimate { value: f64::midpoint(lo, hi), interval })
        };
        assert_eq!(
            judge_largest(&[spot(1.6, 1.7), spot(1.0, 1.1), spot(1.2, 1.5)]),
            Verdict::Holds
        );
        let lower = judge_largest(&[spot(1.1, 1.2), spot(1.0, 1.1), spot(1.3, 1.5)]);
        assert_eq!(lower, Verdict::DoesNotHold);
        for open in [vec![spot(1.1, 1.3), spot(1.2, 1.4)], vec![spot(1.6, 1.7), None], vec![]] {
            assert!(matches!(judge_largest(&open), Verdict::Undecided(_)), "{open:?}");
        }
    }
}
