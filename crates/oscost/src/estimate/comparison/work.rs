//! Comparison of the instructions of two rows, counted by the processor (docs/explanation/METHOD.md,
//! section 17), and why their figures differ.
//!
//! Instructions hardly vary: not with the load of the machine, nor with the clock. So their margins
//! are a tenth of those of time, and rows of two runs can be equivalent.

use oscost_model::counters::{CounterEvent, INSN};
use oscost_model::record::{
    AddedCost, Comparison, CountedRepetition, Decomposition, Ratio, Record, Row, RowOutcome,
};
use oscost_model::unit::{Better, Unit};
use oscost_stats::between_runs::RunMedian;
use oscost_stats::interval::Interval;

use super::margins::MIN_WORK_EFFECT;
use super::rows::RunRow;
use super::verdict::{EffectEstimate, Judgement, MIN_PAIRS, verdicts};
use super::work_power::WorkPower;
use crate::estimate::counters::decomposition::{TimedChange, decomposition};
use crate::estimate::counters::origin::{
    CountOrigin, MEANS_IN_ONE, OTHER_TASKS, OVER_TICKS_IN_ONE,
};
use crate::estimate::counters::run_values::RunValues;
use crate::estimate::counters::term::{Matching, Sides, Term, median_of};
use crate::estimate::counters::work_variation::work_variation;

/// Work within this factor of each other is equivalent.
pub(super) const EQUIVALENT_WORK: f64 = 1.003;

/// Two rows whose work is compared.
pub(super) struct WorkPair<'a> {
    pub(super) base: &'a Row,
    pub(super) new: &'a Row,
    /// Their indices.
    pub(super) rows: [u32; 2],
    pub(super) design: &'a str,
    pub(super) span_s: f64,
    /// Whether the work of both sides repeats between workers, and between runs where a side has
    /// several; `None` if that is not known.
    pub(super) repeats: Option<bool>,
}

/// The effect found in the work of a pair, before correction for the number of rows.
pub(super) struct WorkEffect<'a> {
    pair: WorkPair<'a>,
    metric: &'static str,
    effect: EffectEstimate,
    added: AddedCost,
    pairs: u32,
}

/// Whether the work of all of these rows repeats between their workers; `None` if that is not known of
/// one, and none varies.
pub(super) fn repeats<'a>(mut rows: impl Iterator<Item = &'a Row> + Clone) -> Option<bool> {
    let of = |row: &Row| row.counters.as_ref().and_then(|it| it.repeats);
    match rows.clone().any(|row| of(row) == Some(false)) {
        true => Some(false),
        false => rows.all(|row| of(row) == Some(true)).then_some(true),
    }
}

/// Whether the events of other tasks are included in the counts of a row.
fn includes_others(row: &Row) -> bool {
    row.counters.as_ref().is_some_and(|it| it.inherited)
}

/// Of counts that are means over batches, whether these are over many ticks; `None` of others.
fn means_over_ticks(row: &Row) -> Option<bool> {
    row.counters.as_ref().filter(|it| it.amortized).map(|it| it.over_ticks)
}

/// Why the counts of two rows cannot be compared, of which one has means that the other has not; `None`
/// if they can.
pub(super) fn means_difference(one: &Row, other: &Row) -> Option<&'static str> {
    match (means_over_ticks(one), means_over_ticks(other)) {
        (one, other) if one == other => None,
        (Some(_), Some(_)) => Some(OVER_TICKS_IN_ONE),
        _ => Some(MEANS_IN_ONE),
    }
}

/// The metric of the work of both sides: of both modes, or of user mode where a side does not see the
/// kernel's part; `None` if a side has no counts.
fn metric(sides: Sides<'_>) -> Option<&'static str> {
    let has = |metric: &str| {
        let counted =
            |side: &[CountedRepetition]| side.iter().any(|it| it.figures.contains_key(metric));
        counted(sides.base) && counted(sides.new)
    };
    [INSN, CounterEvent::InstructionsUser.metric()].into_iter().find(|metric| has(metric))
}

/// The effect in the work of two rows; `None` if a side has no counted instructions.
pub(super) fn work_effect<'a>(pair: WorkPair<'a>, sides: Sides<'_>) -> Option<WorkEffect<'a>> {
    // The work of other tasks is in one and not in the other. Of several runs only such take part as
    // agree in this.
    if sides.matching != Matching::Runs && includes_others(pair.base) != includes_others(pair.new) {
        return None;
    }
    let metric = metric(sides)?;
    let of = |it: &CountedRepetition| it.figures.get(metric).copied();
    let term = sides.work_ratio(&of)?;
    let effect = effect(term, sides.matching, pair.repeats == Some(true));
    let base = median_of(sides.base, &of)?;
    let value = match term.few_runs {
        // Their ratio is that of means: what is added is that share of the base, as its interval is.
        Some(_) => base * term.value.exp_m1(),
        None => sides.difference(&of)?.value,
    };
    let added = AddedCost {
        value,
        // The interval of the ratio, applied to the base's figure: what runs differ by is a share.
        ci95: effect.interval.map(|Interval { lo, hi }| [base * lo.exp_m1(), base * hi.exp_m1()]),
        unit: Unit::InstructionsPerOp,
    };
    Some(WorkEffect { pair, metric, effect, added, pairs: term.pairs as u32 })
}

/// The effect of a term. A few workers decide only if the work of both sides repeats, and if they are
/// those of two runs; a few runs, if that of all of them does.
fn effect(term: Term, matching: Matching, repeats: bool) -> EffectEstimate {
    let found = EffectEstimate { effect: term.value, p: 1.0, ..EffectEstimate::default() };
    let enough = term.pairs >= MIN_PAIRS || (matching != Matching::ByRound && repeats);
    let Some(interval) = term.interval.filter(|_| enough) else {
        return EffectEstimate { flags: vec!["FEW_PAIRS"], ..found };
    };
    let (below, above) = (term.value - interval.lo, interval.hi - term.value);
    let bound = EQUIVALENT_WORK.ln();
    // The half-width on the side of no effect; it is never 0.
    let toward_zero = if term.value > 0.0 { below } else { above };
    let (p, power) = match term.few_runs {
        Some(difference) => (difference.p, WorkPower::FewRuns(difference)),
        None => {
            let power = WorkPower::HalfWidth(below.max(above));
            (WorkPower::p(term.value, toward_zero), power)
        }
    };
    EffectEstimate {
        interval: Some(interval),
        p,
        work_power: Some(power),
        equivalent: -bound < interval.lo && interval.hi < bound,
        ..found
    }
}

/// The comparisons of the work of rows, judged together: they are a family of their own, since each
/// time has been judged among the times.
pub(super) fn judge_work(effects: Vec<WorkEffect<'_>>) -> Vec<Comparison> {
    let estimates: Vec<EffectEstimate> = effects.iter().map(|it| it.effect.clone()).collect();
    let margins = vec![MIN_WORK_EFFECT.ln_1p(); estimates.len()];
    let comparison = |(it, judgement): (WorkEffect<'_>, Judgement)| {
        let WorkEffect { pair, metric, effect, added, pairs } = it;
        let mut flags: Vec<String> = effect.flags.iter().map(|&flag| flag.to_owned()).collect();
        if pair.repeats == Some(false) {
            flags.push("WORK_VARIES".to_owned());
        }
        Comparison {
            case: pair.base.case.clone(),
            metric: metric.to_owned(),
            base: pair.rows[0],
            new: pair.rows[1],
            design: pair.design.to_owned(),
            pairs,
            span_s: pair.span_s,
            ratio: effect.ratio(),
            added,
            p: effect.p,
            q: judgement.q,
            verdict: judgement.verdict.text(Better::Lower).to_owned(),
            mde_pct: judgement.detectable_pct(),
            ties: 0,
            added_cycles: None,
            monitor_events_per_op: None,
            decomposition: None,
            control: false,
            flags,
        }
    };
    let judgements = verdicts(&estimates, &margins);
    effects.into_iter().zip(judgements).map(comparison).collect()
}

/// The change of a figure that has terms which add up to it; `None` of one that is no time per op.
fn timed_change(
    base: &Row,
    new: &Row,
    ratio: &Ratio,
    counting: Option<f64>,
) -> Option<TimedChange> {
    let is_time = matches!(base.unit, Unit::NsPerOp | Unit::Seconds) && base.unit == new.unit;
    (is_time && ratio.value > 0.0).then(|| TimedChange::of(ratio, counting))
}

/// Why the figure of a row changed; `None` if a side has no counted instructions.
pub(super) fn decompose(
    base: &Row,
    new: &Row,
    sides: Sides<'_>,
    ratio: &Ratio,
) -> Option<Decomposition> {
    let (one, other) = (base.counters.as_ref()?, new.counters.as_ref()?);
    let counting = one.counted_time_ratio.zip(other.counted_time_ratio);
    let counting = counting.filter(|(from, _)| *from > 0.0).map(|(from, to)| to / from);
    decomposition(sides, timed_change(base, new, ratio, counting)?)
}

/// The same of rows of which a side has several runs.
pub(super) fn decompose_runs(
    base: &Row,
    new: &Row,
    values: &RunValues,
    ratio: &Ratio,
) -> Option<Decomposition> {
    decomposition(values.sides(), timed_change(base, new, ratio, values.counting)?)
}

/// A case on a target, as a stored run has it.
#[derive(Clone, Copy, Debug)]
pub struct StoredCase<'a> {
    /// The case.
    pub case: &'a str,
    /// The target.
    pub target: &'a str,
    /// Whether its peer is on another machine.
    pub has_peer: bool,
}

impl StoredCase<'_> {
    /// Its row in a run: of a comparison of a target with itself the base.
    fn row(self, run: &Record) -> Option<RunRow<'_>> {
        let is_it = |row: &Row| {
            row.case == self.case
                && row.target.text == self.target
                && row.target.peer.is_some() == self.has_peer
                && row.outcome == RowOutcome::Measured
                && row.estimate.is_some()
        };
        let (index, row) = run.results.iter().enumerate().find(|(_, row)| is_it(row))?;
        Some(RunRow { run, row, index: index as u32 })
    }
}

/// Why the figure of a case changed by this ratio from one stored run to another, by the events
/// that both counted; `None` if one of them has none. The error says why they cannot be compared.
pub fn change_between(
    base: &Record,
    new: &Record,
    of: StoredCase<'_>,
    ratio: f64,
) -> Option<Result<Decomposition, &'static str>> {
    let (base, new) = (of.row(base)?, of.row(new)?);
    if let Some(why) = work_difference(base, new) {
        return Some(Err(why));
    }
    let (base, new) = (base.row, new.row);
    if includes_others(base) != includes_others(new) {
        return Some(Err(OTHER_TASKS));
    }
    let sides = stored_sides(base, new, &[])?;
    decompose(base, new, sides, &Ratio { value: ratio, ci95: None }).map(Ok)
}

/// Both sides of two stored rows, with how far work varies between runs by these earlier ones of the case,
/// those of a boot in one item.
pub(super) fn stored_sides<'a>(
    base: &'a Row,
    new: &'a Row,
    earlier: &[Vec<RunMedian>],
) -> Option<Sides<'a>> {
    let side = |row: &'a Row| row.counters.as_ref().map(|it| it.repetitions.as_slice());
    let (matching, variation) = (Matching::Unmatched, Some(work_variation(base, earlier)));
    Some(Sides { base: side(base)?, new: side(new)?, matching, variation })
}

/// Why the counted events of two stored rows cannot be compared; `None` if they can, or if a side
/// has none.
pub(super) fn work_difference(base: RunRow<'_>, new: RunRow<'_>) -> Option<&'static str> {
    let has_counts = |it: RunRow<'_>| it.row.counters.as_ref().is_some_and(|it| it.workers > 0);
    if !has_counts(base) || !has_counts(new) {
        return None;
    }
    origin(base).difference(origin(new)).or_else(|| means_difference(base.row, new.row))
}

/// The worker and the boot of the counts of a row.
pub(super) fn origin(of: RunRow<'_>) -> CountOrigin<'_> {
    CountOrigin { worker: &of.run.tool.worker.hash, boot: of.boot() }
}
