//! Protection faults that a signal handler takes.

use std::mem::zeroed;

use crate::kernel::Errno;
use crate::kernel::arch::memory::{FaultRegisters, store_until_allowed};
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};

/// A write-protected page, and the handler of its faults.
///
/// The handler counts and returns to the faulting store, which faults again. At the last fault it
/// sets the store's address to a writable page. The count and both addresses are in registers of
/// the interrupted store, so that the handler needs no memory and threads do not interfere.
pub struct ProtectedPage {
    page: Region,
    allowed: Region,
    before: libc::sigaction,
}

impl ProtectedPage {
    /// Maps the pages and installs a SIGSEGV handler until dropped.
    pub fn new() -> Result<Self, Errno> {
        let page = Region::anonymous(PAGE_BYTES, PageKind::Small)?;
        let allowed = Region::anonymous(PAGE_BYTES, PageKind::Small)?;
        page.set_writable(false)?;
        // SAFETY: all-zero bits are a valid sigaction with an empty mask; both structs are valid,
        // and the handler has the signature that SA_SIGINFO requires.
        let before = unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = count_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            let mut before: libc::sigaction = zeroed();
            Errno::check(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before))?;
            before
        };
        Ok(Self { page, allowed, before })
    }

    /// Stores to the page until `faults` faults were handled, and returns how many were not.
    #[inline(always)]
    pub fn fault(&self, faults: u64) -> u64 {
        if faults == 0 {
            return 0;
        }
        // SAFETY: the first page raises a signal whose handler is installed; the second is
        // writable.
        unsafe { store_until_allowed(self.page.address(), self.allowed.address(), faults) }
    }
}

impl Drop for ProtectedPage {
    fn drop(&mut self) {
        // SAFETY: restores the action that the kernel returned. It cannot fail, having been in
        // force before.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// The handler.
extern "C" fn count_fault(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a handler with SA_SIGINFO a valid siginfo and context, which are
    // not aliased. sigaction(2) is async-signal-safe.
    unsafe {
        let registers = FaultRegisters::of(context.cast());
        if (*info).si_addr() as u64 != *registers.address || *registers.left == 0 {
            // Another fault: the next one ends the process, as it would have by default.
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
            return;
        }
        *registers.left -= 1;
        if *registers.left == 0 {
            *registers.address = *registers.allowed;
        }
    }
}
