//! The first read(2) of one open file after another.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use oscost_model::raw_call::RawCall;

use crate::kernel::arch::syscall_by;
use crate::kernel::file::scratch_file::{check_complete, repeat};
use crate::kernel::file::tree::{Leaf, Tree};
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// The components of the paths of the files.
const DEPTH: usize = 3;
/// Each byte of the files.
const CONTENT: u8 = Tree::CONTENT;

/// Files that are read from their start, each by one call.
pub struct FirstReads {
    tree: Tree,
    size: usize,
    /// The buffer that reads fill.
    buffer: Region,
    /// The files of a batch, which have not been read since they were opened.
    open: Vec<OwnedFd>,
    next_file: usize,
}

impl FirstReads {
    /// `files` files of `size` bytes in a tmpfs.
    #[inline(never)]
    pub fn new(files: usize, size: usize) -> Result<Self, Errno> {
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), PageKind::Small)?;
        buffer.touch_all(Access::Write);
        let mut tree = Tree::new(Leaf::File(size), files, DEPTH)?;
        // The first read of all sets the time of access: later ones within a day do not.
        for _ in 0..files {
            File::from(tree.open_next_file()?).read_exact_at(&mut [0], 0)?;
        }
        Ok(Self { tree, size, buffer, open: Vec::new(), next_file: 0 })
    }

    /// Opens the files of the next `ops` reads.
    pub fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.open.clear();
        self.next_file = 0;
        for _ in 0..ops {
            self.open.push(self.tree.open_next_file()?);
        }
        for at in [0, self.size - 1] {
            self.buffer.set_byte(at, 0)?;
        }
        Ok(())
    }

    /// Reads `ops` files that were opened, in this way.
    pub fn run(&mut self, how: RawCall, ops: u64) -> Result<(), OpError> {
        match how {
            RawCall::Inline => repeat(ops, |_| self.read::<false>()),
            RawCall::Function => repeat(ops, |_| self.read::<true>()),
        }
    }

    #[inline(always)]
    fn read<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        let file = self.open.get(self.next_file).ok_or(Errno::E2BIG)?;
        self.next_file += 1;
        let (fd, size) = (file.as_raw_fd() as u64, self.size as u64);
        let args = [fd, self.buffer.address() as u64, size, 0, 0, 0];
        // SAFETY: the buffer has `size` bytes, to which nothing refers.
        let result = unsafe { syscall_by::<FUNCTION>(libc::SYS_read, args) };
        check_complete(result, size)
    }

    /// Checks that the last read of a batch has filled the buffer.
    pub fn verify(&self) -> Result<(), Errno> {
        let has_read = |at: usize| Ok::<bool, Errno>(self.buffer.byte(at)? == CONTENT);
        if self.next_file == 0 || has_read(0)? && has_read(self.size - 1)? {
            return Ok(());
        }
        Err(Errno::check_failed("a read has not returned the content of its file".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn each_file_is_read_whole_once_it_was_opened() {
        in_own_process(|| {
            for size in [4_096, 65_536] {
                let mut reads = FirstReads::new(16, size).unwrap();
                assert_eq!(reads.verify(), Ok(()), "nothing was read");
                for how in RawCall::ALL {
                    reads.prepare(20).unwrap();
                    assert_eq!(reads.run(how, 20), Ok(()), "{how:?}");
                    assert_eq!(reads.verify(), Ok(()), "{how:?}");
                }
                let beyond = reads.run(RawCall::Inline, 1).map_err(|at| at.errno);
                assert_eq!(beyond, Err(Errno::E2BIG), "no file is read twice");
            }
        });
    }

    #[test]
    fn a_buffer_that_no_read_has_filled_is_found() {
        in_own_process(|| {
            let mut reads = FirstReads::new(16, 4_096).unwrap();
            reads.prepare(1).unwrap();
            reads.next_file = 1;
            assert_eq!(reads.verify(), Err(Errno::CHECK_FAILED));
        });
    }
}
