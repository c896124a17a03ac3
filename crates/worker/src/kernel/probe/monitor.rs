//! Monitors: processes that observe a measured one and are woken by its calls.
//!
//! A monitor does as little as possible at each stop: its work is part of what is measured.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::ptrace::{Request, TaskStatus, ptrace_request, wait_for_any};
use crate::kernel::Errno;
use crate::kernel::process::Termination;

/// The events at which a tracee stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopConditions {
    /// The entry and the exit of each call.
    pub calls: bool,
    /// What a seccomp filter reports to the tracer.
    pub filter: bool,
}

/// Becomes the tracer of a running child (PTRACE_SEIZE) and of its descendants; they die with the
/// calling process. It must be a child: where ptrace is restricted to descendants, that is always
/// allowed.
pub fn seize(pid: u32, conditions: StopConditions) -> Result<(), Errno> {
    let mut options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_EXITKILL;
    if conditions.filter {
        options |= libc::PTRACE_O_TRACESECCOMP;
    }
    ptrace_request(Request::Seize, pid, options as usize)?;
    ptrace_request(Request::Interrupt, pid, 0)?;
    let TaskStatus { status, .. } = wait_for_any()?;
    if !libc::WIFSTOPPED(status) {
        return Err(Errno::ESRCH);
    }
    ptrace_request(conditions.resume_request(), pid, 0)
}

impl StopConditions {
    /// The request that resumes a stopped task.
    fn resume_request(self) -> Request {
        if self.calls { Request::ContinueToCall } else { Request::Continue }
    }
}

/// Follows the process that [`seize`] attached and its descendants until all have ended. `wakeups` is
/// incremented at each wake-up, before the task resumes. Returns how `pid` terminated.
pub fn follow(
    pid: u32,
    conditions: StopConditions,
    wakeups: &AtomicU64,
) -> Result<Termination, Errno> {
    let mut ended = None;
    loop {
        let TaskStatus { task, status } = match wait_for_any() {
            Err(Errno::ECHILD) => return ended.ok_or(Errno::ECHILD),
            woken => woken?,
        };
        wakeups.fetch_add(1, Ordering::Relaxed);
        if let Some(termination) = Termination::from_status(status) {
            if task == pid {
                ended = Some(termination);
            }
            continue;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let stopping = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        let (request, data) = match event {
            // A group stop: it waits for SIGCONT, and so does the tracer.
            PTRACE_EVENT_STOP if stopping.contains(&signal) => (Request::Listen, 0),
            0 if signal != libc::SIGTRAP | 0x80 => (conditions.resume_request(), signal as usize),
            _ => (conditions.resume_request(), 0),
        };
        // A task killed meanwhile is reported by the next wait.
        let _ = ptrace_request(request, task, data);
    }
}

/// A stop of a seized task: its first one, or a group stop.
pub(super) const PTRACE_EVENT_STOP: i32 = 128;

/// The events of a seccomp listener and of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerEvents {
    /// A call waits for a response.
    pub call: bool,
    /// No process is left under the filter.
    pub closed: bool,
    /// The process has ended.
    pub process_ended: bool,
}

/// Waits for a listener, and for the end of a process if one is given.
pub fn wait_for_events(
    listener: BorrowedFd<'_>,
    process: Option<BorrowedFd<'_>>,
) -> Result<ListenerEvents, Errno> {
    let entry = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // poll(2) ignores negative descriptors.
    let other = process.map_or(-1, |process| process.as_raw_fd());
    let mut polled = [entry(listener.as_raw_fd()), entry(other)];
    loop {
        // SAFETY: the array has two entries, as given.
        match Errno::check(unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) }) {
            Err(Errno::EINTR) => {}
            other => {
                other?;
                let [listener, process] = polled.map(|entry| entry.revents);
                return Ok(ListenerEvents {
                    call: listener & libc::POLLIN != 0,
                    closed: listener & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0,
                    process_ended: process != 0,
                });
            }
        }
    }
}
