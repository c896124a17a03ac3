//! A file that is read, written and copied again and again, by calls that are known.
//!
//! Raw calls are the bare instruction; streams are the C library's, whose buffer is the subject.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use oscost_model::file::{Backing, FileObservation, file_system};

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::opaque;
use crate::kernel::file::location::{Location, file_system_of, unnamed_file};
use crate::kernel::file::page_cache::{EvictMethod, cached_pages, evict};
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};

/// Files are laid in pieces of this size, which every size of an op divides or is a multiple of.
const PIECE_BYTES: usize = 1 << 20;

/// The word that stands at a place of a laid file: no two are alike, and none is zero, so that no
/// file system can make them smaller.
pub(super) fn expected_word(place: u64) -> u64 {
    (place | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A file full of known words, on its disk where it has one, and in the cache.
pub struct ScratchFile {
    /// The file, which has no name.
    pub file: File,
    /// How long it is.
    pub bytes: u64,
    /// What was seen of it.
    pub observation: FileObservation,
}

impl ScratchFile {
    /// Lays a file of so many bytes, a whole number of MiB.
    #[inline(never)]
    pub fn new(place: Location, bytes: u64, cold: bool) -> Result<Self, Errno> {
        let file = unnamed_file(place, bytes)?;
        let mut piece = Region::anonymous(PIECE_BYTES, PageKind::Small)?;
        for from in (0..bytes).step_by(PIECE_BYTES) {
            let words = piece.words_mut();
            for (index, word) in words.iter_mut().enumerate() {
                *word = expected_word(from + 8 * index as u64);
            }
            // SAFETY: the words are plain bytes, borrowed for as long as the slice lives.
            let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), PIECE_BYTES) };
            file.write_all_at(bytes, from)?;
        }
        // What is still to be written would be written while others are timed.
        file.sync_all()?;
        let (filesystem, _) = file_system_of(&file)?;
        let pages = bytes.div_ceil(PAGE_BYTES as u64);
        let seen = FileObservation { filesystem, pages, cold, ..FileObservation::default() };
        Ok(Self { file, bytes, observation: seen })
    }

    /// Looks how much of it is cached, and notes it.
    pub fn check_cached(&mut self) -> Result<u64, Errno> {
        let cached = cached_pages(&self.file, self.bytes)?;
        self.observation.add_check(cached);
        Ok(cached)
    }

    /// Whether it lies in memory, by its file system.
    pub fn is_in_memory(&self) -> bool {
        file_system(self.observation.filesystem).1 == Backing::Memory
    }

    /// Proves that all of it is cached; if it is not, reads it through and looks again.
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
                 all of them were read; its control group's memory is too small for it: a smaller \
                 file_mib"
            ))),
        }
    }

    /// Makes the cache forget it, and proves that.
    pub fn evict(&mut self, how: EvictMethod) -> Result<(), Errno> {
        evict(&self.file, self.bytes, how)?;
        self.check_cached().map(drop)
    }
}

/// The loop that is timed.
#[inline(always)]
pub(in crate::kernel) fn repeat(
    ops: u64,
    mut op: impl FnMut(u64) -> Result<(), Errno>,
) -> Result<(), (u64, Errno)> {
    let mut index = 0;
    while index < opaque(ops) {
        if let Err(why) = op(index) {
            return Err((index, why));
        }
        index += 1;
    }
    Ok(())
}

/// A call that must have moved all of `size` bytes.
#[inline(always)]
pub(super) fn check_complete(result: i64, size: u64) -> Result<(), Errno> {
    if result as u64 == size { Ok(()) } else { incomplete(result) }
}

#[cold]
fn incomplete(result: i64) -> Result<(), Errno> {
    Err(if result < 0 { Errno(-result as i32) } else { Errno::EPROTO })
}

/// Copies by the C library's memcpy; the compiler knows neither place, so that no copy of a row can
/// be left out.
///
/// # Safety
/// Both places have so many bytes, apart from each other.
#[inline(always)]
pub(super) unsafe fn copy_bytes(to: u64, from: u64, bytes: usize) {
    // SAFETY: the caller vouches for both.
    unsafe { libc::memcpy(opaque(to) as *mut _, opaque(from) as *const _, bytes) };
}

pub(super) fn seek_to_start(file: &File) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET) }).map(drop)
}

/// The buffer of a stream: what the C library takes on most file systems (`st_blksize`).
const STREAM_BYTES: usize = 4_096;

/// A stream of the C library's (`FILE *`). Its buffer is handed to it, or the library would ask for
/// a size and for memory in the first op.
pub(super) struct Stream {
    stream: NonNull<libc::FILE>,
    _buffer: Box<[u8; STREAM_BYTES]>,
}

impl Stream {
    /// A stream of its own descriptor of this file; both share the file's position.
    pub(super) fn open(file: &File, mode: &'static CStr) -> Result<Self, Errno> {
        let fd = file.try_clone()?.into_raw_fd();
        // SAFETY: the descriptor is ours, and handed over; the mode is a string with an end.
        match NonNull::new(unsafe { libc::fdopen(fd, mode.as_ptr()) }) {
            Some(stream) => {
                let mut buffer = Box::new([0; STREAM_BYTES]);
                let at = buffer.as_mut_ptr().cast();
                // SAFETY: nothing was read yet; the buffer is dropped after the stream is closed.
                unsafe { libc::setvbuf(stream.as_ptr(), at, libc::_IOFBF, STREAM_BYTES) };
                Ok(Self { stream, _buffer: buffer })
            }
            None => {
                let error = Errno::last();
                // SAFETY: nobody has taken the descriptor.
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
        // SAFETY: it is open, and this value alone has it.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}
