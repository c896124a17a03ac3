//! The wait for a program that is timed, until it has exited or must be stopped.
//!
//! A program whose output is not read is waited for by wait4(2) alone: no other system call is
//! between its start and its end, and nothing wakes this process before its exit is complete (see
//! [`crate::kernel::process::wait_interrupts`]). Signals tell of the deadline, of the end of the
//! session, and of what it writes to standard error.

use std::os::fd::AsFd;
use std::time::Instant;

use super::external_program::{
    ExternalProgram, PreparedProgram, ProgramEnd, WaitLimit, WaitResult, wait_for_event,
};
use crate::kernel::Errno;
use crate::kernel::process::WaitTarget;
use crate::kernel::process::usage::{self, EndedProcess};
use crate::kernel::process::wait_interrupts::WaitInterrupts;
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::supervisor::protocol::io::time_until;

/// When a timed program is stopped.
#[derive(Clone, Copy)]
pub(super) struct StopRules {
    pub(super) limit: WaitLimit,
    pub(super) max_output_bytes: u64,
}

/// The result of a wait for a timed program.
pub(super) enum TimedWait {
    Ended(ProgramEnd),
    /// It must be stopped, for this reason.
    Stopped(WaitResult),
}

/// Signals for the wait for a program that is about to be started; `None` if it must be polled: the
/// session has ended already, or a filter forbids the calls that this takes.
pub(super) fn arm_interrupts(
    prepared: &PreparedProgram,
    limit: WaitLimit,
) -> Option<WaitInterrupts> {
    let session_input = std::io::stdin();
    let streams = [session_input.as_fd(), prepared.stderr()];
    let armed = WaitInterrupts::arm(&streams, time_until(limit.deadline)).ok()?;
    // A session that ended before gives no signal.
    let now = WaitLimit { deadline: Instant::now(), ..limit };
    (wait_for_event(None, None, now) != Ok(WaitResult::Cancelled)).then_some(armed)
}

/// Waits in wait4(2), and reads its standard error when a signal tells of it.
pub(super) fn wait_blocked(
    program: &mut ExternalProgram,
    interrupts: &WaitInterrupts,
    StopRules { limit, max_output_bytes }: StopRules,
) -> Result<TimedWait, Errno> {
    loop {
        let waited = usage::wait_until_signal(WaitTarget::Child(program.pid));
        let ended_ns = monotonic_raw_ns();
        if let Some(EndedProcess { termination, usage }) = waited? {
            program.release_start();
            return Ok(TimedWait::Ended(ProgramEnd { termination, usage, ended_ns }));
        }
        // The program has its limits by now, and what follows may need more memory.
        program.restore_limits();
        // Before the output is read: what is written after that sets the timer again.
        interrupts.rearm(time_until(limit.deadline))?;
        let now = WaitLimit { deadline: Instant::now(), ..limit };
        let event = wait_for_event(Some(program), None, now)?;
        let is_late = time_until(limit.deadline).is_zero();
        match event {
            WaitResult::Cancelled => return Ok(TimedWait::Stopped(event)),
            WaitResult::Output if program.output.bytes > max_output_bytes => {
                return Ok(TimedWait::Stopped(event));
            }
            _ if is_late => return Ok(TimedWait::Stopped(WaitResult::TimedOut)),
            _ => {}
        }
    }
}

/// Waits for its output and its exit at once, by poll(2).
pub(super) fn wait_polled(
    program: &mut ExternalProgram,
    StopRules { limit, max_output_bytes }: StopRules,
) -> Result<TimedWait, Errno> {
    program.watch_exit()?;
    loop {
        match wait_for_event(Some(program), None, limit)? {
            WaitResult::Exited => return program.reap().map(TimedWait::Ended),
            WaitResult::Output if program.output.bytes <= max_output_bytes => {}
            event => return Ok(TimedWait::Stopped(event)),
        }
    }
}
