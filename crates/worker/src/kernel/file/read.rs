//! Reading a file, by every method.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use oscost_model::file::FileObservation;
use oscost_model::raw_call::RawCall;

use crate::kernel::arch::syscall_by;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::file::page_cache::{EvictMethod, cached_pages};
use crate::kernel::file::scratch_file::{
    ScratchFile, Stream, check_complete, copy_bytes, expected_word, repeat, seek_to_start,
};
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, OpError};

/// The method by which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMethod {
    /// read(2).
    Read,
    /// The C library's stream.
    Fread,
    /// A fresh mapping, whose pages fault when they are first touched.
    Mmap,
    /// A mapping whose pages have already faulted.
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

/// A file that is read from start to end, or in another order, `size` bytes at a time.
pub struct Reader {
    file: ScratchFile,
    method: ReadMethod,
    size: usize,
    /// The buffer that reads fill.
    buffer: Region,
    /// The order of the pieces; `None` for sequential.
    order: Option<Vec<u32>>,
    /// The number of pieces read since the start.
    next_piece: u64,
    /// The mapping of the whole file, if it is mapped.
    mapping: Option<Region>,
    stream: Option<Stream>,
    direct: Option<File>,
    ring: Option<Ring>,
    halves: Box<Halves>,
    /// How its calls are made.
    how: RawCall,
}

impl Reader {
    /// A reader at the start of a file.
    pub fn new(
        file: ScratchFile,
        method: ReadMethod,
        size: usize,
        order: Option<Vec<u32>>,
    ) -> Result<Self, Errno> {
        let buffer = Region::anonymous(size.next_multiple_of(PAGE_BYTES), PageKind::Small)?;
        buffer.touch_all(Access::Write);
        let (half, begin) = ((size / 2) as u64, buffer.address() as u64);
        let halves = Box::new([[begin, half], [begin + half, half]]);
        let ring = if method == ReadMethod::Ring { Some(Ring::new(1)?) } else { None };
        let direct =
            if method == ReadMethod::Direct { Some(open_direct(&file.file)?) } else { None };
        let (mapping, stream, next_piece) = (None, None, 0);
        let mut reader = Self {
            file,
            method,
            size,
            buffer,
            order,
            next_piece,
            mapping,
            stream,
            direct,
            ring,
            halves,
            how: RawCall::Inline,
        };
        reader.rewind()?;
        Ok(reader)
    }

    /// The number of reads in a pass.
    pub fn pieces(&self) -> u64 {
        self.file.bytes / self.size as u64
    }

    /// What was observed of the file.
    pub fn observation(&self) -> FileObservation {
        self.file.observation
    }

    /// Rewinds unless `ops` more reads fit, and verifies that the file is warm.
    pub fn rewind_if_needed(&mut self, ops: u64) -> Result<(), Errno> {
        if self.next_piece + ops <= self.pieces() && self.file.observation.checks > 0 {
            return Ok(());
        }
        self.rewind()?;
        self.file.warm()?;
        match &self.mapping {
            // Pre-faulted pages must be faulted again after a rewind; `Mmap` times those faults.
            Some(mapping) if self.method == ReadMethod::Mapped => mapping.touch_all(Access::Read),
            _ => {}
        }
        Ok(())
    }

    /// Rewinds, and verifies that the file is cold.
    pub fn rewind_cold(&mut self, method: EvictMethod) -> Result<(), Errno> {
        // Mapped pages are not dropped.
        self.mapping = None;
        self.file.evict(method)?;
        self.rewind()
    }

    /// Rewinds, and records how much of the file is still cached.
    pub fn restart(&mut self) -> Result<(), Errno> {
        self.file.check_cached()?;
        self.rewind()
    }

    /// Rewinds: a stream's buffer is emptied, a mapping's pages are dropped.
    pub fn rewind(&mut self) -> Result<(), Errno> {
        self.next_piece = 0;
        match self.method {
            ReadMethod::Read | ReadMethod::Readv => seek_to_start(&self.file.file),
            ReadMethod::Fread => {
                // Closing a stream moves the shared file position.
                self.stream = None;
                seek_to_start(&self.file.file)?;
                self.stream = Some(Stream::open(&self.file.file, c"r")?);
                Ok(())
            }
            ReadMethod::Mmap | ReadMethod::Mapped => match &self.mapping {
                Some(mapping) if self.method == ReadMethod::Mmap => {
                    mapping.advise(libc::MADV_DONTNEED)
                }
                Some(_) => Ok(()),
                None => {
                    let bytes = self.file.bytes as usize;
                    self.mapping = Some(Region::shared(&self.file.file, 0, bytes)?);
                    Ok(())
                }
            },
            ReadMethod::Pread | ReadMethod::Direct | ReadMethod::Ring => Ok(()),
        }
    }

    /// Checks that the last read returned the expected content, and that direct reads bypassed the
    /// cache.
    pub fn verify(&mut self) -> Result<(), Errno> {
        let Some(last) = self.next_piece.checked_sub(1) else { return Ok(()) };
        if self.method == ReadMethod::Direct {
            let cached = cached_pages(&self.file.file, self.file.bytes)?;
            if cached > 0 {
                return Err(Errno::check_failed(format!(
                    "O_DIRECT reads went through the page cache, which now holds {cached} pages"
                )));
            }
        }
        let offset = self.offset_of(last);
        let found = self.buffer.words_mut()[0];
        if found == expected_word(offset) {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "a read at offset {offset} returned {found:#x}, which is not what was written there"
        )))
    }

    /// The file offset of the `index`-th read.
    #[inline(always)]
    fn offset_of(&self, index: u64) -> u64 {
        let piece = match &self.order {
            None => index,
            Some(order) => u64::from(order[index as usize]),
        };
        piece * self.size as u64
    }

    /// Makes its calls in this way from now on; returns whether it reads by raw calls.
    pub fn set_raw_call(&mut self, how: RawCall) -> bool {
        use ReadMethod::{Direct, Pread, Read, Readv};
        self.how = how;
        matches!(self.method, Read | Readv | Pread | Direct)
    }

    /// Reads `ops` pieces.
    pub fn read(&mut self, ops: u64) -> Result<(), OpError> {
        match self.how {
            RawCall::Inline => self.read_by::<false>(ops),
            RawCall::Function => self.read_by::<true>(ops),
        }
    }

    fn read_by<const FUNCTION: bool>(&mut self, ops: u64) -> Result<(), OpError> {
        if self.next_piece + ops > self.pieces() {
            return Err(OpError { op: 0, errno: Errno::E2BIG });
        }
        let (begin, size) = (self.buffer.address() as u64, self.size as u64);
        let fd = self.file.file.as_raw_fd() as u64;
        let done = match self.method {
            ReadMethod::Read => {
                let args = [fd, begin, size, 0, 0, 0];
                // SAFETY: the buffer is as large, and not borrowed.
                let read = || unsafe { syscall_by::<FUNCTION>(libc::SYS_read, args) };
                repeat(ops, |_| check_complete(read(), size))
            }
            ReadMethod::Readv => {
                let args = [fd, self.halves.as_ptr() as u64, 2, 0, 0, 0];
                // SAFETY: both halves lie in the buffer, which is not borrowed.
                let read = || unsafe { syscall_by::<FUNCTION>(libc::SYS_readv, args) };
                repeat(ops, |_| check_complete(read(), size))
            }
            ReadMethod::Pread | ReadMethod::Direct => {
                let fd = self.direct.as_ref().map_or(fd, |direct| direct.as_raw_fd() as u64);
                repeat(ops, |op| {
                    let args = [fd, begin, size, self.offset_of(self.next_piece + op), 0, 0];
                    // SAFETY: the buffer is as large, and not borrowed.
                    let read = unsafe { syscall_by::<FUNCTION>(libc::SYS_pread64, args) };
                    check_complete(read, size)
                })
            }
            ReadMethod::Fread => match &self.stream {
                Some(stream) => repeat(ops, |_| stream.read(begin, self.size)),
                None => Err(OpError { op: 0, errno: Errno::EINVAL }),
            },
            ReadMethod::Mmap | ReadMethod::Mapped => match (&self.mapping, &self.order) {
                (Some(mapping), None) => {
                    let from = mapping.address() as u64 + self.next_piece * size;
                    repeat(ops, |op| {
                        // SAFETY: inside the mapping, and the buffer is as large.
                        unsafe { copy_bytes(begin, from + op * size, self.size) };
                        Ok(())
                    })
                }
                (Some(mapping), Some(_)) => repeat(ops, |op| {
                    let from = mapping.address() as u64 + self.offset_of(self.next_piece + op);
                    // SAFETY: inside the mapping, and the buffer is as large.
                    unsafe { copy_bytes(begin, from, self.size) };
                    Ok(())
                }),
                _ => Err(OpError { op: 0, errno: Errno::EINVAL }),
            },
            ReadMethod::Ring => match self.ring.take() {
                Some(mut ring) => {
                    let done = repeat(ops, |op| {
                        let offset = self.offset_of(self.next_piece + op);
                        // SAFETY: the buffer is as large, and lives until the read is done.
                        unsafe { ring.read(fd as i32, begin, size as u32, offset) }
                    });
                    self.ring = Some(ring);
                    done
                }
                None => Err(OpError { op: 0, errno: Errno::EINVAL }),
            },
        };
        self.next_piece += match done {
            Ok(()) => ops,
            Err(error) => error.op,
        };
        done
    }
}

/// Opens the same file again, to be read with O_DIRECT.
fn open_direct(file: &File) -> Result<File, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = File::options().read(true).custom_flags(libc::O_DIRECT).open(path);
    opened.map_err(|error| {
        Errno::unavailable(format!(
            "the file system does not support O_DIRECT: {error}; choose another folder, or \
             another via"
        ))
    })
}
