//! Faults that end in a signal handler.

use std::mem::zeroed;

use crate::kernel::Errno;
use crate::kernel::arch::memory::{FaultRegisters, store_until_allowed};
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};

/// A page that must not be written, and the handler that hears of it.
///
/// The handler gives nothing away: it counts, and returns to the store that failed, which fails
/// again. At the last fault it turns the store's address to a page that may be written. The count
/// and both addresses lie in registers of the interrupted store, so that it needs no memory of its
/// own, and no thread disturbs another's.
pub struct ProtectedPage {
    page: Region,
    allowed: Region,
    before: libc::sigaction,
}

impl ProtectedPage {
    /// Maps the pages, and takes over SIGSEGV for as long as this lives.
    pub fn new() -> Result<Self, Errno> {
        let page = Region::anonymous(PAGE_BYTES, PageKind::Small)?;
        let allowed = Region::anonymous(PAGE_BYTES, PageKind::Small)?;
        page.set_writable(false)?;
        // SAFETY: all-zero bits are a valid sigaction with an empty mask; both structs are there,
        // and the handler has the signature that SA_SIGINFO asks for.
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

    /// Stores to the page until `faults` faults were handled, and hands back how many were not.
    #[inline(always)]
    pub fn fault(&self, faults: u64) -> u64 {
        if faults == 0 {
            return 0;
        }
        // SAFETY: the first page raises a signal whose handler is ours, the second can be written.
        unsafe { store_until_allowed(self.page.address(), self.allowed.address(), faults) }
    }
}

impl Drop for ProtectedPage {
    fn drop(&mut self) {
        // SAFETY: the struct is the one that the kernel handed out. It was taken before, and there
        // is nobody left to tell.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// The handler.
extern "C" fn count_fault(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a whole siginfo and a whole context, which
    // nobody else looks at meanwhile. sigaction(2) may be called in a handler.
    unsafe {
        let registers = FaultRegisters::of(context.cast());
        if (*info).si_addr() as u64 != *registers.address || *registers.left == 0 {
            // No fault of ours: the next one ends the process, as it would have without us.
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
