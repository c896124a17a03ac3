//! Waiters that are woken for a byte that another one has read.

use std::sync::atomic::Ordering;

use super::super::super::prelude::*;
use crate::bench::Context;
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::event::descriptor_set::{
    DescriptorKind, DescriptorSet, ProcessState, explain_error,
};
use crate::kernel::event::readiness::{Epoll, EpollChange, READABLE, WaitLimit};
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, sched_yield};
use crate::kernel::time::clock::monotonic_raw_ns;

/// Number of waiters, each with its own set; on two CPUs if there are two.
const WAITERS: usize = 2;

/// Indices of the shared words: whether a waiter has started, how often it found a byte, and how
/// often it was woken and found none.
const STARTED: usize = 0;
const FOUND: usize = WAITERS;
const SPURIOUS: usize = 2 * WAITERS;

/// Processes that wait for the same pipe.
pub(super) struct Waiters {
    each: Vec<(PeerProcess, ProcessState)>,
    many: DescriptorSet,
    words: SharedWords,
}

impl Waiters {
    pub(super) fn new(site: Context) -> Result<Self, Errno> {
        let many = DescriptorSet::new(1, DescriptorKind::Pipe, 0..1, None)?;
        many.set_nonblocking(0)?;
        let mut waiters = Self { each: Vec::new(), many, words: SharedWords::new()? };
        for at in 0..WAITERS {
            let Self { many, words, .. } = &waiters;
            let cpu = if at == 0 { site.cpu } else { site.other_cpu.or(site.cpu) };
            let child = PeerProcess::start(cpu, || wait_loop(at, many, words))
                .map_err(|why| explain_error(why, 1, DescriptorKind::Pipe))?;
            let account = ProcessState::open(child.id())?;
            waiters.each.push((child, account));
        }
        waiters.wait_until_all_sleep()?;
        Ok(waiters)
    }

    /// Writes a byte; returns how many waiters were woken without finding it, once all wait again.
    pub(super) fn spurious(&mut self) -> Result<i64, Errno> {
        let (found, in_vain) = (self.sum(FOUND), self.sum(SPURIOUS));
        self.many.make_ready(0)?;
        self.wait_until(|| Ok(self.sum(FOUND) != found))?;
        self.wait_until_all_sleep()?;
        Ok(i64::from(self.sum(SPURIOUS).wrapping_sub(in_vain)))
    }

    fn sum(&self, line: usize) -> u32 {
        let each = (0..WAITERS).map(|at| self.words.word(line + at).load(Ordering::Acquire));
        each.fold(0, u32::wrapping_add)
    }

    fn wait_until_all_sleep(&self) -> Result<(), Errno> {
        self.wait_until(|| Ok(self.sum(STARTED) == WAITERS as u32))?;
        self.each.iter().try_for_each(|(_, account)| self.wait_until(|| account.is_asleep()))
    }

    /// Waits until a condition holds; an error if a waiter has exited, or the time limit has
    /// passed.
    fn wait_until(&self, it_is_so: impl Fn() -> Result<bool, Errno>) -> Result<(), Errno> {
        let begun = monotonic_raw_ns();
        while !it_is_so()? {
            sched_yield()?;
            if monotonic_raw_ns() - begun > PEER_TIMEOUT.as_nanos() as u64 {
                self.each.iter().try_for_each(|(child, _)| child.check_running())?;
                return Err(Errno::PEER_TIMED_OUT);
            }
        }
        Ok(())
    }
}

/// The loop of a waiter.
fn wait_loop(at: usize, many: &DescriptorSet, words: &SharedWords) -> Result<(), Errno> {
    let mut set = Epoll::new(1)?;
    set.change(EpollChange::Add, many.fd(0), READABLE, 0)?;
    words.word(STARTED + at).store(1, Ordering::Release);
    loop {
        set.wait(WaitLimit::Infinite)?;
        let line = match many.drain(0) {
            Ok(()) => FOUND,
            Err(Errno::EAGAIN) => SPURIOUS,
            Err(error) => return Err(error),
        };
        words.word(line + at).fetch_add(1, Ordering::Release);
    }
}
