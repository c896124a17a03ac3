//! The orders that only comparisons need.

use std::time::{Duration, Instant};

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AttachedTreatment;
use oscost_model::worker::WorkerSpec;

use crate::hosts::HostError;
use crate::run::jobs::job::{JobFailure, SUPERVISOR_GRACE, job_failure};
use crate::run::jobs::workers::{Measurement, Workers};
use crate::run::monitor_verification::MonitorResult;

/// The supervisor ends a toggled worker that takes too long; this limit is longer.
const PHASE_TIMEOUT: Duration = Duration::from_secs(120);

impl Workers<'_> {
    /// Starts a worker that waits for `go`.
    pub(super) fn start(&mut self, spec: WorkerSpec) -> Result<Result<u64, JobFailure>, HostError> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        self.send(&Order::Measure { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::Ready { .. } => Ok(id),
            other => Err(job_failure(other)),
        })
    }

    /// Lets a toggled worker time some groups of an arm.
    pub(super) fn go(
        &mut self,
        id: u64,
        batches: u32,
        arm: u8,
    ) -> Result<Result<(), JobFailure>, HostError> {
        self.send(&Order::Go { id, batches, arm })?;
        Ok(match self.next(id, PHASE_TIMEOUT)? {
            Event::BatchesDone { .. } => Ok(()),
            other => Err(job_failure(other)),
        })
    }

    /// Ends a toggled worker.
    pub(super) fn stop(&mut self, id: u64) -> Result<Result<Measurement, JobFailure>, HostError> {
        self.send(&Order::Stop { id })?;
        Ok(match self.next(id, PHASE_TIMEOUT)? {
            Event::Sampled {
                samples, disturbance, monitor_wakeups_per_op, speculation, ..
            } => Ok(Measurement {
                samples,
                disturbance: *disturbance,
                monitor_wakeups_per_op,
                speculation,
            }),
            other => Err(job_failure(other)),
        })
    }

    /// Attaches treatments to the system.
    pub(crate) fn attach(
        &mut self,
        treatments: Vec<AttachedTreatment>,
        cpu: Option<u32>,
        other_cpu: Option<u32>,
    ) -> Result<Result<u64, JobFailure>, HostError> {
        let id = self.id();
        self.send(&Order::Attach { id, treatments, cpu, other_cpu })?;
        Ok(match self.next(id, 2 * SUPERVISOR_GRACE)? {
            Event::Ready { .. } => {
                self.attached.push(id);
                Ok(id)
            }
            other => Err(job_failure(other)),
        })
    }

    /// Detaches the treatments of a job; returns the report of a monitor among them.
    pub(crate) fn detach(&mut self, id: u64) -> Result<MonitorResult, HostError> {
        if !self.attached.contains(&id) {
            return Ok(Ok(None)); // It has ended early, which is already recorded.
        }
        self.attached.retain(|attached| *attached != id);
        self.send(&Order::Stop { id })?;
        // However it ended, the supervisor has undone it.
        Ok(match self.next(id, 2 * SUPERVISOR_GRACE)? {
            Event::Detached { monitor_report, .. } => Ok(monitor_report.map(|it| *it)),
            other => Err(job_failure(other).reason),
        })
    }

    /// Sleeps for this long, or until Ctrl-C. Late events are dropped.
    pub(crate) fn sleep(&mut self, duration: Duration) -> Result<(), HostError> {
        let until = Instant::now() + duration;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            match self.next_of_any_job(left) {
                Ok(_) => {}
                Err(HostError::TimedOut(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
