//! Copying one file over another.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use oscost_model::file::FileObservation;

use crate::kernel::arch::syscall;
use crate::kernel::file::location::Location;
use crate::kernel::file::scratch_file::{
    ScratchFile, check_complete, expected_word, repeat, seek_to_start,
};
use crate::kernel::ipc::pipe;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// The method by which one file is copied to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// read(2) and write(2), through a buffer.
    ReadWrite,
    /// copy_file_range(2).
    CopyFileRange,
    /// sendfile(2).
    Sendfile,
    /// splice(2) into a pipe, and out of it.
    Splice,
}

/// Two warm files, one of which is copied over the other from start to end, `size` bytes at a time.
pub struct Copier {
    from: ScratchFile,
    to: ScratchFile,
    method: CopyMethod,
    size: usize,
    buffer: Region,
    pipe: (File, File),
    next_piece: u64,
}

impl Copier {
    /// Creates both files.
    pub fn new(
        location: Location,
        bytes: u64,
        method: CopyMethod,
        size: usize,
    ) -> Result<Self, Errno> {
        let from = ScratchFile::new(location, bytes, false)?;
        let to = ScratchFile::new(location, bytes, false)?;
        // The target's content differs from the source everywhere, and all its blocks are
        // allocated: a first write to a hole would have to allocate.
        const PIECE: u64 = 1 << 20;
        let zeros = vec![0; PIECE as usize];
        for at in (0..bytes).step_by(PIECE as usize) {
            let piece = (bytes - at).min(PIECE) as usize;
            to.file.write_all_at(&zeros[..piece], at)?;
        }
        to.file.sync_all()?;
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), PageKind::Small)?;
        buffer.touch_all(Access::Write);
        let pipe = pipe::pipe()?;
        if method == CopyMethod::Splice {
            rustix::pipe::fcntl_setpipe_size(&pipe.0, size)?;
        }
        let mut copier = Self { from, to, method, size, buffer, pipe, next_piece: 0 };
        copier.warm_target()?;
        Ok(copier)
    }

    /// Brings the target's pages into the cache before they are written.
    fn warm_target(&mut self) -> Result<(), Errno> {
        self.to.warm()
    }

    /// The number of copies in a pass.
    pub fn pieces(&self) -> u64 {
        self.from.bytes / self.size as u64
    }

    /// What was observed of the source file.
    pub fn observation(&self) -> FileObservation {
        self.from.observation
    }

    /// Rewinds unless `ops` more copies fit.
    pub fn rewind_if_needed(&mut self, ops: u64) -> Result<(), Errno> {
        if self.next_piece + ops <= self.pieces() && self.from.observation.checks > 0 {
            return Ok(());
        }
        self.next_piece = 0;
        seek_to_start(&self.from.file)?;
        seek_to_start(&self.to.file)?;
        self.from.warm()
    }

    /// Checks that the last piece was copied completely, and clears its ends again.
    pub fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.next_piece.checked_sub(1) else { return Ok(()) };
        let offset = last * self.size as u64;
        for offset in [offset, offset + self.size as u64 - 8] {
            let mut found = [0; 8];
            self.to.file.read_exact_at(&mut found, offset)?;
            if u64::from_ne_bytes(found) != expected_word(offset) {
                return Err(Errno::check_failed(format!(
                    "the copy at offset {offset} differs from what was written"
                )));
            }
            self.to.file.write_all_at(&[0; 8], offset)?;
        }
        Ok(())
    }

    /// Copies `ops` pieces.
    pub fn copy(&mut self, ops: u64) -> Result<(), OpError> {
        if self.next_piece + ops > self.pieces() {
            return Err(OpError { op: 0, errno: Errno::E2BIG });
        }
        let number = |file: &File| file.as_raw_fd() as u64;
        let (from, to) = (number(&self.from.file), number(&self.to.file));
        let (begin, size) = (self.buffer.address() as u64, self.size as u64);
        let done = match self.method {
            CopyMethod::ReadWrite => repeat(ops, |_| {
                // SAFETY: the buffer is as large, and not borrowed.
                unsafe {
                    check_complete(syscall(libc::SYS_read, [from, begin, size, 0, 0, 0]), size)?;
                    check_complete(syscall(libc::SYS_write, [to, begin, size, 0, 0, 0]), size)
                }
            }),
            CopyMethod::CopyFileRange => {
                let args = [from, 0, to, 0, size, 0];
                // SAFETY: plain numbers: with null offsets the files' own positions are used.
                repeat(ops, |_| {
                    check_complete(unsafe { syscall(libc::SYS_copy_file_range, args) }, size)
                })
            }
            CopyMethod::Sendfile => {
                let args = [to, from, 0, size, 0, 0];
                // SAFETY: as above.
                repeat(ops, |_| check_complete(unsafe { syscall(libc::SYS_sendfile, args) }, size))
            }
            CopyMethod::Splice => {
                let (out, into) = (number(&self.pipe.0), number(&self.pipe.1));
                repeat(ops, |_| {
                    // SAFETY: as above.
                    unsafe {
                        check_complete(
                            syscall(libc::SYS_splice, [from, 0, into, 0, size, 0]),
                            size,
                        )?;
                        check_complete(syscall(libc::SYS_splice, [out, 0, to, 0, size, 0]), size)
                    }
                })
            }
        };
        self.next_piece += match done {
            Ok(()) => ops,
            Err(error) => error.op,
        };
        done
    }
}
