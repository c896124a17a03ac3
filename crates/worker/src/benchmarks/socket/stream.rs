//! Ends of stream sockets: TCP, AF_UNIX, socketpair(2).

use std::fs::File;

use oscost_model::channel::ChannelObservation;

use super::super::exchange::{ACKNOWLEDGEMENT, End, Held, OnInterrupt, go_on, whole};
use super::super::prelude::*;
use super::endpoint::Socket;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::net::socket;

/// send(2) and recv(2).
pub(super) struct Copied(pub(super) Socket);

impl End for Copied {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        send_all(message, gone, |rest| socket::send(&self.0.file, rest))
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        receive_all(&self.0.file, into, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.0.seen()
    }
}

/// Sends the rest of a message until it is complete: a signal may split it.
#[inline(always)]
fn send_all(
    message: &[u8],
    gone: OnInterrupt<'_>,
    mut send: impl FnMut(&[u8]) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    match send(message) {
        Ok(taken) if taken == message.len() => Ok(()),
        first => go_on(message.len(), first, gone, |done| send(&message[done..])).map(drop),
    }
}

/// Receives until the buffer is full, in one call unless a signal interrupts it.
#[inline(always)]
fn receive_all(from: &File, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
    match socket::receive_all(from, into) {
        Ok(given) if given == into.len() => Ok(given),
        first => {
            go_on(into.len(), first, gone, |done| socket::receive_all(from, &mut into[done..]))
        }
    }
}

/// io_uring: one submission per message, which is waited for.
pub(super) struct Ringed {
    socket: Socket,
    ring: Ring,
}

impl Ringed {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        Ok(Self { socket, ring: Ring::new(1)? })
    }
}

impl End for Ringed {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        match self.ring.send(&self.socket.file, message, gone)? {
            taken if taken == message.len() => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        match self.ring.receive(&self.socket.file, into, gone)? {
            given if given == into.len() => Ok(given),
            _ => Err(Errno::EPIPE),
        }
    }

    fn pour(
        &mut self,
        messages: u64,
        message: &[u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(), OpError> {
        for op in 0..messages {
            self.send(message, gone).map_err(|why| OpError { op, errno: why })?;
        }
        acknowledged(&self.socket.file, messages, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.socket.seen()
    }
}

/// Waits for the acknowledgement of `messages` messages.
fn acknowledged(from: &File, messages: u64, gone: OnInterrupt<'_>) -> Result<(), OpError> {
    receive_all(from, &mut [0; ACKNOWLEDGEMENT], gone)
        .and_then(|bytes| whole(bytes, ACKNOWLEDGEMENT))
        .map_err(|why| OpError { op: messages, errno: why })
}

/// sendfile(2), from a memory file.
pub(super) struct FromFile {
    socket: Socket,
    held: Held,
}

impl FromFile {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        Ok(Self { socket, held: Held::new()? })
    }

    /// Sends the message in the file, which has the length of `message`.
    #[inline(always)]
    fn send_held(&self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let (to, held) = (&self.socket.file, &self.held);
        send_all(message, gone, |rest| {
            socket::send_file(to, &held.file, held.place(message.len() - rest.len()), rest.len())
        })
    }
}

impl End for FromFile {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        self.held.hold(message)?;
        self.send_held(message, gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, gone)
    }

    fn pour(
        &mut self,
        messages: u64,
        message: &[u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(), OpError> {
        self.held.hold_as_long(message)?;
        for op in 0..messages {
            self.send_held(message, gone).map_err(|why| OpError { op, errno: why })?;
        }
        acknowledged(&self.socket.file, messages, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.socket.seen()
    }
}

/// MSG_ZEROCOPY: the kernel sends user pages, and reports afterwards when it has finished with
/// them.
pub(super) struct Lent {
    socket: Socket,
    /// Sends for which the kernel has not reported completion.
    out: u64,
}

/// After this many sends the completions are read: each takes a notification in limited memory
/// (`net.core.optmem_max`).
const ASKED_AFTER: u64 = 16;

impl Lent {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        socket::set(&socket.file, socket::SocketOption::ZeroCopy, 1)?;
        Ok(Self { socket, out: 0 })
    }

    /// Reads the completions.
    fn ask(&mut self) -> Result<(), Errno> {
        self.out = self.out.saturating_sub(socket::completed_zerocopy_sends(&self.socket.file)?);
        Ok(())
    }
}

impl End for Lent {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        if self.out >= ASKED_AFTER {
            self.ask()?;
        }
        self.out += 1;
        send_all(message, gone, |rest| match socket::send_zerocopy(&self.socket.file, rest) {
            // No memory for another notification: copy this one, and read the completions later.
            Err(Errno(libc::ENOBUFS)) => socket::send(&self.socket.file, rest),
            sent => sent,
        })
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.socket.seen()
    }
}
