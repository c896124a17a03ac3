//! Calls on our own mappings.

use std::ptr::NonNull;

use super::call::{ANY_SUCCESS, Call, CallPair};
use crate::kernel::Errno;

/// What the kernel maps at least; longer on machines with larger pages, whole pages all the same.
const PAGE_BYTES: u64 = 4_096;

const READ: u64 = libc::PROT_READ as u64;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const PRIVATE_ANONYMOUS: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;

/// mmap(2) of a page that nobody touches, and munmap(2) of it.
pub fn mmap_munmap() -> CallPair {
    let args = [0, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1i64 as u64, 0];
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let map = unsafe { Call::new(libc::SYS_mmap, &args) }.with_results(ANY_SUCCESS);
    // SAFETY: it is made of the mapping that the call before has made, which nobody else knows.
    let unmap = unsafe { Call::new(libc::SYS_munmap, &[0, PAGE_BYTES]) };
    CallPair { first: map, second: unmap, pass_result: true }
}

/// mprotect(2) of a touched page: to reading alone, and back to reading and writing.
pub fn mprotect() -> Result<CallPair, Errno> {
    let page = Page::map()?;
    let at = page.0.as_ptr() as u64;
    // SAFETY: the page is ours, and nobody else knows of it; the second call holds it, and both are
    // dropped together.
    let (less, more) = unsafe {
        (
            Call::new(libc::SYS_mprotect, &[at, PAGE_BYTES, READ]),
            Call::new(libc::SYS_mprotect, &[at, PAGE_BYTES, READ_WRITE]),
        )
    };
    Ok(CallPair { first: less, second: more.owning(page), pass_result: false })
}

/// A mapped page of our own.
struct Page(NonNull<u8>);

impl Page {
    /// Maps a page and touches it.
    fn map() -> Result<Self, Errno> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe {
            let none = std::ptr::null_mut();
            libc::mmap(
                none,
                PAGE_BYTES as usize,
                READ_WRITE as i32,
                PRIVATE_ANONYMOUS as i32,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(Errno::EINVAL)?;
        // SAFETY: the page is mapped for writing.
        unsafe { base.write_volatile(1) };
        Ok(Self(base))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: this value alone owns the mapping.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE_BYTES as usize) };
    }
}
