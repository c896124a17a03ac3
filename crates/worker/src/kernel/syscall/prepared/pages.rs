//! Calls on pages that are present: locking them, asking which are, reading another process's;
//! merging equal ones, and the policy by which their nodes are chosen.

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

/// madvise(2) MADV_MERGEABLE of all of a region, and MADV_UNMERGEABLE.
pub fn merge_unmerge(region: Region) -> CallPair {
    let call = |advice: i32| {
        let args = [region.address() as u64, region.bytes() as u64, advice as u64];
        // SAFETY: pages with equal content may become one, which a write separates again: the
        // content stays what it is.
        unsafe { Call::new(libc::SYS_madvise, &args) }
    };
    let (merge, unmerge) = (call(libc::MADV_MERGEABLE), call(libc::MADV_UNMERGEABLE));
    CallPair { first: merge, second: unmerge.with_owned(region), pass_result: false }
}

/// get_mempolicy(2): the mode of the thread's policy.
pub fn get_mempolicy() -> Call {
    let mode = Buffer::zeroed(size_of::<i32>());
    // SAFETY: one integer is written, which the call owns.
    unsafe { Call::new(libc::SYS_get_mempolicy, &[mode.address(), 0, 0, 0, 0]) }.with_owned(mode)
}

/// set_mempolicy(2): new pages of the thread on nodes of a mask alone (MPOL_BIND), and back to the
/// default.
pub fn set_mempolicy(nodes: u64) -> CallPair {
    let mask = Buffer::containing(nodes);
    let bind = [libc::MPOL_BIND as u64, mask.address(), MASK_BITS];
    let default = [libc::MPOL_DEFAULT as u64, 0, 0];
    // SAFETY: one word is read, which the second call owns; both are dropped together. A policy
    // decides where pages are, not what they hold.
    let (bind, default) = unsafe {
        (
            Call::new(libc::SYS_set_mempolicy, &bind),
            Call::new(libc::SYS_set_mempolicy, &default).with_owned(mask),
        )
    };
    CallPair { first: bind, second: default, pass_result: false }
}

/// mbind(2): the same for the new pages of a region.
pub fn mbind(region: Region, nodes: u64) -> CallPair {
    let mask = Buffer::containing(nodes);
    let (at, bytes) = (region.address() as u64, region.bytes() as u64);
    let bind = [at, bytes, libc::MPOL_BIND as u64, mask.address(), MASK_BITS, 0];
    let default = [at, bytes, libc::MPOL_DEFAULT as u64, 0, 0, 0];
    // SAFETY: as in `set_mempolicy`; no page is moved.
    let (bind, default) = unsafe {
        (
            Call::new(libc::SYS_mbind, &bind),
            Call::new(libc::SYS_mbind, &default).with_owned(mask).with_owned(region),
        )
    };
    CallPair { first: bind, second: default, pass_result: false }
}

/// The bits of a mask of nodes, and one more: the kernel subtracts one (get_nodes() in
/// mm/mempolicy.c).
const MASK_BITS: u64 = u64::BITS as u64 + 1;
