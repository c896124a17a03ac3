//! poll(2) for the supervisor.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::Errno;

/// Waits until one of `fds` is readable or closed, or `timeout` has passed; returns which are.
pub fn readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Result<Vec<bool>, Errno> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|&fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error.into()),
    }
}
