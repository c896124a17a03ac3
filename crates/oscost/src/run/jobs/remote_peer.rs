//! The peer of a case on another machine: a second session, and one server process per worker.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use oscost_model::protocol::{Event, Order};
use oscost_model::record::{Machine, RowOutcome};
use oscost_model::worker::{RemoteEnd, Task, WorkerSpec};

use super::job::{JobFailure, JobResult, SUPERVISOR_GRACE, job_failure};
use crate::hosts::{HostError, Session, next_matching};

/// The time limit of a server beyond that of its worker, which starts later.
const SERVER_GRACE_MS: u64 = 15_000;
/// How long to wait for the report of a server whose worker has failed.
const STOP_TIMEOUT: Duration = Duration::from_millis(300);

/// The machine of the remote peer.
pub struct Peer<'a> {
    /// A session there.
    pub session: &'a mut dyn Session,
    /// The machine, as described by its supervisor.
    pub machine: Machine,
    /// Tracers that were found attached to its system.
    pub tracers: Vec<String>,
    /// The address that its servers listen on.
    pub bind: IpAddr,
    /// The requested CPU.
    pub cpu: Option<u32>,
}

/// The server processes of a session.
pub(crate) struct PeerServers<'a> {
    pub(crate) session: &'a mut dyn Session,
    bind: IpAddr,
    /// The CPU that servers are pinned to.
    pub(crate) cpu: Option<u32>,
    last_id: u64,
    /// Why the session ended.
    failure: Option<String>,
}

/// A server waiting for its worker.
pub(super) struct Server {
    id: u64,
    /// Its address and token.
    pub(crate) end: RemoteEnd,
}

impl<'a> PeerServers<'a> {
    pub(crate) fn new(session: &'a mut dyn Session, bind: IpAddr) -> Self {
        // Well above the ids of the probes before.
        Self { session, bind, cpu: None, last_id: 1 << 32, failure: None }
    }

    /// The failure of the session, if it has failed.
    pub(crate) fn failure(&self) -> Option<JobFailure> {
        self.failure.clone().map(failed_job)
    }

    /// Starts a server for the worker of this spec.
    pub(super) fn serve(&mut self, spec: &WorkerSpec) -> JobResult<Server> {
        if let Some(failed) = self.failure() {
            return Ok(Err(failed));
        }
        let token = match token() {
            Ok(token) => token,
            Err(error) => return Ok(Err(failed_job(format!("cannot make a token: {error}")))),
        };
        self.last_id += 1;
        let id = self.last_id;
        let bind = self.bind.to_string();
        let spec = WorkerSpec {
            cpu: self.cpu,
            peer_cpu: None,
            task: Task::Serve { bind, token: token.clone() },
            timeout_ms: spec.timeout_ms + SERVER_GRACE_MS,
            ..spec.clone()
        };
        let reply =
            self.request(&Order::Serve { id, spec: Box::new(spec) }, id, 2 * SUPERVISOR_GRACE);
        Ok(match self.check_session(reply)? {
            Ok(Event::Ready { addr: Some(addr), .. }) if self.is_bound_address(&addr) => {
                Ok(Server { id, end: RemoteEnd { addr, token } })
            }
            Ok(Event::Ready { addr, .. }) => {
                // If this fails, the next order reports it.
                let _ = self.session.send(&Order::Stop { id });
                Err(failed_job(format!("the peer listens on an unexpected address: {addr:?}")))
            }
            Ok(other) => Err(peer_failure(other)),
            Err(failed) => Err(failed),
        })
    }

    /// Whether a server listens on the address that it was given.
    fn is_bound_address(&self, addr: &str) -> bool {
        addr.parse::<SocketAddr>().is_ok_and(|addr| addr.ip() == self.bind && addr.port() > 0)
    }

    /// Waits for the end of a server whose worker succeeded; returns the number of unauthorised
    /// connections.
    pub(super) fn finish(&mut self, server: &Server) -> JobResult<u64> {
        let reply = match self.next_event(server.id, SUPERVISOR_GRACE) {
            // This server hangs; the next order shows whether the session does too.
            Err(HostError::TimedOut(patience)) => {
                // If this fails, the next order reports it.
                let _ = self.session.send(&Order::Stop { id: server.id });
                let reason = format!("the peer did not end within {patience:?} after its worker");
                return Ok(Err(JobFailure { is_final: false, ..failed_job(reason) }));
            }
            other => other,
        };
        Ok(match self.check_session(reply)? {
            Ok(Event::Served { unauthorised_connections: unauthorised, .. }) => Ok(unauthorised),
            Ok(other) => Err(peer_failure(other)),
            Err(failed) => Err(failed),
        })
    }

    /// Stops a server whose worker failed; returns the failure that the server or its session
    /// reports.
    pub(super) fn stop(&mut self, server: &Server) -> Result<Option<String>, HostError> {
        let sent = self.session.send(&Order::Stop { id: server.id });
        let reply = sent.and_then(|()| self.next_event(server.id, STOP_TIMEOUT));
        let reply = match reply {
            Err(HostError::TimedOut(_)) => return Ok(None),
            other => other,
        };
        Ok(match self.check_session(reply)? {
            Ok(Event::Served { .. } | Event::Ready { .. }) => None,
            Ok(other) => Some(peer_failure(other).reason),
            Err(failed) => Some(failed.reason),
        })
    }

    fn request(&mut self, order: &Order, id: u64, patience: Duration) -> Result<Event, HostError> {
        self.session.send(order)?;
        self.next_event(id, patience)
    }

    /// The next event of this job; late events of other jobs are dropped.
    fn next_event(&mut self, id: u64, patience: Duration) -> Result<Event, HostError> {
        next_matching(self.session, patience, |event| (event.id() == Some(id)).then_some(event))
    }

    /// A failed session fails the rows that need it, not the run; an interrupt ends the run.
    fn check_session(&mut self, reply: Result<Event, HostError>) -> JobResult<Event> {
        match reply {
            Ok(event) => Ok(Ok(event)),
            Err(HostError::Interrupted) => Err(HostError::Interrupted),
            Err(error) => {
                let reason = self.failure.insert(format!("lost the peer: {error}"));
                Ok(Err(failed_job(reason.clone())))
            }
        }
    }
}

fn failed_job(reason: String) -> JobFailure {
    JobFailure::new(RowOutcome::Failed, reason)
}

/// The failure of a server.
fn peer_failure(event: Event) -> JobFailure {
    let failure = job_failure(event);
    JobFailure { reason: format!("the peer: {}", failure.reason), ..failure }
}

/// 128 random bits in hexadecimal.
fn token() -> std::io::Result<String> {
    let mut token = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut token)?;
    Ok(format!("{:032x}", u128::from_be_bytes(token)))
}
