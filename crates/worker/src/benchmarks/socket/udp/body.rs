//! Work bodies of UDP: round trips, transfers and messages one way.

use std::time::Duration;

use super::super::super::prelude::*;
use super::client::{Client, Trip};
use super::datagram::{ID_BYTES, MAX_BATCH_DATAGRAMS, command, send, unpack_counters};
use crate::bench::Datagrams;
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::net::socket;
use crate::kernel::time::stopwatch::Stopwatch;

/// Round trips before a timed one.
const WARM_UP_TRIPS: u32 = 8;
/// The end marker is repeated after this time, or after two round trips if those take longer.
const END_MARKER_INTERVAL: Duration = Duration::from_micros(100);

/// An op is a round trip of a message.
pub(crate) fn round_trips(params: Params<'_>) -> Result<Work, Errno> {
    let mut client = Client::new(params)?;
    client.start_mode(command::ECHO, u64::MAX)?;
    Ok(Work::from_prepared_body(Shape::SingleShot, Trips { client, lost: false }))
}

struct Trips {
    client: Client,
    lost: bool,
}

impl WorkBody for Trips {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.lost = false;
        socket::set_interval_timer(self.client.timeout)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        // The timer was just set for the first round trip; for another one it may be about to
        // expire.
        let mut interrupted = 1;
        for op in 0..iterations * u64::from(unroll) {
            match self.client.trip(interrupted) {
                Ok(Trip::Back) => {}
                Ok(Trip::Lost) => self.lost = true,
                Err(errno) => return Err(OpError { op, errno: self.client.cause(errno) }),
            }
            interrupted = 2;
        }
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Datagrams that the peer received twice or too late were not sent back.
        if let Ok([_, _, packed, late]) = self.client.run_command(command::REPORT, 0) {
            self.client.peer_counters.set(Datagrams { late, ..unpack_counters(packed) });
        }
        Some(self.client.observation())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}

/// Transfers the bytes of messages that arrive completely, until the end marker is acknowledged.
pub(crate) fn throughput(params: Params<'_>) -> Result<Work, Errno> {
    let client = Client::new(params)?;
    let datagrams_per_message = u64::from(client.parts.count);
    let size = params.number("size");
    let body = Throughput { client, sent: 0, arrived: 0 };
    let work = Work::from_prepared_body(Shape::WithLoop, body).with_op_count(size);
    // Large enough that the repetition timer and the answer are a small part.
    const MIN_DATAGRAMS: u64 = 2_048;
    Ok(work
        .with_min_batch_ops(MIN_DATAGRAMS / datagrams_per_message)
        .with_max_batch_ops(MAX_BATCH_DATAGRAMS / datagrams_per_message))
}

struct Throughput {
    client: Client,
    /// The number of messages of the batch, and how many of them arrived.
    sent: u64,
    arrived: u64,
}

impl Throughput {
    fn send_batch(&mut self, messages: u64) -> Result<(), OpError> {
        let client = &mut self.client;
        for op in 0..messages {
            client.parts.write_numbers(client.message.get_mut(), client.next_id);
            client.next_id = client.next_id.wrapping_add(client.parts.count);
            client
                .parts
                .send(&client.link.socket, client.message.get())
                .map_err(|errno| OpError { op, errno })?;
        }
        self.send_end_marker().map_err(|errno| OpError { op: messages, errno })
    }

    /// Sends the end marker until the peer has acknowledged it.
    fn send_end_marker(&mut self) -> Result<(), Errno> {
        let client = &mut self.client;
        let end = client.next_id.to_le_bytes();
        let wait =
            END_MARKER_INTERVAL.max(2 * client.command_time.min(client.timeout)).as_nanos() as u64;
        // Counted, since no clock is read in a batch.
        let max_attempts = (PEER_TIMEOUT.as_nanos() as u64 / wait).max(1);
        let file = &client.link.socket.file;
        for _ in 0..max_attempts {
            send(&client.link.socket, &end)?;
            client.counters.end_markers += 1;
            while socket::poll_readable(file, wait)? {
                let mut answer = [0; ID_BYTES];
                if socket::receive_packet_nonblocking(file, &mut answer) == Ok(ID_BYTES)
                    && answer == end
                {
                    return Ok(());
                }
            }
        }
        Err(Errno::PEER_TIMED_OUT)
    }
}

impl WorkBody for Throughput {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.sent = ops;
        self.client.start_mode(command::DRAIN, ops)?;
        // Only the end may interrupt the following calls.
        socket::set_interval_timer(Duration::ZERO)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.send_batch(iterations * u64::from(unroll))
            .map_err(|error| OpError { errno: self.client.cause(error.errno), ..error })
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let report = self
            .client
            .run_command(command::REPORT, 0)
            .map_err(|errno| self.client.cause(errno))?;
        let [arrived, complete, packed, late] = report;
        let client = &mut self.client;
        // The number after the end marker.
        client.next_id = client.next_id.wrapping_add(1);
        let sent = self.sent * u64::from(client.parts.count);
        if arrived > sent || complete > self.sent {
            return Err(Errno::check_failed(format!(
                "{sent} datagrams were sent, and the peer received {arrived}"
            )));
        }
        self.arrived = complete;
        let lost = sent - arrived;
        let batch = Datagrams { sent, arrived, lost, late, ..unpack_counters(packed) };
        client.counters = client.counters.merged_with(batch);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.client.observation())
    }

    fn actual_ops(&self) -> Option<u64> {
        Some(self.arrived * self.client.parts.size as u64)
    }

    fn is_batch_lost(&self) -> bool {
        self.arrived == 0
    }
}

/// An op is a message one way, within a series of round trips.
pub(crate) fn one_way(params: Params<'_>) -> Result<Work, Errno> {
    let mut client = Client::new(params)?;
    client.start_mode(command::TIME, u64::MAX)?;
    let (from_peer, watch) = (params.word("way") == "back", params.context.clock);
    let body = OneWay { client, from_peer, watch, ticks: 0, lost: false };
    Ok(Work::from_prepared_body(Shape::OwnTicks, body).with_max_batch_ops(1))
}

struct OneWay {
    client: Client,
    from_peer: bool,
    watch: Stopwatch,
    ticks: i64,
    lost: bool,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        socket::set_interval_timer(self.client.timeout)?;
        for _ in 0..WARM_UP_TRIPS {
            self.client.trip(2).map_err(|errno| self.client.cause(errno))?;
        }
        self.lost = true;
        socket::set_interval_timer(self.client.timeout)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        if iterations * u64::from(unroll) == 0 {
            return Ok(());
        }
        let sent = self.watch.start();
        let trip = self.client.trip(1);
        let received_ticks = self.watch.stop();
        let result = trip.and_then(|trip| Ok((trip, self.client.run_command(command::REPORT, 0)?)));
        let (trip, [peer_received, peer_sent, ..]) =
            result.map_err(|errno| OpError { op: 0, errno: self.client.cause(errno) })?;
        self.lost = trip == Trip::Lost;
        self.ticks = if self.from_peer {
            received_ticks.wrapping_sub(peer_sent)
        } else {
            peer_received.wrapping_sub(sent)
        } as i64;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.ticks
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.client.observation())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}
