//! Protection faults whose handler makes the page writable.

use std::mem::zeroed;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::kernel::errno::raw_result;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, arch};

/// What the handler knows: the pages that it may repair, and how many it has repaired.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static REPAIRS: AtomicU64 = AtomicU64::new(0);

/// Pages that are written one after the other, each of which faults and is made writable by the
/// handler of SIGSEGV. One value at a time in a process.
pub struct RepairedPages {
    pages: Region,
    next: usize,
    repairs_before: u64,
    before: libc::sigaction,
}

impl RepairedPages {
    /// Maps so many pages, which are in memory and can be written until
    /// [`protect`](Self::protect), and installs the handler until dropped.
    pub fn new(pages: usize) -> Result<Self, Errno> {
        let pages = Region::anonymous(pages * PAGE_BYTES, PageKind::Small)?;
        pages.touch_all(Access::Write);
        START.store(pages.address(), Ordering::SeqCst);
        BYTES.store(pages.bytes(), Ordering::SeqCst);
        // SAFETY: all-zero bits are a valid sigaction with an empty mask; both structs are valid,
        // and the handler has the signature that SA_SIGINFO requires.
        let before = unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = repair as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            let mut before: libc::sigaction = zeroed();
            Errno::check(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before))?;
            before
        };
        let repairs_before = REPAIRS.load(Ordering::SeqCst);
        // All have been written: none is left until they are protected.
        let next = pages.bytes();
        Ok(Self { pages, next, repairs_before, before })
    }

    /// Makes all pages read-only: mprotect(2). The next write is to the first one.
    pub fn protect(&mut self) -> Result<(), Errno> {
        self.pages.set_writable(false)?;
        self.next = 0;
        self.repairs_before = REPAIRS.load(Ordering::SeqCst);
        Ok(())
    }

    /// Writes a byte to the next page, which faults; E2BIG if there is none.
    #[inline(always)]
    pub fn write_next(&mut self) -> Result<(), Errno> {
        if self.next >= self.pages.bytes() {
            return Err(Errno::E2BIG);
        }
        let at = (self.pages.address() + self.next) as *mut u8;
        self.next += PAGE_BYTES;
        // SAFETY: the byte lies inside the mapping; the handler makes its page writable, after
        // which the store is made again.
        unsafe { at.write_volatile(1) };
        Ok(())
    }

    /// How many pages were written and how many were repaired since they were last protected.
    pub fn counts(&self) -> (u64, u64) {
        let written = (self.next / PAGE_BYTES) as u64;
        (written, REPAIRS.load(Ordering::SeqCst) - self.repairs_before)
    }
}

impl Drop for RepairedPages {
    fn drop(&mut self) {
        // SAFETY: restores the action that the kernel returned. It cannot fail, having been in
        // force before.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const self.before, std::ptr::null_mut()) };
        // From here on the handler would repair nothing.
        BYTES.store(0, Ordering::SeqCst);
    }
}

/// mprotect(2) of a page of the mapping; returns whether it could be done.
fn make_writable(page: usize) -> bool {
    let access = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let args = [page as u64, PAGE_BYTES as u64, access, 0, 0, 0];
    // SAFETY: the page lies in the mapping of the value that installed the handler.
    raw_result(unsafe { arch::syscall(libc::SYS_mprotect, args) }).is_ok()
}

/// The handler.
extern "C" fn repair(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a handler with SA_SIGINFO a valid siginfo.
    let at = unsafe { (*info).si_addr() } as usize;
    let offset = at.wrapping_sub(START.load(Ordering::Relaxed));
    if offset < BYTES.load(Ordering::Relaxed) && make_writable(at & !(PAGE_BYTES - 1)) {
        // No other thread writes it: a load and a store suffice.
        REPAIRS.store(REPAIRS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        return;
    }
    // Another fault: the next one ends the process, as it would have by default. sigaction(2) is
    // async-signal-safe.
    // SAFETY: all-zero bits are a valid action with an empty mask.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn each_write_to_a_protected_page_is_repaired_once() {
        in_own_process(|| {
            let mut pages = RepairedPages::new(4).unwrap();
            assert_eq!(pages.write_next(), Err(Errno::E2BIG), "they are not protected yet");
            for _ in 0..3 {
                pages.protect().unwrap();
                assert_eq!(pages.counts(), (0, 0));
                for done in 1..=4 {
                    assert_eq!(pages.write_next(), Ok(()));
                    assert_eq!(pages.counts(), (done, done));
                }
                assert_eq!(pages.write_next(), Err(Errno::E2BIG));
            }
        });
    }
}
