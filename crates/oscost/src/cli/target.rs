//! A visit to a place: one session, and the machine for oneself where that is wanted.

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::record::TargetInfo;
use oscost_model::target::{Host, Target, Treatment};
use oscost_model::treatment::TreatmentSet;

use super::output::remark;
use super::run::{is_interrupt, take_machine, who};
use super::{Done, UsageError, vm};
use crate::hosts::vm::{Emulator, VmSession, VmSpec};
use crate::hosts::{FakeSession, Interrupt, LocalSession, Session, SshSession, WorkerBinary};
use crate::plan::ComparedTarget;
use crate::report::plain;
use crate::run::{Claim, LockError, MachineLock, claim, wait_for_claim};
use crate::treatments;

/// What to do while somebody else measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Wait for the end of it.
    Wait,
    /// Fail.
    Fail,
    /// Go on, without disturbing.
    GoWithout,
}

/// Whether the machine is ours while the visit lasts.
pub(super) enum Machine {
    /// It is.
    Ours,
    /// Somebody measures on it, who must not be disturbed.
    Held(String),
}

/// A session at a place.
pub(super) struct Arrived<'a> {
    /// The session.
    pub(super) session: Box<dyn Session + 'a>,
    /// Whether its machine is ours.
    pub(super) machine: Machine,
    /// Keeps this machine; another one is kept by its own supervisor.
    _lock: Option<MachineLock>,
}

/// What to do at a place.
type Visit<'a> = &'a mut dyn FnMut(&mut dyn Session, Machine) -> anyhow::Result<Done>;

/// Goes to the place that `--at` names. Ctrl-C ends it as it ends a run.
pub(super) fn visit(
    at: &str,
    program: &WorkerBinary,
    patience: Patience,
    does: Visit<'_>,
) -> anyhow::Result<Done> {
    let hint = "what a machine is like is asked without treatments";
    let host = untreated(at, hint)?;
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let done = arrive(&host, program, &interrupt, patience).and_then(|arrived| {
        let Arrived { mut session, machine, _lock } = arrived;
        does(&mut *session, machine)
    });
    match done {
        Err(error) if is_interrupt(&error) => Ok(Done::Interrupted),
        other => other,
    }
}

/// The reach of a place at which nothing is done to anything; `hint` says why there can be no
/// treatments.
pub(super) fn untreated(text: &str, hint: &str) -> anyhow::Result<Host> {
    let target = Target::parse(text).map_err(|error| UsageError(error.to_string()))?;
    match target.treatments.first() {
        None => Ok(target.host),
        Some(treatment) => {
            Err(UsageError(format!("cannot treat with `{treatment}`\n  hint: {hint}")).into())
        }
    }
}

/// A place at which something may be done: the text of one, or of its reach with treatments beside
/// it. Nothing is read yet but the words.
pub(super) fn treated(text: &str, treatments: Option<&str>) -> anyhow::Result<Target> {
    let bad = |error: oscost_model::target::TargetError| UsageError(error.to_string());
    let mut target = Target::parse(text).map_err(bad)?;
    if let Some(listed) = treatments {
        if !target.treatments.is_empty() {
            let text = format!(
                "cannot treat with `{listed}` at `{target}`\n  hint: treatments stand in `--treat` or \
                 in `--at`, not in both"
            );
            return Err(UsageError(text).into());
        }
        target.treatments = Treatment::list(listed).map_err(bad)?;
    }
    let of_here = target.treatments.iter().find(|it| ["cmd", "ph"].contains(&it.name.as_str()));
    if let Some(Treatment { name, .. }) = of_here
        && matches!(target.host, Host::Ssh(_) | Host::Vm(_))
    {
        let text = format!(
            "cannot treat with `{name}` at `{}`\n  hint: `{name}` starts programs of this machine \
             alone",
            target.host
        );
        return Err(UsageError(text).into());
    }
    Ok(target)
}

/// A place, with what is to be done there made ready for its machine, and what there is to say of
/// it.
pub(super) fn side(
    target: &Target,
    arch: Option<Arch>,
) -> anyhow::Result<(ComparedTarget, Vec<String>)> {
    let read = treatments::parse_with_notes(&target.treatments, arch.unwrap_or(Arch::X86_64))
        .map_err(|error| UsageError(error.to_string()))?;
    let target = TargetInfo {
        text: target.to_string(),
        host: target.host.to_string(),
        treatments: target.treatments.iter().map(ToString::to_string).collect(),
        machine: "m0".to_owned(),
        cpu: None,
        peer: None,
    };
    Ok((ComparedTarget { target, treatments: with_folder(read.treatments)? }, read.notes))
}

/// What begins with the user's profiles is told where they are.
pub(super) fn with_folder(treated: TreatmentSet) -> anyhow::Result<TreatmentSet> {
    treatments::with_profile_folder(treated, || {
        let folder = super::ph::folder()?.into_os_string().into_string();
        folder.ok().context("cannot say where the profiles are: the path is no text")
    })
}

/// Begins a session at `host`, with its machine for ourselves as far as `patience` says.
pub(super) fn arrive<'a>(
    host: &Host,
    program: &WorkerBinary,
    interrupt: &'a Interrupt,
    patience: Patience,
) -> anyhow::Result<Arrived<'a>> {
    let (session, machine, _lock): (Box<dyn Session>, _, _) = match host {
        Host::Local => {
            let (lock, machine) = local(interrupt, patience)?;
            (Box::new(LocalSession::start(program, interrupt)?), machine, lock)
        }
        Host::Fake(file) => (Box::new(FakeSession::open(file, program)?), Machine::Ours, None),
        Host::Ssh(name) => {
            let mut session = SshSession::open(name, program, interrupt)?;
            let machine = theirs(&mut session, host, patience)?;
            (Box::new(session), machine, None)
        }
        Host::Vm(text) => {
            let wanted = VmSpec::parse(text).map_err(|error| UsageError(error.to_string()))?;
            let kernel = vm::kernel(&wanted)?;
            let host = host.to_string();
            let emulator = Emulator::find().map_err(|why| Emulator::missing(&host, why))?;
            let (lock, machine) = local(interrupt, patience)?;
            let at = (host.as_str(), &wanted, &kernel);
            let session = VmSession::start(at, (&emulator, program), interrupt)?;
            (Box::new(session), machine, lock)
        }
    };
    Ok(Arrived { session, machine, _lock })
}

/// Takes this machine.
pub(super) fn local(
    interrupt: &Interrupt,
    patience: Patience,
) -> anyhow::Result<(Option<MachineLock>, Machine)> {
    Ok(match patience {
        Patience::Wait | Patience::Fail => {
            (take_machine(interrupt, patience == Patience::Fail)?, Machine::Ours)
        }
        Patience::GoWithout => match MachineLock::acquire() {
            Ok(lock) => (Some(lock), Machine::Ours),
            Err(LockError::Unavailable(error)) => {
                remark(&format!("note: cannot keep other runs off this machine: {error}"));
                (None, Machine::Ours)
            }
            Err(LockError::HeldBy(holder, _)) => (None, Machine::Held(who(&holder))),
        },
    })
}

/// Has another machine taken by its supervisor.
fn theirs(session: &mut dyn Session, host: &Host, patience: Patience) -> anyhow::Result<Machine> {
    let mut claimed = claim(session, patience == Patience::Wait)?;
    if let (Claim::HeldByOther(by), Patience::Wait) = (&claimed, patience) {
        remark(&format!("waiting for {}, which is measuring at {host}", plain(by)));
        claimed = wait_for_claim(session)?;
    }
    match (claimed, patience) {
        (Claim::Acquired, _) => Ok(Machine::Ours),
        (Claim::HeldByOther(by), Patience::GoWithout) => Ok(Machine::Held(plain(&by))),
        (Claim::HeldByOther(by), _) => {
            anyhow::bail!("cannot measure: {} is measuring at {host}", plain(&by))
        }
        (Claim::Unavailable(why), _) => {
            remark(&format!("note: cannot keep other runs off {host}: {}", plain(&why)));
            Ok(Machine::Ours)
        }
    }
}
