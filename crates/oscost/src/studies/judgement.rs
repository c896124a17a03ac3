//! Judges the claims of a study by a run.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Row, RowOutcome};
use oscost_stats::interval::{Interval, Nominal};

use super::claim::{Claim, Criterion};
use super::equal_added::{AddedCost, EqualAddedResult, equal_added};
use super::published_result::{PublishedResult, published_result};
use super::quantity::{Extreme, Measure, Quantity};
use super::rounds::{IntervalEstimate, Rounds};
use super::study::Study;
use super::unit::{ClockRates, UnitKind, base_unit};
use super::verdict::{MIN_ROUNDS, Verdict, judge_bounds};

/// A claim, and what was found.
#[derive(Clone, Debug)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What becomes of it here.
    pub verdict: Verdict,
    /// What its cases have added to them here; `None` for claims of other kinds, or without rounds.
    pub added: Option<AddedCost>,
    /// What each of its cases came to: by how much what is added to it differs from the mean, as a
    /// share of that mean; or its ratio. In the order of the claim.
    pub values: Vec<Option<IntervalEstimate>>,
    /// The same of the study's own figures, where it has them all.
    pub published: Option<PublishedResult>,
}

/// The rows of a case: base, new, and how they were compared.
pub(super) type CaseRows<'a> = ([Option<&'a Row>; 2], Option<&'a Comparison>);

/// Judges a claim by the rows of its cases, in their order; `void` where the run itself says that
/// no difference in it is to be believed.
pub(super) fn judge<'a>(
    study: &Study,
    claim: &'a Claim,
    cases: &[CaseRows<'_>],
    void: bool,
) -> JudgedClaim<'a> {
    let then = published_result(study, claim);
    let mut judged = match &claim.criterion {
        Criterion::Within(_) => JudgedClaim {
            claim,
            verdict: Verdict::Undecided("it is said of one place".to_owned()),
            added: None,
            values: vec![],
            published: then,
        },
        Criterion::EqualAdded => {
            let added: Vec<BTreeMap<u32, f64>> =
                cases.iter().map(|(sides, _)| added_by_round(sides)).collect();
            let EqualAddedResult { verdict, added, each } = equal_added(&added);
            JudgedClaim { claim, verdict, added, values: each, published: then }
        }
        Criterion::Ratio { min, max } => {
            let ratio = |(_, comparison): &CaseRows<'_>| {
                let ratio = &comparison.as_ref()?.ratio;
                let interval = ratio.ci95.map(|[lo, hi]| Interval { lo, hi });
                Some(IntervalEstimate { value: ratio.value, interval })
            };
            let each: Vec<Option<IntervalEstimate>> = cases.iter().map(ratio).collect();
            let verdict = judge_bounds(&each, Interval { lo: *min, hi: *max });
            JudgedClaim { claim, verdict, added: None, values: each, published: then }
        }
    };
    if void {
        let why = "the control shows an effect of nothing: no difference can be believed";
        judged.verdict = Verdict::Undecided(why.to_owned());
    }
    judged
}

/// What a run has to say of claims of one place.
pub(super) struct RunFigures<'a> {
    /// The figures of its rows in each round.
    pub(super) rounds: &'a Rounds,
    /// The calls of an op, as they were counted.
    pub(super) calls: &'a BTreeMap<String, f64>,
    /// How fast its core was.
    pub(super) beats: ClockRates,
    /// The level of its intervals.
    pub(super) nominal: Nominal,
}

impl RunFigures<'_> {
    fn spot(&self, measure: &Measure, nominal: Nominal) -> Option<IntervalEstimate> {
        if measure.is_count() {
            let value = measure.value(&|key| self.calls.get(key).copied(), self.beats)?;
            return Some(IntervalEstimate {
                value,
                interval: Some(Interval { lo: value, hi: value }),
            });
        }
        let measure = measure.restricted_to(|key| self.rounds.has(key));
        self.rounds.estimate(&measure.keys(), nominal, &|of| measure.value(of, self.beats))
    }

    /// What a quantity comes to: of an extreme the ratio that tells.
    fn shown(&self, quantity: &Quantity) -> Option<IntervalEstimate> {
        let Some((extreme, ratios)) = quantity.measure.ratios() else {
            return self.spot(&quantity.measure, self.nominal);
        };
        let spots: Option<Vec<IntervalEstimate>> =
            ratios.iter().map(|ratio| self.spot(ratio, self.nominal)).collect();
        let by_value =
            |one: &IntervalEstimate, other: &IntervalEstimate| one.value.total_cmp(&other.value);
        match extreme {
            Extreme::Largest => spots?.into_iter().max_by(by_value),
            Extreme::Smallest => spots?.into_iter().min_by(by_value),
        }
    }
}

/// Judges a claim of one place.
pub(super) fn judge_single_target<'a>(
    study: &Study,
    claim: &'a Claim,
    run: &RunFigures<'_>,
) -> JudgedClaim<'a> {
    let Criterion::Within(quantities) = &claim.criterion else {
        return judge(study, claim, &[], false);
    };
    let each: Vec<Option<IntervalEstimate>> = quantities.iter().map(|it| run.shown(it)).collect();
    let parts: Vec<(&Quantity, Measure)> = quantities
        .iter()
        .flat_map(|quantity| {
            let ratios = quantity.measure.ratios().map(|(_, ratios)| ratios);
            let ratios = ratios.unwrap_or_else(|| vec![quantity.measure.clone()]);
            ratios.into_iter().map(move |part| (quantity, part))
        })
        .collect();
    // That all hold needs no more than each interval by itself: one that holds by chance is not
    // enough. That one of many fails is said only where all intervals hold their truths at once.
    let strict = run.nominal.bonferroni(parts.len());
    let interval = |part: &Measure, nominal| run.spot(part, nominal).and_then(|it| it.interval);
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
        Verdict::Undecided(why_undecided(run, quantities, &each))
    };
    JudgedClaim {
        claim,
        verdict,
        added: None,
        values: each,
        published: published_result(study, claim),
    }
}

fn why_undecided(
    run: &RunFigures<'_>,
    quantities: &[Quantity],
    each: &[Option<IntervalEstimate>],
) -> String {
    let missing = quantities.iter().zip(each).find(|(_, spot)| spot.is_none());
    if let Some((quantity, _)) = missing {
        let measured = quantity.measure.keys().iter().all(|key| run.rounds.has(key));
        let why = match (quantity.measure.is_count(), measured) {
            (true, _) => "not all of its rows were counted",
            (false, false) => "not all of its rows were measured",
            (false, true) => "no round has them all, or a figure of one is not above nothing",
        };
        return why.to_owned();
    }
    match each.iter().flatten().any(|spot| spot.interval.is_none()) {
        true => format!("too few rounds for an interval: it takes {MIN_ROUNDS}"),
        false => "an interval reaches across its bound: more rounds would tell".to_owned(),
    }
}

/// What is added to a case in each round that has both sides, in nanoseconds.
fn added_by_round(sides: &[Option<&Row>; 2]) -> BTreeMap<u32, f64> {
    let of = |row: &Option<&Row>| -> BTreeMap<u32, f64> {
        let measured = row.filter(|row| row.outcome == RowOutcome::Measured);
        let workers = measured.iter().flat_map(|row| {
            let (kind, one) = base_unit(row.unit);
            let ns = (kind == UnitKind::Time).then_some(one);
            row.repetitions
                .iter()
                .filter_map(move |worker| Some((worker.round, worker.value? * ns?)))
        });
        workers.collect()
    };
    let [base, new] = sides.each_ref().map(of);
    base.into_iter().filter_map(|(round, base)| Some((round, new.get(&round)? - base))).collect()
}
