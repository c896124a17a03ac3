//! What differs between processors, in one file each: counters and fences, the system call
//! instruction, functions to call, a chain of known latency; and children that share memory.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
mod clone_aarch64;
#[cfg(target_arch = "x86_64")]
mod clone_x86_64;
#[cfg_attr(target_arch = "x86_64", path = "memory_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "memory_aarch64.rs")]
pub(in crate::kernel) mod memory;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "aarch64")]
pub(in crate::kernel) use clone_aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) use clone_x86_64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
