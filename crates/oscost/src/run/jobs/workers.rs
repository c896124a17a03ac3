//! Jobs of a session: one at a time, an order and its answer.

mod machine_jobs;

use std::time::Duration;

use oscost_model::calls::CallCount;
use oscost_model::counters::{CountedSet, EventCounts};
use oscost_model::journal::WorkerOutcome;
use oscost_model::program::{GroupTimes, ProgramResult, TurnResult};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::protocol::{Event, Order, TurnFailure};
use oscost_model::record::RowOutcome;
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

pub(crate) use self::machine_jobs::WatchedProbe;
use super::job::{JobFailure, JobResult, SUPERVISOR_GRACE, job_failure};
use super::remote_peer::PeerServers;
use crate::hosts::{HostError, Session, next_matching};

/// The result of a worker that has measured.
pub(crate) struct Measurement {
    /// The batches of all its arms.
    pub(crate) samples: Vec<Sample>,
    /// The disturbance of the worker.
    pub(crate) disturbance: Disturbance,
    /// How often an op woke the monitor, per arm.
    pub(crate) monitor_wakeups_per_op: Vec<Option<f64>>,
    /// The speculation control state of each arm.
    pub(crate) speculation: Vec<Option<String>>,
}

/// The trials of programs that took turns.
pub(crate) struct TurnsTaken {
    /// Those that succeeded.
    pub(crate) trials: Vec<TurnResult>,
    /// The program that failed, after all of them.
    pub(crate) failure: Option<TurnFailure>,
    /// What their control group was charged, or why there is none; `None` if none was asked for.
    pub(crate) group: Option<Result<GroupTimes, String>>,
}

impl Measurement {
    /// The part of one arm; the disturbance is that of the whole worker.
    pub(crate) fn for_arm(&self, arm: u8) -> Self {
        let at = usize::from(arm);
        let samples = self.samples.iter().filter(|sample| sample.arm == arm).copied().collect();
        Self {
            samples,
            disturbance: self.disturbance,
            monitor_wakeups_per_op: self
                .monitor_wakeups_per_op
                .get(at)
                .into_iter()
                .copied()
                .collect(),
            speculation: self.speculation.get(at).into_iter().cloned().collect(),
        }
    }

    /// The number of timed ops.
    pub(crate) fn ops(&self) -> u64 {
        self.samples.iter().map(|sample| sample.n).sum()
    }

    /// The journal outcome of a worker with one arm.
    pub(crate) fn outcome(self) -> WorkerOutcome {
        WorkerOutcome::Sampled {
            samples: self.samples,
            disturbance: Box::new(self.disturbance),
            monitor_wakeups_per_op: self.monitor_wakeups_per_op.first().copied().flatten(),
            speculation: self.speculation.into_iter().next().flatten(),
        }
    }
}

/// The last event of a worker whose peer may be on another machine.
struct PeeredEvent {
    event: Event,
    /// The number of unauthorised connections to its peer.
    unauthorised_connections: u64,
}

/// The jobs of a session.
pub(crate) struct Workers<'a> {
    session: &'a mut dyn Session,
    last_id: u64,
    /// The servers on the machine of a remote peer.
    peer_servers: Option<PeerServers<'a>>,
    /// The jobs with treatments attached to the system.
    pub(crate) attached: Vec<u64>,
    /// The failure of an attached job that ended early.
    pub(crate) early_detachment: Option<JobFailure>,
}

/// Where the peer of a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerLocation {
    /// On the same machine as the worker, or there is none.
    SameMachine,
    /// On another machine.
    RemoteMachine,
}

impl<'a> Workers<'a> {
    pub(crate) fn new(session: &'a mut dyn Session) -> Self {
        Self {
            session,
            last_id: 0,
            peer_servers: None,
            attached: Vec::new(),
            early_detachment: None,
        }
    }

    /// The same, with a remote peer.
    pub(crate) fn with_peer(self, peer_servers: Option<PeerServers<'a>>) -> Self {
        Self { peer_servers, ..self }
    }

    /// The servers on the machine of a remote peer.
    pub(crate) fn peer_servers(&mut self) -> Option<&mut PeerServers<'a>> {
        self.peer_servers.as_mut()
    }

    pub(crate) fn session(&self) -> &dyn Session {
        self.session
    }

    /// The session, for other jobs than these while none of them runs.
    pub(crate) fn session_mut(&mut self) -> &mut dyn Session {
        self.session
    }

    pub(crate) fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends an order.
    pub(crate) fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.session.send(order)
    }

    /// The next event of any job.
    pub(crate) fn next_of_any_job(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.session.next(patience)
    }

    /// The next event of job `id`. Late events of earlier jobs are dropped.
    pub(crate) fn next(&mut self, id: u64, patience: Duration) -> Result<Event, HostError> {
        let Self { session, attached, early_detachment, .. } = self;
        next_matching(*session, patience, |event| {
            if event.id() == Some(id) {
                return Some(event);
            }
            if let Some(detached) = event.id().filter(|id| attached.contains(id)) {
                attached.retain(|id| *id != detached);
                *early_detachment = Some(job_failure(event));
            }
            None
        })
    }

    /// Starts a worker, lets it time `groups` groups, and returns its last event.
    fn run_worker(&mut self, spec: WorkerSpec, groups: u32) -> Result<Event, HostError> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        let is_measurement = matches!(spec.task, Task::Measure(_));
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        match self.next(id, patience)? {
            Event::Ready { .. } => {}
            other => return Ok(other),
        }
        self.session.send(&Order::Go { id, batches: groups, arm: 0 })?;
        if is_measurement {
            self.session.send(&Order::Stop { id })?;
        }
        self.next(id, patience)
    }

    /// Runs a worker, with a server on the peer's machine if it needs one.
    fn with_peer_server(
        &mut self,
        spec: WorkerSpec,
        peer: PeerLocation,
        run: impl FnOnce(&mut Self, WorkerSpec) -> Result<Event, HostError>,
    ) -> JobResult<PeeredEvent> {
        let without_server = |event| PeeredEvent { event, unauthorised_connections: 0 };
        let Some(peer_servers) =
            self.peer_servers.as_mut().filter(|_| peer == PeerLocation::RemoteMachine)
        else {
            return Ok(Ok(without_server(run(self, spec)?)));
        };
        let server = match peer_servers.serve(&spec)? {
            Ok(server) => server,
            Err(ended) => return Ok(Err(ended)),
        };
        let event = run(self, WorkerSpec { remote_end: Some(server.end.clone()), ..spec })?;
        let Some(peer_servers) = &mut self.peer_servers else {
            return Ok(Ok(without_server(event)));
        };
        let done = matches!(
            event,
            Event::Piloted { .. }
                | Event::Sampled { .. }
                | Event::EventsCounted { .. }
                | Event::Counted { .. }
        );
        if done {
            return Ok(peer_servers
                .finish(&server)?
                .map(|unauthorised_connections| PeeredEvent { event, unauthorised_connections }));
        }
        let mut failure = job_failure(event);
        let server_failure = peer_servers.stop(&server)?;
        // A skipped worker and its server name the same missing requirement.
        if let Some(server_failure) =
            server_failure.filter(|_| failure.outcome != RowOutcome::Skipped)
        {
            failure.reason = format!("{}; {server_failure}", failure.reason);
        }
        Ok(Err(failure))
    }

    /// Runs the pilot of a case.
    pub(crate) fn pilot(&mut self, spec: WorkerSpec, peer: PeerLocation) -> JobResult<BatchPlan> {
        let result =
            self.with_peer_server(spec, peer, |workers, spec| workers.run_worker(spec, 1))?;
        Ok(result.and_then(|it| match it.event {
            Event::Piloted { plan, .. } => Ok(plan),
            other => Err(job_failure(other)),
        }))
    }

    /// Measures a case once.
    pub(crate) fn measure(
        &mut self,
        spec: WorkerSpec,
        peer: PeerLocation,
    ) -> JobResult<Measurement> {
        let groups = match &spec.task {
            Task::Measure(plan) => plan.groups,
            _ => 1,
        };
        let result =
            self.with_peer_server(spec, peer, |workers, spec| workers.run_worker(spec, groups))?;
        Ok(result.and_then(|PeeredEvent { event, unauthorised_connections }| match event {
            Event::Sampled {
                samples,
                mut disturbance,
                monitor_wakeups_per_op,
                speculation,
                ..
            } => {
                if let (PeerLocation::RemoteMachine, Some(peer_servers)) =
                    (peer, &self.peer_servers)
                {
                    let channel = disturbance.channel.get_or_insert_default();
                    channel.unauthorised_connections += unauthorised_connections;
                    channel.peer_cpu = channel.peer_cpu.or(peer_servers.cpu);
                }
                Ok(Measurement {
                    samples,
                    disturbance: *disturbance,
                    monitor_wakeups_per_op,
                    speculation,
                })
            }
            other => Err(job_failure(other)),
        }))
    }

    /// Counts events of the ops of a case.
    pub(crate) fn count_events(
        &mut self,
        spec: WorkerSpec,
        peer: PeerLocation,
    ) -> JobResult<EventCounts> {
        // Its plan names its groups: one `go` lets it count all of them.
        let result =
            self.with_peer_server(spec, peer, |workers, spec| workers.run_worker(spec, 1))?;
        Ok(result.and_then(|it| match it.event {
            // What the journal keeps must be readable, whatever a worker on another machine sends.
            Event::EventsCounted { counts, .. } => {
                match counts.sets.iter().find_map(CountedSet::contradiction) {
                    None => Ok(*counts),
                    Some(why) => {
                        let reason = format!("the worker's counts contradict themselves: {why}");
                        Err(JobFailure::new(RowOutcome::Failed, reason))
                    }
                }
            }
            other => Err(job_failure(other)),
        }))
    }

    /// Runs a program once.
    pub(crate) fn run_program(&mut self, spec: WorkerSpec) -> JobResult<ProgramResult> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::ProgramExited { result, .. } => Ok(*result),
            other => Err(job_failure(other)),
        })
    }

    /// Runs programs in turns.
    pub(crate) fn take_turns(&mut self, spec: WorkerSpec) -> JobResult<TurnsTaken> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::TurnsTaken { trials, failure, group, .. } => {
                Ok(TurnsTaken { trials, failure, group })
            }
            other => Err(job_failure(other)),
        })
    }

    /// Counts the calls of a case.
    pub(crate) fn count(&mut self, spec: WorkerSpec, peer: PeerLocation) -> JobResult<CallCount> {
        let result = self.with_peer_server(spec, peer, |workers, spec| {
            let id = workers.id();
            let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
            workers.session.send(&Order::Count { id, spec: Box::new(spec) })?;
            workers.next(id, patience)
        })?;
        Ok(result.and_then(|it| match it.event {
            Event::Counted { count, .. } => Ok(*count),
            other => Err(job_failure(other)),
        }))
    }

    /// Counts the calls of a program by form.
    pub(crate) fn count_forms(&mut self, spec: WorkerSpec) -> JobResult<ProgramCalls> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + SUPERVISOR_GRACE;
        self.session.send(&Order::Count { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::FormsCounted { calls, .. } => Ok(*calls),
            other => Err(job_failure(other)),
        })
    }
}
