//! Waiters that sleep until an event, and the process that triggers it.
//!
//! The measured process triggers the event. Waiters are children, each with its own set; they
//! report through shared memory.

use std::net::TcpStream;
use std::sync::atomic::Ordering;

use super::super::placement::cpu_of_optional_peer;
use super::super::prelude::*;
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
    let cpu = match cpu_of_optional_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let watch = params.context.clock;
    if cpu != params.context.cpu && !watch.agrees_across_cpus() {
        return Ok(incomparable_clocks());
    }
    let (fds, waiters) = (params.number("fds"), params.number("waiters") as usize);
    let herd = params.word("herd");
    let method = Method::of(params);
    let method = if herd == "exclusive" { method.exclusive() } else { method };
    let position = fds / 2;
    let descriptors = DescriptorSet::new(fds, DescriptorKind::Pipe, position..position + 1, None)?;
    descriptors.set_nonblocking(position as usize)?;
    let listeners =
        if herd == "reuseport" { Some(ReuseportListeners::new(waiters)?) } else { None };
    let event = Event { descriptors, position: position as usize, listeners };
    let mut group =
        WaiterGroup { waiters: Vec::new(), event, cpu, words: SharedWords::new()?, watch };
    for waiter in 0..waiters.min(MAX_WAITERS) {
        let WaiterGroup { event, words, .. } = &group;
        let serve = || wait_loop(waiter, method, event, words, watch);
        let child = PeerProcess::start(cpu, serve)
            .map_err(|errno| explain_error(errno, fds, DescriptorKind::Pipe))?;
        let process_state = ProcessState::open(child.id())?;
        group.waiters.push(Waiter { child, process_state, returns: 0 });
    }
    group
        .wait_until_all_sleep()
        .map_err(|errno| explain_error(errno, fds, DescriptorKind::Pipe))?;
    // One event, so that each waiter sleeps in its call before anything is timed.
    group.trigger_once()?;
    Ok(match figure {
        Figure::FirstWakeUp => {
            Work::from_body(Shape::OwnTicks, Body { waiters: group, figure, last: 0 })
        }
        Figure::WokenCount => {
            Work::from_body(Shape::OwnValue, Body { waiters: group, figure, last: 0 })
        }
    })
}

/// The event: a byte arrives at one of many descriptors, or a connection at a listening socket.
struct Event {
    descriptors: DescriptorSet,
    position: usize,
    listeners: Option<ReuseportListeners>,
}

impl Event {
    /// The descriptor that reports it to a waiter.
    fn descriptor(&self, waiter: usize) -> Result<i32, Errno> {
        match &self.listeners {
            Some(listeners) => listeners.fd(waiter),
            None => Ok(self.descriptors.fd(self.position)),
        }
    }

    /// Triggers it; a connection stays open until the returned value is dropped.
    fn trigger(&self) -> Result<Option<TcpStream>, Errno> {
        match &self.listeners {
            Some(listeners) => listeners.connect().map(Some),
            None => self.descriptors.make_ready(self.position).map(|()| None),
        }
    }

    /// Consumes the event, unless another waiter has. An accepted connection stays open until the
    /// next one.
    fn consume(&self, waiter: usize, connection: &mut Option<TcpStream>) -> Result<bool, Errno> {
        if let Some(listeners) = &self.listeners {
            let new = listeners.accept(waiter)?;
            let found = new.is_some();
            *connection = new.or(connection.take());
            return Ok(found);
        }
        match self.descriptors.drain(self.position) {
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
    event: &Event,
    words: &SharedWords,
    watch: Stopwatch,
) -> Result<(), Errno> {
    let (position, fd) = (event.position, event.descriptor(waiter)?);
    let mut fds =
        event.descriptors.fds().enumerate().map(|(index, other)| match index == position {
            true => fd,
            false => other,
        });
    let mut state = WaitState::of(method, &mut fds, 1)?;
    words.word(STARTED + waiter).store(1, Ordering::Release);
    let mut connection = None;
    loop {
        state.wait()?;
        words.word64(waiter).store(watch.stop(), Ordering::Relaxed);
        words.word(RETURNED + waiter).fetch_add(1, Ordering::Release);
        if event.consume(waiter, &mut connection)? {
            words.word(FOUND + waiter).fetch_add(1, Ordering::Release);
        }
        state.rearm(fd, position as u64)?;
    }
}

/// A waiter, as the measured process sees it.
struct Waiter {
    child: PeerProcess,
    process_state: ProcessState,
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
    fn wait_until(&self, mut condition: impl FnMut() -> Result<bool, Errno>) -> Result<(), Errno> {
        /// Checks of the condition from one test of whether all waiters still run to the next.
        const CHECKS_PER_TEST: u32 = 1 << 12;
        const TIMEOUT_NS: u64 = 3_000_000_000;
        let (start_ns, mut checks) = (monotonic_raw_ns(), 0u32);
        while !condition()? {
            sched_yield()?;
            checks += 1;
            if checks.is_multiple_of(CHECKS_PER_TEST) {
                self.waiters.iter().try_for_each(|waiter| waiter.child.check_running())?;
                if monotonic_raw_ns() - start_ns > TIMEOUT_NS {
                    return Err(Errno::PEER_TIMED_OUT);
                }
            }
        }
        Ok(())
    }

    /// Waits until each has started, and sleeps.
    fn wait_until_all_sleep(&self) -> Result<(), Errno> {
        for (index, waiter) in self.waiters.iter().enumerate() {
            self.wait_until(|| Ok(self.words.word(STARTED + index).load(Ordering::Acquire) == 1))?;
            self.wait_until(|| waiter.process_state.is_asleep())?;
        }
        Ok(())
    }

    /// How often waiters have found the event, in total.
    fn found(&self) -> u32 {
        let found = |index: usize| self.words.word(FOUND + index).load(Ordering::Acquire);
        (0..self.waiters.len()).map(found).fold(0, u32::wrapping_add)
    }

    /// Triggers the event once, and waits until all sleep again: the ticks until the time stamp of
    /// the first waiter whose call returned.
    fn trigger_once(&mut self) -> Result<i64, Errno> {
        let found = self.found();
        let start_ticks = self.watch.start();
        let _connection = self.event.trigger()?;
        let has_returned = |index: usize, before: u32| {
            self.words.word(RETURNED + index).load(Ordering::Acquire) != before
        };
        let mut waiters = self.waiters.iter().enumerate();
        self.wait_until(|| {
            Ok(waiters.clone().any(|(index, waiter)| has_returned(index, waiter.returns)))
        })?;
        self.wait_until_all_sleep()?;
        let woken = waiters.by_ref().filter(|(index, waiter)| has_returned(*index, waiter.returns));
        let latency_ticks = |index: usize| {
            self.words.word64(index).load(Ordering::Relaxed).wrapping_sub(start_ticks) as i64
        };
        let first = woken.map(|(index, _)| latency_ticks(index)).min().ok_or(Errno::EPROTO)?;
        for (index, waiter) in self.waiters.iter_mut().enumerate() {
            waiter.returns = self.words.word(RETURNED + index).load(Ordering::Acquire);
        }
        // It was triggered once, and one of them must have found it.
        if self.found() == found.wrapping_add(1) { Ok(first) } else { Err(Errno::EPROTO) }
    }

    /// Triggers the event once: how many of them have slept again since, in thousandths. A waiter
    /// that was woken may find nothing, and sleep again within its call.
    fn count_woken(&mut self) -> Result<i64, Errno> {
        let mut switches = [0; MAX_WAITERS];
        for (before, waiter) in switches.iter_mut().zip(&self.waiters) {
            *before = waiter.process_state.voluntary_switches()?;
        }
        self.trigger_once()?;
        let mut woken = 0;
        for (before, waiter) in switches.iter().zip(&self.waiters) {
            woken += i64::from(waiter.process_state.voluntary_switches()? != *before);
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
            let value = match self.figure {
                Figure::FirstWakeUp => self.waiters.trigger_once(),
                Figure::WokenCount => self.waiters.count_woken(),
            };
            self.last = value.map_err(|errno| OpError { op, errno })?;
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
