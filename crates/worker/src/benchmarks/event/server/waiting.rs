//! How a server waits for all its connections at once, by each method.

use super::super::super::prelude::*;
use crate::kernel::event::io_uring::{PollMode, Ring};
use crate::kernel::event::readiness::{
    CallVariant, Epoll, EpollChange, PollSet, READABLE, SelectSet, WaitLimit,
};

/// A descriptor that is waited for: its slot, and how often the slot was reused. This identifies
/// late events of an earlier connection in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) place: u32,
    pub(super) turn: u32,
}

impl Name {
    fn token(self) -> u64 {
        u64::from(self.turn) << 32 | u64::from(self.place)
    }

    fn of(token: u64) -> Self {
        Self { place: token as u32, turn: (token >> 32) as u32 }
    }
}

/// An event for a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) name: Name,
    /// Whether no more events are reported until it is rearmed.
    pub(super) last: bool,
}

/// The token of the completion of a removal.
const NOBODY: u64 = u64::MAX;

/// Events of a set, and entries of a ring, that are handled at once.
const AT_ONCE: usize = 256;

/// The state of a method.
pub(super) enum Waiting {
    /// With the slot of each descriptor.
    Select(SelectSet, Vec<u32>),
    /// Entries by slot.
    Poll(PollSet),
    Epoll(Epoll),
    Ring(Ring),
}

impl Waiting {
    /// Empty, for this method.
    pub(super) fn by(method: &str) -> Result<Self, Errno> {
        Ok(match method {
            "select" => Waiting::Select(SelectSet::new([].into_iter()), Vec::new()),
            "poll" => Waiting::Poll(PollSet::new([].into_iter())),
            "epoll" => Waiting::Epoll(Epoll::new(AT_ONCE)?),
            _ => Waiting::Ring(Ring::new(AT_ONCE as u32)?),
        })
    }

    pub(super) fn add(&mut self, name: Name, fd: i32) -> Result<(), Errno> {
        match self {
            Waiting::Select(bits, places) => {
                let needed = (fd as usize + 1).max(places.len());
                places.resize(needed, 0);
                places[fd as usize] = name.place;
                bits.insert(fd);
                Ok(())
            }
            Waiting::Poll(entries) => {
                entries.set(name.place as usize, Some(fd));
                Ok(())
            }
            Waiting::Epoll(set) => set.change(EpollChange::Add, fd, READABLE, name.token()),
            Waiting::Ring(ring) => {
                make_room(ring)?;
                ring.queue_poll(fd, name.token(), PollMode::MultiShot)
            }
        }
    }

    /// Rearms a descriptor whose last event was reported.
    pub(super) fn again(&mut self, name: Name, fd: i32) -> Result<(), Errno> {
        match self {
            Waiting::Ring(_) => self.add(name, fd),
            _ => Ok(()),
        }
    }

    /// Removes a descriptor that is about to be closed.
    pub(super) fn remove(&mut self, name: Name, fd: i32) -> Result<(), Errno> {
        match self {
            Waiting::Select(bits, _) => bits.remove(fd),
            Waiting::Poll(entries) => entries.set(name.place as usize, None),
            // The file has no other descriptor: closing it removes it from the set.
            Waiting::Epoll(_) => {}
            Waiting::Ring(ring) => {
                // A poll request holds a reference to its file, and would keep the connection open.
                make_room(ring)?;
                ring.queue_removal(name.token(), NOBODY)?;
            }
        }
        Ok(())
    }

    /// Waits, and returns the events. select and poll do not know the reuse count: their events
    /// concern the current connection of a slot.
    #[inline(always)]
    pub(super) fn wait(&mut self, patience: WaitLimit, told: &mut Vec<Told>) -> Result<(), Errno> {
        let now = |place: u32| Told { name: Name { place, turn: u32::MAX }, last: false };
        match self {
            Waiting::Select(bits, places) => {
                bits.rebuild();
                let count = bits.wait(CallVariant::Plain, patience)?;
                bits.each(count, |fd| told.push(now(places[fd as usize])));
            }
            Waiting::Poll(entries) => {
                let count = entries.wait(CallVariant::Plain, patience)?;
                entries.each(count, |place| told.push(now(place as u32)));
            }
            Waiting::Epoll(set) => {
                let count = set.wait(patience)?;
                set.each(count, |token| told.push(Told { name: Name::of(token), last: false }));
            }
            Waiting::Ring(ring) => {
                ring.wait_for(u32::from(patience == WaitLimit::Infinite))?;
                while let Some(done) = ring.take_completion() {
                    match done.result {
                        _ if done.token == NOBODY => {}
                        // A request that was cancelled.
                        result if result == -libc::ECANCELED => {}
                        result if result < 0 => return Err(Errno(-result)),
                        _ => told.push(Told { name: Name::of(done.token), last: !done.more }),
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
