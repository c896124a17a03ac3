//! The other machine of a run: where it is, and where its servers listen.

use std::net::{IpAddr, TcpListener};

use oscost_model::case::Case;
use oscost_model::journal::PlannedRow;
use oscost_model::protocol::Hello;
use oscost_model::record::Machine as Described;
use oscost_model::target::Host;

use super::UsageError;
use super::output::remark;
use super::target::{Arrived, Machine, Patience, arrive, untreated};
use crate::hosts::{Interrupt, WorkerBinary};
use crate::run::Peer;
use crate::{advice, plan};

/// The id of the peer's machine in the record.
pub(super) const MACHINE: &str = "m1";

/// The peer's end of a run.
pub(super) struct Met<'a> {
    arrived: Arrived<'a>,
    bind: IpAddr,
}

/// The reach of a peer beside workers at `at`.
pub(super) fn host(text: &str, at: &Host) -> anyhow::Result<Host> {
    let host = untreated(text, "a peer serves, and nothing is done to it")?;
    match (at, &host) {
        (Host::Local | Host::Ssh(_), Host::Ssh(_)) | (Host::Ssh(_), Host::Local) => Ok(host),
        (Host::Local, Host::Local) => {
            let hint = "without --peer both ends stand on this machine";
            Err(UsageError(format!("cannot have the peer at `{text}`\n  hint: {hint}")).into())
        }
        _ => {
            let hint = "workers and peer stand at `local` and `ssh:[user@]HOST`";
            let words = format!("cannot have the peer of `{at}` at `{text}`\n  hint: {hint}");
            Err(UsageError(words).into())
        }
    }
}

impl<'a> Met<'a> {
    /// Begins a session at the peer's machine, and takes it. `at` is where the workers are, and what
    /// the supervisor there has said.
    pub(super) fn at(
        host: &Host,
        at: (&Host, &Hello),
        program: &WorkerBinary,
        interrupt: &'a Interrupt,
    ) -> anyhow::Result<Self> {
        let arrived = arrive(host, program, interrupt, Patience::GoWithout)?;
        if let Machine::Held(by) = &arrived.machine
            && !is_us(by, at.0)
        {
            // Who waits for one machine while holding another may wait for ever.
            anyhow::bail!(
                "cannot have the peer at {host}: {by} is measuring there\n  hint: try again when \
                 that has ended"
            );
        }
        let bind = match host {
            Host::Local => seen_from(at)?,
            _ => came_to(host, arrived.session.hello())?,
        };
        Ok(Self { arrived, bind })
    }

    /// What a run must know of it.
    pub(super) fn peer(&mut self, cpu: Option<u32>) -> Peer<'_> {
        let facts = self.arrived.session.hello().facts.clone();
        Peer {
            machine: Described::new(MACHINE, facts.clone(), advice::machine_notes(&facts)),
            tracers: facts.tracers,
            session: &mut *self.arrived.session,
            bind: self.bind,
            cpu,
        }
    }
}

/// Whether the holder of the peer's machine is this very process: then the two are one machine.
fn is_us(by: &str, at: &Host) -> bool {
    *at == Host::Local && by.starts_with(&format!("process {} ", std::process::id()))
}

/// The address by which ssh has reached the peer's machine.
fn came_to(host: &Host, hello: &Hello) -> anyhow::Result<IpAddr> {
    let to = hello.ssh_endpoints.as_ref().map(|came| came.to.clone()).unwrap_or_default();
    to.parse().map_err(|_| {
        anyhow::anyhow!(
            "cannot have the peer at {host}: its sshd does not say by which address it was \
             reached (SSH_CONNECTION is `{}`)\n  hint: swap --at and --peer",
            to.escape_debug()
        )
    })
}

/// The address by which the other machine sees this one, where it is one of this machine's own.
fn seen_from((host, hello): (&Host, &Hello)) -> anyhow::Result<IpAddr> {
    let from = hello.ssh_endpoints.as_ref().map(|came| came.from.clone()).unwrap_or_default();
    let own = |from: &IpAddr| TcpListener::bind((*from, 0)).is_ok();
    from.parse().ok().filter(own).ok_or_else(|| {
        anyhow::anyhow!(
            "cannot be the peer of {host}: it sees this machine at `{}`, which is no address of \
             ours (NAT, or a jump host)\n  hint: swap --at and --peer, or start oscost there",
            from.escape_debug()
        )
    })
}

/// The cases that are asked for, as they are between two machines.
pub(super) fn cases(program: &WorkerBinary, asked: Vec<Case>) -> Vec<Case> {
    let (cases, changed) = plan::with_remote_peer(&program.catalog, asked);
    if changed {
        remark("note: between machines the peer is always on another CPU: peer_cpu=other");
    }
    cases
}

/// What the other end stands at, for the rows of a run that have one; and why others have not that
/// should.
pub(super) fn apart(rows: &mut [PlannedRow]) -> Vec<(usize, String)> {
    plan::mark_remote_peer(rows, MACHINE);
    lacking(rows)
}

/// The rows that cannot have their other end on another machine, and why.
fn lacking(rows: &[PlannedRow]) -> Vec<(usize, String)> {
    let why_not = |(at, row)| Some((at, plan::local_only_reason(row)?));
    rows.iter().enumerate().filter_map(why_not).collect()
}
