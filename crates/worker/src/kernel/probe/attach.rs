//! Attaching to a process of one's own, stopping it and detaching: ptrace(2) as the subject.

use crate::kernel::arch;
use crate::kernel::probe::ptrace::{Request, TaskStatus, ptrace_request, wait_for_status};
use crate::kernel::process;
use crate::kernel::{Errno, PEER_TIMEOUT};

/// A child that sleeps, and that no tracer of its parent follows (CLONE_UNTRACED): a task can have
/// one tracer only, and the calls of an op are counted by a tracer. It dies with its parent, and
/// with this value.
pub struct Tracee(u32);

impl Tracee {
    /// Starts it.
    pub fn start() -> Result<Self, Errno> {
        let parent = std::process::id();
        let args = [(libc::SIGCHLD | libc::CLONE_UNTRACED) as u64, 0, 0, 0, 0, 0];
        // SAFETY: without CLONE_VM the child has a copy of all memory, and continues after the call
        // as the parent does; it makes system calls alone.
        match unsafe { arch::syscall(libc::SYS_clone, args) } {
            0 => {
                if process::die_with_parent(parent).is_ok() {
                    // A filter that forbids the call ends the child.
                    while pause() == Err(Errno::EINTR) {}
                }
                // SAFETY: ends the child at once, without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
            result if result < 0 => Err(Errno(-result as i32)),
            pid => Ok(Self(pid as u32)),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0
    }

    /// Attaches to it, stops it, waits for the stop, and detaches, which resumes it.
    #[inline(always)]
    pub fn seize_stop_detach(&self) -> Result<(), Errno> {
        ptrace_request(Request::Seize, self.0, 0)?;
        ptrace_request(Request::Interrupt, self.0, 0)?;
        let TaskStatus { status, .. } = wait_for_status(self.0 as i32, libc::__WALL)?;
        if !libc::WIFSTOPPED(status) {
            return Err(Errno::ECHILD);
        }
        ptrace_request(Request::Detach, self.0, 0)
    }

    /// Yields until `is_asleep` says that it sleeps; not for ever, since it may have been killed.
    pub fn wait_until(&self, is_asleep: impl Fn() -> Result<bool, Errno>) -> Result<(), Errno> {
        let begun = std::time::Instant::now();
        while !is_asleep()? {
            if begun.elapsed() > PEER_TIMEOUT {
                return Err(Errno::PEER_TIMED_OUT);
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// pause(2): returns only after a signal handler has run, or where it is forbidden.
fn pause() -> Result<i32, Errno> {
    // SAFETY: it takes no arguments.
    Errno::check(unsafe { libc::pause() })
}

impl Drop for Tracee {
    fn drop(&mut self) {
        process::kill_and_reap(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::{children, in_own_process};

    #[test]
    fn a_child_is_stopped_and_goes_on_however_often_it_is_seized() {
        in_own_process(|| {
            let tracee = Tracee::start().unwrap();
            let status = || {
                let text = std::fs::read_to_string(format!("/proc/{}/status", tracee.id()));
                text.unwrap()
            };
            for _ in 0..3 {
                match tracee.seize_stop_detach() {
                    Err(error) if error.is_unavailable() => return eprintln!("skipped: {error}"),
                    done => assert_eq!(done, Ok(())),
                }
                let is_asleep = || Ok(status().contains("State:\tS"));
                assert_eq!(tracee.wait_until(is_asleep), Ok(()));
                assert!(status().contains("TracerPid:\t0"), "{}", status());
            }
            drop(tracee);
            assert_eq!(children(), Vec::<u32>::new());
        });
    }
}
