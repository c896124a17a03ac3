//! The local host: the supervisor as a child process.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use oscost_model::definition::Catalog;
use oscost_model::hash;
use oscost_model::protocol::{Event, Hello, Order, PROTOCOL};

use super::session::PipeSession;
use super::{HostError, Interrupt, Session};

/// The worker program and its catalog.
#[derive(Clone, Debug)]
pub struct WorkerBinary {
    /// Its path.
    pub path: PathBuf,
    /// Its catalog.
    pub catalog: Catalog,
    /// Content hash of its catalog.
    pub catalog_hash: String,
}

impl WorkerBinary {
    /// Finds the worker: `OSCOST_WORKER`, in the tool's directory, or in `../libexec/oscost`.
    pub fn find() -> Result<Self, HostError> {
        let mut looked = Vec::new();
        if let Some(named) = std::env::var_os("OSCOST_WORKER").filter(|named| !named.is_empty()) {
            looked.push(PathBuf::from(named));
        } else if let Some(tool) = own_executable()
            && let Some(folder) = tool.parent()
        {
            looked.push(folder.join("oscost-worker"));
            looked.push(folder.join("../libexec/oscost/oscost-worker"));
        }
        match looked.iter().find(|path| path.is_file()) {
            // Absolute, since the supervisor starts its workers in another directory.
            Some(path) => Self::query_catalog(&std::path::absolute(path).unwrap_or(path.clone())),
            None => {
                let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
                Err(HostError::WorkerNotFound { looked: looked.join(", ") })
            }
        }
    }

    /// Reads the catalog of the program at `path`.
    fn query_catalog(path: &Path) -> Result<Self, HostError> {
        let program = path.display().to_string();
        let cannot = |why: String| HostError::CannotStart { program: program.clone(), why };
        let output = Command::new(path)
            .arg("catalog")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| cannot(error.to_string()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(cannot(format!("`catalog` failed: {}", words.trim())));
        }
        let catalog =
            serde_json::from_slice(&output.stdout).map_err(|error| HostError::WorkerMismatch {
                program,
                why: format!("its catalog cannot be read: {error}"),
            })?;
        Ok(Self { path: path.to_owned(), catalog, catalog_hash: hash::content(&output.stdout) })
    }

    /// Checks that a supervisor with this hello is this program and has the same protocol.
    pub(super) fn check_hello(&self, hello: &Hello) -> Result<(), HostError> {
        let program = self.path.display().to_string();
        let refuse = |why: String| Err(HostError::WorkerMismatch { program: program.clone(), why });
        if hello.protocol != PROTOCOL {
            return refuse(format!("its protocol is {}, expected {PROTOCOL}", hello.protocol));
        }
        if hello.catalog_hash != self.catalog_hash {
            return refuse("its catalog differs from the one that it printed".to_owned());
        }
        let file = std::fs::read(&self.path).map_err(|error| HostError::CannotStart {
            program: program.clone(),
            why: error.to_string(),
        })?;
        if hello.worker_hash != hash::content(&file) {
            return refuse("its file was replaced while it was running".to_owned());
        }
        Ok(())
    }
}

/// The path of this executable; without /proc, the name that it was started as.
fn own_executable() -> Option<PathBuf> {
    std::env::current_exe().ok().or_else(|| std::env::args_os().next().map(PathBuf::from))
}

/// A supervisor on this machine, as a child process.
pub struct LocalSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
}

impl<'a> LocalSession<'a> {
    /// Starts the supervisor, and checks that it is the expected one.
    ///
    /// It has its own process group: the tool handles Ctrl-C in the terminal, and the supervisor
    /// ends its workers.
    pub fn start(program: &WorkerBinary, interrupt: &'a Interrupt) -> Result<Self, HostError> {
        let cannot = |error: std::io::Error| HostError::CannotStart {
            program: program.path.display().to_string(),
            why: error.to_string(),
        };
        let mut command = Command::new(&program.path);
        let talk = PipeSession::start(command.arg("supervise").process_group(0), interrupt);
        let mut talk = talk.map_err(cannot)?;
        let hello = talk.hello(program)?;
        Ok(Self { pipes: talk, hello })
    }
}

impl Session for LocalSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.pipes.send(order)
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.pipes.next_event(patience)
    }
}

impl Drop for LocalSession<'_> {
    /// Ends the supervisor, and removes its scratch directory if it was killed before doing so.
    /// Only a directory in the temporary directory with the supervisor's name is removed.
    fn drop(&mut self) {
        self.pipes.end();
        let Some(scratch) = self.hello.scratch_directory.as_deref().map(Path::new) else { return };
        let ours = format!("oscost-{}-", self.pipes.pid());
        let named = scratch.file_name().and_then(|name| name.to_str());
        let is_its_own = scratch.parent() == Some(&std::env::temp_dir())
            && named.is_some_and(|name| name.starts_with(&ours));
        if is_its_own && scratch.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            // Best effort: the directory is in the temporary directory.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}
