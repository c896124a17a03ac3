//! Calls on pages that are present: locking them, asking which are, reading another process's.

use std::any::Any;

use super::call::{Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};

/// mlock(2) of all of a region, and munlock(2).
pub fn mlock_munlock(region: Region) -> CallPair {
    let range = [region.address() as u64, region.bytes() as u64];
    // SAFETY: locking changes no content; the second call owns the region, and both are dropped
    // together.
    let (lock, unlock) =
        unsafe { (Call::new(libc::SYS_mlock, &range), Call::new(libc::SYS_munlock, &range)) };
    CallPair { first: lock, second: unlock.with_owned(region), pass_result: false }
}

/// mincore(2) of all of a region.
pub fn mincore(region: Region) -> Call {
    let there = Buffer::zeroed(region.bytes().div_ceil(PAGE_BYTES));
    let args = [region.address() as u64, region.bytes() as u64, there.address()];
    // SAFETY: one byte per page is written, and the call owns them and the region.
    unsafe { Call::new(libc::SYS_mincore, &args) }.with_owned(there).with_owned(region)
}

/// process_vm_readv(2) of the first `bytes` bytes of `from`, as they are in process `pid`, which
/// `keeps_alive` keeps alive. It has been made once: the first byte was `expected`.
pub fn process_vm_readv(
    pid: u32,
    from: Region,
    bytes: usize,
    expected: u8,
    keeps_alive: impl Any,
) -> Result<Call, Errno> {
    if bytes > from.bytes() {
        return Err(Errno::EINVAL);
    }
    let into = Region::anonymous(from.bytes(), PageKind::Small)?;
    into.touch_all(Access::Write);
    let vector = |region: &Region| {
        let iov_base = region.address() as *mut libc::c_void;
        Buffer::containing(libc::iovec { iov_base, iov_len: bytes })
    };
    let (local, remote) = (vector(&into), vector(&from));
    let args = [u64::from(pid), local.address(), 1, remote.address(), 1, 0];
    // SAFETY: as many bytes are written as the region has, which the call owns with the rest.
    let call = unsafe { Call::new(libc::SYS_process_vm_readv, &args) };
    let call = call.with_results(bytes as i64..=bytes as i64);
    let call = call.with_owned(local).with_owned(remote).with_owned(from).with_owned(keeps_alive);
    call.ready().make()?;
    match into.byte(0)? == expected {
        true => Ok(call.with_owned(into)),
        false => Err(Errno::check_failed(
            "process_vm_readv(2) read another byte than the process had written".to_owned(),
        )),
    }
}
