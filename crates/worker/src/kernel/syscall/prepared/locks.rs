//! Locks on files, taken and released.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::call::{Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::file::record_lock::{LockOwner, file_to_lock, hold_ranges, lock_of_byte};

/// The byte that is locked and unlocked: behind all held ranges.
const POSITION: i64 = 1 << 20;

/// `flock(fd, LOCK_EX)` and `flock(fd, LOCK_UN)`.
pub fn flock() -> Result<CallPair, Errno> {
    let file = file_to_lock()?;
    let fd = file.as_raw_fd() as u64;
    // SAFETY: plain numbers; the second call owns the descriptor, and both are dropped together.
    // The file is open here alone, so the call never waits.
    let first = unsafe { Call::new(libc::SYS_flock, &[fd, libc::LOCK_EX as u64]) };
    // SAFETY: plain numbers; the call owns the descriptor.
    let second = unsafe { Call::new(libc::SYS_flock, &[fd, libc::LOCK_UN as u64]) };
    Ok(CallPair { first, second: second.with_owned(file), pass_result: false })
}

/// fcntl(2) with F_SETLK or F_OFD_SETLK: a byte of a file locked for writing, and unlocked, while
/// the same owner holds other ranges.
pub fn record_lock(owner: LockOwner, held_ranges: u64) -> Result<CallPair, Errno> {
    let file = file_to_lock()?;
    hold_ranges(&file, owner, held_ranges)?;
    let first = set_lock(&file, owner, libc::F_WRLCK);
    let second = set_lock(&file, owner, libc::F_UNLCK).with_owned(file);
    Ok(CallPair { first, second, pass_result: false })
}

/// The call that locks or unlocks the byte. The descriptor is owned by the pair.
fn set_lock(file: &File, owner: LockOwner, lock_type: i32) -> Call {
    let lock = Buffer::containing(lock_of_byte(lock_type, POSITION));
    let args = [file.as_raw_fd() as u64, owner.set_command() as u64, lock.address()];
    // SAFETY: the kernel reads one lock, which the call owns; the command never waits.
    unsafe { Call::new(libc::SYS_fcntl, &args) }.with_owned(lock)
}

/// fcntl(2) with F_SETLEASE: a write lease on a file taken, and given back.
pub fn lease() -> Result<CallPair, Errno> {
    let file = file_to_lock()?;
    let fd = file.as_raw_fd() as u64;
    let set = |lease: i32| {
        let args = [fd, libc::F_SETLEASE as u64, lease as u64];
        // SAFETY: plain numbers; the pair owns the descriptor. The file has no name, so no other
        // process opens it, and no signal is sent.
        unsafe { Call::new(libc::SYS_fcntl, &args) }
    };
    let (first, second) = (set(libc::F_WRLCK), set(libc::F_UNLCK));
    Ok(CallPair { first, second: second.with_owned(file), pass_result: false })
}
