//! Signals that interrupt a wait for a child.
//!
//! wait4(2) has no timeout and waits for no descriptor. poll(2) has both, but it returns while the
//! child is still exiting: when it closes a pipe, and when its exit is notified. On a busy CPU the
//! woken parent takes the CPU from the child, which then waits for a slice before it finishes its
//! exit. A child that wakes wait4(2) is about to leave the CPU.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// Whether SIGIO starts the timer.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

/// The time from one signal to the next: one that arrives before the wait has begun interrupts
/// nothing.
const REPETITION: Duration = Duration::from_millis(1);
/// A timer of no time at all would be a stopped one.
const MIN_TIME: Duration = Duration::from_micros(1);

/// Signals to the calling process, which has one thread, until this is dropped. Their handlers
/// remain: a signal may arrive later, and without a handler it would end the process.
pub struct WaitInterrupts(());

impl WaitInterrupts {
    /// From now on a wait is interrupted after this time, and when one of the streams is written to
    /// or reaches its end. What was there before gives no signal.
    pub fn arm(streams: &[BorrowedFd<'_>], time: Duration) -> Result<Self, Errno> {
        for signal in [Signal::SIGALRM, Signal::SIGIO] {
            let handler = SigHandler::Handler(on_signal);
            let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
            // SAFETY: the handler reads one atomic number and makes one system call, and a process
            // that starts programs has no other handler of these signals.
            unsafe { sigaction(signal, &action) }?;
        }
        for stream in streams {
            signal_when_readable(*stream)?;
        }
        IS_ARMED.store(true, Ordering::Relaxed);
        let armed = Self(());
        armed.rearm(time)?;
        Ok(armed)
    }

    /// Sets the time again, after an interruption.
    pub fn rearm(&self, time: Duration) -> Result<(), Errno> {
        set_timer(time.max(MIN_TIME))
    }
}

impl Drop for WaitInterrupts {
    fn drop(&mut self) {
        IS_ARMED.store(false, Ordering::Relaxed);
        // It could be set.
        let _ = set_timer(Duration::ZERO);
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    if signal == libc::SIGIO && IS_ARMED.load(Ordering::Relaxed) {
        // As above.
        let _ = set_timer(REPETITION);
    }
}

/// setitimer(2): SIGALRM after this time, and then again and again; never after no time. By the raw
/// instruction: a handler must leave the C library's errno alone.
fn set_timer(time: Duration) -> Result<(), Errno> {
    let repetition_us = u64::from(REPETITION.subsec_micros());
    let interval_and_time = [0, repetition_us, time.as_secs(), u64::from(time.subsec_micros())];
    let args = [libc::ITIMER_REAL as u64, interval_and_time.as_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: the kernel reads one itimerval, two pairs of seconds and microseconds, and writes
    // nothing.
    raw_result(unsafe { arch::syscall(libc::SYS_setitimer, args) }).map(drop)
}

/// The calling process gets SIGIO when a descriptor becomes readable, with all that share its open
/// file.
fn signal_when_readable(stream: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    unsafe {
        Errno::check(libc::fcntl(stream.as_raw_fd(), libc::F_SETOWN, libc::getpid()))?;
    }
    Ok(fcntl_setfl(stream, fcntl_getfl(stream)? | OFlags::ASYNC)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;
    use crate::kernel::ipc::pipe::pipe;
    use crate::kernel::process::usage::{EndedProcess, wait_until_signal};
    use crate::kernel::process::{self, Termination, WaitTarget, in_own_process};

    const LONG: Duration = Duration::from_secs(1_000);

    #[test]
    fn a_wait_ends_after_a_time_at_a_write_at_the_end_of_a_stream_and_with_the_child() {
        in_own_process(|| {
            // Before the pipe, so that it has no copy of it.
            let child = process::fork(|| {
                let _ = process::die_with_parent(0);
                process::pause_forever()
            });
            let child = child.unwrap();
            let is_interrupted = || matches!(wait_until_signal(WaitTarget::Child(child)), Ok(None));
            let (reader, mut writer) = pipe().unwrap();
            let armed = WaitInterrupts::arm(&[reader.as_fd()], Duration::ZERO).unwrap();
            assert!(is_interrupted(), "after no time");
            armed.rearm(LONG).unwrap();
            writer.write_all(b"x").unwrap();
            // The signal was handled before the wait begins.
            assert!(is_interrupted(), "by a write");
            armed.rearm(LONG).unwrap();
            drop(writer);
            assert!(is_interrupted(), "by the end of the stream");
            armed.rearm(LONG).unwrap();
            process::kill(child);
            let ended = wait_until_signal(WaitTarget::Child(child));
            let Ok(Some(EndedProcess { termination, .. })) = ended else { panic!("it has ended") };
            assert_eq!(termination, Termination::Killed(libc::SIGKILL));
        });
    }

    #[test]
    fn after_it_is_dropped_no_timer_runs_and_a_late_signal_ends_nothing() {
        in_own_process(|| {
            let (reader, mut writer) = pipe().unwrap();
            drop(WaitInterrupts::arm(&[reader.as_fd()], LONG).unwrap());
            writer.write_all(b"x").unwrap();
            let mut left = [1u64; 4];
            let args = [libc::ITIMER_REAL as u64, left.as_mut_ptr() as u64, 0, 0, 0, 0];
            // SAFETY: the kernel writes one itimerval of four words.
            raw_result(unsafe { arch::syscall(libc::SYS_getitimer, args) }).unwrap();
            assert_eq!(left[2..], [0u64; 2]);
        });
    }
}
