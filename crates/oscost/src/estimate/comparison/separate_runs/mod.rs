//! The comparison of runs that did not alternate: one on each side, or a few
//! (docs/explanation/METHOD.md, section 11).
//!
//! Each run is one value, its median. Two values say nothing about how far a case varies between
//! runs in which nothing changed; that is known from earlier runs of the same system, and from the
//! class of the case.

mod core_cycles;
mod earlier_runs;
mod reference_drift;

use std::collections::BTreeSet;

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::record::{AddedCost, Decomposition, Record};
use oscost_stats::between_runs::{
    Prior, RunDifference, RunMedian, RunVariation, run_difference, variance_between_sides,
};
use oscost_stats::moments;

use self::core_cycles::CycleRows;
pub use self::earlier_runs::EarlierRuns;
use self::reference_drift::ReferenceDrift;
use super::comparability::{
    incomparable_reason, method_differences, not_claimable_reason, system_differences,
};
use super::rows::{
    PRIMARY, RowKey, RowsByKey, RunRow, counts_instructions, has_flag, is_count, median, rows_by_key,
};
use super::run_comparison::{JudgedPair, RunComparison, Timing};
use super::start_time::{distance_s, start_time};
use super::verdict::{self, EffectEstimate, MIN_EFFECT, Side, neighbours};
use super::work::{
    WorkEffect, WorkPair, decompose, judge_work, stored_sides, work_difference, work_effect,
};
use crate::estimate::between_runs::{prior, run_median};

/// Compares the runs of two sides, each with at least one.
pub(super) fn compare_separate(
    base: &[&Record],
    new: &[&Record],
    earlier: &EarlierRuns,
) -> RunComparison {
    let all: Vec<&Record> = base.iter().chain(new).copied().collect();
    let mut compared = RunComparison::of_runs(&all);
    let (Some(&first), Some(&other)) = (base.first(), new.first()) else { return compared };
    compared.differences = system_differences(first, other);
    let notes = all[1..].iter().flat_map(|run| method_differences(first, run));
    compared.notes = notes.collect::<BTreeSet<_>>().into_iter().collect();
    for (side, runs) in [("base", base), ("new", new)] {
        let differences = runs.iter().flat_map(|run| system_differences(runs[0], run));
        let differences: BTreeSet<String> = differences.collect();
        let differences = differences.into_iter();
        compared.notes.extend(
            differences.map(|text| format!("the {side} runs differ among themselves: {text}")),
        );
    }
    let same_system = all[1..].iter().all(|run| system_differences(first, run).is_empty());
    let mut is_claimable = true;
    for (side, runs) in [("base", base), ("new", new)] {
        for run in runs {
            let Some(why) = not_claimable_reason(run) else { continue };
            is_claimable = false;
            compared.notes.push(match runs.len() {
                1 => format!("no verdict: the {side} run {why}"),
                _ => format!("no verdict: run {} {why}", run.id),
            });
        }
    }
    // Instruction counts of reference cases do not drift.
    let (drift, drift_in_cycles) = match all.iter().any(|run| counts_instructions(run)) {
        true => (ReferenceDrift::default(), None),
        false => (
            ReferenceDrift::between(base, new, same_system),
            ReferenceDrift::in_cycles(base, new, same_system),
        ),
    };
    let same_boot = boot(first).is_some() && all.iter().all(|run| boot(run) == boot(first));
    let evidence = Evidence { earlier, same_boot, drift, drift_in_cycles, is_claimable };
    let found = rows_by_key(&all);
    let mut judged = Vec::new();
    let mut work = Work::default();
    let mut sources = Vec::new();
    let mut cycle_rows = CycleRows::default();
    for (key, rows) in &found {
        let sides = match comparable_sides(&found, *key, base, new) {
            Ok(sides) => sides,
            Err(why) => {
                compared.exclude(rows[0].row, why);
                continue;
            }
        };
        let [one, other] = [sides.base[0], sides.new[0]];
        if is_count(one.row) && is_count(other.row) {
            let span_s = sides.span_s();
            compared.compare_counts(rows[0].row, &sides.base, &sides.new, "stored", span_s);
            continue;
        }
        let Some(JudgedEffect { effect, source, between_sides }) = evidence.effect(&sides) else {
            let why = "fewer than six repetitions on a side: there is no interval";
            compared.exclude(rows[0].row, why);
            continue;
        };
        sources.push(source);
        let decomposition = work.add(&sides, &effect);
        // By the variation between runs alone, before either effect is looked at.
        let in_cycles = evidence.effect_in_cycles(&sides).and_then(|it| {
            let vary_less = it.between_sides < between_sides;
            sides.judged_in_cycles(it.effect, vary_less)
        });
        let by_cycles = in_cycles.as_ref().is_some_and(|it| it.is_hypothesis);
        if in_cycles.is_some() {
            cycle_rows.add(by_cycles);
        }
        judged.push(sides.judged(effect, !by_cycles, decomposition));
        judged.extend(in_cycles);
    }
    let Work { effects, differences } = work;
    let why = differences.into_iter();
    compared.notes.extend(why.map(|why| format!("instructions are not compared: {why}")));
    if !judged.is_empty() {
        compared.notes.extend(evidence.drift_note());
        compared.notes.extend(source_of_variation(sources));
        compared.notes.extend(cycle_rows.note());
    }
    compared.conclude(judged, judge_work(effects));
    cycle_rows.complete(&mut compared);
    compared
}

/// The boot of the measuring machine of a run, if it is known.
fn boot(run: &Record) -> Option<&str> {
    run.machines.first()?.counters.boot.as_deref()
}

/// The comparable rows of a case on a target, at least one on each side.
struct CaseSides<'a> {
    base: Vec<RunRow<'a>>,
    new: Vec<RunRow<'a>>,
    /// How many pairs of neighbours in time they form, at least 1.
    alternations: usize,
}

/// The rows with this key, or why they cannot be compared. Of several runs a side, those that are
/// not comparable with the first usable one of the base, or have too few repetitions, are left out
/// if others are not; and those without a neighbour on the other side, if at least two pairs have one.
fn comparable_sides<'a>(
    found: &RowsByKey<'a>,
    key: RowKey<'a>,
    base: &[&Record],
    new: &[&Record],
) -> Result<CaseSides<'a>, String> {
    let of_side = |runs: &[&Record]| -> Vec<RunRow<'a>> {
        let row_of = |run: &&Record| found[&key].iter().copied().find(|it| it.run.id == run.id);
        runs.iter().filter_map(row_of).collect()
    };
    let (base, new) = (of_side(base), of_side(new));
    let is_usable = |it: &&RunRow<'_>| incomparable_reason(**it, **it).is_none();
    let first_of = |rows: &[RunRow<'a>]| rows.iter().find(is_usable).or(rows.first()).copied();
    let (Some(first), Some(other)) = (first_of(&base), first_of(&new)) else {
        let side = if base.is_empty() { "base" } else { "new run" };
        return Err(missing_reason(found, key, side));
    };
    let several = base.len() > 1 || new.len() > 1;
    let is_comparable = |it: &RunRow<'a>| {
        let has_value = !several || is_count(it.row) || run_median(it.row).is_some();
        has_value && incomparable_reason(first, *it).is_none()
    };
    let comparable = |rows: Vec<RunRow<'a>>| -> Vec<RunRow<'a>> {
        rows.into_iter().filter(is_comparable).collect()
    };
    let (base, new) = (comparable(base), comparable(new));
    match base.is_empty() || new.is_empty() {
        true => Err(incomparable_reason(first, other)
            .or_else(|| incomparable_reason(first, first))
            .unwrap_or_else(|| "no run of a side is comparable".to_owned())),
        false => Ok(CaseSides::of(base, new)),
    }
}

impl<'a> CaseSides<'a> {
    fn of(base: Vec<RunRow<'a>>, new: Vec<RunRow<'a>>) -> Self {
        let of_side = |side: Side, rows: &[RunRow<'a>]| -> Vec<(Side, RunRow<'a>)> {
            rows.iter().map(|&row| (side, row)).collect()
        };
        let mut all = of_side(Side::Base, &base);
        all.extend(of_side(Side::New, &new));
        all.sort_by_key(|(_, it)| start_time(it.run));
        let sides: Vec<Side> = all.iter().map(|(side, _)| *side).collect();
        let pairs = neighbours(&sides);
        // Runs of another day would move the mean of their side alone.
        if pairs.len() < 2 || is_count(all[0].1.row) {
            return Self { base, new, alternations: 1 };
        }
        let base = pairs.iter().map(|&[at, _]| all[at].1).collect();
        let new = pairs.iter().map(|&[_, at]| all[at].1).collect();
        Self { base, new, alternations: pairs.len() }
    }

    fn all(&self) -> impl Iterator<Item = &RunRow<'a>> {
        self.base.iter().chain(&self.new)
    }

    /// The time from the first run to the last.
    fn span_s(&self) -> f64 {
        let mut starts: Vec<_> = self.all().filter_map(|it| start_time(it.run)).collect();
        starts.sort_unstable();
        distance_s(starts.first().copied(), starts.last().copied())
    }

    fn judged(
        self,
        effect: EffectEstimate,
        is_hypothesis: bool,
        decomposition: Option<Decomposition>,
    ) -> JudgedPair<'a> {
        let [from, to] = [&self.base, &self.new].map(|rows| median_of_side(rows));
        // Its interval follows from that of the ratio, which is corrected for the number of rows.
        let added = AddedCost { value: to - from, ci95: None, unit: self.base[0].row.unit };
        let pairs = self.alternations as u32;
        let timing = Timing { design: "stored", pairs, span_s: self.span_s() };
        let (base, new) = (self.base[0], self.new[0]);
        JudgedPair {
            base,
            new,
            timing,
            effect,
            metric: PRIMARY,
            is_hypothesis,
            base_figure: from,
            added,
            decomposition,
        }
    }
}

/// The figure of a side: as the effect, a mean of logarithms.
fn median_of_side(rows: &[RunRow<'_>]) -> f64 {
    match rows {
        [only] => median(only.row),
        rows => {
            let logs: Vec<f64> = rows.iter().map(|it| median(it.row).ln()).collect();
            moments::mean(&logs).map_or(0.0, f64::exp)
        }
    }
}

/// What is known of the variation between runs.
struct Evidence<'a> {
    earlier: &'a EarlierRuns,
    /// Whether all runs are of one boot.
    same_boot: bool,
    drift: ReferenceDrift,
    /// The same in cycles of the core, if its rate is known beside reference cases of both sides.
    drift_in_cycles: Option<ReferenceDrift>,
    /// Whether verdicts may be based on these runs.
    is_claimable: bool,
}

/// An effect, and where the variation between runs that it rests on comes from.
struct JudgedEffect {
    effect: EffectEstimate,
    source: VariationSource,
    /// The variance of the effect by the variation between runs alone.
    between_sides: f64,
}

/// Where the variation between runs of a row comes from.
#[derive(Clone, Copy)]
struct VariationSource {
    /// Its standard deviation.
    deviation: f64,
    /// How many earlier runs of its systems show it.
    earlier_runs: usize,
}

impl Evidence<'_> {
    /// The effect between two sides; `None` if a run has too few repetitions.
    fn effect(&self, sides: &CaseSides<'_>) -> Option<JudgedEffect> {
        let medians = |rows: &[RunRow<'_>]| -> Option<Vec<RunMedian>> {
            rows.iter().map(|it| run_median(it.row)).collect()
        };
        let (base, new) = (medians(&sides.base)?, medians(&sides.new)?);
        let row = sides.base[0].row;
        // The compared runs apart from the earlier ones: which side they are on changes nothing.
        let (of_base, of_new) = (self.earlier.base.of(row), self.earlier.new.of(row));
        let prior = prior(row);
        let variation = RunVariation::pooled(&[of_base, &base, of_new, &new], prior);
        let source = |variation: RunVariation| VariationSource {
            deviation: variation.deviation,
            earlier_runs: of_base.len() + of_new.len(),
        };
        let variation = self.of_boots(variation, prior);
        let (used, common) = match is_injected(InjectedFault::RunsAsInterleaved) {
            true => (RunVariation { deviation: 0.0, ..variation }, 0.0),
            false => (variation, self.drift.of(row)),
        };
        let difference = run_difference(&base, &new, sides.alternations, used, common)?;
        Some(JudgedEffect {
            effect: self.judged(difference, sides),
            source: source(variation),
            between_sides: variance_between_sides(sides.alternations, used, common),
        })
    }

    /// Addresses and layouts change with the boot, which runs of one boot do not show.
    fn of_boots(&self, variation: RunVariation, prior: Prior) -> RunVariation {
        if self.same_boot { variation } else { variation.at_least(prior.deviation) }
    }

    /// A difference as an effect, without a verdict where nothing may be concluded from the runs.
    fn judged(&self, difference: RunDifference, sides: &CaseSides<'_>) -> EffectEstimate {
        let mut effect = verdict::separate_effect(difference);
        if !self.is_claimable || sides.all().any(|it| has_flag(it.row, "UNRELIABLE")) {
            effect.flags.push("UNRELIABLE");
            effect.p = 1.0;
        }
        effect
    }

    /// That the machine as a whole changed.
    fn drift_note(&self) -> Option<String> {
        let drift = self.drift.max();
        (drift > MIN_EFFECT.ln_1p()).then(|| {
            format!(
                "the reference cases differ by {:.0} % between the sides: intervals allow for it",
                100.0 * drift.exp_m1(),
            )
        })
    }
}

/// How far the rows vary between runs, and how that is known; `None` without rows.
fn source_of_variation(mut sources: Vec<VariationSource>) -> Option<String> {
    sources.sort_by_key(|it| it.earlier_runs);
    let runs = sources.get(sources.len() / 2)?.earlier_runs;
    sources.sort_by(|one, other| one.deviation.total_cmp(&other.deviation));
    let pct = 100.0 * sources.get(sources.len() / 2)?.deviation.exp_m1();
    let s = if runs == 1 { "" } else { "s" };
    let known = match runs {
        0 => "that of cases of the same class, since no earlier runs of this system (machine, kernel, \
              worker) are known"
            .to_owned(),
        runs => format!(
            "by {runs} earlier run{s} of this system (machine, kernel, worker) in the store, the \
             compared runs, and cases of the same class"
        ),
    };
    Some(format!("variation between runs: {pct:.1} % in the median row, {known}"))
}

/// The work of the compared rows, as far as it was counted.
#[derive(Default)]
struct Work<'a> {
    effects: Vec<WorkEffect<'a>>,
    /// Why some are not compared.
    differences: BTreeSet<&'static str>,
}

impl<'a> Work<'a> {
    /// Adds the work of a row that has one run on each side; the result is why its time changed.
    fn add(&mut self, sides: &CaseSides<'a>, effect: &EffectEstimate) -> Option<Decomposition> {
        let ([one], [other]) = (&sides.base[..], &sides.new[..]) else { return None };
        if let Some(why) = work_difference(*one, *other) {
            self.differences.insert(why);
            return None;
        }
        let (base, new) = (one.row, other.row);
        let counted = stored_sides(base, new)?;
        let (rows, span_s) = ([one.index, other.index], sides.span_s());
        let pair = WorkPair { base, new, rows, design: "stored", span_s, sides: counted };
        self.effects.extend(work_effect(pair));
        decompose(base, new, counted, &effect.ratio())
    }
}

/// Why one of the two sides has no row with this key.
fn missing_reason(found: &RowsByKey<'_>, key: RowKey<'_>, side: &str) -> String {
    let mut of_case = found.keys().filter(|it| it.case == key.case);
    if of_case.clone().any(|it| it.target == key.target && it.peer != key.peer) {
        let location = |remote: bool| if remote { "on two machines" } else { "on one machine" };
        let (own, other) = (location(key.peer.is_some()), location(key.peer.is_none()));
        return format!("another peer: its ends are {own} here, {other} in the {side}");
    }
    let text = |key: &RowKey<'_>| found[key][0].row.target.text.clone();
    match of_case.find(|it| it.target != key.target) {
        Some(other) => {
            format!("another target: `{}` here, `{}` in the {side}", text(&key), text(other))
        }
        None => format!("not measured in the {side}"),
    }
}
