//! The pages that the relocation of this program has written.
//!
//! A position-independent program starts by writing its load address into its tables of pointers.
//! They are read-only from then on (PT_GNU_RELRO), but they are private pages, for each of which
//! fork(2) copies an entry, and exit frees it. A program at a fixed address has none: its tables
//! are pages of its file, which a child maps when it reads them.

use std::io::Write;
use std::ops::Range;

use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::memory_file;
use super::region::kernel_page_bytes;
use crate::kernel::Errno;

/// Maps pages of a file in memory in place of the relocated ones, with the same content at the same
/// addresses: forks then copy no entries of them. Before other threads are started.
pub fn share() -> Result<(), Errno> {
    let Some(pages) = relocated_pages() else { return Ok(()) };
    let start = std::ptr::with_exposed_provenance_mut::<u8>(pages.start);
    let mut file = memory_file::create("relocated", pages.len() as u64)?;
    // SAFETY: the C library has made these pages readable and read-only before `main`; whatever is
    // in them stays mapped, and its bytes are copied by the kernel.
    file.write_all(unsafe { std::slice::from_raw_parts(start, pages.len()) })?;
    // All present, so that no op is the first to read one.
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::POPULATE;
    // SAFETY: the kernel replaces the pages in one step. Their bytes are the same before and after,
    // and nothing writes to them: they were read-only.
    unsafe { mmap(start.cast(), pages.len(), ProtFlags::READ, flags, &file, 0) }?;
    Ok(())
}

/// The addresses of these pages; `None` if the program has none, or if its C library is not known
/// to make them read-only.
fn relocated_pages() -> Option<Range<usize>> {
    if !cfg!(target_env = "gnu") {
        return None;
    }
    // SAFETY: plain numbers, from the vector that the kernel passes to each program.
    let [address, count] =
        unsafe { [libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)] };
    let (address, count) = (address as usize, count as usize);
    if address == 0 {
        return None;
    }
    let first = std::ptr::with_exposed_provenance::<libc::Elf64_Phdr>(address);
    // SAFETY: the program headers are mapped as long as the program is; these are their address and
    // their number.
    let headers = unsafe { std::slice::from_raw_parts(first, count) };
    let header = |kind: u32| headers.iter().find(|header| header.p_type == kind);
    let base = address.checked_sub(header(libc::PT_PHDR)?.p_vaddr as usize)?;
    let relocated = header(libc::PT_GNU_RELRO)?;
    let page = kernel_page_bytes();
    // The C library makes whole pages read-only, as far as they reach.
    let round_down = |address: usize| address - address % page;
    let start = base.checked_add(relocated.p_vaddr as usize)?;
    let end = start.checked_add(relocated.p_memsz as usize)?;
    let pages = round_down(start)..round_down(end);
    (!pages.is_empty()).then_some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of pointers: it is relocated.
    static TABLE: [&str; 3] = ["one", "two", "three"];

    #[test]
    fn a_table_of_pointers_is_in_relocated_pages_that_are_read_only() {
        let pages = relocated_pages().unwrap();
        assert!(pages.contains(&TABLE.as_ptr().addr()));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let access = |address: usize| {
            let of = |line: &str| -> Option<(Range<usize>, String)> {
                let (range, rest) = line.split_once(' ')?;
                let (from, to) = range.split_once('-')?;
                let number = |text: &str| usize::from_str_radix(text, 16).ok();
                Some((number(from)?..number(to)?, rest.chars().take(4).collect()))
            };
            maps.lines().filter_map(of).find(|(range, _)| range.contains(&address))
        };
        for address in [pages.start, pages.end - 1] {
            let (range, access) = access(address).unwrap();
            assert_eq!(access, "r--p", "{address:x} in {range:x?}:\n{maps}");
        }
    }
}
