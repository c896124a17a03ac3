//! The state of a row: what the journal contains about it so far.

use oscost_model::calls::CallCount;
use oscost_model::clock::Calibration;
use oscost_model::journal::{CountingOutcome, Phase, PlannedRow, WorkerOutcome};
use oscost_model::program::{OutputDigest, Trial};
use oscost_model::record::{MonitorSummary, RowOutcome};
use oscost_model::worker::{BatchPlan, Disturbance, Sample};

use crate::estimate::clock_rate::counts_instructions;
use crate::estimate::rows::worker::{SampleContext, WorkerValue, worker_value};
use oscost_stats::interval::Nominal;

/// What the journal contains about a row so far.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct RowState {
    pub(in crate::estimate) planned: PlannedRow,
    pub(in crate::estimate) plan: Option<BatchPlan>,
    /// Its run with warm caches, of a program.
    pub(in crate::estimate) warm_up: Option<WarmUp>,
    pub(in crate::estimate) workers: Vec<WorkerEntry>,
    /// Its experiments with a study's method, by number. They are separate, since no figure of the
    /// row depends on them.
    pub(in crate::estimate) experiments: Vec<ExperimentEntry>,
    /// Its workers that counted events.
    pub(in crate::estimate) countings: Vec<CountingEntry>,
    pub(in crate::estimate) count: Option<CallCount>,
    pub(in crate::estimate) not_counted: Option<String>,
    pub(in crate::estimate) monitor: Option<MonitorSummary>,
    pub(in crate::estimate) given_up: Option<Abandonment>,
    pub(in crate::estimate) converged: Option<bool>,
}

/// A program's untimed run with warm caches.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct WarmUp {
    pub(in crate::estimate) trial: Trial,
    pub(in crate::estimate) output: Option<OutputDigest>,
}

/// Why no further worker of a row is measured.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct Abandonment {
    pub(in crate::estimate) outcome: RowOutcome,
    pub(in crate::estimate) reason: String,
}

/// How the measurement of a row ended.
pub(in crate::estimate) struct RowEnd {
    pub(in crate::estimate) outcome: RowOutcome,
    /// Why it has no estimate.
    pub(in crate::estimate) reason: Option<String>,
}

/// An experiment with a study's method, or its part of a round, and its outcome.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct ExperimentEntry {
    pub(in crate::estimate) round: u32,
    pub(in crate::estimate) number: u32,
    pub(in crate::estimate) outcome: WorkerOutcome,
}

/// A worker that counted events, and its outcome.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct CountingEntry {
    pub(in crate::estimate) round: u32,
    pub(in crate::estimate) at_s: f64,
    /// The set of a comparison that it was counted for.
    pub(in crate::estimate) set: u32,
    pub(in crate::estimate) outcome: CountingOutcome,
}

/// A worker and its outcome.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct WorkerEntry {
    pub(in crate::estimate) phase: Phase,
    pub(in crate::estimate) at_s: f64,
    /// The set of a comparison that it was measured for.
    pub(in crate::estimate) set: u32,
    pub(in crate::estimate) outcome: WorkerOutcome,
}

/// A worker and what it measured.
pub(in crate::estimate) struct EvaluatedWorker<'a> {
    pub(in crate::estimate) entry: &'a WorkerEntry,
    /// `None` if it was lost.
    pub(in crate::estimate) measured: Option<MeasuredWorker>,
}

/// The value of a worker, and what disturbed it.
pub(in crate::estimate) struct MeasuredWorker {
    pub(in crate::estimate) value: WorkerValue,
    pub(in crate::estimate) disturbance: Disturbance,
}

impl EvaluatedWorker<'_> {
    pub(in crate::estimate) fn value(&self) -> Option<&WorkerValue> {
        self.measured.as_ref().map(|measured| &measured.value)
    }

    pub(in crate::estimate) fn disturbance(&self) -> Option<&Disturbance> {
        self.measured.as_ref().map(|measured| &measured.disturbance)
    }
}

/// What all rows of a run share.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct RunContext<'a> {
    /// The clock, with its rate over the whole run.
    pub(in crate::estimate) clock: Option<&'a Calibration>,
    /// The level of the intervals.
    pub(in crate::estimate) nominal: Nominal,
    /// Whether the record contains raw samples.
    pub(in crate::estimate) keep_samples: bool,
    /// Whether so much time was lost that absolute figures of single shots are meaningless.
    pub(in crate::estimate) very_noisy: bool,
}

impl RunContext<'_> {
    /// Whether instructions are counted instead of time.
    pub(in crate::estimate) fn counts_instructions(&self) -> bool {
        self.clock.is_some_and(counts_instructions)
    }
}

/// Why a row has no figure that was never tried.
pub const ENDED_BEFORE_FIRST_REPETITION: &str = "the run ended before its first repetition";

impl RowState {
    /// How the measurement of the row ended.
    pub(in crate::estimate) fn end(&self, has_estimate: bool, has_workers: bool) -> RowEnd {
        let without_estimate =
            |outcome, reason: &str| RowEnd { outcome, reason: Some(reason.to_owned()) };
        match &self.given_up {
            Some(Abandonment { outcome, reason }) => without_estimate(*outcome, reason),
            None if has_estimate => RowEnd { outcome: RowOutcome::Measured, reason: None },
            None if !has_workers => {
                without_estimate(RowOutcome::Skipped, ENDED_BEFORE_FIRST_REPETITION)
            }
            None => without_estimate(
                RowOutcome::Unmeasurable,
                "no repetition had enough undisturbed batches",
            ),
        }
    }

    pub(in crate::estimate) fn new(planned: PlannedRow) -> Self {
        Self {
            planned,
            plan: None,
            warm_up: None,
            workers: Vec::new(),
            experiments: Vec::new(),
            countings: Vec::new(),
            count: None,
            not_counted: None,
            monitor: None,
            given_up: None,
            converged: None,
        }
    }

    /// Adds a report of the monitor that observed it.
    pub(in crate::estimate) fn add_monitor_report(
        &mut self,
        observed_calls: Option<u64>,
        profile: Option<&str>,
        anomalies: u64,
    ) {
        let empty =
            || MonitorSummary { profile_states: Vec::new(), observed_calls: 0, anomalies: 0 };
        let it = self.monitor.get_or_insert_with(empty);
        it.observed_calls += observed_calls.unwrap_or(0);
        it.anomalies += anomalies;
        if let Some(state) =
            profile.filter(|state| it.profile_states.iter().all(|known| known != state))
        {
            it.profile_states.push(state.to_owned());
        }
    }

    /// The context in which its samples are read.
    pub(in crate::estimate) fn sample_context<'a>(
        &self,
        plan: &'a BatchPlan,
        clock: &'a Calibration,
    ) -> SampleContext<'a> {
        let context = SampleContext::new(&self.planned.definition, plan, clock);
        SampleContext { switches: self.sleeps(), ..context }
    }

    /// The workers of these phases. If instructions are counted, no time is known, so none is lost.
    pub(in crate::estimate) fn evaluated_workers(
        &self,
        clock: Option<&Calibration>,
        is_included: impl Fn(Phase) -> bool,
    ) -> Vec<EvaluatedWorker<'_>> {
        let context = self.plan.as_ref().zip(clock);
        let context = context.map(|(plan, clock)| self.sample_context(plan, clock));
        let measured = |entry: &WorkerEntry| match (&entry.outcome, context) {
            (WorkerOutcome::Sampled { samples, disturbance, .. }, Some(context)) => {
                let disturbance = match counts_instructions(context.clock) {
                    true => Disturbance { wall_ns: 0, ..**disturbance },
                    false => **disturbance,
                };
                let value = worker_value(samples, first_arm(samples), context);
                Some(MeasuredWorker { value, disturbance })
            }
            _ => None,
        };
        self.workers
            .iter()
            .filter(|entry| is_included(entry.phase))
            .map(|entry| EvaluatedWorker { entry, measured: measured(entry) })
            .collect()
    }

    /// Whether its ops sleep.
    pub(in crate::estimate) fn sleeps(&self) -> bool {
        let own = self.planned.definition.sleeps(self.plan.as_ref().map(|plan| plan.mode));
        self.planned.monitored || own
    }
}

/// The arm of its worker that the samples belong to: a row has samples of one arm.
pub(in crate::estimate) fn first_arm(samples: &[Sample]) -> u8 {
    samples.first().map_or(0, |sample| sample.arm)
}
