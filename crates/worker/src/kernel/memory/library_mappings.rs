//! Many mappings like those of libraries.

use std::ffi::c_void;

use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::memory::memory_file;
use crate::kernel::memory::region::kernel_page_bytes;

/// The pages of each.
const PAGES: usize = 2;

/// Private mappings of two pages each of a file in memory, one beside the other: in turn a read-only
/// one that was read, as code and constants are, and a writable one that was written to, as data are.
/// Those beside each other differ in their protection, so that the kernel merges none of them.
pub struct LibraryMappings {
    /// All of them; none if there are none.
    _whole: Option<Mapping>,
}

impl LibraryMappings {
    /// So many of them. ENOMEM if that is more than `vm.max_map_count` allows.
    pub fn new(count: usize) -> Result<Self, Errno> {
        if count == 0 {
            return Ok(Self { _whole: None });
        }
        let page = kernel_page_bytes();
        let bytes = PAGES * page;
        let file = memory_file::create("libraries", (count * bytes) as u64)?;
        file.set_len((count * bytes) as u64)?;
        let whole = Mapping::private(count * bytes)?;
        for from in (0..count).map(|index| index * bytes) {
            let is_written = (from / bytes) % 2 == 1;
            let access =
                if is_written { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            // SAFETY: it replaces a part of the mapping, which nothing refers to.
            unsafe {
                let at = whole.pointer::<c_void>(from).as_ptr();
                mmap(at, bytes, access, flags, &file, from as u64)?;
            }
            for at in (from..from + bytes).step_by(page) {
                // SAFETY: the page lies inside the mapping, and may be written where it is.
                unsafe {
                    let first = whole.pointer::<u8>(at).as_ptr();
                    if is_written {
                        first.write_volatile(1);
                    } else {
                        first.read_volatile();
                    }
                }
            }
        }
        Ok(Self { _whole: Some(whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    /// The protection of each mapping of the file, and its bytes.
    fn mappings() -> Vec<(String, u64)> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let of_file = maps.lines().filter(|line| line.contains("memfd:libraries"));
        let parsed = of_file.map(|line| {
            let mut words = line.split_whitespace();
            let (begin, end) = words.next().unwrap().split_once('-').unwrap();
            let [begin, end] = [begin, end].map(|it| u64::from_str_radix(it, 16).unwrap());
            (words.next().unwrap().to_owned(), end - begin)
        });
        parsed.collect()
    }

    #[test]
    fn each_is_a_mapping_of_its_own_until_all_are_dropped() {
        in_own_process(|| {
            for count in [0, 1, 2, 83] {
                let libraries = LibraryMappings::new(count).unwrap();
                let bytes = (PAGES * kernel_page_bytes()) as u64;
                let of = |index: usize| if index.is_multiple_of(2) { "r--p" } else { "rw-p" };
                let expected: Vec<(String, u64)> =
                    (0..count).map(|index| (of(index).to_owned(), bytes)).collect();
                assert_eq!(mappings(), expected);
                drop(libraries);
                assert_eq!(mappings(), []);
            }
        });
    }

    #[test]
    fn each_page_is_mapped_and_those_that_were_written_are_private() {
        in_own_process(|| {
            let libraries = LibraryMappings::new(4).unwrap();
            let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let of_file = text.split("memfd:libraries").skip(1);
            let kib = |smaps: &str, field: &str| {
                let line = smaps.lines().find_map(|line| line.strip_prefix(field));
                let number = line.unwrap().split_whitespace().next().unwrap();
                number.parse::<u64>().unwrap()
            };
            let found: Vec<[u64; 2]> =
                of_file.map(|it| ["Rss:", "Anonymous:"].map(|field| kib(it, field))).collect();
            let all = (PAGES * kernel_page_bytes()) as u64 >> 10;
            assert_eq!(found, [[all, 0], [all, all], [all, 0], [all, all]]);
            drop(libraries);
        });
    }
}
