//! One signal to a group of processes that ignore it.

use super::super::prelude::*;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::process::own_signals::{IgnoredSignal, IgnoringGroup};
use crate::kernel::process::pause_forever;

/// A group, and its members, which are killed before the signal's action is restored.
struct Group {
    group: IgnoringGroup,
    members: Vec<PeerProcess>,
    _ignored: IgnoredSignal,
}

/// The work at a point: an op is one signal to the group.
pub(super) fn signals(params: Params<'_>) -> Result<Work, Errno> {
    let ignored = IgnoredSignal::new()?;
    let first = member(params)?;
    let group = IgnoringGroup::of(first.id())?;
    let mut all = Group { group, members: vec![first], _ignored: ignored };
    for _ in 1..params.number("members") {
        let next = member(params)?;
        all.group.admit(next.id())?;
        all.members.push(next);
    }
    Ok(Work::from_body(Shape::Repeat, all))
}

/// A child that ignores the signal, which its parent does when it is forked, and sleeps.
fn member(params: Params<'_>) -> Result<PeerProcess, Errno> {
    PeerProcess::start(params.context.cpu, || {
        pause_forever();
    })
}

impl WorkBody for Group {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.group.send().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    /// A signal to a group succeeds if it has one member.
    fn verify(&mut self) -> Result<(), Errno> {
        self.members.iter().try_for_each(PeerProcess::check_running)
    }
}
