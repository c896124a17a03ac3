//! What differs between processors, in one folder each: counters and fences, the system-call
//! instruction, functions to call, a chain of known latency, children that share memory.

#[cfg(target_arch = "aarch64")]
mod aarch64;
pub(in crate::kernel) mod sled;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

/// A raw system call, inlined or through a function.
///
/// # Safety
/// The arguments must be what the call demands: pointers valid for what the kernel does with them.
#[inline(always)]
pub(in crate::kernel) unsafe fn syscall_by<const FUNCTION: bool>(
    number: i64,
    args: [u64; 6],
) -> i64 {
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        match FUNCTION {
            true => syscall_through_function(number, args),
            false => syscall(number, args),
        }
    }
}
