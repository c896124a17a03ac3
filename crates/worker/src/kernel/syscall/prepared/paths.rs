//! Calls on paths in a private folder, on the working folder, and on a file's attributes.

use std::ffi::{CStr, CString};
use std::fs::File;

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use super::files::{WORKING_FOLDER, close_result, fd_argument};
use crate::kernel::Errno;
use crate::kernel::file::attribute::ATTRIBUTE_NAME;
use crate::kernel::file::entries::Folder;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::file::working_folder::{SYSTEM_FOLDER, WorkingFolder};

/// Opens for reading, and closes at exec(2).
const READ_ONLY: u64 = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;

/// `stat(path)`, as newfstatat(2) relative to a private folder.
pub fn stat_in(folder: Folder, path: CString) -> Call {
    let room = Buffer::zeroed(size_of::<libc::stat>());
    let args = [fd_argument(folder.file()), path.as_ptr() as u64, room.address(), 0];
    // SAFETY: the path is NUL-terminated; one stat is written; the call owns path, buffer and
    // folder.
    unsafe { Call::new(libc::SYS_newfstatat, &args) }
        .with_owned(room)
        .with_owned(path)
        .with_owned(folder)
}

/// readlinkat(2) of a symbolic link in a private folder, whose content has so many bytes.
pub fn readlink_in(folder: Folder, name: &'static CStr, bytes: usize) -> Call {
    /// As programs pass it: the content may be longer than they know.
    const ROOM_BYTES: usize = libc::PATH_MAX as usize;
    let (room, bytes) = (Buffer::zeroed(ROOM_BYTES), bytes as i64);
    let (folder_fd, path) = (fd_argument(folder.file()), name.as_ptr() as u64);
    let args = [folder_fd, path, room.address(), ROOM_BYTES as u64];
    // SAFETY: the name is NUL-terminated and static; at most that many bytes are written; the call
    // owns buffer and folder.
    unsafe { Call::new(libc::SYS_readlinkat, &args) }
        .with_results(bytes..=bytes)
        .with_owned(room)
        .with_owned(folder)
}

/// openat(2) of a private folder's subfolder with O_DIRECTORY, and close(2).
pub fn open_close_folder(folder: Folder, name: &'static CStr) -> CallPair {
    open_close(folder, name, READ_ONLY | libc::O_DIRECTORY as u64)
}

/// openat(2) of a private folder's file for reading, and close(2).
pub fn open_close_file(folder: Folder, name: &'static CStr) -> CallPair {
    open_close(folder, name, READ_ONLY)
}

fn open_close(folder: Folder, name: &'static CStr, flags: u64) -> CallPair {
    let args = [fd_argument(folder.file()), name.as_ptr() as u64, flags];
    // SAFETY: the name is NUL-terminated and static; the call owns the folder.
    let open = unsafe { Call::new(libc::SYS_openat, &args) };
    let open = open.with_results(ANY_SUCCESS).with_owned(folder);
    CallPair { first: open, second: close_result(), pass_result: true }
}

/// `chdir(path)` to a folder of the system; dropping the call restores the working folder.
pub fn chdir() -> Result<Call, Errno> {
    let restored = WorkingFolder::remember()?;
    // SAFETY: the path is NUL-terminated and static; paths of other calls are absolute or relative
    // to open folders until the working folder is restored.
    Ok(unsafe { Call::new(libc::SYS_chdir, &[SYSTEM_FOLDER.as_ptr() as u64]) }.with_owned(restored))
}

/// The same, as `fchdir(fd)`.
pub fn fchdir() -> Result<Call, Errno> {
    let restored = WorkingFolder::remember()?;
    let folder = File::open("/etc")?;
    // SAFETY: a plain number; the call owns the descriptor. As above.
    let call = unsafe { Call::new(libc::SYS_fchdir, &[fd_argument(&folder)]) };
    Ok(call.with_owned(restored).with_owned(folder))
}

/// getcwd(2) of a working folder whose path has so many components.
pub fn getcwd(depth: usize) -> Result<Call, Errno> {
    const ROOM_BYTES: usize = libc::PATH_MAX as usize;
    let working = WorkingFolder::at_depth(depth)?;
    // It returns the length with the NUL.
    let bytes = std::env::current_dir()?.as_os_str().len() as i64 + 1;
    let room = Buffer::zeroed(ROOM_BYTES);
    // SAFETY: at most that many bytes are written to a buffer that the call owns.
    let call = unsafe { Call::new(libc::SYS_getcwd, &[room.address(), ROOM_BYTES as u64]) };
    Ok(call.with_results(bytes..=bytes).with_owned(working).with_owned(room))
}

/// The call that opens a file by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenCall {
    /// open(2), which aarch64 does not have.
    Open,
    /// openat(2), relative to the working folder.
    Openat,
    /// openat2(2), the same (Linux 5.6).
    Openat2,
}

/// Opens a regular file in the working folder for reading, and close(2).
pub fn open_close_by(by: OpenCall) -> Result<CallPair, Errno> {
    let working = WorkingFolder::temporary()?;
    let path = TempFolder::SHALLOW_PATH;
    let open = match by {
        OpenCall::Open => open(path)?,
        OpenCall::Openat => {
            let args = [WORKING_FOLDER, path.as_ptr() as u64, READ_ONLY];
            // SAFETY: the path is NUL-terminated and static.
            unsafe { Call::new(libc::SYS_openat, &args) }
        }
        OpenCall::Openat2 => {
            // Flags, mode and `resolve` of `struct open_how`.
            let how = [READ_ONLY, 0, 0];
            let room = Buffer::containing(how);
            let args =
                [WORKING_FOLDER, path.as_ptr() as u64, room.address(), size_of_val(&how) as u64];
            // SAFETY: the path is NUL-terminated and static; the call owns what says how.
            unsafe { Call::new(libc::SYS_openat2, &args) }.with_owned(room)
        }
    };
    let open = open.with_results(ANY_SUCCESS).with_owned(working);
    Ok(CallPair { first: open, second: close_result(), pass_result: true })
}

#[cfg(target_arch = "x86_64")]
fn open(path: &'static CStr) -> Result<Call, Errno> {
    // SAFETY: the path is NUL-terminated and static.
    Ok(unsafe { Call::new(libc::SYS_open, &[path.as_ptr() as u64, READ_ONLY]) })
}

#[cfg(not(target_arch = "x86_64"))]
fn open(_path: &'static CStr) -> Result<Call, Errno> {
    Err(Errno::unavailable(
        "this processor's kernel has no open(2): the C library calls openat(2)".to_owned(),
    ))
}

/// fgetxattr(2) of an attribute that has so many bytes.
pub fn fgetxattr(file: File, bytes: usize) -> Call {
    let (room, result) = (Buffer::zeroed(bytes), bytes as i64);
    let args = [fd_argument(&file), ATTRIBUTE_NAME.as_ptr() as u64, room.address(), bytes as u64];
    // SAFETY: the name is NUL-terminated and static; at most that many bytes are written; the call
    // owns buffer and file.
    unsafe { Call::new(libc::SYS_fgetxattr, &args) }
        .with_results(result..=result)
        .with_owned(room)
        .with_owned(file)
}

/// flistxattr(2) of a file that has the attribute, and on some systems a label of the security
/// module.
pub fn flistxattr(file: File) -> Call {
    const ROOM_BYTES: usize = 4_096;
    let room = Buffer::zeroed(ROOM_BYTES);
    let args = [fd_argument(&file), room.address(), ROOM_BYTES as u64];
    let least = ATTRIBUTE_NAME.to_bytes_with_nul().len() as i64;
    // SAFETY: at most that many bytes are written; the call owns buffer and file.
    unsafe { Call::new(libc::SYS_flistxattr, &args) }
        .with_results(least..=ROOM_BYTES as i64)
        .with_owned(room)
        .with_owned(file)
}
