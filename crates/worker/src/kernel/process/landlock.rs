//! Landlock: rulesets, and processes that restrict themselves by them (landlock(7)).

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// LANDLOCK_ACCESS_FS_READ_FILE of linux/landlock.h.
const READ_FILE: u64 = 1 << 2;
/// LANDLOCK_RULE_PATH_BENEATH.
const PATH_BENEATH: u64 = 1;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    folder: i32,
}

/// A ruleset that governs the opening of files for reading.
pub struct Ruleset(OwnedFd);

impl Ruleset {
    /// An empty one, which allows none: landlock_create_ruleset(2).
    pub fn new() -> Result<Self, Errno> {
        let governed = READ_FILE;
        let args = [&raw const governed as u64, size_of::<u64>() as u64, 0, 0, 0, 0];
        // SAFETY: one word is read; the descriptor is new and owned here.
        unsafe {
            let fd = raw_result(arch::syscall(libc::SYS_landlock_create_ruleset, args))?;
            Ok(Self(OwnedFd::from_raw_fd(fd as i32)))
        }
    }

    /// Allows it for the files in a folder and in those beneath: landlock_add_rule(2).
    pub fn allow_beneath(&self, folder: &Path) -> Result<(), Errno> {
        let folder = File::open(folder)?;
        let rule = PathBeneath { allowed: READ_FILE, folder: folder.as_raw_fd() };
        let args = [self.0.as_raw_fd() as u64, PATH_BENEATH, &raw const rule as u64, 0, 0, 0];
        // SAFETY: one structure is read, which names a descriptor that is open.
        raw_result(unsafe { arch::syscall(libc::SYS_landlock_add_rule, args) }).map(drop)
    }

    /// landlock_restrict_self(2): the calling thread and its descendants are restricted until they
    /// end, so that a child calls this. The thread must have set `no_new_privs`, or have
    /// CAP_SYS_ADMIN.
    #[inline(always)]
    pub fn restrict(&self) -> Result<(), Errno> {
        self.restrict_self(0)
    }

    /// The same call with an invalid flag, which restricts nothing: afterwards the code and the
    /// stack that it needs are in memory.
    pub fn restrict_nothing(&self) {
        const NO_FLAG: u64 = 1 << 31;
        // It fails with EINVAL.
        let _ = self.restrict_self(NO_FLAG);
    }

    #[inline(always)]
    fn restrict_self(&self, flags: u64) -> Result<(), Errno> {
        let args = [self.0.as_raw_fd() as u64, flags, 0, 0, 0, 0];
        // SAFETY: plain numbers; memory and open descriptors stay as they are.
        raw_result(unsafe { arch::syscall(libc::SYS_landlock_restrict_self, args) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::file::temp_folder::TempFolder;
    use crate::kernel::process::privileges::forbid_new_privileges;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    /// Restricts the process to `folder`; whether it then reads what it may, and nothing else.
    fn restrict(folder: &Path) -> Result<bool, Errno> {
        forbid_new_privileges()?;
        let ruleset = Ruleset::new()?;
        ruleset.allow_beneath(folder)?;
        let reads_others = || File::open("/proc/self/status").is_ok();
        ruleset.restrict_nothing();
        let before = reads_others();
        ruleset.restrict()?;
        let reads_own = File::open(folder.join("1/2/3/4/5/6/7/file")).is_ok();
        Ok(before && reads_own && !reads_others())
    }

    #[test]
    fn a_restricted_child_reads_what_is_beneath_its_folder_alone() {
        in_own_process(|| {
            let folder = TempFolder::new().unwrap();
            let child = fork(|| match restrict(folder.path()) {
                Ok(holds) => i32::from(!holds),
                Err(error) if error.is_unavailable() => {
                    eprintln!("cannot run here: {error}");
                    0
                }
                Err(error) => error.0,
            });
            assert_eq!(child.and_then(reap), Ok(()));
            assert!(File::open("/proc/self/status").is_ok());
        });
    }
}
