//! Random bytes without a system call: by the vDSO (Linux 6.11), and by the C library, which uses
//! that from glibc 2.41 on.

use std::ffi::CStr;
use std::os::raw::{c_uint, c_void};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::kernel::Errno;
use crate::kernel::errno::raw_count;
use crate::kernel::time::vdso;

/// The vDSO function's arguments: buffer, bytes, flags, and the state of the generator with its
/// size.
type Function = extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;

#[cfg(target_arch = "x86_64")]
const GETRANDOM: &CStr = c"__vdso_getrandom";
#[cfg(target_arch = "aarch64")]
const GETRANDOM: &CStr = c"__kernel_getrandom";

/// `struct vgetrandom_opaque_params`: what a state needs.
#[repr(C)]
#[derive(Default)]
struct StateParameters {
    bytes: u32,
    protection: u32,
    flags: u32,
    reserved: [u32; 13],
}

/// The vDSO's own getrandom, with a state of its own: the key of a stream cipher, which the kernel
/// replaces when it has reseeded its own generator.
pub struct GetRandom {
    function: Function,
    state: *mut c_void,
    state_bytes: usize,
    mapped_bytes: usize,
}

impl GetRandom {
    /// Finds it in this process and maps a state; ENOSYS if the kernel's vDSO lacks it.
    pub fn new() -> Result<Self, Errno> {
        let address = vdso::symbol(GETRANDOM).ok_or(Errno::ENOSYS)?;
        // SAFETY: the vDSO's symbol of that name has this C type (linux/random.h).
        let function = unsafe { std::mem::transmute::<*const (), Function>(address) };
        let mut asked = StateParameters::default();
        let at = (&raw mut asked).cast();
        // A size of all ones asks for the parameters.
        let answer = function(std::ptr::null_mut(), 0, 0, at, usize::MAX);
        if answer != 0 {
            return Err(Errno(-answer as i32));
        }
        // Far less than a page: no state may cross one.
        let (state_bytes, mapped_bytes) = (asked.bytes as usize, 4_096);
        if state_bytes > mapped_bytes {
            return Err(Errno::EPROTO);
        }
        let protection = ProtFlags::from_bits_retain(asked.protection);
        let flags = MapFlags::from_bits_retain(asked.flags);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let state =
            unsafe { mmap_anonymous(std::ptr::null_mut(), mapped_bytes, protection, flags) }?;
        Ok(Self { function, state, state_bytes, mapped_bytes })
    }

    /// Fills the buffer.
    #[inline(always)]
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Errno> {
        let (into, bytes) = (buffer.as_mut_ptr().cast(), buffer.len());
        check((self.function)(into, bytes, 0, self.state, self.state_bytes), bytes)
    }
}

impl Drop for GetRandom {
    fn drop(&mut self) {
        // SAFETY: this value alone owns the mapping, and nothing borrows from it.
        let _ = unsafe { munmap(self.state, self.mapped_bytes) };
    }
}

/// getrandom(3) of the C library.
#[inline(always)]
pub fn fill_by_libc(buffer: &mut [u8]) -> Result<(), Errno> {
    // SAFETY: as many bytes are written as the slice has.
    let count = unsafe { libc::getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if count < 0 { Err(Errno::last()) } else { check(count, buffer.len()) }
}

/// Whether all bytes were written.
#[inline(always)]
fn check(result: isize, bytes: usize) -> Result<(), Errno> {
    if raw_count(result as i64)? == bytes { Ok(()) } else { Err(Errno::EPROTO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_buffer_is_filled_anew_each_time() {
        let mut vdso = GetRandom::new();
        assert_eq!(vdso.is_ok(), vdso::symbol(GETRANDOM).is_some());
        for bytes in [32, 256, 4_096] {
            let mut buffers = [(); 4].map(|()| vec![0u8; bytes]);
            fill_by_libc(&mut buffers[0]).unwrap();
            fill_by_libc(&mut buffers[1]).unwrap();
            assert_ne!(buffers[0], buffers[1]);
            let Ok(vdso) = &mut vdso else { continue };
            vdso.fill(&mut buffers[2]).unwrap();
            vdso.fill(&mut buffers[3]).unwrap();
            assert_ne!(buffers[2], buffers[3]);
            // All zeros at the end would be 1 in 2^128.
            assert!(buffers.iter().all(|buffer| buffer[bytes - 16..] != [0; 16]));
        }
    }
}
