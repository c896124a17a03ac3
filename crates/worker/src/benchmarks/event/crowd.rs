//! Waiters that sleep until an event, and the process that triggers it.
//!
//! The measured process triggers the event. Waiters are children, each with its own set; they
//! report through shared memory.

use std::net::TcpStream;
use std::sync::atomic::Ordering;

use oscost_model::channel::ChannelObservation;

use super::super::prelude::*;
use super::super::switch::placement::cpu_of_peer;
use super::set::{Asked, Method};
use crate::kernel::event::descriptor_set::{
    DescriptorKind, DescriptorSet, ProcessState, explain_error,
};
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, sched_yield};
use crate::kernel::net::reuseport::ReuseportListeners;
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// Maximum number of waiters, each of which has a word for its time stamp.
const MOST: usize = 8;

/// Indices of the shared words: how often a waiter's call has returned, how often it found the
/// event, whether it has started.
const CAME_BACK: usize = 0;
const FOUND: usize = MOST;
const BEGUN: usize = 2 * MOST;

/// The figure of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// The time until the first waiter ran.
    First,
    /// The number of waiters woken.
    Woken,
}

/// The work at a point: an op is one event.
pub(super) fn wakes(at: Params<'_>, figure: Figure) -> Result<Work, Errno> {
    let cpu = match cpu_of_peer(at) {
        Ok(cpu) => cpu,
        Err(lacking) => return Ok(lacking),
    };
    let watch = at.context.clock;
    if cpu != at.context.cpu && !watch.agrees_across_cpus() {
        return Ok(clocks_apart());
    }
    let (fds, waiters) = (at.number("fds"), at.number("waiters") as usize);
    let herd = at.word("herd");
    let method = Method::of(at);
    let method = if herd == "exclusive" { method.exclusive() } else { method };
    let place = fds / 2;
    let many = DescriptorSet::new(fds, DescriptorKind::Pipe, place..place + 1, None)?;
    many.set_nonblocking(place as usize)?;
    let doors = if herd == "reuseport" { Some(ReuseportListeners::new(waiters)?) } else { None };
    let happens = Happens { many, place: place as usize, doors };
    let mut crowd = Crowd { waiters: Vec::new(), happens, cpu, words: SharedWords::new()?, watch };
    for waiter in 0..waiters.min(MOST) {
        let Crowd { happens, words, .. } = &crowd;
        let serve = || waits(waiter, method, happens, words, watch);
        let child = PeerProcess::start(cpu, serve)
            .map_err(|why| explain_error(why, fds, DescriptorKind::Pipe))?;
        let account = ProcessState::open(child.id())?;
        crowd.waiters.push(Waiter { child, account, came_back: 0 });
    }
    crowd.all_wait().map_err(|why| explain_error(why, fds, DescriptorKind::Pipe))?;
    // Once, so that each waiter sleeps in its call before anything is timed.
    crowd.happens()?;
    Ok(match figure {
        Figure::First => Work::from_body(Shape::OwnTicks, Body { crowd, figure, last: 0 }),
        Figure::Woken => Work::from_body(Shape::OwnValue, Body { crowd, figure, last: 0 }),
    })
}

/// The event: a byte arrives at one of many descriptors, or a connection at a listening socket.
struct Happens {
    many: DescriptorSet,
    place: usize,
    doors: Option<ReuseportListeners>,
}

impl Happens {
    /// The descriptor that reports it to a waiter.
    fn seen_at(&self, waiter: usize) -> Result<i32, Errno> {
        match &self.doors {
            Some(doors) => doors.fd(waiter),
            None => Ok(self.many.fd(self.place)),
        }
    }

    /// Triggers it; a connection stays open until the returned value is dropped.
    fn now(&self) -> Result<Option<TcpStream>, Errno> {
        match &self.doors {
            Some(doors) => doors.connect().map(Some),
            None => self.many.make_ready(self.place).map(|()| None),
        }
    }

    /// Consumes the event, unless another waiter has. An accepted connection stays open until the
    /// next one.
    fn found(&self, waiter: usize, guest: &mut Option<TcpStream>) -> Result<bool, Errno> {
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
fn waits(
    waiter: usize,
    method: Method,
    happens: &Happens,
    words: &SharedWords,
    watch: Stopwatch,
) -> Result<(), Errno> {
    let (place, fd) = (happens.place, happens.seen_at(waiter)?);
    let mut fds = happens.many.fds().enumerate().map(|(at, other)| match at == place {
        true => fd,
        false => other,
    });
    let mut asked = Asked::of(method, &mut fds, 1)?;
    words.word(BEGUN + waiter).store(1, Ordering::Release);
    let mut guest = None;
    loop {
        asked.wait()?;
        words.word64(waiter).store(watch.stop(), Ordering::Relaxed);
        words.word(CAME_BACK + waiter).fetch_add(1, Ordering::Release);
        if happens.found(waiter, &mut guest)? {
            words.word(FOUND + waiter).fetch_add(1, Ordering::Release);
        }
        asked.again(fd, place as u64)?;
    }
}

/// A waiter, as held by the measured process.
struct Waiter {
    child: PeerProcess,
    account: ProcessState,
    /// How often its call has returned.
    came_back: u32,
}

/// All waiters, and the event.
struct Crowd {
    waiters: Vec<Waiter>,
    happens: Happens,
    cpu: Option<u32>,
    words: SharedWords,
    watch: Stopwatch,
}

impl Crowd {
    /// Waits until a condition holds; an error if a waiter has exited, or the time limit has
    /// passed.
    fn until(&self, mut it_is_so: impl FnMut() -> Result<bool, Errno>) -> Result<(), Errno> {
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
    fn all_wait(&self) -> Result<(), Errno> {
        for (at, waiter) in self.waiters.iter().enumerate() {
            self.until(|| Ok(self.words.word(BEGUN + at).load(Ordering::Acquire) == 1))?;
            self.until(|| waiter.account.is_asleep())?;
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
        let _visitor = self.happens.now()?;
        let came_back =
            |at: usize, then: u32| self.words.word(CAME_BACK + at).load(Ordering::Acquire) != then;
        let mut each = self.waiters.iter().enumerate();
        self.until(|| Ok(each.clone().any(|(at, waiter)| came_back(at, waiter.came_back))))?;
        self.all_wait()?;
        let woken = each.by_ref().filter(|(at, waiter)| came_back(*at, waiter.came_back));
        let took =
            |at: usize| self.words.word64(at).load(Ordering::Relaxed).wrapping_sub(begun) as i64;
        let first = woken.map(|(at, _)| took(at)).min().ok_or(Errno::EPROTO)?;
        for (at, waiter) in self.waiters.iter_mut().enumerate() {
            waiter.came_back = self.words.word(CAME_BACK + at).load(Ordering::Acquire);
        }
        // It was triggered once, and one of them must have found it.
        if self.found() == found.wrapping_add(1) { Ok(first) } else { Err(Errno::EPROTO) }
    }

    /// Triggers the event once: how many of them have slept again since, in thousandths. A waiter
    /// that was woken may find nothing, and sleep again within its call.
    fn woken(&mut self) -> Result<i64, Errno> {
        let mut before = [0; MOST];
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
    crowd: Crowd,
    figure: Figure,
    last: i64,
}

impl WorkBody for Body {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        for op in 0..turns * u64::from(copies) {
            let brought = match self.figure {
                Figure::First => self.crowd.happens(),
                Figure::Woken => self.crowd.woken(),
            };
            self.last = brought.map_err(|why| OpError { op, errno: why })?;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.last
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.crowd
            .cpu
            .map(|cpu| ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() })
    }
}
