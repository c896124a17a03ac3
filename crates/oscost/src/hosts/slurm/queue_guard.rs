//! What takes a job out of the queue when the tool is killed while it waits there.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::files::null_device::null_device;

/// At the end of its input, which is the end of the tool, asks a process to end, if it still is that
/// program.
const SCRIPT: &str = "read -r line; sleep \"$3\"\n\
                      read -r name < \"/proc/$1/comm\" && [ \"$name\" = \"$2\" ] && kill -TERM \"$1\"";

/// A task that begins at that moment ends by its own input, and cleans up. A signal would kill it.
const GRACE_S: u32 = 5;

/// Ends an srun(1) that outlives the tool. On drop it ends, and srun goes on.
///
/// A job that runs ends by the end of its input. One that is queued does not notice it, and srun would
/// wait for a node on behalf of nobody.
pub(super) struct QueueGuard {
    watcher: Child,
}

impl QueueGuard {
    /// Watches over an srun.
    pub(super) fn of_srun(pid: u32) -> io::Result<Self> {
        Self::start(pid, "srun", GRACE_S)
    }

    fn start(pid: u32, program: &str, grace_s: u32) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "sh", &pid.to_string(), program, &grace_s.to_string()])
            .stdin(Stdio::piped())
            .stdout(null_device()?)
            .stderr(null_device()?)
            // A signal to the group of the tool is not for it.
            .process_group(0);
        Ok(Self { watcher: command.spawn()? })
    }
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        // Before its input ends. It fails if it has ended.
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A program that waits, as srun in the queue.
    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn the_end_of_the_tool_ends_what_waits() {
        let mut waits = sleeper();
        let mut guard = QueueGuard::start(waits.id(), "sleep", 0).unwrap();
        drop(guard.watcher.stdin.take());
        assert!(guard.watcher.wait().unwrap().success());
        assert_eq!(waits.wait().unwrap().signal(), Some(15));
    }

    #[test]
    fn another_program_of_its_number_stays() {
        let mut other = sleeper();
        let mut guard = QueueGuard::start(other.id(), "srun", 0).unwrap();
        drop(guard.watcher.stdin.take());
        assert!(!guard.watcher.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_session_that_has_begun_goes_on_without_it() {
        let mut waits = sleeper();
        drop(QueueGuard::start(waits.id(), "sleep", 0).unwrap());
        assert!(waits.try_wait().unwrap().is_none());
        waits.kill().unwrap();
        assert_eq!(waits.wait().unwrap().signal(), Some(9));
    }
}
