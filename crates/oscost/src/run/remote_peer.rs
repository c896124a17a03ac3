//! The other end of a case on another machine: a second session, and a server for each worker.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use oscost_model::protocol::{Event, Order};
use oscost_model::record::{Machine, RowOutcome};
use oscost_model::worker::{RemoteEnd, Task, WorkerSpec};

use super::workers::{Answer, BEYOND, Ended, ended};
use crate::hosts::{HostError, Session};

/// What a server may take beyond its worker: the worker is built in that time.
const SERVER_GRACE_MS: u64 = 15_000;
/// What a server that nobody waits for any more may still have to say.
const LAST_WORD: Duration = Duration::from_millis(300);

/// The machine of the peer.
pub struct Peer<'a> {
    /// A session there.
    pub session: &'a mut dyn Session,
    /// The machine, as it was met.
    pub machine: Machine,
    /// What is attached to its system.
    pub tracers: Vec<String>,
    /// Where its servers listen.
    pub bind: IpAddr,
    /// The CPU that was asked for.
    pub cpu: Option<u32>,
}

/// The servers of a session.
pub(super) struct FarSide<'a> {
    pub(super) session: &'a mut dyn Session,
    bind: IpAddr,
    /// The CPU that servers are pinned to.
    pub(super) cpu: Option<u32>,
    last_id: u64,
    /// Why there is no session any more.
    gone: Option<String>,
}

/// A server that waits for its worker.
pub(super) struct Server {
    id: u64,
    /// The way there.
    pub(super) end: RemoteEnd,
}

impl<'a> FarSide<'a> {
    pub(super) fn new(session: &'a mut dyn Session, bind: IpAddr) -> Self {
        // Far from the ids of the probes before.
        Self { session, bind, cpu: None, last_id: 1 << 32, gone: None }
    }

    /// Whether the session has broken, and how.
    pub(super) fn gone(&self) -> Option<Ended> {
        let reason = self.gone.as_ref()?;
        Some(Ended {
            outcome: RowOutcome::Failed,
            reason: reason.clone(),
            is_final: true,
            too_many: false,
            arm: None,
        })
    }

    /// Starts a server for the worker of this spec.
    pub(super) fn serve(&mut self, spec: &WorkerSpec) -> Answer<Server> {
        if let Some(gone) = self.gone() {
            return Ok(Err(gone));
        }
        let token = match token() {
            Ok(token) => token,
            Err(error) => return Ok(Err(failed(format!("cannot make a token: {error}")))),
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
        let said = self.ask(&Order::Serve { id, spec: Box::new(spec) }, id, 2 * BEYOND);
        Ok(match self.alive(said)? {
            Ok(Event::Ready { addr: Some(addr), .. }) if self.is_there(&addr) => {
                Ok(Server { id, end: RemoteEnd { addr, token } })
            }
            Ok(Event::Ready { addr, .. }) => {
                // A session that does not take this says so at the next order.
                let _ = self.session.send(&Order::Stop { id });
                Err(failed(format!("the peer listens elsewhere than it was to: {addr:?}")))
            }
            Ok(other) => Err(of_the_peer(other)),
            Err(gone) => Err(gone),
        })
    }

    /// Whether a server stands at the address that it was given.
    fn is_there(&self, addr: &str) -> bool {
        addr.parse::<SocketAddr>().is_ok_and(|addr| addr.ip() == self.bind && addr.port() > 0)
    }

    /// The end of a server whose worker has ended well: how many strangers knocked.
    pub(super) fn ended(&mut self, server: &Server) -> Answer<u64> {
        let said = match self.hear(server.id, BEYOND) {
            // One server hangs: its session will tell whether it does as well.
            Err(HostError::TimedOut(patience)) => {
                // A session that does not take this says so at the next order.
                let _ = self.session.send(&Order::Stop { id: server.id });
                let reason = format!("the peer: its end was still busy {patience:?} after ours");
                return Ok(Err(Ended { is_final: false, ..failed(reason) }));
            }
            other => other,
        };
        Ok(match self.alive(said)? {
            Ok(Event::Served { unauthorised_connections: strangers, .. }) => Ok(strangers),
            Ok(other) => Err(of_the_peer(other)),
            Err(gone) => Err(gone),
        })
    }

    /// The end of a server whose worker has brought nothing: what it, or its session, has to say of
    /// that.
    pub(super) fn stop(&mut self, server: &Server) -> Result<Option<String>, HostError> {
        let asked = self.session.send(&Order::Stop { id: server.id });
        let said = asked.and_then(|()| self.hear(server.id, LAST_WORD));
        let said = match said {
            Err(HostError::TimedOut(_)) => return Ok(None),
            other => other,
        };
        Ok(match self.alive(said)? {
            Ok(Event::Served { .. } | Event::Ready { .. }) => None,
            Ok(other) => Some(of_the_peer(other).reason),
            Err(gone) => Some(gone.reason),
        })
    }

    fn ask(&mut self, order: &Order, id: u64, patience: Duration) -> Result<Event, HostError> {
        self.session.send(order)?;
        self.hear(id, patience)
    }

    /// The next event of this job; what others still had to say is past caring for.
    fn hear(&mut self, id: u64, patience: Duration) -> Result<Event, HostError> {
        loop {
            let event = self.session.next(patience)?;
            if event.id() == Some(id) {
                return Ok(event);
            }
        }
    }

    /// A broken session costs the rows that need it, and not the run; the user's wish is another
    /// matter.
    fn alive(&mut self, said: Result<Event, HostError>) -> Answer<Event> {
        match said {
            Ok(event) => Ok(Ok(event)),
            Err(HostError::Interrupted) => Err(HostError::Interrupted),
            Err(error) => {
                let gone = self.gone.insert(format!("the peer is gone: {error}"));
                Ok(Err(Ended { reason: gone.clone(), ..failed(String::new()) }))
            }
        }
    }
}

fn failed(reason: String) -> Ended {
    Ended { outcome: RowOutcome::Failed, reason, is_final: true, too_many: false, arm: None }
}

/// What a server says that does not serve.
fn of_the_peer(event: Event) -> Ended {
    let told = ended(event);
    Ended { reason: format!("the peer: {}", told.reason), ..told }
}

/// 128 bits that nobody can guess, in hexadecimal.
fn token() -> std::io::Result<String> {
    let mut token = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut token)?;
    Ok(format!("{:032x}", u128::from_be_bytes(token)))
}
