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
use crate::hosts::slurm::node_address;
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

/// A host and its supervisor: one end of a run between two.
#[derive(Clone, Copy)]
pub(crate) struct ConnectedHost<'a> {
    pub(crate) host: &'a Host,
    pub(crate) hello: &'a Hello,
}

/// The host of a peer for workers on `workers`.
pub(crate) fn peer_host(text: &str, workers: &Host) -> anyhow::Result<Host> {
    let host = host_alone(text, "a peer has no treatments: name a host alone")?;
    match (workers, &host) {
        (Host::Local, Host::Local) => {
            let what = format!("cannot have the peer at `{text}`");
            let hint = "without --peer both ends are on this machine";
            Err(UsageError::with_hint(&what, hint).into())
        }
        (workers, peer) if has_network(workers) && has_network(peer) => Ok(host),
        _ => {
            let what = format!("cannot have the peer of `{workers}` at `{text}`");
            let hint = "workers and peer run at `local`, `ssh:[user@]HOST` and `slurm:`";
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}

/// Whether a host is on a network with others.
fn has_network(host: &Host) -> bool {
    match host {
        Host::Local | Host::Ssh(_) | Host::Slurm(_) => true,
        Host::Vm(_) | Host::Fake(_) => false,
    }
}

impl<'a> PeerConnection<'a> {
    /// Connects to the peer's machine and reserves it.
    pub(crate) fn open(
        host: &Host,
        workers: ConnectedHost<'_>,
        worker: &WorkerBinary,
        options: ConnectOptions<'a, '_>,
    ) -> anyhow::Result<Self> {
        let on_busy = options.on_busy.at_second_machine();
        let options = ConnectOptions { on_busy, ..options };
        let connection = connect(host, worker, options)?;
        let peer = ConnectedHost { host, hello: connection.session.hello() };
        check_nodes(peer, workers)?;
        // Several nodes of Slurm may be one machine.
        let is_one_machine = is_on_this_machine(peer) && is_on_this_machine(workers);
        if let Machine::Busy(by) = &connection.machine
            && !is_this_process(by, workers.host)
        {
            let hint = match is_one_machine {
                true => "both are this machine, which has one lock: `--no-lock` goes without it",
                false => "try again when it has ended",
            };
            anyhow::bail!(
                "cannot have the peer at {host}: {by} is measuring there\n  hint: {hint}"
            );
        }
        if is_one_machine {
            options.observer.note(&format!(
                "`{}` and `{host}` are one machine: nothing passes through a network",
                workers.host
            ));
        }
        let bind = match host {
            Host::Local => address_known_to(workers)?,
            Host::Slurm(_) => address_of_node(peer, is_one_machine)?,
            _ => address_reached(peer)?,
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

/// Refuses a peer on the node of the workers.
fn check_nodes(peer: ConnectedHost<'_>, workers: ConnectedHost<'_>) -> anyhow::Result<()> {
    let name =
        |side: ConnectedHost<'_>| side.hello.slurm_node.as_ref().map(|node| node.name.clone());
    match name(peer) {
        Some(node) if name(workers).as_ref() == Some(&node) => anyhow::bail!(
            "cannot have the peer at {}: it is on node {}, where the workers are\n  hint: \
             `nodes=NAME` names another node; with `exclusive` a node has one end alone",
            peer.host,
            node.escape_debug()
        ),
        _ => Ok(()),
    }
}

/// Whether one end is known to be on the machine of the tool: srun has launched its task through the
/// loopback interface.
fn is_on_this_machine(end: ConnectedHost<'_>) -> bool {
    let launched_from = || {
        let node = end.hello.slurm_node.as_ref()?;
        node.launched_from.parse::<IpAddr>().ok()
    };
    match end.host {
        Host::Local => true,
        Host::Slurm(_) => launched_from().is_some_and(|address| address.is_loopback()),
        Host::Ssh(_) | Host::Vm(_) | Host::Fake(_) => false,
    }
}

/// The address of the peer's node.
fn address_of_node(peer: ConnectedHost<'_>, is_one_machine: bool) -> anyhow::Result<IpAddr> {
    let ConnectedHost { host, hello } = peer;
    let name = hello.slurm_node.as_ref().map(|node| node.name.clone()).unwrap_or_default();
    let address = node_address(&name).map_err(|why| {
        anyhow::anyhow!(
            "cannot have the peer at {host}: {why}\n  hint: swap --at and --peer, or name the node \
             by `--peer ssh:HOST`"
        )
    })?;
    if address.is_loopback() && !is_one_machine {
        anyhow::bail!(
            "cannot have the peer at {host}: the address of its node in Slurm is {address}, which \
             no other machine reaches\n  hint: name the node by `--peer ssh:HOST`"
        );
    }
    Ok(address)
}

/// The address at which ssh reached the peer's machine.
fn address_reached(ConnectedHost { host, hello }: ConnectedHost<'_>) -> anyhow::Result<IpAddr> {
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
fn address_known_to(ConnectedHost { host, hello }: ConnectedHost<'_>) -> anyhow::Result<IpAddr> {
    let by_ssh = hello.ssh_endpoints.as_ref().map(|ends| ends.from.clone());
    let by_slurm = hello.slurm_node.as_ref().map(|node| node.launched_from.clone());
    let from = match host {
        Host::Slurm(_) => by_slurm.unwrap_or_default(),
        _ => by_ssh.unwrap_or_default(),
    };
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
