//! The clocks of a worker.

use oscost_model::clock::ClockKind;

use crate::kernel::cpu::black_box::consume;
use crate::kernel::cpu::dependent_chain::dependent_chain;
use crate::kernel::time::clock::{ClockId, monotonic_raw_ns};
use crate::kernel::time::vdso::ClockGettime;
use crate::kernel::{Errno, counter, syscall};

/// A source of ticks, with the clock that it is calibrated against.
pub trait Clock {
    /// Its kind.
    fn kind(&self) -> ClockKind;

    /// Opens a timed window: no earlier instruction executes inside it.
    fn start(&mut self) -> u64;

    /// Closes a timed window: all instructions inside it have executed.
    fn stop(&mut self) -> u64;

    /// An unordered read, for gaps and for the clock's step.
    fn plain(&mut self) -> u64;

    /// CLOCK_MONOTONIC_RAW in nanoseconds.
    fn raw_ns(&mut self) -> u64;

    /// Runs a dependency chain of known latency, to test the clock itself.
    #[inline(always)]
    fn chain(&mut self, links: u64) {
        consume(dependent_chain(links, 3));
    }
}

/// The processor's counter between fences.
pub struct Tsc;

impl Clock for Tsc {
    fn kind(&self) -> ClockKind {
        ClockKind::Tsc
    }

    #[inline(always)]
    fn start(&mut self) -> u64 {
        counter::start()
    }

    #[inline(always)]
    fn stop(&mut self) -> u64 {
        counter::stop()
    }

    #[inline(always)]
    fn plain(&mut self) -> u64 {
        counter::plain()
    }

    fn raw_ns(&mut self) -> u64 {
        monotonic_raw_ns()
    }
}

/// CLOCK_MONOTONIC_RAW through the vDSO: its code fences its own counter read.
pub struct Vdso(ClockGettime);

impl Vdso {
    /// The vDSO of this process; an error if it has no clock_gettime.
    pub fn find() -> Result<Self, Errno> {
        ClockGettime::find().map(Self).ok_or(Errno::ENOENT)
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.0.call(ClockId::MONOTONIC_RAW).unwrap_or(0)
    }
}

impl Clock for Vdso {
    fn kind(&self) -> ClockKind {
        ClockKind::Vdso
    }

    #[inline(always)]
    fn start(&mut self) -> u64 {
        self.read()
    }

    #[inline(always)]
    fn stop(&mut self) -> u64 {
        self.read()
    }

    #[inline(always)]
    fn plain(&mut self) -> u64 {
        self.read()
    }

    fn raw_ns(&mut self) -> u64 {
        monotonic_raw_ns()
    }
}

/// CLOCK_MONOTONIC_RAW by a forced system call: the fallback if no better clock is usable.
pub struct Syscall;

impl Syscall {
    #[inline(always)]
    fn read() -> u64 {
        syscall::clock_gettime(ClockId::MONOTONIC_RAW).unwrap_or(0)
    }
}

impl Clock for Syscall {
    fn kind(&self) -> ClockKind {
        ClockKind::Syscall
    }

    #[inline(always)]
    fn start(&mut self) -> u64 {
        Self::read()
    }

    #[inline(always)]
    fn stop(&mut self) -> u64 {
        Self::read()
    }

    #[inline(always)]
    fn plain(&mut self) -> u64 {
        Self::read()
    }

    fn raw_ns(&mut self) -> u64 {
        monotonic_raw_ns()
    }
}
