//! Rows whose subject is a program: each trial is a repetition with several metrics.

use std::collections::BTreeMap;

use oscost_model::calls::CallCount;
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::program::{MetricValue, REAL, TreeUsage, Trial, Workload};
use oscost_model::record::{
    Calls, DisturbanceSummary, Estimate, Metric, Repetition, Row, RowOutcome,
};
use oscost_model::unit::Unit;

use crate::estimate::counters::row as counted_events;
use crate::estimate::rows::cpu_contention::waited_for_cpu;
use crate::estimate::rows::metrics::estimate_values;
use crate::estimate::rows::row_state::{RowEnd, RowState, RunContext, WorkerEntry};
use crate::estimate::rows::study_method;

/// The values of a metric in several trials.
struct MetricValues {
    name: String,
    unit: Unit,
    values: Vec<f64>,
}

/// The values of trials by metric.
fn values(workload: &Workload, trials: &[&Trial]) -> Vec<MetricValues> {
    let each: Vec<Vec<MetricValue>> = trials.iter().map(|trial| workload.metrics(trial)).collect();
    let Some(first) = each.first() else { return Vec::new() };
    let of = |MetricValue { name, unit, .. }: &MetricValue| {
        let values = each.iter().flatten().filter(|it| it.name == *name).map(|it| it.value);
        MetricValues { name: name.clone(), unit: *unit, values: values.collect() }
    };
    first.iter().map(of).collect()
}

/// A trial of a round.
pub(in crate::estimate) struct CountedTrial<'a> {
    pub(in crate::estimate) worker: &'a WorkerEntry,
    /// `None` if it was lost.
    pub(in crate::estimate) trial: Option<&'a Trial>,
}

/// The trials of the rounds.
pub(in crate::estimate) fn counted_trials(state: &RowState) -> Vec<CountedTrial<'_>> {
    let rounds = state.workers.iter().filter(|worker| matches!(worker.phase, Phase::Round(_)));
    let trials = rounds.map(|worker| {
        let trial = match &worker.outcome {
            WorkerOutcome::Trial(trial) => Some(trial.as_ref()),
            WorkerOutcome::Sampled { .. } | WorkerOutcome::Lost { .. } => None,
        };
        CountedTrial { worker, trial }
    });
    trials.collect()
}

/// Whether the peak memory of any of these trials is that of the process that started it: a median of
/// bounds is one.
pub(in crate::estimate) fn has_peak_of_starter(trials: &[CountedTrial<'_>]) -> bool {
    let known = trials.iter().filter_map(|it| it.trial);
    known.map(|trial| trial.usage).any(TreeUsage::is_peak_of_starter)
}

/// The row of a workload.
pub(in crate::estimate) fn row(
    state: &RowState,
    workload: &Workload,
    shared: RunContext<'_>,
) -> Row {
    let counted = counted_trials(state);
    let trials: Vec<&Trial> = counted.iter().filter_map(|it| it.trial).collect();
    let countings = state.evaluated_countings(shared.clock);
    let mut metrics: BTreeMap<String, Metric> = values(workload, &trials)
        .into_iter()
        .filter_map(|MetricValues { name, unit, values }| {
            let estimate = estimate_values(&values, shared.nominal)?;
            Some((name, Metric { unit, better: unit.better(), estimate }))
        })
        .collect();
    metrics.extend(counted_events::metrics(&countings, shared.nominal));
    let primary = metrics.get(&workload.primary).map(|metric| metric.estimate.clone());
    let RowEnd { outcome, reason } = state.end(primary.is_some(), !counted.is_empty());
    let estimate = primary.filter(|_| outcome == RowOutcome::Measured);
    let real_ns = metrics.get(REAL).map(|metric| 1e9 * metric.estimate.median);
    let counters = counted_events::summary(&countings, real_ns);
    let definition = &state.planned.definition;
    let lost = counted.iter().filter(|it| it.trial.is_none()).count();
    let mut flags = Vec::new();
    if estimate.as_ref().is_some_and(|it| it.ci95.is_none()) {
        flags.push("FEW_REPETITIONS".to_owned());
    }
    if state.not_counted.is_some() {
        flags.push("CALLS_UNCOUNTED".to_owned());
    }
    if workload.time.is_some() && are_split_by_ticks(&trials) {
        flags.push("TICK_SPLIT".to_owned());
    }
    if has_peak_of_starter(&counted) {
        flags.push("MEMORY_BOUND".to_owned());
    }
    let warm_up = state.warm_up.as_ref().map(|it| &it.trial);
    if workload.time.is_some() && waited_for_cpu(warm_up, &trials) {
        flags.push("CPU_CONTENTION".to_owned());
    }
    if lost > 0 && state.given_up.is_none() {
        flags.push("WORKER_LOST".to_owned());
    }
    Row {
        case: state.planned.case.to_string(),
        benchmark: definition.id.clone(),
        rev: definition.rev,
        point: state.planned.case.point.clone(),
        target: state.planned.target.clone(),
        outcome,
        reason,
        mode: None,
        unit: definition.unit,
        better: definition.unit.better(),
        estimate: estimate
            .map(|estimate| Estimate { converged: state.converged.unwrap_or(false), ..estimate }),
        metrics,
        counters,
        repetitions: counted.iter().map(|it| repetition(it, workload)).collect(),
        calls: state.count.as_ref().map(calls),
        monitor: state.monitor.clone(),
        core_rate: None,
        floor: None,
        expected: definition.expected.clone(),
        class: None,
        multiples: BTreeMap::new(),
        primary_metric: Some(workload.primary.clone()),
        command: workload.time.map(|_| workload.program.command.clone()),
        program: workload.file.clone(),
        sampled_parameters: workload.sampled.clone(),
        file: None,
        channel: None,
        disturbed: DisturbanceSummary {
            lost_repetitions: lost as u32,
            rejected_pct: None,
            rejected: BTreeMap::new(),
            lost_pct: None,
            median_all: None,
            plan: None,
        },
        study_method: study_method::study_method_figure(state, shared.clock),
        flags,
    }
}

/// In a trial of more clock ticks, one of them moves less than a twentieth of the CPU time from one
/// mode to the other.
const FEW_TICKS: u32 = 20;
/// The shortest clock tick of Linux (CONFIG_HZ_1000).
const SHORTEST_TICK_NS: f64 = 1e6;
/// The resolution of the times of both modes, which are kept in microseconds.
const USAGE_STEP_NS: f64 = 1e3;

/// Whether the clock tick divided the CPU time of trials into that of both modes. The kernel counts
/// in which mode its ticks find a process, and divides the exact sum in that ratio: without a tick
/// in one of the modes, the other one has all of the time; otherwise each has a whole number of
/// ticks. A program whose modes have the same ratio in each trial may have it by itself.
fn are_split_by_ticks(trials: &[&Trial]) -> bool {
    let is_of_one_mode =
        |trial: &&Trial| (trial.usage.user_ns == 0) != (trial.usage.system_ns == 0);
    if trials.iter().any(is_of_one_mode) {
        return true;
    }
    let of_ticks: Vec<TickRatio> =
        trials.iter().filter_map(|trial| tick_ratio(trial.usage)).collect();
    let differ = of_ticks.iter().any(|ratio| *ratio != of_ticks[0]);
    differ && 2 * of_ticks.len() > trials.len()
}

/// The part of user mode in CPU time, in clock ticks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TickRatio {
    user: u32,
    all: u32,
}

/// The ratio of a few ticks that explains how CPU time is divided, in lowest terms, if there is
/// one.
fn tick_ratio(usage: TreeUsage) -> Option<TickRatio> {
    let cpu_ns = usage.cpu_ns() as f64;
    let share = usage.user_ns as f64 / cpu_ns.max(1.0);
    let resolution = 2.0 * USAGE_STEP_NS / cpu_ns.max(1.0);
    let most = ((cpu_ns / SHORTEST_TICK_NS) as u32).saturating_add(1).min(FEW_TICKS);
    let ratio = |all: u32| {
        let user = (share * f64::from(all)).round();
        let explains = (share - user / f64::from(all)).abs() <= resolution;
        explains.then_some(TickRatio { user: user as u32, all })
    };
    (2..=most).find_map(ratio)
}

/// The calls of one run; they are not verified, since a program has no definition.
fn calls(count: &CallCount) -> Calls {
    let each = |calls: &BTreeMap<String, u64>| {
        calls.iter().map(|(call, &times)| (call.clone(), times as f64)).collect()
    };
    Calls {
        per_op: each(&count.own),
        peer_per_op: each(&count.peer),
        counted_ops: count.ops,
        by: count.by.clone(),
        expected: true,
        unexpected: Vec::new(),
        vdso: None,
        instructions_per_op: None,
        tasks_per_op: count.tasks.map(|tasks| tasks as f64),
        faults_per_op: None,
        bytes_per_op: count.bytes.map(|bytes| bytes as f64),
    }
}

fn repetition(counted: &CountedTrial<'_>, workload: &Workload) -> Repetition {
    let CountedTrial { worker, trial } = counted;
    let round = match worker.phase {
        Phase::Round(round) | Phase::Rehearsal(round) => round,
        Phase::Before | Phase::After | Phase::StudyMethod { .. } => 0,
    };
    let metrics = trial.map(|trial| workload.metrics(trial)).unwrap_or_default();
    let primary = metrics.into_iter().find(|metric| metric.name == workload.primary);
    let value = primary.map(|metric| metric.value);
    let reason = match &worker.outcome {
        WorkerOutcome::Lost { reason, .. } => Some(reason.clone()),
        WorkerOutcome::Trial(_) | WorkerOutcome::Sampled { .. } => None,
    };
    Repetition {
        round,
        at_s: worker.at_s,
        arm: 0,
        value,
        value_all: value,
        batches: u32::from(trial.is_some()),
        rejected: BTreeMap::new(),
        lost_pct: None,
        core_cycles_per_ns: None,
        reason,
        samples: None,
        parameters: trial.map(|it| it.parameters.clone()).filter(|it| !it.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(of: &[[u64; 2]]) -> Vec<Trial> {
        let trial = |&[user_us, system_us]: &[u64; 2]| {
            let (user_ns, system_ns) = (1_000 * user_us, 1_000 * system_us);
            let usage = TreeUsage { user_ns, system_ns, ..TreeUsage::default() };
            Trial { usage, ..Trial::default() }
        };
        of.iter().map(trial).collect()
    }

    fn is_flagged(of: &[[u64; 2]]) -> bool {
        let all = trials(of);
        are_split_by_ticks(&all.iter().collect::<Vec<_>>())
    }

    #[test]
    fn times_of_both_modes_that_are_whole_ticks_are_split_by_them() {
        // Of 12.0 ms three ticks, of 15.9 ms four: 250 a second.
        assert!(is_flagged(&[[8_003, 4_001], [4_002, 8_005], [11_925, 3_975]]));
        // In one trial no tick was in the kernel.
        assert!(is_flagged(&[[8_123, 3_456], [9_000, 0], [7_777, 3_210]]));
        // Exactly accounted times.
        assert!(!is_flagged(&[[8_123, 3_456], [8_311, 3_402], [7_777, 3_210]]));
        // Two thirds each time: that of the program.
        assert!(!is_flagged(&[[8_000, 4_000], [8_200, 4_100], [8_100, 4_050]]));
        // One of three by chance.
        assert!(!is_flagged(&[[8_000, 4_000], [8_311, 3_402], [7_777, 3_210]]));
        assert!(!is_flagged(&[]) && !is_flagged(&[[0, 0]]));
    }

    #[test]
    fn many_ticks_divide_well_enough() {
        // 120 of 240 ticks and the like: a tick is less than a hundredth.
        let trials = [[500_213, 459_787], [504_211, 455_789], [496_215, 463_785]];
        assert!(!is_flagged(&trials));
    }

    #[test]
    fn one_trial_with_the_peak_of_its_starter_makes_a_bound() {
        let worker = WorkerEntry {
            phase: Phase::Round(0),
            at_s: 0.0,
            set: 0,
            outcome: WorkerOutcome::Trial(Box::default()),
        };
        let is_bound = |peaks: &[u64]| {
            let trial = |&peak_bytes: &u64| {
                let starter_peak_bytes = Some(2_695);
                let usage = TreeUsage { peak_bytes, starter_peak_bytes, ..TreeUsage::default() };
                Trial { usage, ..Trial::default() }
            };
            let trials: Vec<Trial> = peaks.iter().map(trial).collect();
            let counted = trials.iter().map(Some).chain([None]);
            let counted = counted.map(|trial| CountedTrial { worker: &worker, trial });
            has_peak_of_starter(&counted.collect::<Vec<_>>())
        };
        assert!(is_bound(&[9_000, 2_695]) && !is_bound(&[9_000, 2_696]) && !is_bound(&[]));
    }
}
