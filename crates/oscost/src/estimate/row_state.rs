//! The state of a row: what the journal contains about it so far.

use oscost_model::calls::CallCount;
use oscost_model::clock::Calibration;
use oscost_model::journal::{Phase, PlannedRow, WorkerOutcome};
use oscost_model::record::{MonitorSummary, RowOutcome};
use oscost_model::worker::{BatchPlan, Disturbance, Sample};

use super::clock_rate::counts_instructions;
use super::worker::{SampleContext, WorkerValue, worker_value};
use oscost_stats::interval::Nominal;

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
    pub(super) fn counts_instructions(&self) -> bool {
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

    /// Whether its ops sleep by themselves.
    pub(super) fn sleeps(&self) -> bool {
        let own = self.planned.definition.sleeps(self.plan.as_ref().map(|plan| plan.mode));
        self.planned.monitored || own
    }
}

/// Which arm of its worker the samples are of: a row has those of one.
pub(super) fn first_arm(samples: &[Sample]) -> u8 {
    samples.first().map_or(0, |sample| sample.arm)
}
