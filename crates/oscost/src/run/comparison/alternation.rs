//! Toggled workers: one process, while a treatment is attached to and detached from its system.

use oscost_model::treatment::AttachedTreatment;
use oscost_model::worker::{Sample, Task, WorkerSpec};

use super::PlannedSet;
use crate::run::error::RunError;
use crate::run::job::JobFailure;
use crate::run::monitor_verification::MonitorResult;
use crate::run::state::Run;
use crate::run::workers::Measurement;

/// The maximum number of workers that wait at a time while a treatment is attached and detached.
const MAX_WAITING_WORKERS: usize = 12;

/// A toggled worker waiting for its next `go`.
struct ToggledWorker {
    id: u64,
    ready: PlannedSet,
}

impl Run<'_> {
    /// Groups of toggled sets that share attaching and detaching: sets of one target, up to the
    /// maximum. An op that sleeps or switches has helper processes that would disturb waiting
    /// workers, so it is alone.
    pub(super) fn toggle_groups(&self, sets: &[&PlannedSet]) -> Vec<Vec<PlannedSet>> {
        let mut groups: Vec<Vec<PlannedSet>> = Vec::new();
        let target = |ready: &PlannedSet| &self.rows[ready.set.news[0]].treatments;
        let base = |ready: &PlannedSet| &self.rows[ready.set.base].treatments;
        let quiet = |ready: &PlannedSet| !self.rows[ready.set.base].planned.definition.switches;
        for &ready in sets {
            let fits = |group: &&mut Vec<PlannedSet>| {
                let first = &group[0];
                group.len() < MAX_WAITING_WORKERS
                    && quiet(ready)
                    && quiet(first)
                    && target(first) == target(ready)
                    && base(first) == base(ready)
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(ready.clone()),
                None => groups.push(vec![ready.clone()]),
            }
        }
        groups
    }

    /// Measures one worker of each set, alternating between the base's target and the new one: ABBA
    /// or BAAB at random, so that linear drift cancels.
    pub(super) fn measure_toggled(
        &mut self,
        group: &[PlannedSet],
        round: u32,
    ) -> Result<(), RunError> {
        let new = group[0].set.news[0];
        let attached = self.rows[new].treatments.attached.clone();
        let mut waiting = Vec::new();
        for ready in group {
            if let Some(id) = self.start_toggled(ready, round)? {
                waiting.push(ToggledWorker { id, ready: ready.clone() });
            }
        }
        let mut lost = Vec::new();
        let done = self.alternate(&mut waiting, &mut lost, &attached)?;
        for (row, ready, ended) in lost {
            self.emit_lost(row, &ready, round, ended);
        }
        let mut came = Vec::new();
        for ToggledWorker { id, ready } in waiting {
            came.push((self.stop_toggled(id)?, ready));
        }
        let done = done.and_then(|said| {
            let timed = came.iter().filter_map(|(brought, ready)| {
                Some((new_row(ready), brought.as_ref().ok()?.for_arm(1).ops()))
            });
            self.verify_timed_rows(&timed.collect::<Vec<_>>(), &said)
        });
        for (brought, ready) in came {
            let base = ready.set.base;
            match (brought, &done) {
                (Ok(brought), Ok(())) => {
                    for (arm, row) in [(0, base), (1, new_row(&ready))] {
                        self.emit_samples(row, &ready, round, brought.for_arm(arm));
                    }
                }
                (Err(ended), Ok(())) => self.emit_lost(new_row(&ready), &ready, round, ended),
                // The treatment could not be attached, or its monitor missed calls.
                (_, Err(why)) => self.emit_lost(new_row(&ready), &ready, round, why.clone()),
            }
        }
        Ok(())
    }

    /// Runs the four phases of toggled workers; returns the monitor's result after each of its
    /// phases. Workers that end early are removed from `waiting`.
    fn alternate(
        &mut self,
        waiting: &mut Vec<ToggledWorker>,
        lost: &mut Vec<(usize, PlannedSet, JobFailure)>,
        attached: &[AttachedTreatment],
    ) -> Result<Result<Vec<MonitorResult>, JobFailure>, RunError> {
        let mut said = Vec::new();
        let mut turns = [0u8, 1, 1, 0];
        let mut first = [0u8, 1];
        self.order.shuffle(&mut first);
        turns.iter_mut().for_each(|arm| *arm = first[usize::from(*arm)]);
        for half in turns.chunk_by(|one, other| one == other) {
            let job = match half[0] {
                // A control also has a job, without treatments: it takes the same time.
                1 => self.workers.attach(attached.to_vec(), self.cpu, self.peer_cpu)?.map(Some),
                _ => Ok(None),
            };
            let job = match job {
                Ok(job) => job,
                Err(why) => return Ok(Err(why)),
            };
            for &arm in half {
                let mut at = 0;
                while at < waiting.len() {
                    let groups = (waiting[at].ready.plan.groups / 2).max(1);
                    match self.go_toggled(waiting[at].id, groups, arm)? {
                        Ok(()) => at += 1,
                        Err(ended) => {
                            let ToggledWorker { ready, .. } = waiting.remove(at);
                            let row = if arm == 1 { new_row(&ready) } else { ready.set.base };
                            lost.push((row, ready, ended));
                        }
                    }
                }
            }
            if half[0] == 1 {
                said.push(self.detach(job)?);
            }
            if let Some(why) = self.workers.early_detachment.take() {
                return Ok(Err(why));
            }
        }
        Ok(Ok(said))
    }

    /// Starts a toggled worker; `None` if it failed, which is emitted.
    fn start_toggled(&mut self, ready: &PlannedSet, round: u32) -> Result<Option<u64>, RunError> {
        let spec = self.worker_spec(ready.set.base, Task::Measure(ready.plan.clone()));
        let spec = WorkerSpec {
            toggled: true,
            timeout_ms: MAX_WAITING_WORKERS as u64 * spec.timeout_ms,
            ..spec
        };
        match self.workers.start(spec)? {
            Ok(id) => Ok(Some(id)),
            Err(ended) => {
                self.emit_lost(ready.set.base, ready, round, ended);
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
        ready: &PlannedSet,
        round: u32,
    ) -> Result<Result<Vec<Sample>, JobFailure>, RunError> {
        let Some(id) = self.start_toggled(ready, round)? else {
            return Ok(Ok(Vec::new()));
        };
        let mut waiting = vec![ToggledWorker { id, ready: ready.clone() }];
        let mut lost = Vec::new();
        // Attaching nothing cannot fail.
        let _ = self.alternate(&mut waiting, &mut lost, &[])?;
        match lost.pop() {
            Some((_, _, ended)) => Ok(Err(ended)),
            None => Ok(self.stop_toggled(id)?.map(|brought| brought.samples)),
        }
    }
}

/// The new row of a toggled set.
fn new_row(ready: &PlannedSet) -> usize {
    ready.set.news[0]
}
