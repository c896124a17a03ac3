//! Allocation by the C library: malloc(3) and free(3).

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::opaque;

/// malloc(3) of `bytes` bytes, and free(3). Size and address are hidden from the compiler, which
/// knows both functions and would remove the pair.
#[inline(always)]
pub fn malloc_free(bytes: usize) -> Result<(), Errno> {
    // SAFETY: any size may be asked for.
    let block = unsafe { libc::malloc(opaque(bytes as u64) as usize) };
    let block = opaque(block as u64);
    if block == 0 {
        return Err(Errno::ENOMEM);
    }
    // SAFETY: the block was allocated above, and nothing refers to it.
    unsafe { libc::free(block as *mut libc::c_void) };
    Ok(())
}
