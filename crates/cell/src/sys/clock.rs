//! clock_gettime(2) and its clocks.

use super::Errno;

/// A clock's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockId(pub(super) libc::clockid_t);

impl ClockId {
    /// CLOCK_MONOTONIC_RAW: counts at the hardware's rate; no time daemon slews it.
    pub const MONOTONIC_RAW: ClockId = ClockId(libc::CLOCK_MONOTONIC_RAW);

    /// CLOCK_MONOTONIC: never steps, but is slewed by up to 500 parts per million.
    pub const MONOTONIC: ClockId = ClockId(libc::CLOCK_MONOTONIC);

    /// The clock that an axis names: the kernel's name in lower case, dashes for underscores.
    pub fn named(name: &str) -> Option<ClockId> {
        let id = match name {
            "realtime" => libc::CLOCK_REALTIME,
            "monotonic" => libc::CLOCK_MONOTONIC,
            "monotonic-raw" => libc::CLOCK_MONOTONIC_RAW,
            "realtime-coarse" => libc::CLOCK_REALTIME_COARSE,
            "monotonic-coarse" => libc::CLOCK_MONOTONIC_COARSE,
            "boottime" => libc::CLOCK_BOOTTIME,
            "tai" => libc::CLOCK_TAI,
            "process-cputime" => libc::CLOCK_PROCESS_CPUTIME_ID,
            "thread-cputime" => libc::CLOCK_THREAD_CPUTIME_ID,
            _ => return None,
        };
        Some(ClockId(id))
    }
}

/// A time as nanoseconds.
#[inline(always)]
pub(super) fn nanoseconds(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// clock_gettime() through the C library, which takes the vDSO where it can.
#[inline(always)]
pub fn gettime(clock: ClockId) -> Result<u64, Errno> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one timespec is written, which is there.
    Errno::check(unsafe { libc::clock_gettime(clock.0, &raw mut time) })?;
    Ok(nanoseconds(&time))
}

/// CLOCK_MONOTONIC_RAW in nanoseconds. Every Linux since 2.6.28 has it, so it cannot fail.
#[inline(always)]
pub fn raw_ns() -> u64 {
    gettime(ClockId::MONOTONIC_RAW).unwrap_or(0)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> Result<u64, Errno> {
    gettime(ClockId(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// The length of the kernel's tick: the step of the coarse clocks. No file tells it.
pub fn tick_ns() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one timespec is written, which is there.
    Errno::check(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) })
        .ok()?;
    Some(nanoseconds(&step))
}
