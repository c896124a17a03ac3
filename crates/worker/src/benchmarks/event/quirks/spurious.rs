//! Waiters that are woken for a byte that another one has read.

use std::sync::atomic::Ordering;

use super::super::super::prelude::*;
use crate::bench::Context;
use crate::kernel::SILENCE;
use crate::kernel::event::descriptor_set::{Account, Many, Over, refused};
use crate::kernel::event::readiness::{Change, Epoll, Patience, READABLE};
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, give_way};
use crate::kernel::time::clock::raw_ns;

/// Number of waiters, each with its own set; on two CPUs if there are two.
const WAITERS: usize = 2;

/// Indices of the shared words: whether a waiter has started, how often it found a byte, and how
/// often it was woken and found none.
const BEGUN: usize = 0;
const FOUND: usize = WAITERS;
const IN_VAIN: usize = 2 * WAITERS;

/// Processes that wait for the same pipe.
pub(super) struct Waiters {
    each: Vec<(PeerProcess, Account)>,
    many: Many,
    words: SharedWords,
}

impl Waiters {
    pub(super) fn new(site: Context) -> Result<Self, Errno> {
        let many = Many::new(1, Over::Pipe, 0..1, None)?;
        many.never_block(0)?;
        let mut waiters = Self { each: Vec::new(), many, words: SharedWords::new()? };
        for at in 0..WAITERS {
            let Self { many, words, .. } = &waiters;
            let cpu = if at == 0 { site.cpu } else { site.other_cpu.or(site.cpu) };
            let child = PeerProcess::start(cpu, || waits(at, many, words))
                .map_err(|why| refused(why, 1, Over::Pipe))?;
            let account = Account::of(child.id())?;
            waiters.each.push((child, account));
        }
        waiters.until_all_wait()?;
        Ok(waiters)
    }

    /// Writes a byte; returns how many waiters were woken without finding it, once all wait again.
    pub(super) fn spurious(&mut self) -> Result<i64, Errno> {
        let (found, in_vain) = (self.sum(FOUND), self.sum(IN_VAIN));
        self.many.wake(0)?;
        self.until(|| Ok(self.sum(FOUND) != found))?;
        self.until_all_wait()?;
        Ok(i64::from(self.sum(IN_VAIN).wrapping_sub(in_vain)))
    }

    fn sum(&self, line: usize) -> u32 {
        let each = (0..WAITERS).map(|at| self.words.word(line + at).load(Ordering::Acquire));
        each.fold(0, u32::wrapping_add)
    }

    fn until_all_wait(&self) -> Result<(), Errno> {
        self.until(|| Ok(self.sum(BEGUN) == WAITERS as u32))?;
        self.each.iter().try_for_each(|(_, account)| self.until(|| account.is_asleep()))
    }

    /// Waits until a condition holds; an error if a waiter has exited, or the time limit has
    /// passed.
    fn until(&self, it_is_so: impl Fn() -> Result<bool, Errno>) -> Result<(), Errno> {
        let begun = raw_ns();
        while !it_is_so()? {
            give_way()?;
            if raw_ns() - begun > SILENCE.as_nanos() as u64 {
                self.each.iter().try_for_each(|(child, _)| child.is_there())?;
                return Err(Errno::SILENT);
            }
        }
        Ok(())
    }
}

/// The loop of a waiter.
fn waits(at: usize, many: &Many, words: &SharedWords) -> Result<(), Errno> {
    let mut set = Epoll::new(1)?;
    set.change(Change::Add, many.fd(0), READABLE, 0)?;
    words.word(BEGUN + at).store(1, Ordering::Release);
    loop {
        set.ask(Patience::Endless)?;
        let line = match many.take(0) {
            Ok(()) => FOUND,
            Err(Errno::EAGAIN) => IN_VAIN,
            Err(error) => return Err(error),
        };
        words.word(line + at).fetch_add(1, Ordering::Release);
    }
}
