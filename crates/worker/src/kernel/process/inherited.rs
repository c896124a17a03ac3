//! Open descriptors that a program which is started inherits, or does not.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::io::{dup, fcntl_dupfd_cloexec};

use super::limits::raise_descriptor_limit_to;
use crate::kernel::Errno;

/// What an exec does with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecAction {
    /// It closes it: the flag FD_CLOEXEC is set.
    Closed,
    /// It leaves it open.
    Kept,
}

/// Descriptors that a worker has open itself, and some more.
const SPARE_DESCRIPTORS: u64 = 100;

/// So many descriptors of /dev/null, all of one open file, besides those that are open already; or
/// [`Errno::UNAVAILABLE`], if the process may not have so many.
#[inline(never)]
pub fn open_null_copies(count: u64, at_exec: ExecAction) -> Result<Vec<OwnedFd>, Errno> {
    let wanted = count + SPARE_DESCRIPTORS;
    if raise_descriptor_limit_to(wanted)? < wanted {
        return Err(Errno::unavailable(format!(
            "the limit of open files is below {wanted}: `ulimit -n unlimited`"
        )));
    }
    let null = File::open("/dev/null")?;
    let copy = || match at_exec {
        ExecAction::Closed => fcntl_dupfd_cloexec(&null, 0),
        ExecAction::Kept => dup(&null),
    };
    let copies: Result<Vec<OwnedFd>, _> = (0..count).map(|_| copy()).collect();
    Ok(copies?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    /// How many of these descriptors are open in a program that is started.
    fn open_in_a_program(descriptors: &[OwnedFd]) -> usize {
        let paths = descriptors.iter().map(|fd| format!("/proc/self/fd/{}", fd.as_raw_fd()));
        let script = r#"for path; do if test -e "$path"; then echo open; fi; done"#;
        let output = Command::new("/bin/sh").args(["-c", script, "sh"]).args(paths).output();
        String::from_utf8(output.unwrap().stdout).unwrap().lines().count()
    }

    #[test]
    fn a_program_has_the_descriptors_that_its_exec_keeps_and_no_others() {
        let closed = open_null_copies(20, ExecAction::Closed).unwrap();
        let kept = open_null_copies(20, ExecAction::Kept).unwrap();
        assert_eq!((closed.len(), kept.len()), (20, 20));
        assert_eq!(open_in_a_program(&closed), 0);
        assert_eq!(open_in_a_program(&kept), 20);
    }
}
