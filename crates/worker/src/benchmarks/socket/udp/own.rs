//! The measured process's end of UDP.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use oscost_model::channel::{ChannelObservation, Datagrams};

use super::super::super::exchange::{From, Room};
use super::super::super::prelude::*;
use super::super::ends::cause;
use super::datagram::{Came, ID, MOST_DATAGRAMS, Parts, id_of, order, send};
use super::line::{Line, line};
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::{Alarm, SignalReceiver};
use crate::kernel::net::socket;
use crate::kernel::time::stopwatch::Stopwatch;

/// A datagram counts as lost after this many times the duration of a command and its answer ...
const PATIENT_TIMES: u32 = 20;
/// ... but not before this: a peer that shares a CPU may be off it for several time slices.
const LEAST_PATIENCE: Duration = Duration::from_millis(50);
/// Attempts to verify a message that does not come back.
const TRIES: u32 = 8;
/// Number of messages verified in each direction.
const VERIFIED: u64 = 3;
/// Round trips before a timed one.
const BEFORE_TIMED: u32 = 8;
/// Number of lost datagrams that are remembered: one that arrives after all is late, not a
/// duplicate.
const REMEMBERED: usize = 1 << 12;
/// The end marker is repeated after this time, or after two round trips if those take longer.
const SAID_AGAIN: Duration = Duration::from_micros(100);

/// This end, with buffers for its messages.
struct Own {
    line: Line,
    parts: Parts,
    message: Room,
    into: Room,
    /// Which parts of a message have come back.
    came: Came,
    /// The number of the next datagram.
    next: u32,
    /// After this time a missing datagram counts as lost.
    patience: Duration,
    /// The shortest time of a command and its answer.
    order_took: Duration,
    /// Consecutive losses.
    lost_in_a_row: u32,
    given_up: VecDeque<u32>,
    verified: u64,
    /// Counters of this end.
    counted: Datagrams,
    /// Counters of the peer, as last reported, for datagrams that it sends back.
    at_peer: Cell<Datagrams>,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _ear: SignalReceiver,
}

impl Drop for Own {
    /// The peer waits for datagrams, and would check its control stream within a second: an empty
    /// datagram makes it check now.
    fn drop(&mut self) {
        self.line.control.shut_down();
        // If it is lost, the peer notices after a second.
        let _ = send(&self.line.socket, &[]);
    }
}

/// The result of a round trip.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trip {
    Back,
    Lost,
}

impl Own {
    fn new(at: Params<'_>) -> Result<Self, Errno> {
        let parts = Parts::of(at.number("size"))?;
        let ear = SignalReceiver::install()?;
        let (line, alarm) = (line(at)?, Alarm::start()?);
        let mut own = Self {
            line,
            parts,
            message: Room::new(parts.size),
            into: Room::new(parts.room()),
            came: Came::none_of(u64::from(parts.count)),
            next: 1,
            patience: LEAST_PATIENCE,
            order_took: PEER_TIMEOUT,
            lost_in_a_row: 0,
            given_up: VecDeque::new(),
            verified: 0,
            counted: Datagrams::default(),
            at_peer: Cell::default(),
            _alarm: alarm,
            _ear: ear,
        };
        own.verify()?;
        // Verification does not count.
        own.counted = Datagrams::default();
        Ok(own)
    }

    /// Sends a command and returns the answer. The peer waits for datagrams; an empty one makes it
    /// read the control stream, and is repeated if it is lost.
    fn order(&self, what: u64, messages: u64) -> Result<[u64; 4], Errno> {
        socket::set_interval_timer(LEAST_PATIENCE)?;
        let again = |times: u32| {
            self.is_there()?;
            if LEAST_PATIENCE * times >= PEER_TIMEOUT {
                return Err(Errno::PEER_TIMED_OUT);
            }
            self.poke()
        };
        let words = [what, self.parts.size as u64, messages, u64::from(self.next)];
        self.line.control.send(words, &again)?;
        self.poke()?;
        self.line.control.receive(&again)
    }

    /// Starts a mode of the peer.
    fn begin(&mut self, what: u64, messages: u64) -> Result<(), Errno> {
        let began = Instant::now();
        match self.order(what, messages).map_err(|why| self.cause(why))? {
            [order::READY, ..] => {}
            _ => return Err(Errno::EPROTO),
        }
        self.order_took = self.order_took.min(began.elapsed());
        self.patience = (self.order_took * PATIENT_TIMES).clamp(LEAST_PATIENCE, PEER_TIMEOUT);
        Ok(())
    }

    fn poke(&self) -> Result<(), Errno> {
        match send(&self.line.socket, &[]) {
            // The error of an earlier datagram; the control stream reports real failures.
            Err(Errno(libc::ECONNREFUSED)) => Ok(()),
            sent => sent,
        }
    }

    fn is_there(&self) -> Result<(), Errno> {
        self.line.child.as_ref().map_or(Ok(()), |child| child.check_running())
    }

    fn cause(&self, why: Errno) -> Errno {
        cause(self.line.child.as_ref(), why)
    }

    /// Sends different messages until each was verified at both ends.
    fn verify(&mut self) -> Result<(), Errno> {
        self.begin(order::VERIFY, u64::from(TRIES) * VERIFIED)?;
        let first = self.next;
        let mut tries = 0;
        let mut wanted = Room::new(self.parts.size);
        while self.verified < 2 * VERIFIED {
            if tries == TRIES {
                return Err(self.nothing_comes());
            }
            let number = u64::from(self.next.wrapping_sub(first) / self.parts.count);
            let numbers = (number, self.next);
            self.parts.filled(self.message.get_mut(), numbers, From::Own);
            socket::set_interval_timer(self.patience)?;
            match self.trip(1).map_err(|why| self.cause(why))? {
                Trip::Lost => tries += 1,
                Trip::Back => {
                    self.parts.filled(wanted.get_mut(), numbers, From::Peer);
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
        self.lost_in_a_row = 0;
        Ok(())
    }

    /// The reason why no message arrives: silence, or a receive buffer that is too small.
    fn nothing_comes(&self) -> Errno {
        let room = self.line.socket.seen().receive_buffer_bytes.unwrap_or(0);
        // The kernel charges a datagram with more than its bytes.
        if 2 * (self.parts.size as u64) <= room {
            return Errno::PEER_TIMED_OUT;
        }
        Errno::unavailable(format!(
            "of {TRIES} messages of {} bytes, each in {} datagrams, none arrived completely: the receive \
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
        let first = self.next;
        self.next = first.wrapping_add(self.parts.count);
        self.parts.number(self.message.get_mut(), first);
        self.counted.sent += u64::from(self.parts.count);
        self.parts.send(&self.line.socket, self.message.get())?;
        let file = &self.line.socket.file;
        let got = socket::receive_packet(file, &mut self.into.get_mut()[..self.parts.each]);
        if self.parts.count == 1
            && got == Ok(self.parts.size)
            && id_of(self.into.get()) == Some(first)
        {
            self.counted.arrived += 1;
            self.lost_in_a_row = 0;
            return Ok(Trip::Back);
        }
        self.rest_of_trip(first, got, interrupted)
    }

    /// The rest of a round trip that is not a single datagram which comes back at once.
    #[inline(never)]
    fn rest_of_trip(
        &mut self,
        first: u32,
        mut got: Result<usize, Errno>,
        interrupted: u32,
    ) -> Result<Trip, Errno> {
        self.came.forget();
        let (mut there, mut left, mut slot) = (0, interrupted, 0);
        loop {
            match got {
                Ok(given) => there += u32::from(self.take(first, slot, given)),
                Err(Errno::EINTR) => {
                    self.is_there()?;
                    left -= 1;
                }
                Err(error) => return Err(error),
            }
            if there == self.parts.count {
                self.lost_in_a_row = 0;
                return Ok(Trip::Back);
            }
            if left == 0 {
                return self.give_up(first, self.parts.count - there);
            }
            slot = there;
            let into = &mut self.into.get_mut()[self.parts.slot(slot)];
            got = socket::receive_packet(&self.line.socket.file, into);
        }
    }

    /// Counts a datagram; returns whether it is a new part of the expected message.
    fn take(&mut self, first: u32, slot: u32, given: usize) -> bool {
        let from = self.parts.slot(slot).start;
        let Some(id) = id_of(&self.into.get()[from..]).filter(|_| given >= ID) else {
            return false; // Not sent by the peer.
        };
        let part = id.wrapping_sub(first);
        if part >= self.parts.count {
            match self.given_up.iter().position(|&lost| lost == id) {
                Some(at) => {
                    self.given_up.remove(at);
                    self.counted.late += 1;
                }
                None => self.counted.duplicate += 1,
            }
            return false;
        }
        let into = self.parts.range(part);
        let before = self.came.counted;
        if given != into.len() || !self.came.take(part) {
            self.counted.duplicate += self.came.counted.duplicate - before.duplicate;
            return false;
        }
        self.counted.arrived += 1;
        self.counted.reordered += self.came.counted.reordered - before.reordered;
        if into.start != from {
            self.into.get_mut().copy_within(from..from + given, into.start);
        }
        true
    }

    /// Counts the missing datagrams. Too many consecutive losses are a silent peer.
    fn give_up(&mut self, first: u32, lost: u32) -> Result<Trip, Errno> {
        self.counted.lost += u64::from(lost);
        let missing = (0..self.parts.count).filter(|&part| !self.came.has(part));
        self.given_up.extend(missing.map(|part| first.wrapping_add(part)));
        while self.given_up.len() > REMEMBERED {
            self.given_up.pop_front();
        }
        self.lost_in_a_row += 1;
        if self.patience * self.lost_in_a_row >= PEER_TIMEOUT {
            return Err(Errno::PEER_TIMED_OUT);
        }
        Ok(Trip::Lost)
    }

    fn seen(&self) -> ChannelObservation {
        ChannelObservation {
            parts: Some(u64::from(self.parts.count)),
            datagrams: Some(self.counted.merged_with(self.at_peer.get())),
            verified: self.verified,
            peer_cpu: self.line.peer_cpu,
            ..self.line.socket.seen()
        }
    }
}

/// An op is a round trip of a message.
pub(in super::super) fn round_trips(at: Params<'_>) -> Result<Work, Errno> {
    let mut own = Own::new(at)?;
    own.begin(order::ECHO, u64::MAX)?;
    Ok(Work::from_prepared_body(Shape::SingleShot, Trips { own, lost: false }))
}

struct Trips {
    own: Own,
    lost: bool,
}

impl WorkBody for Trips {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.lost = false;
        socket::set_interval_timer(self.own.patience)
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        // The timer was just set for the first round trip; for another one it may be about to
        // expire.
        let mut interrupted = 1;
        for op in 0..turns * u64::from(copies) {
            match self.own.trip(interrupted) {
                Ok(Trip::Back) => {}
                Ok(Trip::Lost) => self.lost = true,
                Err(why) => return Err(OpError { op, errno: self.own.cause(why) }),
            }
            interrupted = 2;
        }
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Datagrams that the peer received twice or too late were not sent back.
        if let Ok([_, _, odd, late]) = self.own.order(order::REPORT, 0) {
            let (duplicate, reordered) = (odd >> 32, odd & u64::from(u32::MAX));
            let at_peer = Datagrams { duplicate, reordered, late, ..Datagrams::default() };
            self.own.at_peer.set(at_peer);
        }
        Some(self.own.seen())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}

/// Transfers the bytes of messages that arrive completely, until the end marker is acknowledged.
pub(in super::super) fn throughput(at: Params<'_>) -> Result<Work, Errno> {
    let own = Own::new(at)?;
    let each = u64::from(own.parts.count);
    let size = at.number("size");
    let body = Pour { own, sent: 0, arrived: 0 };
    let work = Work::from_prepared_body(Shape::WithLoop, body).with_op_count(size);
    // Large enough that the repetition timer and the answer are a small part.
    const LEAST_DATAGRAMS: u64 = 2_048;
    Ok(work.with_min_batch_ops(LEAST_DATAGRAMS / each).with_max_batch_ops(MOST_DATAGRAMS / each))
}

struct Pour {
    own: Own,
    /// The number of messages of the batch, and how many of them arrived.
    sent: u64,
    arrived: u64,
}

impl Pour {
    fn pour(&mut self, messages: u64) -> Result<(), OpError> {
        let own = &mut self.own;
        for op in 0..messages {
            own.parts.number(own.message.get_mut(), own.next);
            own.next = own.next.wrapping_add(own.parts.count);
            own.parts
                .send(&own.line.socket, own.message.get())
                .map_err(|why| OpError { op, errno: why })?;
        }
        self.end().map_err(|why| OpError { op: messages, errno: why })
    }

    /// Sends the end marker until the peer has acknowledged it.
    fn end(&mut self) -> Result<(), Errno> {
        let own = &mut self.own;
        let end = own.next.to_le_bytes();
        let wait = SAID_AGAIN.max(2 * own.order_took.min(own.patience)).as_nanos() as u64;
        // Counted, since no clock is read in a batch.
        let most = (PEER_TIMEOUT.as_nanos() as u64 / wait).max(1);
        let file = &own.line.socket.file;
        for _ in 0..most {
            send(&own.line.socket, &end)?;
            own.counted.end_markers += 1;
            while socket::poll_readable(file, wait)? {
                let mut answer = [0; ID];
                if socket::receive_packet_nonblocking(file, &mut answer) == Ok(ID) && answer == end
                {
                    return Ok(());
                }
            }
        }
        Err(Errno::PEER_TIMED_OUT)
    }
}

impl WorkBody for Pour {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.sent = ops;
        self.own.begin(order::DRAIN, ops)?;
        // Only the end may interrupt the following calls.
        socket::set_interval_timer(Duration::ZERO)
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        self.pour(turns * u64::from(copies))
            .map_err(|failed| OpError { errno: self.own.cause(failed.errno), ..failed })
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let report = self.own.order(order::REPORT, 0).map_err(|why| self.own.cause(why))?;
        let [arrived, whole, odd, late] = report;
        let own = &mut self.own;
        // The number after the end marker.
        own.next = own.next.wrapping_add(1);
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
        own.counted = own.counted.merged_with(batch);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.own.seen())
    }

    fn actual_ops(&self) -> Option<u64> {
        Some(self.arrived * self.own.parts.size as u64)
    }

    fn is_batch_lost(&self) -> bool {
        self.arrived == 0
    }
}

/// An op is a message one way, within a series of round trips.
pub(in super::super) fn one_way(at: Params<'_>) -> Result<Work, Errno> {
    let mut own = Own::new(at)?;
    own.begin(order::TIME, u64::MAX)?;
    let (back, watch) = (at.word("way") == "back", at.context.clock);
    let body = OneWay { own, back, watch, took: 0, lost: false };
    Ok(Work::from_prepared_body(Shape::OwnTicks, body).with_max_batch_ops(1))
}

struct OneWay {
    own: Own,
    back: bool,
    watch: Stopwatch,
    took: i64,
    lost: bool,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        socket::set_interval_timer(self.own.patience)?;
        for _ in 0..BEFORE_TIMED {
            self.own.trip(2).map_err(|why| self.own.cause(why))?;
        }
        self.lost = true;
        socket::set_interval_timer(self.own.patience)
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        if turns * u64::from(copies) == 0 {
            return Ok(());
        }
        let sent = self.watch.start();
        let trip = self.own.trip(1);
        let had = self.watch.stop();
        let asked = trip.and_then(|trip| Ok((trip, self.own.order(order::REPORT, 0)?)));
        let (trip, [there, back, ..]) =
            asked.map_err(|why| OpError { op: 0, errno: self.own.cause(why) })?;
        self.lost = trip == Trip::Lost;
        self.took =
            if self.back { had.wrapping_sub(back) } else { there.wrapping_sub(sent) } as i64;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.took
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(self.own.seen())
    }

    fn is_batch_lost(&self) -> bool {
        self.lost
    }
}
