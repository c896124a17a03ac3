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
