//! Sessions with a host, and the reservation of its machine.

use std::fmt;
use std::time::Instant;

use oscost_model::machine_lock::OTHER_PROGRAM_PATIENCE;
use oscost_model::target::Host;
use oscost_model::untrusted_text::display_text;

use super::slurm::{self, NodeRequest};
use super::vm::find_kernel;
use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::hosts::vm::{Emulator, VmSession, VmSetup, VmSpec};
use crate::hosts::{
    FakeSession, HostError, Interrupt, LocalSession, Session, SshSession, WorkerBinary,
};
use crate::run::{
    Claim, MachineLock, OtherPrograms, claim, name_holder, wait_for_claim, wait_for_release,
};

/// What to do while another run has the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyPolicy {
    /// Wait until it ends.
    Wait,
    /// Fail.
    Fail,
    /// Go on, without disturbing it.
    Continue,
    /// Measure beside it: the lock is not asked for.
    NoLock,
}

impl BusyPolicy {
    /// The policy at a second machine, while this one is reserved: waiting for one while holding
    /// another could end in a deadlock.
    pub(crate) fn at_second_machine(self) -> Self {
        match self {
            BusyPolicy::NoLock => BusyPolicy::NoLock,
            BusyPolicy::Wait | BusyPolicy::Fail | BusyPolicy::Continue => BusyPolicy::Continue,
        }
    }

    /// Whether to wait in a queue for a node. Those who do not wait for a run that has the machine
    /// do not: at a second machine that could end in a deadlock as well.
    fn waits_for_node(self) -> bool {
        match self {
            BusyPolicy::Wait | BusyPolicy::NoLock => true,
            BusyPolicy::Fail | BusyPolicy::Continue => false,
        }
    }
}

/// How to connect.
#[derive(Clone, Copy)]
pub(crate) struct ConnectOptions<'a, 'o> {
    /// Ends waiting and the session.
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) on_busy: BusyPolicy,
    pub(crate) observer: &'o dyn Observer,
}

/// Whether this process has the machine for itself as long as the connection lasts.
pub(crate) enum Machine {
    /// It has.
    Ours,
    /// This process is measuring on it.
    Busy(String),
}

/// A session with a host.
pub(crate) struct Connection<'a> {
    pub(crate) session: Box<dyn Session + 'a>,
    pub(crate) machine: Machine,
    /// Reserves this machine; another one is reserved by its own supervisor.
    _lock: Option<MachineLock>,
}

/// This machine, reserved as far as it can be.
pub(crate) struct Reservation {
    pub(crate) machine: Machine,
    lock: Option<MachineLock>,
}

/// Starts a session with `host`.
pub(crate) fn connect<'a>(
    host: &Host,
    worker: &WorkerBinary,
    options: ConnectOptions<'a, '_>,
) -> anyhow::Result<Connection<'a>> {
    let interrupt = options.interrupt;
    let (session, reserved): (Box<dyn Session>, Reservation) = match host {
        Host::Local => {
            let reserved = reserve_this_machine(options)?;
            (Box::new(LocalSession::start(worker, interrupt)?), reserved)
        }
        Host::Fake(file) => {
            let reserved = Reservation { machine: Machine::Ours, lock: None };
            (Box::new(FakeSession::open(file, worker)?), reserved)
        }
        Host::Ssh(name) => {
            let mut session = SshSession::open(name, worker, interrupt)?;
            let machine = claim_remote(&mut session, host, options)?;
            (Box::new(session), Reservation { machine, lock: None })
        }
        Host::Slurm(text) => {
            let ConnectOptions { on_busy, observer, .. } = options;
            let waits = on_busy.waits_for_node();
            let request = NodeRequest { interrupt, observer, waits };
            let mut session = slurm::open(text, worker, request)?;
            let machine = claim_remote(&mut session, host, options)?;
            (Box::new(session), Reservation { machine, lock: None })
        }
        Host::Vm(text) => {
            let wanted = VmSpec::parse(text).map_err(|error| UsageError(error.to_string()))?;
            let kernel = find_kernel(&wanted, options.observer)?;
            let host = host.to_string();
            let emulator = Emulator::find().map_err(|why| Emulator::missing(&host, why))?;
            let reserved = reserve_this_machine(options)?;
            let setup = VmSetup {
                host: &host,
                spec: &wanted,
                kernel: &kernel,
                emulator: &emulator,
                worker,
            };
            let session = VmSession::start(&setup, interrupt)?;
            (Box::new(session), reserved)
        }
    };
    Ok(Connection { session, machine: reserved.machine, _lock: reserved.lock })
}

/// Reserves this machine, since one run measures at a time; waits for another run if requested. A
/// process that is no run is waited for as long as [`OTHER_PROGRAM_PATIENCE`], and then ignored.
pub(crate) fn reserve_this_machine(options: ConnectOptions<'_, '_>) -> anyhow::Result<Reservation> {
    let ConnectOptions { interrupt, on_busy, observer } = options;
    if on_busy == BusyPolicy::NoLock {
        return Ok(Reservation { machine: Machine::Ours, lock: None });
    }
    name_holder();
    let mut patience_ends: Option<Instant> = None;
    let mut awaited = String::new();
    loop {
        let waits = on_busy == BusyPolicy::Wait
            && patience_ends.is_none_or(|patience_ends| Instant::now() < patience_ends);
        let other_programs = if waits { OtherPrograms::Respect } else { OtherPrograms::Ignore };
        let held = match MachineLock::acquire(other_programs) {
            Err(held) => held,
            Ok(lock) => {
                for gap in lock.gaps() {
                    observer.note(&format!("cannot keep other runs off this machine: {gap}"));
                }
                return Ok(Reservation { machine: Machine::Ours, lock: Some(lock) });
            }
        };
        match on_busy {
            BusyPolicy::Fail => return Err(busy(&held.holder.to_string(), "on this machine")),
            BusyPolicy::Continue | BusyPolicy::NoLock => {
                let machine = Machine::Busy(held.holder.to_string());
                return Ok(Reservation { machine, lock: None });
            }
            BusyPolicy::Wait => {
                let process = held.holder.awaited();
                if awaited != process {
                    observer.waiting_for(&process, None);
                    awaited = process;
                }
                let limit = held.holder.is_other_program().then(|| {
                    let ends = patience_ends
                        .get_or_insert_with(|| Instant::now() + OTHER_PROGRAM_PATIENCE);
                    ends.saturating_duration_since(Instant::now())
                });
                wait_for_release(&held, interrupt, limit)?;
            }
        }
    }
}

/// Reserves another machine through its supervisor.
fn claim_remote(
    session: &mut dyn Session,
    host: &Host,
    ConnectOptions { on_busy, observer, .. }: ConnectOptions<'_, '_>,
) -> anyhow::Result<Machine> {
    /// The name of a process comes from the other machine: its length is limited before it is
    /// shown.
    const MAX_LETTERS: usize = 400;
    let shown = |process: &str| display_text(process, MAX_LETTERS);
    if on_busy == BusyPolicy::NoLock {
        return Ok(Machine::Ours);
    }
    let mut claimed = claim(session, on_busy == BusyPolicy::Wait).map_err(|error| match error {
        HostError::TimedOut(timeout) => HostError::Unreachable {
            host: host.to_string(),
            why: format!("its supervisor did not answer within {timeout:?}"),
            hint: "a stopped or overloaded machine answers late; run it again".to_owned(),
        },
        other => other,
    })?;
    if let (Claim::HeldByOther(by), BusyPolicy::Wait) = (&claimed, on_busy) {
        observer.waiting_for(&shown(by), Some(&host.to_string()));
        claimed = wait_for_claim(session)?;
    }
    match (claimed, on_busy) {
        (Claim::Acquired, _) => Ok(Machine::Ours),
        (Claim::HeldByOther(by), BusyPolicy::Continue) => Ok(Machine::Busy(shown(&by))),
        (Claim::HeldByOther(by), _) => Err(busy(&shown(&by), format_args!("at {host}"))),
        (Claim::Unavailable(why), _) => {
            observer.note(&format!("cannot keep other runs off {host}: {}", shown(&why)));
            Ok(Machine::Ours)
        }
    }
}

fn busy(process: &str, target: impl fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot measure: {process} is measuring {target}\n  hint: try again when it has ended; \
         `--no-lock` measures beside it"
    )
}

/// The process that measures on this machine now, if there is one. A process that holds the lock and
/// is not oscost does not measure.
pub(crate) fn measuring_process() -> Option<String> {
    let tried = MachineLock::acquire(OtherPrograms::Ignore);
    tried.err().map(|held| held.holder.to_string())
}
