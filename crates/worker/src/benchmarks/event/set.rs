//! A set of descriptors, and one call that reports which of them are ready: by nine methods.
//!
//! Another system's mechanism (kqueue, /dev/poll, event ports) would be one more word and match arm
//! here.

use std::ops::Range;

use super::super::prelude::*;
use crate::kernel::cpu::black_box::opaque;
use crate::kernel::event::descriptor_set::DescriptorSet;
use crate::kernel::event::io_uring::{PollMode, Ring};
use crate::kernel::event::readiness::{
    CallVariant, EDGE, EXCLUSIVE, Epoll, EpollChange, ONESHOT, PollSet, READABLE, SelectSet,
    WaitLimit,
};

/// The mechanism that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Select(CallVariant),
    Poll(CallVariant),
    /// With the event flags of each descriptor.
    Epoll(u32),
    Ring(PollMode),
}

impl Method {
    pub(super) fn of(params: Params<'_>) -> Self {
        match params.word("method") {
            "select" => Method::Select(CallVariant::Plain),
            "pselect" => Method::Select(CallVariant::WithMask),
            "poll" => Method::Poll(CallVariant::Plain),
            "ppoll" => Method::Poll(CallVariant::WithMask),
            "epoll" => Method::Epoll(READABLE),
            "epoll-edge" => Method::Epoll(READABLE | EDGE),
            "epoll-oneshot" => Method::Epoll(READABLE | ONESHOT),
            "io-uring-poll" => Method::Ring(PollMode::OneShot),
            _ => Method::Ring(PollMode::MultiShot),
        }
    }

    /// The same, but not all of several waiters are woken.
    pub(super) fn exclusive(self) -> Self {
        match self {
            Method::Epoll(flags) => Method::Epoll(flags | EXCLUSIVE),
            other => other,
        }
    }

    /// Whether the set is kept in the kernel, and several processes can fill it.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Method::Epoll(_) | Method::Ring(_))
    }

    /// Whether only new events are reported: then each op has to trigger one.
    fn needs_new_events(self) -> bool {
        match self {
            Method::Epoll(flags) => flags & EDGE != 0,
            Method::Ring(shots) => shots == PollMode::MultiShot,
            _ => false,
        }
    }
}

/// The descriptors, and the mechanism that waits for them.
pub(super) struct Set {
    pub(super) many: DescriptorSet,
    pub(super) state: WaitState,
    pub(super) ready: Ready,
}

/// Which descriptors are ready, and what to do about each after it was reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    first: usize,
    count: usize,
    /// The sum of their positions.
    sum: u64,
    /// Whether each is drained and made ready again.
    edges: bool,
}

impl Ready {
    pub(super) fn of(places: Range<u64>, method: Method) -> Self {
        Self {
            first: places.start as usize,
            count: (places.end - places.start) as usize,
            sum: places.sum(),
            edges: method.needs_new_events(),
        }
    }

    fn patience(&self) -> WaitLimit {
        if self.count == 0 { WaitLimit::Immediate } else { WaitLimit::Infinite }
    }

    pub(super) fn places(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The result of a call.
struct Report {
    ready: Ready,
    sum: u64,
    count: usize,
    unexpected: bool,
}

impl Report {
    #[inline(always)]
    fn of(ready: Ready) -> Self {
        Self { ready, sum: 0, count: 0, unexpected: false }
    }

    #[inline(always)]
    fn record(&mut self, place: usize) {
        self.sum += place as u64;
        self.count += 1;
        self.unexpected |= place.wrapping_sub(self.ready.first) >= self.ready.count;
    }

    /// Whether it reported the ready ones, each once, and no others.
    #[inline(always)]
    fn check(&self) -> Result<(), Errno> {
        let right = self.count == self.ready.count && self.sum == self.ready.sum;
        if right && !self.unexpected { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// The descriptor numbers, in order of position.
pub(super) type DescriptorNumbers<'a> = &'a mut dyn Iterator<Item = i32>;

/// A mechanism with its state.
pub(super) enum WaitState {
    Select(CallVariant, SelectSet),
    Poll(CallVariant, PollSet),
    Epoll(u32, Epoll),
    Ring(PollMode, Ring),
}

/// Maximum number of ring submissions that are submitted together.
const SUBMIT_BATCH: u64 = 256;

/// Maximum number of submission entries of a ring (IORING_MAX_ENTRIES).
const MAX_ENTRIES: u64 = 32_768;

impl WaitState {
    /// An empty kernel-resident set, for `ready` events at once.
    pub(super) fn empty(method: Method, ready: u64) -> Result<Self, Errno> {
        match method {
            Method::Epoll(flags) => Ok(WaitState::Epoll(flags, Epoll::new(ready as usize + 1)?)),
            Method::Ring(_) if ready > MAX_ENTRIES => Err(Errno::unavailable(format!(
                "an io_uring takes {MAX_ENTRIES} submissions at once, and {ready} are ready: \
                 select smaller fds"
            ))),
            Method::Ring(shots) => {
                let entries = ready.max(SUBMIT_BATCH).next_power_of_two();
                Ok(WaitState::Ring(shots, Ring::new(entries as u32)?))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// The set of these descriptors.
    pub(super) fn of(
        method: Method,
        fds: DescriptorNumbers<'_>,
        ready: u64,
    ) -> Result<Self, Errno> {
        match method {
            Method::Select(by) => Ok(WaitState::Select(by, SelectSet::new(fds))),
            Method::Poll(by) => Ok(WaitState::Poll(by, PollSet::new(fds))),
            _ => {
                let mut set = Self::empty(method, ready)?;
                set.fill(fds, 0)?;
                Ok(set)
            }
        }
    }

    /// Adds descriptors to a kernel-resident set, each under its position plus `beyond`.
    pub(super) fn fill(&mut self, fds: DescriptorNumbers<'_>, beyond: u64) -> Result<(), Errno> {
        for (place, fd) in (beyond..).zip(fds) {
            match self {
                WaitState::Epoll(flags, set) => set.change(EpollChange::Add, fd, *flags, place)?,
                WaitState::Ring(shots, ring) => {
                    ring.queue_poll(fd, place, *shots)?;
                    if ring.is_full() {
                        ring.wait_for(0)?;
                    }
                }
                _ => return Err(Errno::EINVAL),
            }
        }
        match self {
            WaitState::Ring(_, ring) => ring.wait_for(0),
            _ => Ok(()),
        }
    }

    /// Waits until a descriptor is ready; does not read the result.
    #[inline(always)]
    pub(super) fn wait(&mut self) -> Result<usize, Errno> {
        match self {
            WaitState::Select(by, bits) => {
                bits.rebuild();
                bits.wait(*by, WaitLimit::Infinite)
            }
            WaitState::Poll(by, entries) => entries.wait(*by, WaitLimit::Infinite),
            WaitState::Epoll(_, set) => set.wait(WaitLimit::Infinite),
            WaitState::Ring(_, ring) => ring.wait_for(1).map(|()| 1),
        }
    }

    /// Rearms a descriptor that was just reported.
    pub(super) fn rearm(&mut self, fd: i32, place: u64) -> Result<(), Errno> {
        match self {
            WaitState::Epoll(flags, set) if *flags & ONESHOT != 0 => {
                set.change(EpollChange::Modify, fd, *flags, place)
            }
            WaitState::Ring(shots, ring) => {
                while let Some(done) = ring.take_completion() {
                    if done.result < 0 || done.token != place {
                        return Err(Errno::EPROTO);
                    }
                    if *shots == PollMode::OneShot {
                        ring.queue_poll(fd, place, *shots)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Continues after the submissions of another process.
    pub(super) fn skip_foreign_entries(&mut self) {
        if let WaitState::Ring(_, ring) = self {
            ring.resync();
        }
    }
}

/// The part of waiting that an op repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The call, reading its result, and rearming.
    Whole,
    /// The same without the call: the result is that of the previous call.
    Caller,
}

impl Set {
    /// Repeats `part` `ops` times; each must report the ready descriptors and no others.
    pub(super) fn run(&mut self, part: Part, ops: u64) -> Result<(), OpError> {
        let Self { many, state: asked, ready } = self;
        let ready = *ready;
        // Dispatched once per batch.
        match asked {
            WaitState::Select(by, bits) => {
                repeat_op(ops, || by_select(*by, bits, many, ready, part))
            }
            WaitState::Poll(by, entries) => repeat_op(ops, || by_poll(*by, entries, ready, part)),
            WaitState::Epoll(flags, set) => {
                repeat_op(ops, || by_epoll(*flags, set, many, ready, part))
            }
            WaitState::Ring(shots, ring) => repeat_op(ops, || by_ring(*shots, ring, many, ready)),
        }
    }

    /// Makes ready the descriptors that should be.
    pub(super) fn wake(&self) -> Result<(), Errno> {
        self.ready.places().try_for_each(|place| self.many.make_ready(place))
    }
}

/// Repeats an op. Loop overhead is negligible compared with a call.
#[inline(always)]
fn repeat_op(ops: u64, mut op: impl FnMut() -> Result<(), Errno>) -> Result<(), OpError> {
    for op_now in 0..ops {
        op().map_err(|why| OpError { op: op_now, errno: why })?;
    }
    Ok(())
}

/// The count of the last call, made opaque: the compiler must not hoist work on the same results
/// out of the loop.
#[inline(always)]
fn repeated_count(ready: Ready) -> usize {
    opaque(ready.count as u64) as usize
}

#[inline(always)]
fn by_select(
    by: CallVariant,
    bits: &mut SelectSet,
    many: &DescriptorSet,
    ready: Ready,
    part: Part,
) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => {
            bits.rebuild();
            bits.wait(by, ready.patience())?
        }
        Part::Caller => {
            bits.rebuild_spare();
            repeated_count(ready)
        }
    };
    let mut told = Report::of(ready);
    bits.each(count, |fd| told.record(many.place_of(fd)));
    told.check()
}

#[inline(always)]
fn by_poll(by: CallVariant, entries: &mut PollSet, ready: Ready, part: Part) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => entries.wait(by, ready.patience())?,
        Part::Caller => repeated_count(ready),
    };
    let mut told = Report::of(ready);
    entries.each(count, |place| told.record(place));
    told.check()
}

#[inline(always)]
fn by_epoll(
    flags: u32,
    set: &mut Epoll,
    many: &DescriptorSet,
    ready: Ready,
    part: Part,
) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => set.wait(ready.patience())?,
        Part::Caller => repeated_count(ready),
    };
    let mut told = Report::of(ready);
    set.each(count, |place| told.record(place as usize));
    told.check()?;
    if flags & ONESHOT != 0 {
        for place in ready.places() {
            set.change(EpollChange::Modify, many.fd(place), flags, place as u64)?;
        }
    }
    retrigger(many, ready)
}

#[inline(always)]
fn by_ring(
    shots: PollMode,
    ring: &mut Ring,
    many: &DescriptorSet,
    ready: Ready,
) -> Result<(), Errno> {
    ring.wait_for(ready.count as u32)?;
    let mut told = Report::of(ready);
    while let Some(done) = ring.take_completion() {
        if done.result < 0 {
            return Err(Errno(-done.result));
        }
        told.unexpected |= done.more != (shots == PollMode::MultiShot);
        told.record(done.token as usize);
    }
    told.check()?;
    if shots == PollMode::OneShot {
        for place in ready.places() {
            ring.queue_poll(many.fd(place), place as u64, shots)?;
        }
    }
    retrigger(many, ready)
}

/// Drains the ready descriptors and makes them ready again, if only new events are reported.
#[inline(always)]
fn retrigger(many: &DescriptorSet, ready: Ready) -> Result<(), Errno> {
    if ready.edges {
        for place in ready.places() {
            many.drain(place)?;
            many.make_ready(place)?;
        }
    }
    Ok(())
}
