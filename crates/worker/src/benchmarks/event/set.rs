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
    pub(super) descriptors: DescriptorSet,
    pub(super) state: WaitState,
    pub(super) ready: ReadySubset,
}

/// Which descriptors are ready, and what to do about each after it was reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadySubset {
    first: usize,
    count: usize,
    /// The sum of their positions.
    sum: u64,
    /// Whether each is drained and made ready again.
    retrigger: bool,
}

impl ReadySubset {
    pub(super) fn of(positions: Range<u64>, method: Method) -> Self {
        Self {
            first: positions.start as usize,
            count: (positions.end - positions.start) as usize,
            sum: positions.sum(),
            retrigger: method.needs_new_events(),
        }
    }

    fn wait_limit(&self) -> WaitLimit {
        if self.count == 0 { WaitLimit::Immediate } else { WaitLimit::Infinite }
    }

    pub(super) fn positions(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The result of a call.
struct Report {
    ready: ReadySubset,
    sum: u64,
    count: usize,
    unexpected: bool,
}

impl Report {
    #[inline(always)]
    fn of(ready: ReadySubset) -> Self {
        Self { ready, sum: 0, count: 0, unexpected: false }
    }

    #[inline(always)]
    fn record(&mut self, position: usize) {
        self.sum += position as u64;
        self.count += 1;
        self.unexpected |= position.wrapping_sub(self.ready.first) >= self.ready.count;
    }

    /// Whether it reported the ready ones, each once, and no others.
    #[inline(always)]
    fn check(&self) -> Result<(), Errno> {
        let is_expected = self.count == self.ready.count && self.sum == self.ready.sum;
        if is_expected && !self.unexpected { Ok(()) } else { Err(Errno::EPROTO) }
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
            Method::Select(variant) => Ok(WaitState::Select(variant, SelectSet::new(fds))),
            Method::Poll(variant) => Ok(WaitState::Poll(variant, PollSet::new(fds))),
            _ => {
                let mut set = Self::empty(method, ready)?;
                set.fill(fds, 0)?;
                Ok(set)
            }
        }
    }

    /// Adds descriptors to a kernel-resident set, each under its position plus `offset`.
    pub(super) fn fill(&mut self, fds: DescriptorNumbers<'_>, offset: u64) -> Result<(), Errno> {
        for (position, fd) in (offset..).zip(fds) {
            match self {
                WaitState::Epoll(flags, set) => {
                    set.change(EpollChange::Add, fd, *flags, position)?
                }
                WaitState::Ring(shots, ring) => {
                    ring.queue_poll(fd, position, *shots)?;
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
            WaitState::Select(variant, bits) => {
                bits.rebuild();
                bits.wait(*variant, WaitLimit::Infinite)
            }
            WaitState::Poll(variant, entries) => entries.wait(*variant, WaitLimit::Infinite),
            WaitState::Epoll(_, set) => set.wait(WaitLimit::Infinite),
            WaitState::Ring(_, ring) => ring.wait_for(1).map(|()| 1),
        }
    }

    /// Rearms a descriptor that was just reported.
    pub(super) fn rearm(&mut self, fd: i32, position: u64) -> Result<(), Errno> {
        match self {
            WaitState::Epoll(flags, set) if *flags & ONESHOT != 0 => {
                set.change(EpollChange::Modify, fd, *flags, position)
            }
            WaitState::Ring(shots, ring) => {
                while let Some(done) = ring.take_completion() {
                    if done.result < 0 || done.token != position {
                        return Err(Errno::EPROTO);
                    }
                    if *shots == PollMode::OneShot {
                        ring.queue_poll(fd, position, *shots)?;
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
        let Self { descriptors, state, ready } = self;
        let ready = *ready;
        // Dispatched once per batch.
        match state {
            WaitState::Select(variant, bits) => {
                repeat_op(ops, || by_select(*variant, bits, descriptors, ready, part))
            }
            WaitState::Poll(variant, entries) => {
                repeat_op(ops, || by_poll(*variant, entries, ready, part))
            }
            WaitState::Epoll(flags, set) => {
                repeat_op(ops, || by_epoll(*flags, set, descriptors, ready, part))
            }
            WaitState::Ring(shots, ring) => {
                repeat_op(ops, || by_ring(*shots, ring, descriptors, ready))
            }
        }
    }

    /// Makes ready the descriptors that should be.
    pub(super) fn wake(&self) -> Result<(), Errno> {
        self.ready.positions().try_for_each(|position| self.descriptors.make_ready(position))
    }
}

/// Repeats an op. Loop overhead is negligible compared with a call.
#[inline(always)]
fn repeat_op(ops: u64, mut op: impl FnMut() -> Result<(), Errno>) -> Result<(), OpError> {
    for index in 0..ops {
        op().map_err(|errno| OpError { op: index, errno })?;
    }
    Ok(())
}

/// The count of the last call, made opaque: the compiler must not hoist work on the same results
/// out of the loop.
#[inline(always)]
fn repeated_count(ready: ReadySubset) -> usize {
    opaque(ready.count as u64) as usize
}

#[inline(always)]
fn by_select(
    variant: CallVariant,
    bits: &mut SelectSet,
    descriptors: &DescriptorSet,
    ready: ReadySubset,
    part: Part,
) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => {
            bits.rebuild();
            bits.wait(variant, ready.wait_limit())?
        }
        Part::Caller => {
            bits.rebuild_spare();
            repeated_count(ready)
        }
    };
    let mut report = Report::of(ready);
    bits.each(count, |fd| report.record(descriptors.index_of_fd(fd)));
    report.check()
}

#[inline(always)]
fn by_poll(
    variant: CallVariant,
    entries: &mut PollSet,
    ready: ReadySubset,
    part: Part,
) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => entries.wait(variant, ready.wait_limit())?,
        Part::Caller => repeated_count(ready),
    };
    let mut report = Report::of(ready);
    entries.each(count, |position| report.record(position));
    report.check()
}

#[inline(always)]
fn by_epoll(
    flags: u32,
    set: &mut Epoll,
    descriptors: &DescriptorSet,
    ready: ReadySubset,
    part: Part,
) -> Result<(), Errno> {
    let count = match part {
        Part::Whole => set.wait(ready.wait_limit())?,
        Part::Caller => repeated_count(ready),
    };
    let mut report = Report::of(ready);
    set.each(count, |position| report.record(position as usize));
    report.check()?;
    if flags & ONESHOT != 0 {
        for position in ready.positions() {
            set.change(EpollChange::Modify, descriptors.fd(position), flags, position as u64)?;
        }
    }
    retrigger(descriptors, ready)
}

#[inline(always)]
fn by_ring(
    shots: PollMode,
    ring: &mut Ring,
    descriptors: &DescriptorSet,
    ready: ReadySubset,
) -> Result<(), Errno> {
    ring.wait_for(ready.count as u32)?;
    let mut report = Report::of(ready);
    while let Some(done) = ring.take_completion() {
        if done.result < 0 {
            return Err(Errno(-done.result));
        }
        report.unexpected |= done.more != (shots == PollMode::MultiShot);
        report.record(done.token as usize);
    }
    report.check()?;
    if shots == PollMode::OneShot {
        for position in ready.positions() {
            ring.queue_poll(descriptors.fd(position), position as u64, shots)?;
        }
    }
    retrigger(descriptors, ready)
}

/// Drains the ready descriptors and makes them ready again, if only new events are reported.
#[inline(always)]
fn retrigger(descriptors: &DescriptorSet, ready: ReadySubset) -> Result<(), Errno> {
    if ready.retrigger {
        for position in ready.positions() {
            descriptors.drain(position)?;
            descriptors.make_ready(position)?;
        }
    }
    Ok(())
}
