//! The errors of a fleet's folder, with what helps.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::locks::are_unsupported;

/// A lock that cannot be had.
pub(super) fn cannot_lock(file: &Path, error: &io::Error) -> anyhow::Error {
    match are_unsupported(error) {
        true => anyhow::anyhow!(
            "cannot lock {}: {error}\n  hint: its file system has no locks: mount it with them \
             (flock(2)), or name a folder of this machine",
            file.display()
        ),
        false => cannot("lock", file, error),
    }
}

/// What cannot be done with a path, and what helps.
pub(super) fn cannot(act: &str, path: &Path, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "\n  hint: name a folder that you may write, on a file system that all nodes share"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "\n  hint: make room; `oscost fleet run FOLDER --retry` measures what is missing"
        }
        _ => "\n  hint: name a folder of a fleet that this machine can read and write",
    };
    anyhow::anyhow!("cannot {act} {}: {error}{hint}", path.display())
}
