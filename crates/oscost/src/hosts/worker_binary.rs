//! The worker program: finding it, its catalog, and checking that a supervisor is this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use oscost_model::definition::Catalog;
use oscost_model::hash;
use oscost_model::protocol::{Hello, PROTOCOL};

use super::HostError;
use crate::files::null_device::null_device;
use crate::files::own_program::own_program;

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
        let mut tried = Vec::new();
        if let Some(path) = std::env::var_os("OSCOST_WORKER").filter(|path| !path.is_empty()) {
            tried.push(PathBuf::from(path));
        } else if let Ok(tool) = own_program()
            && let Some(folder) = tool.parent()
        {
            tried.push(folder.join("oscost-worker"));
            tried.push(folder.join("../libexec/oscost/oscost-worker"));
        }
        match tried.iter().find(|path| path.is_file()) {
            // Absolute, since the supervisor starts its workers in another directory.
            Some(path) => Self::query_catalog(&std::path::absolute(path).unwrap_or(path.clone())),
            None => {
                let tried: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
                Err(HostError::WorkerNotFound { tried: tried.join(", ") })
            }
        }
    }

    /// Reads the catalog of the program at `path`.
    fn query_catalog(path: &Path) -> Result<Self, HostError> {
        let program = path.display().to_string();
        let cannot_start = |why: String| HostError::CannotStart { program: program.clone(), why };
        let output = null_device()
            .and_then(|input| Command::new(path).arg("catalog").stdin(input).output())
            .map_err(|error| cannot_start(error.to_string()))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(cannot_start(format!("`catalog` failed: {}", stderr.trim())));
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
