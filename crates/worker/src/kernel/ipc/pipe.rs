//! Pipes.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::kernel::Errno;

/// pipe2(2): the end to read from, the end to write to.
pub fn pipe() -> Result<(File, File), Errno> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written, and both are ours.
    unsafe {
        Errno::check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()))
    }
}
