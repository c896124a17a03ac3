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
    waiters: Vec<(PeerProcess, ProcessState)>,
    descriptors: DescriptorSet,
    words: SharedWords,
}

impl Waiters {
    pub(super) fn new(context: Context) -> Result<Self, Errno> {
        let descriptors = DescriptorSet::new(1, DescriptorKind::Pipe, 0..1, None)?;
        descriptors.set_nonblocking(0)?;
        let mut group = Self { waiters: Vec::new(), descriptors, words: SharedWords::new()? };
        for index in 0..WAITERS {
            let Self { descriptors, words, .. } = &group;
            let cpu = if index == 0 { context.cpu } else { context.other_cpu.or(context.cpu) };
            let child = PeerProcess::start(cpu, || wait_loop(index, descriptors, words))
                .map_err(|errno| explain_error(errno, 1, DescriptorKind::Pipe))?;
            let state = ProcessState::open(child.id())?;
            group.waiters.push((child, state));
        }
        group.wait_until_all_sleep()?;
        Ok(group)
    }

    /// Writes a byte; returns how many waiters were woken without finding it, once all wait again.
    pub(super) fn count_spurious(&mut self) -> Result<i64, Errno> {
        let (found, spurious) = (self.sum(FOUND), self.sum(SPURIOUS));
        self.descriptors.make_ready(0)?;
        self.wait_until(|| Ok(self.sum(FOUND) != found))?;
        self.wait_until_all_sleep()?;
        Ok(i64::from(self.sum(SPURIOUS).wrapping_sub(spurious)))
    }

    fn sum(&self, row: usize) -> u32 {
        let counts = (0..WAITERS).map(|index| self.words.word(row + index).load(Ordering::Acquire));
        counts.fold(0, u32::wrapping_add)
    }

    fn wait_until_all_sleep(&self) -> Result<(), Errno> {
        self.wait_until(|| Ok(self.sum(STARTED) == WAITERS as u32))?;
        self.waiters.iter().try_for_each(|(_, state)| self.wait_until(|| state.is_asleep()))
    }

    /// Waits until a condition holds; an error if a waiter has exited, or the time limit has
    /// passed.
    fn wait_until(&self, condition: impl Fn() -> Result<bool, Errno>) -> Result<(), Errno> {
        let start_ns = monotonic_raw_ns();
        while !condition()? {
            sched_yield()?;
            if monotonic_raw_ns() - start_ns > PEER_TIMEOUT.as_nanos() as u64 {
                self.waiters.iter().try_for_each(|(child, _)| child.check_running())?;
                return Err(Errno::PEER_TIMED_OUT);
            }
        }
        Ok(())
    }
}

/// The loop of a waiter.
fn wait_loop(index: usize, descriptors: &DescriptorSet, words: &SharedWords) -> Result<(), Errno> {
    let mut set = Epoll::new(1)?;
    set.change(EpollChange::Add, descriptors.fd(0), READABLE, 0)?;
    words.word(STARTED + index).store(1, Ordering::Release);
    loop {
        set.wait(WaitLimit::Infinite)?;
        let row = match descriptors.drain(0) {
            Ok(()) => FOUND,
            Err(Errno::EAGAIN) => SPURIOUS,
            Err(error) => return Err(error),
        };
        words.word(row + index).fetch_add(1, Ordering::Release);
    }
}
