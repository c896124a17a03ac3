//! The life of a ring: its creation, its end, and the time in between when the kernel destroys it.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use linux_raw_sys::io_uring::{io_uring_params, io_uring_register_op};

use super::ring::Ring;
use crate::kernel::errno::raw_result;
use crate::kernel::event::poll;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::{Errno, arch};

/// How long the destruction of a ring is waited for: many times an RCU grace period.
const PATIENCE: Duration = Duration::from_secs(1);

/// io_uring_setup(2) of a ring for `entries` submissions, and close(2) of it. Its rings are not
/// mapped.
#[inline(always)]
pub fn set_up_and_close(entries: u32) -> Result<(), Errno> {
    // SAFETY: all-zero bits are valid parameters; the kernel reads and writes one local struct; the
    // descriptor that is closed is the one that was just opened.
    unsafe {
        let mut parameters: io_uring_params = std::mem::zeroed();
        let args = [u64::from(entries), &raw mut parameters as u64, 0, 0, 0, 0];
        let fd = raw_result(arch::syscall(libc::SYS_io_uring_setup, args))?;
        raw_result(arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0])).map(drop)
    }
}

/// Waits until the kernel has destroyed the rings that were closed before, for a second at most.
///
/// It does so in a workqueue, after a grace period. Another ring, closed later, holds the last
/// writing end of a pipe: when it is destroyed the pipe hangs up, and the earlier ones have had
/// their grace period and their turn in the queue.
pub fn wait_for_closed_rings() -> Result<(), Errno> {
    let (reader, writer) = pipe()?;
    let ring = Ring::new(1)?;
    ring.register(io_uring_register_op::IORING_REGISTER_FILES, &[writer.as_raw_fd()])?;
    drop((ring, writer));
    poll::readable(&[reader.as_fd()], Some(PATIENCE)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_closed_at_once_and_their_end_can_be_waited_for() {
        if Ring::new(1).is_err() {
            return eprintln!("cannot run here: io_uring_setup(2) is refused");
        }
        for entries in [8, 256] {
            assert_eq!(set_up_and_close(entries), Ok(()));
        }
        assert_eq!(wait_for_closed_rings(), Ok(()));
        // More than any ring has (IORING_MAX_ENTRIES).
        assert_eq!(set_up_and_close(1 << 20), Err(Errno::EINVAL));
    }
}
