//! The C library's wrappers around system calls, where they are measured beside the bare calls.

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

/// `sbrk(0)`: the break as the library remembers it.
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
    // SAFETY: one byte is read, which is there.
    match unsafe { libc::write(file.as_raw_fd(), c"x".as_ptr().cast(), 1) } {
        1 => Ok(()),
        result => Errno::check(result).and(Err(Errno::EPROTO)),
    }
}

/// `read(fd, byte, 1)`.
#[inline(always)]
pub fn read(file: &File) -> Result<(), Errno> {
    let mut byte = 0u8;
    // SAFETY: one byte is written, which is there.
    match unsafe { libc::read(file.as_raw_fd(), (&raw mut byte).cast(), 1) } {
        1 => Ok(()),
        result => Errno::check(result).and(Err(Errno::EPROTO)),
    }
}

/// `stat(path)`.
#[inline(always)]
pub fn stat(path: &CStr) -> Result<(), Errno> {
    // SAFETY: all-zero bits are a valid stat; the path has an end, and one stat is written.
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

/// A number that no descriptor has.
#[derive(Clone, Copy)]
pub struct ClosedDescriptor(i32);

impl ClosedDescriptor {
    /// Finds one.
    pub fn find() -> Result<Self, Errno> {
        prepared::find_closed_descriptor().map(Self)
    }

    /// `close(fd)`; what is right is that it fails with EBADF.
    #[inline(always)]
    pub fn close(self) -> Result<(), Errno> {
        // SAFETY: nothing is closed while the number is nobody's; the kernel hands out the lowest
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

/// A function that takes nothing, as it is called through a pointer. What fails returns -1.
pub type CFunction = extern "C" fn() -> u64;

/// The function of that name: one that returns 0, or calls the C library; see the axis `call` of
/// `syscall/function`. It was called once, and did what it should.
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
        (_, Some(why)) => Err(why),
    }
}

const FAILED: u64 = -1i64 as u64;

/// The number that `close` closes: nobody's, always.
static CLOSED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn return_0() -> u64 {
    0
}

extern "C" fn time() -> u64 {
    // SAFETY: without a pointer nothing is written.
    unsafe { libc::time(std::ptr::null_mut()) as u64 }
}

extern "C" fn sbrk_0() -> u64 {
    sbrk()
}

extern "C" fn clock_gettime<const CLOCK: libc::clockid_t>() -> u64 {
    let mut time = MaybeUninit::uninit();
    // SAFETY: one timespec is written, which is there.
    unsafe { libc::clock_gettime(CLOCK, time.as_mut_ptr()) as u64 }
}

extern "C" fn getppid() -> u64 {
    libc_getppid() as u64
}

extern "C" fn getpid_() -> u64 {
    getpid() as u64
}

/// Asked for each time: memory that was allocated since may have moved the break.
extern "C" fn brk_unchanged() -> u64 {
    // SAFETY: the break is where it is: nothing moves.
    unsafe { libc::brk(libc::sbrk(0)) as u64 }
}

extern "C" fn close_closed() -> u64 {
    // SAFETY: as for `Closed`.
    unsafe { libc::close(CLOSED.load(Relaxed)) as u64 }
}

extern "C" fn open_close() -> u64 {
    // SAFETY: the path has an end; the descriptor is ours alone, and none has the number -1.
    unsafe { libc::close(libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY)) as u64 }
}

/// `sigaction(SIGUSR2, handler)`, of a handler that does nothing and is installed already.
#[inline(always)]
pub fn sigaction(handler: &SignalAction) -> Result<(), Errno> {
    // SAFETY: the description is read; its handler does nothing.
    Errno::check(unsafe {
        libc::sigaction(libc::SIGUSR2, &raw const handler.0, std::ptr::null_mut())
    })
    .map(drop)
}

/// What the C library is told of a handler.
pub struct SignalAction(libc::sigaction);

impl SignalAction {
    /// A handler that does nothing.
    pub fn no_op() -> Self {
        Self(prepared::no_op_action())
    }
}
