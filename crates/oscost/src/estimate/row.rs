//! One row of the record: all that happened to a case, and the flags that it earned.

use std::collections::BTreeMap;

use oscost_model::calls::{CallCount, CallRule, Caller};
use oscost_model::channel::ChannelObservation;
use oscost_model::clock::Calibration;
use oscost_model::file::{FileObservation, file_system};
use oscost_model::journal::{Phase, PlannedRow, WorkerOutcome};
use oscost_model::point::Value;
use oscost_model::record::{
    Calls, DisturbanceSummary, FileSummary, Metric, MonitorSummary, Repetition, Row, RowOutcome,
};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, Usage};

use super::case::{CaseEstimate, below_detection, estimate};
use super::conditions::counts_instructions;
use super::metrics::{metrics, requests, throughput};
use super::worker::{SampleContext, WorkerValue, worker_value};
use super::{study_method, trials};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::{order, robust};

/// What the journal has said of a row so far.
#[derive(Clone, Debug)]
pub(super) struct RowState {
    pub(super) planned: PlannedRow,
    pub(super) plan: Option<BatchPlan>,
    pub(super) workers: Vec<WorkerEntry>,
    /// Its experiments in the manner of a study, by their numbers: they are kept apart, so that
    /// nothing of the row's own hangs on them.
    pub(super) experiments: Vec<(u32, WorkerOutcome)>,
    pub(super) count: Option<CallCount>,
    pub(super) not_counted: Option<String>,
    pub(super) monitor: Option<MonitorSummary>,
    pub(super) given_up: Option<(RowOutcome, String)>,
    pub(super) converged: Option<bool>,
}

/// A worker that came back.
#[derive(Clone, Debug)]
pub(super) struct WorkerEntry {
    pub(super) phase: Phase,
    pub(super) at_s: f64,
    /// Which of the comparisons it was measured for.
    pub(super) set: u32,
    pub(super) outcome: WorkerOutcome,
}

/// What every row of a run shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunContext<'a> {
    /// The clock, its rate over the whole run.
    pub(super) clock: Option<&'a Calibration>,
    /// The level of the intervals.
    pub(super) nominal: Nominal,
    /// Whether raw samples go into the record.
    pub(super) keep_samples: bool,
    /// Whether too much time was lost for absolute figures of single shots to mean anything.
    pub(super) very_noisy: bool,
}

impl RunContext<'_> {
    /// Whether instructions are counted, and no time is measured.
    fn counts_instructions(&self) -> bool {
        self.clock.is_some_and(counts_instructions)
    }
}

impl RowState {
    pub(super) fn new(planned: PlannedRow) -> Self {
        Self {
            planned,
            plan: None,
            workers: Vec::new(),
            experiments: Vec::new(),
            count: None,
            not_counted: None,
            monitor: None,
            given_up: None,
            converged: None,
        }
    }

    /// A monitor that it was under tells what it saw.
    pub(super) fn add_monitor_report(
        &mut self,
        copy: Option<u64>,
        profile: Option<&str>,
        anomalies: u64,
    ) {
        let nothing =
            || MonitorSummary { profile_states: Vec::new(), observed_calls: 0, anomalies: 0 };
        let it = self.monitor.get_or_insert_with(nothing);
        it.observed_calls += copy.unwrap_or(0);
        it.anomalies += anomalies;
        if let Some(new) =
            profile.filter(|state| it.profile_states.iter().all(|known| known != state))
        {
            it.profile_states.push(new.to_owned());
        }
    }

    /// How its samples are to be read.
    pub(super) fn sample_context<'a>(
        &self,
        plan: &'a BatchPlan,
        clock: &'a Calibration,
    ) -> SampleContext<'a> {
        let how = SampleContext::new(&self.planned.definition, plan, clock);
        SampleContext { switches: self.sleeps(), ..how }
    }

    /// The values of the workers of those phases, with what disturbed them. Where instructions are
    /// counted no time is known, and so none that was lost.
    pub(super) fn values(
        &self,
        clock: Option<&Calibration>,
        of: impl Fn(Phase) -> bool,
    ) -> Vec<(&WorkerEntry, Option<(WorkerValue, Disturbance)>)> {
        let reading = self.plan.as_ref().zip(clock);
        let reading = reading.map(|(plan, clock)| self.sample_context(plan, clock));
        let read = |entry: &WorkerEntry| match (&entry.outcome, reading) {
            (WorkerOutcome::Sampled { samples, disturbance, .. }, Some(how)) => {
                let disturbance = match counts_instructions(how.clock) {
                    true => Disturbance { wall_ns: 0, ..**disturbance },
                    false => **disturbance,
                };
                Some((worker_value(samples, first_arm(samples), how), disturbance))
            }
            _ => None,
        };
        self.workers
            .iter()
            .filter(|entry| of(entry.phase))
            .map(|entry| (entry, read(entry)))
            .collect()
    }

    /// The row, without its floor, its class and its multiples: those hang on other rows.
    pub(super) fn row(&self, shared: RunContext<'_>) -> Row {
        if let Some(workload) = &self.planned.workload {
            return trials::row(self, workload, shared);
        }
        let workers = self.values(shared.clock, |phase| matches!(phase, Phase::Round(_)));
        let values: Vec<WorkerValue> = workers
            .iter()
            .filter_map(|(_, read)| read.as_ref().map(|(value, _)| value.clone()))
            .collect();
        let case = self.plan.as_ref().and_then(|plan| estimate(&values, plan, shared.nominal));
        let case = match shared.counts_instructions() {
            true => case.map(|case| case.with_exact_count(workers.len())),
            false => case,
        };
        let (outcome, reason) = self.outcome(case.is_some(), &workers);
        let case = case.filter(|_| outcome == RowOutcome::Measured);
        let calls = self.calls();
        let flags = self.flags(case.as_ref(), &values, calls.as_ref(), shared);
        let definition = &self.planned.definition;
        let mut metrics = self.metrics(&workers);
        if let (Some(case), Some(&Value::Number(bytes))) =
            (&case, self.planned.case.point.get(&definition.bytes_axis))
        {
            metrics.extend(throughput(case, definition.unit, bytes));
        }
        let asked = workers.iter().filter_map(|(_, read)| read.as_ref()?.1.channel?.requests);
        metrics.extend(requests(&asked.collect::<Vec<_>>(), shared.nominal));
        // What such a machine calls time is a count of instructions, too.
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
                .map(|(entry, read)| {
                    repetition(entry, read.as_ref(), (shared.keep_samples, self.sleeps()))
                })
                .collect(),
            estimate: case.map(|case| {
                let converged = match shared.counts_instructions() {
                    true => case.estimate.exact,
                    false => self.converged.unwrap_or(false),
                };
                oscost_model::record::Estimate { converged, ..case.estimate }
            }),
            metrics,
            calls,
            monitor: self.monitor.clone(),
            floor: None,
            expected: definition.expected.clone(),
            class: None,
            multiples: BTreeMap::new(),
            primary_metric: None,
            file: self.file(&workers),
            channel: self.channel(&workers),
            study_method: study_method::study_method_figure(self, shared.clock),
            flags,
        }
    }

    /// What became of the row, and why it has no estimate.
    pub(super) fn outcome<T>(
        &self,
        estimated: bool,
        workers: &[(&WorkerEntry, T)],
    ) -> (RowOutcome, Option<String>) {
        match &self.given_up {
            Some((outcome, reason)) => (*outcome, Some(reason.clone())),
            None if estimated => (RowOutcome::Measured, None),
            None if workers.is_empty() => {
                let reason = "the run ended before its first repetition".to_owned();
                (RowOutcome::Skipped, Some(reason))
            }
            None => {
                let reason = "no repetition had enough undisturbed batches".to_owned();
                (RowOutcome::Unmeasurable, Some(reason))
            }
        }
    }

    /// The file that its workers worked on, as all of them saw it.
    fn file<T>(&self, workers: &[(&WorkerEntry, Option<(T, Disturbance)>)]) -> Option<FileSummary> {
        let seen = workers.iter().filter_map(|(_, read)| read.as_ref()?.1.file);
        let seen = seen.reduce(FileObservation::merged_with)?;
        let (system, behind) = file_system(seen.filesystem);
        Some(FileSummary {
            filesystem: system,
            backing: behind.text().to_owned(),
            cold: seen.cold,
            pages: seen.pages,
            checks: seen.checks,
            cached: [seen.min_cached, seen.max_cached],
        })
    }

    /// The channel that its ops went through, as all its workers saw it.
    fn channel<T>(
        &self,
        workers: &[(&WorkerEntry, Option<(T, Disturbance)>)],
    ) -> Option<ChannelObservation> {
        let seen = workers.iter().filter_map(|(_, read)| read.as_ref()?.1.channel);
        seen.reduce(ChannelObservation::merged_with)
    }

    /// Whether half of its figure would be called the time one way, which nobody has measured: the
    /// clocks of two machines are not compared.
    fn is_round_trip_between_machines(&self) -> bool {
        self.planned.target.peer.is_some() && self.planned.definition.id.contains("round-trip")
    }

    /// Whether its ops sleep by themselves.
    pub(super) fn sleeps(&self) -> bool {
        let own = self.planned.definition.sleeps(self.plan.as_ref().map(|plan| plan.mode));
        self.planned.monitored || own
    }

    /// Whether switches could not be counted in a worker of it.
    fn is_blind(&self) -> bool {
        self.workers.iter().any(|worker| {
            matches!(&worker.outcome, WorkerOutcome::Sampled { disturbance, .. } if disturbance.switches_uncounted)
        })
    }

    /// Whether a worker of it brought nothing.
    fn lost_workers(&self) -> bool {
        self.workers.iter().any(|worker| matches!(worker.outcome, WorkerOutcome::Lost { .. }))
    }

    fn calls(&self) -> Option<Calls> {
        let (definition, point) = (&self.planned.definition, &self.planned.case.point);
        let count = self.count.as_ref()?;
        let count = count.clone().grouped_by(definition.ops_per_message(point));
        // A rule may hold at what goes unsaid, too.
        let surprises = count.unexpected(&self.rules(), &definition.with_implied(point));
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
            expected: surprises.is_empty(),
            unexpected: surprises,
            vdso: count.vdso,
            instructions_per_op: count.instructions,
            tasks_per_op: each(count.tasks),
            faults_per_op: each(count.faults),
            bytes_per_op: each(count.bytes),
        })
    }

    /// The rules of its calls. What another machine's peer calls nobody can count here.
    fn rules(&self) -> Vec<CallRule> {
        let rules = self.planned.definition.calls.iter().cloned();
        if self.planned.target.peer.is_none() {
            return rules.collect();
        }
        let near = rules.filter(|rule| rule.caller != Caller::Peer);
        near.map(|rule| CallRule { caller: Caller::Own, ..rule }).collect()
    }

    /// What the kernel charged the workers for an op; where messages move bytes, for a message. Of
    /// other transfers the account is of bytes, which are no ops.
    fn metrics<T>(
        &self,
        workers: &[(&WorkerEntry, Option<(T, Disturbance)>)],
    ) -> BTreeMap<String, Metric> {
        let each = self.planned.definition.ops_per_message(&self.planned.case.point);
        if self.plan.as_ref().is_none_or(|plan| plan.mode == Mode::T && each == 1) {
            return BTreeMap::new();
        }
        let accounts = workers.iter().filter_map(|(_, read)| read.as_ref()?.1.usage);
        let accounts = accounts.map(|account| Usage { ops: account.ops / each, ..account });
        metrics(&accounts.collect::<Vec<_>>())
    }

    fn disturbed<T>(
        &self,
        values: &[WorkerValue],
        workers: &[(&WorkerEntry, Option<(T, Disturbance)>)],
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
            .filter_map(|(_, read)| {
                read.as_ref().and_then(|(_, disturbance)| disturbance.lost_pct(self.sleeps()))
            })
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

    /// The marks that a row earns; docs/reference/RECORDS.md explains each.
    fn flags(
        &self,
        case: Option<&CaseEstimate>,
        values: &[WorkerValue],
        calls: Option<&Calls>,
        shared: RunContext<'_>,
    ) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, earned: bool| {
            if earned {
                flags.push(name.to_owned());
            }
        };
        flag("REFERENCE", self.planned.is_reference && !self.planned.requested);
        flag("PRIMITIVE", !self.planned.is_reference && !self.planned.requested);
        flag("ADDED", self.planned.is_refinement);
        flag("CALLS_UNEXPECTED", calls.is_some_and(|calls| !calls.expected));
        flag("CALLS_UNCOUNTED", self.not_counted.is_some());
        flag("REJECTION_BLIND", self.is_blind());
        flag("WORKER_LOST", self.lost_workers() && self.given_up.is_none());
        let coarse = self.plan.as_ref().is_some_and(|plan| plan.coarse_clock);
        flag("COARSE_CLOCK", coarse && !shared.counts_instructions());
        let Some(case) = case else { return flags };
        let estimate = &case.estimate;
        let median = estimate.median;
        let mode = self.plan.as_ref().map(|plan| plan.mode);
        if shared.counts_instructions() {
            // Flags of noise and of intervals say nothing of a count: it repeats, or it does not.
            flag("NOT_EXACT", !estimate.exact);
            flag("NOT_A_LINE", bends(values, case));
            return flags;
        }
        flag("HALF_ASSUMED", self.is_round_trip_between_machines());
        flag("NOT_CONVERGED", self.converged == Some(false));
        flag("FEW_REPETITIONS", case.interval.is_none());
        if let Some(interval) = case.interval {
            let half = interval.half_width();
            flag("BELOW_DETECTION", below_detection(median, half));
            flag("SKEWED", is_skewed(&case.values, median, half));
            let all = median_of(values, |value| value.value_all);
            flag("REJECT_MATTERS", all.is_some_and(|all| (all - median).abs() > 2.0 * half));
        }
        flag("NOT_A_LINE", bends(values, case));
        flag("DRIFT", drifts(values, shared.nominal));
        let batches = median_of(values, |value| Some(value.batches as f64)).unwrap_or(1.0);
        let expected = estimate.sd_within.map(|within| within / batches.max(1.0).sqrt());
        let differ =
            estimate.sd.zip(expected).is_some_and(|(between, within)| between > 3.0 * within);
        flag("PROCESSES_DIFFER", differ);
        // A shot this long seldom goes by untouched on a shared machine.
        flag("LONG_SHOTS", mode == Some(Mode::S) && median > 1e6);
        let absolute = matches!(mode, Some(Mode::S | Mode::C | Mode::T));
        flag("NOT_CLAIMABLE", shared.very_noisy && absolute);
        flags
    }
}

fn median_of(values: &[WorkerValue], of: impl Fn(&WorkerValue) -> Option<f64>) -> Option<f64> {
    order::median(&order::sorted(&values.iter().filter_map(of).collect::<Vec<_>>()))
}

/// Whether the slopes between neighbouring sizes contradict each other: by more than the interval
/// is wide, and by more than 3 %.
fn bends(values: &[WorkerValue], case: &CaseEstimate) -> bool {
    const ALLOWED: f64 = 0.03;
    let Some(interval) = case.interval else { return false };
    let most = values.iter().map(|value| value.segments.len()).max().unwrap_or(0);
    let slopes: Vec<f64> = (0..most)
        .filter_map(|at| median_of(values, |value| value.segments.get(at).copied()))
        .collect();
    let sorted = order::sorted(&slopes);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return false };
    high - low > 2.0 * interval.half_width()
        && high - low > ALLOWED * case.estimate.raw_median.abs()
}

/// The half-sample mode as a witness: it lies elsewhere where values are lopsided or in two heaps.
fn is_skewed(values: &[f64], median: f64, half_width: f64) -> bool {
    robust::half_sample_mode(values).is_some_and(|mode| {
        let apart = (mode - median).abs();
        apart > 0.02 * median.abs() && apart > 3.0 * half_width
    })
}

/// Whether workers have not settled when they are timed: the interval of the log ratio of their first
/// to their last third lies beyond 1 %.
fn drifts(values: &[WorkerValue], nominal: Nominal) -> bool {
    const ALLOWED: f64 = 0.01;
    let ratios: Vec<f64> = values
        .iter()
        .filter_map(|value| value.first_and_last_third)
        .filter(|&(first, last)| first > 0.0 && last > 0.0)
        .map(|(first, last)| (last / first).ln())
        .collect();
    median_hs(&order::sorted(&ratios), nominal)
        .is_some_and(|Interval { lo, hi }| lo > ALLOWED || hi < -ALLOWED)
}

/// Which arm of its worker the samples are of: a row has those of one.
fn first_arm(samples: &[Sample]) -> u8 {
    samples.first().map_or(0, |sample| sample.arm)
}

fn repetition(
    entry: &WorkerEntry,
    read: Option<&(WorkerValue, Disturbance)>,
    (with_samples, switches): (bool, bool),
) -> Repetition {
    let round = match entry.phase {
        Phase::Round(round) | Phase::Rehearsal(round) => round,
        Phase::Before | Phase::After | Phase::StudyMethod(_) => 0,
    };
    let (samples, lost): (&[Sample], _) = match &entry.outcome {
        WorkerOutcome::Sampled { samples, .. } => (samples, None),
        WorkerOutcome::Trial(_) => (&[], None),
        WorkerOutcome::Lost { reason, .. } => (&[], Some(reason.clone())),
    };
    let value = read.map(|(value, _)| value);
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
        lost_pct: read.and_then(|(_, disturbance)| disturbance.lost_pct(switches)),
        reason: lost.or_else(too_few),
        samples: with_samples.then(|| samples.to_vec()),
    }
}
