//! Children that share parts of their parent, by clone(2).

use crate::kernel::{Errno, arch};

/// What a child shares with its parent instead of copying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedPart {
    /// Nothing: everything is copied.
    Nothing,
    /// Root, working folder and umask (CLONE_FS).
    Folders,
    /// The descriptor table (CLONE_FILES).
    Descriptors,
    /// The address space (CLONE_VM).
    Memory,
    /// The address space and the signal handlers (CLONE_SIGHAND requires CLONE_VM).
    MemoryAndHandlers,
    /// All of these.
    All,
}

impl SharedPart {
    fn flags(self) -> i32 {
        match self {
            SharedPart::Nothing => 0,
            SharedPart::Folders => libc::CLONE_FS,
            SharedPart::Descriptors => libc::CLONE_FILES,
            SharedPart::Memory => libc::CLONE_VM,
            SharedPart::MemoryAndHandlers => libc::CLONE_VM | libc::CLONE_SIGHAND,
            SharedPart::All => {
                libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_FS | libc::CLONE_FILES
            }
        }
    }
}

/// A child that shares this part and exits at once: clone(2) by the raw instruction.
#[inline(always)]
pub fn clone_and_exit(shared: SharedPart) -> Result<u32, Errno> {
    let flags = (shared.flags() | libc::SIGCHLD) as u64;
    // SAFETY: no flag names a word or registers. The child exits without touching memory.
    match unsafe { arch::clone_and_exit(flags, std::ptr::null_mut()) } {
        result if result < 0 => Err(Errno(-result as i32)),
        pid => Ok(pid as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;
    use crate::kernel::process::spawn::reap;

    #[test]
    fn a_child_exits_whatever_it_shares_and_its_parent_keeps_everything() {
        in_own_process(|| {
            let null = std::fs::File::open("/dev/null").unwrap();
            for shared in [
                SharedPart::Nothing,
                SharedPart::Folders,
                SharedPart::Descriptors,
                SharedPart::Memory,
                SharedPart::MemoryAndHandlers,
                SharedPart::All,
            ] {
                assert_eq!(clone_and_exit(shared).and_then(reap), Ok(()), "{shared:?}");
            }
            assert!(null.metadata().is_ok(), "a shared table outlives the child");
        });
    }
}
