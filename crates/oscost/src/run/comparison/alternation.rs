//! Toggled workers: one process, while a treatment is attached to and detached from its system.

use oscost_model::treatment::AttachedTreatment;
use oscost_model::worker::{Sample, Task, WorkerSpec};

use super::arms::SetWithPlan;
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::Measurement;
use crate::run::monitor_verification::{MonitorResult, TimedOps};
use crate::run::state::Run;

/// The maximum number of workers that wait at a time while a treatment is attached and detached.
const MAX_WAITING_WORKERS: usize = 12;

/// A toggled worker waiting for its next `go`.
struct ToggledWorker {
    id: u64,
    planned: SetWithPlan,
}

/// A toggled worker that ended early.
struct LostWorker {
    /// The row of the arm that it was timing.
    row: usize,
    planned: SetWithPlan,
    failure: JobFailure,
}

impl Run<'_> {
    /// Groups of toggled sets that share attaching and detaching: sets of one target, up to the
    /// maximum. An op that sleeps or switches has helper processes that would disturb waiting
    /// workers, so it is alone.
    pub(super) fn toggle_groups(&self, sets: &[&SetWithPlan]) -> Vec<Vec<SetWithPlan>> {
        let mut groups: Vec<Vec<SetWithPlan>> = Vec::new();
        let target = |planned: &SetWithPlan| &self.rows[planned.set.news[0]].treatments;
        let base = |planned: &SetWithPlan| &self.rows[planned.set.base].treatments;
        let is_single_process =
            |planned: &SetWithPlan| !self.rows[planned.set.base].planned.definition.switches;
        for &planned in sets {
            let fits = |group: &&mut Vec<SetWithPlan>| {
                let first = &group[0];
                group.len() < MAX_WAITING_WORKERS
                    && is_single_process(planned)
                    && is_single_process(first)
                    && target(first) == target(planned)
                    && base(first) == base(planned)
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(planned.clone()),
                None => groups.push(vec![planned.clone()]),
            }
        }
        groups
    }

    /// Measures one worker of each set, alternating between the base's target and the new one: ABBA
    /// or BAAB at random, so that linear drift cancels.
    pub(super) fn measure_toggled(
        &mut self,
        group: &[SetWithPlan],
        round: u32,
    ) -> Result<(), RunError> {
        let new = group[0].set.news[0];
        let attached = self.rows[new].treatments.attached.clone();
        let mut waiting = Vec::new();
        for planned in group {
            if let Some(id) = self.start_toggled(planned, round)? {
                waiting.push(ToggledWorker { id, planned: planned.clone() });
            }
        }
        let mut lost = Vec::new();
        let done = self.alternate(&mut waiting, &mut lost, &attached)?;
        for LostWorker { row, planned, failure } in lost {
            self.emit_lost(row, &planned, round, failure);
        }
        let mut results = Vec::new();
        for ToggledWorker { id, planned } in waiting {
            results.push((self.stop_toggled(id)?, planned));
        }
        let done = done.and_then(|reports| {
            let timed = results.iter().filter_map(|(result, planned)| {
                let ops = result.as_ref().ok()?.for_arm(1).ops();
                Some(TimedOps { row: new_row(planned), ops })
            });
            self.verify_timed_rows(&timed.collect::<Vec<_>>(), &reports)
        });
        for (result, planned) in results {
            let base = planned.set.base;
            match (result, &done) {
                (Ok(result), Ok(())) => {
                    for (arm, row) in [(0, base), (1, new_row(&planned))] {
                        self.emit_samples(row, &planned, round, result.for_arm(arm));
                    }
                }
                (Err(failure), Ok(())) => {
                    self.emit_lost(new_row(&planned), &planned, round, failure)
                }
                // The treatment could not be attached, or its monitor missed calls.
                (_, Err(failure)) => {
                    self.emit_lost(new_row(&planned), &planned, round, failure.clone())
                }
            }
        }
        Ok(())
    }

    /// Runs the four phases of toggled workers; returns the monitor's result after each of its
    /// phases. Workers that end early are removed from `waiting`.
    fn alternate(
        &mut self,
        waiting: &mut Vec<ToggledWorker>,
        lost: &mut Vec<LostWorker>,
        attached: &[AttachedTreatment],
    ) -> Result<Result<Vec<MonitorResult>, JobFailure>, RunError> {
        let mut reports = Vec::new();
        let mut phases = [0u8, 1, 1, 0];
        let mut first = [0u8, 1];
        self.order.shuffle(&mut first);
        phases.iter_mut().for_each(|arm| *arm = first[usize::from(*arm)]);
        for half in phases.chunk_by(|one, other| one == other) {
            let job = match half[0] {
                // A control also has a job, without treatments: it takes the same time.
                1 => self.workers.attach(attached.to_vec(), self.cpu, self.peer_cpu)?.map(Some),
                _ => Ok(None),
            };
            let job = match job {
                Ok(job) => job,
                Err(failure) => return Ok(Err(failure)),
            };
            for &arm in half {
                let mut index = 0;
                while index < waiting.len() {
                    let groups = (waiting[index].planned.plan.groups / 2).max(1);
                    match self.go_toggled(waiting[index].id, groups, arm)? {
                        Ok(()) => index += 1,
                        Err(failure) => {
                            let ToggledWorker { planned, .. } = waiting.remove(index);
                            let row = if arm == 1 { new_row(&planned) } else { planned.set.base };
                            lost.push(LostWorker { row, planned, failure });
                        }
                    }
                }
            }
            if half[0] == 1 {
                reports.push(self.detach(job)?);
            }
            if let Some(failure) = self.workers.early_detachment.take() {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(reports))
    }

    /// Starts a toggled worker; `None` if it failed, which is emitted.
    fn start_toggled(
        &mut self,
        planned: &SetWithPlan,
        round: u32,
    ) -> Result<Option<u64>, RunError> {
        let spec = self.worker_spec(planned.set.base, Task::Measure(planned.plan.clone()));
        let spec = WorkerSpec {
            toggled: true,
            timeout_ms: MAX_WAITING_WORKERS as u64 * spec.timeout_ms,
            ..spec
        };
        match self.workers.start(spec)? {
            Ok(id) => Ok(Some(id)),
            Err(failure) => {
                self.emit_lost(planned.set.base, planned, round, failure);
                Ok(None)
            }
        }
    }

    fn go_toggled(
        &mut self,
        id: u64,
        batches: u32,
        arm: u8,
    ) -> Result<Result<(), JobFailure>, RunError> {
        Ok(self.workers.go(id, batches, arm)?)
    }

    fn stop_toggled(&mut self, id: u64) -> Result<Result<Measurement, JobFailure>, RunError> {
        Ok(self.workers.stop(id)?)
    }

    /// Measures a control: a toggled worker without treatments.
    pub(super) fn control_by_toggling(
        &mut self,
        planned: &SetWithPlan,
        round: u32,
    ) -> Result<Result<Vec<Sample>, JobFailure>, RunError> {
        let Some(id) = self.start_toggled(planned, round)? else {
            return Ok(Ok(Vec::new()));
        };
        let mut waiting = vec![ToggledWorker { id, planned: planned.clone() }];
        let mut lost = Vec::new();
        // Attaching nothing cannot fail.
        let _ = self.alternate(&mut waiting, &mut lost, &[])?;
        match lost.pop() {
            Some(LostWorker { failure, .. }) => Ok(Err(failure)),
            None => Ok(self.stop_toggled(id)?.map(|result| result.samples)),
        }
    }
}

/// The new row of a toggled set.
fn new_row(planned: &SetWithPlan) -> usize {
    planned.set.news[0]
}
