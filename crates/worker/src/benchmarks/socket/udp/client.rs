//! The measured process's end of UDP.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use oscost_model::channel::{ChannelObservation, Datagrams};

use super::super::super::exchange::{MessageBuffer, Sender};
use super::super::super::prelude::*;
use super::super::setup::cause;
use super::datagram::{Arrivals, ID_BYTES, MAX_BATCH_DATAGRAMS, Parts, command, id_of, send};
use super::link::{Link, connect};
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::{Alarm, SignalReceiver};
use crate::kernel::net::socket;
use crate::kernel::time::stopwatch::Stopwatch;

/// A datagram counts as lost after this many times the duration of a command and its answer ...
const TIMEOUT_FACTOR: u32 = 20;
/// ... but not before this: a peer that shares a CPU may be off it for several time slices.
const MIN_TIMEOUT: Duration = Duration::from_millis(50);
/// Attempts to verify a message that does not come back.
const MAX_ATTEMPTS: u32 = 8;
/// Number of messages verified in each direction.
const VERIFIED_PER_DIRECTION: u64 = 3;
/// Round trips before a timed one.
const WARM_UP_TRIPS: u32 = 8;
/// Number of lost datagrams that are remembered: one that arrives after all is late, not a
/// duplicate.
const MAX_REMEMBERED_LOSSES: usize = 1 << 12;
/// The end marker is repeated after this time, or after two round trips if those take longer.
const END_MARKER_INTERVAL: Duration = Duration::from_micros(100);

/// This end, with buffers for its messages.
struct Client {
    link: Link,
    parts: Parts,
    message: MessageBuffer,
    into: MessageBuffer,
    /// Which parts of a message have come back.
    arrivals: Arrivals,
    /// The number of the next datagram.
    next_id: u32,
    /// After this time a missing datagram counts as lost.
    timeout: Duration,
    /// The shortest time of a command and its answer.
    command_time: Duration,
    /// Consecutive losses.
    consecutive_losses: u32,
    lost_ids: VecDeque<u32>,
    verified: u64,
    /// Counters of this end.
    counters: Datagrams,
    /// Counters of the peer, as last reported, for datagrams that it sends back.
    peer_counters: Cell<Datagrams>,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _ear: SignalReceiver,
}

impl Drop for Client {
    /// The peer waits for datagrams, and would check its control stream within a second: an empty
    /// datagram makes it check now.
    fn drop(&mut self) {
        self.link.control.shut_down();
        // If it is lost, the peer notices after a second.
        let _ = send(&self.link.socket, &[]);
    }
}

/// The result of a round trip.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trip {
    Back,
    Lost,
}

impl Client {
    fn new(params: Params<'_>) -> Result<Self, Errno> {
        let parts = Parts::of(params.number("size"))?;
        let ear = SignalReceiver::install()?;
        let (line, alarm) = (connect(params)?, Alarm::start()?);
        let mut own = Self {
            link: line,
            parts,
            message: MessageBuffer::new(parts.size),
            into: MessageBuffer::new(parts.buffer_bytes()),
            arrivals: Arrivals::new(u64::from(parts.count)),
            next_id: 1,
            timeout: MIN_TIMEOUT,
            command_time: PEER_TIMEOUT,
            consecutive_losses: 0,
            lost_ids: VecDeque::new(),
            verified: 0,
            counters: Datagrams::default(),
            peer_counters: Cell::default(),
            _alarm: alarm,
            _ear: ear,
        };
        own.verify()?;
        // Verification does not count.
        own.counters = Datagrams::default();
        Ok(own)
    }

    /// Sends a command and returns the answer. The peer waits for datagrams; an empty one makes it
    /// read the control stream, and is repeated if it is lost.
    fn run_command(&self, what: u64, messages: u64) -> Result<[u64; 4], Errno> {
        socket::set_interval_timer(MIN_TIMEOUT)?;
        let again = |times: u32| {
            self.check_peer()?;
            if MIN_TIMEOUT * times >= PEER_TIMEOUT {
                return Err(Errno::PEER_TIMED_OUT);
            }
            self.wake_peer()
        };
        let words = [what, self.parts.size as u64, messages, u64::from(self.next_id)];
        self.link.control.send(words, &again)?;
        self.wake_peer()?;
        self.link.control.receive(&again)
    }

    /// Starts a mode of the peer.
    fn start_mode(&mut self, what: u64, messages: u64) -> Result<(), Errno> {
        let began = Instant::now();
        match self.run_command(what, messages).map_err(|errno| self.cause(errno))? {
            [command::READY, ..] => {}
            _ => return Err(Errno::EPROTO),
        }
        self.command_time = self.command_time.min(began.elapsed());
        self.timeout = (self.command_time * TIMEOUT_FACTOR).clamp(MIN_TIMEOUT, PEER_TIMEOUT);
        Ok(())
    }

    fn wake_peer(&self) -> Result<(), Errno> {
        match send(&self.link.socket, &[]) {
            // The error of an earlier datagram; the control stream reports real failures.
            Err(Errno(libc::ECONNREFUSED)) => Ok(()),
            sent => sent,
        }
    }

    fn check_peer(&self) -> Result<(), Errno> {
        self.link.child.as_ref().map_or(Ok(()), |child| child.check_running())
    }

    fn cause(&self, why: Errno) -> Errno {
        cause(self.link.child.as_ref(), why)
    }

    /// Sends different messages until each was verified at both ends.
    fn verify(&mut self) -> Result<(), Errno> {
        self.start_mode(command::VERIFY, u64::from(MAX_ATTEMPTS) * VERIFIED_PER_DIRECTION)?;
        let first = self.next_id;
        let mut tries = 0;
        let mut wanted = MessageBuffer::new(self.parts.size);
        while self.verified < 2 * VERIFIED_PER_DIRECTION {
            if tries == MAX_ATTEMPTS {
                return Err(self.no_answer_cause());
            }
            let number = u64::from(self.next_id.wrapping_sub(first) / self.parts.count);
            let numbers = (number, self.next_id);
            self.parts.fill(self.message.get_mut(), numbers, Sender::Own);
            socket::set_interval_timer(self.timeout)?;
            match self.trip(1).map_err(|errno| self.cause(errno))? {
                Trip::Lost => tries += 1,
                Trip::Back => {
                    self.parts.fill(wanted.get_mut(), numbers, Sender::Peer);
                    if &self.into.get()[..self.parts.size] != wanted.get() {
                        return Err(Errno::check_failed(format!(
                            "a message of {} bytes from the peer differs from what it sent",
                            self.parts.size
                        )));
                    }
                    self.verified += 2;
                    tries = 0;
                }
            }
        }
        self.consecutive_losses = 0;
        Ok(())
    }

    /// The reason why no message arrives: silence, or a receive buffer that is too small.
    fn no_answer_cause(&self) -> Errno {
        let room = self.link.socket.observation().receive_buffer_bytes.unwrap_or(0);
        // The kernel charges a datagram with more than its bytes.
        if 2 * (self.parts.size as u64) <= room {
            return Errno::PEER_TIMED_OUT;
        }
        Errno::unavailable(format!(
            "of {MAX_ATTEMPTS} messages of {} bytes, each in {} datagrams, none arrived completely: the receive \
             buffer has {room} bytes, and what does not fit is dropped. Select buffer={}, or \
             raise net.core.rmem_default",
            self.parts.size,
            self.parts.count,
            2 * self.parts.size
        ))
    }

    /// One round trip of a message. It is lost after `interrupted` interruptions.
    #[inline(always)]
    fn trip(&mut self, interrupted: u32) -> Result<Trip, Errno> {
        let first = self.next_id;
        self.next_id = first.wrapping_add(self.parts.count);
        self.parts.write_numbers(self.message.get_mut(), first);
        self.counters.sent += u64::from(self.parts.count);
        self.parts.send(&self.link.socket, self.message.get())?;
        let file = &self.link.socket.file;
        let got = socket::receive_packet(file, &mut self.into.get_mut()[..self.parts.each]);
        if self.parts.count == 1
            && got == Ok(self.parts.size)
            && id_of(self.into.get()) == Some(first)
        {
            self.counters.arrived += 1;
            self.consecutive_losses = 0;
            return Ok(Trip::Back);
        }
        self.finish_trip(first, got, interrupted)
    }

    /// The rest of a round trip that is not a single datagram which comes back at once.
    #[inline(never)]
    fn finish_trip(
        &mut self,
        first: u32,
        mut got: Result<usize, Errno>,
        interrupted: u32,
    ) -> Result<Trip, Errno> {
        self.arrivals.reset();
        let (mut there, mut left, mut slot) = (0, interrupted, 0);
        loop {
            match got {
                Ok(given) => there += u32::from(self.record(first, slot, given)),
                Err(Errno::EINTR) => {
                    self.check_peer()?;
                    left -= 1;
                }
                Err(error) => return Err(error),
            }
            if there == self.parts.count {
                self.consecutive_losses = 0;
                return Ok(Trip::Back);
            }
            if left == 0 {
                return self.give_up(first, self.parts.count - there);
            }
            slot = there;
            let into = &mut self.into.get_mut()[self.parts.slot(slot)];
            got = socket::receive_packet(&self.link.socket.file, into);
        }
    }

    /// Counts a datagram; returns whether it is a new part of the expected message.
    fn record(&mut self, first: u32, slot: u32, given: usize) -> bool {
        let from = self.parts.slot(slot).start;
        let Some(id) = id_of(&self.into.get()[from..]).filter(|_| given >= ID_BYTES) else {
            return false; // Not sent by the peer.
        };
        let part = id.wrapping_sub(first);
        if part >= self.parts.count {
            match self.lost_ids.iter().position(|&lost| lost == id) {
                Some(at) => {
                    self.lost_ids.remove(at);
                    self.counters.late += 1;
                }
                None => self.counters.duplicate += 1,
            }
            return false;
        }
        let into = self.parts.range(part);
        let before = self.arrivals.counters;
        if given != into.len() || !self.arrivals.record(part) {
            self.counters.duplicate += self.arrivals.counters.duplicate - before.duplicate;
            return false;
        }
        self.counters.arrived += 1;
        self.counters.reordered += self.arrivals.counters.reordered - before.reordered;
        if into.start != from {
            self.into.get_mut().copy_within(from..from + given, into.start);
        }
        true
    }

    /// Counts the missing datagrams. Too many consecutive losses are a silent peer.
    fn give_up(&mut self, first: u32, lost: u32) -> Result<Trip, Errno> {
        self.counters.lost += u64::from(lost);
        let missing = (0..self.parts.count).filter(|&part| !self.arrivals.has(part));
        self.lost_ids.extend(missing.map(|part| first.wrapping_add(part)));
        while self.lost_ids.len() > MAX_REMEMBERED_LOSSES {
            self.lost_ids.pop_front();
        }
        self.consecutive_losses += 1;
        if self.timeout * self.consecutive_losses >= PEER_TIMEOUT {
            return Err(Errno::PEER_TIMED_OUT);
        }
        Ok(Trip::Lost)
    }

    fn observation(&self) -> ChannelObservation {
        ChannelObservation {
            parts: Some(u64::from(self.parts.count)),
            datagrams: Some(self.counters.merged_with(self.peer_counters.get())),
            verified: self.verified,
            peer_cpu: self.link.peer_cpu,
            ..self.link.socket.observation()
        }
    }
}

/// An op is a round trip of a message.
pub(crate) fn round_trips(params: Params<'_>) -> Result<Work, Errno> {
    let mut own = Client::new(params)?;
    own.start_mode(command::ECHO, u64::MAX)?;
    Ok(Work::from_prepared_body(Shape::SingleShot, Trips { own, lost: false }))
}

struct Trips {
    own: Client,
    lost: bool,
}

impl WorkBody for Trips {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.lost = false;
        socket::set_interval_timer(self.own.timeout)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        // The timer was just set for the first round trip; for another one it may be about to
        // expire.
        let mut interrupted = 1;
        for op in 0..iterations * u64::from(unroll) {
            match self.own.trip(interrupted) {
                Ok(Trip::Back) => {}
                Ok(Trip::Lost) => self.lost = true,
                Err(errno) => return Err(OpError { op, errno: self.own.cause(errno) }),
            }
            interrupted = 2;
        }
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Datagrams that the peer received twice or too late were not sent back.
        if let Ok([_, _, odd, late]) = self.own.run_command(command::REPORT, 0) {
            let (duplicate, reordered) = (odd >> 32, odd & u64::from(u32::MAX));
            let at_peer = Datagrams { duplicate, reordered, late, ..Datagrams::default() };
            self.own.peer_counters.set(at_peer);
        }
        Some(self.own.observation())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}

/// Transfers the bytes of messages that arrive completely, until the end marker is acknowledged.
pub(crate) fn throughput(params: Params<'_>) -> Result<Work, Errno> {
    let own = Client::new(params)?;
    let each = u64::from(own.parts.count);
    let size = params.number("size");
    let body = Throughput { own, sent: 0, arrived: 0 };
    let work = Work::from_prepared_body(Shape::WithLoop, body).with_op_count(size);
    // Large enough that the repetition timer and the answer are a small part.
    const LEAST_DATAGRAMS: u64 = 2_048;
    Ok(work
        .with_min_batch_ops(LEAST_DATAGRAMS / each)
        .with_max_batch_ops(MAX_BATCH_DATAGRAMS / each))
}

struct Throughput {
    own: Client,
    /// The number of messages of the batch, and how many of them arrived.
    sent: u64,
    arrived: u64,
}

impl Throughput {
    fn send_batch(&mut self, messages: u64) -> Result<(), OpError> {
        let own = &mut self.own;
        for op in 0..messages {
            own.parts.write_numbers(own.message.get_mut(), own.next_id);
            own.next_id = own.next_id.wrapping_add(own.parts.count);
            own.parts
                .send(&own.link.socket, own.message.get())
                .map_err(|errno| OpError { op, errno })?;
        }
        self.send_end_marker().map_err(|errno| OpError { op: messages, errno })
    }

    /// Sends the end marker until the peer has acknowledged it.
    fn send_end_marker(&mut self) -> Result<(), Errno> {
        let own = &mut self.own;
        let end = own.next_id.to_le_bytes();
        let wait = END_MARKER_INTERVAL.max(2 * own.command_time.min(own.timeout)).as_nanos() as u64;
        // Counted, since no clock is read in a batch.
        let most = (PEER_TIMEOUT.as_nanos() as u64 / wait).max(1);
        let file = &own.link.socket.file;
        for _ in 0..most {
            send(&own.link.socket, &end)?;
            own.counters.end_markers += 1;
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
        self.own.start_mode(command::DRAIN, ops)?;
        // Only the end may interrupt the following calls.
        socket::set_interval_timer(Duration::ZERO)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.send_batch(iterations * u64::from(unroll))
            .map_err(|failed| OpError { errno: self.own.cause(failed.errno), ..failed })
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let report =
            self.own.run_command(command::REPORT, 0).map_err(|errno| self.own.cause(errno))?;
        let [arrived, whole, odd, late] = report;
        let own = &mut self.own;
        // The number after the end marker.
        own.next_id = own.next_id.wrapping_add(1);
        let sent = self.sent * u64::from(own.parts.count);
        if arrived > sent || whole > self.sent {
            return Err(Errno::check_failed(format!(
                "{sent} datagrams were sent, and the peer received {arrived}"
            )));
        }
        self.arrived = whole;
        let (duplicate, reordered) = (odd >> 32, odd & u64::from(u32::MAX));
        let lost = sent - arrived;
        let batch =
            Datagrams { sent, arrived, lost, late, duplicate, reordered, ..Datagrams::default() };
        own.counters = own.counters.merged_with(batch);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.own.observation())
    }

    fn actual_ops(&self) -> Option<u64> {
        Some(self.arrived * self.own.parts.size as u64)
    }

    fn is_batch_lost(&self) -> bool {
        self.arrived == 0
    }
}

/// An op is a message one way, within a series of round trips.
pub(crate) fn one_way(params: Params<'_>) -> Result<Work, Errno> {
    let mut own = Client::new(params)?;
    own.start_mode(command::TIME, u64::MAX)?;
    let (back, watch) = (params.word("way") == "back", params.context.clock);
    let body = OneWay { own, back, watch, took: 0, lost: false };
    Ok(Work::from_prepared_body(Shape::OwnTicks, body).with_max_batch_ops(1))
}

struct OneWay {
    own: Client,
    back: bool,
    watch: Stopwatch,
    took: i64,
    lost: bool,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        socket::set_interval_timer(self.own.timeout)?;
        for _ in 0..WARM_UP_TRIPS {
            self.own.trip(2).map_err(|errno| self.own.cause(errno))?;
        }
        self.lost = true;
        socket::set_interval_timer(self.own.timeout)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        if iterations * u64::from(unroll) == 0 {
            return Ok(());
        }
        let sent = self.watch.start();
        let trip = self.own.trip(1);
        let had = self.watch.stop();
        let asked = trip.and_then(|trip| Ok((trip, self.own.run_command(command::REPORT, 0)?)));
        let (trip, [there, back, ..]) =
            asked.map_err(|errno| OpError { op: 0, errno: self.own.cause(errno) })?;
        self.lost = trip == Trip::Lost;
        self.took =
            if self.back { had.wrapping_sub(back) } else { there.wrapping_sub(sent) } as i64;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.took
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.own.observation())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}
