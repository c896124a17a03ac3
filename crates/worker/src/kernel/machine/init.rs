//! What the first process of a machine must do itself: nobody has done anything before it.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;

/// Mounts an empty file system of this kind, or the kernel's one view of itself.
pub fn mount(kind: &CStr, at: &CStr) -> Result<(), Errno> {
    // SAFETY: both texts end in a zero; no data is handed over.
    Errno::check(unsafe {
        libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null())
    })
    .map(drop)
}

/// Switches the loopback device on.
pub fn loopback_up() -> Result<(), Errno> {
    // SAFETY: plain numbers.
    let socket = Errno::check(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
    })?;
    // SAFETY: it is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all-zero bits are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is one that the call takes, and lives as long as it.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
        .map(drop)
}

/// Tells the kernel's random numbers that they are random enough, by a seed that is always the same:
/// whoever wants some before they are (fork(2) does, for a stack's canary) pays for each, and when
/// the interrupts of a machine have brought enough together hangs on how long it runs.
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
    // SAFETY: it reads the pool, as long as its size says.
    Errno::check(unsafe { libc::ioctl(random.as_raw_fd(), ADD_ENTROPY, &raw const pool) }).map(drop)
}

/// Makes a serial line carry bytes as they are: no echo, no line ends changed, no signals.
pub fn set_raw_mode(line: &File) -> Result<(), Errno> {
    // SAFETY: all-zero bits are valid settings, and are written over.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the settings are read and written where they stand.
    unsafe {
        Errno::check(libc::tcgetattr(line.as_raw_fd(), &raw mut settings))?;
        libc::cfmakeraw(&raw mut settings);
        Errno::check(libc::tcsetattr(line.as_raw_fd(), libc::TCSANOW, &raw const settings))
    }
    .map(drop)
}

/// Waits until what was written to a serial line has left it, and restarts the machine: the
/// emulator is told to end there. A power switch it need not have.
pub fn drain_and_reboot(line: Option<&File>) {
    // SAFETY: plain numbers; there is nobody left to tell what fails.
    unsafe {
        if let Some(line) = line {
            libc::tcdrain(line.as_raw_fd());
        }
        libc::reboot(libc::RB_AUTOBOOT);
    }
}
