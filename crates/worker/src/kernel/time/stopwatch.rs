//! A clock that an op reads itself, when the start and end of what is timed are in two processes.

use crate::kernel::time::clock::ClockId;
use crate::kernel::time::vdso::ClockGettime;
use crate::kernel::{counter, syscall};

/// The worker's clock as a value that can be passed to another process: forks and threads share its
/// ticks, since it is one counter for the whole machine.
#[derive(Clone, Copy)]
pub enum Stopwatch {
    /// The processor's counter between fences.
    Tsc,
    /// CLOCK_MONOTONIC_RAW through the vDSO.
    Vdso(ClockGettime),
    /// CLOCK_MONOTONIC_RAW by a system call.
    Syscall,
}

impl Stopwatch {
    /// Opens a window: nothing earlier runs inside it.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        match self {
            Stopwatch::Tsc => counter::start(),
            _ => self.read(),
        }
    }

    /// Closes a window: everything inside it has run.
    #[inline(always)]
    pub fn stop(&self) -> u64 {
        match self {
            Stopwatch::Tsc => counter::stop(),
            _ => self.read(),
        }
    }

    /// Whether times read on different CPUs may be subtracted. For the processor's counter the
    /// kernel decides: it compares the CPUs' counters, and uses them as clock source only while
    /// they agree.
    pub fn agrees_across_cpus(&self) -> bool {
        const KEPT_BY: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        match self {
            Stopwatch::Tsc => std::fs::read_to_string(KEPT_BY).is_ok_and(|by| by.trim() == "tsc"),
            Stopwatch::Vdso(_) | Stopwatch::Syscall => true,
        }
    }

    fn read(&self) -> u64 {
        match self {
            Stopwatch::Vdso(vdso) => vdso.call(ClockId::MONOTONIC_RAW).unwrap_or(0),
            _ => syscall::clock_gettime(ClockId::MONOTONIC_RAW).unwrap_or(0),
        }
    }
}
