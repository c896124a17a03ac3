//! Registration of files and buffers, and what a ring needs that the kernel's thread polls.

use std::os::fd::AsRawFd;
use std::sync::atomic::{Ordering, fence};

use linux_raw_sys::io_uring::{
    IORING_ENTER_SQ_WAKEUP, IORING_SQ_NEED_WAKEUP, io_uring_register_op,
};

use crate::kernel::errno::raw_result;
use crate::kernel::event::io_uring::ring::Ring;
use crate::kernel::{Errno, arch};

impl Ring {
    /// io_uring_register(2) of files or buffers.
    pub(in crate::kernel::event::io_uring) fn register<T>(
        &self,
        what: io_uring_register_op,
        things: &[T],
    ) -> Result<(), Errno> {
        let (begin, count) = (things.as_ptr() as u64, things.len() as u64);
        let args = [self.fd.as_raw_fd() as u64, what as u64, begin, count, 0, 0];
        // SAFETY: the kernel reads as many elements as the slice has; what they name is kept by its
        // own references.
        raw_result(unsafe { arch::syscall(libc::SYS_io_uring_register, args) }).map(drop)
    }

    /// Makes what is queued visible to the kernel's thread.
    #[inline(always)]
    pub(super) fn publish(&mut self) {
        self.submitted += u64::from(self.queued);
        self.queued = 0;
        // SAFETY: the tail is a word of the mapping that only this side writes.
        unsafe { self.submission_tail.as_ref() }.store(self.submitted as u32, Ordering::Release);
        // The thread sets its flag before it looks at the tail for the last time; here the tail is
        // written before the flag is read. Without the fence both could miss the other's store.
        fence(Ordering::SeqCst);
    }

    /// Whether the kernel's thread has stopped polling.
    #[inline(always)]
    pub(super) fn poller_sleeps(&self) -> bool {
        // SAFETY: a word of the mapping, which the kernel writes.
        let flags = unsafe { self.submission_flags.as_ref() }.load(Ordering::Relaxed);
        flags & IORING_SQ_NEED_WAKEUP != 0
    }

    /// Wakes the kernel's thread.
    #[cold]
    pub(super) fn wake_poller(&self) -> Result<(), Errno> {
        let wake = u64::from(IORING_ENTER_SQ_WAKEUP);
        let args = [self.fd.as_raw_fd() as u64, 0, 0, wake, 0, 0];
        // SAFETY: plain numbers; no mask is handed over.
        raw_result(unsafe { arch::syscall(libc::SYS_io_uring_enter, args) }).map(drop)
    }
}
