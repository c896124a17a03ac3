//! Mappings of memory that one value owns.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use rustix::mm::{madvise, mlock, mmap, mmap_anonymous, mprotect, munmap};

use crate::kernel::Errno;
use crate::kernel::memory::region::kernel_page_bytes;

const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// A readable and writable mapping, unmapped when dropped.
pub(in crate::kernel) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Anonymous memory of this process.
    pub(in crate::kernel) fn private(bytes: usize) -> Result<Self, Errno> {
        Self::anonymous(bytes, MapFlags::PRIVATE)
    }

    /// Anonymous memory, shared with every fork.
    pub(in crate::kernel) fn shared(bytes: usize) -> Result<Self, Errno> {
        Self::anonymous(bytes, MapFlags::SHARED)
    }

    /// Anonymous memory with these flags.
    pub(in crate::kernel) fn anonymous(bytes: usize, flags: MapFlags) -> Result<Self, Errno> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ACCESS, flags) }?;
        Ok(Self { base: NonNull::new(base.cast()).ok_or(Errno::EINVAL)?, bytes })
    }

    /// A part of what a descriptor stands for, shared, with all pages present. By the C library: a
    /// ring's mappings are made inside the clock.
    pub(in crate::kernel) fn of_descriptor(
        fd: &OwnedFd,
        offset: u64,
        bytes: usize,
    ) -> Result<Self, Errno> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let (any, fd, offset) = (std::ptr::null_mut(), fd.as_raw_fd(), offset as libc::off_t);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(any, bytes, access, flags, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Self { base: NonNull::new(base.cast()).ok_or(Errno::EINVAL)?, bytes })
    }

    /// The page of a counter (perf_event_open(2)): read alone, since a program that may write it is
    /// one that takes samples.
    pub(in crate::kernel) fn of_counter(fd: &OwnedFd) -> Result<Self, Errno> {
        let bytes = kernel_page_bytes();
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base =
            unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, fd, 0) }?;
        Ok(Self { base: NonNull::new(base.cast()).ok_or(Errno::EINVAL)?, bytes })
    }

    /// Its length.
    #[inline(always)]
    pub(in crate::kernel) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address at an offset.
    ///
    /// # Safety
    /// The offset does not exceed the length.
    #[inline(always)]
    pub(in crate::kernel) unsafe fn pointer<T>(&self, offset: usize) -> NonNull<T> {
        debug_assert!(offset <= self.bytes);
        // SAFETY: the caller guarantees that the offset is inside the mapping.
        unsafe { self.base.add(offset).cast() }
    }

    /// Locks it into memory, which RLIMIT_MEMLOCK may forbid.
    pub(in crate::kernel) fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the range is the mapping.
        Ok(unsafe { mlock(self.base.as_ptr().cast(), self.bytes) }?)
    }

    /// Requests small pages. A kernel without huge pages refuses, which is fine.
    pub(in crate::kernel) fn disable_huge_pages(&self) {
        // SAFETY: the range is the mapping, whose content is kept.
        let _ = unsafe { madvise(self.base.as_ptr().cast(), self.bytes, Advice::LinuxNoHugepage) };
    }

    /// Leaves it out of the memory of processes that are forked from now on. A kernel that refuses
    /// copies its description, as of any other mapping.
    pub(in crate::kernel) fn keep_from_forks(&self) {
        // SAFETY: the range is the mapping, whose content is kept.
        let _ = unsafe { madvise(self.base.as_ptr().cast(), self.bytes, Advice::LinuxDontFork) };
    }

    /// Makes it executable, and no longer writable.
    pub(in crate::kernel) fn make_executable(&self) -> Result<(), Errno> {
        let access = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the range is the mapping; nothing borrows from it.
        Ok(unsafe { mprotect(self.base.as_ptr().cast(), self.bytes, access) }?)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value alone owns the mapping in this process, and nothing borrows from it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
