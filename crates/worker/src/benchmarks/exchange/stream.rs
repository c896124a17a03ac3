//! An end of a byte stream: a pipe, a FIFO, a stream socket.

use std::fs::File;

use super::end::End;
use crate::bench::ChannelObservation;
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{read, write};
use crate::kernel::ipc::pipe::unread_bytes;
use crate::kernel::net::control_stream::InterruptHandler;

/// The file to write to and the file to read from.
pub(crate) struct Stream {
    to: File,
    from: File,
    observation: ChannelObservation,
}

impl Stream {
    /// An end of these files, with what is known of the channel.
    pub(crate) fn new(to: File, from: File, observation: ChannelObservation) -> Self {
        Self { to, from, observation }
    }
}

impl End for Stream {
    #[inline(always)]
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        match write(&self.to, message) {
            Ok(sent) if sent == message.len() => Ok(()),
            first => {
                let more = |done: usize| write(&self.to, &message[done..]);
                transfer_rest(message.len(), first, on_interrupt, more).map(drop)
            }
        }
    }

    #[inline(always)]
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        match read(&self.from, into) {
            Ok(received) if received == into.len() => Ok(received),
            first => transfer_rest(into.len(), first, on_interrupt, |done| {
                read(&self.from, &mut into[done..])
            }),
        }
    }

    fn bytes_in_transit(&self) -> Result<u64, Errno> {
        unread_bytes(&self.to)
    }

    fn bytes_to_receive(&self) -> Result<u64, Errno> {
        unread_bytes(&self.from)
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// Transfers the rest of a message after a first call: `more` continues after that many bytes. An
/// interrupted wait calls `on_interrupt`, and continues.
#[inline(never)]
pub(crate) fn transfer_rest(
    length: usize,
    first: Result<usize, Errno>,
    on_interrupt: InterruptHandler<'_>,
    mut more: impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let (mut done, mut interruptions, mut last) = (0, 0, first);
    loop {
        match last {
            Ok(0) => return Err(Errno::EPIPE),
            Ok(bytes) => (done, interruptions) = (done + bytes, 0),
            Err(Errno::EINTR) => {
                interruptions += 1;
                on_interrupt(interruptions)?;
            }
            Err(error) => return Err(error),
        }
        if done >= length {
            return Ok(done);
        }
        last = more(done);
    }
}
