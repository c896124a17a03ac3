//! Rows compared that were measured side by side, in one run (docs/explanation/METHOD.md, section 12).
//!
//! A pair is a worker in which both were timed in turns, or two workers one after the other; its effect
//! is the median over the rounds in which neither was disturbed. Pairs lie in different rounds of
//! the run, so that what drifts in it meets both sides alike.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::calls::CallCount;
use oscost_model::clock::Calibration;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::journal::{Design, Pairing, Phase, WorkerOutcome};
use oscost_model::program::{Measured, Workload};
use oscost_model::record::{AddedCost, Comparison, Ratio, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_model::worker::Sample;

use super::comparability::{has_flag, is_cost};
use super::exact_counts::{CountSide, compare_counts, is_count};
use super::verdict::{self, EffectEstimate, verdicts};
use super::{MIN_EFFECT, verdict_text};
use crate::estimate::row::{RowState, WorkerEntry};
use crate::estimate::trials;
use crate::estimate::worker::{SampleContext, by_round};
use oscost_stats::comparison::block_medians;
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

/// A pair needs so many rounds in which neither side was disturbed; of fewer no median is one.
const MIN_ROUNDS: usize = 3;

/// A control this surely beyond half the margin says that something else than what is compared
/// tells the sides apart.
const MAX_CONTROL_P: f64 = 0.001;

/// Where so many per cent more batches were left out on one side, what was left out may be what is
/// looked for.
const MAX_REJECTION_DIFFERENCE_PCT: f64 = 10.0;

/// What the row's own figure is called.
pub(super) const PRIMARY: &str = "primary";

/// What controls are called in a record.
pub const CONTROL: &str = "control";

/// The treatments that act on system calls: an op that makes none is never seen by them.
const CALL_TREATMENTS: [&str; 6] = ["seccomp", "ptrace", "sud", "ebpf", "ftrace", "ph"];

/// A control that came back: nothing differs between its arms.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct Control {
    pub(in crate::estimate) row: u32,
    pub(in crate::estimate) design: Design,
    pub(in crate::estimate) at_s: f64,
    pub(in crate::estimate) samples: Vec<Sample>,
}

/// A run in which rows were measured side by side.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct Interleaved<'a> {
    pub(in crate::estimate) states: &'a [RowState],
    pub(in crate::estimate) rows: &'a [Row],
    pub(in crate::estimate) pairings: &'a [Pairing],
    pub(in crate::estimate) controls: &'a [Control],
    pub(in crate::estimate) clock: &'a Calibration,
}

/// One pair: when it was measured, its ratio, and what the new side adds, in the case's unit.
#[derive(Clone, Copy, Debug)]
struct Pair {
    at_s: f64,
    ratio: f64,
    added: f64,
    ties: u32,
}

/// What is known of two rows, or of a control, before its neighbours are looked at.
struct PairedRows {
    pairing: Pairing,
    metric: String,
    unit: Unit,
    pairs: Vec<Pair>,
    judged: EffectEstimate,
    margin: f64,
}

impl<'a> Interleaved<'a> {
    /// All comparisons of the run, in the order in which they were planned; then its controls.
    pub(in crate::estimate) fn comparisons(self) -> Vec<Comparison> {
        let (boots, others): (Vec<Pairing>, Vec<Pairing>) =
            self.pairings.iter().partition(|it| it.design == Design::Boots);
        let comparable = others.iter().filter(|it| self.is_comparable(it));
        let found: Vec<PairedRows> =
            comparable.flat_map(|versus| self.compare_rows(*versus)).collect();
        let controls: Vec<(Design, PairedRows)> = [Design::Twins, Design::Toggle, Design::Pairs]
            .into_iter()
            .filter_map(|design| Some((design, self.control(design)?)))
            .collect();
        let void = controls.iter().any(|(_, control)| is_control_violated(control));
        let judged: Vec<EffectEstimate> = found.iter().map(|it| it.judged.clone()).collect();
        let margins: Vec<f64> = found.iter().map(|it| it.margin).collect();
        let said = verdicts(&judged, &margins);
        let rows = found.iter().zip(said).map(|(found, (q, verdict))| {
            let verdict = verdict_text(verdict, found.unit.better());
            let verdict = if void { "inconclusive" } else { verdict };
            let mut comparison = self.comparison(found, found.pairing.design, (q, verdict));
            if void {
                comparison.flags.push("VOID".to_owned());
            }
            comparison
        });
        let controls = controls.iter().map(|(design, found)| {
            // A family of its own: it is asked whether the others may be believed.
            let (_, verdict) = verdicts(std::slice::from_ref(&found.judged), &[found.margin])[0];
            let verdict = verdict_text(verdict, found.unit.better());
            let comparison = self.comparison(found, *design, (found.judged.p, verdict));
            Comparison {
                case: CONTROL.to_owned(),
                control: true,
                monitor_events_per_op: None,
                ..comparison
            }
        });
        let boots = boots.iter().filter_map(|versus| self.compare_boots(versus));
        boots.chain(rows).chain(controls).collect()
    }

    /// Two boots: nothing drifts there, and so their rows are compared and no pairs of workers.
    fn compare_boots(self, versus: &Pairing) -> Option<Comparison> {
        let [base, new] =
            [versus.base, versus.new].map(|row| Some((row, self.rows.get(row as usize)?)));
        let (base, new) = (base?, new?);
        let fit = |row: &Row| row.outcome == RowOutcome::Measured && is_count(row);
        if !fit(base.1) || !fit(new.1) || base.1.unit != new.1.unit {
            return None;
        }
        let side = |row: &'a Row| CountSide::of(std::iter::once(row));
        let found = compare_counts(&side(base.1)?, &side(new.1)?)?;
        let at = base.1.repetitions.iter().chain(&new.1.repetitions).map(|it| it.at_s);
        let (first, last) = at.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), at_s| {
            (at_s.min(first), at_s.max(last))
        });
        Some(found.comparison((base, new), versus.design.text(), last - first))
    }

    /// Whether both rows have figures that a ratio can be made of.
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

    /// What is found of two rows: of their figures, and of workloads of each metric that is
    /// compared.
    fn compare_rows(self, versus: Pairing) -> Vec<PairedRows> {
        match &self.states[versus.base as usize].planned.workload {
            Some(workload) => self.compare_trials(versus, workload),
            None => vec![self.compare_workers(versus)],
        }
    }

    /// Two programs: a pair is a trial of each, one after the other.
    fn compare_trials(self, versus: Pairing, workload: &Workload) -> Vec<PairedRows> {
        let [base, new] = [versus.base, versus.new].map(|row| {
            let of_set = trials::counted_trials(&self.states[row as usize]).into_iter();
            let of_set = of_set.filter(|(worker, _)| worker.set == versus.set);
            let trials = of_set.filter_map(|(worker, trial)| {
                Some((round_of(worker.phase)?, (worker.at_s, workload.metrics(trial?))))
            });
            trials.collect::<BTreeMap<u32, (f64, Vec<Measured>)>>()
        });
        let Some((_, first)) = base.values().next() else { return Vec::new() };
        let compared = first.iter().filter(|(name, ..)| workload.is_compared(name));
        let of = |(name, unit, _): &Measured| {
            let figure = |metrics: &[Measured]| {
                let of_name = metrics.iter().find(|(its, ..)| its == name);
                of_name.map(|(.., value)| *value).filter(|&value| is_cost(value))
            };
            let both = base.iter().filter_map(|(round, it)| Some((it, &new.get(round)?.1)));
            // Of nothing there is no ratio, and without the trials in which it was nothing, of a
            // metric that often is, it would be another's.
            let pairs = both.map(|((at_s, base), new)| {
                let (base, new) = (figure(base)?, figure(new)?);
                Some(Pair { at_s: *at_s, ratio: new / base, added: new - base, ties: 0 })
            });
            let pairs = pairs.collect::<Option<Vec<Pair>>>()?;
            let is_primary = *name == workload.primary;
            let metric = if is_primary { PRIMARY.to_owned() } else { name.clone() };
            (!pairs.is_empty()).then(|| self.judge(versus, (metric, *unit), pairs))
        };
        compared.filter_map(of).collect()
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
            let of_new = self.clean_rounds(new, news.get(&round)?)?;
            pair(worker.at_s, &of_base, &of_new, versus.design)
        });
        let unit = self.rows[versus.new as usize].unit;
        self.judge(versus, (PRIMARY.to_owned(), unit), pairs.collect())
    }

    /// The control of a design: the pairs of all its rows.
    fn control(self, design: Design) -> Option<PairedRows> {
        let mut pairs = Vec::new();
        let mut first = None;
        for control in self.controls.iter().filter(|it| it.design == design) {
            let state = self.states.get(control.row as usize)?;
            let Some(how) = self.sample_context(state) else { continue };
            let [one, other] = [0, 1].map(|arm| by_round(&control.samples, arm, how));
            first.get_or_insert(control.row);
            pairs.extend(pair(control.at_s, &one, &other, design));
        }
        let row = first?;
        let of = (PRIMARY.to_owned(), self.rows[row as usize].unit);
        Some(self.judge(Pairing { base: row, new: row, design, set: 0 }, of, pairs))
    }

    fn judge(
        self,
        versus: Pairing,
        (metric, unit): (String, Unit),
        mut pairs: Vec<Pair>,
    ) -> PairedRows {
        pairs.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let margin = self.margin(&self.states[versus.base as usize]).ln_1p();
        let ratios: Vec<[f64; 2]> = pairs.iter().map(|pair| [1.0, pair.ratio]).collect();
        let judged = verdict::interleaved_effect(&ratios, span_s(&pairs), margin);
        PairedRows { pairing: versus, metric, unit, pairs, judged, margin }
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

    /// What is worth mentioning, as a share: 1 %, or what two steps of the clock are of a batch.
    fn margin(self, row: &RowState) -> f64 {
        let batch_ns = row.plan.as_ref().map(|plan| plan.batch_ns).filter(|&ns| ns > 0.0);
        let step_ns = self.clock.ns(self.clock.quantum_ticks);
        batch_ns.map_or(MIN_EFFECT, |ns| (2.0 * step_ns / ns).max(MIN_EFFECT))
    }

    fn comparison(
        self,
        found: &PairedRows,
        design: Design,
        (q, verdict): (f64, &str),
    ) -> Comparison {
        let PairedRows { pairing: versus, pairs, judged, .. } = found;
        let [base, new] = [versus.base, versus.new].map(|row| &self.rows[row as usize]);
        let added: Vec<f64> = pairs.iter().map(|pair| pair.added).collect();
        let merged = judged.flags.contains(&"BLOCKS");
        let added = if merged { block_medians(&added, added.len() / 2) } else { added };
        let added = order::sorted(&added);
        let adds = order::median(&added).unwrap_or(0.0);
        let around =
            median_hs(&added, Nominal::FIXED).map(|it| verdict::widen_for_next_run(adds, it, adds));
        let mut flags: Vec<String> = judged.flags.iter().map(|&flag| flag.to_owned()).collect();
        if calls_differ(&self.states[versus.base as usize], &self.states[versus.new as usize]) {
            flags.push("CALLS_DIFFER".to_owned());
        }
        let rejected = |row: &Row| row.disturbed.rejected_pct.unwrap_or(0.0);
        let mut verdict = verdict;
        if (rejected(new) - rejected(base)).abs() > MAX_REJECTION_DIFFERENCE_PCT {
            flags.push("REJECTION_DIFFERS".to_owned());
            // What was left out may be the effect.
            if verdict == "equivalent" {
                verdict = "inconclusive";
            }
        }
        if self.speculation_differs(versus) {
            flags.push("SPECULATION_DIFFERS".to_owned());
        }
        let seen = self.monitored_per_op(versus.new);
        if seen == Some(0.0) {
            flags.push("NEVER_SEEN".to_owned());
        }
        Comparison {
            case: base.case.clone(),
            metric: found.metric.clone(),
            base: versus.base,
            new: versus.new,
            design: design.text().to_owned(),
            pairs: pairs.len() as u32,
            span_s: span_s(pairs),
            ratio: Ratio {
                value: judged.effect.exp(),
                ci95: judged.interval.map(|it| [it.lo.exp(), it.hi.exp()]),
            },
            added: AddedCost {
                value: adds,
                ci95: around.map(|it| [it.lo, it.hi]),
                unit: found.unit,
            },
            p: judged.p,
            q,
            verdict: verdict.to_owned(),
            mde_pct: judged.min_detectable.map(|it| 100.0 * it.exp_m1()),
            ties: pairs.iter().map(|pair| pair.ties).sum(),
            monitor_events_per_op: seen,
            control: false,
            flags,
        }
    }

    /// Whether the kernel let the two sides speculate differently: what it costs to forbid that is
    /// then part of what was measured.
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

    /// How often one op woke the monitor of its row; where there is none to ask, how many calls it
    /// made that a treatment of calls could see.
    fn monitored_per_op(self, row: u32) -> Option<f64> {
        let (state, row) = (&self.states[row as usize], &self.rows[row as usize]);
        let told = state.workers.iter().filter_map(|worker| match &worker.outcome {
            WorkerOutcome::Sampled { monitor_wakeups_per_op: seen, .. } => *seen,
            WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
        });
        let told: Vec<f64> = told.collect();
        if !told.is_empty() {
            return order::median(&order::sorted(&told));
        }
        let acts = |name: &str| CALL_TREATMENTS.iter().any(|it| name.starts_with(it));
        let acts = row.target.treatments.iter().any(|name| acts(name));
        let calls = row.calls.as_ref().filter(|_| acts)?;
        // The sum of nothing is -0 in this arithmetic.
        let all = calls.per_op.values().chain(calls.peer_per_op.values());
        Some(all.fold(0.0, |sum, times| sum + times))
    }
}

/// The clean batches of one side by their rounds.
type Rounds = BTreeMap<u32, f64>;

/// One pair of workers, or of arms of a worker. `None` where too little of both was undisturbed.
fn pair(at_s: f64, base: &Rounds, new: &Rounds, design: Design) -> Option<Pair> {
    let good = |rounds: &Rounds| -> Vec<f64> {
        rounds.values().copied().filter(|&value| is_cost(value)).collect()
    };
    let middle = |values: Vec<f64>| order::median(&order::sorted(&values));
    if design == Design::Pairs || is_injected(InjectedFault::PairingIgnored) {
        // Two workers: their n-th batches have nothing to do with each other.
        let (base, new) = (good(base), good(new));
        if base.len().min(new.len()) < MIN_ROUNDS {
            return None;
        }
        let (base, new) = (middle(base)?, middle(new)?);
        return Some(Pair { at_s, ratio: new / base, added: new - base, ties: 0 });
    }
    let both: BTreeMap<u32, [f64; 2]> = base
        .iter()
        .filter_map(|(&round, &base)| Some((round, [base, *new.get(&round)?])))
        .filter(|(_, both)| both.iter().all(|&value| is_cost(value)))
        .collect();
    if both.len() < MIN_ROUNDS {
        return None;
    }
    let of = |does: &dyn Fn(&[f64; 2]) -> f64| match design {
        // In the first half the one came before the other, in the second behind it: what drifts
        // meanwhile is of another sign there, and the mean of both is free of it.
        Design::Toggle => {
            let half = base.keys().chain(new.keys()).max().map_or(0, |last| last.div_ceil(2));
            let of_half = |is_second: bool| {
                let its = both.iter().filter(|(round, _)| (**round >= half) == is_second);
                middle(its.map(|(_, both)| does(both)).collect())
            };
            match (of_half(false), of_half(true)) {
                (Some(first), Some(second)) => Some((first + second) / 2.0),
                (first, second) => first.or(second),
            }
        }
        // Boots are compared by their rows, and have no pairs.
        Design::Twins | Design::Pairs | Design::Boots => middle(both.values().map(does).collect()),
    };
    let ratio = of(&|[base, new]| (new / base).ln())?.exp();
    let added = of(&|[base, new]| new - base)?;
    let ties = both.values().filter(|[base, new]| base == new).count() as u32;
    Some(Pair { at_s, ratio, added, ties })
}

/// Whether a control is so surely not nothing that nothing beside it can be believed.
fn is_control_violated(control: &PairedRows) -> bool {
    let half = control.margin / 2.0;
    let beyond = control.judged.interval.is_some_and(|it| it.lo > half || it.hi < -half);
    beyond && control.judged.p <= MAX_CONTROL_P
}

/// The round of a phase; rehearsals and reference cases have none.
fn round_of(phase: Phase) -> Option<u32> {
    match phase {
        Phase::Round(round) => Some(round),
        Phase::Before | Phase::Rehearsal(_) | Phase::After | Phase::StudyMethod(_) => None,
    }
}

fn span_s(pairs: &[Pair]) -> f64 {
    match pairs {
        [first, .., last] => last.at_s - first.at_s,
        _ => 0.0,
    }
}

/// Whether an op makes other calls in the one than in the other.
fn calls_differ(base: &RowState, new: &RowState) -> bool {
    let told = |row: &RowState| row.count.clone();
    let same = |one: &CallCount, other: &CallCount| one.own == other.own && one.ops == other.ops;
    told(base).zip(told(new)).is_some_and(|(base, new)| !same(&base, &new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn a_pair_is_the_median_over_rounds_that_both_have() {
        let mut base = rounds(&[100.0, 200.0, 300.0, 400.0]);
        let new = rounds(&[110.0, 220.0, 330.0, 9_999.0]);
        base.remove(&3);
        let pair = pair(1.0, &base, &new, Design::Twins).unwrap();
        assert!((pair.ratio - 1.1).abs() < 1e-9 && (pair.added - 20.0).abs() < 1e-9, "{pair:?}");
    }

    #[test]
    fn what_differs_from_round_to_round_falls_out_of_twins_and_not_of_two_workers() {
        // Both sides wander from 100 to 900 together: the effect is 5 % in every round.
        let base: Vec<f64> = (1..=9).map(|round| 100.0 * f64::from(round)).collect();
        let new: Vec<f64> = base.iter().map(|value| 1.05 * value).collect();
        let twins = pair(0.0, &rounds(&base), &rounds(&new), Design::Twins).unwrap();
        assert!((twins.ratio - 1.05).abs() < 1e-9);
        let fewer = rounds(&new[..5]);
        let workers = pair(0.0, &rounds(&base), &fewer, Design::Pairs).unwrap();
        assert!(workers.ratio < 0.7, "{workers:?}");
        let twins = pair(0.0, &rounds(&base), &fewer, Design::Twins).unwrap();
        assert!((twins.ratio - 1.05).abs() < 1e-9);
    }

    #[test]
    fn drift_falls_out_of_the_four_turns_of_a_toggled_worker() {
        // One per cent a turn: base, new, new, base. One round of the second half is lost.
        let times = |factor: f64| vec![100.0 * factor; 10];
        let base = rounds(&[times(1.00), times(1.03)].concat());
        let mut new = rounds(&[times(1.01), times(1.02)].concat());
        new.remove(&15);
        let toggled = pair(0.0, &base, &new, Design::Toggle).unwrap();
        assert!((toggled.ratio - 1.0).abs() < 2e-4, "{toggled:?}");
    }

    #[test]
    fn too_few_rounds_are_no_pair_and_equal_ones_are_ties() {
        let [two, three] = [rounds(&[1.0, 1.0]), rounds(&[1.0, 1.0, 1.0])];
        assert!(pair(0.0, &two, &three, Design::Twins).is_none());
        assert!(pair(0.0, &two, &three, Design::Pairs).is_none());
        assert_eq!(pair(0.0, &three, &three, Design::Twins).unwrap().ties, 3);
    }
}
