//! Locks of a folder that several machines see: not every file system of that kind has them.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::libc;

use crate::files::lock::{FileLock, LockError};

/// Who only asks whether a lock is held has it for a moment.
const PATIENCE: Duration = Duration::from_millis(200);
const AGAIN: Duration = Duration::from_millis(10);

/// Locks a file, unless another process keeps the lock.
pub(super) fn acquire(path: &Path) -> Result<FileLock, LockError> {
    acquire_within(path, PATIENCE)
}

fn acquire_within(path: &Path, patience: Duration) -> Result<FileLock, LockError> {
    let begun = Instant::now();
    loop {
        match FileLock::acquire(path) {
            Err(LockError::Held) if begun.elapsed() < patience => std::thread::sleep(AGAIN),
            done => return done,
        }
    }
}

/// Whether another process has locked a file. The file is not made.
pub(super) fn is_held(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && matches!(FileLock::acquire(path), Err(LockError::Held))
}

/// Whether the file system is to blame: NFS without its lock service, Lustre mounted without `flock`.
pub(super) fn are_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::ENOLCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_told_by_its_error() {
        let is_unsupported = |code| are_unsupported(&io::Error::from_raw_os_error(code));
        assert!([libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOLCK].into_iter().all(is_unsupported));
        assert!(![libc::EACCES, libc::EROFS].into_iter().any(is_unsupported));
        assert!(!are_unsupported(&io::Error::other("x")));
    }

    #[test]
    fn a_lock_that_is_held_for_a_moment_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(!is_held(&path) && !path.exists());
        let held = acquire(&path).unwrap();
        assert!(is_held(&path));
        let asked = std::thread::spawn(move || {
            std::thread::sleep(AGAIN);
            drop(held);
        });
        acquire_within(&path, Duration::from_secs(60)).unwrap();
        asked.join().unwrap();
        assert!(!is_held(&path));
    }
}
