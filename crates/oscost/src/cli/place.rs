//! A visit to a place: one session, and the machine for oneself where that is wanted.

use anyhow::Context;
use oscost_model::place::{Place, Reach};

use super::output::remark;
use super::run::{is_interrupt, take_machine, who};
use super::{Done, UsageError};
use crate::reach::{CellProgram, FakeSession, Interrupt, LocalSession, Session};
use crate::run::{Held, MachineLock};

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

/// What to do at a place.
type Visit<'a> = &'a mut dyn FnMut(&mut dyn Session, Machine) -> anyhow::Result<Done>;

/// Goes to the place that `--at` names. Ctrl-C ends it as it ends a run.
pub(super) fn visit(
    at: &str,
    program: &CellProgram,
    patience: Patience,
    does: Visit<'_>,
) -> anyhow::Result<Done> {
    let place = Place::parse(at).map_err(|error| UsageError(error.to_string()))?;
    if let Some(treatment) = place.treatments.first() {
        let hint = "what a machine is like is asked without treatments";
        return Err(UsageError(format!("cannot treat with `{treatment}`\n  hint: {hint}")).into());
    }
    let done = match &place.reach {
        Reach::Local => local(program, patience, does),
        Reach::Fake(file) => does(&mut FakeSession::open(file, program)?, Machine::Ours),
        Reach::Ssh(_) | Reach::Vm(_) => {
            let hint = "this version reaches `local` only";
            Err(UsageError(format!("cannot reach `{}`\n  hint: {hint}", place.reach)).into())
        }
    };
    match done {
        Err(error) if is_interrupt(&error) => Ok(Done::Interrupted),
        other => other,
    }
}

fn local(program: &CellProgram, patience: Patience, does: Visit<'_>) -> anyhow::Result<Done> {
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let (_lock, machine) = match patience {
        Patience::Wait | Patience::Fail => {
            (take_machine(&interrupt, patience == Patience::Fail)?, Machine::Ours)
        }
        Patience::GoWithout => match MachineLock::take() {
            Ok(lock) => (Some(lock), Machine::Ours),
            Err(Held::Unavailable(error)) => {
                remark(&format!("note: cannot keep other runs off this machine: {error}"));
                (None, Machine::Ours)
            }
            Err(Held::By(holder, _)) => (None, Machine::Held(who(&holder))),
        },
    };
    does(&mut LocalSession::start(program, &interrupt)?, machine)
}
