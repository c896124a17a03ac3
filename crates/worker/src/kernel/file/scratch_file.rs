//! A scratch file of known content, for benchmarks that read, write and copy it.
//!
//! Raw calls use the raw instruction; streams are the C library's, whose buffer is the subject.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use oscost_model::file::{Backing, FileObservation, file_system};

use crate::kernel::cpu::black_box::opaque;
use crate::kernel::file::location::{Location, file_system_type, unnamed_file};
use crate::kernel::file::page_cache::{EvictMethod, cached_pages, evict};
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// Files are written in pieces of this size, which every op size divides or is a multiple of.
const PIECE_BYTES: usize = 1 << 20;

/// The word at an offset of a scratch file: all are distinct and nonzero, so that no file system
/// can compress or share them.
pub(super) fn expected_word(offset: u64) -> u64 {
    (offset | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A file of known words, synced to its disk if it has one, and cached.
pub struct ScratchFile {
    /// The unnamed file.
    pub file: File,
    /// Its length.
    pub bytes: u64,
    /// What was observed of it.
    pub observation: FileObservation,
}

impl ScratchFile {
    /// Creates a file of `bytes` bytes, a whole number of MiB.
    #[inline(never)]
    pub fn new(location: Location, bytes: u64, cold: bool) -> Result<Self, Errno> {
        let file = unnamed_file(location, bytes)?;
        let mut piece = Region::anonymous(PIECE_BYTES, PageKind::Small)?;
        for from in (0..bytes).step_by(PIECE_BYTES) {
            let words = piece.words_mut();
            for (index, word) in words.iter_mut().enumerate() {
                *word = expected_word(from + 8 * index as u64);
            }
            // SAFETY: the words are valid bytes, borrowed for as long as the slice lives.
            let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), PIECE_BYTES) };
            file.write_all_at(bytes, from)?;
        }
        // Otherwise dirty pages would be written back during later measurements.
        file.sync_all()?;
        let filesystem = file_system_type(&file)?;
        let pages = bytes.div_ceil(PAGE_BYTES as u64);
        let observation = FileObservation { filesystem, pages, cold, ..FileObservation::default() };
        Ok(Self { file, bytes, observation })
    }

    /// Records how much of it is cached.
    pub fn check_cached(&mut self) -> Result<u64, Errno> {
        let cached = cached_pages(&self.file, self.bytes)?;
        self.observation.add_check(cached);
        Ok(cached)
    }

    /// Whether its file system is in memory.
    pub fn is_in_memory(&self) -> bool {
        file_system(self.observation.filesystem).backing == Backing::Memory
    }

    /// Verifies that all of it is cached; if not, reads it once and checks again.
    pub fn warm(&mut self) -> Result<(), Errno> {
        let pages = self.observation.pages;
        if cached_pages(&self.file, self.bytes)? < pages {
            let mut piece = vec![0; PIECE_BYTES];
            for from in (0..self.bytes).step_by(PIECE_BYTES) {
                self.file.read_exact_at(&mut piece, from)?;
            }
        }
        match self.check_cached()? {
            cached if cached >= pages => Ok(()),
            cached => Err(Errno::unavailable(format!(
                "the file is not warm: the cache holds {cached} of its {pages} pages, just after \
                 all were read: its control group has too little memory; choose a smaller file_mib"
            ))),
        }
    }

    /// Evicts it from the cache and verifies that.
    pub fn evict(&mut self, method: EvictMethod) -> Result<(), Errno> {
        evict(&self.file, self.bytes, method)?;
        self.check_cached().map(drop)
    }
}

/// The timed loop.
#[inline(always)]
pub(in crate::kernel) fn repeat(
    ops: u64,
    mut op: impl FnMut(u64) -> Result<(), Errno>,
) -> Result<(), OpError> {
    let mut index = 0;
    while index < opaque(ops) {
        if let Err(errno) = op(index) {
            return Err(OpError { op: index, errno });
        }
        index += 1;
    }
    Ok(())
}

/// Checks that a call transferred all `size` bytes.
#[inline(always)]
pub(super) fn check_complete(result: i64, size: u64) -> Result<(), Errno> {
    if result as u64 == size { Ok(()) } else { incomplete(result) }
}

#[cold]
fn incomplete(result: i64) -> Result<(), Errno> {
    Err(if result < 0 { Errno(-result as i32) } else { Errno::EPROTO })
}

/// Copies by the C library's memcpy; both addresses are hidden from the compiler, so that no
/// repeated copy is removed.
///
/// # Safety
/// Both ranges are valid for `bytes` bytes and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_bytes(to: u64, from: u64, bytes: usize) {
    // SAFETY: the caller guarantees both.
    unsafe { libc::memcpy(opaque(to) as *mut _, opaque(from) as *const _, bytes) };
}

pub(super) fn seek_to_start(file: &File) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET) }).map(drop)
}

/// A stream's buffer size: what the C library uses on most file systems (`st_blksize`).
const STREAM_BYTES: usize = 4_096;

/// A stream of the C library (`FILE *`). Its buffer is set explicitly, since the library would
/// otherwise call fstat(2) and allocate in the first op.
pub(super) struct Stream {
    stream: NonNull<libc::FILE>,
    _buffer: Box<[u8; STREAM_BYTES]>,
}

impl Stream {
    /// A stream on a duplicate of the file's descriptor; both share the file position.
    pub(super) fn open(file: &File, mode: &'static CStr) -> Result<Self, Errno> {
        let fd = file.try_clone()?.into_raw_fd();
        // SAFETY: the descriptor is owned here and handed over; the mode is NUL-terminated.
        match NonNull::new(unsafe { libc::fdopen(fd, mode.as_ptr()) }) {
            Some(stream) => {
                let mut buffer = Box::new([0; STREAM_BYTES]);
                let at = buffer.as_mut_ptr().cast();
                // SAFETY: nothing was read yet; the buffer outlives the stream.
                unsafe { libc::setvbuf(stream.as_ptr(), at, libc::_IOFBF, STREAM_BYTES) };
                Ok(Self { stream, _buffer: buffer })
            }
            None => {
                let error = Errno::last();
                // SAFETY: the descriptor was not handed over.
                unsafe { libc::close(fd) };
                Err(error)
            }
        }
    }

    #[inline(always)]
    pub(super) fn read(&self, to: u64, bytes: usize) -> Result<(), Errno> {
        // SAFETY: the caller's buffer is as large; the stream is open.
        let read = unsafe { libc::fread(to as *mut _, 1, bytes, self.stream.as_ptr()) };
        if read == bytes { Ok(()) } else { Err(Errno::EPROTO) }
    }

    #[inline(always)]
    pub(super) fn write(&self, from: u64, bytes: usize) -> Result<(), Errno> {
        // SAFETY: the caller's buffer is as large; the stream is open.
        let written = unsafe { libc::fwrite(from as *const _, 1, bytes, self.stream.as_ptr()) };
        if written == bytes { Ok(()) } else { Err(Errno::EPROTO) }
    }

    pub(super) fn flush(&self) -> Result<(), Errno> {
        // SAFETY: the stream is open.
        Errno::check(unsafe { libc::fflush(self.stream.as_ptr()) }).map(drop)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and only this value refers to it.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}
