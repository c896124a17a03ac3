//! One end of a channel, and the loops that each means compiles for itself.

use oscost_model::channel::ChannelObservation;

use super::super::prelude::*;
use crate::kernel::net::control_stream::Gone;
use crate::kernel::time::stopwatch::Stopwatch;

/// The largest message: what a peer makes room for, whoever asks.
pub(in super::super) const LARGEST: u64 = 16 << 20;

/// The message that says that all others have come.
pub(in super::super) const ACKNOWLEDGEMENT: usize = 4;

/// One end of a way for messages.
///
/// Its first two acts are the means; the others are loops of them, which each means has for itself.
pub(in super::super) trait End {
    /// Sends a whole message, however many calls that takes. A wait that is interrupted asks
    /// `gone`, and goes on.
    fn send(&mut self, message: &[u8], gone: Gone<'_>) -> Result<(), Errno>;

    /// Receives a whole message, and says how many bytes it had. Of a stream a message has as many
    /// as there is room; that it ended before is EPIPE.
    fn receive(&mut self, into: &mut [u8], gone: Gone<'_>) -> Result<usize, Errno>;

    /// So many messages there, and each one back.
    fn trips(
        &mut self,
        trips: u64,
        (message, into): (&[u8], &mut [u8]),
        gone: Gone<'_>,
    ) -> Result<(), OpError> {
        for op in 0..trips {
            let back = self.send(message, gone).and_then(|()| self.receive(into, gone));
            back.and_then(|bytes| whole(bytes, into.len()))
                .map_err(|why| OpError { op, errno: why })?;
        }
        Ok(())
    }

    /// Sends back each of so many messages.
    fn echo(&mut self, trips: u64, message: &mut [u8], gone: Gone<'_>) -> Result<(), Errno> {
        for _ in 0..trips {
            whole(self.receive(message, gone)?, message.len())?;
            self.send(message, gone)?;
        }
        Ok(())
    }

    /// Sends so many messages, and waits until the other end acknowledges the last.
    fn pour(&mut self, messages: u64, message: &[u8], gone: Gone<'_>) -> Result<(), OpError> {
        for op in 0..messages {
            self.send(message, gone).map_err(|why| OpError { op, errno: why })?;
        }
        let acknowledged = self.receive(&mut [0; ACKNOWLEDGEMENT], gone);
        acknowledged
            .and_then(|bytes| whole(bytes, ACKNOWLEDGEMENT))
            .map_err(|why| OpError { op: messages, errno: why })
    }

    /// Receives so many messages, acknowledges the last, and says how many came, and their bytes.
    fn drain(
        &mut self,
        messages: u64,
        into: &mut [u8],
        gone: Gone<'_>,
    ) -> Result<(u64, u64), Errno> {
        let mut bytes = 0;
        for _ in 0..messages {
            bytes += self.receive(into, gone)? as u64;
        }
        self.send(&[0; ACKNOWLEDGEMENT], gone)?;
        Ok((messages, bytes))
    }

    /// Learns which process the other end is, where that must be known.
    fn meet(&mut self, _peer: u32) {}

    /// What the system tells of the channel at this end.
    fn seen(&self) -> ChannelObservation {
        ChannelObservation::default()
    }

    /// Whether the last batch is no sample: see [`Run::is_lost`].
    fn is_lost(&self) -> bool {
        false
    }
}

/// A trip whose times are taken at this end: when it sent, and when it had its answer.
pub(super) fn timed_trip(
    end: &mut dyn End,
    watch: Stopwatch,
    (message, into): (&[u8], &mut [u8]),
    gone: Gone<'_>,
) -> Result<(u64, u64), Errno> {
    let sent = watch.start();
    end.send(message, gone)?;
    let bytes = end.receive(into, gone)?;
    let had = watch.stop();
    whole(bytes, into.len())?;
    Ok((sent, had))
}

/// The other side of [`timed_trip`]: when it had the message, and when it sent it back.
pub(super) fn timed_echo(
    end: &mut dyn End,
    watch: Stopwatch,
    message: &mut [u8],
    gone: Gone<'_>,
) -> Result<(u64, u64), Errno> {
    let bytes = end.receive(message, gone)?;
    let had = watch.stop();
    whole(bytes, message.len())?;
    let sent = watch.start();
    end.send(message, gone)?;
    Ok((had, sent))
}

/// A message that has other bytes than it should.
pub(in super::super) fn whole(bytes: usize, wanted: usize) -> Result<(), Errno> {
    if bytes == wanted { Ok(()) } else { Err(Errno::EPROTO) }
}
