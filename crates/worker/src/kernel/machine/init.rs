//! What process 1 of a booted machine must set up itself.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;

/// Mounts a virtual file system of this type.
pub fn mount(kind: &CStr, at: &CStr) -> Result<(), Errno> {
    // SAFETY: both strings are NUL-terminated; no data is passed.
    Errno::check(unsafe {
        libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null())
    })
    .map(drop)
}

/// Brings the loopback device up.
pub fn loopback_up() -> Result<(), Errno> {
    // SAFETY: plain numbers.
    let socket = Errno::check(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
    })?;
    // SAFETY: it is new and not shared.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all-zero bits are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is of the type that the call takes, and a local.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
        .map(drop)
}

/// Credits the kernel's entropy pool with a constant seed: before it is initialised, callers
/// (fork(2), for a stack canary) pay for each random number, and when enough interrupts have
/// arrived depends on timing.
pub fn seed_random(random: &File) -> Result<(), Errno> {
    /// `RNDADDENTROPY` of random(4): `_IOW('R', 3, int[2])`.
    const ADD_ENTROPY: libc::Ioctl = 0x4008_5203;
    /// `struct rand_pool_info`.
    #[repr(C)]
    struct Pool {
        bits: i32,
        bytes: i32,
        seed: [u8; 64],
    }
    let pool = Pool { bits: 512, bytes: 64, seed: [0x5a; 64] };
    // SAFETY: it reads one local pool of the given size.
    Errno::check(unsafe { libc::ioctl(random.as_raw_fd(), ADD_ENTROPY, &raw const pool) }).map(drop)
}

/// Sets a serial line to raw mode: no echo, no line-end conversion, no signals.
pub fn set_raw_mode(line: &File) -> Result<(), Errno> {
    // SAFETY: all-zero bits are valid settings, and are overwritten.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the settings are read and written in place.
    unsafe {
        Errno::check(libc::tcgetattr(line.as_raw_fd(), &raw mut settings))?;
        libc::cfmakeraw(&raw mut settings);
        Errno::check(libc::tcsetattr(line.as_raw_fd(), libc::TCSANOW, &raw const settings))
    }
    .map(drop)
}

/// Drains a serial line and reboots the machine, which makes the emulator exit; it need not have a
/// power switch.
pub fn drain_and_reboot(line: Option<&File>) {
    // SAFETY: plain numbers; errors cannot be reported from here.
    unsafe {
        if let Some(line) = line {
            libc::tcdrain(line.as_raw_fd());
        }
        libc::reboot(libc::RB_AUTOBOOT);
    }
}
