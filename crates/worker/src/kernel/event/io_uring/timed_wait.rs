//! Waiting for a completion with a timeout.

use std::os::fd::AsRawFd;

use super::ring::{GET_EVENTS, Ring};
use crate::kernel::{Errno, arch};

/// Of io_uring_enter(2): its last argument is [`GetEventsArgument`] (Linux 5.11).
const EXT_ARGUMENT: u64 = 8;

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct GetEventsArgument {
    mask: u64,
    mask_bytes: u32,
    rest: u32,
    /// The address of the timeout: seconds and nanoseconds.
    time: u64,
}

impl Ring {
    /// Waits for a completion up to a timeout (seconds, nanoseconds), submitting nothing. Returns
    /// whether there is one.
    #[inline(always)]
    pub fn wait_until(&mut self, time: &[u64; 2]) -> Result<bool, Errno> {
        let until =
            GetEventsArgument { mask: 0, mask_bytes: 0, rest: 0, time: time.as_ptr() as u64 };
        let fd = self.fd.as_raw_fd() as u64;
        let (at, bytes) = (&raw const until as u64, size_of::<GetEventsArgument>() as u64);
        // SAFETY: the kernel reads one local argument and the timeout that it points to.
        let done = unsafe {
            let args = [fd, 0, 1, GET_EVENTS | EXT_ARGUMENT, at, bytes];
            arch::syscall(libc::SYS_io_uring_enter, args)
        };
        match done {
            done if done == -i64::from(libc::ETIME) => Ok(false),
            done if done < 0 => Err(Errno(-done as i32)),
            _ => Ok(true),
        }
    }
}
