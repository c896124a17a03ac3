//! Calls that programs make while they start: lookups of programs, registrations of threads,
//! mappings of libraries.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::memory::memory_file;
use crate::kernel::memory::region::{PageKind, Region};

const READ: u64 = libc::PROT_READ as u64;
const PRIVATE: u64 = libc::MAP_PRIVATE as u64;
const PRIVATE_FIXED: u64 = (libc::MAP_PRIVATE | libc::MAP_FIXED) as u64;

/// execve(2) of a name that an existing folder does not have, which must fail with ENOENT.
pub fn execve_missing() -> Result<Call, Errno> {
    let folder = TempFolder::new()?;
    let path = folder.path().join("missing");
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    // The path alone, and the null pointer that ends both lists.
    let lists = Buffer::containing([path.as_ptr() as u64, 0]);
    let args = [path.as_ptr() as u64, lists.address(), lists.address() + 8];
    // SAFETY: path and lists end with a null, and the call owns them and the private folder, in
    // which there is no such program: the call fails before it changes anything.
    Ok(unsafe { Call::new(libc::SYS_execve, &args) }
        .with_error(libc::ENOENT)
        .with_owned(path)
        .with_owned(lists)
        .with_owned(folder))
}

/// set_robust_list(2) of the list that the thread has.
pub fn set_robust_list() -> Result<Call, Errno> {
    let (mut head, mut bytes) = (0u64, 0u64);
    // SAFETY: two words are written, both locals; 0 is the calling thread.
    let got = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut bytes) };
    if got < 0 {
        return Err(Errno::last());
    }
    // SAFETY: the thread has this list already.
    Ok(unsafe { Call::new(libc::SYS_set_robust_list, &[head, bytes]) })
}

/// set_tid_address(2) of the address that the thread has, where the kernel tells it (with
/// CONFIG_CHECKPOINT_RESTORE).
pub fn set_tid_address() -> Result<Call, Errno> {
    let mut address = 0u64;
    // SAFETY: one word is written, a local.
    Errno::check(unsafe { libc::prctl(libc::PR_GET_TID_ADDRESS, &raw mut address) })?;
    // SAFETY: the thread has this address already.
    Ok(unsafe { Call::new(libc::SYS_set_tid_address, &[address]) }.with_results(1..=i64::MAX))
}

/// mmap(2) of a file in memory, privately and read-only, and munmap(2).
pub fn map_file_unmap(bytes: u64) -> Result<CallPair, Errno> {
    let file = memory_file::create("mapped", bytes)?;
    file.set_len(bytes)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as u64;
    // SAFETY: a new mapping at an address that the kernel chooses; the call owns the descriptor.
    let map = unsafe { Call::new(libc::SYS_mmap, &[0, bytes, READ, PRIVATE, fd, 0]) }
        .with_results(ANY_SUCCESS)
        .with_owned(file);
    // SAFETY: it unmaps what the preceding call mapped, which nothing refers to.
    let unmap = unsafe { Call::new(libc::SYS_munmap, &[0, bytes]) };
    Ok(CallPair { first: map, second: unmap, pass_result: true })
}

/// mmap(2) of a file in memory with MAP_FIXED over the same mapping of before.
pub fn map_file_over(bytes: u64) -> Result<Call, Errno> {
    let file = memory_file::create("mapped", bytes)?;
    file.set_len(bytes)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as u64;
    let place = Region::anonymous(bytes as usize, PageKind::Small)?;
    let at = place.address() as u64;
    // SAFETY: it replaces the mapping of a region that the call owns, and which nothing else uses.
    Ok(unsafe { Call::new(libc::SYS_mmap, &[at, bytes, READ, PRIVATE_FIXED, fd, 0]) }
        .with_results(at as i64..=at as i64)
        .with_owned(file)
        .with_owned(place))
}
