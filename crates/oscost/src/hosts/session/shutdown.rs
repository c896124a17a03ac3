//! The end of a session: an orderly shutdown, a request to end, or the child's death.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::PipeSession;

/// The time limit for a supervisor to kill its process groups and remove its files: a directory of
/// 100,000 files takes seconds.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// The time in which a login that failed ends, and removes its folder, when its input has ended.
const END_OF_INPUT_TIMEOUT: Duration = Duration::from_secs(1);

impl Drop for PipeSession<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl PipeSession<'_> {
    /// Ends the session: at the end of its input the supervisor kills every process group that it
    /// started and undoes its changes. A child that does not exit is killed.
    pub(in crate::hosts) fn end(&mut self) {
        self.wait_for_shutdown();
        self.kill();
    }

    /// Ends its input, and waits until it has undone its changes.
    pub(in crate::hosts) fn wait_for_shutdown(&mut self) {
        self.input = None;
        self.wait_at_most(SHUTDOWN_TIMEOUT);
    }

    /// Ends a child that may not end by itself. The end of its input comes first: what was begun at
    /// the other side is then removed there. Then it is asked: an ssh that waits for a password has
    /// switched off the echo of the terminal, and an srun has a job in the queue. It is killed if it
    /// has not ended within `limit` then.
    pub(in crate::hosts) fn terminate_within(&mut self, limit: Duration) {
        self.input = None;
        self.wait_at_most(END_OF_INPUT_TIMEOUT);
        // Of one that has ended, the process id may be another one's.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            // It fails only for a process that has ended.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        self.wait_at_most(limit);
        self.kill();
    }

    /// Waits until the child has ended, at most so long. What it writes is discarded: it may wait
    /// for room in a pipe.
    fn wait_at_most(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            if !self.discard_output() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Discards what the child has written; false if that was nothing.
    fn discard_output(&mut self) -> bool {
        let has_some = |fd: BorrowedFd<'_>| {
            let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
            matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
        };
        if self.stderr.source().is_some_and(has_some) {
            self.stderr.read_available();
        }
        has_some(self.output.as_fd()) && matches!(self.output.read(&mut [0; 64 << 10]), Ok(1..))
    }

    /// Kills a child that has nothing to undo.
    pub(in crate::hosts) fn kill(&mut self) {
        self.input = None;
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
