//! Locks on ranges of a file, by fcntl(2).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;
use crate::kernel::file::unnamed_file::open_unnamed;

/// What owns a lock on a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// The process (F_SETLK): closing any descriptor of the file releases the lock.
    Process,
    /// The open file description (F_OFD_SETLK), which descriptors share.
    OpenFile,
}

impl LockOwner {
    /// The command that locks and unlocks without waiting.
    pub(in crate::kernel) fn set_command(self) -> i32 {
        match self {
            Self::Process => libc::F_SETLK,
            Self::OpenFile => libc::F_OFD_SETLK,
        }
    }

    fn get_command(self) -> i32 {
        match self {
            Self::Process => libc::F_GETLK,
            Self::OpenFile => libc::F_OFD_GETLK,
        }
    }
}

/// A lock of this type on one byte.
pub(in crate::kernel) fn lock_of_byte(lock_type: i32, position: i64) -> libc::flock {
    libc::flock {
        l_type: lock_type as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: position,
        l_len: 1,
        l_pid: 0,
    }
}

/// An empty file without a name among the temporary files, for locks.
pub(in crate::kernel) fn file_to_lock() -> Result<File, Errno> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir();
    let fallback = format!("oscost-{}-locked-{made}", std::process::id());
    open_unnamed(&folder, &fallback).map_err(|error| match error {
        Errno::EACCES | Errno::EPERM | Errno::EROFS | Errno::ENOENT | Errno::ENOSPC => {
            Errno::unavailable(format!("cannot create a file in {}: {error}", folder.display()))
        }
        other => other,
    })
}

/// Locks every second byte from the first one on, as many as are to be held: neighbours would be
/// merged into one range.
pub(in crate::kernel) fn hold_ranges(
    file: &File,
    owner: LockOwner,
    ranges: u64,
) -> Result<(), Errno> {
    for range in 0..ranges {
        let lock = lock_of_byte(libc::F_WRLCK, 2 * range as i64);
        // SAFETY: the kernel reads one lock.
        Errno::check(unsafe {
            libc::fcntl(file.as_raw_fd(), owner.set_command(), &raw const lock)
        })?;
    }
    Ok(())
}

/// Asks whether a lock on a byte of a file that nobody has locked would conflict.
pub struct LockQuery {
    file: File,
    owner: LockOwner,
    lock: libc::flock,
}

impl LockQuery {
    /// A query of an unlocked file.
    pub fn new(owner: LockOwner) -> Result<Self, Errno> {
        Ok(Self { file: file_to_lock()?, owner, lock: lock_of_byte(libc::F_WRLCK, 0) })
    }

    /// fcntl(2) with F_GETLK or F_OFD_GETLK, which must find no conflict.
    #[inline(always)]
    pub fn ask(&mut self) -> Result<(), Errno> {
        self.lock.l_type = libc::F_WRLCK as libc::c_short;
        let command = self.owner.get_command();
        let at = &raw mut self.lock as u64;
        let args = [self.file.as_raw_fd() as u64, command as u64, at, 0, 0, 0];
        // SAFETY: the kernel reads and writes one lock, which is borrowed mutably.
        raw_result(unsafe { arch::syscall(libc::SYS_fcntl, args) })?;
        let found = i32::from(self.lock.l_type);
        if found == libc::F_UNLCK { Ok(()) } else { Err(Errno::EBUSY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another open file description of the same file.
    fn reopened(file: &File) -> File {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        File::options().read(true).write(true).open(path).unwrap()
    }

    /// The number of bytes below 300 that another owner has locked.
    fn locked_bytes(file: File) -> usize {
        let mut query =
            LockQuery { file, owner: LockOwner::OpenFile, lock: lock_of_byte(libc::F_WRLCK, 0) };
        let is_locked = |at: &i64| {
            query.lock = lock_of_byte(libc::F_WRLCK, *at);
            query.ask() == Err(Errno::EBUSY)
        };
        (0..300).filter(is_locked).count()
    }

    #[test]
    fn as_many_ranges_are_held_as_were_asked_for() {
        for owner in [LockOwner::Process, LockOwner::OpenFile] {
            for ranges in [0, 10, 100] {
                let file = file_to_lock().unwrap();
                hold_ranges(&file, owner, ranges).unwrap();
                let other = reopened(&file);
                assert_eq!(locked_bytes(other), ranges as usize, "{owner:?}");
            }
        }
    }

    #[test]
    fn a_query_finds_a_conflict_and_goes_on_after_it() {
        for owner in [LockOwner::Process, LockOwner::OpenFile] {
            let mut query = LockQuery::new(owner).unwrap();
            for _ in 0..23 {
                assert_eq!(query.ask(), Ok(()), "{owner:?}");
            }
            let other = reopened(&query.file);
            hold_ranges(&other, LockOwner::OpenFile, 1).unwrap();
            assert_eq!(query.ask(), Err(Errno::EBUSY), "{owner:?}");
            drop(other);
            query.lock = lock_of_byte(libc::F_WRLCK, 0);
            assert_eq!(query.ask(), Ok(()), "{owner:?}");
        }
    }
}
