//! The signal of a timer that expires at once, fetched or handled.

use crate::kernel::errno::raw_result;
use crate::kernel::process::own_signals::{BlockedSignal, SIGNAL, SIGNAL_SET, handler_runs};
use crate::kernel::{Errno, PEER_TIMEOUT, arch};

/// CLOCK_MONOTONIC has been later than this since the machine was started: an itimerspec without an
/// interval, for TIMER_ABSTIME, whose time is a nanosecond.
static PAST: [u64; 4] = [0, 0, 0, 1];
/// The longest wait for the signal: a timespec.
static PATIENCE: [u64; 2] = [PEER_TIMEOUT.as_secs(), 0];
/// No signal is blocked.
static NO_SIGNALS: u64 = 0;
/// Bytes of the kernel's signal set.
const SET_BYTES: u64 = 8;

/// A POSIX timer that sends the process a signal, which is blocked except where it is waited for.
/// The process must have no other thread that would take it.
pub struct TimerSignal {
    timer: i32,
    /// Restores mask and action after the timer is deleted.
    _blocked: BlockedSignal,
}

impl TimerSignal {
    /// Blocks the signal, installs a handler for it, and makes the timer.
    pub fn new() -> Result<Self, Errno> {
        let blocked = BlockedSignal::new()?;
        let mut timer = -1i32;
        // SAFETY: all-zero bits are a valid sigevent; the kernel reads it and writes one number.
        let made = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = SIGNAL;
            let (clock, event) = (libc::CLOCK_MONOTONIC as u64, &raw const event as u64);
            arch::syscall(libc::SYS_timer_create, [clock, event, &raw mut timer as u64, 0, 0, 0])
        };
        raw_result(made)?;
        Ok(Self { timer, _blocked: blocked })
    }

    /// timer_settime(2) to a time that has passed.
    #[inline(always)]
    fn expire(&self) -> Result<(), Errno> {
        let (timer, time) = (self.timer as u64, PAST.as_ptr() as u64);
        let args = [timer, libc::TIMER_ABSTIME as u64, time, 0, 0, 0];
        // SAFETY: the kernel reads one itimerspec, which is static, and writes nothing.
        raw_result(unsafe { arch::syscall(libc::SYS_timer_settime, args) }).map(drop)
    }

    /// Lets the timer expire, and fetches its signal by rt_sigtimedwait(2); EAGAIN if it does not
    /// arrive.
    #[inline(always)]
    pub fn expire_and_fetch(&self) -> Result<(), Errno> {
        self.expire()?;
        let (set, time) = (&raw const SIGNAL_SET as u64, PATIENCE.as_ptr() as u64);
        let args = [set, 0, time, SET_BYTES, 0, 0];
        loop {
            // SAFETY: the kernel reads a signal set and a timespec, and writes nothing.
            match raw_result(unsafe { arch::syscall(libc::SYS_rt_sigtimedwait, args) }) {
                Ok(fetched) if fetched == i64::from(SIGNAL) => return Ok(()),
                // A tracer has stopped the thread.
                Err(Errno::EINTR) => {}
                Ok(_) => return Err(Errno::EPROTO),
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets the timer expire, and waits in rt_sigsuspend(2), which unblocks the signal, until its
    /// handler has run.
    #[inline(always)]
    pub fn expire_and_handle(&self) -> Result<(), Errno> {
        let before = handler_runs();
        self.expire()?;
        let args = [&raw const NO_SIGNALS as u64, SET_BYTES, 0, 0, 0, 0];
        // SAFETY: the kernel reads one signal set, and restores the former one when it returns.
        let waited = unsafe { arch::syscall(libc::SYS_rt_sigsuspend, args) };
        match raw_result(waited) {
            Err(Errno::EINTR) if handler_runs() == before + 1 => Ok(()),
            Err(Errno::EINTR) | Ok(_) => Err(Errno::EPROTO),
            Err(error) => Err(error),
        }
    }
}

impl Drop for TimerSignal {
    fn drop(&mut self) {
        let args = [self.timer as u64, 0, 0, 0, 0, 0];
        // SAFETY: a plain number; the timer was made here and is deleted once.
        unsafe { arch::syscall(libc::SYS_timer_delete, args) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn each_expiry_is_one_signal_that_is_fetched_or_handled() {
        in_own_process(|| {
            let timer = TimerSignal::new().unwrap();
            let before = handler_runs();
            for runs in 1..=3 {
                assert_eq!(timer.expire_and_fetch(), Ok(()));
                assert_eq!(timer.expire_and_handle(), Ok(()));
                assert_eq!(handler_runs(), before + runs);
            }
        });
    }
}
