//! Messages of one process to itself over TCP: copied into the kernel, or sent from the user's
//! pages (MSG_ZEROCOPY) and their completion taken from the error queue.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::messages::bytes_of;
use crate::kernel::net::socket::{self, SocketOption};

/// A message is there when it is received, and acknowledged soon after.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a signal may end the wait for a completion.
const MAX_WAITS: u32 = 3;

/// How bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMethod {
    /// They are copied into buffers of the kernel.
    Copy,
    /// The kernel refers to the user's pages until it reports that it is done with them.
    InPlace,
}

/// Two ends of a connection over 127.0.0.1, and a message.
pub struct LargeMessages {
    sender: File,
    receiver: File,
    method: SendMethod,
    sent: Mapping,
    received: Mapping,
}

impl LargeMessages {
    /// Connects the ends for messages of `bytes` bytes, a multiple of a page.
    pub fn new(method: SendMethod, bytes: usize) -> Result<Self, Errno> {
        let (mut sent, mut received) = (Mapping::private(bytes)?, Mapping::private(bytes)?);
        for (number, byte) in bytes_of(&mut sent).iter_mut().enumerate() {
            // Not 0, which is what the other buffer begins with.
            *byte = 1 + (number % 251) as u8;
        }
        bytes_of(&mut received).fill(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = TcpStream::connect(listener.local_addr()?)?;
        let (receiver, from) = listener.accept()?;
        if from != sender.local_addr()? {
            return Err(Errno::EPROTO);
        }
        for end in [&sender, &receiver] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(PATIENCE))?;
            end.set_write_timeout(Some(PATIENCE))?;
        }
        socket::reset_when_closed(&sender)?;
        if method == SendMethod::InPlace {
            socket::set(&sender, SocketOption::ZeroCopy, 1)?;
        }
        let (sender, receiver) = (OwnedFd::from(sender).into(), OwnedFd::from(receiver).into());
        Ok(Self { sender, receiver, method, sent, received })
    }

    /// sendto(2) of the message, recvfrom(2) of all of it, and, if it was sent in place, recvmsg(2)
    /// of its completion.
    #[inline(always)]
    pub fn pass(&mut self) -> Result<(), Errno> {
        let message = bytes_of(&mut self.sent);
        let sent = match self.method {
            SendMethod::Copy => socket::send(&self.sender, message)?,
            SendMethod::InPlace => socket::send_zerocopy(&self.sender, message)?,
        };
        let bytes = message.len();
        let received = socket::receive_all(&self.receiver, bytes_of(&mut self.received))?;
        if (sent, received) != (bytes, bytes) {
            return Err(Errno::EPROTO);
        }
        match self.method {
            SendMethod::Copy => Ok(()),
            SendMethod::InPlace => self.wait_for_completion(),
        }
    }

    /// The completion of the last message: it is there if the receiver has acknowledged all of it.
    #[inline(always)]
    fn wait_for_completion(&self) -> Result<(), Errno> {
        for _ in 0..=MAX_WAITS {
            match socket::next_zerocopy_completion(&self.sender)? {
                Some(1) => return Ok(()),
                Some(_) => return Err(Errno::EPROTO),
                None => {
                    // An entry of the error queue ends the wait too.
                    socket::poll_readable(&self.sender, PATIENCE.as_nanos() as u64)?;
                }
            }
        }
        Err(Errno(libc::ETIMEDOUT))
    }

    /// Checks that what was received is what was sent, and empties the buffer.
    pub fn check_and_clear(&mut self) -> Result<(), Errno> {
        let is_right = bytes_of(&mut self.received) == bytes_of(&mut self.sent);
        bytes_of(&mut self.received).fill(0);
        if is_right {
            return Ok(());
        }
        Err(Errno::check_failed("a message arrived with other bytes than it was sent".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_whole_and_its_completion_is_taken_each_time() {
        for method in [SendMethod::Copy, SendMethod::InPlace] {
            for bytes in [4_096, 65_536, 262_144] {
                let mut messages = LargeMessages::new(method, bytes).unwrap();
                messages.check_and_clear().unwrap_err();
                for _ in 0..5 {
                    match messages.pass() {
                        // RLIMIT_MEMLOCK or net.core.optmem_max.
                        Err(Errno(libc::ENOBUFS)) if method == SendMethod::InPlace => {
                            return eprintln!("cannot run here: pages cannot be pinned");
                        }
                        done => assert_eq!(done, Ok(()), "{method:?} {bytes}"),
                    }
                    assert_eq!(messages.check_and_clear(), Ok(()), "{method:?} {bytes}");
                }
                let left = socket::completed_zerocopy_sends(&messages.sender);
                assert_eq!(left, Ok(0), "{method:?} {bytes}");
            }
        }
    }
}
