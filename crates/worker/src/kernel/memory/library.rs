//! The mappings of a library, as the dynamic linker makes them.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::kernel::Errno;
use crate::kernel::arch::syscall_by;
use crate::kernel::errno::raw_result;
use crate::kernel::memory::memory_file;
use crate::kernel::memory::region::PAGE_BYTES;

const READ: u64 = libc::PROT_READ as u64;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const PRIVATE: u64 = libc::MAP_PRIVATE as u64;
const PRIVATE_FIXED: u64 = (libc::MAP_PRIVATE | libc::MAP_FIXED) as u64;
const ANONYMOUS_FIXED: u64 = PRIVATE_FIXED | libc::MAP_ANONYMOUS as u64;
/// No descriptor.
const NONE: u64 = u64::MAX;

/// The parts that are mapped over the whole begin at so many sixteenths of it: code, constants, data,
/// and data that is zero.
const PARTS: [u64; 4] = [2, 11, 14, 15];
const SIXTEENTHS: u64 = 16;

/// A file in memory that is mapped as a library is.
pub struct Library {
    file: File,
    bytes: u64,
}

impl Library {
    /// One of so many bytes: a multiple of 16 pages.
    #[inline(never)]
    pub fn new(bytes: u64) -> Result<Self, Errno> {
        if bytes == 0 || !bytes.is_multiple_of(SIXTEENTHS * PAGE_BYTES as u64) {
            return Err(Errno::EINVAL);
        }
        let file = memory_file::create("library", bytes)?;
        file.set_len(bytes)?;
        Ok(Self { file, bytes })
    }

    /// Maps the whole, four parts over it, and unmaps all of it.
    #[inline(always)]
    pub fn map_and_unmap_by<const FUNCTION: bool>(&self) -> Result<(), Errno> {
        let begin = self.map_by::<FUNCTION>()?;
        // SAFETY: nothing but the mappings of this library lies there, and nothing refers to them.
        let result =
            unsafe { syscall_by::<FUNCTION>(libc::SYS_munmap, [begin, self.bytes, 0, 0, 0, 0]) };
        raw_result(result).map(drop)
    }

    /// Maps it, and returns its address.
    #[inline(always)]
    fn map_by<const FUNCTION: bool>(&self) -> Result<u64, Errno> {
        let (fd, bytes) = (self.file.as_raw_fd() as u64, self.bytes);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let begin = raw_result(unsafe {
            syscall_by::<FUNCTION>(libc::SYS_mmap, [0, bytes, READ, PRIVATE, fd, 0])
        })? as u64;
        let [code, constants, data, zeros] = PARTS.map(|part| part * (bytes / SIXTEENTHS));
        // The code is writable, and not executable: not every system allows that of a file in memory.
        // What matters is that it is no part of the mappings beside it.
        let parts = [
            [begin + code, constants - code, READ_WRITE, PRIVATE_FIXED, fd, code],
            [begin + constants, data - constants, READ, PRIVATE_FIXED, fd, constants],
            [begin + data, zeros - data, READ_WRITE, PRIVATE_FIXED, fd, data],
            [begin + zeros, bytes - zeros, READ_WRITE, ANONYMOUS_FIXED, NONE, 0],
        ];
        for part in parts {
            // SAFETY: it replaces a part of the mapping above, to which nothing refers.
            raw_result(unsafe { syscall_by::<FUNCTION>(libc::SYS_mmap, part) })?;
        }
        Ok(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mappings of this process between two addresses: their protection, and whether they are of
    /// a file.
    fn mappings(begin: u64, end: u64) -> Vec<(String, bool)> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let parsed = maps.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (from, _) = words.next()?.split_once('-')?;
            let from = u64::from_str_radix(from, 16).ok()?;
            let protection = words.next()?.to_owned();
            (begin..end).contains(&from).then(|| (protection, line.contains("library")))
        });
        parsed.collect()
    }

    #[test]
    fn a_library_has_five_mappings_and_none_when_it_is_unmapped() {
        let bytes = 256 << 10;
        let library = Library::new(bytes).unwrap();
        for _ in 0..2 {
            let begin = library.map_by::<false>().unwrap();
            let found = mappings(begin, begin + bytes);
            let of_file = [("r--p", true), ("rw-p", true), ("r--p", true), ("rw-p", true)];
            let expected = of_file.into_iter().chain([("rw-p", false)]);
            let expected: Vec<(String, bool)> =
                expected.map(|(protection, file)| (protection.to_owned(), file)).collect();
            assert_eq!(found, expected);
            // SAFETY: they are those of the library alone.
            assert_eq!(unsafe { libc::munmap(begin as *mut _, bytes as usize) }, 0);
        }
        assert_eq!(library.map_and_unmap_by::<false>(), Ok(()));
        assert_eq!(library.map_and_unmap_by::<true>(), Ok(()));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains("memfd:library"), "{maps}");
        assert_eq!(Library::new(4_096).err(), Some(Errno::EINVAL));
    }
}
