//! Ends of AF_UNIX sockets that preserve message boundaries and lose no packet.

use super::super::exchange::{End, InterruptHandler};
use super::super::prelude::*;
use super::endpoint::Socket;
use crate::kernel::net::socket;

/// send(2) and recv(2), one packet per message.
pub(super) struct PacketEnd(pub(super) Socket);

impl End for PacketEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        let mut interruptions = 0;
        loop {
            match socket::send(&self.0.file, message) {
                Ok(sent) if sent == message.len() => return Ok(()),
                Ok(_) => return Err(Errno::EPROTO),
                Err(Errno::EINTR) => {
                    interruptions += 1;
                    on_interrupt(interruptions)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    #[inline(always)]
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let mut interruptions = 0;
        loop {
            match socket::receive_packet(&self.0.file, into) {
                // Messages are never empty: the peer has closed the socket.
                Ok(0) => return Err(Errno::EPIPE),
                Ok(bytes) => return Ok(bytes),
                Err(Errno::EINTR) => {
                    interruptions += 1;
                    on_interrupt(interruptions)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn observation(&self) -> ChannelObservation {
        self.0.observation()
    }
}
