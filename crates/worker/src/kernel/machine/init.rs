//! What process 1 of a booted machine must set up itself.

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::kernel::Errno;

/// Brings the loopback device up.
pub fn loopback_up() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all-zero bits are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is of the type that the call takes, and a local.
    Errno::check(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request)
    })
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
