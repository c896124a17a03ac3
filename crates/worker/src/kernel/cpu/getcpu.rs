//! getcpu through the vDSO.

use std::ffi::CStr;

use crate::kernel::Errno;
use crate::kernel::time::vdso;

/// The vDSO function's arguments: the CPU, its node, and a cache that no kernel has used since
/// Linux 2.6.24.
type Function = extern "C" fn(*mut u32, *mut u32, *mut libc::c_void) -> libc::c_long;

/// The vDSO's own getcpu.
#[derive(Clone, Copy)]
pub struct GetCpu(Function);

#[cfg(target_arch = "x86_64")]
const GETCPU: &CStr = c"__vdso_getcpu";
#[cfg(target_arch = "aarch64")]
const GETCPU: &CStr = c"__kernel_getcpu";

impl GetCpu {
    /// Finds it in this process; `None` if the kernel's vDSO lacks it.
    pub fn find() -> Option<Self> {
        let address = vdso::symbol(GETCPU)?;
        // SAFETY: the vDSO's symbol of that name has this C type (vdso(7)).
        Some(Self(unsafe { std::mem::transmute::<*const (), Function>(address) }))
    }

    /// The CPU that the calling thread is running on.
    #[inline(always)]
    pub fn call(self) -> Result<u32, Errno> {
        let (mut cpu, mut node) = (0, 0);
        match (self.0)(&raw mut cpu, &raw mut node, std::ptr::null_mut()) {
            0 => Ok(cpu),
            error => Err(Errno(-error as i32)),
        }
    }
}
