//! Messages between two ends, whatever they go through.
//!
//! Not a family but what families of channels share. An [`End`] sends and receives whole messages;
//! its loops are compiled once for each means, and chosen once for a batch. Its other end runs
//! [`serve`] in a process of its own, here or behind a door on another machine, and knows of this
//! one only what comes through the channel and a [`Control`] stream beside it: no memory is shared
//! and nothing inherited.

use oscost_model::channel::ChannelObservation;

use super::prelude::*;
pub(super) use crate::kernel::control::{Control, Gone};
use crate::kernel::stopwatch::Stopwatch;

mod content;
mod held;
mod peer;
mod stream;
#[cfg(test)]
mod tests;
mod two;

pub(super) use content::{From, Room, fill};
pub(super) use held::Held;
pub(super) use peer::serve;
pub(super) use stream::{Stream, go_on};
pub(super) use two::{Trips, Two, Way};

/// The sizes of messages of study cs736-2019.
pub(super) const SIZES: &[u64] = &[4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// The largest message: what a peer makes room for, whoever asks.
pub(super) const LARGEST: u64 = 16 << 20;

/// Messages of all sizes, of which the price list has some.
pub(super) const fn size(in_price_list: &'static Points) -> Axis {
    Axis {
        name: "size",
        sets: "bytes of a message",
        points: Points::Within { least: 1, most: LARGEST, points: SIZES },
        usual: Points::Usual { points: &Points::Numbers(SIZES), in_price_list },
    }
}

/// Which way is timed, of which messages.
pub(super) const WAY: Axis = Axis {
    name: "way",
    sets: "which way is timed: to the other process, or from it",
    points: Points::Words(&["there", "back"]),
    usual: Points::Words(&["there", "back"]),
};

/// The sizes at which one way is timed usually.
pub(super) const SIZE_ONE_WAY: Axis =
    Axis { usual: Points::Numbers(&[64, 65_536]), ..size(&Points::Numbers(&[])) };

/// The kernel's door, below which no call can go.
pub(super) const GETPPID: &str = "syscall/getppid:via=raw";

/// The message that says that all others have come.
pub(super) const ACKNOWLEDGEMENT: usize = 4;

/// Where the other end stands.
pub(super) const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the other end is pinned: to the same CPU or another, the last that it may use",
    points: Points::Words(&["same", "other"]),
    usual: Points::Words(&["same", "other"]),
};

/// One end of a way for messages.
///
/// Its first two acts are the means; the others are loops of them, which each means has for itself.
pub(super) trait End {
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
    ) -> Result<(), AtOp> {
        for op in 0..trips {
            let back = self.send(message, gone).and_then(|()| self.receive(into, gone));
            back.and_then(|bytes| whole(bytes, into.len())).map_err(|why| AtOp { op, why })?;
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
    fn pour(&mut self, messages: u64, message: &[u8], gone: Gone<'_>) -> Result<(), AtOp> {
        for op in 0..messages {
            self.send(message, gone).map_err(|why| AtOp { op, why })?;
        }
        let acknowledged = self.receive(&mut [0; ACKNOWLEDGEMENT], gone);
        acknowledged
            .and_then(|bytes| whole(bytes, ACKNOWLEDGEMENT))
            .map_err(|why| AtOp { op: messages, why })
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
fn timed_trip(
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
fn timed_echo(
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
pub(super) fn whole(bytes: usize, wanted: usize) -> Result<(), Errno> {
    if bytes == wanted { Ok(()) } else { Err(Errno::EPROTO) }
}

/// The CPU of the other end, where times of both ends are compared; or the row that says why they
/// cannot be.
pub(super) fn cpu_of_timed_peer(at: At<'_>) -> Result<u32, Work> {
    let cpu = cpu_of_peer(at)?;
    let one_clock = at.site.cpu == Some(cpu) || at.site.watch.is_one_for_all_cpus();
    if one_clock { Ok(cpu) } else { Err(clocks_apart()) }
}

/// The CPU of the other end; or the row that says why it cannot be had.
pub(super) fn cpu_of_peer(at: At<'_>) -> Result<u32, Work> {
    // Unpinned, this end might come to stand on the other one's.
    let own = at.site.cpu.ok_or_else(unpinned)?;
    match at.word("peer_cpu") {
        "other" => at.site.other_cpu.ok_or_else(|| {
            Work::lacking(
                "the other end needs a second CPU: this machine has one, or taskset(1) or a \
                 cpuset allows no more",
            )
        }),
        _ => Ok(own),
    }
}
