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
    if workload.time.is_some() && trials.iter().any(|trial| is_split_by_ticks(trial)) {
        flags.push("TICK_SPLIT".to_owned());
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

/// Whether the clock tick divided the CPU time of a trial: no tick was in one of the two modes, so
/// that the other has all of the time.
fn is_split_by_ticks(trial: &Trial) -> bool {
    let TreeUsage { user_ns, system_ns, .. } = trial.usage;
    (user_ns == 0) != (system_ns == 0)
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
