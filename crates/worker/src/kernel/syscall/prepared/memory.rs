//! Calls on mappings.

use std::ptr::NonNull;

use super::call::{ANY_SUCCESS, Call, CallPair};
use crate::kernel::Errno;

/// The smallest mapping; on machines with larger pages the kernel rounds it up.
const PAGE_BYTES: u64 = 4_096;

const READ: u64 = libc::PROT_READ as u64;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const PRIVATE_ANONYMOUS: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;

/// mmap(2) of a page that is never touched, and munmap(2) of it.
pub fn mmap_munmap() -> CallPair {
    let args = [0, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1i64 as u64, 0];
    // SAFETY: a new mapping at an address that the kernel chooses.
    let map = unsafe { Call::new(libc::SYS_mmap, &args) }.with_results(ANY_SUCCESS);
    // SAFETY: it unmaps what the preceding call mapped, which nothing refers to.
    let unmap = unsafe { Call::new(libc::SYS_munmap, &[0, PAGE_BYTES]) };
    CallPair { first: map, second: unmap, pass_result: true }
}

/// mprotect(2) of a touched page: to read-only, and back to read and write.
pub fn mprotect() -> Result<CallPair, Errno> {
    let page = Page::map()?;
    let at = page.0.as_ptr() as u64;
    // SAFETY: nothing else refers to the page; the second call owns it, and both are dropped
    // together.
    let (less, more) = unsafe {
        (
            Call::new(libc::SYS_mprotect, &[at, PAGE_BYTES, READ]),
            Call::new(libc::SYS_mprotect, &[at, PAGE_BYTES, READ_WRITE]),
        )
    };
    Ok(CallPair { first: less, second: more.with_owned(page), pass_result: false })
}

/// An owned mapped page.
struct Page(NonNull<u8>);

impl Page {
    /// Maps a page and touches it.
    fn map() -> Result<Self, Errno> {
        // SAFETY: a new mapping at an address that the kernel chooses.
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
