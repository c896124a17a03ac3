//! io_uring(7): two rings shared with the kernel, and io_uring_enter(2).

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use linux_raw_sys::io_uring::{
    IORING_ENTER_GETEVENTS, IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES,
    IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_SQ_AFF,
    IORING_SETUP_SQPOLL, io_uring_op, io_uring_params,
};
use rustix::net::{Shutdown, shutdown};

use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::control_stream::InterruptHandler;

/// io_uring_enter(2) waits for the given number of completions.
pub(super) const GET_EVENTS: u64 = IORING_ENTER_GETEVENTS as u64;
/// The operation that does nothing.
const NO_OP: u8 = io_uring_op::IORING_OP_NOP as u8;
/// The operation that reads like pread(2) (Linux 5.6).
const READ: u8 = io_uring_op::IORING_OP_READ as u8;
/// The operations that are send(2) and recv(2) (Linux 5.6).
const SEND: u8 = io_uring_op::IORING_OP_SEND as u8;
const RECEIVE: u8 = io_uring_op::IORING_OP_RECV as u8;

/// An entry of the submission ring (`struct io_uring_sqe`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) operation: u8,
    pub(super) flags: u8,
    pub(super) priority: u16,
    pub(super) fd: i32,
    pub(super) arguments: [u64; 3],
    pub(super) user_data: u64,
    pub(super) rest: [u64; 3],
}

/// An entry of the completion ring (`struct io_uring_cqe`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// The bytes of a message.
#[derive(Clone, Copy)]
struct MessageBytes {
    address: u64,
    length: usize,
}

/// How a ring is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingSetup {
    /// By default settings: no kernel polling thread, so every submission is a call.
    Plain,
    /// A kernel thread on this CPU polls the submission ring (IORING_SETUP_SQPOLL), until it has
    /// had nothing to do for a second.
    Polled {
        /// Where the thread runs.
        cpu: u32,
    },
    /// Work that the task owes is done when it waits for completions, and not at its next return
    /// from the kernel (IORING_SETUP_DEFER_TASKRUN, Linux 6.1).
    Deferred,
}

/// How long the kernel's thread polls in vain. Longer than any pause between two batches: with
/// 10 ms the thread would sleep at the start of many, and its wake-up would be part of the figure.
const POLLER_IDLE_MS: u32 = 1_000;

impl RingSetup {
    fn parameters(self) -> io_uring_params {
        // SAFETY: all-zero bits are valid parameters.
        let mut parameters: io_uring_params = unsafe { std::mem::zeroed() };
        match self {
            RingSetup::Plain => {}
            RingSetup::Polled { cpu } => {
                parameters.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
                parameters.sq_thread_cpu = cpu;
                parameters.sq_thread_idle = POLLER_IDLE_MS;
            }
            RingSetup::Deferred => {
                parameters.flags = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER;
            }
        }
        parameters
    }
}

/// A ring, by default without a kernel thread that polls it.
pub struct Ring {
    pub(super) fd: OwnedFd,
    pub(super) entries: u32,
    completion_mask: u64,
    pub(super) queued: u32,
    pub(super) submitted: u64,
    pub(super) submission_tail: NonNull<AtomicU32>,
    pub(super) submission_flags: NonNull<AtomicU32>,
    completion_head: NonNull<AtomicU32>,
    completion_tail: NonNull<AtomicU32>,
    pub(super) submissions: NonNull<Entry>,
    completions: NonNull<Completion>,
    /// What the pointers above point into.
    _mappings: [Mapping; 3],
}

impl Ring {
    /// A ring for `entries` submissions, a power of two.
    pub fn new(entries: u32) -> Result<Self, Errno> {
        Self::with_setup(entries, RingSetup::Plain)
    }

    /// The same, set up in another way.
    pub fn with_setup(entries: u32, setup: RingSetup) -> Result<Self, Errno> {
        // SAFETY: the kernel reads and writes one local struct; the descriptor is new and owned
        // here.
        let (fd, parameters) = unsafe {
            let mut parameters = setup.parameters();
            let fd = libc::syscall(libc::SYS_io_uring_setup, entries, &raw mut parameters);
            (OwnedFd::from_raw_fd(Errno::check(fd)? as i32), parameters)
        };
        let io_uring_params { sq_entries, cq_entries, sq_off, cq_off, .. } = parameters;
        let map = |offset: u32, first: u32, count: u32, size: usize| {
            Mapping::of_descriptor(&fd, offset.into(), first as usize + count as usize * size)
        };
        let of_submissions = map(IORING_OFF_SQ_RING, sq_off.array, sq_entries, size_of::<u32>())?;
        let of_completions =
            map(IORING_OFF_CQ_RING, cq_off.cqes, cq_entries, size_of::<Completion>())?;
        let of_entries = map(IORING_OFF_SQES, 0, sq_entries, size_of::<Entry>())?;
        // SAFETY: the offsets are the kernel's own and lie inside the mappings, each of which ends with
        // its array. The kernel does not read the submissions' array before the first submission.
        unsafe {
            let array: NonNull<u32> = of_submissions.pointer(sq_off.array as usize);
            for index in 0..sq_entries {
                // Index i of the ring is always entry i.
                array.add(index as usize).write(index);
            }
            Ok(Self {
                entries: sq_entries,
                completion_mask: u64::from(cq_entries) - 1,
                queued: 0,
                submitted: 0,
                submission_tail: of_submissions.pointer(sq_off.tail as usize),
                submission_flags: of_submissions.pointer(sq_off.flags as usize),
                completion_head: of_completions.pointer(cq_off.head as usize),
                completion_tail: of_completions.pointer(cq_off.tail as usize),
                submissions: of_entries.pointer(0),
                completions: of_completions.pointer(cq_off.cqes as usize),
                _mappings: [of_submissions, of_completions, of_entries],
                fd,
            })
        }
    }

    /// Queues a no-op, if there is space.
    #[inline(always)]
    pub fn queue_no_op(&mut self) -> Result<(), Errno> {
        self.queue(Entry { operation: NO_OP, fd: -1, ..Entry::default() })
    }

    /// Queues an entry, numbered consecutively.
    #[inline(always)]
    pub(super) fn queue(&mut self, entry: Entry) -> Result<(), Errno> {
        if self.queued == self.entries {
            return Err(Errno(libc::EBUSY));
        }
        let user_data = self.submitted + u64::from(self.queued);
        let slot = user_data & u64::from(self.entries - 1);
        let entry = Entry { user_data, ..entry };
        // SAFETY: the entry is inside the mapping, and the kernel reads it only after the tail has
        // passed it, in `submit`.
        unsafe { self.submissions.add(slot as usize).write(entry) };
        self.queued += 1;
        Ok(())
    }

    /// Submits all that is queued by one io_uring_enter(2), waits for completion, and checks every
    /// completion's number and result.
    #[inline(always)]
    pub fn submit(&mut self) -> Result<(), Errno> {
        self.submit_expecting(0)
    }

    /// Reads `bytes` bytes at a file offset, by one submission that is waited for.
    ///
    /// # Safety
    /// The buffer has that many bytes and is not borrowed.
    #[inline(always)]
    pub(in crate::kernel) unsafe fn read(
        &mut self,
        fd: i32,
        buffer: u64,
        bytes: u32,
        offset: u64,
    ) -> Result<(), Errno> {
        let arguments = [offset, buffer, u64::from(bytes)];
        self.queue(Entry { operation: READ, fd, arguments, ..Entry::default() })?;
        self.submit_expecting(bytes as i32)
    }

    /// Sends a whole message on a connected socket, by one submission that is waited for; returns
    /// the bytes accepted.
    #[inline(always)]
    pub fn send(
        &mut self,
        to: &File,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let bytes = MessageBytes { address: message.as_ptr() as u64, length: message.len() };
        // SAFETY: the kernel reads as many bytes as the slice has, and is done when this returns.
        unsafe { self.message(SEND, to, bytes, on_interrupt) }
    }

    /// Receives until `into` is full or the stream ends, by one submission that is waited for;
    /// returns the bytes received.
    #[inline(always)]
    pub fn receive(
        &mut self,
        from: &File,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let bytes = MessageBytes { address: into.as_mut_ptr() as u64, length: into.len() };
        // SAFETY: the kernel writes at most as many bytes as the slice has, and is done when this
        // returns.
        unsafe { self.message(RECEIVE, from, bytes, on_interrupt) }
    }

    /// Sends or receives, and returns only when the kernel no longer uses the bytes.
    ///
    /// # Safety
    /// The bytes are valid, and not borrowed when receiving.
    #[inline(always)]
    unsafe fn message(
        &mut self,
        operation: u8,
        socket: &File,
        MessageBytes { address, length }: MessageBytes,
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let flags = (libc::MSG_WAITALL | libc::MSG_NOSIGNAL) as u64;
        let arguments = [0, address, length as u64 | flags << 32];
        self.queue(Entry { operation, fd: socket.as_raw_fd(), arguments, ..Entry::default() })?;
        // SAFETY: the tail is a word of the mapping that only this side writes.
        unsafe { self.submission_tail.as_ref() }
            .store(self.submitted.wrapping_add(1) as u32, Ordering::Release);
        self.queued = 0;
        self.enter(1, 1)
            .and_then(|accepted| if accepted == 1 { Ok(()) } else { Err(Errno::EAGAIN) })?;
        self.submitted += 1;
        match self.next_result() {
            Some(done) => done,
            None => self.wait_after_interrupt(socket, on_interrupt),
        }
    }

    /// Continues waiting after an interruption.
    #[cold]
    fn wait_after_interrupt(
        &mut self,
        socket: &File,
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let mut interrupts = 0;
        loop {
            interrupts += 1;
            let ended = on_interrupt(interrupts);
            if ended.is_err() {
                // The kernel uses the bytes until the operation is done: shutting down ends it.
                let _ = shutdown(socket, Shutdown::Both);
            }
            match self.enter(0, 1) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
            if let Some(done) = self.next_result() {
                return ended.and(done);
            }
        }
    }

    /// io_uring_enter(2): submits `entries` entries and waits for `min_count` completions; returns the
    /// entries accepted.
    #[inline(always)]
    pub(super) fn enter(&self, entries: u64, min_count: u32) -> Result<i64, Errno> {
        let args = [self.fd.as_raw_fd() as u64, entries, u64::from(min_count), GET_EVENTS, 0, 0];
        // SAFETY: plain numbers, and the ring is mapped; no mask is handed over.
        let accepted = unsafe { crate::kernel::arch::syscall(libc::SYS_io_uring_enter, args) };
        if accepted < 0 { Err(Errno(-accepted as i32)) } else { Ok(accepted) }
    }

    /// The number of completions that can be taken.
    #[inline(always)]
    pub(super) fn available_completions(&self) -> u32 {
        // SAFETY: both are words of the mapping; the kernel advances the tail, this side the head.
        let (head, tail) =
            unsafe { (self.completion_head.as_ref(), self.completion_tail.as_ref()) };
        tail.load(Ordering::Acquire).wrapping_sub(head.load(Ordering::Relaxed))
    }

    /// Takes the next completion, if any.
    #[inline(always)]
    pub(super) fn next_completion(&self) -> Option<Completion> {
        // SAFETY: both are words of the mapping; the kernel advances the tail, this side the head.
        let (head, tail) =
            unsafe { (self.completion_head.as_ref(), self.completion_tail.as_ref()) };
        let at = head.load(Ordering::Relaxed);
        if tail.load(Ordering::Acquire) == at {
            return None;
        }
        let slot = (u64::from(at) & self.completion_mask) as usize;
        // SAFETY: inside the mapping; the kernel wrote it before it advanced the tail.
        let done = unsafe { self.completions.add(slot).read() };
        head.store(at.wrapping_add(1), Ordering::Release);
        Some(done)
    }

    /// The result of the next completion, if any.
    #[inline(always)]
    fn next_result(&self) -> Option<Result<usize, Errno>> {
        let done = self.next_completion()?;
        Some(if done.result < 0 { Err(Errno(-done.result)) } else { Ok(done.result as usize) })
    }

    /// As [`Self::submit`], where each result must be `good`.
    #[inline(always)]
    fn submit_expecting(&mut self, good: i32) -> Result<(), Errno> {
        let count = u64::from(self.queued);
        // SAFETY: the tail is a word of the mapping that only this side writes.
        unsafe { self.submission_tail.as_ref() }
            .store((self.submitted + count) as u32, Ordering::Release);
        let args = [self.fd.as_raw_fd() as u64, count, count, GET_EVENTS, 0, 0];
        // SAFETY: plain numbers, and the ring is mapped; no mask is handed over.
        let accepted = unsafe { crate::kernel::arch::syscall(libc::SYS_io_uring_enter, args) };
        if accepted < 0 {
            return Err(Errno(-accepted as i32));
        }
        let first = self.submitted;
        self.submitted += accepted as u64;
        self.queued = 0;
        self.reap(first, count, good)
    }

    /// Takes `count` completions: those numbered from `first` on.
    #[inline(always)]
    fn reap(&mut self, first: u64, count: u64, result: i32) -> Result<(), Errno> {
        // SAFETY: both are words of the mapping; the kernel advances the tail, this side the head.
        let (head, tail) =
            unsafe { (self.completion_head.as_ref(), self.completion_tail.as_ref()) };
        let available = tail.load(Ordering::Acquire).wrapping_sub(head.load(Ordering::Relaxed));
        let mut good = u64::from(available) == count;
        for number in first..first + count {
            let slot = (number & self.completion_mask) as usize;
            // SAFETY: inside the mapping; the kernel wrote it before it advanced the tail.
            let done = unsafe { self.completions.add(slot).read() };
            good &= done.user_data == number && done.result == result;
        }
        head.store((first + count) as u32, Ordering::Release);
        if good { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// The number of completed no-ops.
    pub fn completion_count(&self) -> u64 {
        self.submitted
    }
}

#[cfg(test)]
mod tests;
