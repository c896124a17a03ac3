//! The C library's wrappers around system calls, where they are measured beside the bare calls.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;

use super::{Errno, call};

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
pub struct Closed(i32);

impl Closed {
    /// Finds one.
    pub fn find() -> Result<Self, Errno> {
        call::closed_descriptor().map(Self)
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

/// `sigaction(SIGUSR2, handler)`, of a handler that does nothing and is installed already.
#[inline(always)]
pub fn sigaction(handler: &Action) -> Result<(), Errno> {
    // SAFETY: the description is read; its handler does nothing.
    Errno::check(unsafe {
        libc::sigaction(libc::SIGUSR2, &raw const handler.0, std::ptr::null_mut())
    })
    .map(drop)
}

/// What the C library is told of a handler.
pub struct Action(libc::sigaction);

impl Action {
    /// A handler that does nothing.
    pub fn nothing() -> Self {
        Self(call::nothing_to_do())
    }
}
