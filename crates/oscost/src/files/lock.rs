//! Lock files: one process at a time changes what a lock file stands for.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::open_folder::OpenFolder;

/// An exclusive lock of a file (flock(2)), released on drop, and by the kernel when the process
/// ends. The file is never removed: a lock on a removed file would exclude no one.
#[derive(Debug)]
pub struct FileLock(File);

/// Why a file was not locked.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds the lock.
    Held,
    /// The file could not be created, opened or locked.
    Io(io::Error),
}

impl FileLock {
    /// Locks a file without waiting; creates it if it does not exist.
    pub fn acquire(path: &Path) -> Result<Self, LockError> {
        let file = open(path).map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Held),
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }

    /// Another descriptor of the file. The lock is held until all of them are closed, unless it is
    /// released.
    pub fn try_clone_file(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

/// Opens a lock file, or creates it for the owner of its folder. A symbolic link in its place is
/// not followed.
fn open(path: &Path) -> io::Result<File> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = OpenFolder::open(folder.unwrap_or(Path::new(".")))?;
    match folder.create_file(name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => folder.open_file(name),
        created => created,
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Explicit, since closing the file may not release it: a process that another thread is
        // starting has a copy of the descriptor until it calls exec. It fails only without a lock.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_lock_is_held_until_it_is_dropped_and_its_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = FileLock::acquire(&path).unwrap();
        assert!(matches!(FileLock::acquire(&path), Err(LockError::Held)));
        let copy = lock.try_clone_file().unwrap();
        drop(lock);
        FileLock::acquire(&path).unwrap();
        drop(copy);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_symbolic_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("lock");
        symlink(folder.path().join("target"), &link).unwrap();
        assert!(matches!(FileLock::acquire(&link), Err(LockError::Io(_))));
        assert!(!folder.path().join("target").exists());
    }
}
