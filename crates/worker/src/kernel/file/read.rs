//! Reading a file, in every way there is.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use oscost_model::file::FileObservation;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::file::page_cache::{Evict, cached_pages};
use crate::kernel::file::scratch_file::{
    Laid, Stream, copy_out, each, seek_to_begin, whole, word_at,
};
use crate::kernel::memory::region::{Access, PAGE_BYTES, Pages, Region};

/// By what a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// read(2).
    Read,
    /// The C library's stream.
    Fread,
    /// A fresh mapping, whose pages fault when they are first touched.
    Mmap,
    /// A mapping whose pages have faulted before.
    Mapped,
    /// pread(2).
    Pread,
    /// readv(2) into two halves.
    Readv,
    /// pread(2) of a file that was opened with O_DIRECT.
    Direct,
    /// io_uring(7), one read at a time.
    Ring,
}

/// Two halves of a buffer (`struct iovec`).
type Halves = [[u64; 2]; 2];

/// A file that is read from beginning to end, or in another order, `size` bytes at a time.
pub struct Reader {
    laid: Laid,
    via: Via,
    size: usize,
    /// Where reads go.
    buffer: Region,
    /// Which piece comes when; none for one after the other.
    order: Option<Vec<u32>>,
    /// How many pieces have been read since the beginning.
    at: u64,
    /// Of the whole file, where it is mapped.
    mapping: Option<Region>,
    stream: Option<Stream>,
    direct: Option<File>,
    ring: Option<Ring>,
    halves: Box<Halves>,
}

impl Reader {
    /// A reader of a file, at its beginning.
    pub fn new(laid: Laid, via: Via, size: usize, order: Option<Vec<u32>>) -> Result<Self, Errno> {
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), Pages::Small)?;
        buffer.touch_all(Access::Write);
        let (half, begin) = ((size / 2) as u64, buffer.address() as u64);
        let halves = Box::new([[begin, half], [begin + half, half]]);
        let ring = if via == Via::Ring { Some(Ring::new(1)?) } else { None };
        let direct = if via == Via::Direct { Some(past_the_cache(&laid.file)?) } else { None };
        let (mapping, stream, at) = (None, None, 0);
        let mut reader =
            Self { laid, via, size, buffer, order, at, mapping, stream, direct, ring, halves };
        reader.rewind()?;
        Ok(reader)
    }

    /// The reads of a whole pass.
    pub fn pieces(&self) -> u64 {
        self.laid.bytes / self.size as u64
    }

    /// What was seen of the file.
    pub fn seen(&self) -> FileObservation {
        self.laid.seen
    }

    /// Goes back to the beginning unless `ops` more reads fit in, and proves that the file is warm.
    pub fn make_room(&mut self, ops: u64) -> Result<(), Errno> {
        if self.at + ops <= self.pieces() && self.laid.seen.checks > 0 {
            return Ok(());
        }
        self.rewind()?;
        self.laid.warm()?;
        match &self.mapping {
            // Its pages are to fault again; a fresh one has none.
            Some(mapping) if self.via == Via::Mapped => mapping.touch_all(Access::Read),
            _ => {}
        }
        Ok(())
    }

    /// Goes back to the beginning of a file that is proven to be cold.
    pub fn make_cold(&mut self, how: Evict) -> Result<(), Errno> {
        // What is mapped is not dropped.
        self.mapping = None;
        self.laid.cool(how)?;
        self.rewind()
    }

    /// Goes back to the beginning, and looks how much of the file is still cached.
    pub fn begin_again(&mut self) -> Result<(), Errno> {
        self.laid.look()?;
        self.rewind()
    }

    /// Goes back to the beginning: a stream's buffer is empty, a mapping has no page.
    pub fn rewind(&mut self) -> Result<(), Errno> {
        self.at = 0;
        match self.via {
            Via::Read | Via::Readv => seek_to_begin(&self.laid.file),
            Via::Fread => {
                // A stream that is closed moves the position that it shares.
                self.stream = None;
                seek_to_begin(&self.laid.file)?;
                self.stream = Some(Stream::of(&self.laid.file, c"r")?);
                Ok(())
            }
            Via::Mmap | Via::Mapped => match &self.mapping {
                Some(mapping) if self.via == Via::Mmap => mapping.advise(libc::MADV_DONTNEED),
                Some(_) => Ok(()),
                None => {
                    let bytes = self.laid.bytes as usize;
                    self.mapping = Some(Region::shared(&self.laid.file, 0, bytes)?);
                    Ok(())
                }
            },
            Via::Pread | Via::Direct | Via::Ring => Ok(()),
        }
    }

    /// Looks whether the last read has brought what stands there, and whether one past the cache
    /// has gone past it.
    pub fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.at.checked_sub(1) else { return Ok(()) };
        if self.via == Via::Direct {
            let cached = cached_pages(&self.laid.file, self.laid.bytes)?;
            if cached > 0 {
                return Err(Errno::check_failed(format!(
                    "reads of O_DIRECT went through the cache, which holds {cached} pages now"
                )));
            }
        }
        let place = self.place(last);
        let found = self.buffer.words()[0];
        if found == word_at(place) {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "a read at {place} brought {found:#x}: not what was written there"
        )))
    }

    /// Where the `index`-th read begins.
    #[inline(always)]
    fn place(&self, index: u64) -> u64 {
        let piece = match &self.order {
            None => index,
            Some(order) => u64::from(order[index as usize]),
        };
        piece * self.size as u64
    }

    /// Reads so many pieces; says at which it went wrong.
    pub fn read(&mut self, ops: u64) -> Result<(), (u64, Errno)> {
        if self.at + ops > self.pieces() {
            return Err((0, Errno::E2BIG));
        }
        let (begin, size) = (self.buffer.address() as u64, self.size as u64);
        let fd = self.laid.file.as_raw_fd() as u64;
        let done = match self.via {
            Via::Read => {
                let args = [fd, begin, size, 0, 0, 0];
                // SAFETY: the buffer is as large, and nobody borrows from it.
                each(ops, |_| whole(unsafe { syscall(libc::SYS_read, args) }, size))
            }
            Via::Readv => {
                let args = [fd, self.halves.as_ptr() as u64, 2, 0, 0, 0];
                // SAFETY: both halves lie in the buffer, of which nobody borrows.
                each(ops, |_| whole(unsafe { syscall(libc::SYS_readv, args) }, size))
            }
            Via::Pread | Via::Direct => {
                let fd = self.direct.as_ref().map_or(fd, |direct| direct.as_raw_fd() as u64);
                each(ops, |op| {
                    let args = [fd, begin, size, self.place(self.at + op), 0, 0];
                    // SAFETY: the buffer is as large, and nobody borrows from it.
                    whole(unsafe { syscall(libc::SYS_pread64, args) }, size)
                })
            }
            Via::Fread => match &self.stream {
                Some(stream) => each(ops, |_| stream.read(begin, self.size)),
                None => Err((0, Errno::EINVAL)),
            },
            Via::Mmap | Via::Mapped => match (&self.mapping, &self.order) {
                (Some(mapping), None) => {
                    let from = mapping.address() as u64 + self.at * size;
                    each(ops, |op| {
                        // SAFETY: inside the mapping, and the buffer is as large.
                        unsafe { copy_out(begin, from + op * size, self.size) };
                        Ok(())
                    })
                }
                (Some(mapping), Some(_)) => each(ops, |op| {
                    let from = mapping.address() as u64 + self.place(self.at + op);
                    // SAFETY: inside the mapping, and the buffer is as large.
                    unsafe { copy_out(begin, from, self.size) };
                    Ok(())
                }),
                _ => Err((0, Errno::EINVAL)),
            },
            Via::Ring => match self.ring.take() {
                Some(mut ring) => {
                    let done = each(ops, |op| {
                        let place = self.place(self.at + op);
                        // SAFETY: the buffer is as large, and stays until the read is done.
                        unsafe { ring.read(fd as i32, begin, size as u32, place) }
                    });
                    self.ring = Some(ring);
                    done
                }
                None => Err((0, Errno::EINVAL)),
            },
        };
        self.at += match done {
            Ok(()) => ops,
            Err((op, _)) => op,
        };
        done
    }
}

/// The same file, opened once more to be read past the cache.
fn past_the_cache(file: &File) -> Result<File, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = File::options().read(true).custom_flags(libc::O_DIRECT).open(path);
    opened.map_err(|error| {
        Errno::unavailable(format!(
            "the file system knows no O_DIRECT: {error}; another folder, or another via"
        ))
    })
}
