//! A file of 1 MiB that is read or written a piece at a time, each op at the next piece.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::kernel::arch::syscall;
use crate::kernel::file::location::file_system_type;
use crate::kernel::file::page_cache::cached_pages;
use crate::kernel::file::scratch_file::{check_complete, expected_word, repeat};
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// What an op does with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceOperation {
    /// pread(2).
    Read,
    /// pwrite(2). The file is synced before each batch, so that each piece is clean.
    Write,
    /// pwrite(2) that leaves nothing to sync: of a file that was opened with O_DIRECT.
    WriteDirect,
    /// pwrite(2) and fsync(2).
    WriteSync,
}

/// A file of known content, of which an op reads or overwrites the next piece.
pub struct PieceFile {
    file: File,
    act: PieceOperation,
    size: usize,
    /// What is read into or written: whole pages, as O_DIRECT needs it. The first word differs in
    /// each batch of writes.
    buffer: Region,
    /// The pieces of all batches so far.
    done: u64,
    /// The first word that the last batch wrote.
    written: u64,
}

impl PieceFile {
    /// The length of the file.
    pub const BYTES: u64 = 1 << 20;

    /// Fills an empty file and syncs it. `size` is a power of two, of a page at least.
    #[inline(never)]
    pub fn new(file: File, act: PieceOperation, size: usize) -> Result<Self, Errno> {
        if !size.is_power_of_two() || size < PAGE_BYTES || size as u64 > Self::BYTES {
            return Err(Errno::EINVAL);
        }
        let buffer = Region::anonymous(size, PageKind::Small)?;
        let mut filled = Self { file, act, size, buffer, done: 0, written: 0 };
        for piece in 0..filled.pieces() {
            let offset = piece * size as u64;
            for (index, word) in filled.buffer.words_mut().iter_mut().enumerate() {
                *word = expected_word(offset + 8 * index as u64);
            }
            filled.transfer(libc::SYS_pwrite64, piece)?;
        }
        // Otherwise it would be written back during later measurements.
        filled.file.sync_all()?;
        Ok(filled)
    }

    /// Whether pages of the file are cached that have to be written to a disk: a file system may
    /// take a write with O_DIRECT as any other, and say nothing.
    pub fn is_in_the_page_cache_of_a_disk(&self) -> Result<bool, Errno> {
        let is_in_memory = file_system_type(&self.file)? == libc::TMPFS_MAGIC as u64;
        Ok(!is_in_memory && cached_pages(&self.file, Self::BYTES)? > 0)
    }

    /// The number of pieces: no batch of writes should have more.
    pub fn pieces(&self) -> u64 {
        Self::BYTES / self.size as u64
    }

    /// A piece from the buffer into the file, or back.
    #[inline(always)]
    fn transfer(&self, number: i64, piece: u64) -> Result<(), Errno> {
        let (fd, begin, size) =
            (self.file.as_raw_fd() as u64, self.buffer.address() as u64, self.size as u64);
        let offset = (piece * size) & (Self::BYTES - 1);
        // SAFETY: the buffer is as large, and not borrowed.
        check_complete(unsafe { syscall(number, [fd, begin, size, offset, 0, 0]) }, size)
    }

    #[inline(always)]
    fn sync(&self) -> Result<(), Errno> {
        let args = [self.file.as_raw_fd() as u64, 0, 0, 0, 0, 0];
        // SAFETY: a plain number.
        check_complete(unsafe { syscall(libc::SYS_fsync, args) }, 0)
    }

    /// Before a batch, and not timed: what the last one has left to do is done, and the next one
    /// writes something else.
    pub fn settle(&mut self) -> Result<(), Errno> {
        if self.act == PieceOperation::Write {
            self.file.sync_all()?;
        }
        if self.act != PieceOperation::Read {
            let first_word = &mut self.buffer.words_mut()[0];
            *first_word = expected_word(*first_word);
        }
        Ok(())
    }

    /// Reads or writes the next `ops` pieces.
    pub fn run(&mut self, ops: u64) -> Result<(), OpError> {
        if ops > 0 {
            self.written = self.buffer.words_mut()[0];
        }
        let first = self.done;
        let done = match self.act {
            PieceOperation::Read => repeat(ops, |op| self.transfer(libc::SYS_pread64, first + op)),
            PieceOperation::Write | PieceOperation::WriteDirect => {
                repeat(ops, |op| self.transfer(libc::SYS_pwrite64, first + op))
            }
            PieceOperation::WriteSync => repeat(ops, |op| {
                self.transfer(libc::SYS_pwrite64, first + op)?;
                self.sync()
            }),
        };
        self.done += match done {
            Ok(()) => ops,
            Err(error) => error.op,
        };
        done
    }

    /// Checks that the last op read what is in the file, or that what it wrote is there.
    pub fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.done.checked_sub(1) else { return Ok(()) };
        let offset = (last * self.size as u64) & (Self::BYTES - 1);
        let expected = match self.act {
            PieceOperation::Read => expected_word(offset),
            _ => {
                self.transfer(libc::SYS_pread64, last)?;
                self.written
            }
        };
        let found = self.buffer.words_mut()[0];
        if found == expected {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "at offset {offset} the file has {found:#x}, and should have {expected:#x}"
        )))
    }
}

/// Opens the same file again, to be written with O_DIRECT.
pub fn reopen_direct(file: &File) -> Result<File, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_DIRECT);
    options.open(path).map_err(|error| {
        Errno::unavailable(format!(
            "the file system does not support O_DIRECT: {error}; tmpfs does from Linux 6.6 on: \
             start oscost in a folder of a disk"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::kernel::memory::memory_file;

    fn file() -> File {
        memory_file::create("oscost", PieceFile::BYTES).unwrap()
    }

    #[test]
    fn each_op_takes_the_next_piece_and_returns_to_the_start_after_the_last() {
        for act in [
            PieceOperation::Read,
            PieceOperation::Write,
            PieceOperation::WriteDirect,
            PieceOperation::WriteSync,
        ] {
            for size in [4_096, 65_536] {
                let file = file();
                let mut pieces = PieceFile::new(file.try_clone().unwrap(), act, size).unwrap();
                assert_eq!(pieces.pieces() * size as u64, PieceFile::BYTES);
                assert_eq!(file.metadata().unwrap().len(), PieceFile::BYTES);
                for ops in [1, 0, 7, pieces.pieces(), 2] {
                    pieces.settle().unwrap();
                    assert_eq!(pieces.run(ops), Ok(()), "{act:?}");
                    assert_eq!(pieces.verify(), Ok(()), "{act:?}, {ops} ops of {size} bytes");
                }
                // Prepared and not run.
                pieces.settle().unwrap();
                assert_eq!(pieces.verify(), Ok(()), "{act:?}");
                assert_eq!(pieces.done, pieces.pieces() + 10);
                assert_eq!(file.metadata().unwrap().len(), PieceFile::BYTES);
            }
        }
    }

    #[test]
    fn a_file_that_has_something_else_fails_the_check() {
        for act in [PieceOperation::Read, PieceOperation::Write] {
            let file = file();
            let mut pieces = PieceFile::new(file.try_clone().unwrap(), act, 4_096).unwrap();
            if act == PieceOperation::Read {
                file.write_all_at(&[1; 8], 4_096).unwrap();
            }
            pieces.run(2).unwrap();
            if act == PieceOperation::Write {
                file.write_all_at(&[1; 8], 4_096).unwrap();
            }
            assert_eq!(pieces.verify(), Err(Errno::CHECK_FAILED), "{act:?}");
        }
    }

    #[test]
    fn pieces_that_are_no_pages_are_refused() {
        for size in [0, 512, 12_288, 2 << 20] {
            let refused = PieceFile::new(file(), PieceOperation::Read, size);
            assert_eq!(refused.err(), Some(Errno::EINVAL), "{size}");
        }
    }
}
