//! One job at a time: orders out, the answer back.

use std::time::Duration;

use nix::errno::Errno;
use oscost_model::calls::CallCount;
use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::journal::WorkerOutcome;
use oscost_model::program::ProgramResult;
use oscost_model::protocol::{CpuProbe, Event, Order};
use oscost_model::record::RowOutcome;
use oscost_model::watch::SystemActivity;
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

use super::remote_peer::PeerServers;
use crate::hosts::{HostError, Session};

/// The supervisor keeps the time of its jobs; if it is silent for so long beyond, it hangs itself.
pub(super) const SUPERVISOR_GRACE: Duration = Duration::from_secs(10);

/// A job that brought nothing.
#[derive(Clone, Debug)]
pub(super) struct JobFailure {
    /// `skipped`, `failed`, `timed-out` or `unmeasurable`.
    pub(super) outcome: RowOutcome,
    /// Why.
    pub(super) reason: String,
    /// Another worker would end the same way.
    pub(super) is_final: bool,
    /// So many ops cannot be prepared at once (E2BIG), the worker has found, and has done none.
    pub(super) batch_too_large: bool,
    /// The arm that it concerns, where a worker has several.
    pub(super) arm: Option<u8>,
}

/// What a job brings: an answer, or why there is none. A broken session is another matter.
pub(super) type JobResult<T> = Result<Result<T, JobFailure>, HostError>;

/// What a worker brings that has measured.
pub(super) struct Measurement {
    /// The batches of all its arms.
    pub(super) samples: Vec<Sample>,
    /// What disturbed it.
    pub(super) disturbance: Disturbance,
    /// How often an op woke the monitor of each arm.
    pub(super) seen: Vec<Option<f64>>,
    /// How each arm was let speculate.
    pub(super) speculation: Vec<Option<String>>,
}

impl Measurement {
    /// What this arm brought; what disturbed it is what disturbed them all.
    pub(super) fn for_arm(&self, arm: u8) -> Self {
        let at = usize::from(arm);
        let samples = self.samples.iter().filter(|sample| sample.arm == arm).copied().collect();
        Self {
            samples,
            disturbance: self.disturbance,
            seen: self.seen.get(at).into_iter().copied().collect(),
            speculation: self.speculation.get(at).into_iter().cloned().collect(),
        }
    }

    /// The ops that were timed.
    pub(super) fn ops(&self) -> u64 {
        self.samples.iter().map(|sample| sample.n).sum()
    }

    /// As a journal keeps it, of a worker of one arm.
    pub(super) fn outcome(self) -> WorkerOutcome {
        WorkerOutcome::Sampled {
            samples: self.samples,
            disturbance: Box::new(self.disturbance),
            monitor_wakeups_per_op: self.seen.first().copied().flatten(),
            speculation: self.speculation.into_iter().next().flatten(),
        }
    }
}

/// What a probe saw, and what went on beside it, or why that is not known.
pub(super) type ProbeWithActivity = (Vec<CpuProbe>, Result<SystemActivity, String>);

/// The jobs of a session.
pub(super) struct Workers<'a> {
    session: &'a mut dyn Session,
    last_id: u64,
    /// Where the other ends of some cases stand.
    far: Option<PeerServers<'a>>,
    /// The jobs that have something attached to the system.
    pub(super) attached: Vec<u64>,
    /// How one of them ended that was to last.
    pub(super) early_detachment: Option<JobFailure>,
}

/// Where the other end of a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerLocation {
    /// Beside the worker, or there is none.
    SameMachine,
    /// On the peer's machine.
    RemoteMachine,
}

impl<'a> Workers<'a> {
    pub(super) fn new(session: &'a mut dyn Session) -> Self {
        Self { session, last_id: 0, far: None, attached: Vec::new(), early_detachment: None }
    }

    /// The same, with the machine of a peer.
    pub(super) fn with_peer(self, far: Option<PeerServers<'a>>) -> Self {
        Self { far, ..self }
    }

    /// Where the other ends of some cases stand.
    pub(super) fn far(&mut self) -> Option<&mut PeerServers<'a>> {
        self.far.as_mut()
    }

    pub(super) fn session(&self) -> &dyn Session {
        self.session
    }

    pub(super) fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Gives an order.
    pub(super) fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.session.send(order)
    }

    /// The next event of whatever job.
    pub(super) fn next_of_any_job(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.session.next(patience)
    }

    /// The next event of job `id`. What an earlier job still had to say is past caring for.
    pub(super) fn next(&mut self, id: u64, patience: Duration) -> Result<Event, HostError> {
        loop {
            let event = self.session.next(patience)?;
            if event.id() == Some(id) {
                return Ok(event);
            }
            if let Some(off) = event.id().filter(|id| self.attached.contains(id)) {
                self.attached.retain(|id| *id != off);
                self.early_detachment = Some(job_failure(event));
            }
        }
    }

    /// Starts a worker, lets it time `groups` groups, and hands back its last event.
    fn run_worker(&mut self, spec: WorkerSpec, groups: u32) -> Result<Event, HostError> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        let stops = matches!(spec.task, Task::Measure(_));
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        match self.next(id, patience)? {
            Event::Ready { .. } => {}
            other => return Ok(other),
        }
        self.session.send(&Order::Go { id, batches: groups, arm: 0 })?;
        if stops {
            self.session.send(&Order::Stop { id })?;
        }
        self.next(id, patience)
    }

    /// Lets a worker do its work, with a server on the peer's machine where it needs one; what it
    /// said last, and how many strangers knocked there.
    fn with_peer_server(
        &mut self,
        spec: WorkerSpec,
        other: PeerLocation,
        does: impl FnOnce(&mut Self, WorkerSpec) -> Result<Event, HostError>,
    ) -> JobResult<(Event, u64)> {
        let Some(far) = self.far.as_mut().filter(|_| other == PeerLocation::RemoteMachine) else {
            return Ok(Ok((does(self, spec)?, 0)));
        };
        let server = match far.serve(&spec)? {
            Ok(server) => server,
            Err(ended) => return Ok(Err(ended)),
        };
        let event = does(self, WorkerSpec { remote_end: Some(server.end.clone()), ..spec })?;
        let Some(far) = &mut self.far else { return Ok(Ok((event, 0))) };
        let done =
            matches!(event, Event::Piloted { .. } | Event::Sampled { .. } | Event::Counted { .. });
        if done {
            return Ok(far.finish(&server)?.map(|strangers| (event, strangers)));
        }
        let mut why = job_failure(event);
        let theirs = far.stop(&server)?;
        // What the place does not offer, it does not offer to either.
        if let Some(theirs) = theirs.filter(|_| why.outcome != RowOutcome::Skipped) {
            why.reason = format!("{}; {theirs}", why.reason);
        }
        Ok(Err(why))
    }

    /// Runs a case's pilot.
    pub(super) fn pilot(&mut self, spec: WorkerSpec, other: PeerLocation) -> JobResult<BatchPlan> {
        let said =
            self.with_peer_server(spec, other, |workers, spec| workers.run_worker(spec, 1))?;
        Ok(said.and_then(|(event, _)| match event {
            Event::Piloted { plan, .. } => Ok(plan),
            other => Err(job_failure(other)),
        }))
    }

    /// Measures a case once.
    pub(super) fn measure(
        &mut self,
        spec: WorkerSpec,
        other: PeerLocation,
    ) -> JobResult<Measurement> {
        let groups = match &spec.task {
            Task::Measure(plan) => plan.groups,
            _ => 1,
        };
        let said =
            self.with_peer_server(spec, other, |workers, spec| workers.run_worker(spec, groups))?;
        Ok(said.and_then(|(event, strangers)| match event {
            Event::Sampled {
                samples,
                mut disturbance,
                monitor_wakeups_per_op: seen,
                speculation,
                ..
            } => {
                if let (PeerLocation::RemoteMachine, Some(far)) = (other, &self.far) {
                    let channel = disturbance.channel.get_or_insert_default();
                    channel.unauthorised_connections += strangers;
                    channel.peer_cpu = channel.peer_cpu.or(far.cpu);
                }
                Ok(Measurement { samples, disturbance: *disturbance, seen, speculation })
            }
            other => Err(job_failure(other)),
        }))
    }

    /// Runs a program once.
    pub(super) fn run_program(&mut self, spec: WorkerSpec) -> JobResult<ProgramResult> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::ProgramExited { result: ran, .. } => Ok(*ran),
            other => Err(job_failure(other)),
        })
    }

    /// Counts a case's calls.
    pub(super) fn count(&mut self, spec: WorkerSpec, other: PeerLocation) -> JobResult<CallCount> {
        let said = self.with_peer_server(spec, other, |workers, spec| {
            let id = workers.id();
            let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
            workers.session.send(&Order::Count { id, spec: Box::new(spec) })?;
            workers.next(id, patience)
        })?;
        Ok(said.and_then(|(event, _)| match event {
            Event::Counted { count, .. } => Ok(*count),
            other => Err(job_failure(other)),
        }))
    }

    /// Spins on these CPUs.
    pub(super) fn probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
    ) -> JobResult<Vec<CpuProbe>> {
        let id = self.id();
        let spin_ms = spin.as_millis() as u64;
        self.session.send(&Order::Probe { id, cpus: cpus.to_vec(), spin_ms, clock })?;
        Ok(match self.next(id, spin + 2 * SUPERVISOR_GRACE)? {
            Event::Probed { cpus, .. } => Ok(cpus),
            other => Err(job_failure(other)),
        })
    }

    /// Spins on these CPUs between two looks at who else uses the machine. `except` are processes
    /// of the tool's own there. The watch goes to sleep before the spin begins and wakes after it
    /// has ended, so that neither sees the other.
    pub(super) fn watched_probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
        except: &[u32],
    ) -> JobResult<ProbeWithActivity> {
        let id = self.id();
        self.session.send(&Order::Watch { id, excluded_pids: except.to_vec() })?;
        match self.next(id, SUPERVISOR_GRACE)? {
            Event::Ready { .. } => {}
            // It says what it saw at once, or why it cannot look: the probe is worth having alone.
            other => {
                return Ok(self.probe(cpus, clock, spin)?.map(|probe| (probe, activity_of(other))));
            }
        }
        let probe = self.probe(cpus, clock, spin)?;
        self.session.send(&Order::Stop { id })?;
        let watch = activity_of(self.next(id, SUPERVISOR_GRACE)?);
        Ok(probe.map(|probe| (probe, watch)))
    }

    /// Learns a clock.
    pub(super) fn calibrate(
        &mut self,
        cpu: Option<u32>,
        clock: ClockKind,
    ) -> JobResult<(Calibration, ClockSync)> {
        let id = self.id();
        self.session.send(&Order::Calibrate { id, cpu, clock })?;
        Ok(match self.next(id, 2 * SUPERVISOR_GRACE)? {
            Event::Calibrated { calibration, sync, .. } => Ok((calibration, sync)),
            other => Err(job_failure(other)),
        })
    }
}

/// What a watch brings.
fn activity_of(event: Event) -> Result<SystemActivity, String> {
    match event {
        Event::Watched { activity: watch, .. } => Ok(*watch),
        other => Err(job_failure(other).reason),
    }
}

/// What an event that is no answer comes to.
pub(super) fn job_failure(event: Event) -> JobFailure {
    let mut of = None;
    let mut too_many = false;
    let (outcome, reason, is_final) = match event {
        Event::Skipped { missing, arm, .. } => {
            of = arm;
            (RowOutcome::Skipped, missing, true)
        }
        Event::TimedOut { after_ms, reason: why, .. } => {
            let ended = || format!("the worker was ended after {after_ms} ms");
            (RowOutcome::TimedOut, why.unwrap_or_else(ended), false)
        }
        Event::Failed { at_op, reason: why, errno, arm, .. } => {
            of = arm;
            too_many = at_op == Some(0) && errno == Some(Errno::E2BIG as i32);
            match at_op {
                Some(op) => (RowOutcome::Failed, format!("op {op} of a batch: {why}"), true),
                None => (RowOutcome::Failed, why, false),
            }
        }
        other => {
            let why = format!("the worker gave no answer to what it was asked: {other:?}");
            (RowOutcome::Failed, why, false)
        }
    };
    JobFailure { outcome, reason, is_final, batch_too_large: too_many, arm: of }
}
