//! An end that writes and reads bytes: of a pipe, a FIFO, a stream socket.

use std::fs::File;

use oscost_model::channel::ChannelSeen;

use super::{End, Gone};
use crate::sys::Errno;
use crate::sys::switch::{read, write};

/// Where it writes, and where it reads.
pub(in super::super) struct Stream {
    to: File,
    from: File,
    seen: ChannelSeen,
}

impl Stream {
    /// These two, of which this was seen.
    pub(in super::super) fn new(to: File, from: File, seen: ChannelSeen) -> Self {
        Self { to, from, seen }
    }
}

impl End for Stream {
    #[inline(always)]
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno> {
        match write(&self.to, message) {
            Ok(taken) if taken == message.len() => Ok(()),
            partly => write_on(&self.to, message, partly, gone),
        }
    }

    #[inline(always)]
    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno> {
        match read(&self.from, into) {
            Ok(given) if given == into.len() => Ok(given),
            partly => read_on(&self.from, into, partly, gone),
        }
    }

    fn seen(&self) -> ChannelSeen {
        self.seen
    }
}

/// Writes what is left of a message after a first write.
#[inline(never)]
pub(in super::super) fn write_on(
    to: &File,
    message: &[u8],
    first: Result<usize, Errno>,
    gone: Gone<'_>,
) -> Result<(), Errno> {
    let (mut done, mut times, mut last) = (0, 0, first);
    loop {
        match last {
            Ok(0) => return Err(Errno::EPIPE),
            Ok(taken) => (done, times) = (done + taken, 0),
            Err(Errno::EINTR) => {
                times += 1;
                gone(times)?;
            }
            Err(error) => return Err(error),
        }
        if done >= message.len() {
            return Ok(());
        }
        last = write(to, &message[done..]);
    }
}

/// Reads what is left of a message after a first read.
#[inline(never)]
pub(in super::super) fn read_on(
    from: &File,
    into: &mut [u8],
    first: Result<usize, Errno>,
    gone: Gone<'_>,
) -> Result<usize, Errno> {
    let (mut done, mut times, mut last) = (0, 0, first);
    loop {
        match last {
            Ok(0) => return Err(Errno::EPIPE),
            Ok(given) => (done, times) = (done + given, 0),
            Err(Errno::EINTR) => {
                times += 1;
                gone(times)?;
            }
            Err(error) => return Err(error),
        }
        if done >= into.len() {
            return Ok(done);
        }
        last = read(from, &mut into[done..]);
    }
}
