//! One end of a channel, and the loops that are compiled for each mechanism.

use super::super::prelude::*;
use crate::kernel::net::control_stream::InterruptHandler;
use crate::kernel::time::clock::thread_cpu_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// The largest message, which limits the peer's buffers whatever size is requested.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 16 << 20;

/// The size of the message that acknowledges all others.
pub(crate) const ACK_BYTES: usize = 4;

/// Both ends of a channel.
pub(crate) struct EndPair {
    /// That of the measured process.
    pub(crate) own: Box<dyn End>,
    /// That of its peer.
    pub(crate) peer: Box<dyn End>,
}

/// The messages that an end has received.
pub(crate) struct ReceivedMessages {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// The messages that an end has received without waiting.
pub(crate) struct ReceivedFill {
    pub(crate) bytes: u64,
    /// The CPU time that its calls took.
    pub(crate) cpu_ns: u64,
}

/// When an end sent and received, by its clock.
#[derive(Clone, Copy)]
pub(super) struct TripTicks {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// One end of a message channel.
///
/// `send` and `receive` are the mechanism; the other methods are loops of them, compiled for each
/// mechanism.
pub(crate) trait End {
    /// Sends a whole message, in as many calls as necessary. An interrupted wait calls
    /// `on_interrupt`, and continues.
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno>;

    /// Receives a whole message and returns its length. From a stream it reads as much as the
    /// buffer holds; an earlier end of the stream is EPIPE.
    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno>;

    /// Sends `trips` messages and receives the answer to each.
    fn round_trips(
        &mut self,
        trips: u64,
        message: &[u8],
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), OpError> {
        for op in 0..trips {
            let result =
                self.send(message, on_interrupt).and_then(|()| self.receive(into, on_interrupt));
            result
                .and_then(|bytes| check_length(bytes, into.len()))
                .map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    /// Sends back each of `trips` messages.
    fn echo(
        &mut self,
        trips: u64,
        message: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), Errno> {
        for _ in 0..trips {
            check_length(self.receive(message, on_interrupt)?, message.len())?;
            self.send(message, on_interrupt)?;
        }
        Ok(())
    }

    /// Sends `messages` messages, and waits until the other end acknowledges the last.
    fn send_many(
        &mut self,
        messages: u64,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), OpError> {
        for op in 0..messages {
            self.send(message, on_interrupt).map_err(|errno| OpError { op, errno })?;
        }
        let acknowledged = self.receive(&mut [0; ACK_BYTES], on_interrupt);
        acknowledged
            .and_then(|bytes| check_length(bytes, ACK_BYTES))
            .map_err(|errno| OpError { op: messages, errno })
    }

    /// Receives `messages` messages, and acknowledges the last.
    fn receive_many(
        &mut self,
        messages: u64,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<ReceivedMessages, Errno> {
        let mut bytes = 0;
        for _ in 0..messages {
            bytes += self.receive(into, on_interrupt)? as u64;
        }
        self.send(&[0; ACK_BYTES], on_interrupt)?;
        Ok(ReceivedMessages { messages, bytes })
    }

    /// Sends `messages` messages, for which an empty channel has room, and returns the CPU time that
    /// the calls took, in nanoseconds.
    fn send_fill(
        &mut self,
        messages: u64,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<u64, Errno> {
        check_length(self.bytes_in_transit()? as usize, 0)?;
        let start_ns = thread_cpu_ns()?;
        for _ in 0..messages {
            self.send(message, on_interrupt)?;
        }
        Ok(thread_cpu_ns()? - start_ns)
    }

    /// Receives `messages` messages, all of which are in the channel.
    fn receive_fill(
        &mut self,
        messages: u64,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<ReceivedFill, Errno> {
        check_length(self.bytes_to_receive()? as usize, messages as usize * into.len())?;
        let mut bytes = 0;
        let start_ns = thread_cpu_ns()?;
        for _ in 0..messages {
            bytes += self.receive(into, on_interrupt)? as u64;
        }
        Ok(ReceivedFill { bytes, cpu_ns: thread_cpu_ns()? - start_ns })
    }

    /// The bytes that this end has sent and the other one has not received; ENOSYS of a mechanism
    /// that does not tell.
    fn bytes_in_transit(&self) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }

    /// The bytes that this end would receive without waiting; ENOSYS of a mechanism that does not
    /// tell.
    fn bytes_to_receive(&self) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Stores the process ID of the other end, if the mechanism needs it.
    fn set_peer(&mut self, _peer: u32) {}

    /// What the system reports about the channel at this end.
    fn observation(&self) -> ChannelObservation {
        ChannelObservation::default()
    }

    /// Whether the last batch was lost and is not a sample.
    fn is_lost(&self) -> bool {
        false
    }
}

/// A round trip with time stamps at this end: when it sent, and when it had received the answer.
pub(super) fn timed_trip(
    end: &mut dyn End,
    watch: Stopwatch,
    message: &[u8],
    into: &mut [u8],
    on_interrupt: InterruptHandler<'_>,
) -> Result<TripTicks, Errno> {
    let sent = watch.start();
    end.send(message, on_interrupt)?;
    let bytes = end.receive(into, on_interrupt)?;
    let received = watch.stop();
    check_length(bytes, into.len())?;
    Ok(TripTicks { sent, received })
}

/// The peer's side of [`timed_trip`]: when it had received the message, and when it sent the
/// answer.
pub(super) fn timed_echo(
    end: &mut dyn End,
    watch: Stopwatch,
    message: &mut [u8],
    on_interrupt: InterruptHandler<'_>,
) -> Result<TripTicks, Errno> {
    let bytes = end.receive(message, on_interrupt)?;
    let received = watch.stop();
    check_length(bytes, message.len())?;
    let sent = watch.start();
    end.send(message, on_interrupt)?;
    Ok(TripTicks { sent, received })
}

/// Fails unless a message has the expected length.
pub(crate) fn check_length(bytes: usize, expected: usize) -> Result<(), Errno> {
    if bytes == expected { Ok(()) } else { Err(Errno::EPROTO) }
}
