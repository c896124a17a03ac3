//! The heap, which brk(2) grows and shrinks.

use crate::kernel::Errno;

/// The end of the heap, which brk(2) moves.
#[derive(Clone, Copy)]
pub struct Heap {
    end: u64,
}

impl Heap {
    /// The current end.
    pub fn current() -> Result<Self, Errno> {
        let end = brk(0);
        if end > 0 { Ok(Self { end: end as u64 }) } else { Err(Errno(libc::ENOMEM)) }
    }

    /// Grows the heap by `bytes` bytes and shrinks it again, so that the C library finds it
    /// unchanged.
    #[inline(always)]
    pub fn grow_and_shrink(&self, bytes: u64) -> Result<(), Errno> {
        let grown = brk(self.end + bytes);
        // The call returns no error: it returns the current break.
        let shrunk = brk(self.end);
        match grown as u64 == self.end + bytes && shrunk as u64 == self.end {
            true => Ok(()),
            false => Err(Errno(libc::ENOMEM)),
        }
    }
}

/// brk(2) by the raw instruction: the library's wrapper would cache the new end.
#[inline(always)]
fn brk(end: u64) -> i64 {
    // SAFETY: the callers pass 0, or an end that keeps everything that was allocated before.
    unsafe { crate::kernel::arch::syscall(libc::SYS_brk, [end, 0, 0, 0, 0, 0]) }
}
