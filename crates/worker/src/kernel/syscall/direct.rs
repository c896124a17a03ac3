//! System calls that benchmarks make by the raw instruction and through the C library.

use oscost_model::mark;

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;
use crate::kernel::time::clock::ClockId;

/// getppid(2) by the raw instruction.
#[inline(always)]
pub fn getppid() -> Result<i64, Errno> {
    // SAFETY: getppid takes no arguments.
    raw_result(unsafe { arch::syscall0(libc::SYS_getppid) })
}

/// getegid(2) by the raw instruction.
#[inline(always)]
pub fn getegid() -> Result<i64, Errno> {
    // SAFETY: getegid takes no arguments.
    raw_result(unsafe { arch::syscall0(libc::SYS_getegid) })
}

/// getppid(2) through the C library; it cannot fail.
#[inline(always)]
pub fn libc_getppid() -> i64 {
    // SAFETY: getppid takes no arguments.
    i64::from(unsafe { libc::getppid() })
}

/// `open(path, O_RDONLY)` by the raw instruction, as openat(2): aarch64 has no open(2), and the C
/// library's open() makes the same call.
#[inline(always)]
pub fn open(path: &std::ffi::CStr) -> Result<i64, Errno> {
    let at = libc::AT_FDCWD as i64 as u64;
    // SAFETY: the path is NUL-terminated; the kernel only reads it.
    raw_result(unsafe {
        arch::syscall(libc::SYS_openat, [at, path.as_ptr() as u64, libc::O_RDONLY as u64, 0, 0, 0])
    })
}

/// close(2) by the raw instruction, of a descriptor that [`open`] returned.
#[inline(always)]
pub fn close(fd: i64) -> Result<i64, Errno> {
    // SAFETY: closing a descriptor that `open` returned touches no memory; nothing else owns it.
    raw_result(unsafe { arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) })
}

/// `open(path, O_RDONLY)` and close through the C library.
#[inline(always)]
pub fn libc_open_close(path: &std::ffi::CStr) -> Result<(), Errno> {
    // SAFETY: the path is NUL-terminated; the descriptor is not shared.
    let fd = Errno::check(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) })?;
    // SAFETY: as above.
    Errno::check(unsafe { libc::close(fd) }).map(drop)
}

/// clock_gettime(2) by the raw instruction, in nanoseconds.
#[inline(always)]
pub fn clock_gettime(clock: ClockId) -> Result<u64, Errno> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which is valid.
    raw_result(unsafe {
        arch::syscall(libc::SYS_clock_gettime, [clock.0 as u64, &raw mut time as u64, 0, 0, 0, 0])
    })?;
    Ok(crate::kernel::time::clock::nanoseconds(&time))
}

/// The ids of the active security modules in the order they are consulted (`LSM_ID_*` of
/// linux/lsm.h); lsm_list_modules(2) needs Linux 6.8.
pub fn lsm_list_modules() -> Result<Vec<u64>, Errno> {
    const NUMBER: i64 = 461;
    let mut ids = [0u64; 64];
    let mut bytes = size_of_val(&ids) as u32;
    // SAFETY: the kernel writes at most the number of bytes that it is given.
    let count = raw_result(unsafe {
        arch::syscall(NUMBER, [ids.as_mut_ptr() as u64, &raw mut bytes as u64, 0, 0, 0, 0])
    })?;
    Ok(ids.into_iter().take(count as usize).collect())
}

/// A marker for the tracer that counts calls: see [`oscost_model::mark`].
pub fn mark(value: u64) {
    // SAFETY: prctl with an unknown option does nothing but return EINVAL.
    let _ = unsafe { arch::syscall(libc::SYS_prctl, [mark::OPTION.into(), value, 0, 0, 0, 0]) };
}

/// A marker for a counter of calls in the kernel: this process is about to start a program.
pub fn mark_program_start(token: u64) {
    let args = [mark::OPTION.into(), mark::PROGRAM_START.into(), token, 0, 0, 0];
    // SAFETY: as above.
    let _ = unsafe { arch::syscall(libc::SYS_prctl, args) };
}
