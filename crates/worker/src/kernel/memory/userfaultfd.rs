//! Faults handled in user space: userfaultfd(2).

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use linux_raw_sys::general::{
    UFFD_API, UFFD_EVENT_PAGEFAULT, UFFDIO_REGISTER_MODE_MISSING, uffd_msg, uffdio_api,
    uffdio_copy, uffdio_range, uffdio_register,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_COPY, UFFDIO_REGISTER};
use rustix::mm::{UserfaultfdFlags, userfaultfd};

use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::memory::region::{Access, PAGE_BYTES, Region};

/// `UFFD_USER_MODE_ONLY`: faults of the program alone, which needs no privilege (Linux 5.11).
const USER_MODE_ONLY: UserfaultfdFlags = UserfaultfdFlags::from_bits_retain(1);

/// Makes an ioctl that reads and writes a `T`, whose size the number has in 14 bits (_IOWR).
fn ioctl<const NUMBER: u32, T>(fd: &File, argument: &mut T) -> Result<(), Errno> {
    const { assert!((NUMBER >> 16 & 0x3fff) as usize == size_of::<T>()) };
    // SAFETY: the kernel reads and writes as many bytes as the number says: those of the argument.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), NUMBER as _, std::ptr::from_mut(argument)) };
    Errno::check(result).map(drop)
}

/// A userfaultfd without registered ranges.
pub fn open() -> Result<File, Errno> {
    // SAFETY: nothing is registered here.
    let fd = unsafe { userfaultfd(UserfaultfdFlags::CLOEXEC | USER_MODE_ONLY) }?.into();
    ioctl::<UFFDIO_API, _>(&fd, &mut uffdio_api { api: UFFD_API.into(), features: 0, ioctls: 0 })?;
    Ok(fd)
}

/// A region whose missing pages a thread of this process fills in.
pub struct HandledRegion {
    region: Region,
    handled_faults: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl HandledRegion {
    /// Handles the faults of `region`. Its last page is reserved as the signal to end. The thread
    /// is pinned to `cpu` if given.
    pub fn new(region: Region, cpu: Option<u32>) -> Result<Self, Errno> {
        let fd = open()?;
        let range = uffdio_range { start: region.address() as u64, len: region.bytes() as u64 };
        let mode = UFFDIO_REGISTER_MODE_MISSING.into();
        ioctl::<UFFDIO_REGISTER, _>(&fd, &mut uffdio_register { range, mode, ioctls: 0 })?;
        let handled = Arc::new(AtomicU64::new(0));
        let (counter, last) = (Arc::clone(&handled), range.start + range.len - PAGE_BYTES as u64);
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            if cpu.is_none_or(|cpu| affinity::pin(cpu).is_ok()) {
                // An error ends the thread and closes its descriptor: from then on the kernel fills
                // in the pages, and the fault count shows it.
                let _ = handle_faults(fd, last, &counter);
            }
        })?;
        Ok(Self { region, handled_faults: handled, thread: Some(thread) })
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// How many pages the thread has filled in so far.
    pub fn handled_faults(&self) -> u64 {
        self.handled_faults.load(Ordering::Relaxed)
    }
}

/// Fills in a page for each fault, until `last` is the one.
fn handle_faults(mut fd: File, last: u64, handled: &AtomicU64) -> Result<(), Errno> {
    let page = vec![1u8; PAGE_BYTES];
    loop {
        let mut message = [0u8; size_of::<uffd_msg>()];
        fd.read_exact(&mut message)?;
        // SAFETY: a message has as many bytes, and any bits are one.
        let message: uffd_msg = unsafe { std::mem::transmute(message) };
        if u32::from(message.event) != UFFD_EVENT_PAGEFAULT {
            return Err(Errno::EINVAL);
        }
        // SAFETY: the event says that the union holds a page fault.
        let address = unsafe { message.arg.pagefault.address };
        let dst = address & !(PAGE_BYTES as u64 - 1);
        let src = page.as_ptr() as u64;
        let len = PAGE_BYTES as u64;
        // Before the page is present: the waiting thread may read the count at once.
        handled.fetch_add(1, Ordering::Relaxed);
        ioctl::<UFFDIO_COPY, _>(&fd, &mut uffdio_copy { dst, src, len, mode: 0, copy: 0 })?;
        if dst == last {
            return Ok(());
        }
    }
}

impl Drop for HandledRegion {
    fn drop(&mut self) {
        let last = (self.region.bytes() / PAGE_BYTES - 1) as u32;
        // The last page is missing, so that the thread gets its fault.
        let touched = self.region.touch(&[last], 1, Access::Read);
        if let Some(thread) = self.thread.take().filter(|_| touched.is_ok()) {
            // It returns nothing.
            let _ = thread.join();
        }
    }
}
