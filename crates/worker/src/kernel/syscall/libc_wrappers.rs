//! The C library's wrappers of system calls, measured side by side with the raw calls.

use std::ffi::CStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

use crate::kernel::Errno;
use crate::kernel::syscall::libc_getppid;
use crate::kernel::syscall::prepared;

/// `getpid()`; it cannot fail.
#[inline(always)]
pub fn getpid() -> i64 {
    // SAFETY: it takes no argument.
    i64::from(unsafe { libc::getpid() })
}

/// `sbrk(0)`: the program break as the library caches it.
#[inline(always)]
pub fn sbrk() -> u64 {
    // SAFETY: an increment of 0 moves nothing.
    unsafe { libc::sbrk(0) as u64 }
}

/// `brk(0)`, which moves nothing.
#[inline(always)]
pub fn brk() -> Result<(), Errno> {
    // SAFETY: no break lies at 0, so that the kernel leaves it where it is.
    Errno::check(unsafe { libc::brk(std::ptr::null_mut()) }).map(drop)
}

/// `write(fd, byte, 1)`.
#[inline(always)]
pub fn write(file: &File) -> Result<(), Errno> {
    // SAFETY: one byte is read from a static string.
    match unsafe { libc::write(file.as_raw_fd(), c"x".as_ptr().cast(), 1) } {
        1 => Ok(()),
        result => Errno::check(result).and(Err(Errno::EPROTO)),
    }
}

/// `read(fd, byte, 1)`.
#[inline(always)]
pub fn read(file: &File) -> Result<(), Errno> {
    let mut byte = 0u8;
    // SAFETY: one byte is written to a local.
    match unsafe { libc::read(file.as_raw_fd(), (&raw mut byte).cast(), 1) } {
        1 => Ok(()),
        result => Errno::check(result).and(Err(Errno::EPROTO)),
    }
}

/// `stat(path)`.
#[inline(always)]
pub fn stat(path: &CStr) -> Result<(), Errno> {
    // SAFETY: all-zero bits are a valid stat; the path is NUL-terminated, and one stat is written.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        Errno::check(libc::stat(path.as_ptr(), &raw mut stat)).map(drop)
    }
}

/// `fstat(fd)`.
#[inline(always)]
pub fn fstat(file: &File) -> Result<(), Errno> {
    // SAFETY: all-zero bits are a valid stat; one is written.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        Errno::check(libc::fstat(file.as_raw_fd(), &raw mut stat)).map(drop)
    }
}

/// A descriptor number that is not open.
#[derive(Clone, Copy)]
pub struct ClosedDescriptor(i32);

impl ClosedDescriptor {
    /// Finds one.
    pub fn find() -> Result<Self, Errno> {
        prepared::find_closed_descriptor().map(Self)
    }

    /// `close(fd)`, which must fail with EBADF.
    #[inline(always)]
    pub fn close(self) -> Result<(), Errno> {
        // SAFETY: nothing is closed while the number is not open; the kernel allocates the lowest
        // free one, and some thirty are free below it.
        match unsafe { libc::close(self.0) } {
            0 => Err(Errno::EPROTO),
            _ => match Errno::last() {
                Errno::EBADF => Ok(()),
                other => Err(other),
            },
        }
    }
}

/// A function without arguments, called through a pointer. It returns -1 on failure.
pub type CFunction = extern "C" fn() -> u64;

/// The function of that name: one that returns 0, or that calls the C library; see the axis `call`
/// of `syscall/function`. It has been called once and succeeded.
pub fn function_by_name(name: &str) -> Result<CFunction, Errno> {
    let function: CFunction = match name {
        "none" => return_0,
        "time" => time,
        "sbrk" => sbrk_0,
        "clock-gettime-coarse" => clock_gettime::<{ libc::CLOCK_REALTIME_COARSE }>,
        "clock-gettime" => clock_gettime::<{ libc::CLOCK_REALTIME }>,
        "getppid" => getppid,
        "getpid" => getpid_,
        "brk" => brk_unchanged,
        "close" => close_closed,
        "open-close" => open_close,
        _ => return Err(Errno::EINVAL),
    };
    CLOSED.store(prepared::find_closed_descriptor()?, Relaxed);
    let has_failed = function() == FAILED;
    match (name == "close", has_failed.then(Errno::last)) {
        (false, None) | (true, Some(Errno::EBADF)) => Ok(function),
        (true, None) => Err(Errno::EPROTO),
        (_, Some(errno)) => Err(errno),
    }
}

const FAILED: u64 = -1i64 as u64;

/// The number that `close` closes: never open.
static CLOSED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn return_0() -> u64 {
    0
}

extern "C" fn time() -> u64 {
    // SAFETY: with a null pointer nothing is written.
    unsafe { libc::time(std::ptr::null_mut()) as u64 }
}

extern "C" fn sbrk_0() -> u64 {
    sbrk()
}

extern "C" fn clock_gettime<const CLOCK: libc::clockid_t>() -> u64 {
    let mut time = MaybeUninit::uninit();
    // SAFETY: one timespec is written, to a valid pointer.
    unsafe { libc::clock_gettime(CLOCK, time.as_mut_ptr()) as u64 }
}

extern "C" fn getppid() -> u64 {
    libc_getppid() as u64
}

extern "C" fn getpid_() -> u64 {
    getpid() as u64
}

/// Queried each time: allocations since may have moved the break.
extern "C" fn brk_unchanged() -> u64 {
    // SAFETY: the break is set to where it is: nothing moves.
    unsafe { libc::brk(libc::sbrk(0)) as u64 }
}

extern "C" fn close_closed() -> u64 {
    // SAFETY: as for `Closed`.
    unsafe { libc::close(CLOSED.load(Relaxed)) as u64 }
}

extern "C" fn open_close() -> u64 {
    // SAFETY: the path is NUL-terminated; the descriptor is not shared, and -1 is no descriptor.
    unsafe { libc::close(libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY)) as u64 }
}

/// `sigaction(SIGUSR2, handler)` with a no-op handler that is already installed.
#[inline(always)]
pub fn sigaction(handler: &SignalAction) -> Result<(), Errno> {
    // SAFETY: the description is read; its handler does nothing.
    Errno::check(unsafe {
        libc::sigaction(libc::SIGUSR2, &raw const handler.0, std::ptr::null_mut())
    })
    .map(drop)
}

/// The C library's description of a handler.
pub struct SignalAction(libc::sigaction);

impl SignalAction {
    /// A no-op handler.
    pub fn no_op() -> Self {
        Self(prepared::no_op_action())
    }
}
