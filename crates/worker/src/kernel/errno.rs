//! The kernel's error numbers.

use std::cell::RefCell;
use std::fmt;
use std::io;

/// The measurement fails after a peer has been silent for this long.
pub const PEER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3);

thread_local! {
    /// An error is a plain number, so that returning it through a timed loop costs nothing. What it
    /// cannot express is kept here: the reason for the thread's last error that has one.
    static REASON: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Why a system call was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// No such file or directory.
    pub const ENOENT: Errno = Errno(libc::ENOENT);
    /// Operation not permitted.
    pub const EPERM: Errno = Errno(libc::EPERM);
    /// Permission denied.
    pub const EACCES: Errno = Errno(libc::EACCES);
    /// No such system call.
    pub const ENOSYS: Errno = Errno(libc::ENOSYS);
    /// Operation not supported.
    pub const EOPNOTSUPP: Errno = Errno(libc::EOPNOTSUPP);
    /// Interrupted system call.
    pub const EINTR: Errno = Errno(libc::EINTR);
    /// Invalid argument.
    pub const EINVAL: Errno = Errno(libc::EINVAL);
    /// Timer expired.
    pub const ETIME: Errno = Errno(libc::ETIME);
    /// Bad file descriptor.
    pub const EBADF: Errno = Errno(libc::EBADF);
    /// Argument list too long; here: more at once than fits.
    pub const E2BIG: Errno = Errno(libc::E2BIG);
    /// Read-only file system.
    pub const EROFS: Errno = Errno(libc::EROFS);
    /// Too many open files.
    pub const EMFILE: Errno = Errno(libc::EMFILE);
    /// Protocol error; here: a call returned without having done its work.
    pub const EPROTO: Errno = Errno(libc::EPROTO);
    /// Try again.
    pub const EAGAIN: Errno = Errno(libc::EAGAIN);
    /// In use.
    pub const EBUSY: Errno = Errno(libc::EBUSY);
    /// Out of memory.
    pub const ENOMEM: Errno = Errno(libc::ENOMEM);
    /// The program is open for writing.
    pub const ETXTBSY: Errno = Errno(libc::ETXTBSY);
    /// No child processes.
    pub const ECHILD: Errno = Errno(libc::ECHILD);
    /// No space left on device.
    pub const ENOSPC: Errno = Errno(libc::ENOSPC);
    /// Not a kernel error: something is unavailable on this machine, with a [`Errno::reason`].
    pub const UNAVAILABLE: Errno = Errno(-2);
    /// Not a kernel error: a check of the work failed, with a [`Errno::reason`].
    pub const CHECK_FAILED: Errno = Errno(-3);
    /// Not a kernel error: the kernel's counters contradict what an op claims to have done.
    pub const UNVERIFIED: Errno = Errno(-1);
    /// Not a kernel error: the peer was silent for [`PEER_TIMEOUT`].
    pub const PEER_TIMED_OUT: Errno = Errno(-4);
    /// No such process.
    pub const ESRCH: Errno = Errno(libc::ESRCH);
    /// Broken pipe.
    pub const EPIPE: Errno = Errno(libc::EPIPE);

    /// Whether this kernel lacks something or this machine forbids it: not the fault of the caller.
    pub fn is_unavailable(self) -> bool {
        [
            Errno::ENOSYS,
            Errno::EPERM,
            Errno::EACCES,
            Errno::EOPNOTSUPP,
            Errno::EROFS,
            Errno::UNAVAILABLE,
        ]
        .contains(&self)
    }

    /// Something is unavailable on this machine: the row is skipped and shows `reason`, which names
    /// the way to provide it.
    pub fn unavailable(reason: String) -> Self {
        REASON.set(reason);
        Errno::UNAVAILABLE
    }

    /// A check of the work failed: the row has failed and shows `reason`.
    pub fn check_failed(reason: String) -> Self {
        REASON.set(reason);
        Errno::CHECK_FAILED
    }

    /// The reason given with this thread's last [`Errno::unavailable`] or [`Errno::check_failed`].
    pub fn reason() -> String {
        REASON.with_borrow(String::clone)
    }

    /// The error of the library call that just returned.
    pub fn last() -> Self {
        Self(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// The C library's convention: a negative result means that errno is set.
    pub(super) fn check<T: Copy + PartialOrd + From<i8>>(result: T) -> Result<T, Errno> {
        if result < T::from(0) { Err(Errno::last()) } else { Ok(result) }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Errno::UNVERIFIED => out.write_str(
                "the kernel's counters (getrusage, mincore) show other faults or resident pages \
                 than the op claims: something else maps, evicts or merges pages here",
            ),
            Errno::PEER_TIMED_OUT => out.write_str("the peer was silent for 3 s"),
            Errno::UNAVAILABLE | Errno::CHECK_FAILED => out.write_str(&Errno::reason()),
            Errno(number) => io::Error::from_raw_os_error(number).fmt(out),
        }
    }
}

impl std::error::Error for Errno {}

/// An op that failed. The batch stops there and gives no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpError {
    /// How many ops of the batch had completed (in mode U to within one iteration).
    pub op: u64,
    /// Why the next one failed.
    pub errno: Errno,
}

/// Converts the kernel's convention (a negative errno) to a `Result`.
#[inline(always)]
pub(super) fn raw_result(result: i64) -> Result<i64, Errno> {
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result) }
}

/// The same, of a call that returns a count.
#[inline(always)]
pub(super) fn raw_count(result: i64) -> Result<usize, Errno> {
    raw_result(result).map(|count| count as usize)
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.raw_os_error())
    }
}

impl From<nix::errno::Errno> for Errno {
    fn from(error: nix::errno::Errno) -> Self {
        Self(error as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_reason_that_was_given_with_it() {
        assert_eq!(Errno::unavailable("no room".into()).to_string(), "no room");
        assert_eq!(Errno::check_failed("not cold".into()).to_string(), "not cold");
        assert_ne!(Errno::ENOSPC.to_string(), "not cold");
    }
}
