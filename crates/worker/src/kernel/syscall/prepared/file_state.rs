//! Calls on the state of an open file: its length, its blocks, its attributes, its cached pages;
//! and vectors of buffers.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::call::{Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::memory::memory_file;

fn descriptor(file: &File) -> u64 {
    file.as_raw_fd() as u64
}

/// `ftruncate(fd, bytes)` of an empty file, and `ftruncate(fd, 0)`.
pub fn truncate(file: File, bytes: u64) -> CallPair {
    let fd = descriptor(&file);
    // SAFETY: plain numbers; the second call owns the descriptor, and both are dropped together.
    let (grow, shrink) = unsafe {
        (Call::new(libc::SYS_ftruncate, &[fd, bytes]), Call::new(libc::SYS_ftruncate, &[fd, 0]))
    };
    CallPair { first: grow, second: shrink.with_owned(file), pass_result: false }
}

/// fallocate(2) of the first `bytes` bytes of a file of that length at least, and fallocate(2) that
/// punches a hole of that size there.
pub fn allocate_and_punch(file: File, bytes: u64) -> CallPair {
    let (fd, keep) = (descriptor(&file), libc::FALLOC_FL_KEEP_SIZE as u64);
    let punch = keep | libc::FALLOC_FL_PUNCH_HOLE as u64;
    // SAFETY: plain numbers; the second call owns the descriptor, and both are dropped together.
    let (allocate, punch) = unsafe {
        (
            Call::new(libc::SYS_fallocate, &[fd, keep, 0, bytes]),
            Call::new(libc::SYS_fallocate, &[fd, punch, 0, bytes]),
        )
    };
    CallPair { first: allocate, second: punch.with_owned(file), pass_result: false }
}

/// A call that waits until a file is on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncCall {
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// sync_file_range(2) of all of it, which waits for pages alone.
    SyncFileRange,
}

/// The call on a file that has nothing to write.
pub fn sync_clean(call: SyncCall, file: File) -> Call {
    let fd = descriptor(&file);
    let all_phases = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: plain numbers; the call owns the descriptor.
    let call = unsafe {
        match call {
            SyncCall::Fsync => Call::new(libc::SYS_fsync, &[fd]),
            SyncCall::Fdatasync => Call::new(libc::SYS_fdatasync, &[fd]),
            SyncCall::SyncFileRange => {
                Call::new(libc::SYS_sync_file_range, &[fd, 0, 0, u64::from(all_phases)])
            }
        }
    };
    call.with_owned(file)
}

/// posix_fadvise(2) that the first `bytes` bytes will be needed.
pub fn will_need(file: File, bytes: u64) -> Call {
    let args = [descriptor(&file), 0, bytes, libc::POSIX_FADV_WILLNEED as u64];
    // SAFETY: plain numbers; the call owns the descriptor.
    unsafe { Call::new(libc::SYS_fadvise64, &args) }.with_owned(file)
}

/// posix_fadvise(2) that none of a file will be needed.
pub fn wont_need(file: File) -> Call {
    let args = [descriptor(&file), 0, 0, libc::POSIX_FADV_DONTNEED as u64];
    // SAFETY: plain numbers; the call owns the descriptor.
    unsafe { Call::new(libc::SYS_fadvise64, &args) }.with_owned(file)
}

/// readahead(2) of the first `bytes` bytes.
pub fn readahead(file: File, bytes: u64) -> Call {
    // SAFETY: plain numbers; the call owns the descriptor.
    unsafe { Call::new(libc::SYS_readahead, &[descriptor(&file), 0, bytes]) }.with_owned(file)
}

/// A call that sets attributes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeCall {
    /// fchmod(2).
    Fchmod,
    /// fchown(2).
    Fchown,
    /// utimensat(2) by descriptor: futimens(3).
    Utimensat,
}

/// The call that sets the attributes that the file has.
pub fn attributes(call: AttributeCall, file: File) -> Result<Call, Errno> {
    let (fd, has) = (descriptor(&file), file.metadata()?);
    let time = |seconds, nanoseconds| libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Buffer::containing([
        time(has.atime(), has.atime_nsec()),
        time(has.mtime(), has.mtime_nsec()),
    ]);
    // SAFETY: plain numbers, and two times that are read; the call owns them and the descriptor.
    let call = unsafe {
        match call {
            AttributeCall::Fchmod => {
                Call::new(libc::SYS_fchmod, &[fd, u64::from(has.mode() & 0o7777)])
            }
            AttributeCall::Fchown => {
                Call::new(libc::SYS_fchown, &[fd, u64::from(has.uid()), u64::from(has.gid())])
            }
            AttributeCall::Utimensat => {
                Call::new(libc::SYS_utimensat, &[fd, 0, times.address(), 0])
            }
        }
    };
    Ok(call.with_owned(times).with_owned(file))
}

/// A call that returns the status of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusCall {
    /// newfstatat(2), which is stat(2).
    Newfstatat,
    /// statx(2), with the fields of stat(2).
    Statx,
}

/// The call for a path.
pub fn status(call: StatusCall, path: &'static CStr) -> Call {
    let (here, path) = (libc::AT_FDCWD as i64 as u64, path.as_ptr() as u64);
    let bytes = match call {
        StatusCall::Newfstatat => size_of::<libc::stat>(),
        StatusCall::Statx => size_of::<libc::statx>(),
    };
    let room = Buffer::zeroed(bytes);
    let to = room.address();
    // SAFETY: the path is NUL-terminated and static; one structure of the call's type is written,
    // and the call owns it.
    let call = unsafe {
        match call {
            StatusCall::Newfstatat => Call::new(libc::SYS_newfstatat, &[here, path, to, 0]),
            StatusCall::Statx => {
                let fields = u64::from(libc::STATX_BASIC_STATS);
                Call::new(libc::SYS_statx, &[here, path, 0, fields, to])
            }
        }
    };
    call.with_owned(room)
}

/// The length of a vector.
pub const VECTOR_BYTES: usize = 64;

/// A call that transfers several buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorCall {
    /// preadv(2).
    Preadv,
    /// pwritev(2).
    Pwritev,
}

/// The call at the start of a file in memory, with `count` vectors of 64 bytes.
pub fn vectors(call: VectorCall, count: usize) -> Result<Call, Errno> {
    let bytes = count * VECTOR_BYTES;
    let file = memory_file::create("oscost", bytes as u64)?;
    file.write_all_at(&vec![1u8; bytes], 0)?;
    let data = Buffer::zeroed(bytes);
    let list = Buffer::zeroed(count * size_of::<libc::iovec>());
    for index in 0..count {
        let base = (data.address() + (index * VECTOR_BYTES) as u64) as *mut libc::c_void;
        let vector = libc::iovec { iov_base: base, iov_len: VECTOR_BYTES };
        // SAFETY: the list has room for as many vectors and is aligned for them, and nothing
        // borrows from it.
        unsafe { (list.address() as *mut libc::iovec).add(index).write(vector) };
    }
    let number = match call {
        VectorCall::Preadv => libc::SYS_preadv,
        VectorCall::Pwritev => libc::SYS_pwritev,
    };
    let args = [descriptor(&file), list.address(), count as u64, 0, 0];
    // SAFETY: the vectors lie in a buffer of the call, which is written or read; the call owns the
    // list and the descriptor too.
    let call = unsafe { Call::new(number, &args) }.with_results(bytes as i64..=bytes as i64);
    Ok(call.with_owned(data).with_owned(list).with_owned(file))
}
