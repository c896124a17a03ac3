//! Writing a file, and knowing that its disk has it.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use oscost_model::file::FileObservation;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::file::scratch_file::{Laid, Stream, each, seek_to_begin, whole, word_at};
use crate::kernel::memory::region::{Access, PAGE_BYTES, Pages, Region};

/// By what a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// write(2).
    Write,
    /// pwrite(2).
    Pwrite,
    /// The C library's stream.
    Fwrite,
}

/// What follows each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Nothing.
    None,
    /// fsync(2).
    All,
    /// fdatasync(2).
    Data,
}

/// A file that is written from beginning to end, `size` bytes at a time.
pub struct Writer {
    laid: Laid,
    put: Put,
    sync: Sync,
    size: usize,
    /// Whether the file is emptied before each pass.
    anew: bool,
    /// What is written; its first word is new in each batch.
    buffer: Region,
    /// The word of the last batch.
    written: u64,
    at: u64,
    stream: Option<Stream>,
}

impl Writer {
    /// A writer of a file, at its beginning.
    pub fn new(laid: Laid, put: Put, sync: Sync, size: usize, anew: bool) -> Result<Self, Errno> {
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), Pages::Small)?;
        buffer.touch_all(Access::Write);
        let (written, at, stream) = (0, 0, None);
        let mut writer = Self { laid, put, sync, size, anew, buffer, written, at, stream };
        writer.rewind()?;
        Ok(writer)
    }

    /// The writes of a whole pass.
    pub fn pieces(&self) -> u64 {
        self.laid.bytes / self.size as u64
    }

    /// What was seen of the file.
    pub fn seen(&self) -> FileObservation {
        self.laid.seen
    }

    /// Goes back to the beginning unless `ops` more writes fit in.
    pub fn make_room(&mut self, ops: u64) -> Result<(), Errno> {
        if self.at + ops > self.pieces() || self.laid.seen.checks == 0 {
            self.verify()?;
            self.rewind()?;
        }
        self.buffer.words()[0] = word_at(self.buffer.words()[0]);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), Errno> {
        self.stream = None;
        self.at = 0;
        seek_to_begin(&self.laid.file)?;
        if self.anew {
            self.laid.file.set_len(0)?;
            self.laid.seen.add_check(0);
        } else {
            self.laid.warm()?;
        }
        if self.put == Put::Fwrite {
            self.stream = Some(Stream::of(&self.laid.file, c"r+")?);
        }
        Ok(())
    }

    /// Looks whether the last write has arrived: in the file, as others see it.
    fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.at.checked_sub(1) else { return Ok(()) };
        if let Some(stream) = &self.stream {
            stream.flush()?;
        }
        let mut found = [0; 8];
        let place = last * self.size as u64;
        self.laid.file.read_exact_at(&mut found, place)?;
        if u64::from_ne_bytes(found) == self.written {
            return Ok(());
        }
        Err(Errno::check_failed(format!("a write at {place} has not arrived")))
    }

    /// Proves that the last write has arrived; what a stream of the C library holds back is looked for
    /// at the end of a pass, since asking would push it out.
    pub fn prove(&mut self) -> Result<(), Errno> {
        if self.stream.is_some() { Ok(()) } else { self.verify() }
    }

    /// Writes so many pieces; says at which it went wrong.
    pub fn write(&mut self, ops: u64) -> Result<(), (u64, Errno)> {
        if self.at + ops > self.pieces() {
            return Err((0, Errno::E2BIG));
        }
        if ops > 0 {
            self.written = self.buffer.words()[0];
        }
        let (begin, size) = (self.buffer.address() as u64, self.size as u64);
        let fd = self.laid.file.as_raw_fd() as u64;
        let at = self.at;
        let sync = |written: Result<(), Errno>| written.and_then(|()| self.sync_of(fd));
        let done = match (self.put, self.sync) {
            (Put::Write, Sync::None) => {
                let args = [fd, begin, size, 0, 0, 0];
                // SAFETY: the buffer is as large.
                each(ops, |_| whole(unsafe { syscall(libc::SYS_write, args) }, size))
            }
            (Put::Pwrite, Sync::None) => each(ops, |op| {
                let args = [fd, begin, size, (at + op) * size, 0, 0];
                // SAFETY: the buffer is as large.
                whole(unsafe { syscall(libc::SYS_pwrite64, args) }, size)
            }),
            (Put::Fwrite, Sync::None) => match &self.stream {
                Some(stream) => each(ops, |_| stream.write(begin, self.size)),
                None => Err((0, Errno::EINVAL)),
            },
            // A disk is waited for: how the call is chosen shows nowhere.
            (put, _) => each(ops, |op| {
                let args = [fd, begin, size, (at + op) * size, 0, 0];
                sync(match (put, &self.stream) {
                    (Put::Fwrite, Some(stream)) => {
                        stream.write(begin, self.size).and_then(|()| stream.flush())
                    }
                    // SAFETY: the buffer is as large.
                    (Put::Pwrite, _) => whole(unsafe { syscall(libc::SYS_pwrite64, args) }, size),
                    // SAFETY: the buffer is as large; the fourth argument is not looked at.
                    _ => whole(unsafe { syscall(libc::SYS_write, args) }, size),
                })
            }),
        };
        self.at += match done {
            Ok(()) => ops,
            Err((op, _)) => op,
        };
        done
    }

    fn sync_of(&self, fd: u64) -> Result<(), Errno> {
        let number = match self.sync {
            Sync::None => return Ok(()),
            Sync::All => libc::SYS_fsync,
            Sync::Data => libc::SYS_fdatasync,
        };
        // SAFETY: plain numbers.
        whole(unsafe { syscall(number, [fd, 0, 0, 0, 0, 0]) }, 0)
    }
}
