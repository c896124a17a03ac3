//! Folders of many files, and what is done to one file among them: by raw calls, each with a path
//! of one name that leads from the folder.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::file::location::{Location, PrivateFolder};
use crate::kernel::file::scratch_file::repeat;

/// A name: a letter, seven digits, and its end.
const NAME_BYTES: usize = 9;
/// What a file is called that is made among the others, or that one of them is renamed to.
const OTHER: &std::ffi::CStr = c"another";
/// A prime that is no factor of any number of files here: steps of it come by every file, and
/// neighbours in the folder are no neighbours in time.
const STRIDE: usize = 7_919;

/// What is done to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// It is made, closed, and unlinked.
    CreateUnlink,
    /// It is renamed, to and fro.
    Rename,
    /// It is looked at, one after another.
    Stat,
}

/// A private folder that holds so many empty files.
pub struct PopulatedFolder {
    // Dropped in this order: a folder is closed before it is removed.
    folder: File,
    names: Vec<u8>,
    files: usize,
    stride: usize,
    at: usize,
    /// Whether the first file bears its other name.
    renamed: bool,
    stat: Box<libc::stat>,
    _private: PrivateFolder,
}

impl PopulatedFolder {
    /// Makes the folder and the files: each of its own where they are looked at, else as many names
    /// of one as a file may have. Files that are deleted make the next ones dearer for a minute
    /// (ext4 passes over their inodes), and what is made here is deleted again.
    #[inline(never)]
    pub fn new(place: Location, files: usize, act: FileOperation) -> Result<Self, Errno> {
        let private = PrivateFolder::new(place)?;
        let folder = private.open()?;
        let mut names = b"f0000000\0".repeat(files);
        for (mut number, name) in names.chunks_exact_mut(NAME_BYTES).enumerate() {
            for digit in name[1..NAME_BYTES - 1].iter_mut().rev() {
                *digit += (number % 10) as u8;
                number /= 10;
            }
        }
        // SAFETY: all-zero bits are a valid stat.
        let stat = Box::new(unsafe { std::mem::zeroed() });
        let (stride, at, renamed) = (STRIDE % files, 0, false);
        let many = Self { folder, names, files, stride, at, renamed, stat, _private: private };
        let mut named = 0;
        for number in 0..files {
            // Too many names, or a file system that knows but one: the next file.
            if number > 0 && act != FileOperation::Stat && many.link(named, number).is_ok() {
                continue;
            }
            named = number;
            match many.create(many.name(number)) {
                Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => {
                    return Err(Errno::unavailable(format!(
                        "there is no room for {files} files ({number} have been made): fewer \
                         `files`, or another folder"
                    )));
                }
                made => drop(made?),
            }
        }
        // On a disk the journal would else be written while others are timed.
        // SAFETY: a plain number.
        Errno::check(unsafe { libc::syncfs(many.folder.as_raw_fd()) })?;
        Ok(many)
    }

    /// Where the name of a file is.
    #[inline(always)]
    fn name(&self, number: usize) -> u64 {
        self.names.as_ptr() as u64 + (number * NAME_BYTES) as u64
    }

    #[inline(always)]
    fn folder_fd(&self) -> u64 {
        self.folder.as_raw_fd() as u64
    }

    /// `linkat(old, new)`.
    fn link(&self, old: usize, new: usize) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.name(old), self.folder_fd(), self.name(new), 0, 0];
        // SAFETY: both names have an end.
        raw_result(unsafe { syscall(libc::SYS_linkat, args) }).map(drop)
    }

    /// `openat(name, O_CREAT | O_EXCL)`.
    #[inline(always)]
    fn create(&self, name: u64) -> Result<OwnedFd, Errno> {
        let flags = (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC) as u64;
        // SAFETY: the name has an end; what is opened is ours.
        unsafe {
            let fd = raw_result(syscall(
                libc::SYS_openat,
                [self.folder_fd(), name, flags, 0o600, 0, 0],
            ))?;
            Ok(OwnedFd::from_raw_fd(fd as i32))
        }
    }

    /// Does it so often to a file among the others; says at which it went wrong.
    pub fn run(&mut self, act: FileOperation, ops: u64) -> Result<(), (u64, Errno)> {
        match act {
            FileOperation::CreateUnlink => repeat(ops, |_| self.create_unlink()),
            FileOperation::Rename => repeat(ops, |_| self.rename()),
            FileOperation::Stat => repeat(ops, |_| self.stat()),
        }
    }

    /// Makes an empty file and closes it, then unlinks it.
    #[inline(always)]
    fn create_unlink(&mut self) -> Result<(), Errno> {
        let other = OTHER.as_ptr() as u64;
        let fd = self.create(other)?.into_raw_fd();
        // SAFETY: the descriptor is the one above; the name has an end.
        unsafe {
            raw_result(syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]))?;
            raw_result(syscall(libc::SYS_unlinkat, [self.folder_fd(), other, 0, 0, 0, 0])).map(drop)
        }
    }

    /// Renames a file, to and fro.
    #[inline(always)]
    fn rename(&mut self) -> Result<(), Errno> {
        let names = [self.name(0), OTHER.as_ptr() as u64];
        let [from, to] = if self.renamed { [names[1], names[0]] } else { names };
        let args = [self.folder_fd(), from, self.folder_fd(), to, 0, 0];
        // SAFETY: both names have an end. renameat2(2), which every architecture has.
        raw_result(unsafe { syscall(libc::SYS_renameat2, args) })?;
        self.renamed = !self.renamed;
        Ok(())
    }

    /// `stat` of one file after another.
    #[inline(always)]
    fn stat(&mut self) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.name(self.at), &raw mut *self.stat as u64, 0, 0, 0];
        // SAFETY: the name has an end, and one stat is written.
        raw_result(unsafe { syscall(libc::SYS_newfstatat, args) })?;
        self.at += self.stride;
        if self.at >= self.files {
            self.at -= self.files;
        }
        Ok(())
    }
}

/// A call's result, or its error.
#[inline(always)]
fn raw_result(result: i64) -> Result<i64, Errno> {
    if result >= 0 { Ok(result) } else { Err(Errno(-result as i32)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(many: &PopulatedFolder) -> BTreeSet<String> {
        let path = format!("/proc/self/fd/{}", many.folder.as_raw_fd());
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_folder_has_as_many_files_as_before_whatever_is_done_to_one() {
        let mut many = PopulatedFolder::new(Location::Tmpfs, 100, FileOperation::Rename).unwrap();
        let before = names(&many);
        assert_eq!(before.len(), 100);
        many.create_unlink().unwrap();
        assert_eq!(names(&many), before);
        many.rename().unwrap();
        let renamed = names(&many);
        assert!(renamed.contains("another") && !renamed.contains("f0000000"), "{renamed:?}");
        many.rename().unwrap();
        assert_eq!(names(&many), before);
    }

    #[test]
    fn every_file_is_looked_at_before_one_is_looked_at_again() {
        for files in [10, 100, 1_000] {
            let mut many =
                PopulatedFolder::new(Location::Tmpfs, files, FileOperation::Stat).unwrap();
            let mut inodes = BTreeSet::new();
            for _ in 0..files {
                many.stat().unwrap();
                inodes.insert(many.stat.st_ino);
            }
            assert_eq!(inodes.len(), files);
        }
    }
}
