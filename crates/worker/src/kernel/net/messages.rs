//! Messages that one process sends to itself: sendmsg(2) and recvmsg(2) with vectors, sendmmsg(2)
//! and recvmmsg(2) of several.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

use crate::kernel::errno::{raw_count, raw_result};
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::socket::{self, SocketKind};
use crate::kernel::net::unconnected::connected_udp_pair;
use crate::kernel::{Errno, arch};

/// The bytes of a message.
const MESSAGE_BYTES: usize = 64;

/// The most messages and vectors at once; all messages fit into a page.
const MOST: usize = 32;

/// A message is there when it is received, unless the network has dropped it: then the wait ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// The kernel's `struct user_msghdr`, without address and control data.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    name: u64,
    name_bytes: u32,
    pad: u32,
    vectors: u64,
    vector_count: u64,
    control: u64,
    control_bytes: u64,
    flags: u32,
    more_pad: u32,
}

/// The kernel's `struct mmsghdr`: a header, and the bytes that were sent or received.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CountedHeader {
    header: Header,
    bytes: u32,
    pad: u32,
}

/// A socket that sends, and the one that receives.
pub struct Ends {
    sender: OwnedFd,
    receiver: OwnedFd,
}

impl Ends {
    /// A pair of AF_UNIX.
    pub fn unix(kind: SocketKind) -> Result<Self, Errno> {
        let (sender, receiver) = socket::pair(kind)?;
        Ok(Self { sender: sender.into(), receiver: receiver.into() })
    }

    /// Two UDP sockets of 127.0.0.1.
    pub fn udp() -> Result<Self, Errno> {
        let (sender, receiver) = connected_udp_pair()?;
        Ok(Self { sender: sender.into(), receiver: receiver.into() })
    }
}

/// Messages from one end to the other.
pub struct Messages {
    ends: Ends,
    sent_headers: Vec<CountedHeader>,
    received_headers: Vec<CountedHeader>,
    /// What the headers point to.
    _vectors: Vec<[u64; 2]>,
    sent: Mapping,
    received: Mapping,
}

impl Messages {
    /// `count` messages of 64 bytes, each in as many parts of equal size as `vectors`.
    pub fn new(ends: Ends, count: usize, vectors: usize) -> Result<Self, Errno> {
        let is_possible = (1..=MOST).contains(&count) && (1..=MOST).contains(&vectors);
        if !is_possible || !MESSAGE_BYTES.is_multiple_of(vectors) {
            return Err(Errno::EINVAL);
        }
        set_socket_timeout(&ends.receiver, Timeout::Recv, Some(PATIENCE))?;
        set_socket_timeout(&ends.sender, Timeout::Send, Some(PATIENCE))?;
        let bytes = MOST * MESSAGE_BYTES;
        let (sent, received) = (Mapping::private(bytes)?, Mapping::private(bytes)?);
        let part = MESSAGE_BYTES / vectors;
        let parts = |mapping: &Mapping| -> Vec<[u64; 2]> {
            // SAFETY: the offset is inside the mapping.
            let begin = unsafe { mapping.pointer::<u8>(0) }.as_ptr() as u64;
            (0..count * vectors).map(|at| [begin + (at * part) as u64, part as u64]).collect()
        };
        let all_vectors = [parts(&sent), parts(&received)].concat();
        let headers = |first: usize| -> Vec<CountedHeader> {
            let header = |message: usize| {
                let begin = &raw const all_vectors[first + message * vectors];
                let header = Header {
                    vectors: begin as u64,
                    vector_count: vectors as u64,
                    ..Header::default()
                };
                CountedHeader { header, ..CountedHeader::default() }
            };
            (0..count).map(header).collect()
        };
        let (sent_headers, received_headers) = (headers(0), headers(count * vectors));
        let mut messages =
            Self { ends, sent_headers, received_headers, _vectors: all_vectors, sent, received };
        for (number, byte) in messages.sent_bytes().iter_mut().enumerate() {
            // Not 0, which is what the other buffer begins with.
            *byte = 1 + (number % 251) as u8;
        }
        messages.received_bytes().fill(0);
        Ok(messages)
    }

    /// sendmsg(2) of the first message, and recvmsg(2) of it.
    #[inline(always)]
    pub fn pass_one(&mut self) -> Result<(), Errno> {
        let sent = self.sent_headers.as_mut_ptr() as u64;
        let received = self.received_headers.as_mut_ptr() as u64;
        let flags = libc::MSG_NOSIGNAL as u64;
        let send = [self.ends.sender.as_raw_fd() as u64, sent, flags, 0, 0, 0];
        let receive = [self.ends.receiver.as_raw_fd() as u64, received, 0, 0, 0, 0];
        // SAFETY: the headers and what they point to are there; the kernel writes to the received
        // header and to the buffer that it points to, which nothing borrows.
        let (out, back) = unsafe {
            let out = raw_count(arch::syscall(libc::SYS_sendmsg, send))?;
            (out, raw_count(arch::syscall(libc::SYS_recvmsg, receive))?)
        };
        if (out, back) == (MESSAGE_BYTES, MESSAGE_BYTES) { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// sendmmsg(2) of all messages, and recvmmsg(2) of them.
    #[inline(always)]
    pub fn pass_all(&mut self) -> Result<(), Errno> {
        let count = self.sent_headers.len() as i64;
        let sent = self.sent_headers.as_mut_ptr() as u64;
        let received = self.received_headers.as_mut_ptr() as u64;
        let flags = libc::MSG_NOSIGNAL as u64;
        let send = [self.ends.sender.as_raw_fd() as u64, sent, count as u64, flags, 0, 0];
        let receive = [self.ends.receiver.as_raw_fd() as u64, received, count as u64, 0, 0, 0];
        // SAFETY: as in `pass_one`, for as many headers; no time is handed over.
        let (out, back) = unsafe {
            let out = raw_result(arch::syscall(libc::SYS_sendmmsg, send))?;
            (out, raw_result(arch::syscall(libc::SYS_recvmmsg, receive))?)
        };
        let is_whole = |header: &CountedHeader| header.bytes as usize == MESSAGE_BYTES;
        let all_are_whole = self.received_headers.iter().all(is_whole);
        if (out, back) == (count, count) && all_are_whole { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// Checks that what was received is what was sent, and empties the buffer.
    pub fn check_and_clear(&mut self) -> Result<(), Errno> {
        let bytes = self.sent_headers.len() * MESSAGE_BYTES;
        let expected = self.sent_bytes()[..bytes].to_vec();
        let found = self.received_bytes();
        let is_right = found[..bytes] == expected[..];
        found.fill(0);
        if is_right {
            return Ok(());
        }
        Err(Errno::check_failed("a message arrived with other bytes than it was sent".to_owned()))
    }

    fn sent_bytes(&mut self) -> &mut [u8] {
        bytes_of(&mut self.sent)
    }

    fn received_bytes(&mut self) -> &mut [u8] {
        bytes_of(&mut self.received)
    }
}

/// The bytes of a mapping.
pub(super) fn bytes_of(mapping: &mut Mapping) -> &mut [u8] {
    // SAFETY: the mapping has that many bytes, and is borrowed exclusively; no call that uses it is
    // in progress.
    unsafe {
        let begin = mapping.pointer::<u8>(0).as_ptr();
        std::slice::from_raw_parts_mut(begin, mapping.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_layout_of_the_kernel() {
        assert_eq!((size_of::<Header>(), size_of::<CountedHeader>()), (56, 64));
        assert_eq!(std::mem::offset_of!(Header, vectors), 16);
        assert_eq!(std::mem::offset_of!(CountedHeader, bytes), 56);
    }

    #[test]
    fn messages_of_every_kind_arrive_whole_in_one_part_and_in_eight() {
        for kind in [SocketKind::Stream, SocketKind::Datagram, SocketKind::Packets] {
            for vectors in [1, 8] {
                let mut messages = Messages::new(Ends::unix(kind).unwrap(), 1, vectors).unwrap();
                messages.check_and_clear().unwrap_err();
                for _ in 0..3 {
                    assert_eq!(messages.pass_one(), Ok(()), "{kind:?}");
                    assert_eq!(messages.check_and_clear(), Ok(()), "{kind:?}");
                }
            }
        }
        assert!(Messages::new(Ends::udp().unwrap(), 1, 3).is_err(), "parts of unequal size");
    }

    #[test]
    fn all_messages_of_a_batch_arrive() {
        for count in [1, 8] {
            for ends in [Ends::unix(SocketKind::Datagram), Ends::udp()] {
                let mut messages = Messages::new(ends.unwrap(), count, 1).unwrap();
                assert_eq!(messages.pass_all(), Ok(()));
                assert_eq!(messages.check_and_clear(), Ok(()));
            }
        }
    }
}
