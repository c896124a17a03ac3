//! Batches of operations that are the same each time: queued, submitted by one io_uring_enter(2)
//! that waits for all of them, and checked one by one.

mod kinds;
mod ring_calls;

use std::fs::File;
use std::hint;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use linux_raw_sys::io_uring::{io_uring_op, io_uring_register_op};
use rustix::event::{EventfdFlags, eventfd};

pub use self::kinds::{FileAccess, TimeoutEnd, Transfer};
use super::ring::{Completion, Entry, Ring, RingSetup};
use crate::kernel::Errno;
use crate::kernel::file::location::{Location, unnamed_file};
use crate::kernel::memory::mapping::Mapping;

/// Flags of an entry (`IOSQE_FIXED_FILE`, `IOSQE_IO_LINK`): its descriptor is the index of a
/// registered file; the next entry starts when this one is done.
const FIXED_FILE: u8 = 1 << 0;
const LINK: u8 = 1 << 2;

/// The bytes of a buffer, and of a file that is read: one page.
const PAGE: usize = 4_096;

/// How often the completion ring is polled before the task sleeps until the kernel's thread is
/// done: some 50 ms, many times what that takes unless the thread is not on its CPU.
const MAX_POLLS: u32 = 1 << 20;

/// How often a batch is tried before it counts as completed by the call that submits it: a worker
/// thread on another CPU could be as fast by chance, but not each time.
const INLINE_TRIALS: u32 = 16;

/// An operation of a batch.
#[derive(Clone, Copy)]
struct Template {
    entry: Entry,
    /// Multiplied by the number of the entry and added to its address: 1 if the address is the
    /// number of another entry.
    address_per_number: u64,
    /// The result that is a success.
    result: i32,
}

impl Template {
    fn new(operation: io_uring_op, entry: Entry, result: i32) -> Self {
        let entry = Entry { operation: operation as u8, ..entry };
        Self { entry, address_per_number: 0, result }
    }
}

/// A ring, and the operations of a batch.
pub struct Batch {
    ring: Ring,
    setup: RingSetup,
    /// One or two operations, repeated `times` times.
    templates: Vec<Template>,
    times: u32,
    /// What operations refer to.
    _files: Vec<OwnedFd>,
    _time: Box<[i64; 2]>,
    buffer: Option<Buffer>,
}

/// The buffer of transfers.
struct Buffer {
    mapping: Mapping,
    /// The bytes that a read fills.
    filled_bytes: usize,
    /// What the file holds.
    content: [u8; PAGE],
}

impl Batch {
    /// `times` no-ops.
    pub fn of_no_ops(times: u32, setup: RingSetup) -> Result<Self, Errno> {
        let no_op = Template::new(io_uring_op::IORING_OP_NOP, NO_FILE, 0);
        Self::new(Ring::with_setup(times, setup)?, setup, &[no_op], times)
    }

    /// Two no-ops, of which the second one waits for the first if they are linked.
    pub fn of_two_no_ops(linked: bool) -> Result<Self, Errno> {
        let flags = if linked { LINK } else { 0 };
        let first = Template::new(io_uring_op::IORING_OP_NOP, Entry { flags, ..NO_FILE }, 0);
        let second = Template::new(io_uring_op::IORING_OP_NOP, NO_FILE, 0);
        Self::new(Ring::new(2)?, RingSetup::Plain, &[first, second], 1)
    }

    /// `times` transfers of `bytes` bytes, at most a page, from or to the start of a file.
    pub fn of_transfers(
        direction: Transfer,
        access: FileAccess,
        bytes: usize,
        times: u32,
    ) -> Result<Self, Errno> {
        if bytes > PAGE {
            return Err(Errno::E2BIG);
        }
        let (ring, mapping) = (Ring::new(times)?, Mapping::private(PAGE)?);
        let mut content = [0; PAGE];
        for (number, byte) in content.iter_mut().enumerate() {
            // Not 0, which is what the buffer begins with.
            *byte = 1 + (number % 251) as u8;
        }
        let file: OwnedFd = match direction {
            Transfer::Read => {
                let file = unnamed_file(Location::UserFolder, PAGE as u64)?;
                file.write_all_at(&content, 0)?;
                file.into()
            }
            Transfer::Write => File::options().write(true).open("/dev/null")?.into(),
        };
        // SAFETY: the offset is inside the mapping.
        let address = unsafe { mapping.pointer::<u8>(0) }.as_ptr() as u64;
        let mut entry = Entry {
            fd: file.as_raw_fd(),
            arguments: [0, address, bytes as u64],
            ..Entry::default()
        };
        match access {
            FileAccess::Descriptor => {}
            FileAccess::FixedFile => {
                ring.register(io_uring_register_op::IORING_REGISTER_FILES, &[file.as_raw_fd()])?;
                (entry.fd, entry.flags) = (0, FIXED_FILE);
            }
            FileAccess::FixedBuffer => {
                let all = [[address, PAGE as u64]];
                ring.register(io_uring_register_op::IORING_REGISTER_BUFFERS, &all)?;
            }
        }
        let operation = match (direction, access) {
            (Transfer::Read, FileAccess::FixedBuffer) => io_uring_op::IORING_OP_READ_FIXED,
            (Transfer::Read, _) => io_uring_op::IORING_OP_READ,
            (Transfer::Write, FileAccess::FixedBuffer) => io_uring_op::IORING_OP_WRITE_FIXED,
            (Transfer::Write, _) => io_uring_op::IORING_OP_WRITE,
        };
        let transfer = Template::new(operation, entry, bytes as i32);
        // Writes leave it as it is.
        let filled_bytes = if direction == Transfer::Read { bytes } else { 0 };
        let buffer = Some(Buffer { mapping, filled_bytes, content });
        let batch = Self::new(ring, RingSetup::Plain, &[transfer], times)?;
        Ok(Self { buffer, _files: vec![file], ..batch })
    }

    /// `times` one-shot polls of an eventfd(2) that is readable.
    pub fn of_polls(times: u32) -> Result<Self, Errno> {
        /// The events to wait for, which are also the result.
        const IN: i32 = libc::POLLIN as i32;
        let ready = eventfd(1, EventfdFlags::CLOEXEC)?;
        let arguments = [0, 0, (IN as u64) << 32];
        let entry = Entry { fd: ready.as_raw_fd(), arguments, ..Entry::default() };
        let poll = Template::new(io_uring_op::IORING_OP_POLL_ADD, entry, IN);
        let batch = Self::new(Ring::new(times)?, RingSetup::Plain, &[poll], times)?;
        Ok(Self { _files: vec![ready], ..batch })
    }

    /// A timeout of no time or of a minute, and what else makes it end.
    pub fn of_timeout(end: TimeoutEnd) -> Result<Self, Errno> {
        let is_over = matches!(end, TimeoutEnd::Over | TimeoutEnd::LinkedOver);
        let time: Box<[i64; 2]> = Box::new([if is_over { 0 } else { 60 }, 0]);
        // After how many completions of others it ends: 0 is none.
        let count = u64::from(end == TimeoutEnd::Counted);
        let entry = Entry { arguments: [count, time.as_ptr() as u64, 1], ..NO_FILE };
        let timeout = |result| Template::new(io_uring_op::IORING_OP_TIMEOUT, entry, result);
        let limit = |result| Template::new(io_uring_op::IORING_OP_LINK_TIMEOUT, entry, result);
        let no_op =
            |flags| Template::new(io_uring_op::IORING_OP_NOP, Entry { flags, ..NO_FILE }, 0);
        let unready = eventfd(0, EventfdFlags::CLOEXEC)?;
        let templates = match end {
            TimeoutEnd::Over => vec![timeout(-libc::ETIME)],
            TimeoutEnd::Removed => {
                let removal = Template {
                    // The number of the entry before.
                    address_per_number: 1,
                    ..Template::new(
                        io_uring_op::IORING_OP_TIMEOUT_REMOVE,
                        Entry { arguments: [0, u64::MAX, 0], ..NO_FILE },
                        0,
                    )
                };
                vec![timeout(-libc::ECANCELED), removal]
            }
            TimeoutEnd::Counted => vec![timeout(0), no_op(0)],
            TimeoutEnd::Linked => vec![no_op(LINK), limit(-libc::ECANCELED)],
            TimeoutEnd::LinkedOver => {
                let arguments = [0, 0, (libc::POLLIN as u64) << 32];
                let fd = unready.as_raw_fd();
                let entry = Entry { fd, flags: LINK, arguments, ..Entry::default() };
                let poll = Template::new(io_uring_op::IORING_OP_POLL_ADD, entry, -libc::ECANCELED);
                vec![poll, limit(-libc::ETIME)]
            }
        };
        let batch = Self::new(Ring::new(2)?, RingSetup::Plain, &templates, 1)?;
        Ok(Self { _time: time, _files: vec![unready], ..batch })
    }

    /// A batch of templates, whose number is a power of two.
    fn new(
        ring: Ring,
        setup: RingSetup,
        templates: &[Template],
        times: u32,
    ) -> Result<Self, Errno> {
        if times == 0 || !templates.len().is_power_of_two() {
            return Err(Errno::EINVAL);
        }
        Ok(Self {
            ring,
            setup,
            templates: templates.to_vec(),
            times,
            _files: Vec::new(),
            _time: Box::new([0; 2]),
            buffer: None,
        })
    }

    /// Makes all operations once.
    #[inline(always)]
    pub fn run(&mut self) -> Result<(), Errno> {
        let first = self.queue_all()?;
        match self.setup {
            RingSetup::Polled { .. } => self.wait_for_poller()?,
            _ => self
                .ring
                .wait_for(self.count())
                .map_err(|error| self.first_failure().unwrap_or(error))?,
        }
        self.take_all(first)
    }

    /// Why the kernel has not accepted all operations: the first one that is wrong ends the call.
    #[cold]
    fn first_failure(&mut self) -> Option<Errno> {
        while let Some(done) = self.ring.next_completion() {
            if done.result < 0 {
                return Some(Errno(-done.result));
            }
        }
        None
    }

    /// Whether the call that submits the operations completes them, and leaves none to another
    /// thread.
    pub fn completes_inline(&mut self) -> Result<bool, Errno> {
        for _ in 0..INLINE_TRIALS {
            let first = self.queue_all()?;
            self.ring.wait_for(0)?;
            let all_are_done = self.ring.available_completions() == self.count();
            self.take_all(first)?;
            if !all_are_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks that reads have filled the buffer with what the file holds, and empties it.
    pub fn check_and_clear_buffer(&mut self) -> Result<(), Errno> {
        let Some(Buffer { mapping, filled_bytes, content }) = &mut self.buffer else {
            return Ok(());
        };
        // SAFETY: the mapping has a page, which nothing else borrows; no operation is in progress.
        let found = unsafe {
            let begin = mapping.pointer::<u8>(0).as_ptr();
            std::slice::from_raw_parts_mut(begin, PAGE)
        };
        let is_right = found[..*filled_bytes] == content[..*filled_bytes];
        found.fill(0);
        if is_right {
            return Ok(());
        }
        Err(Errno::check_failed("a read returned what is not in the file".to_owned()))
    }

    /// The number of operations that were completed.
    pub fn completed(&self) -> u64 {
        self.ring.completion_count()
    }

    /// The number of operations in a batch.
    #[inline(always)]
    fn count(&self) -> u32 {
        self.templates.len() as u32 * self.times
    }

    /// Queues all operations; returns the number of the first.
    #[inline(always)]
    fn queue_all(&mut self) -> Result<u64, Errno> {
        let first = self.ring.submitted;
        let mut number = first;
        for _ in 0..self.times {
            for template in &self.templates {
                let mut entry = template.entry;
                let offset = template.address_per_number.wrapping_mul(number);
                entry.arguments[1] = entry.arguments[1].wrapping_add(offset);
                self.ring.queue(entry)?;
                number += 1;
            }
        }
        Ok(first)
    }

    /// Makes what is queued visible to the kernel's thread, and waits until all is completed:
    /// without a call while the thread is awake.
    #[inline(always)]
    fn wait_for_poller(&mut self) -> Result<(), Errno> {
        self.ring.publish();
        if self.ring.poller_sleeps() {
            self.ring.wake_poller()?;
        }
        let (count, mut polls) = (self.count(), 0);
        while self.ring.available_completions() < count {
            polls += 1;
            if polls > MAX_POLLS {
                return self.ring.enter(0, count).map(drop);
            }
            hint::spin_loop();
        }
        Ok(())
    }

    /// Takes the completions of the entries from number `first` on, in any order.
    #[inline(always)]
    fn take_all(&mut self, first: u64) -> Result<(), Errno> {
        let (count, mask) = (u64::from(self.count()), self.templates.len() - 1);
        let mut sum = 0;
        for _ in 0..count {
            let done = match self.ring.next_completion() {
                Some(done) => done,
                None => self.wait_for_completion()?,
            };
            let index = done.user_data.wrapping_sub(first);
            if index >= count || done.result != self.templates[index as usize & mask].result {
                return Err(unexpected(done.result));
            }
            sum += index;
        }
        // Each number once.
        if sum == count * (count - 1) / 2 { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// A completion that has not come yet: a signal has ended the wait.
    #[cold]
    fn wait_for_completion(&mut self) -> Result<Completion, Errno> {
        loop {
            match self.ring.enter(0, 1) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
            if let Some(done) = self.ring.next_completion() {
                return Ok(done);
            }
        }
    }
}

/// An entry that needs no file.
const NO_FILE: Entry = Entry {
    operation: 0,
    flags: 0,
    priority: 0,
    fd: -1,
    arguments: [0; 3],
    user_data: 0,
    rest: [0; 3],
};

/// The error of an operation that had another result.
#[cold]
fn unexpected(result: i32) -> Errno {
    if result < 0 { Errno(-result) } else { Errno::EPROTO }
}

#[cfg(test)]
mod tests;
