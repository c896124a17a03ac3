//! The lock's file: locked by flock(2), it excludes runs in other network namespaces, which do not
//! share the name.
//!
//! It is in a folder that all users share. It is opened for reading only, never written, and never
//! removed: a lock on a removed file would exclude no one.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use oscost_model::machine_lock::{
    FileNumber, LOCK_FILE, LOCK_FOLDERS, LockHolder, MAX_LOCKS_BYTES, is_shared_folder,
};

use super::holder::{holder, text};

/// A locked file. The kernel releases it when the process ends.
#[derive(Debug)]
pub(super) struct LockedFile(File);

/// The result of locking the file.
pub(super) enum Attempt {
    /// Locked.
    Locked(LockedFile),
    /// Another process has locked it.
    HeldBy(LockHolder),
    /// It cannot be locked.
    Unavailable(io::Error),
}

/// The path of the file.
pub(super) fn path() -> io::Result<PathBuf> {
    let is_shared = |folder: &&str| {
        let metadata = std::fs::metadata(folder);
        metadata.is_ok_and(|it| it.is_dir() && is_shared_folder(it.mode()))
    };
    let folder = LOCK_FOLDERS.into_iter().find(is_shared).ok_or_else(|| {
        io::Error::new(ErrorKind::NotFound, "no folder is shared by all users (/run/lock, /tmp)")
    })?;
    Ok(Path::new(folder).join(LOCK_FILE))
}

/// Locks the file, or finds its holder.
pub(super) fn lock(path: &Path) -> Attempt {
    match try_lock(path) {
        Ok(attempt) => attempt,
        Err(error) => {
            let why = format!("cannot lock {}: {error}", path.display());
            Attempt::Unavailable(io::Error::new(error.kind(), why))
        }
    }
}

fn try_lock(path: &Path) -> io::Result<Attempt> {
    /// Its owner, or a cleaner of old files, may remove it meanwhile.
    const ATTEMPTS: u32 = 5;
    for _ in 0..ATTEMPTS {
        let Some(file) = open(path)? else { continue };
        let opened = file.metadata()?;
        // Anyone can have put it there: a link to another file would be locked with it.
        if !opened.is_file() || opened.nlink() > 1 {
            let why = "it is not a regular file with one link: remove it";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let number = FileNumber {
            major: libc::major(opened.dev()),
            minor: libc::minor(opened.dev()),
            inode: opened.ino(),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Attempt::HeldBy(holder_of(number))),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let locked = LockedFile(file);
        let is_there = path
            .symlink_metadata()
            .is_ok_and(|it| (it.dev(), it.ino()) == (opened.dev(), opened.ino()));
        if is_there {
            return Ok(Attempt::Locked(locked));
        }
    }
    Err(io::Error::new(ErrorKind::NotFound, "it is removed as soon as it is created"))
}

/// Opens the file, or creates it; `None` if it was removed or created meanwhile.
fn open(path: &Path) -> io::Result<Option<File>> {
    /// All users may lock it, and none may write it.
    const MODE: u32 = 0o444;
    // A file of another user in a shared folder cannot be opened by a call that may create one
    // (fs.protected_regular). A pipe in its place does not block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened.map(Some),
    }
    match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Ok(created) => {
            // The umask may have removed a right.
            created.set_permissions(Permissions::from_mode(MODE))?;
            Ok(Some(created))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

fn holder_of(file: FileNumber) -> LockHolder {
    let locks = text(Path::new("/proc/locks"), MAX_LOCKS_BYTES);
    let pid = locks.and_then(|locks| file.holder_in(&locks));
    pid.map_or(LockHolder::UNKNOWN, |pid| holder(pid, None))
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Explicit, since a process that another thread is starting has a copy of the descriptor
        // until it calls exec. It fails only without a lock.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_locked_file_names_its_holder_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let Attempt::Locked(first) = lock(&path) else { panic!("it was not locked") };
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o444);
        let Attempt::HeldBy(holder) = lock(&path) else { panic!("it was locked twice") };
        assert_eq!(holder.pid, std::process::id() as i32);
        assert_eq!(holder.uid, Some(nix::unistd::geteuid().as_raw()));
        drop(first);
        assert!(matches!(lock(&path), Attempt::Locked(_)));
        assert!(path.exists());
    }

    #[test]
    fn what_others_have_put_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(&other, at("symbolic")).unwrap();
        symlink("absent", at("dangling")).unwrap();
        std::fs::hard_link(&other, at("hard")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["symbolic", "dangling", "hard", "folder", "pipe"] {
            let Attempt::Unavailable(error) = lock(&at(name)) else { panic!("{name} was locked") };
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(!at("absent").exists(), "a link was followed");
    }
}
