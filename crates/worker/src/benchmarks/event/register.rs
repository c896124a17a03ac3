//! Adding descriptors to a kernel-resident set, and removing them.

use std::ops::Range;

use super::super::prelude::*;
use super::set::{Method, WaitState};
use crate::kernel::event::descriptor_set::{DescriptorKind, DescriptorSet, explain_error};
use crate::kernel::event::readiness::{EpollChange, URGENT};

/// Descriptors besides those of the set, for ops that add or remove one: the maximum per batch.
const SPARE_DESCRIPTORS: u64 = 256;

/// The change to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Add,
    Modify,
    Delete,
    Build,
}

/// The work at a point.
pub(super) fn changes(params: Params<'_>) -> Result<Work, Errno> {
    let act = match params.word("act") {
        "add" => Act::Add,
        "modify" => Act::Modify,
        "delete" => Act::Delete,
        _ => Act::Build,
    };
    let (method, fds) = (Method::of(params), params.number("fds"));
    let descriptors =
        DescriptorSet::new(fds + SPARE_DESCRIPTORS, DescriptorKind::Pipe, 0..0, None)?;
    let fds = fds as usize;
    let mut body =
        Body { descriptors, method, act, fds, set: None, spare_in_set: fds..fds, changes_made: 0 };
    if act == Act::Build {
        return Ok(Work::from_prepared_body(Shape::SingleShot, body).with_max_batch_ops(1));
    }
    let mut set = WaitState::empty(method, 1)?;
    (0..body.fds)
        .try_for_each(|position| body.add(&mut set, position))
        .map_err(|errno| explain_error(errno, fds as u64, DescriptorKind::Pipe))?;
    body.set = Some(set);
    Ok(match act {
        Act::Modify => Work::from_body(Shape::WithLoop, body),
        _ => Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(SPARE_DESCRIPTORS),
    })
}

/// A set of `fds` descriptors, and some spare ones.
struct Body {
    descriptors: DescriptorSet,
    method: Method,
    act: Act,
    fds: usize,
    set: Option<WaitState>,
    /// The spare ones that are in the set.
    spare_in_set: Range<usize>,
    /// Changes so far.
    changes_made: usize,
}

impl Body {
    #[inline(always)]
    fn add(&self, set: &mut WaitState, position: usize) -> Result<(), Errno> {
        let fd = self.descriptors.fd(position);
        match set {
            WaitState::Epoll(flags, set) => {
                set.change(EpollChange::Add, fd, *flags, position as u64)
            }
            WaitState::Ring(shots, ring) => {
                ring.queue_poll(fd, position as u64, *shots)?;
                ring.wait_for(0)?;
                // A pending poll has no completion yet.
                ring.take_completion()
                    .map_or(Ok(()), |done| Err(Errno(done.result.saturating_neg())))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    #[inline(always)]
    fn delete(&self, set: &mut WaitState, position: usize) -> Result<(), Errno> {
        match set {
            WaitState::Epoll(_, set) => {
                set.change(EpollChange::Delete, self.descriptors.fd(position), 0, 0)
            }
            WaitState::Ring(_, ring) => {
                ring.queue_removal(position as u64, REPLY_TOKEN)?;
                ring.wait_for(2)?;
                let (one, other) = (ring.take_completion(), ring.take_completion());
                let [Some(one), Some(other)] = [one, other] else { return Err(Errno::EPROTO) };
                let (answer, removed) =
                    if one.token == REPLY_TOKEN { (one, other) } else { (other, one) };
                let is_expected =
                    answer.result == 0 && removed.token == position as u64 && !removed.more;
                if is_expected { Ok(()) } else { Err(Errno::EPROTO) }
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Requests other events than before, each time.
    #[inline(always)]
    fn modify(&self, set: &mut WaitState, position: usize) -> Result<(), Errno> {
        let events = if (self.changes_made / self.fds).is_multiple_of(2) { URGENT } else { 0 };
        match set {
            WaitState::Epoll(flags, set) => set.change(
                EpollChange::Modify,
                self.descriptors.fd(position),
                *flags | events,
                position as u64,
            ),
            WaitState::Ring(_, ring) => {
                ring.queue_update(position as u64, events, REPLY_TOKEN)?;
                ring.wait_for(1)?;
                match ring.take_completion() {
                    Some(done) if done.token == REPLY_TOKEN && done.result == 0 => Ok(()),
                    _ => Err(Errno::EPROTO),
                }
            }
            _ => Err(Errno::EINVAL),
        }
    }

    #[inline(always)]
    fn change(&mut self, set: &mut WaitState) -> Result<(), Errno> {
        match self.act {
            Act::Modify => {
                self.modify(set, self.changes_made % self.fds)?;
                self.changes_made += 1;
            }
            Act::Add if self.spare_in_set.end < self.descriptors.len() => {
                self.add(set, self.spare_in_set.end)?;
                self.spare_in_set.end += 1;
            }
            Act::Delete if !self.spare_in_set.is_empty() => {
                self.delete(set, self.spare_in_set.start)?;
                self.spare_in_set.start += 1;
            }
            _ => return Err(Errno::E2BIG),
        }
        Ok(())
    }

    /// A new set of all `fds`, filled in as few calls as possible.
    fn build_set(&self) -> Result<WaitState, Errno> {
        let mut set = WaitState::empty(self.method, 1)?;
        set.fill(&mut (0..self.fds).map(|position| self.descriptors.fd(position)), 0)?;
        Ok(set)
    }
}

/// The token of the completion of a removal or a change.
const REPLY_TOKEN: u64 = u64::MAX;

impl WorkBody for Body {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let ops = iterations * u64::from(unroll);
        if self.act == Act::Build {
            for op in 0..ops {
                self.set = Some(self.build_set().map_err(|errno| OpError { op, errno })?);
            }
            return Ok(());
        }
        let Some(mut set) = self.set.take() else {
            return Err(OpError { op: 0, errno: Errno::EINVAL });
        };
        let done = (0..ops)
            .try_for_each(|op| self.change(&mut set).map_err(|errno| OpError { op, errno }));
        self.set = Some(set);
        done
    }

    /// Before additions the set holds no spare descriptor, before deletions as many as will be
    /// removed.
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        // With act=build the previous set is dropped here, untimed.
        let Some(mut set) = self.set.take().filter(|_| self.act != Act::Build) else {
            return Ok(());
        };
        self.spare_in_set.clone().try_for_each(|position| self.delete(&mut set, position))?;
        let ready = if self.act == Act::Delete { ops as usize } else { 0 };
        self.spare_in_set = self.fds..self.fds + ready;
        self.spare_in_set.clone().try_for_each(|position| self.add(&mut set, position))?;
        self.set = Some(set);
        Ok(())
    }
}
