//! Waiters that sleep until an event, and the process that triggers it.
//!
//! The measured process triggers the event. Waiters are children, each with its own set; they
//! report through shared memory.

use std::net::TcpStream;
use std::sync::atomic::Ordering;

use oscost_model::channel::ChannelObservation;

use super::super::prelude::*;
use super::super::switch::placement::cpu_of_peer;
use super::set::{Method, WaitState};
use crate::kernel::event::descriptor_set::{
    DescriptorKind, DescriptorSet, ProcessState, explain_error,
};
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, sched_yield};
use crate::kernel::net::reuseport::ReuseportListeners;
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// Maximum number of waiters, each of which has a word for its time stamp.
const MAX_WAITERS: usize = 8;

/// Indices of the shared words: how often a waiter's call has returned, how often it found the
/// event, whether it has started.
const RETURNED: usize = 0;
const FOUND: usize = MAX_WAITERS;
const STARTED: usize = 2 * MAX_WAITERS;

/// The figure of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// The time until the first waiter ran.
    FirstWakeUp,
    /// The number of waiters woken.
    WokenCount,
}

/// The work at a point: an op is one event.
pub(super) fn wake_ups(params: Params<'_>, figure: Figure) -> Result<Work, Errno> {
    let cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(lacking) => return Ok(lacking),
    };
    let watch = params.context.clock;
    if cpu != params.context.cpu && !watch.agrees_across_cpus() {
        return Ok(incomparable_clocks());
    }
    let (fds, waiters) = (params.number("fds"), params.number("waiters") as usize);
    let herd = params.word("herd");
    let method = Method::of(params);
    let method = if herd == "exclusive" { method.exclusive() } else { method };
    let place = fds / 2;
    let many = DescriptorSet::new(fds, DescriptorKind::Pipe, place..place + 1, None)?;
    many.set_nonblocking(place as usize)?;
    let doors = if herd == "reuseport" { Some(ReuseportListeners::new(waiters)?) } else { None };
    let happens = Event { many, place: place as usize, doors };
    let mut crowd =
        WaiterGroup { waiters: Vec::new(), event: happens, cpu, words: SharedWords::new()?, watch };
    for waiter in 0..waiters.min(MAX_WAITERS) {
        let WaiterGroup { event: happens, words, .. } = &crowd;
        let serve = || wait_loop(waiter, method, happens, words, watch);
        let child = PeerProcess::start(cpu, serve)
            .map_err(|why| explain_error(why, fds, DescriptorKind::Pipe))?;
        let account = ProcessState::open(child.id())?;
        crowd.waiters.push(Waiter { child, account, returns: 0 });
    }
    crowd.wait_until_all_sleep().map_err(|why| explain_error(why, fds, DescriptorKind::Pipe))?;
    // Once, so that each waiter sleeps in its call before anything is timed.
    crowd.happens()?;
    Ok(match figure {
        Figure::FirstWakeUp => {
            Work::from_body(Shape::OwnTicks, Body { waiters: crowd, figure, last: 0 })
        }
        Figure::WokenCount => {
            Work::from_body(Shape::OwnValue, Body { waiters: crowd, figure, last: 0 })
        }
    })
}

/// The event: a byte arrives at one of many descriptors, or a connection at a listening socket.
struct Event {
    many: DescriptorSet,
    place: usize,
    doors: Option<ReuseportListeners>,
}

impl Event {
    /// The descriptor that reports it to a waiter.
    fn descriptor(&self, waiter: usize) -> Result<i32, Errno> {
        match &self.doors {
            Some(doors) => doors.fd(waiter),
            None => Ok(self.many.fd(self.place)),
        }
    }

    /// Triggers it; a connection stays open until the returned value is dropped.
    fn trigger(&self) -> Result<Option<TcpStream>, Errno> {
        match &self.doors {
            Some(doors) => doors.connect().map(Some),
            None => self.many.make_ready(self.place).map(|()| None),
        }
    }

    /// Consumes the event, unless another waiter has. An accepted connection stays open until the
    /// next one.
    fn consume(&self, waiter: usize, guest: &mut Option<TcpStream>) -> Result<bool, Errno> {
        if let Some(doors) = &self.doors {
            let new = doors.accept(waiter)?;
            let found = new.is_some();
            *guest = new.or(guest.take());
            return Ok(found);
        }
        match self.many.drain(self.place) {
            Ok(()) => Ok(true),
            Err(Errno::EAGAIN) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The loop of a waiter.
fn wait_loop(
    waiter: usize,
    method: Method,
    happens: &Event,
    words: &SharedWords,
    watch: Stopwatch,
) -> Result<(), Errno> {
    let (place, fd) = (happens.place, happens.descriptor(waiter)?);
    let mut fds = happens.many.fds().enumerate().map(|(at, other)| match at == place {
        true => fd,
        false => other,
    });
    let mut asked = WaitState::of(method, &mut fds, 1)?;
    words.word(STARTED + waiter).store(1, Ordering::Release);
    let mut guest = None;
    loop {
        asked.wait()?;
        words.word64(waiter).store(watch.stop(), Ordering::Relaxed);
        words.word(RETURNED + waiter).fetch_add(1, Ordering::Release);
        if happens.consume(waiter, &mut guest)? {
            words.word(FOUND + waiter).fetch_add(1, Ordering::Release);
        }
        asked.rearm(fd, place as u64)?;
    }
}

/// A waiter, as held by the measured process.
struct Waiter {
    child: PeerProcess,
    account: ProcessState,
    /// How often its call has returned.
    returns: u32,
}

/// All waiters, and the event.
struct WaiterGroup {
    waiters: Vec<Waiter>,
    event: Event,
    cpu: Option<u32>,
    words: SharedWords,
    watch: Stopwatch,
}

impl WaiterGroup {
    /// Waits until a condition holds; an error if a waiter has exited, or the time limit has
    /// passed.
    fn wait_until(&self, mut it_is_so: impl FnMut() -> Result<bool, Errno>) -> Result<(), Errno> {
        /// Checks after which it confirms that all waiters still exist.
        const PATIENCE: u32 = 1 << 12;
        const SILENCE_NS: u64 = 3_000_000_000;
        let (begun, mut looks) = (monotonic_raw_ns(), 0u32);
        while !it_is_so()? {
            sched_yield()?;
            looks += 1;
            if looks.is_multiple_of(PATIENCE) {
                self.waiters.iter().try_for_each(|waiter| waiter.child.check_running())?;
                if monotonic_raw_ns() - begun > SILENCE_NS {
                    return Err(Errno::PEER_TIMED_OUT);
                }
            }
        }
        Ok(())
    }

    /// Waits until each has started, and sleeps.
    fn wait_until_all_sleep(&self) -> Result<(), Errno> {
        for (at, waiter) in self.waiters.iter().enumerate() {
            self.wait_until(|| Ok(self.words.word(STARTED + at).load(Ordering::Acquire) == 1))?;
            self.wait_until(|| waiter.account.is_asleep())?;
        }
        Ok(())
    }

    /// How often waiters have found the event, in total.
    fn found(&self) -> u32 {
        let found = |at: usize| self.words.word(FOUND + at).load(Ordering::Acquire);
        (0..self.waiters.len()).map(found).fold(0, u32::wrapping_add)
    }

    /// Triggers the event once, and waits until all sleep again: the ticks until the time stamp of
    /// the first waiter whose call returned.
    fn happens(&mut self) -> Result<i64, Errno> {
        let found = self.found();
        let begun = self.watch.start();
        let _visitor = self.event.trigger()?;
        let came_back =
            |at: usize, then: u32| self.words.word(RETURNED + at).load(Ordering::Acquire) != then;
        let mut each = self.waiters.iter().enumerate();
        self.wait_until(|| Ok(each.clone().any(|(at, waiter)| came_back(at, waiter.returns))))?;
        self.wait_until_all_sleep()?;
        let woken = each.by_ref().filter(|(at, waiter)| came_back(*at, waiter.returns));
        let took =
            |at: usize| self.words.word64(at).load(Ordering::Relaxed).wrapping_sub(begun) as i64;
        let first = woken.map(|(at, _)| took(at)).min().ok_or(Errno::EPROTO)?;
        for (at, waiter) in self.waiters.iter_mut().enumerate() {
            waiter.returns = self.words.word(RETURNED + at).load(Ordering::Acquire);
        }
        // It was triggered once, and one of them must have found it.
        if self.found() == found.wrapping_add(1) { Ok(first) } else { Err(Errno::EPROTO) }
    }

    /// Triggers the event once: how many of them have slept again since, in thousandths. A waiter
    /// that was woken may find nothing, and sleep again within its call.
    fn count_woken(&mut self) -> Result<i64, Errno> {
        let mut before = [0; MAX_WAITERS];
        for (then, waiter) in before.iter_mut().zip(&self.waiters) {
            *then = waiter.account.voluntary_switches()?;
        }
        self.happens()?;
        let mut woken = 0;
        for (then, waiter) in before.iter().zip(&self.waiters) {
            woken += i64::from(waiter.account.voluntary_switches()? != *then);
        }
        Ok(1_000 * woken)
    }
}

struct Body {
    waiters: WaiterGroup,
    figure: Figure,
    last: i64,
}

impl WorkBody for Body {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let brought = match self.figure {
                Figure::FirstWakeUp => self.waiters.happens(),
                Figure::WokenCount => self.waiters.count_woken(),
            };
            self.last = brought.map_err(|why| OpError { op, errno: why })?;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.last
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.waiters
            .cpu
            .map(|cpu| ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() })
    }
}
