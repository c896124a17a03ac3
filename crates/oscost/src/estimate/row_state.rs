//! The state of a row: what the journal contains about it so far.

use oscost_model::calls::CallCount;
use oscost_model::clock::Calibration;
use oscost_model::journal::{CountingOutcome, Phase, PlannedRow, WorkerOutcome};
use oscost_model::record::{MonitorSummary, RowOutcome};
use oscost_model::worker::{BatchPlan, Disturbance, Sample};

use super::clock_rate::counts_instructions;
use super::worker::{SampleContext, WorkerValue, worker_value};
use oscost_stats::interval::Nominal;

/// What the journal contains about a row so far.
#[derive(Clone, Debug)]
pub(super) struct RowState {
    pub(super) planned: PlannedRow,
    pub(super) plan: Option<BatchPlan>,
    pub(super) workers: Vec<WorkerEntry>,
    /// Its experiments with a study's method, by number. They are separate, since no figure of the
    /// row depends on them.
    pub(super) experiments: Vec<ExperimentEntry>,
    /// Its workers that counted events.
    pub(super) countings: Vec<CountingEntry>,
    pub(super) count: Option<CallCount>,
    pub(super) not_counted: Option<String>,
    pub(super) monitor: Option<MonitorSummary>,
    pub(super) given_up: Option<GivenUp>,
    pub(super) converged: Option<bool>,
}

/// Why no further worker of a row is measured.
#[derive(Clone, Debug)]
pub(super) struct GivenUp {
    pub(super) outcome: RowOutcome,
    pub(super) reason: String,
}

/// How the measurement of a row ended.
pub(super) struct RowEnd {
    pub(super) outcome: RowOutcome,
    /// Why it has no estimate.
    pub(super) reason: Option<String>,
}

/// An experiment with a study's method, or its part of a round, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct ExperimentEntry {
    pub(super) round: u32,
    pub(super) number: u32,
    pub(super) outcome: WorkerOutcome,
}

/// A worker that counted events, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct CountingEntry {
    pub(super) round: u32,
    pub(super) at_s: f64,
    /// The set of a comparison that it was counted for.
    pub(super) set: u32,
    pub(super) outcome: CountingOutcome,
}

/// A worker and its outcome.
#[derive(Clone, Debug)]
pub(super) struct WorkerEntry {
    pub(super) phase: Phase,
    pub(super) at_s: f64,
    /// The set of a comparison that it was measured for.
    pub(super) set: u32,
    pub(super) outcome: WorkerOutcome,
}

/// A worker and what it measured.
pub(super) struct EvaluatedWorker<'a> {
    pub(super) entry: &'a WorkerEntry,
    /// `None` if it was lost.
    pub(super) measured: Option<MeasuredWorker>,
}

/// The value of a worker, and what disturbed it.
pub(super) struct MeasuredWorker {
    pub(super) value: WorkerValue,
    pub(super) disturbance: Disturbance,
}

impl EvaluatedWorker<'_> {
    pub(super) fn value(&self) -> Option<&WorkerValue> {
        self.measured.as_ref().map(|measured| &measured.value)
    }

    pub(super) fn disturbance(&self) -> Option<&Disturbance> {
        self.measured.as_ref().map(|measured| &measured.disturbance)
    }
}

/// What all rows of a run share.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunContext<'a> {
    /// The clock, with its rate over the whole run.
    pub(super) clock: Option<&'a Calibration>,
    /// The level of the intervals.
    pub(super) nominal: Nominal,
    /// Whether the record contains raw samples.
    pub(super) keep_samples: bool,
    /// Whether so much time was lost that absolute figures of single shots are meaningless.
    pub(super) very_noisy: bool,
}

impl RunContext<'_> {
    /// Whether instructions are counted instead of time.
    pub(super) fn counts_instructions(&self) -> bool {
        self.clock.is_some_and(counts_instructions)
    }
}

impl RowState {
    /// How the measurement of the row ended.
    pub(super) fn end(&self, has_estimate: bool, has_workers: bool) -> RowEnd {
        let without_estimate =
            |outcome, reason: &str| RowEnd { outcome, reason: Some(reason.to_owned()) };
        match &self.given_up {
            Some(GivenUp { outcome, reason }) => without_estimate(*outcome, reason),
            None if has_estimate => RowEnd { outcome: RowOutcome::Measured, reason: None },
            None if !has_workers => {
                without_estimate(RowOutcome::Skipped, "the run ended before its first repetition")
            }
            None => without_estimate(
                RowOutcome::Unmeasurable,
                "no repetition had enough undisturbed batches",
            ),
        }
    }

    pub(super) fn new(planned: PlannedRow) -> Self {
        Self {
            planned,
            plan: None,
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
    pub(super) fn add_monitor_report(
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
    pub(super) fn sample_context<'a>(
        &self,
        plan: &'a BatchPlan,
        clock: &'a Calibration,
    ) -> SampleContext<'a> {
        let context = SampleContext::new(&self.planned.definition, plan, clock);
        SampleContext { switches: self.sleeps(), ..context }
    }

    /// The workers of these phases. If instructions are counted, no time is known, so none is lost.
    pub(super) fn evaluated_workers(
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
    pub(super) fn sleeps(&self) -> bool {
        let own = self.planned.definition.sleeps(self.plan.as_ref().map(|plan| plan.mode));
        self.planned.monitored || own
    }
}

/// The arm of its worker that the samples belong to: a row has samples of one arm.
pub(super) fn first_arm(samples: &[Sample]) -> u8 {
    samples.first().map_or(0, |sample| sample.arm)
}
