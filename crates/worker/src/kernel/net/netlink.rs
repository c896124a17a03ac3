//! Questions about network devices by netlink (rtnetlink(7)): one request, and its answer.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::errno::raw_result;
use crate::kernel::net::socket::receive_packet;
use crate::kernel::{Errno, arch};

/// Kinds of messages that are not of a subsystem (`NLMSG_ERROR`, `NLMSG_DONE`).
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Flags of a message (`NLM_F_REQUEST`, `NLM_F_DUMP`).
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;

/// The bytes of a message's header, and the alignment of messages.
const HEADER_BYTES: usize = 16;
const ALIGNMENT: usize = 4;

/// The number of the loopback device in every network namespace.
const LOOPBACK: i32 = 1;

/// The kernel answers in parts of at most this many bytes.
const PART_BYTES: usize = 32 << 10;

/// `struct nlmsghdr` and `struct ifinfomsg`.
#[repr(C)]
struct Request {
    bytes: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    pad: u8,
    device_kind: u16,
    device: i32,
    device_flags: u32,
    change: u32,
}

/// Which devices are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// The loopback device.
    Loopback,
    /// All of the network namespace.
    All,
}

/// A socket by which RTM_GETLINK is asked.
pub struct LinkQuestion {
    socket: File,
    request: Request,
    part: Box<[u8]>,
}

/// What a part of an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    links: u64,
    is_last: bool,
}

impl LinkQuestion {
    /// Opens the socket.
    pub fn new(devices: Devices) -> Result<Self, Errno> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers; the descriptor is new and owned here.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
            OwnedFd::from_raw_fd(Errno::check(fd)?)
        };
        let (flags, device) = match devices {
            Devices::Loopback => (REQUEST, LOOPBACK),
            Devices::All => (REQUEST | DUMP, 0),
        };
        let request = Request {
            bytes: size_of::<Request>() as u32,
            kind: libc::RTM_GETLINK,
            flags,
            sequence: 1,
            port: 0,
            family: libc::AF_UNSPEC as u8,
            pad: 0,
            device_kind: 0,
            device,
            device_flags: 0,
            change: 0,
        };
        Ok(Self { socket: socket.into(), request, part: vec![0; PART_BYTES].into_boxed_slice() })
    }

    /// Sends the request, and receives the answer to its end; returns the number of devices in it.
    #[inline(always)]
    pub fn ask(&mut self) -> Result<u64, Errno> {
        let bytes = u64::from(self.request.bytes);
        let at = &raw const self.request as u64;
        let args = [self.socket.as_raw_fd() as u64, at, bytes, 0, 0, 0];
        // SAFETY: the kernel reads the request.
        raw_result(unsafe { arch::syscall(libc::SYS_sendto, args) })?;
        let mut links = 0;
        loop {
            let bytes = receive_packet(&self.socket, &mut self.part)?;
            let part = read_part(self.part.get(..bytes).ok_or(Errno::E2BIG)?)?;
            links += part.links;
            // A single answer has no end marker.
            if part.is_last || self.request.flags & DUMP == 0 {
                break;
            }
        }
        if links > 0 { Ok(links) } else { Err(Errno::EPROTO) }
    }
}

/// Reads the messages of a part.
fn read_part(mut rest: &[u8]) -> Result<Part, Errno> {
    let mut part = Part::default();
    while let Some(&[b0, b1, b2, b3, k0, k1, ..]) = rest.first_chunk::<HEADER_BYTES>() {
        let bytes = u32::from_ne_bytes([b0, b1, b2, b3]) as usize;
        match u16::from_ne_bytes([k0, k1]) {
            libc::RTM_NEWLINK => part.links += 1,
            DONE => part.is_last = true,
            ERROR => {
                let number = rest[HEADER_BYTES..].first_chunk::<4>();
                let number = number.map(|&bytes| i32::from_ne_bytes(bytes).wrapping_neg());
                return Err(Errno(number.unwrap_or(libc::EPROTO)));
            }
            _ => return Err(Errno::EPROTO),
        }
        let next = bytes.max(HEADER_BYTES).next_multiple_of(ALIGNMENT);
        rest = rest.get(next..).unwrap_or_default();
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_layout_of_the_kernels_headers() {
        assert_eq!(size_of::<Request>(), 32);
        assert_eq!(std::mem::offset_of!(Request, device), 20);
    }

    #[test]
    fn the_loopback_device_is_one_of_all() {
        let mut one = LinkQuestion::new(Devices::Loopback).unwrap();
        let mut all = LinkQuestion::new(Devices::All).unwrap();
        for _ in 0..3 {
            assert_eq!(one.ask(), Ok(1));
            assert!(all.ask().unwrap() >= 1);
        }
        // No device has this number.
        one.request.device = i32::MAX;
        assert_eq!(one.ask(), Err(Errno(libc::ENODEV)));
    }

    #[test]
    fn parts_are_read_to_their_end_whatever_their_lengths_say() {
        let message = |bytes: u32, kind: u16| {
            let mut message = vec![0; bytes.next_multiple_of(4).max(16) as usize];
            message[..4].copy_from_slice(&bytes.to_ne_bytes());
            message[4..6].copy_from_slice(&kind.to_ne_bytes());
            message
        };
        let two = [message(33, libc::RTM_NEWLINK), message(20, DONE)].concat();
        assert_eq!(read_part(&two), Ok(Part { links: 1, is_last: true }));
        assert_eq!(read_part(&two[..15]), Ok(Part::default()));
        assert_eq!(read_part(&message(0, libc::RTM_NEWLINK)).map(|part| part.links), Ok(1));
        let mut refused = message(36, ERROR);
        refused[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        assert_eq!(read_part(&refused), Err(Errno::EPERM));
        assert_eq!(read_part(&refused[..16]), Err(Errno::EPROTO));
    }
}
