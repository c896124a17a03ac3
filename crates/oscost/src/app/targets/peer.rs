//! The peer's machine of a run: its host, and the address that its servers bind.

use std::net::{IpAddr, TcpListener};

use oscost_model::case::Case;
use oscost_model::journal::PlannedRow;
use oscost_model::protocol::Hello;
use oscost_model::record;
use oscost_model::target::Host;

use super::connect::{ConnectOptions, Connection, Machine, connect};
use super::resolve::host_alone;
use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::hosts::WorkerBinary;
use crate::plan::SkippedRow;
use crate::run::Peer;
use crate::{advice, plan};

/// The id of the peer's machine in the record.
const MACHINE: &str = "m1";

/// A connection to the peer's machine.
pub(crate) struct PeerConnection<'a> {
    connection: Connection<'a>,
    bind: IpAddr,
}

/// The host and supervisor of the workers, to which the peer is the other end.
pub(crate) struct WorkerSide<'a> {
    pub(crate) host: &'a Host,
    pub(crate) hello: &'a Hello,
}

/// The host of a peer for workers on `workers`.
pub(crate) fn peer_host(text: &str, workers: &Host) -> anyhow::Result<Host> {
    let host = host_alone(text, "a peer has no treatments: name a host alone")?;
    match (workers, &host) {
        (Host::Local | Host::Ssh(_), Host::Ssh(_)) | (Host::Ssh(_), Host::Local) => Ok(host),
        (Host::Local, Host::Local) => {
            let what = format!("cannot have the peer at `{text}`");
            let hint = "without --peer both ends are on this machine";
            Err(UsageError::with_hint(&what, hint).into())
        }
        _ => {
            let what = format!("cannot have the peer of `{workers}` at `{text}`");
            let hint = "workers and peer run at `local` and `ssh:[user@]HOST`";
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}

impl<'a> PeerConnection<'a> {
    /// Connects to the peer's machine and reserves it.
    pub(crate) fn open(
        host: &Host,
        workers: WorkerSide<'_>,
        worker: &WorkerBinary,
        options: ConnectOptions<'a, '_>,
    ) -> anyhow::Result<Self> {
        let on_busy = options.on_busy.at_second_machine();
        let options = ConnectOptions { on_busy, ..options };
        let connection = connect(host, worker, options)?;
        if let Machine::Busy(by) = &connection.machine
            && !is_this_process(by, workers.host)
        {
            anyhow::bail!(
                "cannot have the peer at {host}: {by} is measuring there\n  hint: try again when \
                 it has ended"
            );
        }
        let bind = match host {
            Host::Local => address_known_to(workers)?,
            _ => address_reached(host, connection.session.hello())?,
        };
        Ok(Self { connection, bind })
    }

    /// The peer in the form that a run takes.
    pub(crate) fn peer(&mut self, cpu: Option<u32>) -> Peer<'_> {
        let facts = self.connection.session.hello().facts.clone();
        Peer {
            machine: record::Machine::new(MACHINE, facts.clone(), advice::machine_notes(&facts)),
            tracers: facts.tracers,
            session: &mut *self.connection.session,
            bind: self.bind,
            cpu,
        }
    }
}

/// Whether this very process has reserved the peer's machine: the two are then one machine.
fn is_this_process(by: &str, workers: &Host) -> bool {
    *workers == Host::Local && by.starts_with(&format!("process {} ", std::process::id()))
}

/// The address at which ssh reached the peer's machine.
fn address_reached(host: &Host, hello: &Hello) -> anyhow::Result<IpAddr> {
    let to = hello.ssh_endpoints.as_ref().map(|ends| ends.to.clone()).unwrap_or_default();
    to.parse().map_err(|_| {
        anyhow::anyhow!(
            "cannot have the peer at {host}: its sshd does not report the address at which it was \
             reached (SSH_CONNECTION is `{}`)\n  hint: swap --at and --peer",
            to.escape_debug()
        )
    })
}

/// The address by which the other machine knows this one, if this machine has it.
fn address_known_to(WorkerSide { host, hello }: WorkerSide<'_>) -> anyhow::Result<IpAddr> {
    let from = hello.ssh_endpoints.as_ref().map(|ends| ends.from.clone()).unwrap_or_default();
    let own = |from: &IpAddr| TcpListener::bind((*from, 0)).is_ok();
    from.parse().ok().filter(own).ok_or_else(|| {
        anyhow::anyhow!(
            "cannot be the peer of {host}: its connection comes from `{}`, which is not an \
             address of this machine (NAT, or a jump host)\n  hint: swap --at and --peer, or start oscost \
             there",
            from.escape_debug()
        )
    })
}

/// The selected cases as they are between two machines.
pub(crate) fn cases_between(
    worker: &WorkerBinary,
    selected: Vec<Case>,
    observer: &dyn Observer,
) -> Vec<Case> {
    let plan::RemotePeerCases { cases, changed } =
        plan::with_remote_peer(&worker.catalog, selected);
    if changed {
        observer.note("between machines the peer is always on another CPU: peer_cpu=other");
    }
    cases
}

/// Sets the peer's machine of the rows with two ends; returns the rows that can only run on one
/// machine.
pub(crate) fn move_ends_to_peer(rows: &mut [PlannedRow]) -> Vec<SkippedRow> {
    plan::mark_remote_peer(rows, MACHINE);
    let skipped =
        |(index, row)| Some(SkippedRow { row: index, reason: plan::local_only_reason(row)? });
    rows.iter().enumerate().filter_map(skipped).collect()
}
