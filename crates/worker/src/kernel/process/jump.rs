//! setjmp(3) and sigsetjmp(3): the call that saves registers, and with them the signal mask.
//!
//! Nothing here jumps: a function that returns twice, and a longjmp(3) over frames of Rust, have no
//! defined behaviour.

use crate::kernel::Errno;

/// What a jump would restore. The C library's type has 200 bytes on x86-64 and 312 on aarch64.
#[repr(C, align(16))]
pub struct JumpBuffer([u64; 64]);

unsafe extern "C" {
    /// What the macro setjmp(3) calls; it saves no signal mask.
    fn _setjmp(buffer: *mut JumpBuffer) -> libc::c_int;
    /// What the macro sigsetjmp(3) calls.
    fn __sigsetjmp(buffer: *mut JumpBuffer, saves_mask: libc::c_int) -> libc::c_int;
}

impl JumpBuffer {
    /// An empty one.
    pub fn new() -> Self {
        Self([0; 64])
    }

    /// setjmp(3).
    #[inline(always)]
    pub fn set(&mut self) -> Result<(), Errno> {
        // SAFETY: the buffer is larger than the library's type and aligned for it. Nothing jumps to
        // it, so that the call returns once, like any other.
        check(unsafe { _setjmp(&raw mut *self) })
    }

    /// sigsetjmp(3) that saves the signal mask.
    #[inline(always)]
    pub fn set_with_mask(&mut self) -> Result<(), Errno> {
        // SAFETY: as above.
        check(unsafe { __sigsetjmp(&raw mut *self, 1) })
    }
}

impl Default for JumpBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// The first return gives 0; another one would be a jump.
#[inline(always)]
fn check(returned: libc::c_int) -> Result<(), Errno> {
    if returned == 0 { Ok(()) } else { Err(Errno::EPROTO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_calls_save_something() {
        let mut buffer = Box::new(JumpBuffer::new());
        assert_eq!(buffer.set(), Ok(()));
        let used = buffer.0.iter().rposition(|&word| word != 0);
        assert!(used.is_some_and(|last| last < 48), "{used:?}");
        assert_eq!(buffer.set_with_mask(), Ok(()));
        assert_eq!(check(1), Err(Errno::EPROTO));
    }
}
