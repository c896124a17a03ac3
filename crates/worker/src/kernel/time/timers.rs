//! The system calls that read or set time, by the raw instruction: each is a number, its arguments,
//! and the buffer for the kernel's answer.

use std::cell::{Cell, UnsafeCell};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::time::clock::{ClockId, gettime};

/// Timers are armed so far ahead, in seconds, that none expires in a worker: eleven days.
const EXPIRY_S: i64 = 1_000_000;

/// Any result that is not an error.
const NO_ERROR: RangeInclusive<i64> = 0..=i64::MAX;

/// A prepared system call about time.
///
/// A timer that it armed is disarmed on drop.
pub struct TimeCall {
    number: i64,
    arguments: [Cell<u64>; 6],
    buffer: Box<UnsafeCell<[i64; BUFFER_WORDS]>>,
    answers: RangeInclusive<i64>,
    layout: TimeLayout,
    armed: ArmedTimer,
}

/// 64-bit words in the buffer: `struct timex`, the largest answer, has 26.
const BUFFER_WORDS: usize = 32;

/// Where the time is in the answer: words of the buffer and the result itself, each times a factor;
/// the sum is nanoseconds.
#[derive(Clone, Copy)]
struct TimeLayout {
    words: &'static [(usize, i64)],
    result: i64,
}

const NO_TIME: TimeLayout = TimeLayout { words: &[], result: 0 };
/// A timespec at the buffer's start.
const TIMESPEC: TimeLayout = TimeLayout { words: &[(0, 1_000_000_000), (1, 1)], result: 0 };
/// A timeval at the buffer's start.
const TIMEVAL: TimeLayout = TimeLayout { words: &[(0, 1_000_000_000), (1, 1_000)], result: 0 };
/// The time left on a timer (the second half of an itimerspec or itimerval), negated so that it
/// increases.
const LEFT_NS: TimeLayout = TimeLayout { words: &[(2, -1_000_000_000), (3, -1)], result: 0 };
const LEFT_US: TimeLayout = TimeLayout { words: &[(2, -1_000_000_000), (3, -1_000)], result: 0 };

/// A timer to disarm.
enum ArmedTimer {
    None,
    /// The process's own timer, which alarm(2) and setitimer(2) share.
    OwnTimer,
    /// A timer of timer_create(2).
    Posix(Cell<i32>),
    Descriptor(#[expect(dead_code, reason = "closed when it is dropped")] OwnedFd),
}

impl TimeCall {
    fn new(number: i64, answers: RangeInclusive<i64>, reads: TimeLayout) -> Self {
        Self {
            number,
            arguments: [const { Cell::new(0) }; 6],
            buffer: Box::new(UnsafeCell::new([0; BUFFER_WORDS])),
            answers,
            layout: reads,
            armed: ArmedTimer::None,
        }
    }

    fn with_argument(self, index: usize, argument: u64) -> Self {
        self.arguments[index].set(argument);
        self
    }

    /// Sets an argument to the address of a word of the buffer.
    fn with_buffer(self, index: usize, word: usize) -> Self {
        let room = self.buffer.get() as u64;
        self.with_argument(index, room + 8 * word as u64)
    }

    fn with_contents(mut self, words: &[i64]) -> Self {
        self.buffer.get_mut()[..words.len()].copy_from_slice(words);
        self
    }

    /// gettimeofday(2) into a timeval.
    pub fn gettimeofday() -> Self {
        Self::new(libc::SYS_gettimeofday, 0..=0, TIMEVAL).with_buffer(0, 0)
    }

    /// time(2), returned in a register; only x86-64 has it.
    pub fn time() -> Result<Self, Errno> {
        #[cfg(target_arch = "x86_64")]
        return Ok(Self::new(libc::SYS_time, NO_ERROR, NO_TIME));
        #[cfg(not(target_arch = "x86_64"))]
        Err(Errno::ENOSYS)
    }

    /// times(2) without its buffer: ticks of 10 ms since an arbitrary time before boot.
    pub fn times() -> Self {
        Self::new(libc::SYS_times, NO_ERROR, TimeLayout { words: &[], result: 10_000_000 })
    }

    /// times(2) with its buffer, a struct tms of four words.
    pub fn times_into_buffer() -> Self {
        Self::times().with_buffer(0, 0)
    }

    /// getrusage(2) of the process: the sum of user and system time.
    pub fn getrusage() -> Self {
        const BOTH: TimeLayout = TimeLayout {
            words: &[(0, 1_000_000_000), (1, 1_000), (2, 1_000_000_000), (3, 1_000)],
            result: 0,
        };
        Self::new(libc::SYS_getrusage, 0..=0, BOTH)
            .with_argument(0, libc::RUSAGE_SELF as u64)
            .with_buffer(1, 0)
    }

    /// clock_gettime(2) of a clock.
    pub fn clock_gettime(clock: ClockId) -> Self {
        Self::new(libc::SYS_clock_gettime, 0..=0, TIMESPEC)
            .with_argument(0, clock.0 as u64)
            .with_buffer(1, 0)
    }

    /// clock_getres(2) of a clock.
    pub fn clock_getres(clock: ClockId) -> Self {
        Self::new(libc::SYS_clock_getres, 0..=0, TIMESPEC)
            .with_argument(0, clock.0 as u64)
            .with_buffer(1, 0)
    }

    /// getitimer(2) of the armed real-time timer.
    pub fn getitimer() -> Result<Self, Errno> {
        let call = Self::new(libc::SYS_getitimer, 0..=0, LEFT_US)
            .with_argument(0, libc::ITIMER_REAL as u64)
            .with_buffer(1, 0);
        call.with_timer(ArmedTimer::OwnTimer)
    }

    /// setitimer(2) of that timer, rearmed each time; the old value is requested too.
    pub fn setitimer() -> Result<Self, Errno> {
        let call = Self::new(libc::SYS_setitimer, 0..=0, NO_TIME)
            .with_argument(0, libc::ITIMER_REAL as u64)
            .with_buffer(1, 0)
            .with_buffer(2, 4)
            .with_contents(&[0, 0, EXPIRY_S, 0]);
        call.with_timer(ArmedTimer::OwnTimer)
    }

    /// alarm(2), rearmed each time; it returns the time left before. Only x86-64 has it.
    pub fn alarm() -> Result<Self, Errno> {
        #[cfg(target_arch = "x86_64")]
        return Self::new(libc::SYS_alarm, EXPIRY_S - 60..=EXPIRY_S, NO_TIME)
            .with_argument(0, EXPIRY_S as u64)
            .with_timer(ArmedTimer::OwnTimer);
        #[cfg(not(target_arch = "x86_64"))]
        Err(Errno::ENOSYS)
    }

    /// timer_gettime(2) of an armed timer.
    pub fn timer_gettime() -> Result<Self, Errno> {
        Self::new(libc::SYS_timer_gettime, 0..=0, LEFT_NS)
            .with_buffer(1, 0)
            .with_timer(ArmedTimer::Posix(Cell::new(0)))
    }

    /// timer_settime(2) of a timer, rearmed each time; the old value is requested too.
    pub fn timer_settime() -> Result<Self, Errno> {
        Self::new(libc::SYS_timer_settime, 0..=0, NO_TIME)
            .with_buffer(2, 0)
            .with_buffer(3, 4)
            .with_contents(&[0, 0, EXPIRY_S, 0])
            .with_timer(ArmedTimer::Posix(Cell::new(0)))
    }

    /// timer_getoverrun(2) of a timer that never expired.
    pub fn timer_getoverrun() -> Result<Self, Errno> {
        Self::new(libc::SYS_timer_getoverrun, 0..=0, NO_TIME)
            .with_timer(ArmedTimer::Posix(Cell::new(0)))
    }

    /// timerfd_gettime(2) of an armed timer.
    pub fn timerfd_gettime() -> Result<Self, Errno> {
        let expiry = [0, 0, EXPIRY_S, 0];
        // SAFETY: the descriptor is new and owned here; the kernel reads one itimerspec.
        let fd = unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
            let fd = OwnedFd::from_raw_fd(Errno::check(fd)?);
            let none = std::ptr::null_mut();
            Errno::check(libc::timerfd_settime(fd.as_raw_fd(), 0, expiry.as_ptr().cast(), none))?;
            fd
        };
        let number = fd.as_raw_fd() as u64;
        let call = Self::new(libc::SYS_timerfd_gettime, 0..=0, LEFT_NS).with_argument(0, number);
        Ok(Self { armed: ArmedTimer::Descriptor(fd), ..call.with_buffer(1, 0) })
    }

    /// adjtimex(2), read-only: CLOCK_REALTIME, in microseconds or nanoseconds as the kernel keeps
    /// it, and its discipline.
    pub fn adjtimex() -> Result<Self, Errno> {
        const US: TimeLayout = TimeLayout { words: &[(9, 1_000_000_000), (10, 1_000)], result: 0 };
        const NS: TimeLayout = TimeLayout { words: &[(9, 1_000_000_000), (10, 1)], result: 0 };
        const STATUS: usize = 5;
        let call = Self::new(libc::SYS_adjtimex, 0..=libc::TIME_ERROR.into(), US).with_buffer(0, 0);
        call.make()?;
        let in_ns = call.word(STATUS) & i64::from(libc::STA_NANO) != 0;
        Ok(if in_ns { Self { layout: NS, ..call } } else { call })
    }

    /// clock_settime(2) of CLOCK_REALTIME to an invalid time: refused before permissions are
    /// checked.
    pub fn clock_settime_invalid() -> Self {
        Self::new(libc::SYS_clock_settime, only_error(libc::EINVAL), NO_TIME)
            .with_argument(0, libc::CLOCK_REALTIME as u64)
            .with_buffer(1, 0)
            .with_contents(&[0, 1_000_000_000])
    }

    /// clock_settime(2) of CLOCK_REALTIME without permission: this thread first drops the
    /// capability to set clocks, for good.
    pub fn clock_settime_unprivileged() -> Result<Self, Errno> {
        drop_cap_sys_time()?;
        let now = gettime(ClockId(libc::CLOCK_REALTIME))? as i64;
        Ok(Self::new(libc::SYS_clock_settime, only_error(libc::EPERM), NO_TIME)
            .with_argument(0, libc::CLOCK_REALTIME as u64)
            .with_buffer(1, 0)
            .with_contents(&[now / 1_000_000_000, now % 1_000_000_000]))
    }

    /// Makes the call. An unexpected result is an error.
    #[inline(always)]
    pub fn make(&self) -> Result<i64, Errno> {
        let arguments = self.arguments.each_ref().map(Cell::get);
        // SAFETY: every pointer among the arguments is into the buffer, which fits the largest
        // answer and lives as long as the call; the kernel keeps none of them.
        let result = unsafe { arch::syscall(self.number, arguments) };
        if self.answers.contains(&result) { Ok(result) } else { Err(unexpected(result)) }
    }

    /// Makes the call and returns the time in nanoseconds; time left is negated, so that it
    /// increases.
    #[inline(always)]
    pub fn now_ns(&self) -> Result<i64, Errno> {
        let result = self.make()?;
        let words = self.layout.words.iter().map(|&(word, factor)| self.word(word) * factor);
        Ok(words.sum::<i64>() + result * self.layout.result)
    }

    #[inline(always)]
    fn word(&self, word: usize) -> i64 {
        // SAFETY: the buffer is owned and has that word; only the kernel writes it, in `make`.
        unsafe { (&raw const (*self.buffer.get())[word]).read_volatile() }
    }

    fn with_timer(self, armed: ArmedTimer) -> Result<Self, Errno> {
        let call = Self { armed, ..self };
        call.arm()?;
        Ok(call)
    }

    /// Arms the timer again: a fork does not inherit timers.
    pub fn arm(&self) -> Result<(), Errno> {
        match &self.armed {
            ArmedTimer::None | ArmedTimer::Descriptor(_) => Ok(()),
            ArmedTimer::OwnTimer => set_own_timer(EXPIRY_S),
            ArmedTimer::Posix(timer) => {
                if set_posix_timer(timer.get()) != Ok(()) {
                    timer.set(new_posix_timer()?);
                    set_posix_timer(timer.get())?;
                }
                self.arguments[0].set(timer.get() as u64);
                Ok(())
            }
        }
    }
}

impl Drop for ArmedTimer {
    fn drop(&mut self) {
        // Neither can fail: both timers are owned.
        match self {
            ArmedTimer::None | ArmedTimer::Descriptor(_) => {}
            ArmedTimer::OwnTimer => drop(set_own_timer(0)),
            ArmedTimer::Posix(timer) => {
                // SAFETY: the timer is owned; no memory is accessed.
                unsafe {
                    let arguments = [timer.get() as u64, 0, 0, 0, 0, 0];
                    arch::syscall(libc::SYS_timer_delete, arguments);
                }
            }
        }
    }
}

/// The expected error as the only result.
fn only_error(number: i32) -> RangeInclusive<i64> {
    i64::from(-number)..=i64::from(-number)
}

#[cold]
fn unexpected(result: i64) -> Errno {
    if result < 0 { Errno(-result as i32) } else { Errno(libc::ERANGE) }
}

/// Arms the process's real-time timer to expire in `seconds`; 0 disarms it.
fn set_own_timer(seconds: i64) -> Result<(), Errno> {
    let new = [0, 0, seconds, 0];
    let which = libc::ITIMER_REAL as u64;
    // SAFETY: the kernel reads one itimerval and writes nothing.
    let result =
        unsafe { arch::syscall(libc::SYS_setitimer, [which, new.as_ptr() as u64, 0, 0, 0, 0]) };
    if result == 0 { Ok(()) } else { Err(unexpected(result)) }
}

/// A timer on CLOCK_MONOTONIC without notification.
fn new_posix_timer() -> Result<i32, Errno> {
    let mut timer = -1;
    // SAFETY: all-zero bits are a valid sigevent; the kernel reads it and writes one number.
    let result = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_NONE;
        let (clock, event) = (libc::CLOCK_MONOTONIC as u64, &raw const event as u64);
        arch::syscall(libc::SYS_timer_create, [clock, event, &raw mut timer as u64, 0, 0, 0])
    };
    if result == 0 { Ok(timer) } else { Err(unexpected(result)) }
}

fn set_posix_timer(timer: i32) -> Result<(), Errno> {
    let expiry = [0, 0, EXPIRY_S, 0];
    // SAFETY: the kernel reads one itimerspec and writes nothing.
    let result = unsafe {
        arch::syscall(libc::SYS_timer_settime, [timer as u64, 0, expiry.as_ptr() as u64, 0, 0, 0])
    };
    if result == 0 { Ok(()) } else { Err(unexpected(result)) }
}

/// Drops CAP_SYS_TIME from this thread, and checks that it is gone.
fn drop_cap_sys_time() -> Result<(), Errno> {
    /// `_LINUX_CAPABILITY_VERSION_3`: two times three words of 32 bits.
    const VERSION: u32 = 0x2008_0522;
    const CAP_SYS_TIME: u32 = 25;
    let header = [VERSION, 0];
    let mut sets = [0u32; 6]; // Effective, permitted, inheritable; then their upper halves.
    let header_at = header.as_ptr() as u64;
    // SAFETY: the kernel reads the header, and reads or writes six words.
    unsafe {
        for call in [libc::SYS_capget, libc::SYS_capset, libc::SYS_capget] {
            let at = sets.as_mut_ptr() as u64;
            let result = arch::syscall(call, [header_at, at, 0, 0, 0, 0]);
            if result != 0 {
                return Err(unexpected(result));
            }
            if call == libc::SYS_capget && sets[0] & (1 << CAP_SYS_TIME) == 0 {
                return Ok(());
            }
            sets[..3].iter_mut().for_each(|set| *set &= !(1 << CAP_SYS_TIME));
        }
    }
    Err(Errno::EPERM)
}

#[cfg(test)]
mod tests;
