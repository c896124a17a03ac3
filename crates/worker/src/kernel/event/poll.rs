//! poll(2) for the supervisor and for the peers of benchmarks, whose calls are counted: `rustix`
//! would make ppoll(2).

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::kernel::Errno;

/// Waits until one of `fds` is readable or closed, or `timeout` has passed; returns which are.
pub fn readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Result<Vec<bool>, Errno> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // Rounded up, so that a wait never ends before its time and spins.
    let ms = timeout
        .map_or(-1, |time| i32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: the array has as many entries as given.
    match Errno::check(unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, ms) })
    {
        Ok(_) => Ok(polled.iter().map(|fd| fd.revents != 0).collect()),
        Err(Errno::EINTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error),
    }
}
