//! Faults handled in user space: userfaultfd(2).

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::memory::region::{Access, PAGE_BYTES, Region};

/// `UFFD_USER_MODE_ONLY`: faults of the program alone, which needs no privilege (Linux 5.11).
const USER_MODE_ONLY: i32 = 1;
/// `UFFD_API`.
const API: u64 = 0xaa;
/// `UFFD_EVENT_PAGEFAULT`.
const EVENT_PAGEFAULT: u8 = 0x12;
/// `UFFDIO_REGISTER_MODE_MISSING`.
const MODE_MISSING: u64 = 1;

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_copy`.
#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

/// `struct uffd_msg`, of a page fault.
#[repr(C)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

/// The number of an ioctl of userfaultfd's that reads and writes a `T`: `_IOWR(0xaa, number, T)`.
const fn ioctl_request<T>(number: u64) -> u64 {
    3 << 30 | (size_of::<T>() as u64) << 16 | 0xaa << 8 | number
}

/// Makes one such ioctl.
fn ioctl<T>(fd: &File, number: u64, argument: &mut T) -> Result<(), Errno> {
    // SAFETY: the size in the request is that of the argument, which is read and written.
    let result = unsafe {
        libc::ioctl(fd.as_raw_fd(), ioctl_request::<T>(number) as _, std::ptr::from_mut(argument))
    };
    Errno::check(result).map(drop)
}

/// A userfaultfd without registered ranges.
pub fn open() -> Result<File, Errno> {
    let flags = libc::O_CLOEXEC | USER_MODE_ONLY;
    // SAFETY: plain numbers; the descriptor is new and ours.
    let fd: File = unsafe {
        let fd = Errno::check(libc::syscall(libc::SYS_userfaultfd, flags))?;
        OwnedFd::from_raw_fd(fd as i32).into()
    };
    ioctl(&fd, 0x3f, &mut Api { api: API, features: 0, ioctls: 0 })?;
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
        let (start, len) = (region.address() as u64, region.bytes() as u64);
        ioctl(&fd, 0, &mut Register { start, len, mode: MODE_MISSING, ioctls: 0 })?;
        let handled = Arc::new(AtomicU64::new(0));
        let (seen, last) = (Arc::clone(&handled), start + len - PAGE_BYTES as u64);
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            if cpu.is_none_or(|cpu| affinity::pin(cpu).is_ok()) {
                // An error ends the thread and closes its descriptor: from then on the kernel fills
                // in the pages, and the fault count shows it.
                let _ = handle_faults(fd, last, &seen);
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
        let mut message = [0u8; size_of::<Message>()];
        fd.read_exact(&mut message)?;
        // SAFETY: a message has as many bytes, and any bits are one.
        let message: Message = unsafe { std::mem::transmute(message) };
        if message.event != EVENT_PAGEFAULT {
            return Err(Errno::EINVAL);
        }
        let to = message.address & !(PAGE_BYTES as u64 - 1);
        let from = page.as_ptr() as u64;
        let len = PAGE_BYTES as u64;
        // Before the page is present: the waiting thread may read the count at once.
        handled.fetch_add(1, Ordering::Relaxed);
        ioctl(&fd, 3, &mut Copy { to, from, len, mode: 0, copied: 0 })?;
        if to == last {
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
