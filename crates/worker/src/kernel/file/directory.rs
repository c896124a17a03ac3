//! Folders of many files, and operations on one file among them, by raw calls with a one-component
//! path relative to the folder.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use oscost_model::raw_call::RawCall;

use crate::kernel::arch::{syscall, syscall_by};
use crate::kernel::errno::raw_result;
use crate::kernel::file::location::{Location, PrivateFolder};
use crate::kernel::file::scratch_file::repeat;
use crate::kernel::{Errno, OpError};

/// A name: a letter, seven digits, and NUL.
const NAME_BYTES: usize = 9;
/// The name of a file that is created among the others, or that one of them is renamed to.
const OTHER: &std::ffi::CStr = c"another";
/// A prime that divides no number of files here: steps of it visit every file, and neighbours in
/// the folder are not visited in succession.
const STRIDE: usize = 7_919;

/// An operation on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Create, close and unlink.
    CreateUnlink,
    /// Rename, back and forth.
    Rename,
    /// Stat one file after another.
    Stat,
}

/// A private folder of many empty files.
pub struct PopulatedFolder {
    // Dropped in this order: a folder is closed before it is removed.
    folder: File,
    names: Vec<u8>,
    files: usize,
    stride: usize,
    next_file: usize,
    /// Whether the first file has its other name.
    renamed: bool,
    stat: Box<libc::stat>,
    _private: PrivateFolder,
}

impl PopulatedFolder {
    /// Creates the folder and the files: separate files if they are to be stat'ed, otherwise as
    /// many hard links of one as the file system allows. Deleted files make later ones more
    /// expensive for a minute (ext4 passes over their inodes), and these are deleted again.
    #[inline(never)]
    pub fn new(location: Location, files: usize, operation: FileOperation) -> Result<Self, Errno> {
        let private = PrivateFolder::new(location)?;
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
        let (stride, next_file, renamed) = (STRIDE % files, 0, false);
        let populated =
            Self { folder, names, files, stride, next_file, renamed, stat, _private: private };
        let mut named = 0;
        for number in 0..files {
            // Too many links, or a file system without hard links: the next file.
            if number > 0
                && operation != FileOperation::Stat
                && populated.link(named, number).is_ok()
            {
                continue;
            }
            named = number;
            match populated.create::<false>(populated.name(number)) {
                Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => {
                    return Err(Errno::unavailable(format!(
                        "no space for {files} files ({number} were created): choose fewer \
                         `files`, or another folder"
                    )));
                }
                made => drop(made?),
            }
        }
        // On a disk the journal would otherwise be written during later measurements.
        rustix::fs::syncfs(&populated.folder)?;
        Ok(populated)
    }

    /// The address of a file's name.
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
        // SAFETY: both names are NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_linkat, args) }).map(drop)
    }

    /// `openat(name, O_CREAT | O_EXCL)`.
    #[inline(always)]
    fn create<const FUNCTION: bool>(&self, name: u64) -> Result<OwnedFd, Errno> {
        let flags = (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC) as u64;
        // SAFETY: the name is NUL-terminated; the descriptor is new and owned here.
        unsafe {
            let fd = raw_result(syscall_by::<FUNCTION>(
                libc::SYS_openat,
                [self.folder_fd(), name, flags, 0o600, 0, 0],
            ))?;
            Ok(OwnedFd::from_raw_fd(fd as i32))
        }
    }

    /// Runs an operation `ops` times, with its calls made in this way.
    pub fn run(&mut self, operation: FileOperation, how: RawCall, ops: u64) -> Result<(), OpError> {
        match how {
            RawCall::Inline => self.run_by::<false>(operation, ops),
            RawCall::Function => self.run_by::<true>(operation, ops),
        }
    }

    fn run_by<const FUNCTION: bool>(
        &mut self,
        operation: FileOperation,
        ops: u64,
    ) -> Result<(), OpError> {
        match operation {
            FileOperation::CreateUnlink => repeat(ops, |_| self.create_unlink::<FUNCTION>()),
            FileOperation::Rename => repeat(ops, |_| self.rename::<FUNCTION>()),
            FileOperation::Stat => repeat(ops, |_| self.stat::<FUNCTION>()),
        }
    }

    /// Creates an empty file, closes it and unlinks it.
    #[inline(always)]
    fn create_unlink<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        let other = OTHER.as_ptr() as u64;
        let fd = self.create::<FUNCTION>(other)?.into_raw_fd();
        let unlink = [self.folder_fd(), other, 0, 0, 0, 0];
        // SAFETY: the descriptor is the one above; the name is NUL-terminated.
        unsafe {
            raw_result(syscall_by::<FUNCTION>(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]))?;
            raw_result(syscall_by::<FUNCTION>(libc::SYS_unlinkat, unlink)).map(drop)
        }
    }

    /// Renames a file, back and forth.
    #[inline(always)]
    fn rename<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        let names = [self.name(0), OTHER.as_ptr() as u64];
        let [from, to] = if self.renamed { [names[1], names[0]] } else { names };
        let args = [self.folder_fd(), from, self.folder_fd(), to, 0, 0];
        // SAFETY: both names are NUL-terminated. renameat2(2) exists on every architecture.
        raw_result(unsafe { syscall_by::<FUNCTION>(libc::SYS_renameat2, args) })?;
        self.renamed = !self.renamed;
        Ok(())
    }

    /// `stat` of one file after another.
    #[inline(always)]
    fn stat<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        let args =
            [self.folder_fd(), self.name(self.next_file), &raw mut *self.stat as u64, 0, 0, 0];
        // SAFETY: the name is NUL-terminated, and one stat is written.
        raw_result(unsafe { syscall_by::<FUNCTION>(libc::SYS_newfstatat, args) })?;
        self.next_file += self.stride;
        if self.next_file >= self.files {
            self.next_file -= self.files;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(populated: &PopulatedFolder) -> BTreeSet<String> {
        let path = format!("/proc/self/fd/{}", populated.folder.as_raw_fd());
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_folder_has_as_many_files_as_before_whatever_is_done_to_one() {
        let mut populated =
            PopulatedFolder::new(Location::Tmpfs, 100, FileOperation::Rename).unwrap();
        let before = names(&populated);
        assert_eq!(before.len(), 100);
        populated.create_unlink::<false>().unwrap();
        populated.create_unlink::<true>().unwrap();
        assert_eq!(names(&populated), before);
        populated.rename::<false>().unwrap();
        let renamed = names(&populated);
        assert!(renamed.contains("another") && !renamed.contains("f0000000"), "{renamed:?}");
        populated.rename::<true>().unwrap();
        assert_eq!(names(&populated), before);
    }

    #[test]
    fn every_file_is_visited_before_one_is_visited_again() {
        for files in [10, 100, 1_000] {
            let mut populated =
                PopulatedFolder::new(Location::Tmpfs, files, FileOperation::Stat).unwrap();
            for how in RawCall::ALL {
                let mut inodes = BTreeSet::new();
                for _ in 0..files {
                    populated.run(FileOperation::Stat, how, 1).unwrap();
                    inodes.insert(populated.stat.st_ino);
                }
                assert_eq!(inodes.len(), files, "{how:?}");
            }
        }
    }
}
