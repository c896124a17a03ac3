//! An end of a byte stream: a pipe, a FIFO, a stream socket.

use std::fs::File;

use oscost_model::channel::ChannelObservation;

use super::end::End;
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{read, write};
use crate::kernel::net::control_stream::OnInterrupt;

/// The file to write to and the file to read from.
pub(crate) struct Stream {
    to: File,
    from: File,
    observation: ChannelObservation,
}

impl Stream {
    /// An end of these files, with what was observed of the channel.
    pub(crate) fn new(to: File, from: File, seen: ChannelObservation) -> Self {
        Self { to, from, observation: seen }
    }
}

impl End for Stream {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        match write(&self.to, message) {
            Ok(taken) if taken == message.len() => Ok(()),
            partly => {
                let more = |done: usize| write(&self.to, &message[done..]);
                transfer_rest(message.len(), partly, gone, more).map(drop)
            }
        }
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        match read(&self.from, into) {
            Ok(given) if given == into.len() => Ok(given),
            partly => {
                transfer_rest(into.len(), partly, gone, |done| read(&self.from, &mut into[done..]))
            }
        }
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// Transfers the rest of a message after a first call: `more` continues after that many bytes. An
/// interrupted wait calls `gone`, and continues.
#[inline(never)]
pub(crate) fn transfer_rest(
    length: usize,
    first: Result<usize, Errno>,
    gone: OnInterrupt<'_>,
    mut more: impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let (mut done, mut times, mut last) = (0, 0, first);
    loop {
        match last {
            Ok(0) => return Err(Errno::EPIPE),
            Ok(moved) => (done, times) = (done + moved, 0),
            Err(Errno::EINTR) => {
                times += 1;
                gone(times)?;
            }
            Err(error) => return Err(error),
        }
        if done >= length {
            return Ok(done);
        }
        last = more(done);
    }
}
