//! Calls on descriptors and paths.

use std::ffi::CStr;
use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::memory::memory_file;

/// The start of relative paths: the working folder.
pub(super) const WORKING_FOLDER: u64 = libc::AT_FDCWD as i64 as u64;

/// A descriptor as an argument.
pub(super) fn fd_argument(fd: &impl AsRawFd) -> u64 {
    fd.as_raw_fd() as u64
}

/// /dev/null, open for reading.
#[inline(never)]
pub(super) fn open_dev_null() -> Result<File, Errno> {
    Ok(File::open("/dev/null")?)
}

/// `write(fd, byte, 1)` to /dev/null.
pub fn write() -> Result<Call, Errno> {
    let (file, room) = (File::options().write(true).open("/dev/null")?, Buffer::zeroed(1));
    let args = [fd_argument(&file), room.address(), 1];
    // SAFETY: one byte is read; the call owns it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_write, &args) }
        .with_results(1..=1)
        .with_owned(room)
        .with_owned(file))
}

/// `read(fd, byte, 1)` from /dev/zero.
pub fn read() -> Result<Call, Errno> {
    let (file, room) = (File::open("/dev/zero")?, Buffer::zeroed(1));
    let args = [fd_argument(&file), room.address(), 1];
    // SAFETY: one byte is written; the call owns it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_read, &args) }
        .with_results(1..=1)
        .with_owned(room)
        .with_owned(file))
}

/// `pread(fd, byte, 1, 0)` of a file in memory.
pub fn pread() -> Result<Call, Errno> {
    let (file, room) = (file_of_one_page()?, Buffer::zeroed(1));
    let args = [fd_argument(&file), room.address(), 1, 0];
    // SAFETY: one byte is written; the call owns it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_pread64, &args) }
        .with_results(1..=1)
        .with_owned(room)
        .with_owned(file))
}

/// `lseek(fd, 1, SEEK_SET)` in a file in memory.
pub fn lseek() -> Result<Call, Errno> {
    let file = file_of_one_page()?;
    let args = [fd_argument(&file), 1, libc::SEEK_SET as u64];
    // SAFETY: plain numbers; the call owns the descriptor.
    Ok(unsafe { Call::new(libc::SYS_lseek, &args) }.with_results(1..=1).with_owned(file))
}

/// `fcntl(fd, F_GETFL)`.
pub fn fcntl() -> Result<Call, Errno> {
    let file = open_dev_null()?;
    let args = [fd_argument(&file), libc::F_GETFL as u64];
    // SAFETY: plain numbers, and this command only queries; the call owns the descriptor.
    Ok(unsafe { Call::new(libc::SYS_fcntl, &args) }.with_results(ANY_SUCCESS).with_owned(file))
}

/// `stat(path)`, made as newfstatat(2): the C library's stat() makes the same call, and aarch64 has
/// no other.
pub fn stat(path: &'static CStr) -> Call {
    let room = Buffer::zeroed(size_of::<libc::stat>());
    let args = [WORKING_FOLDER, path.as_ptr() as u64, room.address(), 0];
    // SAFETY: the path is NUL-terminated and static; one stat is written, and the call owns it.
    unsafe { Call::new(libc::SYS_newfstatat, &args) }.with_owned(room)
}

/// `fstat(fd)` of /dev/null.
pub fn fstat() -> Result<Call, Errno> {
    let (file, room) = (open_dev_null()?, Buffer::zeroed(size_of::<libc::stat>()));
    let args = [fd_argument(&file), room.address()];
    // SAFETY: one stat is written; the call owns the buffer and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_fstat, &args) }.with_owned(room).with_owned(file))
}

/// `access(path, R_OK)`, made as faccessat(2): aarch64 has no access(2).
pub fn access(path: &'static CStr) -> Call {
    let args = [WORKING_FOLDER, path.as_ptr() as u64, libc::R_OK as u64];
    // SAFETY: the path is NUL-terminated and static.
    unsafe { Call::new(libc::SYS_faccessat, &args) }
}

/// `close(fd)` of a descriptor that is not open, which must fail with EBADF.
///
/// Its number lies within the table that every process starts with, so that the kernel looks it up.
pub fn close_closed_descriptor() -> Result<Call, Errno> {
    let fd = find_closed_descriptor()?;
    // SAFETY: nothing is closed while the number is not open; the kernel allocates the lowest free
    // one, and some thirty are free below it.
    Ok(unsafe { Call::new(libc::SYS_close, &[fd as u64]) }.with_error(libc::EBADF))
}

/// The highest number from 33 to 63 that is not open.
pub(in crate::kernel) fn find_closed_descriptor() -> Result<i32, Errno> {
    // SAFETY: the command only queries.
    let is_closed = |fd: i32| unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0;
    let mut fd = 63;
    // Not unrolled: its speed does not matter, its code size does.
    while fd > 32 && !is_closed(black_box(fd)) {
        fd -= 1;
    }
    if fd > 32 { Ok(fd) } else { Err(Errno::EMFILE) }
}

/// close(2) of the descriptor that the preceding call returned.
pub(super) fn close_result() -> Call {
    // SAFETY: it only closes what the preceding call has just opened.
    unsafe { Call::new(libc::SYS_close, &[0]) }
}

/// `dup(fd)` and close(2) of the result.
pub fn dup_close() -> Result<CallPair, Errno> {
    let file = open_dev_null()?;
    // SAFETY: a plain number; the call owns the descriptor.
    let dup = unsafe { Call::new(libc::SYS_dup, &[fd_argument(&file)]) }
        .with_results(ANY_SUCCESS)
        .with_owned(file);
    Ok(CallPair { first: dup, second: close_result(), pass_result: true })
}

/// `open(path, O_RDONLY)` and close(2), as openat(2) of a path in a private folder.
pub fn open_close_in(folder: TempFolder, path: &'static CStr) -> Result<CallPair, Errno> {
    let from = File::open(folder.path())?;
    let args = [fd_argument(&from), path.as_ptr() as u64, libc::O_RDONLY as u64];
    // SAFETY: the path is NUL-terminated and static; the call owns the folder.
    let open = unsafe { Call::new(libc::SYS_openat, &args) };
    let open = open.with_results(ANY_SUCCESS).with_owned(from).with_owned(folder);
    Ok(CallPair { first: open, second: close_result(), pass_result: true })
}

/// `lseek(fd, 0)` and getdents64(2) of a private folder, whose names fit into one call.
pub fn getdents(folder: TempFolder) -> Result<CallPair, Errno> {
    /// Ample for a few names.
    const BYTES: usize = 4_096;
    let (file, room) = (File::open(folder.path())?, Buffer::zeroed(BYTES));
    let fd = fd_argument(&file);
    // SAFETY: plain numbers; the second call owns the descriptor, and both are dropped together.
    let rewind = unsafe { Call::new(libc::SYS_lseek, &[fd, 0, libc::SEEK_SET as u64]) };
    // SAFETY: at most this many bytes are written to a buffer that the call owns, with the
    // descriptor.
    let list = unsafe { Call::new(libc::SYS_getdents64, &[fd, room.address(), BYTES as u64]) };
    let list =
        list.with_results(1..=BYTES as i64).with_owned(room).with_owned(file).with_owned(folder);
    Ok(CallPair { first: rewind, second: list, pass_result: false })
}

/// A file of one page in memory.
fn file_of_one_page() -> Result<File, Errno> {
    let content = [1; 4_096];
    let file = memory_file::create("oscost", content.len() as u64)?;
    file.write_all_at(&content, 0)?;
    Ok(file)
}
