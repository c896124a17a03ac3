//! Sleeping for a time by several calls, and how much time really passed.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;
use crate::kernel::time::clock::{ClockId, gettime};

/// A method of sleeping.
pub enum Sleep {
    /// nanosleep(2).
    Nanosleep,
    /// timerfd_settime(2), then read(2).
    Timerfd(OwnedFd),
    /// setitimer(2), then sigtimedwait(2).
    Itimer(BlockedAlarm),
}

impl Sleep {
    /// nanosleep(2).
    pub fn nanosleep() -> Self {
        Self::Nanosleep
    }

    /// A timer descriptor on CLOCK_MONOTONIC.
    pub fn timerfd() -> Result<Self, Errno> {
        // SAFETY: the descriptor is new and owned here.
        unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
            Ok(Self::Timerfd(OwnedFd::from_raw_fd(Errno::check(fd)?)))
        }
    }

    /// The process's real-time timer; its signal is waited for, without a handler.
    pub fn itimer() -> Result<Self, Errno> {
        BlockedAlarm::new().map(Self::Itimer)
    }

    /// Sleeps for `asked_ns` and returns the excess in nanoseconds, negative if it was too short.
    pub fn oversleep_ns(&self, asked_ns: i64) -> Result<i64, Errno> {
        let before = gettime(ClockId::MONOTONIC)?;
        self.wait(asked_ns)?;
        let after = gettime(ClockId::MONOTONIC)?;
        Ok(after as i64 - before as i64 - asked_ns)
    }

    fn wait(&self, asked_ns: i64) -> Result<(), Errno> {
        let (seconds, ns) = (asked_ns / 1_000_000_000, asked_ns % 1_000_000_000);
        let once = [0, 0, seconds, ns];
        match self {
            Self::Nanosleep => {
                // SAFETY: the kernel reads one timespec and writes nothing.
                raw_result(unsafe {
                    let asked = (&raw const once[2]) as u64;
                    arch::syscall(libc::SYS_nanosleep, [asked, 0, 0, 0, 0, 0])
                })
                .map(drop)
            }
            Self::Timerfd(fd) => {
                let fd = fd.as_raw_fd() as u64;
                let mut times = 0u64;
                // SAFETY: the kernel reads one itimerspec, then writes one number.
                raw_result(unsafe {
                    let asked = once.as_ptr() as u64;
                    arch::syscall(libc::SYS_timerfd_settime, [fd, 0, asked, 0, 0, 0])
                })?;
                // SAFETY: as above.
                raw_result(unsafe {
                    arch::syscall(libc::SYS_read, [fd, &raw mut times as u64, 8, 0, 0, 0])
                })?;
                if times == 1 { Ok(()) } else { Err(Errno(libc::ERANGE)) }
            }
            Self::Itimer(blocked) => {
                set_alarm(seconds, ns / 1_000)?;
                blocked.wait(MAX_WAIT_S)
            }
        }
    }
}

/// A lost signal must not hang a worker.
const MAX_WAIT_S: i64 = 10;

fn set_alarm(seconds: i64, us: i64) -> Result<(), Errno> {
    let once = [0, 0, seconds, us];
    // SAFETY: the kernel reads one itimerval and writes nothing.
    raw_result(unsafe {
        let arguments = [libc::ITIMER_REAL as u64, once.as_ptr() as u64, 0, 0, 0, 0];
        arch::syscall(libc::SYS_setitimer, arguments)
    })
    .map(drop)
}

/// SIGALRM, blocked in this thread until dropped: the waiter takes it, and it ends no process.
pub struct BlockedAlarm {
    /// The previously blocked signals as a kernel signal set: one bit each.
    before: u64,
}

/// SIGALRM as a kernel signal set.
static ALARM: u64 = 1 << (libc::SIGALRM - 1);
/// Bytes of such a set.
const SET_BYTES: u64 = 8;

impl BlockedAlarm {
    fn new() -> Result<Self, Errno> {
        let mut before = 0;
        change_blocked(libc::SIG_BLOCK, &ALARM, Some(&mut before))?;
        Ok(Self { before })
    }

    /// Waits for the signal up to `longest_s` seconds.
    fn wait(&self, longest_s: i64) -> Result<(), Errno> {
        let longest = [longest_s, 0];
        // SAFETY: the kernel reads a set of signals and a timespec, and writes nothing.
        raw_result(unsafe {
            let (set, longest) = (&raw const ALARM as u64, longest.as_ptr() as u64);
            arch::syscall(libc::SYS_rt_sigtimedwait, [set, 0, longest, SET_BYTES, 0, 0])
        })
        .map(drop)
    }
}

impl Drop for BlockedAlarm {
    fn drop(&mut self) {
        // A running or just expired timer must not end the process afterwards.
        let _ = set_alarm(0, 0);
        let _ = self.wait(0);
        let _ = change_blocked(libc::SIG_SETMASK, &self.before, None);
    }
}

fn change_blocked(operation: i32, set: &u64, before: Option<&mut u64>) -> Result<(), Errno> {
    let before = before.map_or(0, |before| &raw mut *before as u64);
    // SAFETY: the kernel reads a signal set, and writes one if a buffer is given.
    raw_result(unsafe {
        let set = &raw const *set as u64;
        arch::syscall(libc::SYS_rt_sigprocmask, [operation as u64, set, before, SET_BYTES, 0, 0])
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn every_sleep_ends_and_returns_the_excess() {
        const ASKED_NS: i64 = 100_000;
        in_own_process(|| {
            let ways = [Sleep::nanosleep(), Sleep::timerfd().unwrap(), Sleep::itimer().unwrap()];
            for way in &ways {
                let excess = way.oversleep_ns(ASKED_NS).unwrap();
                assert!(excess > -ASKED_NS, "{excess} ns: it did not wait");
            }
        });
    }

    #[test]
    fn an_alarm_that_was_not_waited_for_ends_no_process() {
        in_own_process(|| {
            let blocked = BlockedAlarm::new().unwrap();
            set_alarm(0, 1).unwrap();
            assert_eq!(Sleep::nanosleep().wait(2_000_000), Ok(()));
            drop(blocked);
            // Still here.
            assert_eq!(Sleep::nanosleep().wait(1_000), Ok(()));
        });
    }
}
