//! clock_gettime(2) and its clock ids.

use crate::kernel::Errno;

/// A clock id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockId(pub(in crate::kernel) libc::clockid_t);

impl ClockId {
    /// CLOCK_MONOTONIC_RAW: counts at the hardware's rate; not slewed by NTP.
    pub const MONOTONIC_RAW: ClockId = ClockId(libc::CLOCK_MONOTONIC_RAW);

    /// CLOCK_MONOTONIC: never steps, but is slewed by up to 500 parts per million.
    pub const MONOTONIC: ClockId = ClockId(libc::CLOCK_MONOTONIC);

    /// CLOCK_MONOTONIC as of the kernel's last tick.
    pub const MONOTONIC_COARSE: ClockId = ClockId(libc::CLOCK_MONOTONIC_COARSE);

    /// The clock that an axis names: the kernel's name in lower case, dashes for underscores.
    pub fn by_name(name: &str) -> Option<ClockId> {
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
            "realtime-alarm" => libc::CLOCK_REALTIME_ALARM,
            "boottime-alarm" => libc::CLOCK_BOOTTIME_ALARM,
            "aux0" => CLOCK_AUX,
            _ => return None,
        };
        Some(ClockId(id))
    }
}

/// The first of the eight auxiliary clocks of Linux 6.17 and later.
const CLOCK_AUX: libc::clockid_t = 16;

/// A time as nanoseconds.
#[inline(always)]
pub(in crate::kernel) fn nanoseconds(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// clock_gettime() through the C library, which uses the vDSO if possible.
#[inline(always)]
pub fn gettime(clock: ClockId) -> Result<u64, Errno> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one local timespec is written.
    Errno::check(unsafe { libc::clock_gettime(clock.0, &raw mut time) })?;
    Ok(nanoseconds(&time))
}

/// gettimeofday() through the C library, in microseconds.
#[inline(always)]
pub fn libc_gettimeofday() -> Result<u64, Errno> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: one local timeval is written.
    Errno::check(unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) })?;
    Ok(microseconds(&time))
}

/// A time as microseconds.
#[inline(always)]
pub(in crate::kernel) fn microseconds(time: &libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

/// time() through the C library, in seconds.
#[inline(always)]
pub fn libc_time() -> Result<u64, Errno> {
    // SAFETY: with a null pointer nothing is written.
    Errno::check(unsafe { libc::time(std::ptr::null_mut()) }).map(|seconds| seconds as u64)
}

/// clock() through the C library: CPU time of the process in microseconds (CLOCKS_PER_SEC).
#[inline(always)]
pub fn libc_clock() -> Result<u64, Errno> {
    unsafe extern "C" {
        fn clock() -> libc::clock_t;
    }
    // SAFETY: clock() takes no arguments.
    Errno::check(unsafe { clock() }).map(|ticks| ticks as u64)
}

/// Sleeps until CLOCK_MONOTONIC reads `ns`, or a signal arrives.
pub fn sleep_until(ns: u64) {
    const SECOND: u64 = 1_000_000_000;
    let until = libc::timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 };
    let (clock, flags) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: the time is read, and the remainder is not requested.
    unsafe { libc::clock_nanosleep(clock, flags, &raw const until, std::ptr::null_mut()) };
}

/// CLOCK_MONOTONIC_RAW in nanoseconds. Every Linux since 2.6.28 has it, so it cannot fail.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    gettime(ClockId::MONOTONIC_RAW).unwrap_or(0)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> Result<u64, Errno> {
    gettime(ClockId(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// CPU time of the calling process, of all its threads, in nanoseconds. What a thread on another CPU
/// has taken since it was last switched or interrupted by a tick is not in it yet.
pub fn process_cpu_ns() -> Result<u64, Errno> {
    gettime(ClockId(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// The length of the kernel's tick: the resolution of the coarse clocks. No file shows it.
pub fn tick_ns() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one local timespec is written.
    Errno::check(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) })
        .ok()?;
    Some(nanoseconds(&step))
}
