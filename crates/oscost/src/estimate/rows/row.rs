//! A row of the record, from its state.

use std::collections::BTreeMap;

use oscost_model::calls::{CallRule, Caller};
use oscost_model::channel::ChannelObservation;
use oscost_model::file::{FileObservation, FileSystem, file_system};
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::point::Value;
use oscost_model::record::{
    Calls, DisturbanceSummary, FileSummary, Metric, Repetition, Row, RowOutcome,
};
use oscost_model::unit::Unit;
use oscost_model::worker::{Mode, Sample, Usage};

use crate::estimate::counters::row as counted;
use crate::estimate::rows::case::estimate;
use crate::estimate::rows::flags::median_of;
use crate::estimate::rows::metrics::{THROUGHPUT, metrics, requests, throughput};
use crate::estimate::rows::row_state::{EvaluatedWorker, RowEnd, RowState, RunContext, first_arm};
use crate::estimate::rows::worker::WorkerValue;
use crate::estimate::rows::{study_method, trials};
use oscost_stats::order;

impl RowState {
    /// The row, without its floor, class and multiples, which depend on other rows.
    pub(in crate::estimate) fn row(&self, shared: RunContext<'_>) -> Row {
        if let Some(workload) = &self.planned.workload {
            return trials::row(self, workload, shared);
        }
        let workers =
            self.evaluated_workers(shared.clock, |phase| matches!(phase, Phase::Round(_)));
        let values: Vec<WorkerValue> =
            workers.iter().filter_map(EvaluatedWorker::value).cloned().collect();
        let case = self.plan.as_ref().and_then(|plan| estimate(&values, plan, shared.nominal));
        let case = match shared.counts_instructions() {
            true => case.map(|case| case.with_exact_count(workers.len())),
            false => case,
        };
        let RowEnd { outcome, reason } = self.end(case.is_some(), !workers.is_empty());
        let case = case.filter(|_| outcome == RowOutcome::Measured);
        let calls = self.calls();
        let flags = self.flags(case.as_ref(), &values, calls.as_ref(), shared);
        let definition = &self.planned.definition;
        let mut metrics = self.metrics(&workers);
        if let (Some(case), Some(&Value::Number(bytes))) =
            (&case, self.planned.case.point.get(&definition.bytes_axis))
        {
            let throughput = throughput(case, definition.unit, bytes);
            metrics.extend(throughput.map(|metric| (THROUGHPUT.to_owned(), metric)));
        }
        let request_stats =
            workers.iter().filter_map(|worker| worker.disturbance()?.channel?.requests);
        metrics.extend(requests(&request_stats.collect::<Vec<_>>(), shared.nominal));
        let countings = self.evaluated_countings(shared.clock);
        metrics.extend(counted::metrics(&countings, shared.nominal));
        let timed_ns = case.as_ref().filter(|_| definition.unit == Unit::NsPerOp);
        let counters = counted::summary(&countings, timed_ns.map(|case| case.estimate.median));
        // On such a machine, times are counts of instructions too.
        metrics.retain(|_, metric| !(shared.counts_instructions() && metric.unit == Unit::NsPerOp));
        Row {
            case: self.planned.case.to_string(),
            benchmark: definition.id.clone(),
            rev: definition.rev,
            point: self.planned.case.point.clone(),
            target: self.planned.target.clone(),
            outcome,
            reason,
            mode: self.plan.as_ref().map(|plan| plan.mode),
            unit: definition.unit,
            better: definition.unit.better(),
            disturbed: self.disturbed(&values, &workers),
            repetitions: workers
                .iter()
                .map(|worker| repetition(worker, shared.keep_samples, self.sleeps()))
                .collect(),
            estimate: case.map(|case| {
                let converged = match shared.counts_instructions() {
                    true => case.estimate.exact,
                    false => self.converged.unwrap_or(false),
                };
                oscost_model::record::Estimate { converged, ..case.estimate }
            }),
            metrics,
            counters,
            calls,
            monitor: self.monitor.clone(),
            core_rate: None,
            floor: None,
            expected: definition.expected.clone(),
            class: None,
            multiples: BTreeMap::new(),
            primary_metric: None,
            command: None,
            program: None,
            sampled_parameters: Vec::new(),
            file: self.file(&workers),
            channel: self.channel(&workers),
            study_method: study_method::study_method_figure(self, shared.clock),
            flags,
        }
    }

    /// The file that its workers worked on, as all of them reported it.
    fn file(&self, workers: &[EvaluatedWorker<'_>]) -> Option<FileSummary> {
        let files = workers.iter().filter_map(|worker| worker.disturbance()?.file);
        let file = files.reduce(FileObservation::merged_with)?;
        let FileSystem { name, backing } = file_system(file.filesystem);
        Some(FileSummary {
            filesystem: name,
            backing: backing.text().to_owned(),
            cold: file.cold,
            pages: file.pages,
            checks: file.checks,
            cached: [file.min_cached, file.max_cached],
        })
    }

    /// The channel of its ops, as all its workers reported it.
    fn channel(&self, workers: &[EvaluatedWorker<'_>]) -> Option<ChannelObservation> {
        let channels = workers.iter().filter_map(|worker| worker.disturbance()?.channel);
        channels.reduce(ChannelObservation::merged_with)
    }

    fn calls(&self) -> Option<Calls> {
        let (definition, point) = (&self.planned.definition, &self.planned.case.point);
        let count = self.count.as_ref()?;
        let count = count.clone().grouped_by(definition.ops_per_message(point));
        // The condition of a rule may name implied values.
        let unexpected = count.unexpected(&self.rules(), &definition.with_implied(point));
        let ops = count.ops.max(1) as f64;
        let each = |times: Option<u64>| times.map(|times| times as f64 / ops);
        let per_op = |calls: &BTreeMap<String, u64>| {
            calls.iter().map(|(call, &times)| (call.clone(), times as f64 / ops)).collect()
        };
        Some(Calls {
            per_op: per_op(&count.own),
            peer_per_op: per_op(&count.peer),
            counted_ops: count.ops,
            by: count.by.clone(),
            expected: unexpected.is_empty(),
            unexpected,
            vdso: count.vdso,
            instructions_per_op: count.instructions,
            tasks_per_op: each(count.tasks),
            faults_per_op: each(count.faults),
            bytes_per_op: each(count.bytes),
        })
    }

    /// The rules of its calls. The calls of a remote peer cannot be counted here.
    fn rules(&self) -> Vec<CallRule> {
        let rules = self.planned.definition.calls.iter().cloned();
        if self.planned.target.peer.is_none() {
            return rules.collect();
        }
        let own = rules.filter(|rule| rule.caller != Caller::Peer);
        own.map(|rule| CallRule { caller: Caller::Own, ..rule }).collect()
    }

    /// The kernel's accounting of the workers per op, or per message if an op is a byte of one.
    /// There is none for other transfers, whose ops are bytes.
    fn metrics(&self, workers: &[EvaluatedWorker<'_>]) -> BTreeMap<String, Metric> {
        let each = self.planned.definition.ops_per_message(&self.planned.case.point);
        if self.plan.as_ref().is_none_or(|plan| plan.mode == Mode::T && each == 1) {
            return BTreeMap::new();
        }
        let accounts = workers.iter().filter_map(|worker| worker.disturbance()?.usage);
        let accounts = accounts.map(|account| Usage { ops: account.ops / each, ..account });
        metrics(&accounts.collect::<Vec<_>>())
    }

    fn disturbed(
        &self,
        values: &[WorkerValue],
        workers: &[EvaluatedWorker<'_>],
    ) -> DisturbanceSummary {
        let mut rejected: BTreeMap<String, u32> = BTreeMap::new();
        for (by, times) in values.iter().flat_map(|value| &value.rejected) {
            *rejected.entry(by.clone()).or_default() += times;
        }
        let hit: u32 = rejected.values().sum();
        let clean: usize = values.iter().map(|value| value.batches).sum();
        let all = f64::from(hit) + clean as f64;
        let lost: Vec<f64> = workers
            .iter()
            .filter_map(|worker| worker.disturbance()?.lost_pct(self.sleeps()))
            .collect();
        DisturbanceSummary {
            lost_repetitions: (workers.len() - values.iter().filter(|v| v.value.is_some()).count())
                as u32,
            rejected_pct: (all > 0.0).then(|| 100.0 * f64::from(hit) / all),
            rejected,
            lost_pct: order::median(&order::sorted(&lost)),
            median_all: median_of(values, |value| value.value_all),
            plan: self.plan.clone(),
        }
    }
}

fn repetition(worker: &EvaluatedWorker<'_>, with_samples: bool, sleeps: bool) -> Repetition {
    let entry = worker.entry;
    let round = match entry.phase {
        Phase::Round(round) | Phase::Rehearsal(round) => round,
        Phase::Before | Phase::After | Phase::StudyMethod { .. } => 0,
    };
    let (samples, lost): (&[Sample], _) = match &entry.outcome {
        WorkerOutcome::Sampled { samples, .. } => (samples, None),
        WorkerOutcome::Trial(_) => (&[], None),
        WorkerOutcome::Lost { reason, .. } => (&[], Some(reason.clone())),
    };
    let value = worker.value();
    let too_few = || {
        let value = value.filter(|value| value.value.is_none())?;
        let hit: u32 = value.rejected.values().sum();
        Some(format!("{hit} of {} batches were disturbed", value.batches + hit as usize))
    };
    Repetition {
        round,
        at_s: entry.at_s,
        arm: first_arm(samples),
        value: value.and_then(|value| value.value),
        value_all: value.and_then(|value| value.value_all),
        batches: value.map_or(0, |value| value.batches as u32),
        rejected: value.map(|value| value.rejected.clone()).unwrap_or_default(),
        lost_pct: worker.disturbance().and_then(|it| it.lost_pct(sleeps)),
        core_cycles_per_ns: worker.disturbance().and_then(|it| it.core_cycles_per_ns),
        reason: lost.or_else(too_few),
        samples: with_samples.then(|| samples.to_vec()),
        parameters: None,
    }
}
