//! The local host: the supervisor as a child process.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};

use super::session::PipeSession;
use super::{HostError, Interrupt, Session, WorkerBinary};

/// A supervisor on this machine, as a child process.
pub struct LocalSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
    program: PathBuf,
    interrupt: &'a Interrupt,
}

impl<'a> LocalSession<'a> {
    /// Starts the supervisor, and checks that it is the expected one.
    ///
    /// It has its own process group: the tool handles Ctrl-C in the terminal, and the supervisor
    /// ends its workers.
    pub fn start(program: &WorkerBinary, interrupt: &'a Interrupt) -> Result<Self, HostError> {
        let cannot_start = |error: std::io::Error| HostError::CannotStart {
            program: program.path.display().to_string(),
            why: error.to_string(),
        };
        let mut pipes = start_supervisor(&program.path, interrupt).map_err(cannot_start)?;
        match pipes.hello(program) {
            Ok(hello) => Ok(Self { pipes, hello, program: program.path.clone(), interrupt }),
            Err(error) => {
                // It may have been killed before it could name its directory.
                pipes.end();
                if has_scratch_directory(pipes.pid()) {
                    sweep(&program.path, interrupt);
                }
                Err(error)
            }
        }
    }
}

/// How the names of the scratch directories of a supervisor begin.
fn scratch_prefix(pid: u32) -> String {
    format!("oscost-{pid}-")
}

/// Whether a supervisor that has ended has left its scratch directory.
fn has_scratch_directory(pid: u32) -> bool {
    let prefix = scratch_prefix(pid);
    let mut entries = std::env::temp_dir().read_dir().into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
}

/// Starts another supervisor, which removes what those that were killed have left, by the names of
/// their directories. Without orders it then ends.
fn sweep(program: &Path, interrupt: &Interrupt) {
    if let Ok(mut next) = start_supervisor(program, interrupt) {
        next.end();
    }
}

fn start_supervisor<'a>(
    program: &Path,
    interrupt: &'a Interrupt,
) -> std::io::Result<PipeSession<'a>> {
    PipeSession::start(Command::new(program).arg("supervise").process_group(0), interrupt)
}

impl Session for LocalSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.pipes.send(order)
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        self.pipes.next_event(timeout)
    }
}

impl Drop for LocalSession<'_> {
    /// Ends the supervisor, and removes its scratch directory if it was killed before doing so, and
    /// what its workers have left elsewhere. Only a directory in the temporary directory with the
    /// supervisor's name is removed.
    fn drop(&mut self) {
        self.pipes.end();
        let Some(scratch) = self.hello.scratch_directory.as_deref().map(Path::new) else { return };
        let prefix = scratch_prefix(self.pipes.pid());
        let name = scratch.file_name().and_then(|name| name.to_str());
        let is_its_own = scratch.parent() == Some(&std::env::temp_dir())
            && name.is_some_and(|name| name.starts_with(&prefix));
        if is_its_own && scratch.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            // First, since the name of the directory leads to control groups, queues and files.
            sweep(&self.program, self.interrupt);
            // Best effort: the directory is in the temporary directory.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}
