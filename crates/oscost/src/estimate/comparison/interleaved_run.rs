//! Comparisons of rows that were measured side by side in one run (docs/explanation/METHOD.md,
//! section 12).
//!
//! A pair is one worker in which both rows were timed alternately, or two workers one after the
//! other. Its effect is the median over the rounds in which neither was disturbed. The pairs are
//! from different rounds of the run, so that drift affects both sides equally.

mod counting_workers;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::clock::Calibration;
use oscost_model::journal::{CaseVariation, Design, Pairing, WorkerOutcome};
use oscost_model::program::Workload;
use oscost_model::record::{Comparison, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_model::worker::Sample;
use oscost_stats::order;

use super::call_differences::calls_differ;
use super::exact_counts::{CountSide, compare_counts};
use super::margins;
use super::paired_rows::{
    ComparedMetric, PairedRows, control_detectable, is_control_equivalent, is_control_violated,
    judge, judgements,
};
use super::pairs::{Pair, Rounds, pair, round_of, span_s};
use super::programs::{self, MetricPairs, metric_pairs};
use super::rows::{IndexedRow, PRIMARY, has_flag, is_cost, is_count};
use super::verdict::{Judgement, PairRule, Verdict, verdicts};
use crate::estimate::core_rate;
use crate::estimate::rows::row_state::{RowState, WorkerEntry};
use crate::estimate::rows::worker::{SampleContext, by_round};

/// If the share of rejected batches differs by more than this many per cent, the rejection may
/// hide the effect.
const MAX_REJECTION_DIFFERENCE_PCT: f64 = 10.0;

/// The flag of a metric that is no hypothesis.
pub const SECONDARY: &str = "SECONDARY";

/// The case name of controls in a record.
const CONTROL: &str = "control";

/// The treatments that act on system calls: they do not affect an op without calls.
const CALL_TREATMENTS: [&str; 6] = ["seccomp", "ptrace", "sud", "ebpf", "ftrace", "ph"];

/// A measured control: its arms do not differ.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct Control {
    pub(in crate::estimate) row: u32,
    pub(in crate::estimate) design: Design,
    pub(in crate::estimate) at_s: f64,
    pub(in crate::estimate) samples: Vec<Sample>,
}

/// A run in which rows were measured side by side.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct InterleavedRun<'a> {
    pub(in crate::estimate) states: &'a [RowState],
    pub(in crate::estimate) rows: &'a [Row],
    pub(in crate::estimate) pairings: &'a [Pairing],
    pub(in crate::estimate) controls: &'a [Control],
    pub(in crate::estimate) clock: &'a Calibration,
    /// How far figures and the core's rate vary between runs, by earlier ones.
    pub(in crate::estimate) variations: &'a [CaseVariation],
}

impl<'a> InterleavedRun<'a> {
    /// All comparisons of the run, in the order in which they were planned; then its controls.
    pub(in crate::estimate) fn comparisons(self) -> Vec<Comparison> {
        let (boots, others): (Vec<Pairing>, Vec<Pairing>) =
            self.pairings.iter().partition(|it| it.design == Design::Boots);
        let comparable = others.iter().filter(|it| self.is_comparable(it));
        let found: Vec<PairedRows> =
            comparable.flat_map(|versus| self.compare_rows(*versus)).collect();
        let controls = self.controls();
        let is_void = controls.iter().any(|(_, control)| is_control_violated(control));
        let rows = found.iter().zip(judgements(&found)).map(|(found, judgement)| {
            let verdict = if is_void { Verdict::Inconclusive } else { judgement.verdict };
            let judgement = Judgement { verdict, ..judgement };
            let mut comparison = self.comparison(found, found.pairing.design, judgement);
            if is_void {
                comparison.flags.push("VOID".to_owned());
            }
            comparison.decomposition = self.decomposition(found);
            comparison
        });
        let controls = controls.iter().map(|(design, found)| {
            // Controls are not corrected for the number of rows: they decide whether the rows are
            // valid.
            let judged = verdicts(std::slice::from_ref(&found.effect), &[found.rule.margin])[0];
            let detectable = control_detectable(found);
            let judgement = Judgement { q: found.effect.p, detectable, ..judged };
            let comparison = self.comparison(found, *design, judgement);
            Comparison {
                case: CONTROL.to_owned(),
                control: true,
                monitor_events_per_op: None,
                ..comparison
            }
        });
        let boots = boots.iter().filter_map(|versus| self.compare_boots(versus));
        boots.chain(rows).chain(self.work(&others)).chain(controls).collect()
    }

    /// Whether a control is not known to be equivalent, although nothing differs in it.
    pub(in crate::estimate) fn has_wide_control(self) -> bool {
        self.controls().iter().any(|(_, control)| !is_control_equivalent(control))
    }

    /// Whether a control shows an effect, although nothing differs in it.
    pub(in crate::estimate) fn has_violated_control(self) -> bool {
        self.controls().iter().any(|(_, control)| is_control_violated(control))
    }

    /// The control of each design that has one.
    fn controls(self) -> Vec<(Design, PairedRows)> {
        let designs = [Design::Twins, Design::Toggle, Design::Pairs].into_iter();
        designs.filter_map(|design| Some((design, self.control(design)?))).collect()
    }

    /// Compares rows of two boots: counts do not drift, so rows are compared and not pairs of
    /// workers.
    fn compare_boots(self, pairing: &Pairing) -> Option<Comparison> {
        let indexed = |index: u32| {
            let row = self.rows.get(index as usize)?;
            let is_comparable = row.outcome == RowOutcome::Measured && is_count(row);
            is_comparable.then_some(IndexedRow { index, row })
        };
        let (base, new) = (indexed(pairing.base)?, indexed(pairing.new)?);
        if base.row.unit != new.row.unit {
            return None;
        }
        let side = |of: IndexedRow<'a>| CountSide::of(std::iter::once(of.row));
        let found = compare_counts(&side(base)?, &side(new)?)?;
        let times = [base, new].into_iter().flat_map(|it| &it.row.repetitions).map(|it| it.at_s);
        let first = times.clone().fold(f64::INFINITY, f64::min);
        let last = times.fold(f64::NEG_INFINITY, f64::max);
        Some(found.comparison(base, new, pairing.design.text(), last - first))
    }

    /// Whether a ratio of the figures of both rows can be formed.
    fn is_comparable(self, versus: &Pairing) -> bool {
        let row = |index: u32| self.rows.get(index as usize);
        let fit = |row: &Row| {
            let median = row.estimate.as_ref().map(|estimate| estimate.median);
            row.outcome == RowOutcome::Measured
                && !has_flag(row, "BELOW_DETECTION")
                && median.is_some_and(is_cost)
        };
        row(versus.base).zip(row(versus.new)).is_some_and(|(base, new)| fit(base) && fit(new))
    }

    /// Compares the figures of two rows; for workloads, each compared metric.
    fn compare_rows(self, versus: Pairing) -> Vec<PairedRows> {
        match &self.states[versus.base as usize].planned.workload {
            Some(workload) => self.compare_trials(versus, workload),
            None => vec![self.compare_workers(versus)],
        }
    }

    /// Compares two programs: a pair is one trial of each, one after the other.
    fn compare_trials(self, versus: Pairing, workload: &Workload) -> Vec<PairedRows> {
        let [base, new] = [versus.base, versus.new].map(|row| &self.states[row as usize]);
        let judged = programs::judged_metric(workload, [base, new]);
        let of = |MetricPairs { name, unit, pairs }: MetricPairs| {
            let rule = programs::rule(workload, &name, versus.looks);
            let is_hypothesis = programs::is_hypothesis(workload, judged, &name);
            let is_primary = name == workload.primary;
            let name = if is_primary { PRIMARY.to_owned() } else { name };
            let metric = ComparedMetric { name, unit };
            PairedRows { is_hypothesis, ..judge(versus, metric, pairs, rule) }
        };
        metric_pairs(versus, workload, [base, new]).into_iter().map(of).collect()
    }

    fn compare_workers(self, versus: Pairing) -> PairedRows {
        let [base, new] = [versus.base, versus.new].map(|row| &self.states[row as usize]);
        let of = |row: &'a RowState| -> BTreeMap<u32, &'a WorkerEntry> {
            let workers = row.workers.iter().filter(|worker| worker.set == versus.set);
            workers.filter_map(|worker| Some((round_of(worker.phase)?, worker))).collect()
        };
        let news = of(new);
        let pairs = of(base).into_iter().filter_map(|(round, worker)| {
            let of_base = self.clean_rounds(base, worker)?;
            let other = news.get(&round)?;
            let of_new = self.clean_rounds(new, other)?;
            let cycles_per_ns = mean_core_rate([worker, other]);
            let pair = pair(worker.at_s, &of_base, &of_new, versus.design)?;
            Some(Pair { cycles_per_ns, ..pair })
        });
        judge(versus, self.primary_metric(versus.new), pairs.collect(), self.rule(base))
    }

    /// The control of a design: the pairs of all its rows.
    fn control(self, design: Design) -> Option<PairedRows> {
        let mut pairs = Vec::new();
        let mut first = None;
        for control in self.controls.iter().filter(|it| it.design == design) {
            let state = self.states.get(control.row as usize)?;
            let Some(context) = self.sample_context(state) else { continue };
            let [one, other] = [0, 1].map(|arm| by_round(&control.samples, arm, context));
            first.get_or_insert(control.row);
            pairs.extend(pair(control.at_s, &one, &other, design));
        }
        let row = first?;
        let pairing = Pairing { base: row, new: row, design, set: 0, looks: 1 };
        let rule = self.rule(&self.states[row as usize]);
        Some(judge(pairing, self.primary_metric(row), pairs, rule))
    }

    /// The metric that a row's own figure is in.
    fn primary_metric(self, row: u32) -> ComparedMetric {
        ComparedMetric { name: PRIMARY.to_owned(), unit: self.rows[row as usize].unit }
    }

    /// The clean batches of a worker of a row, by round.
    fn clean_rounds(self, row: &'a RowState, worker: &WorkerEntry) -> Option<Rounds> {
        let WorkerOutcome::Sampled { samples, .. } = &worker.outcome else { return None };
        let arm = samples.first()?.arm;
        Some(by_round(samples, arm, self.sample_context(row)?))
    }

    fn sample_context(self, row: &'a RowState) -> Option<SampleContext<'a>> {
        Some(row.sample_context(row.plan.as_ref()?, self.clock))
    }

    /// The smallest effect worth reporting is 1 %, or two steps of the clock in a batch.
    fn rule(self, row: &RowState) -> PairRule {
        let batch_ns = row.plan.as_ref().map(|plan| plan.batch_ns).filter(|&ns| ns > 0.0);
        let step_ns = self.clock.ns(self.clock.quantum_ticks);
        let margin = margins::of_batches(batch_ns.map(|ns| step_ns / ns));
        PairRule { margin: margin.ln_1p(), ..PairRule::default() }
    }

    fn comparison(self, found: &PairedRows, design: Design, judgement: Judgement) -> Comparison {
        let PairedRows { pairing: versus, pairs, effect, .. } = found;
        let [base, new] = [versus.base, versus.new].map(|row| &self.rows[row as usize]);
        let added: Vec<f64> = pairs.iter().map(|pair| pair.added).collect();
        let follows = found.metric.name == PRIMARY && core_rate::follows(base);
        // Where the base moves with the core, so does what is added to it.
        let rate_sd = match follows {
            true => core_rate::rate_deviation(base, self.variations),
            false => 0.0,
        };
        let added = found.added(&added, rate_sd, found.metric.unit);
        let cycles: Option<Vec<f64>> =
            pairs.iter().map(|pair| Some(pair.added * pair.cycles_per_ns?)).collect();
        let cycles = cycles.filter(|cycles| follows && !cycles.is_empty());
        let added_cycles = cycles.map(|it| found.added(&it, 0.0, Unit::CyclesPerOp));
        let mut flags: Vec<String> = effect.flags.iter().map(|&flag| flag.to_owned()).collect();
        if !found.is_hypothesis {
            flags.push(SECONDARY.to_owned());
        }
        if calls_differ(&self.states[versus.base as usize], &self.states[versus.new as usize]) {
            flags.push("CALLS_DIFFER".to_owned());
        }
        let rejected = |row: &Row| row.disturbed.rejected_pct.unwrap_or(0.0);
        let mut verdict = judgement.verdict;
        if (rejected(new) - rejected(base)).abs() > MAX_REJECTION_DIFFERENCE_PCT {
            flags.push("REJECTION_DIFFERS".to_owned());
            // The rejected batches may contain the effect.
            if verdict == Verdict::Equivalent {
                verdict = Verdict::Inconclusive;
            }
        }
        let states = [versus.base, versus.new].map(|row| &self.states[row as usize]);
        flags.extend(programs::flags(states).map(str::to_owned));
        if self.speculation_differs(versus) {
            flags.push("SPECULATION_DIFFERS".to_owned());
        }
        let monitor_events_per_op = self.monitored_per_op(versus.new);
        if monitor_events_per_op == Some(0.0) {
            flags.push("NEVER_SEEN".to_owned());
        }
        Comparison {
            case: base.case.clone(),
            metric: found.metric.name.clone(),
            base: versus.base,
            new: versus.new,
            design: design.text().to_owned(),
            pairs: pairs.len() as u32,
            span_s: span_s(pairs),
            ratio: effect.ratio(),
            added,
            added_cycles,
            p: effect.p,
            q: judgement.q,
            verdict: verdict.text(found.metric.unit.better()).to_owned(),
            mde_pct: judgement.detectable_pct(),
            ties: pairs.iter().map(|pair| pair.ties).sum(),
            monitor_events_per_op,
            decomposition: None,
            control: false,
            flags,
        }
    }

    /// Whether the speculation control of the two sides differs: its cost is then part of the
    /// effect.
    fn speculation_differs(self, versus: &Pairing) -> bool {
        let of = |row: u32| -> BTreeSet<&str> {
            let workers = self.states[row as usize].workers.iter();
            let words = workers.filter_map(|worker| match &worker.outcome {
                WorkerOutcome::Sampled { speculation, .. } => speculation.as_deref(),
                WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
            });
            words.collect()
        };
        let (base, new) = (of(versus.base), of(versus.new));
        !base.is_empty() && !new.is_empty() && base != new
    }

    /// How often one op woke the monitor of its row; without a monitor, how many calls it made, if
    /// a treatment acts on calls.
    fn monitored_per_op(self, row: u32) -> Option<f64> {
        let (state, row) = (&self.states[row as usize], &self.rows[row as usize]);
        let wakeups = state.workers.iter().filter_map(|worker| match &worker.outcome {
            WorkerOutcome::Sampled { monitor_wakeups_per_op, .. } => *monitor_wakeups_per_op,
            WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
        });
        let wakeups: Vec<f64> = wakeups.collect();
        if !wakeups.is_empty() {
            return order::median(&order::sorted(&wakeups));
        }
        let acts = |name: &str| CALL_TREATMENTS.iter().any(|it| name.starts_with(it));
        let acts = row.target.treatments.iter().any(|name| acts(name));
        let calls = row.calls.as_ref().filter(|_| acts)?;
        // `sum` of an empty iterator is -0.
        let all = calls.per_op.values().chain(calls.peer_per_op.values());
        Some(all.fold(0.0, |sum, times| sum + times))
    }
}

/// The core's rate beside a pair of workers, in cycles per nanosecond; `None` if one of them did not
/// measure it.
fn mean_core_rate(workers: [&WorkerEntry; 2]) -> Option<f64> {
    let of = |worker: &WorkerEntry| match &worker.outcome {
        WorkerOutcome::Sampled { disturbance, .. } => disturbance.core_cycles_per_ns,
        WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
    };
    let [base, new] = workers.map(of);
    Some((base? + new?) / 2.0).filter(|rate| rate.is_finite() && *rate > 0.0)
}
