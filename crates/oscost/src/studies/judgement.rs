//! Judges the claims of a study by a run.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Row, RowOutcome};
use oscost_stats::interval::{Interval, Nominal};

use super::claim::{Claim, Criterion};
use super::equal_added::{AddedCost, EqualAddedResult, equal_added};
use super::published_result::{PublishedResult, published_result};
use super::quantity::{Extreme, ExtremeRatio, Measure, Quantity};
use super::rounds::{IntervalEstimate, Rounds};
use super::study::Study;
use super::unit::{BaseUnit, ClockRates, UnitKind, base_unit};
use super::verdict::{MIN_ROUNDS, Verdict, judge_bounds};

/// A claim and the verdict on it.
#[derive(Clone, Debug)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The verdict of this run.
    pub verdict: Verdict,
    /// What is added to its cases on average; `None` for claims of other kinds, and without rounds.
    pub added: Option<AddedCost>,
    /// The value of each of its cases, in the order of the claim: the difference of its added cost
    /// from the mean, as a share of that mean; or its ratio. Of a claim on one target, the value of
    /// each quantity.
    pub values: Vec<Option<IntervalEstimate>>,
    /// What the study's own figures say, if it has them all.
    pub published: Option<PublishedResult>,
}

/// The rows of a case on both targets.
#[derive(Clone, Copy, Default)]
pub(super) struct CaseRows<'a> {
    /// The rows of base and new.
    pub(super) sides: [Option<&'a Row>; 2],
    /// Their comparison.
    pub(super) comparison: Option<&'a Comparison>,
}

/// Judges a claim by the rows of its cases, in their order; `void` if the run itself says that its
/// differences are not valid.
pub(super) fn judge<'a>(
    study: &Study,
    claim: &'a Claim,
    cases: &[CaseRows<'_>],
    void: bool,
) -> JudgedClaim<'a> {
    let published = published_result(study, claim);
    let mut judged = match &claim.criterion {
        Criterion::Within(_) => JudgedClaim {
            claim,
            verdict: Verdict::Undecided("it is a claim on one target".to_owned()),
            added: None,
            values: vec![],
            published,
        },
        Criterion::EqualAdded => {
            let added: Vec<BTreeMap<u32, f64>> =
                cases.iter().map(|case| added_by_round(case.sides)).collect();
            let EqualAddedResult { verdict, added, each } = equal_added(&added);
            JudgedClaim { claim, verdict, added, values: each, published }
        }
        Criterion::Ratio { min, max } => {
            let ratio = |case: &CaseRows<'_>| {
                let ratio = &case.comparison?.ratio;
                let interval = ratio.ci95.map(|[lo, hi]| Interval { lo, hi });
                Some(IntervalEstimate { value: ratio.value, interval })
            };
            let each: Vec<Option<IntervalEstimate>> = cases.iter().map(ratio).collect();
            let verdict = judge_bounds(&each, Interval { lo: *min, hi: *max });
            JudgedClaim { claim, verdict, added: None, values: each, published }
        }
    };
    if void {
        let why = "the control shows a difference where there is none: no difference of this run is \
                   valid";
        judged.verdict = Verdict::Undecided(why.to_owned());
    }
    judged
}

/// The figures of a run for claims on one target.
pub(super) struct RunFigures<'a> {
    /// The figures of its rows by round.
    pub(super) rounds: &'a Rounds,
    /// The counted calls of an op.
    pub(super) calls: &'a BTreeMap<String, f64>,
    /// The clock rates of its machine.
    pub(super) rates: ClockRates,
    /// The level of its intervals.
    pub(super) nominal: Nominal,
}

impl RunFigures<'_> {
    fn estimate(&self, measure: &Measure, nominal: Nominal) -> Option<IntervalEstimate> {
        if measure.is_count() {
            let value = measure.value(&|key| self.calls.get(key).copied(), self.rates)?;
            return Some(IntervalEstimate {
                value,
                interval: Some(Interval { lo: value, hi: value }),
            });
        }
        let measure = measure.restricted_to(|key| self.rounds.has(key));
        self.rounds.estimate(&measure.keys(), nominal, &|of| measure.value(of, self.rates))
    }

    /// The value of a quantity; of an extreme, that of the extreme ratio.
    fn value(&self, quantity: &Quantity) -> Option<IntervalEstimate> {
        let Some(ExtremeRatio { extreme, ratios }) = quantity.measure.extreme_ratio() else {
            return self.estimate(&quantity.measure, self.nominal);
        };
        let estimates: Option<Vec<IntervalEstimate>> =
            ratios.iter().map(|ratio| self.estimate(ratio, self.nominal)).collect();
        let by_value =
            |one: &IntervalEstimate, other: &IntervalEstimate| one.value.total_cmp(&other.value);
        match extreme {
            Extreme::Largest => estimates?.into_iter().max_by(by_value),
            Extreme::Smallest => estimates?.into_iter().min_by(by_value),
        }
    }
}

/// Judges a claim on one target.
pub(super) fn judge_single_target<'a>(
    study: &Study,
    claim: &'a Claim,
    run: &RunFigures<'_>,
) -> JudgedClaim<'a> {
    let Criterion::Within(quantities) = &claim.criterion else {
        return judge(study, claim, &[], false);
    };
    let each: Vec<Option<IntervalEstimate>> = quantities.iter().map(|it| run.value(it)).collect();
    let parts: Vec<(&Quantity, Measure)> = quantities
        .iter()
        .flat_map(|quantity| {
            let ratios = quantity.measure.extreme_ratio().map(|it| it.ratios);
            let ratios = ratios.unwrap_or_else(|| vec![quantity.measure.clone()]);
            ratios.into_iter().map(move |part| (quantity, part))
        })
        .collect();
    // That all parts hold needs only the interval of each, since one that holds by chance is not
    // enough. That one of many fails is concluded only from intervals that are valid together.
    let strict = run.nominal.bonferroni(parts.len());
    let interval = |part: &Measure, nominal| run.estimate(part, nominal).and_then(|it| it.interval);
    let fails = |(quantity, part): &(&Quantity, Measure)| {
        interval(part, strict).is_some_and(|interval| quantity.fails(&interval))
    };
    let holds = |(quantity, part): &(&Quantity, Measure)| {
        interval(part, run.nominal).is_some_and(|interval| quantity.holds(&interval))
    };
    let verdict = if parts.iter().any(fails) {
        Verdict::DoesNotHold
    } else if parts.iter().all(holds) {
        Verdict::Holds
    } else {
        Verdict::Undecided(undecided_reason(run, quantities, &each, parts.len()))
    };
    JudgedClaim {
        claim,
        verdict,
        added: None,
        values: each,
        published: published_result(study, claim),
    }
}

fn undecided_reason(
    run: &RunFigures<'_>,
    quantities: &[Quantity],
    each: &[Option<IntervalEstimate>],
    comparisons: usize,
) -> String {
    let missing = quantities.iter().zip(each).find(|(_, estimate)| estimate.is_none());
    if let Some((quantity, _)) = missing {
        let measured = quantity.measure.keys().iter().all(|key| run.rounds.has(key));
        let why = match (quantity.measure.is_count(), measured) {
            (true, _) => "not all of its rows were counted",
            (false, false) => "not all of its rows were measured",
            (false, true) => {
                "no round has all of its rows, or one of their figures is not positive"
            }
        };
        return why.to_owned();
    }
    match each.iter().flatten().any(|it| it.interval.is_none()) {
        true => format!("too few rounds for an interval: {MIN_ROUNDS} are needed"),
        false if comparisons > 1 => format!(
            "after correction for {comparisons} comparisons no interval lies outside its bounds"
        ),
        false => "its interval contains a bound".to_owned(),
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
