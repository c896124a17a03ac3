//! How a server waits for all its connections at once, by each method.

use super::super::super::prelude::*;
use crate::kernel::event::io_uring::{PollMode, Ring};
use crate::kernel::event::readiness::{
    CallVariant, Epoll, EpollChange, PollSet, READABLE, SelectSet, WaitLimit,
};

/// Identifies a descriptor in the set: its slot, and how often the slot was reused, so that a late
/// event of an earlier connection in the same slot is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Token {
    fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    fn from_bits(bits: u64) -> Self {
        Self { slot: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// An event for a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) token: Token,
    /// Whether no more events are reported until it is rearmed.
    pub(super) needs_rearm: bool,
}

/// The token of the completion of a removal.
const REMOVAL_TOKEN: u64 = u64::MAX;

/// Events of a set, and entries of a ring, that are handled at once.
const MAX_EVENTS: usize = 256;

/// The state of a method.
pub(super) enum WaitSet {
    /// With the slot of each descriptor.
    Select(SelectSet, Vec<u32>),
    /// Entries by slot.
    Poll(PollSet),
    Epoll(Epoll),
    Ring(Ring),
}

impl WaitSet {
    /// Empty, for this method.
    pub(super) fn new(method: &str) -> Result<Self, Errno> {
        Ok(match method {
            "select" => WaitSet::Select(SelectSet::new([].into_iter()), Vec::new()),
            "poll" => WaitSet::Poll(PollSet::new([].into_iter())),
            "epoll" => WaitSet::Epoll(Epoll::new(MAX_EVENTS)?),
            _ => WaitSet::Ring(Ring::new(MAX_EVENTS as u32)?),
        })
    }

    pub(super) fn add(&mut self, token: Token, fd: i32) -> Result<(), Errno> {
        match self {
            WaitSet::Select(bits, slots) => {
                let length = (fd as usize + 1).max(slots.len());
                slots.resize(length, 0);
                slots[fd as usize] = token.slot;
                bits.insert(fd);
                Ok(())
            }
            WaitSet::Poll(entries) => {
                entries.set(token.slot as usize, Some(fd));
                Ok(())
            }
            WaitSet::Epoll(set) => set.change(EpollChange::Add, fd, READABLE, token.to_bits()),
            WaitSet::Ring(ring) => {
                make_room(ring)?;
                ring.queue_poll(fd, token.to_bits(), PollMode::MultiShot)
            }
        }
    }

    /// Rearms a descriptor whose last event was reported.
    pub(super) fn rearm(&mut self, token: Token, fd: i32) -> Result<(), Errno> {
        match self {
            WaitSet::Ring(_) => self.add(token, fd),
            _ => Ok(()),
        }
    }

    /// Removes a descriptor that is about to be closed.
    pub(super) fn remove(&mut self, token: Token, fd: i32) -> Result<(), Errno> {
        match self {
            WaitSet::Select(bits, _) => bits.remove(fd),
            WaitSet::Poll(entries) => entries.set(token.slot as usize, None),
            // The file has no other descriptor: closing it removes it from the set.
            WaitSet::Epoll(_) => {}
            WaitSet::Ring(ring) => {
                // A poll request holds a reference to its file, and would keep the connection open.
                make_room(ring)?;
                ring.queue_removal(token.to_bits(), REMOVAL_TOKEN)?;
            }
        }
        Ok(())
    }

    /// Waits, and returns the events. select and poll do not know the reuse count: their events
    /// concern the current connection of a slot.
    #[inline(always)]
    pub(super) fn wait(&mut self, limit: WaitLimit, events: &mut Vec<Event>) -> Result<(), Errno> {
        let current =
            |slot: u32| Event { token: Token { slot, generation: u32::MAX }, needs_rearm: false };
        match self {
            WaitSet::Select(bits, slots) => {
                bits.rebuild();
                let count = bits.wait(CallVariant::Plain, limit)?;
                bits.each(count, |fd| events.push(current(slots[fd as usize])));
            }
            WaitSet::Poll(entries) => {
                let count = entries.wait(CallVariant::Plain, limit)?;
                entries.each(count, |slot| events.push(current(slot as u32)));
            }
            WaitSet::Epoll(set) => {
                let count = set.wait(limit)?;
                set.each(count, |token| {
                    events.push(Event { token: Token::from_bits(token), needs_rearm: false })
                });
            }
            WaitSet::Ring(ring) => {
                ring.wait_for(u32::from(limit == WaitLimit::Infinite))?;
                while let Some(completion) = ring.take_completion() {
                    match completion.result {
                        _ if completion.token == REMOVAL_TOKEN => {}
                        // A request that was cancelled.
                        result if result == -libc::ECANCELED => {}
                        result if result < 0 => return Err(Errno(-result)),
                        _ => events.push(Event {
                            token: Token::from_bits(completion.token),
                            needs_rearm: !completion.more,
                        }),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Submits the queued entries if there is no room for more.
fn make_room(ring: &mut Ring) -> Result<(), Errno> {
    if ring.is_full() { ring.wait_for(0) } else { Ok(()) }
}
