//! A ring buffer in memory shared by two processes, one writer and one reader.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::MapFlags;

use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{FutexScope, futex_wait, futex_wake};
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::control_stream::InterruptHandler;

/// The header page before the data: counters, each in its own cache line.
const HEADER_BYTES: usize = 4_096;
const LINE_BYTES: usize = 64;

/// How each side waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// By futex(2), woken by the other side.
    Sleep,
    /// By spinning.
    Spin,
}

/// The ring, shared with every fork.
pub struct SharedRing {
    mapping: Mapping,
    capacity: usize,
    waiting: WaitMode,
}

impl SharedRing {
    /// A ring of `capacity` bytes, with all pages present.
    pub fn new(capacity: usize, waiting: WaitMode) -> Result<Self, Errno> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        let mapping = Mapping::anonymous(HEADER_BYTES + capacity, flags)?;
        let ring = Self { mapping, capacity, waiting };
        for awake in [ring.reader_awake(), ring.writer_awake()] {
            awake.store(1, Ordering::SeqCst);
        }
        Ok(ring)
    }

    /// Its capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    fn counter(&self, line: usize) -> &AtomicU64 {
        // SAFETY: the line lies in the first page, is aligned, and is never anything but this.
        unsafe { self.mapping.pointer(line * LINE_BYTES).as_ref() }
    }

    /// Total bytes written.
    fn bytes_written(&self) -> &AtomicU64 {
        self.counter(0)
    }

    /// Total bytes read.
    fn bytes_read(&self) -> &AtomicU64 {
        self.counter(1)
    }

    fn word(&self, line: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.mapping.pointer(line * LINE_BYTES).as_ref() }
    }

    /// 0 while the reader sleeps or is about to.
    fn reader_awake(&self) -> &AtomicU32 {
        self.word(2)
    }

    /// 0 while the writer sleeps or is about to.
    fn writer_awake(&self) -> &AtomicU32 {
        self.word(3)
    }

    /// Bytes copied at a time: few enough that the other side can copy the previous chunk
    /// meanwhile.
    fn chunk_bytes(&self) -> usize {
        (self.capacity / 4).max(1)
    }

    /// Writes all of `bytes`, waiting for room.
    #[inline(always)]
    pub fn write(&self, mut bytes: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let written = self.bytes_written().load(Ordering::Relaxed);
            let read = self.bytes_read().load(Ordering::Acquire);
            let room = self.capacity - (written.wrapping_sub(read) as usize).min(self.capacity);
            if room == 0 {
                let full = || {
                    let read = self.bytes_read().load(Ordering::SeqCst);
                    written.wrapping_sub(read) as usize >= self.capacity
                };
                self.wait(self.writer_awake(), full, on_interrupt)?;
                continue;
            }
            let at = (written % self.capacity as u64) as usize;
            let count = bytes.len().min(room).min(self.chunk_bytes()).min(self.capacity - at);
            // SAFETY: that many bytes lie between there and the end of the mapping, and the reader
            // does not access them before the counter is advanced.
            unsafe {
                let to = self.mapping.pointer(HEADER_BYTES + at).as_ptr();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count);
            }
            self.bytes_written().store(written.wrapping_add(count as u64), Ordering::SeqCst);
            self.wake(self.reader_awake())?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Fills all of `into`, waiting for bytes.
    #[inline(always)]
    pub fn read(&self, into: &mut [u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        let mut done = 0;
        while done < into.len() {
            let read = self.bytes_read().load(Ordering::Relaxed);
            let written = self.bytes_written().load(Ordering::Acquire);
            let available = (written.wrapping_sub(read) as usize).min(self.capacity);
            if available == 0 {
                let empty = || self.bytes_written().load(Ordering::SeqCst) == read;
                self.wait(self.reader_awake(), empty, on_interrupt)?;
                continue;
            }
            let at = (read % self.capacity as u64) as usize;
            let count =
                (into.len() - done).min(available).min(self.chunk_bytes()).min(self.capacity - at);
            // SAFETY: that many bytes lie between there and the end of the mapping, and the writer
            // does not access them before the counter is advanced.
            unsafe {
                let from = self.mapping.pointer(HEADER_BYTES + at).as_ptr();
                std::ptr::copy_nonoverlapping(from, into[done..].as_mut_ptr(), count);
            }
            self.bytes_read().store(read.wrapping_add(count as u64), Ordering::SeqCst);
            self.wake(self.writer_awake())?;
            done += count;
        }
        Ok(())
    }

    /// Wakes the other side if it sleeps.
    #[inline(always)]
    fn wake(&self, awake: &AtomicU32) -> Result<(), Errno> {
        // A side about to sleep sees every counter advanced before this load, and the other way
        // round: both are sequentially consistent.
        if self.waiting == WaitMode::Sleep && awake.load(Ordering::SeqCst) == 0 {
            awake.store(1, Ordering::SeqCst);
            futex_wake(awake, FutexScope::Shared)?;
        }
        Ok(())
    }

    /// Waits while `must` holds.
    #[inline(always)]
    fn wait(
        &self,
        awake: &AtomicU32,
        must: impl Fn() -> bool,
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), Errno> {
        match self.waiting {
            WaitMode::Sleep => self.sleep(awake, must, on_interrupt),
            WaitMode::Spin => spin(must, on_interrupt),
        }
    }

    fn sleep(
        &self,
        awake: &AtomicU32,
        must: impl Fn() -> bool,
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), Errno> {
        let mut times = 0;
        loop {
            awake.store(0, Ordering::SeqCst);
            if !must() {
                awake.store(1, Ordering::SeqCst);
                return Ok(());
            }
            match futex_wait(awake, FutexScope::Shared) {
                Ok(()) | Err(Errno::EAGAIN) => {}
                Err(Errno::EINTR) => {
                    times += 1;
                    on_interrupt(times)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Spins while `must` holds. SIGALRM does not interrupt a spinning side, so it reads the clock now
/// and then.
fn spin(must: impl Fn() -> bool, on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
    /// About a tenth of a millisecond.
    const SPINS: u32 = 1 << 14;
    const SECOND_NS: u64 = 1_000_000_000;
    let mut began = None;
    let mut times = 0;
    loop {
        for _ in 0..SPINS {
            if !must() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let now = crate::kernel::time::clock::monotonic_raw_ns();
        let began = began.get_or_insert(now);
        if now.saturating_sub(*began) >= SECOND_NS {
            *began = now;
            times += 1;
            on_interrupt(times)?;
        }
    }
}
