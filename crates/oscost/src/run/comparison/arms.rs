//! The arms of a pair: measured as fork twins or one after the other, and their journal entries.

use oscost_model::journal::{Design, Phase, WorkerOutcome};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

use crate::plan::ComparisonSet;
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::Measurement;
use crate::run::state::Run;

/// A set with the batch plan that all its arms share.
#[derive(Clone)]
pub(super) struct SetWithPlan {
    pub(super) number: u32,
    pub(super) set: ComparisonSet,
    pub(super) plan: BatchPlan,
}

impl Run<'_> {
    /// Measures the arms of a set as fork twins in one worker.
    pub(super) fn measure_twins(
        &mut self,
        planned: &SetWithPlan,
        round: u32,
    ) -> Result<(), RunError> {
        let rows: Vec<usize> = std::iter::once(planned.set.base)
            .chain(planned.set.news.iter().copied())
            .filter(|&row| !self.rows[row].given_up)
            .collect();
        let applied = rows.iter().map(|&row| self.rows[row].treatments.applied.clone()).collect();
        let spec = self.spec_of_arms(planned, rows.len() as u8);
        let spec = WorkerSpec { treatments: applied, ..spec };
        match self.with_attached(planned.set.base, Measurement::ops, |run| {
            run.measure_arms(spec, planned)
        })? {
            Ok(measurement) => {
                for (arm, row) in rows.into_iter().enumerate() {
                    self.emit_samples(row, planned, round, measurement.for_arm(arm as u8));
                }
            }
            Err(failure) => {
                let arm = failure.arm.and_then(|arm| rows.get(usize::from(arm)).copied());
                match arm {
                    Some(row) => self.emit_lost(row, planned, round, failure),
                    // The base could be measured alone: a treatment is the likelier cause.
                    None => {
                        for &row in &planned.set.news {
                            self.emit_lost(row, planned, round, failure.clone());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Measures two workers one after the other, in random order.
    pub(super) fn measure_pair(
        &mut self,
        planned: &SetWithPlan,
        round: u32,
    ) -> Result<(), RunError> {
        let mut order = vec![planned.set.base];
        order.extend(&planned.set.news);
        self.order.shuffle(&mut order);
        let forked = self.needs_fork(&planned.set);
        // The same numbers of ops, and the same layout: only the target differs.
        let seed = self.order.worker_seed();
        for row in order {
            let task = Task::Measure(planned.plan.clone());
            let spec = WorkerSpec { seed, forked, ..self.worker_spec(row, task) };
            match self
                .with_attached(row, Measurement::ops, |run| run.measure_arms(spec, planned))?
            {
                Ok(measurement) => self.emit_samples(row, planned, round, measurement),
                Err(failure) => self.emit_lost(row, planned, round, failure),
            }
        }
        Ok(())
    }

    pub(super) fn control_by_pairs(
        &mut self,
        planned: &SetWithPlan,
    ) -> Result<Result<Vec<Sample>, JobFailure>, RunError> {
        let mut samples = Vec::new();
        // Which of the two counts as the new one is random, as in a real pair.
        let mut arms = [0u8, 1];
        self.order.shuffle(&mut arms);
        let seed = self.order.worker_seed();
        for arm in arms {
            let spec = self.worker_spec(planned.set.base, Task::Measure(planned.plan.clone()));
            let spec = WorkerSpec { seed, forked: self.needs_fork(&planned.set), ..spec };
            match self.with_attached(planned.set.base, Measurement::ops, |run| {
                run.measure_arms(spec, planned)
            })? {
                Ok(measurement) => samples
                    .extend(measurement.samples.into_iter().map(|sample| Sample { arm, ..sample })),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(samples))
    }

    /// Whether a treatment of a set is applied by a forked process.
    fn needs_fork(&self, set: &ComparisonSet) -> bool {
        let mut rows = std::iter::once(set.base).chain(set.news.iter().copied());
        rows.any(|row| {
            self.rows[row].treatments.applied.iter().any(AppliedTreatment::supports_twins)
        })
    }

    /// The specification of a worker with several arms.
    pub(super) fn spec_of_arms(&mut self, planned: &SetWithPlan, arms: u8) -> WorkerSpec {
        let spec = self.worker_spec(planned.set.base, Task::Measure(planned.plan.clone()));
        let timeout_ms = u64::from(arms) * spec.timeout_ms;
        WorkerSpec { arms, timeout_ms, ..spec }
    }

    pub(super) fn measure_arms(
        &mut self,
        spec: WorkerSpec,
        planned: &SetWithPlan,
    ) -> Result<Result<Measurement, JobFailure>, RunError> {
        let peer = self.rows[planned.set.base].peer_location();
        Ok(self.workers.measure(spec, peer)?)
    }

    /// Emits the samples of one arm of a pair.
    pub(super) fn emit_samples(
        &mut self,
        row: usize,
        planned: &SetWithPlan,
        round: u32,
        measurement: Measurement,
    ) {
        let ns = |sample: &Sample| {
            self.clock.as_ref().map_or(0.0, |clock| clock.ns(sample.ticks as f64))
        };
        // The accounting of a worker covers all its arms: the lost time of one arm is unknown.
        let disturbance = match planned.set.design {
            Design::Pairs | Design::Boots => measurement.disturbance,
            Design::Twins | Design::Toggle => Disturbance {
                wall_ns: measurement.samples.iter().map(ns).sum::<f64>() as u64,
                cpu_ns: 0,
                run_delay_ns: None,
                usage: None,
                ..measurement.disturbance
            },
        };
        let outcome = Measurement { disturbance, ..measurement }.outcome();
        self.emit_worker(row, Phase::Round(round), planned.number, outcome);
    }

    /// Emits that an arm of a pair is lost; at the second loss its row is given up.
    pub(super) fn emit_lost(
        &mut self,
        row: usize,
        planned: &SetWithPlan,
        round: u32,
        failure: JobFailure,
    ) {
        let JobFailure { outcome, reason, .. } = failure.clone();
        let lost = WorkerOutcome::Lost { outcome, reason };
        self.emit_worker(row, Phase::Round(round), planned.number, lost);
        self.count_lost_worker(row, failure);
    }
}
