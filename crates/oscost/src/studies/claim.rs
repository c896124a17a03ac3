//! What a study claims, and whether a run bears it out.
//!
//! A verdict is one of three: it holds, it does not hold, or this run cannot decide. The last one
//! says why.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Row, RowOutcome};

use super::quantity::{Extreme, Measure, Quantity};
pub use super::rounds::IntervalEstimate;
use super::rounds::Rounds;
use super::unit::{UnitKind, base_unit};
use super::{ClockRates, Figure, Study};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;

/// Within so many per cent of each other, costs that are added are one constant. The five of study
/// ph-2000 lie within 0.6 % of their mean. At 1 % the layout of five loops would decide, and at
/// 20 % a monitor that looks at arguments would pass for one that does not.
pub const EQUAL_WITHIN_PCT: f64 = 5.0;

/// The fewest rounds of which anything is said: below, no interval of 95 % is bounded.
const MIN_ROUNDS: usize = 6;

/// Something that a study says.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The statement, in our words.
    pub statement: String,
    /// Where it stands.
    pub location: String,
    /// The cases that it is said of.
    pub cases: Vec<String>,
    /// When it holds.
    pub criterion: Criterion,
}

/// When a claim holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Of two places: all cases have the same added to them, within [`EQUAL_WITHIN_PCT`].
    EqualAdded,
    /// Of two places: of each case, new over base lies within these bounds.
    Ratio {
        /// The lower one.
        min: f64,
        /// The upper one.
        max: f64,
    },
    /// Of one place: each of these lies within its bounds.
    Within(Vec<Quantity>),
}

/// What becomes of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It surely holds.
    Holds,
    /// It surely does not.
    DoesNotHold,
    /// This run cannot tell, and why.
    Undecided(String),
}

impl Verdict {
    /// The verdict in words.
    pub fn text(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided(_) => "undecided",
        }
    }
}

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

/// What is added to some cases on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedCost {
    /// In nanoseconds: the median over rounds of the mean over cases.
    pub mean: IntervalEstimate,
    /// Rounds in which all cases have both sides.
    pub rounds: usize,
}

/// What the study's own figures say of its claim.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishedResult {
    /// What was added on average, in nanoseconds, and by what share the furthest case differed.
    EqualAdded {
        /// The mean over the cases.
        mean_ns: f64,
        /// The largest distance from it, as a share of it.
        furthest: f64,
    },
    /// The smallest and the largest ratio.
    Ratio {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// What each quantity came to; `None` where the study gives no figures for it.
    Within(Vec<Option<f64>>),
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

/// Whether all of these lie within some bounds: surely, surely not, or nobody can tell.
fn judge_bounds(each: &[Option<IntervalEstimate>], bounds: Interval) -> Verdict {
    let intervals: Option<Vec<Interval>> =
        each.iter().map(|spot| spot.and_then(|spot| spot.interval)).collect();
    let Some(intervals) = intervals else {
        let why = "too few rounds for an interval, or not all of its cases were measured at both \
                   places";
        return Verdict::Undecided(why.to_owned());
    };
    let inside = |it: &Interval| bounds.contains(it.lo) && bounds.contains(it.hi);
    let outside = |it: &Interval| it.hi < bounds.lo || bounds.hi < it.lo;
    if intervals.iter().any(outside) {
        Verdict::DoesNotHold
    } else if intervals.iter().all(inside) {
        Verdict::Holds
    } else {
        Verdict::Undecided("intervals reach across the bounds: more rounds would tell".to_owned())
    }
}

/// What came of asking whether all cases have the same added to them.
struct EqualAddedResult {
    verdict: Verdict,
    added: Option<AddedCost>,
    each: Vec<Option<IntervalEstimate>>,
}

/// Whether what is added to some cases, by round, is the same.
///
/// Rounds drift: in each, a case is held against the mean of all cases of that round, and the
/// median of these distances gets an interval. The intervals hold their truths all at once in 95 %
/// of runs (Bonferroni), so that a constant is taken for none in at most 5 %.
fn equal_added(cases: &[BTreeMap<u32, f64>]) -> EqualAddedResult {
    let none = |verdict, added| EqualAddedResult { verdict, added, each: vec![None; cases.len()] };
    let undecided = |why: String| Verdict::Undecided(why);
    let rounds: Vec<Vec<f64>> = cases
        .first()
        .into_iter()
        .flat_map(BTreeMap::keys)
        .filter_map(|round| cases.iter().map(|case| case.get(round).copied()).collect())
        .collect();
    let means: Vec<f64> =
        rounds.iter().map(|round| round.iter().sum::<f64>() / round.len() as f64).collect();
    let sorted = order::sorted(&means);
    let Some(mean) = order::median(&sorted) else {
        let why = "no round has all of its cases at both places".to_owned();
        return none(undecided(why), None);
    };
    let interval = median_hs(&sorted, Nominal::FIXED);
    let added =
        AddedCost { mean: IntervalEstimate { value: mean, interval }, rounds: rounds.len() };
    if rounds.len() < MIN_ROUNDS {
        let why = format!("{} rounds have all of its cases: it takes {MIN_ROUNDS}", rounds.len());
        return none(undecided(why), Some(added));
    }
    if interval.is_none_or(|it| it.lo <= 0.0) {
        let why = "nothing is surely added that could be the same".to_owned();
        return none(undecided(why), Some(added));
    }
    let nominal = Nominal::FIXED.bonferroni(cases.len());
    let spot = |case: usize| {
        let apart = rounds.iter().zip(&means).map(|(round, of_round)| round[case] - of_round);
        let apart: Vec<f64> = apart.map(|apart| apart / mean).collect();
        let sorted = order::sorted(&apart);
        Some(IntervalEstimate {
            value: order::median(&sorted)?,
            interval: median_hs(&sorted, nominal),
        })
    };
    let each: Vec<Option<IntervalEstimate>> = (0..cases.len()).map(spot).collect();
    let bound = EQUAL_WITHIN_PCT / 100.0;
    let verdict = match each.iter().flatten().any(|spot| spot.interval.is_none()) {
        true => undecided(format!("{} rounds bound too little: it takes more", rounds.len())),
        false => judge_bounds(&each, Interval { lo: -bound, hi: bound }),
    };
    EqualAddedResult { verdict, added: Some(added), each }
}

/// What the study's own figures say.
fn published_result(study: &Study, claim: &Claim) -> Option<PublishedResult> {
    if let Criterion::Within(quantities) = &claim.criterion {
        let value = |it: &Quantity| match it.measure.is_count() {
            true => it.measure.value(&|key| published_calls(study, key), study.clock_rates),
            false => it.measure.value(&|key| published(study, key), study.clock_rates),
        };
        let each: Vec<Option<f64>> = quantities.iter().map(value).collect();
        return each.iter().any(Option::is_some).then_some(PublishedResult::Within(each));
    }
    let figures: Option<Vec<[f64; 2]>> = claim
        .cases
        .iter()
        .map(|case| {
            let row = study.row(case)?;
            let [base, new] = &row.published[..] else { return None };
            // A ratio of rates has no unit either.
            let factor = row.unit.size(study.clock_rates).unwrap_or(1.0);
            Some([base.as_ref()?.single()? * factor, new.as_ref()?.single()? * factor])
        })
        .collect();
    let figures = figures.filter(|figures| !figures.is_empty())?;
    Some(match claim.criterion {
        Criterion::EqualAdded => {
            let added: Vec<f64> = figures.iter().map(|[base, new]| new - base).collect();
            let mean_ns = added.iter().sum::<f64>() / added.len() as f64;
            let apart = added.iter().map(|added| (added - mean_ns).abs() / mean_ns.abs());
            PublishedResult::EqualAdded { mean_ns, furthest: apart.fold(0.0, f64::max) }
        }
        Criterion::Ratio { .. } | Criterion::Within(_) => {
            let ratios = figures.iter().map(|[base, new]| new / base);
            let min = ratios.clone().fold(f64::INFINITY, f64::min);
            PublishedResult::Ratio { min, max: ratios.fold(0.0, f64::max) }
        }
    })
}

/// The figure that was printed of a row, in the plainest unit of its kind; `None` where the column
/// that it stands in is another one's formula, and of ranges and bounds.
fn published(study: &Study, key: &str) -> Option<f64> {
    first_matching_column(study, key, |column, figure| {
        let own =
            column.formula.own_figure_factor().filter(|_| column.unit.kind() != UnitKind::Plain)?;
        Some(figure * column.unit.size(study.clock_rates)? / own)
    })
}

/// The calls of an op that were printed of a row, or follow from what was.
fn published_calls(study: &Study, key: &str) -> Option<f64> {
    first_matching_column(study, key, |column, figure| column.formula.calls_of(figure))
}

/// What the first column makes of the figure that was printed in it. A case may stand in several
/// tables; the first that has such a column has it.
fn first_matching_column(
    study: &Study,
    key: &str,
    of: impl Fn(&Figure, f64) -> Option<f64>,
) -> Option<f64> {
    study.tables.iter().find_map(|table| {
        let row = table.rows.iter().find(|row| row.case().is_some() && row.key() == key)?;
        let mut columns = table.figures.iter().zip(&row.published);
        columns.find_map(|(column, figure)| of(&column.in_row(row), figure.as_ref()?.single()?))
    })
}

#[cfg(test)]
mod tests;
