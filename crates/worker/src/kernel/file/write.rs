//! Writing a file, and syncing it to its disk.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use oscost_model::file::FileObservation;
use oscost_model::raw_call::RawCall;

use crate::kernel::arch::{syscall, syscall_by};
use crate::kernel::file::scratch_file::{
    ScratchFile, Stream, check_complete, expected_word, repeat, seek_to_start,
};
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// The method by which a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMethod {
    /// write(2).
    Write,
    /// pwrite(2).
    Pwrite,
    /// The C library's stream.
    Fwrite,
}

/// The sync after each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMethod {
    /// Nothing.
    None,
    /// fsync(2).
    All,
    /// fdatasync(2).
    Data,
}

/// A file that is written from start to end, `size` bytes at a time.
pub struct Writer {
    file: ScratchFile,
    method: WriteMethod,
    sync: SyncMethod,
    size: usize,
    /// Whether the file is truncated before each pass.
    truncate: bool,
    /// The data to write; its first word differs in each batch.
    buffer: Region,
    /// The first word of the last batch.
    written: u64,
    next_piece: u64,
    stream: Option<Stream>,
    /// How the calls are made of writes without a sync.
    how: RawCall,
}

impl Writer {
    /// A writer at the start of a file.
    pub fn new(
        file: ScratchFile,
        method: WriteMethod,
        sync: SyncMethod,
        size: usize,
        truncate: bool,
    ) -> Result<Self, Errno> {
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), PageKind::Small)?;
        buffer.touch_all(Access::Write);
        let (written, next_piece, stream) = (0, 0, None);
        let how = RawCall::Inline;
        let mut writer =
            Self { file, method, sync, size, truncate, buffer, written, next_piece, stream, how };
        writer.rewind()?;
        Ok(writer)
    }

    /// The number of writes in a pass.
    pub fn pieces(&self) -> u64 {
        self.file.bytes / self.size as u64
    }

    /// What was observed of the file.
    pub fn observation(&self) -> FileObservation {
        self.file.observation
    }

    /// Rewinds unless `ops` more writes fit.
    pub fn rewind_if_needed(&mut self, ops: u64) -> Result<(), Errno> {
        if self.next_piece + ops > self.pieces() || self.file.observation.checks == 0 {
            self.verify()?;
            self.rewind()?;
        }
        self.buffer.words_mut()[0] = expected_word(self.buffer.words_mut()[0]);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), Errno> {
        self.stream = None;
        self.next_piece = 0;
        seek_to_start(&self.file.file)?;
        if self.truncate {
            self.file.file.set_len(0)?;
            self.file.observation.add_check(0);
        } else {
            self.file.warm()?;
        }
        if self.method == WriteMethod::Fwrite {
            self.stream = Some(Stream::open(&self.file.file, c"r+")?);
        }
        Ok(())
    }

    /// Checks that the last write is visible in the file.
    fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.next_piece.checked_sub(1) else { return Ok(()) };
        if let Some(stream) = &self.stream {
            stream.flush()?;
        }
        let mut found = [0; 8];
        let offset = last * self.size as u64;
        self.file.file.read_exact_at(&mut found, offset)?;
        if u64::from_ne_bytes(found) == self.written {
            return Ok(());
        }
        Err(Errno::check_failed(format!("a write at offset {offset} is not in the file")))
    }

    /// Verifies the last write. With a stream of the C library that is done only at the end of a
    /// pass, since checking would flush the buffer.
    pub fn verify_last_write(&mut self) -> Result<(), Errno> {
        if self.stream.is_some() { Ok(()) } else { self.verify() }
    }

    /// Makes its calls in this way from now on; returns whether it writes by raw calls, and waits
    /// for no disk.
    pub fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        self.method != WriteMethod::Fwrite && self.sync == SyncMethod::None
    }

    /// Writes `ops` pieces.
    pub fn write(&mut self, ops: u64) -> Result<(), OpError> {
        match self.how {
            RawCall::Inline => self.write_by::<false>(ops),
            RawCall::Function => self.write_by::<true>(ops),
        }
    }

    fn write_by<const FUNCTION: bool>(&mut self, ops: u64) -> Result<(), OpError> {
        if self.next_piece + ops > self.pieces() {
            return Err(OpError { op: 0, errno: Errno::E2BIG });
        }
        if ops > 0 {
            self.written = self.buffer.words_mut()[0];
        }
        let (begin, size) = (self.buffer.address() as u64, self.size as u64);
        let fd = self.file.file.as_raw_fd() as u64;
        let first = self.next_piece;
        let sync = |written: Result<(), Errno>| written.and_then(|()| self.sync_file(fd));
        let done = match (self.method, self.sync) {
            (WriteMethod::Write, SyncMethod::None) => {
                let args = [fd, begin, size, 0, 0, 0];
                // SAFETY: the buffer is as large.
                let write = || unsafe { syscall_by::<FUNCTION>(libc::SYS_write, args) };
                repeat(ops, |_| check_complete(write(), size))
            }
            (WriteMethod::Pwrite, SyncMethod::None) => repeat(ops, |op| {
                let args = [fd, begin, size, (first + op) * size, 0, 0];
                // SAFETY: the buffer is as large.
                let written = unsafe { syscall_by::<FUNCTION>(libc::SYS_pwrite64, args) };
                check_complete(written, size)
            }),
            (WriteMethod::Fwrite, SyncMethod::None) => match &self.stream {
                Some(stream) => repeat(ops, |_| stream.write(begin, self.size)),
                None => Err(OpError { op: 0, errno: Errno::EINVAL }),
            },
            // Each op waits for the disk: dispatching on the method does not show.
            (put, _) => repeat(ops, |op| {
                let args = [fd, begin, size, (first + op) * size, 0, 0];
                sync(match (put, &self.stream) {
                    (WriteMethod::Fwrite, Some(stream)) => {
                        stream.write(begin, self.size).and_then(|()| stream.flush())
                    }
                    // SAFETY: the buffer is as large.
                    (WriteMethod::Pwrite, _) => {
                        check_complete(unsafe { syscall(libc::SYS_pwrite64, args) }, size)
                    }
                    // SAFETY: the buffer is as large; the fourth argument is ignored.
                    _ => check_complete(unsafe { syscall(libc::SYS_write, args) }, size),
                })
            }),
        };
        self.next_piece += match done {
            Ok(()) => ops,
            Err(error) => error.op,
        };
        done
    }

    fn sync_file(&self, fd: u64) -> Result<(), Errno> {
        let number = match self.sync {
            SyncMethod::None => return Ok(()),
            SyncMethod::All => libc::SYS_fsync,
            SyncMethod::Data => libc::SYS_fdatasync,
        };
        // SAFETY: plain numbers.
        check_complete(unsafe { syscall(number, [fd, 0, 0, 0, 0, 0]) }, 0)
    }
}
