//! Sends that copy nothing: MSG_ZEROCOPY, and what the kernel reports of them.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::send_with;
use crate::kernel::Errno;

/// sendto(2) on a connected socket with MSG_ZEROCOPY: the kernel reads the pages until it reports
/// completion, see [`completed_zerocopy_sends`].
#[inline(always)]
pub fn send_zerocopy(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    send_with(to, bytes, libc::MSG_ZEROCOPY)
}

/// recvmsg(2) of the error queue, until it is empty: the number of [`send_zerocopy`] calls
/// completed since the last call. It does not block.
pub fn completed_zerocopy_sends(socket: &File) -> Result<u64, Errno> {
    let mut done = 0;
    while let Some(sends) = next_zerocopy_completion(socket)? {
        done += sends;
    }
    Ok(done)
}

/// One recvmsg(2) of the error queue: the number of [`send_zerocopy`] calls whose completion its
/// next entry reports, if there is one. It does not block.
pub fn next_zerocopy_completion(socket: &File) -> Result<Option<u64>, Errno> {
    /// The offsets of `ee_origin`, `ee_info` and `ee_data` of `struct sock_extended_err`, after a
    /// header of 16 bytes.
    const ORIGIN: usize = 16 + 4;
    const INFO: usize = 16 + 8;
    const DATA: usize = 16 + 12;
    const OF_SENDS_IN_PLACE: u8 = 5;
    let mut control = [0u64; 16];
    // SAFETY: all-zero bits are an empty message; the kernel writes into the control buffer at
    // most as many bytes as it has, and nowhere else.
    let received = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        Errno::check(libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags))
    };
    match received {
        Ok(_) => {}
        Err(Errno::EAGAIN) => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = [0; 128];
    for (into, word) in bytes.chunks_exact_mut(8).zip(control) {
        into.copy_from_slice(&word.to_ne_bytes());
    }
    if bytes[ORIGIN] != OF_SENDS_IN_PLACE {
        return Err(Errno::EPROTO);
    }
    let number =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // From this send to that one.
    Ok(Some(u64::from(number(DATA).wrapping_sub(number(INFO))) + 1))
}
