//! Keys in the keyring of a thread, which end with it (keyrings(7)).

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// KEYCTL_GET_KEYRING_ID and KEYCTL_UNLINK of linux/keyctl.h.
const GET_KEYRING_ID: u64 = 0;
const UNLINK: u64 = 9;
/// KEY_SPEC_THREAD_KEYRING: the keyring of the calling thread.
const THREAD_KEYRING: u64 = -1i64 as u64;

/// Gives the calling thread a keyring, if it has none. Nothing takes it away before the thread's
/// end: a child calls this.
pub fn create_thread_keyring() -> Result<(), Errno> {
    keyring_id(true)
}

/// `keyctl(KEYCTL_GET_KEYRING_ID)` of the thread's keyring; ENOKEY if it has none.
#[inline(always)]
pub fn find_thread_keyring() -> Result<(), Errno> {
    keyring_id(false)
}

#[inline(always)]
fn keyring_id(creates: bool) -> Result<(), Errno> {
    let args = [GET_KEYRING_ID, THREAD_KEYRING, u64::from(creates), 0, 0, 0];
    // SAFETY: plain numbers; no memory is accessed.
    let id = raw_result(unsafe { arch::syscall(libc::SYS_keyctl, args) })?;
    if id > 0 { Ok(()) } else { Err(Errno::EPROTO) }
}

/// add_key(2) of a key of one byte to the thread's keyring, and `keyctl(KEYCTL_UNLINK)`, which
/// takes it out again.
#[inline(always)]
pub fn add_and_unlink() -> Result<(), Errno> {
    let payload = 0u8;
    let (kind, name) = (c"user".as_ptr() as u64, c"oscost".as_ptr() as u64);
    let args = [kind, name, &raw const payload as u64, 1, THREAD_KEYRING, 0];
    // SAFETY: two NUL-terminated strings and one byte are read.
    let key = raw_result(unsafe { arch::syscall(libc::SYS_add_key, args) })?;
    if key <= 0 {
        return Err(Errno::EPROTO);
    }
    let args = [UNLINK, key as u64, THREAD_KEYRING, 0, 0, 0];
    // SAFETY: plain numbers; no memory is accessed.
    raw_result(unsafe { arch::syscall(libc::SYS_keyctl, args) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::fork;
    use crate::kernel::process::in_own_process;
    use crate::kernel::process::spawn::reap;

    #[test]
    fn a_child_has_a_keyring_of_its_own_and_its_parent_has_none() {
        in_own_process(|| {
            let child = fork(|| {
                if let Err(error) = create_thread_keyring() {
                    eprintln!("cannot run here: {error}");
                    return 0;
                }
                // More keys than an ordinary user may have at a time.
                let added = (0..300).try_for_each(|_| add_and_unlink());
                match find_thread_keyring().and(added) {
                    Ok(()) => 0,
                    // Keys of other programs fill the quota, or their removal is late.
                    Err(Errno(libc::EDQUOT)) => 0,
                    Err(error) => error.0,
                }
            });
            assert_eq!(child.and_then(reap), Ok(()));
            assert!(find_thread_keyring().is_err());
        });
    }
}
