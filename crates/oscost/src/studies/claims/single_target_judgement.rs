//! Judges the claims of a study of one target: by the study's statistic where all rows of a claim
//! have it, and by oscost's own estimates.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::study_method::{ClockCost, Statistic, StudyMethod};
use oscost_stats::interval::{Interval, Nominal};

use super::claim::{Claim, Criterion};
use super::judgement::{
    Basis, IntervalBasis, JudgedClaim, Judgement, OwnJudgement, PlacedJudgement, common_verdict,
};
use super::part::{Part, deciding_parts, open_reason};
use super::published_result::published_result;
use super::quantity::{
    EQUAL_FACTOR, Extreme, ExtremeRatio, Measure, Quantity, SeriesPoint, saturation_index,
};
use super::several_runs::{RunRounds, estimate, interval_basis};
use super::two_targets_judgement::judge_two_targets;
use super::verdict::{MIN_ROUNDS, Verdict};
use crate::studies::figures::rounds::{IntervalEstimate, Rounds};
use crate::studies::figures::unit::ClockRates;
use crate::studies::study::{PEER_SUFFIX, Placement, Study};

/// The figures of a run for claims on one target.
pub(in crate::studies) struct RunFigures {
    /// The study's statistic by round, of those rows that have a study method.
    pub(in crate::studies) by_study: Rounds,
    /// The study's statistic over all ops of all rounds, of the same rows.
    pub(in crate::studies) over_all_ops: BTreeMap<String, f64>,
    /// The rows whose figure by the study's statistic is only a few steps of the clock.
    pub(in crate::studies) coarse: BTreeSet<String>,
    /// oscost's own figures by round.
    pub(in crate::studies) own: Rounds,
    /// The standard deviation between runs of the logarithms of those figures of which it is known.
    pub(in crate::studies) between_runs: BTreeMap<String, f64>,
    /// The same by the study's statistic, of those rows that have a study method.
    pub(in crate::studies) between_runs_by_study: BTreeMap<String, f64>,
    /// The counted calls of an op.
    pub(in crate::studies) calls: BTreeMap<String, f64>,
    /// The study's methods.
    pub(in crate::studies) study_methods: BTreeMap<String, StudyMethod>,
    /// The rows on which no claim may rest, each with why, as what it is.
    pub(in crate::studies) unsound_rows: BTreeMap<String, String>,
    /// Why no verdict may be based on the run, as what it is or has.
    pub(in crate::studies) unsound_run: Option<&'static str>,
    /// The clock rates of its machine.
    pub(in crate::studies) rates: ClockRates,
    /// The level of its intervals.
    pub(in crate::studies) nominal: Nominal,
}

impl RunFigures {
    /// Its figures by round on which verdicts of this basis rest.
    fn rounds_of(&self, basis: Basis) -> RunRounds<'_> {
        let rates = self.rates;
        match basis {
            Basis::StudyStatistic => RunRounds {
                rounds: &self.by_study,
                over_all_ops: Some(&self.over_all_ops),
                between_runs: &self.between_runs_by_study,
                rates,
            },
            Basis::OwnEstimates | Basis::Counts => RunRounds {
                rounds: &self.own,
                over_all_ops: None,
                between_runs: &self.between_runs,
                rates,
            },
        }
    }
}

/// Judges a claim on one target by a run, and by earlier ones of the same study on the same system.
pub(in crate::studies) fn judge_single_target<'a>(
    study: &Study,
    claim: &'a Claim,
    run: &RunFigures,
    earlier: &[RunFigures],
) -> JudgedClaim<'a> {
    let Criterion::Within(quantities) = &claim.criterion else {
        return judge_two_targets(study, claim, &[], None);
    };
    let placements = study.placements(&claim.cases);
    let placed: Vec<PlacedJudgement> = placements
        .iter()
        .map(|&placement| {
            let key = |key: &str| study.key_in(key, placement);
            let quantities: Vec<Quantity> =
                quantities.iter().map(|it| it.with_keys(&key)).collect();
            judge_placed(study, placement, &quantities, Runs { run, earlier })
        })
        .collect();
    let by: Vec<(Placement, &Verdict)> =
        placed.iter().map(|it| (it.placement, &it.judgement.verdict)).collect();
    let verdict = common_verdict(&by);
    let own = own_judgement(&verdict, claim, &placed, run);
    let first = placed.first();
    JudgedClaim {
        claim,
        verdict,
        runs: placed.iter().map(|it| it.judgement.runs).min().unwrap_or(1),
        because: first.and_then(|it| it.judgement.because.clone()),
        basis: first.map_or(Basis::OwnEstimates, |it| it.basis),
        interval_basis: first.and_then(|it| it.judgement.interval_basis),
        added: None,
        values: first.map(|it| it.judgement.values.clone()).unwrap_or_default(),
        deciding: first.map(|it| it.judgement.deciding.clone()).unwrap_or_default(),
        own,
        placements: if placed.len() > 1 { placed } else { vec![] },
        published: published_result(study, claim),
    }
}

/// The verdict by oscost's own estimates, if it differs from that by the study's statistic.
fn own_judgement(
    verdict: &Verdict,
    claim: &Claim,
    placed: &[PlacedJudgement],
    run: &RunFigures,
) -> Option<OwnJudgement> {
    let own: Option<Vec<&Judgement>> = placed.iter().map(|it| it.own.as_ref()).collect();
    let own = own?;
    let by: Vec<(Placement, &Verdict)> =
        placed.iter().zip(&own).map(|(placed, own)| (placed.placement, &own.verdict)).collect();
    let own_verdict = common_verdict(&by);
    if own_verdict.is_same(verdict) {
        return None;
    }
    let first = own.first()?;
    let judgement = Judgement { verdict: own_verdict, ..(*first).clone() };
    let methods = claim.cases.iter().filter_map(|key| run.study_methods.get(key));
    Some(OwnJudgement { judgement, difference: difference(&methods.copied().collect::<Vec<_>>()) })
}

/// Why a verdict by a study's statistic differs from one by oscost's own estimates, as a sentence.
fn difference(methods: &[StudyMethod]) -> String {
    let is_each = |is: fn(&StudyMethod) -> bool| !methods.is_empty() && methods.iter().all(is);
    let statistic = if is_each(|it| it.statistic == Statistic::Minimum) {
        "The study takes the smallest op, which no interruption, wake-up or cache miss made longer"
    } else if is_each(|it| it.statistic != Statistic::Minimum) {
        "The study takes the mean of all ops, interrupted ones included"
    } else {
        "The study takes the statistics of its rows over all ops"
    };
    let clock = match methods.iter().any(|it| it.clock == ClockCost::Included) {
        true => ", and leaves the clock's cost in its figures",
        false => "",
    };
    format!("{statistic}{clock}; oscost takes the median without disturbed batches and the clock")
}

/// Why the study's statistic does not judge where it is [`RunFigures::coarse`].
const COARSE: &str = "by oscost's own estimates, since the smallest op is only a few steps of the \
                      clock here";

/// A run, and earlier ones of the same study on the same system.
#[derive(Clone, Copy)]
struct Runs<'a> {
    run: &'a RunFigures,
    earlier: &'a [RunFigures],
}

/// Judges quantities in one placement.
fn judge_placed(
    study: &Study,
    placement: Placement,
    quantities: &[Quantity],
    runs: Runs<'_>,
) -> PlacedJudgement {
    let run = runs.run;
    let keys: Vec<&str> = quantities.iter().flat_map(|it| it.measure.keys()).collect();
    let is_count = quantities.iter().all(|it| it.measure.is_count());
    // Rows without any figure are missing either way.
    let known = || keys.iter().filter(|key| run.own.has(key) || run.by_study.has(key));
    let is_coarse = known().any(|key| run.coarse.contains(*key));
    let by_study = !is_coarse
        && known().next().is_some()
        && known().all(|key| run.by_study.count(key) >= MIN_ROUNDS);
    let basis = match (is_count, by_study) {
        (true, _) => Basis::Counts,
        (false, true) => Basis::StudyStatistic,
        (false, false) => Basis::OwnEstimates,
    };
    let judge = |basis| match unsound_reason(study, &keys, is_count, run) {
        Some(why) => {
            let judgement = Figures::of(run, basis).judge(quantities);
            let verdict = judgement.verdict.clone().withheld(why);
            Judgement { verdict, because: None, ..judgement }
        }
        None => judge_over_runs(study, quantities, runs, basis),
    };
    let mut judgement = judge(basis);
    if is_coarse && basis == Basis::OwnEstimates && judgement.because.is_none() {
        judgement.because = Some(COARSE.to_owned());
    }
    PlacedJudgement {
        placement,
        basis,
        judgement,
        own: (basis == Basis::StudyStatistic).then(|| judge(Basis::OwnEstimates)),
    }
}

/// Judges quantities by a run and by those earlier ones that have them all, in the order of time. No
/// verdict is against one that some of the runs had before: noise would turn it from run to run.
fn judge_over_runs(
    study: &Study,
    quantities: &[Quantity],
    Runs { run, earlier }: Runs<'_>,
    basis: Basis,
) -> Judgement {
    let figures = Figures::of(run, basis);
    let measures = figures.measures(quantities).into_iter().map(|(_, measure)| measure);
    // Counts repeat.
    let measures: Vec<Measure> = measures.filter(|it| !it.is_count()).collect();
    let keys: Vec<&str> = measures.iter().flat_map(Measure::keys).collect();
    let has_all = |rounds: &RunRounds<'_>| measures.iter().all(|it| rounds.has(it));
    if basis == Basis::Counts || !has_all(&figures.this) {
        return figures.judge(quantities);
    }
    let is_usable = |other: &&RunFigures| {
        let is_coarse =
            basis == Basis::StudyStatistic && keys.iter().any(|key| other.coarse.contains(*key));
        let is_sound = unsound_reason(study, &keys, false, other).is_none();
        is_sound && !is_coarse && has_all(&other.rounds_of(basis))
    };
    // The oldest first.
    let before: Vec<&RunFigures> = earlier.iter().rev().filter(is_usable).collect();
    let mut decided: Vec<DecidedVerdict> = Vec::new();
    for (at, other) in before.iter().enumerate() {
        judge_last(quantities, other, &before[..at], basis, &mut decided);
    }
    judge_last(quantities, run, &before, basis, &mut decided)
}

/// A verdict other than undecided.
struct DecidedVerdict {
    verdict: Verdict,
    /// How many runs it rested on.
    runs: usize,
}

/// Judges quantities by a run and all before it, the oldest first. `decided` has the verdicts of
/// these, alone and together, and gets those of the run.
fn judge_last(
    quantities: &[Quantity],
    run: &RunFigures,
    before: &[&RunFigures],
    basis: Basis,
    decided: &mut Vec<DecidedVerdict>,
) -> Judgement {
    let alone = Figures::of(run, basis).judge(quantities);
    if alone.verdict.is_decided() {
        decided.push(DecidedVerdict { verdict: alone.verdict.clone(), runs: 1 });
    }
    if before.is_empty() {
        return alone;
    }
    let earlier = before.iter().map(|it| it.rounds_of(basis)).collect();
    let together = Figures { earlier, ..Figures::of(run, basis) }.judge(quantities);
    if !together.verdict.is_decided() {
        return together;
    }
    let against = decided.iter().find(|it| !it.verdict.is_same(&together.verdict));
    let Some(DecidedVerdict { verdict, runs }) = against else {
        decided.push(DecidedVerdict { verdict: together.verdict.clone(), runs: together.runs });
        return together;
    };
    let which = match runs {
        1 => "one of them alone".to_owned(),
        several => format!("the first {several} of them"),
    };
    let (all, some) = (together.verdict.sentence(), verdict.sentence());
    let why = format!("all together say that {all}, and {which} that {some}");
    Judgement { verdict: Verdict::Undecided(why), because: None, ..together }
}

/// Why no verdict may rest on these rows; counts do not depend on noise.
fn unsound_reason(
    study: &Study,
    keys: &[&str],
    is_count: bool,
    run: &RunFigures,
) -> Option<String> {
    if is_count {
        return None;
    }
    if let Some(why) = run.unsound_run {
        return Some(format!("the run {why}"));
    }
    let (key, why) = keys.iter().find_map(|key| Some((key, run.unsound_rows.get(*key)?)))?;
    let name = study.row(key).map_or(*key, |row| row.name.as_str());
    Some(format!("no claim may rest on {name}, which is {why}"))
}

/// The figures by which quantities are judged.
struct Figures<'a> {
    run: &'a RunFigures,
    this: RunRounds<'a>,
    /// Those of earlier runs.
    earlier: Vec<RunRounds<'a>>,
}

impl<'a> Figures<'a> {
    /// Those of a run alone.
    fn of(run: &'a RunFigures, basis: Basis) -> Self {
        Self { run, this: run.rounds_of(basis), earlier: Vec::new() }
    }

    fn estimate(&self, measure: &Measure, nominal: Nominal) -> Option<IntervalEstimate> {
        if measure.is_count() {
            let value = measure.value(&|key| self.run.calls.get(key).copied(), self.run.rates)?;
            let interval = Some(Interval { lo: value, hi: value });
            return Some(IntervalEstimate { value, interval });
        }
        let measure = measure.restricted_to(|key| self.this.rounds.has(key));
        estimate(&self.this, &self.earlier, &measure, nominal)
    }

    /// The value of a quantity; of an extreme, that of the extreme ratio.
    fn value(&self, quantity: &Quantity) -> Option<IntervalEstimate> {
        let nominal = self.run.nominal;
        let Some(ExtremeRatio { extreme, ratios }) = self.extreme_ratio(&quantity.measure) else {
            return self.estimate(&quantity.measure, nominal);
        };
        let estimates: Option<Vec<IntervalEstimate>> =
            ratios.iter().map(|ratio| self.estimate(ratio, nominal)).collect();
        let by_value =
            |one: &IntervalEstimate, other: &IntervalEstimate| one.value.total_cmp(&other.value);
        match extreme {
            Extreme::Largest => estimates?.into_iter().max_by(by_value),
            Extreme::Smallest => estimates?.into_iter().min_by(by_value),
        }
    }

    /// The ratios of which a measure is the largest or the smallest, if it is one.
    fn extreme_ratio(&self, measure: &Measure) -> Option<ExtremeRatio> {
        match measure.restricted_to(|key| self.this.rounds.has(key)) {
            Measure::Retention(points) => {
                let ratios = self.beyond_saturation(&points);
                (!ratios.is_empty()).then_some(ExtremeRatio { extreme: Extreme::Smallest, ratios })
            }
            measure => measure.extreme_ratio(),
        }
    }

    /// The rate of each point beyond the saturation over the largest: which these are is decided by
    /// the medians of their figures.
    fn beyond_saturation(&self, points: &[SeriesPoint]) -> Vec<Measure> {
        let median = |it: &SeriesPoint| Some((it.number as f64, self.this.rounds.median(&it.key)?));
        let medians: Option<Vec<(f64, f64)>> = points.iter().map(median).collect();
        let found = medians.and_then(|medians| {
            let by_rate =
                |one: &usize, other: &usize| medians[*one].1.total_cmp(&medians[*other].1);
            Some((saturation_index(&medians)?, (0..medians.len()).max_by(by_rate)?))
        });
        let Some((first, peak)) = found else { return Vec::new() };
        let later = (first..points.len()).filter(|at| *at != peak);
        later.map(|at| Measure::Ratio(points[at].key.clone(), points[peak].key.clone())).collect()
    }

    /// What is compared with the bounds: of an extreme, each of its ratios.
    fn measures<'q>(&self, quantities: &'q [Quantity]) -> Vec<(&'q Quantity, Measure)> {
        let mut measures: Vec<(&Quantity, Measure)> = Vec::new();
        for quantity in quantities {
            match self.extreme_ratio(&quantity.measure) {
                Some(extreme) => {
                    measures.extend(extreme.ratios.into_iter().map(|it| (quantity, it)))
                }
                None => {
                    let measure = quantity.measure.restricted_to(|key| self.this.rounds.has(key));
                    measures.push((quantity, measure));
                }
            }
        }
        measures
    }

    fn judge(&self, quantities: &[Quantity]) -> Judgement {
        let values: Vec<Option<IntervalEstimate>> =
            quantities.iter().map(|it| self.value(it)).collect();
        let measures = self.measures(quantities);
        // That all parts hold needs only the interval of each, since one that holds by chance is not
        // enough. That one of many fails is concluded only from intervals that are valid together.
        let nominal = self.run.nominal;
        let strict = nominal.bonferroni(measures.len());
        let parts: Vec<Part<'_>> = measures
            .into_iter()
            .map(|(quantity, measure)| Part {
                estimate: self.estimate(&measure, nominal),
                strict: self.estimate(&measure, strict).and_then(|it| it.interval),
                quantity,
                measure,
            })
            .collect();
        // That two costs are equal is asked first: else noise decides which of them is above.
        let (equal, others): (Vec<&Part<'_>>, Vec<&Part<'_>>) =
            parts.iter().partition(|part| part.is_equal());
        let failed = others.iter().find(|part| part.fails());
        let (verdict, because) = if let Some(failed) = failed {
            (Verdict::DoesNotHold, self.fall(failed))
        } else if let Some(why) = self.not_measured_reason(quantities, &values) {
            (Verdict::NotMeasured(why), None)
        } else if !others.iter().all(|part| part.holds()) {
            (Verdict::Undecided(undecided_reason(quantities, &values, &parts)), None)
        } else if equal.is_empty() {
            (Verdict::Holds, None)
        } else {
            let names: Vec<&str> = equal.iter().map(|it| it.quantity.name.as_str()).collect();
            let within = 100.0 * (EQUAL_FACTOR - 1.0);
            let others = if others.is_empty() { "" } else { "; the others are in that order" };
            (
                Verdict::NoDifference,
                Some(format!("within {within:.0} %: {}{others}", names.join(", "))),
            )
        };
        let interval_basis = self.interval_basis(&parts);
        let deciding = match verdict {
            Verdict::Undecided(_) | Verdict::DoesNotHold => {
                deciding_parts(quantities, &values, &parts)
            }
            _ => Vec::new(),
        };
        let runs = 1 + self.earlier.len();
        Judgement { verdict, runs, because, interval_basis, values, deciding }
    }

    /// What the intervals of all parts contain; `None` of counts alone, and without intervals.
    fn interval_basis(&self, parts: &[Part<'_>]) -> Option<IntervalBasis> {
        let with_interval = parts.iter().filter(|part| part.interval().is_some());
        let timed = with_interval.map(|part| &part.measure).filter(|it| !it.is_count());
        let bases = timed.map(|it| interval_basis(&self.this, self.earlier.len(), it));
        // One that lacks the variation between runs decides: a run may be unlucky in it.
        bases.reduce(|one, other| if one == IntervalBasis::Rounds { one } else { other })
    }

    /// How far a rate falls beyond its saturation.
    fn fall(&self, part: &Part<'_>) -> Option<String> {
        let Measure::Retention(points) = &part.quantity.measure else { return None };
        let Measure::Ratio(of, _) = &part.measure else { return None };
        let share = self.value(part.quantity)?.value;
        let at = points.iter().find(|point| point.key == *of)?;
        let lowest = points.iter().filter_map(|it| Some((it, self.this.rounds.median(&it.key)?)));
        let lowest = lowest
            .filter(|(it, _)| it.number >= at.number)
            .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some(format!("it falls to {:.0} % of its peak, at {}", 100.0 * share, lowest.0.number))
    }

    /// Why a quantity has no value, if that is so since a row of it was not measured.
    fn not_measured_reason(
        &self,
        quantities: &[Quantity],
        values: &[Option<IntervalEstimate>],
    ) -> Option<String> {
        let without_value = quantities.iter().zip(values).filter(|(_, value)| value.is_none());
        let mut measures = without_value.map(|(quantity, _)| &quantity.measure);
        let is_missing = |key: &&str| !self.this.rounds.has(key);
        let why = measures.find_map(|measure| {
            let keys = measure.keys();
            let missing = keys.iter().find(|key| is_missing(key));
            match (measure.is_count(), missing) {
                (true, _) => Some(
                    "not all of its rows were counted: in a quick run programs are with --calls only",
                ),
                (false, Some(key)) if key.ends_with(PEER_SUFFIX) => Some(
                    "it is about two machines: --peer ssh:HOST names the second",
                ),
                (false, Some(_)) => Some("not all of its rows were measured"),
                (false, None) => None,
            }
        })?;
        Some(why.to_owned())
    }
}

/// Why a claim of which no part fails is undecided.
fn undecided_reason(
    quantities: &[Quantity],
    values: &[Option<IntervalEstimate>],
    parts: &[Part<'_>],
) -> String {
    if values.iter().any(Option::is_none) {
        return "no round has all of its rows, or one of their figures is not positive".to_owned();
    }
    if values.iter().flatten().any(|it| it.interval.is_none()) {
        return format!("too few rounds for an interval: {MIN_ROUNDS} are needed");
    }
    open_reason(quantities, values, parts)
}

#[cfg(test)]
mod tests;
