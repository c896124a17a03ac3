//! The result of a comparison of runs.

use oscost_model::record::{AddedCost, Comparison, Decomposition, Record, Row};

use super::comparability::modes_differ_by_cost_alone;
use super::exact_counts::{CountSide, compare_counts};
use super::interleaved_run::SECONDARY;
use super::margins;
use super::rows::{PRIMARY, RunRow, calls_differ};
use oscost_stats::interval::Interval;

use super::verdict::{EffectEstimate, Judgement, verdicts};

/// The result of a comparison of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The rows of all compared runs, which `comparisons` points into.
    pub results: Vec<Row>,
    /// The pairs of rows.
    pub comparisons: Vec<Comparison>,
    /// For each of them, how many pairs would detect an effect of the margin; `None` if unknown.
    pub pairs_needed: Vec<Option<f64>>,
    /// What was not compared.
    pub not_compared: Vec<SkippedComparison>,
    /// Differences between the sides that may be what is compared.
    pub differences: Vec<String>,
    /// Notes on the comparison as a whole, one sentence each.
    pub notes: Vec<String>,
}

/// A case on a target that was not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedComparison {
    /// The case.
    pub case: String,
    /// The target.
    pub target: String,
    /// Why not.
    pub reason: String,
}

/// How the rows of a comparison were measured.
#[derive(Clone, Copy)]
pub(super) struct Timing {
    pub(super) design: &'static str,
    pub(super) pairs: u32,
    /// From the first pair to the last.
    pub(super) span_s: f64,
}

/// Two rows and the effect found between them.
pub(super) struct JudgedPair<'a> {
    pub(super) base: RunRow<'a>,
    pub(super) new: RunRow<'a>,
    pub(super) timing: Timing,
    pub(super) effect: EffectEstimate,
    /// The metric of the rows: `primary`, or `core-cycles`.
    pub(super) metric: &'static str,
    /// Whether it is one of the hypotheses of the comparison; otherwise the verdict on its rows rests
    /// on their other metric, and it is judged with the others of that kind.
    pub(super) is_hypothesis: bool,
    /// The figure of the base's side, in the unit of its row.
    pub(super) base_figure: f64,
    pub(super) added: AddedCost,
    /// Why the figure changed, by the processor's counters.
    pub(super) decomposition: Option<Decomposition>,
}

impl JudgedPair<'_> {
    fn comparison(self, judgement: Judgement) -> Comparison {
        let Self { base, new, timing, effect, metric, .. } = self;
        let Self { is_hypothesis, base_figure, added, decomposition, .. } = self;
        // The interval of the ratio, applied to the base's figure: what runs differ by is a share.
        let share_of_base = |it: Interval| [it.lo, it.hi].map(|end| base_figure * end.exp_m1());
        let added = match effect.between_runs {
            Some(_) => AddedCost { ci95: judgement.interval.map(share_of_base), ..added },
            None => added,
        };
        let effect = EffectEstimate { interval: judgement.interval, ..effect };
        let mut flags: Vec<String> = effect.flags.iter().map(|&flag| flag.to_owned()).collect();
        if calls_differ(base.row, new.row) {
            flags.push("CALLS_DIFFER".to_owned());
        }
        if modes_differ_by_cost_alone(base.row, new.row) {
            flags.push("MODES_DIFFER".to_owned());
        }
        if !is_hypothesis {
            flags.push(SECONDARY.to_owned());
        }
        Comparison {
            case: base.row.case.clone(),
            metric: metric.to_owned(),
            base: base.index,
            new: new.index,
            design: timing.design.to_owned(),
            pairs: timing.pairs,
            span_s: timing.span_s,
            ratio: effect.ratio(),
            added,
            p: effect.p,
            q: judgement.q,
            verdict: judgement.verdict.text(base.row.better).to_owned(),
            mde_pct: judgement.detectable_pct(),
            ties: 0,
            added_cycles: None,
            monitor_events_per_op: None,
            decomposition,
            control: false,
            flags,
        }
    }
}

impl RunComparison {
    pub(super) fn of_runs(runs: &[&Record]) -> Self {
        Self {
            results: runs.iter().flat_map(|run| run.results.iter().cloned()).collect(),
            comparisons: Vec::new(),
            pairs_needed: Vec::new(),
            not_compared: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Compares the rows of both sides, whose figures are counts.
    pub(super) fn compare_counts(
        &mut self,
        row: &Row,
        base: &[RunRow<'_>],
        new: &[RunRow<'_>],
        design: &'static str,
        span_s: f64,
    ) {
        let side = |rows: &[RunRow<'_>]| CountSide::of(rows.iter().map(|it| it.row));
        let first_rows = base.first().zip(new.first());
        let found = side(base).zip(side(new)).map(|(base, new)| compare_counts(&base, &new));
        match found.zip(first_rows) {
            Some((Some(found), (base, new))) => {
                let comparison =
                    found.comparison(base.into_indexed(), new.into_indexed(), design, span_s);
                self.comparisons.push(comparison);
            }
            Some((None, _)) => {
                self.exclude(row, "one side is 0 instructions or less: there is no ratio");
            }
            None => self.exclude(row, "not measured in any run of one side"),
        }
    }

    pub(super) fn exclude(&mut self, row: &Row, why: impl Into<String>) {
        let (case, target) = (row.case.clone(), row.target.text.clone());
        self.not_compared.push(SkippedComparison { case, target, reason: why.into() });
    }

    /// Adds the verdicts on all pairs, in the order of the base's rows; each is followed by that on
    /// the row's work.
    pub(super) fn conclude(&mut self, mut pairs: Vec<JudgedPair<'_>>, work: Vec<Comparison>) {
        pairs.sort_by_key(|pair| pair.base.index);
        // Counts have their verdicts already, and need no more pairs.
        let counted = std::mem::take(&mut self.comparisons).into_iter().map(|it| (it, None));
        let judgements = judgements(&pairs);
        let judged = pairs.into_iter().zip(judgements).map(|(pair, judgement)| {
            let pairs_needed = pair.effect.pairs_needed;
            (pair.comparison(judgement), pairs_needed)
        });
        let work = work.into_iter().map(|it| (it, None));
        let mut all: Vec<(Comparison, Option<f64>)> = counted.chain(judged).chain(work).collect();
        all.sort_by_key(|(it, _)| it.base);
        (self.comparisons, self.pairs_needed) = all.into_iter().unzip();
    }
}

/// The verdicts on pairs of rows, those on hypotheses apart from those on the other metrics of the same
/// rows.
fn judgements(pairs: &[JudgedPair<'_>]) -> Vec<Judgement> {
    let of_kind = |is_hypothesis: bool| {
        let of_kind = || pairs.iter().filter(|pair| pair.is_hypothesis == is_hypothesis);
        let effects: Vec<EffectEstimate> = of_kind().map(|pair| pair.effect.clone()).collect();
        let margins: Vec<f64> = of_kind().map(|pair| margin(pair.base).ln_1p()).collect();
        verdicts(&effects, &margins).into_iter()
    };
    let (mut hypotheses, mut others) = (of_kind(true), of_kind(false));
    let next = |pair: &JudgedPair<'_>| match pair.is_hypothesis {
        true => hypotheses.next(),
        false => others.next(),
    };
    pairs.iter().filter_map(next).collect()
}

/// The smallest effect worth reporting, as a share: that of a program's metric; of a benchmark 1 %,
/// or two steps of the clock in a batch.
pub(super) fn margin(found: RunRow<'_>) -> f64 {
    if let Some(metric) = &found.row.primary_metric {
        return margins::of_metric(metric);
    }
    let clock = found.machine().and_then(|machine| machine.clock.as_ref());
    let batch_ns = found.row.disturbed.plan.as_ref().map(|plan| plan.batch_ns);
    let of_batch =
        clock.zip(batch_ns.filter(|&ns| ns > 0.0)).map(|(clock, batch_ns)| clock.q_ns / batch_ns);
    margins::of_batches(of_batch)
}

/// The smallest effect worth reporting in the metric of a comparison with this base, as a share. Of a
/// benchmark, two steps of its clock may be more.
pub fn margin_of(it: &Comparison, base: &Row) -> f64 {
    let primary = base.primary_metric.as_deref();
    margins::of_metric(if it.metric == PRIMARY { primary.unwrap_or(PRIMARY) } else { &it.metric })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_of_a_program_has_the_margin_of_its_metric() {
        let text = include_str!("../../../tests/store/run-1.json");
        let run: Record = serde_json::from_str(text).unwrap();
        let margin_of = |metric: Option<&str>| {
            let row = Row { primary_metric: metric.map(str::to_owned), ..run.results[0].clone() };
            margin(RunRow { run: &run, row: &row, index: 0 })
        };
        assert!(margin_of(None) >= 0.01);
        assert_eq!([Some("real"), Some("cpu"), Some("speed")].map(margin_of), [0.005, 0.003, 0.01]);
    }
}
