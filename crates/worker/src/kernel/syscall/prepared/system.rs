//! Calls on control groups, file systems and credentials.

use std::any::Any;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::AsRawFd;

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use super::files::close_result;
use crate::kernel::Errno;

/// `statfs(path)`.
pub fn statfs(path: &'static CStr) -> Call {
    let room = Buffer::zeroed(size_of::<libc::statfs>());
    let args = [path.as_ptr() as u64, room.address()];
    // SAFETY: the path is NUL-terminated and static; one statfs is written, and the call owns it.
    unsafe { Call::new(libc::SYS_statfs, &args) }.with_owned(room)
}

/// `pread(fd, buffer, 65536, 0)` of a file that the kernel writes anew for each reader.
pub fn pread_text(file: File) -> Call {
    const BYTES: usize = 1 << 16;
    let room = Buffer::zeroed(BYTES);
    let args = [file.as_raw_fd() as u64, room.address(), BYTES as u64, 0];
    // SAFETY: the kernel writes at most as many bytes as the buffer has; the call owns it and the
    // descriptor.
    unsafe { Call::new(libc::SYS_pread64, &args) }
        .with_results(1..=BYTES as i64)
        .with_owned(room)
        .with_owned(file)
}

/// `pwrite(fd, text, length, 0)` to a file of the kernel, which must take the whole text; `owner`
/// is what it belongs to.
pub fn pwrite_text(file: File, text: &str, owner: impl Any) -> Call {
    let (length, text) = (text.len(), Box::<[u8]>::from(text.as_bytes()));
    let args = [file.as_raw_fd() as u64, text.as_ptr() as u64, length as u64, 0];
    // SAFETY: as many bytes are read as the text has; the call owns it and the descriptor.
    unsafe { Call::new(libc::SYS_pwrite64, &args) }
        .with_results(length as i64..=length as i64)
        .with_owned(text)
        .with_owned(file)
        .with_owned(owner)
}

/// The same text to two files, one after the other; `owner` is what they belong to.
pub fn pwrite_text_to_both(files: [File; 2], text: &str, owner: impl Any) -> CallPair {
    let [first, second] = files;
    let (first, second) = (pwrite_text(first, text, owner), pwrite_text(second, text, ()));
    CallPair { first, second, pass_result: false }
}

/// `mkdir(name)` in a folder and `rmdir(name)`, made as mkdirat(2) and unlinkat(2): aarch64 has no
/// others. `owner` removes the folder of that name if the second call was not reached.
pub fn mkdir_rmdir(parent: File, name: CString, owner: impl Any) -> CallPair {
    let (fd, address) = (parent.as_raw_fd() as u64, name.as_ptr() as u64);
    // SAFETY: the name is NUL-terminated, and the pair owns it and the descriptor.
    let make = unsafe { Call::new(libc::SYS_mkdirat, &[fd, address, 0o755]) };
    // SAFETY: as above.
    let remove =
        unsafe { Call::new(libc::SYS_unlinkat, &[fd, address, libc::AT_REMOVEDIR as u64]) };
    let make = make.with_owned(owner).with_owned(name).with_owned(parent);
    CallPair { first: make, second: remove, pass_result: false }
}

/// The header of capget(2) and capset(2), which stands for the calling thread, and room for its
/// sets.
fn capability_buffers() -> [Buffer; 2] {
    const VERSION_3: u32 = 0x2008_0522;
    // Three sets of 64 bits, as two structures of three words.
    [Buffer::containing([VERSION_3, 0u32]), Buffer::zeroed(24)]
}

/// capget(2) of the calling thread.
pub fn capget() -> Call {
    let [header, sets] = capability_buffers();
    // SAFETY: the kernel reads the header and writes the sets; the call owns both.
    unsafe { Call::new(libc::SYS_capget, &[header.address(), sets.address()]) }
        .with_owned(header)
        .with_owned(sets)
}

/// capset(2) of the sets that the calling thread has.
pub fn capset_same() -> Result<Call, Errno> {
    let [header, sets] = capability_buffers();
    let args = [header.address(), sets.address()];
    // SAFETY: the kernel reads the header and writes the sets, which outlive the call.
    unsafe { Call::new(libc::SYS_capget, &args) }.ready().make()?;
    // SAFETY: the kernel reads the header and the sets, which stay as they are; the call owns both.
    Ok(unsafe { Call::new(libc::SYS_capset, &args) }.with_owned(header).with_owned(sets))
}

/// setresuid(2) of the ids that the calling thread has.
pub fn setresuid_same() -> Result<Call, Errno> {
    let (mut real, mut effective, mut saved) = (0, 0, 0);
    // SAFETY: three numbers are written, to locals.
    Errno::check(unsafe { libc::getresuid(&raw mut real, &raw mut effective, &raw mut saved) })?;
    let args = [u64::from(real), u64::from(effective), u64::from(saved)];
    // SAFETY: plain numbers; the thread keeps its ids.
    Ok(unsafe { Call::new(libc::SYS_setresuid, &args) })
}

/// `prctl(PR_GET_NO_NEW_PRIVS)`.
pub fn get_no_new_privs() -> Call {
    // SAFETY: plain numbers; this option only queries.
    unsafe { Call::new(libc::SYS_prctl, &[libc::PR_GET_NO_NEW_PRIVS as u64, 0, 0, 0, 0]) }
        .with_results(0..=1)
}

/// `prctl(PR_SET_NO_NEW_PRIVS)`: neither the calling thread nor what it starts gains privileges by
/// execve(2). There is no way back: a child makes this call.
pub fn set_no_new_privs() -> Call {
    // SAFETY: plain numbers; the flag takes nothing that this program uses.
    unsafe { Call::new(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as u64, 1, 0, 0, 0]) }
}

/// landlock_create_ruleset(2) of a ruleset that governs the execution of files, and close(2).
pub fn landlock_ruleset_close() -> CallPair {
    /// LANDLOCK_ACCESS_FS_EXECUTE of linux/landlock.h.
    const EXECUTE: u64 = 1;
    let attribute = Buffer::containing(EXECUTE);
    let args = [attribute.address(), size_of::<u64>() as u64, 0];
    // SAFETY: one word is read, and the call owns it.
    let create = unsafe { Call::new(libc::SYS_landlock_create_ruleset, &args) }
        .with_results(ANY_SUCCESS)
        .with_owned(attribute);
    CallPair { first: create, second: close_result(), pass_result: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    /// The ids and capabilities of this process, as the kernel shows them.
    fn credentials() -> Vec<String> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is_one = |line: &&str| line.starts_with("Uid") || line.starts_with("Cap");
        status.lines().filter(is_one).map(str::to_owned).collect()
    }

    #[test]
    fn calls_that_set_the_same_credentials_change_none() {
        in_own_process(|| {
            let before = credentials();
            for call in [capset_same(), setresuid_same(), Ok(capget())] {
                match call.and_then(|call| call.ready().make()) {
                    Ok(result) => assert_eq!(result, 0),
                    Err(error) => eprintln!("cannot run here: {error}"),
                }
            }
            assert_eq!(credentials(), before);
        });
    }

    #[test]
    fn a_folder_is_made_and_removed_by_a_pair() {
        let parent = File::open(".").unwrap();
        let name = format!("oscost-test-pair-{}", std::process::id());
        let pair = mkdir_rmdir(parent, CString::new(name.clone()).unwrap(), ());
        for _ in 0..3 {
            assert_eq!(pair.ready().make(), Ok(()));
        }
        assert!(!std::fs::exists(name).unwrap());
    }
}
