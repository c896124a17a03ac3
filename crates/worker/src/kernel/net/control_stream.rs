//! The control stream between the two ends of a benchmark: the measuring side sends orders, the
//! peer sends reports.
//!
//! Both are messages of four little-endian 64-bit numbers, so that the ends may be machines of
//! different kinds. They are sent by sendto(2) and recvfrom(2), so that a call counter can tell
//! them from the writes and reads of most channels.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_count;

/// Called when a wait was interrupted (SIGALRM does so every second), with the number of
/// interruptions in this wait: `Ok` to continue waiting.
pub type InterruptHandler<'a> = &'a dyn Fn(u32) -> Result<(), Errno>;

/// One message.
pub type Message = [u64; 4];

const MESSAGE_BYTES: usize = size_of::<Message>();

/// What can be received without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing yet.
    Nothing,
    /// A message, or its first bytes.
    Message,
    /// The other end has closed the stream.
    Closed,
}

/// One end of the stream.
pub struct ControlStream(OwnedFd);

impl ControlStream {
    /// Both ends, for two processes on one machine.
    pub fn pair() -> Result<(Self, Self), Errno> {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Self(one), Self(other)))
    }

    /// Uses an existing stream, such as a connection to a [`super::token_listener::TokenListener`].
    pub fn from_stream(stream: impl Into<OwnedFd>) -> Self {
        Self(stream.into())
    }

    /// Sends a message.
    pub fn send(&self, words: Message, on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        let mut bytes = [0; MESSAGE_BYTES];
        for (into, word) in bytes.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let mut done = 0;
        let mut interrupts = 0;
        while done < MESSAGE_BYTES {
            match self.send_bytes(&bytes[done..]) {
                Ok(sent) => done += sent,
                Err(Errno::EINTR) => {
                    interrupts += 1;
                    on_interrupt(interrupts)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for a message; EPIPE if the other end has closed the stream.
    pub fn receive(&self, on_interrupt: InterruptHandler<'_>) -> Result<Message, Errno> {
        let mut bytes = [0; MESSAGE_BYTES];
        let mut done = 0;
        let mut interrupts = 0;
        while done < MESSAGE_BYTES {
            match self.receive_bytes(&mut bytes[done..]) {
                Ok(0) => return Err(Errno::EPIPE),
                Ok(given) => done += given,
                Err(Errno::EINTR) => {
                    interrupts += 1;
                    on_interrupt(interrupts)?;
                }
                Err(error) => return Err(error),
            }
        }
        let mut words = [0; 4];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = from.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Ok(words)
    }

    /// Shuts down sending: the other end sees the end of the stream.
    pub fn shut_down(&self) {
        // If the other end has closed already, this has no effect.
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Whether something can be received.
    pub fn pending(&self) -> Pending {
        match self.receive_with_flags(&mut [0], libc::MSG_PEEK | libc::MSG_DONTWAIT) {
            Ok(0) => Pending::Closed,
            Ok(_) => Pending::Message,
            Err(Errno::EAGAIN | Errno::EINTR) => Pending::Nothing,
            Err(_) => Pending::Closed,
        }
    }

    fn send_bytes(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let (at, length) = (bytes.as_ptr() as u64, bytes.len() as u64);
        let args = [self.0.as_raw_fd() as u64, at, length, libc::MSG_NOSIGNAL as u64, 0, 0];
        // SAFETY: the kernel reads as many bytes as the slice has; no address is given.
        raw_count(unsafe { arch::syscall(libc::SYS_sendto, args) })
    }

    fn receive_bytes(&self, into: &mut [u8]) -> Result<usize, Errno> {
        self.receive_with_flags(into, 0)
    }

    fn receive_with_flags(&self, into: &mut [u8], flags: i32) -> Result<usize, Errno> {
        let (at, length) = (into.as_mut_ptr() as u64, into.len() as u64);
        // SAFETY: the kernel writes at most as many bytes as the slice has, and no address.
        raw_count(unsafe {
            arch::syscall(
                libc::SYS_recvfrom,
                [self.0.as_raw_fd() as u64, at, length, flags as u64, 0, 0],
            )
        })
    }
}

impl AsFd for ControlStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_and_a_closed_end_is_reported() {
        let (own, peer) = ControlStream::pair().unwrap();
        let wait = |_| Ok(());
        own.send([1, 2, u64::MAX, 0x0102_0304_0506_0708], &wait).unwrap();
        assert_eq!((peer.pending(), own.pending()), (Pending::Message, Pending::Nothing));
        assert_eq!(peer.receive(&wait), Ok([1, 2, u64::MAX, 0x0102_0304_0506_0708]));
        drop(own);
        assert_eq!(peer.pending(), Pending::Closed);
        assert_eq!(peer.receive(&wait), Err(Errno::EPIPE));
        assert_eq!(peer.send([0; 4], &wait), Err(Errno::EPIPE));
    }
}
