//! Ends of stream sockets: TCP, AF_UNIX, socketpair(2).

use std::fs::File;

use super::super::exchange::{
    ACK_BYTES, End, InterruptHandler, MessageFile, check_length, transfer_rest,
};
use super::super::prelude::*;
use super::endpoint::Socket;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::net::socket;

/// send(2) and recv(2).
pub(super) struct CopyEnd(pub(super) Socket);

impl End for CopyEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        send_all(message, on_interrupt, |rest| socket::send(&self.0.file, rest))
    }

    #[inline(always)]
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        receive_all(&self.0.file, into, on_interrupt)
    }

    fn observation(&self) -> ChannelObservation {
        self.0.observation()
    }
}

/// Sends the rest of a message until it is complete: a signal may split it.
#[inline(always)]
fn send_all(
    message: &[u8],
    on_interrupt: InterruptHandler<'_>,
    mut send: impl FnMut(&[u8]) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    match send(message) {
        Ok(sent) if sent == message.len() => Ok(()),
        first => transfer_rest(message.len(), first, on_interrupt, |done| send(&message[done..]))
            .map(drop),
    }
}

/// Receives until the buffer is full, in one call unless a signal interrupts it.
#[inline(always)]
fn receive_all(
    from: &File,
    into: &mut [u8],
    on_interrupt: InterruptHandler<'_>,
) -> Result<usize, Errno> {
    match socket::receive_all(from, into) {
        Ok(received) if received == into.len() => Ok(received),
        first => transfer_rest(into.len(), first, on_interrupt, |done| {
            socket::receive_all(from, &mut into[done..])
        }),
    }
}

/// io_uring: one submission per message, which is waited for.
pub(super) struct IoUringEnd {
    socket: Socket,
    ring: Ring,
}

impl IoUringEnd {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        Ok(Self { socket, ring: Ring::new(1)? })
    }
}

impl End for IoUringEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        match self.ring.send(&self.socket.file, message, on_interrupt)? {
            sent if sent == message.len() => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    #[inline(always)]
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        match self.ring.receive(&self.socket.file, into, on_interrupt)? {
            received if received == into.len() => Ok(received),
            _ => Err(Errno::EPIPE),
        }
    }

    fn send_many(
        &mut self,
        messages: u64,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), OpError> {
        for op in 0..messages {
            self.send(message, on_interrupt).map_err(|errno| OpError { op, errno })?;
        }
        wait_for_ack(&self.socket.file, messages, on_interrupt)
    }

    fn observation(&self) -> ChannelObservation {
        self.socket.observation()
    }
}

/// Waits for the acknowledgement of `messages` messages.
fn wait_for_ack(
    from: &File,
    messages: u64,
    on_interrupt: InterruptHandler<'_>,
) -> Result<(), OpError> {
    receive_all(from, &mut [0; ACK_BYTES], on_interrupt)
        .and_then(|bytes| check_length(bytes, ACK_BYTES))
        .map_err(|errno| OpError { op: messages, errno })
}

/// sendfile(2), from a memory file.
pub(super) struct SendfileEnd {
    socket: Socket,
    messages: MessageFile,
}

impl SendfileEnd {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        Ok(Self { socket, messages: MessageFile::new()? })
    }

    /// Sends the message in the file, which has the length of `message`.
    #[inline(always)]
    fn send_from_file(
        &self,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), Errno> {
        let (to, messages) = (&self.socket.file, &self.messages);
        send_all(message, on_interrupt, |rest| {
            socket::send_file(
                to,
                &messages.file,
                messages.offset_of_rest(message.len() - rest.len()),
                rest.len(),
            )
        })
    }
}

impl End for SendfileEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        self.messages.write_message(message)?;
        self.send_from_file(message, on_interrupt)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, on_interrupt)
    }

    fn send_many(
        &mut self,
        messages: u64,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), OpError> {
        self.messages.ensure_length(message)?;
        for op in 0..messages {
            self.send_from_file(message, on_interrupt).map_err(|errno| OpError { op, errno })?;
        }
        wait_for_ack(&self.socket.file, messages, on_interrupt)
    }

    fn observation(&self) -> ChannelObservation {
        self.socket.observation()
    }
}

/// MSG_ZEROCOPY: the kernel sends user pages, and reports afterwards when it has finished with
/// them.
pub(super) struct ZerocopyEnd {
    socket: Socket,
    /// Sends for which the kernel has not reported completion.
    pending: u64,
}

/// After this many sends the completions are read: each takes a notification in limited memory
/// (`net.core.optmem_max`).
const MAX_PENDING: u64 = 16;

impl ZerocopyEnd {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        socket::set(&socket.file, socket::SocketOption::ZeroCopy, 1)?;
        Ok(Self { socket, pending: 0 })
    }

    /// Reads the completions.
    fn read_completions(&mut self) -> Result<(), Errno> {
        self.pending =
            self.pending.saturating_sub(socket::completed_zerocopy_sends(&self.socket.file)?);
        Ok(())
    }
}

impl End for ZerocopyEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        if self.pending >= MAX_PENDING {
            self.read_completions()?;
        }
        self.pending += 1;
        send_all(message, on_interrupt, |rest| {
            match socket::send_zerocopy(&self.socket.file, rest) {
                // No memory for another notification: copy this one, and read the completions
                // later.
                Err(Errno(libc::ENOBUFS)) => socket::send(&self.socket.file, rest),
                sent => sent,
            }
        })
    }

    #[inline(always)]
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, on_interrupt)
    }

    fn observation(&self) -> ChannelObservation {
        self.socket.observation()
    }
}
