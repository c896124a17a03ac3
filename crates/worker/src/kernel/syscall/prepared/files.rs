//! Calls on descriptors and paths.

use std::ffi::CStr;
use std::fs::File;
use std::hint::black_box;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::call::{Call, NO_ERROR, Pair, Room};
use crate::kernel::Errno;
use crate::kernel::file::temp_folder::Folder;

/// What relative paths begin at: the working folder.
const HERE: u64 = libc::AT_FDCWD as i64 as u64;

/// A descriptor as an argument.
fn number(fd: &impl AsRawFd) -> u64 {
    fd.as_raw_fd() as u64
}

/// /dev/null, open for reading.
#[inline(never)]
fn null() -> Result<File, Errno> {
    Ok(File::open("/dev/null")?)
}

/// `write(fd, byte, 1)` to /dev/null.
pub fn write() -> Result<Call, Errno> {
    let (file, room) = (File::options().write(true).open("/dev/null")?, Room::of(1));
    let args = [number(&file), room.address(), 1];
    // SAFETY: one byte is read; the call holds it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_write, &args) }.giving(1..=1).holding(room).holding(file))
}

/// `read(fd, byte, 1)` from /dev/zero.
pub fn read() -> Result<Call, Errno> {
    let (file, room) = (File::open("/dev/zero")?, Room::of(1));
    let args = [number(&file), room.address(), 1];
    // SAFETY: one byte is written; the call holds it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_read, &args) }.giving(1..=1).holding(room).holding(file))
}

/// `pread(fd, byte, 1, 0)` of a file in memory.
pub fn pread() -> Result<Call, Errno> {
    let (file, room) = (file_in_memory()?, Room::of(1));
    let args = [number(&file), room.address(), 1, 0];
    // SAFETY: one byte is written; the call holds it and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_pread64, &args) }.giving(1..=1).holding(room).holding(file))
}

/// `lseek(fd, 1, SEEK_SET)` in a file in memory.
pub fn lseek() -> Result<Call, Errno> {
    let file = file_in_memory()?;
    let args = [number(&file), 1, libc::SEEK_SET as u64];
    // SAFETY: plain numbers; the call holds the descriptor.
    Ok(unsafe { Call::new(libc::SYS_lseek, &args) }.giving(1..=1).holding(file))
}

/// `fcntl(fd, F_GETFL)`.
pub fn fcntl() -> Result<Call, Errno> {
    let file = null()?;
    let args = [number(&file), libc::F_GETFL as u64];
    // SAFETY: plain numbers, and this command only asks; the call holds the descriptor.
    Ok(unsafe { Call::new(libc::SYS_fcntl, &args) }.giving(NO_ERROR).holding(file))
}

/// `stat(path)`, made as newfstatat(2): the C library's stat() makes the same call, and aarch64 has
/// no other.
pub fn stat(path: &'static CStr) -> Call {
    let room = Room::of(size_of::<libc::stat>());
    let args = [HERE, path.as_ptr() as u64, room.address(), 0];
    // SAFETY: the path has an end and lives for ever; one stat is written, and the call holds it.
    unsafe { Call::new(libc::SYS_newfstatat, &args) }.holding(room)
}

/// `fstat(fd)` of /dev/null.
pub fn fstat() -> Result<Call, Errno> {
    let (file, room) = (null()?, Room::of(size_of::<libc::stat>()));
    let args = [number(&file), room.address()];
    // SAFETY: one stat is written; the call holds room for it, and the descriptor.
    Ok(unsafe { Call::new(libc::SYS_fstat, &args) }.holding(room).holding(file))
}

/// `access(path, R_OK)`, made as faccessat(2): aarch64 has no access(2).
pub fn access(path: &'static CStr) -> Call {
    let args = [HERE, path.as_ptr() as u64, libc::R_OK as u64];
    // SAFETY: the path has an end and lives for ever.
    unsafe { Call::new(libc::SYS_faccessat, &args) }
}

/// `close(fd)` of a descriptor that is not open: what is right is that it fails with EBADF.
///
/// Its number lies inside the table that every process begins with, so that the kernel looks.
pub fn close_closed() -> Result<Call, Errno> {
    let fd = closed_descriptor()?;
    // SAFETY: nothing is closed while the number is nobody's; the kernel hands out the lowest free
    // one, and some thirty are free below it.
    Ok(unsafe { Call::new(libc::SYS_close, &[fd as u64]) }.failing_with(libc::EBADF))
}

/// The highest number below 64, and above 32, that no descriptor has.
pub(in crate::kernel) fn closed_descriptor() -> Result<i32, Errno> {
    // SAFETY: the command only asks.
    let is_closed = |fd: i32| unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0;
    let mut fd = 63;
    // Not unrolled: what it costs does not matter, and how long it is does.
    while fd > 32 && !is_closed(black_box(fd)) {
        fd -= 1;
    }
    if fd > 32 { Ok(fd) } else { Err(Errno::EMFILE) }
}

/// close(2) of what the call before it has opened.
fn close_it() -> Call {
    // SAFETY: it is made of what a call has just opened, and of nothing else.
    unsafe { Call::new(libc::SYS_close, &[0]) }
}

/// `dup(fd)` and close(2) of what it gave.
pub fn dup_close() -> Result<Pair, Errno> {
    let file = null()?;
    // SAFETY: a plain number; the call holds the descriptor.
    let dup = unsafe { Call::new(libc::SYS_dup, &[number(&file)]) }.giving(NO_ERROR).holding(file);
    Ok(Pair { first: dup, second: close_it(), hands_on: true })
}

/// `open(path, O_RDONLY)` and close(2), as openat(2) of a path in a private folder.
pub fn open_close_in(folder: Folder, path: &'static CStr) -> Result<Pair, Errno> {
    let from = File::open(folder.path())?;
    let args = [number(&from), path.as_ptr() as u64, libc::O_RDONLY as u64];
    // SAFETY: the path has an end and lives for ever; the call holds the folder.
    let open = unsafe { Call::new(libc::SYS_openat, &args) };
    let open = open.giving(NO_ERROR).holding(from).holding(folder);
    Ok(Pair { first: open, second: close_it(), hands_on: true })
}

/// `lseek(fd, 0)` and getdents64(2) of a private folder, whose names fit into one call.
pub fn getdents(folder: Folder) -> Result<Pair, Errno> {
    /// What a few names need, several times over.
    const BYTES: usize = 4_096;
    let (file, room) = (File::open(folder.path())?, Room::of(BYTES));
    let fd = number(&file);
    // SAFETY: plain numbers; the second call holds the descriptor, and both are dropped together.
    let rewind = unsafe { Call::new(libc::SYS_lseek, &[fd, 0, libc::SEEK_SET as u64]) };
    // SAFETY: at most so many bytes are written, which the call holds; the descriptor it holds too.
    let list = unsafe { Call::new(libc::SYS_getdents64, &[fd, room.address(), BYTES as u64]) };
    let list = list.giving(1..=BYTES as i64).holding(room).holding(file).holding(folder);
    Ok(Pair { first: rewind, second: list, hands_on: false })
}

/// A file of a page that no folder has a name for.
fn file_in_memory() -> Result<OwnedFd, Errno> {
    // SAFETY: the name has an end; the descriptor is new and ours.
    let file = unsafe {
        let fd = Errno::check(libc::memfd_create(c"oscost".as_ptr(), libc::MFD_CLOEXEC))?;
        OwnedFd::from_raw_fd(fd)
    };
    std::os::unix::fs::FileExt::write_all_at(&File::from(file.try_clone()?), &[1; 4_096], 0)?;
    Ok(file)
}
