//! Poll requests in a ring: one-shot or multishot.

use std::sync::atomic::Ordering;

use super::ring::{Entry, Ring};
use crate::kernel::Errno;

/// The operation that waits until a descriptor is ready (Linux 5.1).
const POLL_ADD: u8 = 6;
/// The operation that cancels or updates a poll (Linux 5.13).
const POLL_REMOVE: u8 = 7;
/// Of [`POLL_ADD`]: multishot (Linux 5.13).
const POLL_ADD_MULTI: u64 = 1;
/// Of [`POLL_REMOVE`]: updates the events.
const POLL_UPDATE_EVENTS: u64 = 2;
/// Of a completion: more may follow from the same submission.
const MORE: u32 = 2;

/// The events to wait for: readable.
const IN: u64 = libc::POLLIN as u64;

/// How many events a poll reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollMode {
    /// One; then it must be queued again.
    OneShot,
    /// All, until it is cancelled.
    MultiShot,
}

/// A completion.
#[derive(Clone, Copy, Debug)]
pub struct PollCompletion {
    /// The submission's token.
    pub token: u64,
    /// Its result: the events, or a negative error.
    pub result: i32,
    /// Whether more may follow.
    pub more: bool,
}

/// Calls whose completions are taken one by one. A ring is used either by these or by the calls
/// that number their submissions, not by both.
impl Ring {
    /// Queues a poll of a descriptor.
    #[inline(always)]
    pub fn queue_poll(&mut self, fd: i32, token: u64, shots: PollMode) -> Result<(), Errno> {
        let multi = if shots == PollMode::MultiShot { POLL_ADD_MULTI } else { 0 };
        let arguments = [0, 0, multi | IN << 32];
        self.queue_with_token(
            Entry { operation: POLL_ADD, fd, arguments, ..Entry::default() },
            token,
        )
    }

    /// Queues the cancellation of a poll; its completion has `token`.
    #[inline(always)]
    pub fn queue_removal(&mut self, target: u64, token: u64) -> Result<(), Errno> {
        let arguments = [0, target, 0];
        self.queue_with_token(
            Entry { operation: POLL_REMOVE, fd: -1, arguments, ..Entry::default() },
            token,
        )
    }

    /// Queues an update that adds events to a poll.
    #[inline(always)]
    pub fn queue_update(&mut self, target: u64, more: u32, token: u64) -> Result<(), Errno> {
        let arguments = [0, target, POLL_UPDATE_EVENTS | (IN | u64::from(more)) << 32];
        self.queue_with_token(
            Entry { operation: POLL_REMOVE, fd: -1, arguments, ..Entry::default() },
            token,
        )
    }

    /// Queues an entry with this number.
    #[inline(always)]
    pub(super) fn queue_with_token(&mut self, entry: Entry, token: u64) -> Result<(), Errno> {
        if self.queued == self.entries {
            return Err(Errno(libc::EBUSY));
        }
        let slot = (self.submitted + u64::from(self.queued)) & u64::from(self.entries - 1);
        // SAFETY: as in `queue`.
        unsafe {
            self.submissions.add(slot as usize).write(Entry { user_data: token, ..entry });
        }
        self.queued += 1;
        Ok(())
    }

    /// Whether the submission ring is full.
    pub fn is_full(&self) -> bool {
        self.queued == self.entries
    }

    /// Submits what is queued, and waits for `min_count` completions.
    #[inline(always)]
    pub fn wait_for(&mut self, min_count: u32) -> Result<(), Errno> {
        let count = u64::from(self.queued);
        // SAFETY: the tail is a word of the mapping that only we write.
        unsafe { self.submission_tail.as_ref() }
            .store((self.submitted + count) as u32, Ordering::Release);
        let accepted = self.enter(count, min_count)?;
        self.submitted += accepted as u64;
        self.queued -= accepted as u32;
        if self.queued == 0 { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// Takes the next completion, if any.
    #[inline(always)]
    pub fn take_completion(&mut self) -> Option<PollCompletion> {
        let done = self.next_completion()?;
        Some(PollCompletion {
            token: done.user_data,
            result: done.result,
            more: done.flags & MORE != 0,
        })
    }

    /// Continues after what another process has submitted by the same ring.
    pub fn resync(&mut self) {
        // SAFETY: the tail is a word of the mapping.
        let tail = unsafe { self.submission_tail.as_ref() }.load(Ordering::Acquire);
        self.submitted = u64::from(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ipc::pipe::pipe;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_poll_fires_once_or_each_time_and_can_be_taken_back() {
        let Ok(mut ring) = Ring::new(4) else { return };
        let ((mut from, mut to), (other, _kept)) = (pipe().unwrap(), pipe().unwrap());
        ring.queue_poll(from.as_raw_fd(), 7, PollMode::MultiShot).unwrap();
        ring.queue_poll(other.as_raw_fd(), 8, PollMode::OneShot).unwrap();
        ring.wait_for(0).unwrap();
        assert!(ring.take_completion().is_none());
        for _ in 0..3 {
            to.write_all(&[1]).unwrap();
            ring.wait_for(1).unwrap();
            let done = ring.take_completion().unwrap();
            assert_eq!((done.token, done.result & IN as i32, done.more), (7, 1, true));
            assert!(ring.take_completion().is_none());
            from.read_exact(&mut [0]).unwrap();
        }
        ring.queue_removal(8, 9).unwrap();
        ring.wait_for(2).unwrap();
        let mut done = [ring.take_completion().unwrap(), ring.take_completion().unwrap()];
        done.sort_by_key(|done| done.token);
        assert_eq!((done[0].token, done[0].result), (8, -libc::ECANCELED));
        assert_eq!((done[1].token, done[1].result), (9, 0));
    }
}
