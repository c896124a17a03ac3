//! The name of the calling thread (`comm`), by the raw instruction.

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// Bytes of a name, with the NUL at its end (TASK_COMM_LEN).
const BYTES: usize = 16;

/// A name of the calling thread.
pub struct TaskName([u8; BYTES]);

impl TaskName {
    /// The name that it has: `prctl(PR_GET_NAME)`.
    pub fn current() -> Result<Self, Errno> {
        let mut name = [0; BYTES];
        let args = [libc::PR_GET_NAME as u64, name.as_mut_ptr() as u64, 0, 0, 0, 0];
        // SAFETY: the kernel writes as many bytes as a name has.
        raw_result(unsafe { arch::syscall(libc::SYS_prctl, args) })?;
        Ok(Self(name))
    }

    /// Gives it this name: `prctl(PR_SET_NAME)`.
    #[inline(always)]
    pub fn set(&self) -> Result<(), Errno> {
        let args = [libc::PR_SET_NAME as u64, self.0.as_ptr() as u64, 0, 0, 0, 0];
        // SAFETY: the kernel reads at most as many bytes as a name has.
        raw_result(unsafe { arch::syscall(libc::SYS_prctl, args) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_name_if_that_is_set_again() {
        let before = TaskName::current().unwrap();
        assert!(before.0[0] != 0 && before.0[BYTES - 1] == 0);
        before.set().unwrap();
        assert_eq!(TaskName::current().unwrap().0, before.0);
    }
}
