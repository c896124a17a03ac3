//! Ends that bytes flow through: TCP, a stream of AF_UNIX, a pair.

use std::fs::File;

use oscost_model::channel::ChannelObservation;

use super::super::exchange::{ACKNOWLEDGEMENT, End, Gone, Held, go_on, whole};
use super::super::prelude::*;
use super::endpoint::Socket;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::net::socket;

/// By send(2) and recv(2).
pub(super) struct Copied(pub(super) Socket);

impl End for Copied {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        send_all(message, gone, |rest| socket::send(&self.0.file, rest))
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
        receive_all(&self.0.file, into, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.0.seen()
    }
}

/// Sends what is left of a message, until nothing is: a signal parts it.
#[inline(always)]
fn send_all(
    message: &[u8],
    gone: Gone<'_>,
    mut send: impl FnMut(&[u8]) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    match send(message) {
        Ok(taken) if taken == message.len() => Ok(()),
        first => go_on(message.len(), first, gone, |done| send(&message[done..])).map(drop),
    }
}

/// Receives until there is no more room, by one call unless a signal comes.
#[inline(always)]
fn receive_all(from: &File, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
    match socket::receive_all(from, into) {
        Ok(given) if given == into.len() => Ok(given),
        first => {
            go_on(into.len(), first, gone, |done| socket::receive_all(from, &mut into[done..]))
        }
    }
}

/// By an io_uring: a submission that is waited for, for each message.
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
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        match self.ring.send(&self.socket.file, message, gone)? {
            taken if taken == message.len() => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
        match self.ring.receive(&self.socket.file, into, gone)? {
            given if given == into.len() => Ok(given),
            _ => Err(Errno::EPIPE),
        }
    }

    fn pour(&mut self, messages: u64, message: &[u8], gone: Gone<'_>) -> Result<(), OpError> {
        for op in 0..messages {
            self.send(message, gone).map_err(|why| OpError { op, errno: why })?;
        }
        acknowledged(&self.socket.file, messages, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.socket.seen()
    }
}

/// Waits for the acknowledgement of so many messages that were sent.
fn acknowledged(from: &File, messages: u64, gone: Gone<'_>) -> Result<(), OpError> {
    receive_all(from, &mut [0; ACKNOWLEDGEMENT], gone)
        .and_then(|bytes| whole(bytes, ACKNOWLEDGEMENT))
        .map_err(|why| OpError { op: messages, errno: why })
}

/// By sendfile(2), from a file in memory.
pub(super) struct FromFile {
    socket: Socket,
    held: Held,
}

impl FromFile {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        Ok(Self { socket, held: Held::new()? })
    }

    /// Sends the message that it holds; this one is as long.
    #[inline(always)]
    fn send_held(&self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        let (to, held) = (&self.socket.file, &self.held);
        send_all(message, gone, |rest| {
            socket::send_file(to, &held.file, held.place(message.len() - rest.len()), rest.len())
        })
    }
}

impl End for FromFile {
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        self.held.hold(message)?;
        self.send_held(message, gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, gone)
    }

    fn pour(&mut self, messages: u64, message: &[u8], gone: Gone<'_>) -> Result<(), OpError> {
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

/// By MSG_ZEROCOPY: the kernel sends our own pages, and says afterwards when it is done with them.
pub(super) struct Lent {
    socket: Socket,
    /// Sends that the kernel has not said that it is done with.
    out: u64,
}

/// After so many sends the kernel is asked which it is done with: each costs it a note in memory
/// that is bounded (`net.core.optmem_max`).
const ASKED_AFTER: u64 = 16;

impl Lent {
    pub(super) fn new(socket: Socket) -> Result<Self, Errno> {
        socket::set(&socket.file, socket::Setting::InPlace, 1)?;
        Ok(Self { socket, out: 0 })
    }

    /// Hears which sends are done.
    fn ask(&mut self) -> Result<(), Errno> {
        self.out = self.out.saturating_sub(socket::sent_in_place(&self.socket.file)?);
        Ok(())
    }
}

impl End for Lent {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        if self.out >= ASKED_AFTER {
            self.ask()?;
        }
        self.out += 1;
        send_all(message, gone, |rest| match socket::send_in_place(&self.socket.file, rest) {
            // No room for another note: the kernel is asked when it has done some more.
            Err(Errno(libc::ENOBUFS)) => socket::send(&self.socket.file, rest),
            sent => sent,
        })
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
        receive_all(&self.socket.file, into, gone)
    }

    fn seen(&self) -> ChannelObservation {
        self.socket.seen()
    }
}
