//! Mappings whose pages are the subject: fresh, shared, huge, file-backed.

mod files;
mod heap;
mod huge_pages;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

pub use self::files::{drop_page_cache, memory_file, unnamed_file};
pub use self::heap::Heap;
pub use self::huge_pages::HugePagesDisabled;
use crate::kernel::Errno;

/// The page size that the memory benchmarks assume.
pub const PAGE_BYTES: usize = 4_096;
/// The size of a huge page on the supported machines.
pub const HUGE_BYTES: usize = 2 << 20;

/// The kernel's page size.
pub fn kernel_page_bytes() -> usize {
    // SAFETY: a plain number; the C library has the value from the start, and it cannot fail.
    (unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) as usize
}

/// The kind of pages of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// 4 KiB each, even where the kernel would use huge ones by default.
    Small,
    /// Transparent huge pages, where the kernel has them (`MADV_HUGEPAGE`).
    Transparent,
    /// Huge pages from the pool (`MAP_HUGETLB`).
    Huge,
}

/// How a page is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its first byte is read.
    Read,
    /// Its first byte is written.
    Write,
}

/// What backs a mapping.
enum Backing {
    /// Private and anonymous.
    Anonymous(PageKind),
    /// A file, privately.
    File(File),
    /// A shared file that its owner keeps open.
    Shared,
}

/// An owned mapping.
pub struct Region {
    base: NonNull<u8>,
    bytes: usize,
    backing: Backing,
}

/// What mmap(2) maps, and how.
#[derive(Clone, Copy)]
struct MappingSource {
    flags: i32,
    /// -1 for an anonymous mapping.
    fd: i32,
    offset_bytes: u64,
}

impl MappingSource {
    fn anonymous(flags: i32) -> Self {
        Self { flags: flags | libc::MAP_ANONYMOUS, fd: -1, offset_bytes: 0 }
    }

    /// A private mapping.
    fn of(backing: &Backing) -> Self {
        match backing {
            Backing::Anonymous(PageKind::Huge) => {
                Self::anonymous(libc::MAP_PRIVATE | libc::MAP_HUGETLB)
            }
            Backing::Anonymous(_) | Backing::Shared => Self::anonymous(libc::MAP_PRIVATE),
            Backing::File(file) => {
                Self { flags: libc::MAP_PRIVATE, fd: file.as_raw_fd(), offset_bytes: 0 }
            }
        }
    }

    fn with_flags(self, flags: i32) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
}

/// mmap(2) for reading and writing.
fn map(address: usize, bytes: usize, source: MappingSource) -> Result<usize, Errno> {
    let MappingSource { flags, fd, offset_bytes } = source;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: without MAP_FIXED the kernel chooses an unused range; with it the callers here pass a
    // range that they own.
    let base =
        unsafe { libc::mmap(address as *mut _, bytes, access, flags, fd, offset_bytes as i64) };
    if base == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(base as usize) }
}

/// munmap(2) of a range that the caller owns.
fn unmap(base: usize, bytes: usize) -> Result<(), Errno> {
    // SAFETY: the callers own the range and keep no reference into it.
    Errno::check(unsafe { libc::munmap(base as *mut _, bytes) }).map(drop)
}

/// An unused range of `bytes` at a multiple of `alignment`: a hint for mmap(2).
pub fn free_range(bytes: usize, alignment: usize) -> Result<usize, Errno> {
    let room = bytes + alignment;
    let base = map(0, room, MappingSource::anonymous(libc::MAP_PRIVATE))?;
    unmap(base, room)?;
    Ok(base.next_multiple_of(alignment))
}

impl Region {
    /// A private anonymous mapping, aligned to a huge page, so that its page tables are laid out
    /// alike in every process.
    pub fn anonymous(bytes: usize, pages: PageKind) -> Result<Self, Errno> {
        Self::aligned(bytes, Backing::Anonymous(pages))
    }

    /// A page without access rights directly behind this mapping. The kernel frees a page table
    /// with the last mapping in its 2 MiB (free_pgtables() in mm/memory.c): the guard keeps it.
    /// Another mapping there is an error, since it might be removed at any time.
    pub fn guard_page(&self) -> Result<Self, Errno> {
        let end = self.address() + self.bytes;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: MAP_FIXED_NOREPLACE replaces no mapping.
        let base = unsafe { libc::mmap(end as *mut _, PAGE_BYTES, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return match Errno::last() {
                Errno(libc::EEXIST) => Err(Errno::check_failed(format!(
                    "cannot map a guard page at {end:#x}: another mapping begins there; run it again"
                ))),
                errno => Err(errno),
            };
        }
        let guard =
            Self::from_mapping(base as usize, PAGE_BYTES, Backing::Anonymous(PageKind::Small))?;
        // Before Linux 4.17 the flag is unknown and the address a hint.
        if guard.address() == end { Ok(guard) } else { Err(Errno::EOPNOTSUPP) }
    }

    /// A private mapping of the first `bytes` of a file.
    pub fn private_file(file: File, bytes: usize) -> Result<Self, Errno> {
        Self::aligned(bytes, Backing::File(file))
    }

    /// A private anonymous mapping at the hint, made by one call.
    #[inline(always)]
    pub fn at_hint(hint: usize, bytes: usize, pages: PageKind, flags: i32) -> Result<Self, Errno> {
        let backing = Backing::Anonymous(pages);
        let source = MappingSource::of(&backing).with_flags(flags);
        Self::from_mapping(map(hint, bytes, source)?, bytes, backing)
    }

    /// A shared mapping of a part of a file.
    #[inline(always)]
    pub fn shared(file: &File, from: u64, bytes: usize) -> Result<Self, Errno> {
        let source =
            MappingSource { flags: libc::MAP_SHARED, fd: file.as_raw_fd(), offset_bytes: from };
        let base = map(0, bytes, source)?;
        Self::from_mapping(base, bytes, Backing::Shared)
    }

    fn from_mapping(base: usize, bytes: usize, backing: Backing) -> Result<Self, Errno> {
        let base = NonNull::new(base as *mut u8).ok_or(Errno::EINVAL)?;
        Ok(Self { base, bytes, backing })
    }

    fn aligned(bytes: usize, backing: Backing) -> Result<Self, Errno> {
        let room = bytes + HUGE_BYTES;
        let unused = MappingSource::anonymous(libc::MAP_PRIVATE | libc::MAP_NORESERVE);
        let base = map(0, room, unused)?;
        let begin = base.next_multiple_of(HUGE_BYTES);
        if begin > base {
            unmap(base, begin - base)?;
        }
        if begin + bytes < base + room {
            unmap(begin + bytes, base + room - begin - bytes)?;
        }
        let region = Self::from_mapping(begin, bytes, backing)?;
        region.remap()?;
        Ok(region)
    }

    /// Maps all of it anew at the same address, with no page and no page table. The new mapping
    /// replaces the old one atomically, so that no other can take its place. A shared mapping is
    /// refused.
    pub fn remap(&self) -> Result<(), Errno> {
        if matches!(self.backing, Backing::Shared) {
            return Err(Errno::EINVAL);
        }
        let source = MappingSource::of(&self.backing).with_flags(libc::MAP_FIXED);
        map(self.address(), self.bytes, source)?;
        match self.backing {
            Backing::Anonymous(PageKind::Small) => self.disable_huge_pages(),
            Backing::Anonymous(PageKind::Transparent) => self.advise(libc::MADV_HUGEPAGE),
            _ => Ok(()),
        }
    }

    /// Disables huge pages. A kernel without them refuses, which is fine.
    pub fn disable_huge_pages(&self) -> Result<(), Errno> {
        match self.advise(libc::MADV_NOHUGEPAGE) {
            Err(Errno::EINVAL) => Ok(()),
            other => other,
        }
    }

    /// Its start address.
    pub fn address(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// madvise(2) of all of it.
    pub fn advise(&self, advice: i32) -> Result<(), Errno> {
        self.advise_part(0, self.bytes, advice)
    }

    /// madvise(2) of a part; refuses a range outside. The advice used in this room keeps the
    /// mapping: only page contents are lost.
    #[inline(always)]
    pub fn advise_part(&self, from: usize, bytes: usize, advice: i32) -> Result<(), Errno> {
        let at = self.checked_address(from, bytes)?;
        // SAFETY: the range lies inside the mapping, which nothing borrows.
        Errno::check(unsafe { libc::madvise(at as *mut _, bytes, advice) }).map(drop)
    }

    /// mprotect(2) of all of it: sets whether it is writable. It stays readable.
    #[inline(always)]
    pub fn set_writable(&self, allowed: bool) -> Result<(), Errno> {
        let access = if allowed { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the range is the mapping.
        Errno::check(unsafe { libc::mprotect(self.base.as_ptr().cast(), self.bytes, access) })
            .map(drop)
    }

    /// mlock(2) of all of it.
    pub fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the range is the mapping.
        Errno::check(unsafe { libc::mlock(self.base.as_ptr().cast(), self.bytes) }).map(drop)
    }

    fn checked_address(&self, from: usize, bytes: usize) -> Result<usize, Errno> {
        match from.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address() + from),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Touches the first byte of every 4 KiB page of the pieces in `order`, in that order; a piece
    /// is `pages` pages. Refuses a piece outside.
    #[inline(never)]
    pub fn touch(&self, order: &[u32], pages: usize, access: Access) -> Result<(), Errno> {
        let (piece, last) = (pages * PAGE_BYTES, self.bytes / (pages * PAGE_BYTES));
        for &index in order {
            let index = index as usize;
            if index >= last {
                return Err(Errno::EINVAL);
            }
            // SAFETY: the piece lies inside the mapping.
            unsafe { touch_pages(self.base.as_ptr().add(index * piece), pages, access) };
        }
        Ok(())
    }

    /// Touches the pages of a part; refuses a range outside.
    pub fn touch_part(&self, from: usize, bytes: usize, access: Access) -> Result<(), Errno> {
        let at = self.checked_address(from, bytes)?;
        // SAFETY: the part lies inside the mapping.
        unsafe { touch_pages(at as *mut u8, bytes / PAGE_BYTES, access) };
        Ok(())
    }

    /// Writes to every page of a region that another owner holds.
    ///
    /// # Safety
    /// Its owner keeps the region mapped for the duration of the call, and `address` and `bytes` are
    /// its own.
    pub(in crate::kernel) unsafe fn touch_foreign(address: usize, bytes: usize) {
        // SAFETY: the caller guarantees the region.
        unsafe { touch_pages(address as *mut u8, bytes / PAGE_BYTES, Access::Write) };
    }

    /// Touches every page.
    #[inline(always)]
    pub fn touch_all(&self, access: Access) {
        // SAFETY: all of it lies inside the mapping.
        unsafe { touch_pages(self.base.as_ptr(), self.bytes / PAGE_BYTES, access) };
    }

    /// The byte at `from`; refuses one that lies outside.
    pub fn byte(&self, from: usize) -> Result<u8, Errno> {
        let at = self.checked_address(from, 1)?;
        // SAFETY: the byte lies inside the mapping, which can be read.
        Ok(unsafe { (at as *const u8).read_volatile() })
    }

    /// Writes the byte at `from`; refuses one that lies outside.
    pub fn set_byte(&mut self, from: usize, value: u8) -> Result<(), Errno> {
        let at = self.checked_address(from, 1)?;
        // SAFETY: the byte lies inside the mapping, which can be written.
        unsafe { (at as *mut u8).write_volatile(value) };
        Ok(())
    }

    /// Its contents as words.
    pub fn words_mut(&mut self) -> &mut [u64] {
        let len = self.bytes / size_of::<u64>();
        // SAFETY: the mapping is aligned, readable and writable, and borrowed for as long as the
        // slice lives; any bits are valid words.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast(), len) }
    }

    /// The number of its 4 KiB pages in memory (mincore(2)): mapped ones, and for a file those in
    /// the page cache.
    pub fn resident_pages(&self) -> Result<usize, Errno> {
        self.resident_pages_in(0, self.bytes)
    }

    /// The same of a part; refuses one that lies outside.
    pub fn resident_pages_in(&self, from: usize, bytes: usize) -> Result<usize, Errno> {
        let at = self.checked_address(from, bytes)?;
        let mut there = vec![0u8; bytes.div_ceil(PAGE_BYTES)];
        // SAFETY: the kernel writes one byte per page of the range to a buffer of that length.
        Errno::check(unsafe { libc::mincore(at as *mut _, bytes, there.as_mut_ptr()) })?;
        Ok(there.iter().filter(|&&page| page & 1 == 1).count())
    }

    /// Moves all of it to `target`, whose pages are lost. The old range stays mapped and empty
    /// (MREMAP_DONTUNMAP), so that no other mapping takes it; afterwards the two have swapped
    /// addresses.
    #[inline(always)]
    pub fn swap_by_mremap(&mut self, target: &mut Region) -> Result<(), Errno> {
        if target.bytes != self.bytes {
            return Err(Errno::EINVAL);
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        let (from, to) = (self.base.as_ptr(), target.base.as_ptr());
        // SAFETY: both ranges are owned, equally long, and not borrowed.
        let moved = unsafe { libc::mremap(from.cast(), self.bytes, self.bytes, flags, to) };
        if moved == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        std::mem::swap(&mut self.base, &mut target.base);
        Ok(())
    }

    /// Unmaps it and returns the result.
    #[inline(always)]
    pub fn unmap(self) -> Result<(), Errno> {
        let (base, bytes) = (self.address(), self.bytes);
        // Its backing must still be dropped, but the mapping must not be unmapped twice.
        let mut region = std::mem::ManuallyDrop::new(self);
        // SAFETY: `region` is never dropped, so its backing is dropped here once.
        unsafe { std::ptr::drop_in_place(&raw mut region.backing) };
        unmap(base, bytes)
    }
}

/// Touches the first byte of consecutive pages.
///
/// # Safety
/// The pages are mapped readable, and writable where `access` requires it.
#[inline(always)]
unsafe fn touch_pages(first: *mut u8, pages: usize, access: Access) {
    // SAFETY: the caller guarantees the pages.
    unsafe {
        match access {
            Access::Read => (0..pages).for_each(|page| {
                first.add(page * PAGE_BYTES).read_volatile();
            }),
            Access::Write => {
                (0..pages).for_each(|page| first.add(page * PAGE_BYTES).write_volatile(1));
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Errors cannot be reported from here.
        let _ = unmap(self.address(), self.bytes);
    }
}
