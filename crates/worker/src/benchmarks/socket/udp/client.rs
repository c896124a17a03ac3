//! The measured process's end of UDP.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::super::exchange::{MessageBuffer, Sender, failure_cause};
use super::super::super::prelude::*;
use super::datagram::{Arrivals, ID_BYTES, Parts, command, id_of, send};
use super::link::{Link, connect};
use crate::bench::Datagrams;
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::{Alarm, SignalReceiver};
use crate::kernel::net::socket;

/// A datagram counts as lost after this many times the duration of a command and its answer ...
const TIMEOUT_FACTOR: u32 = 20;
/// ... but not before this: a peer that shares a CPU may be off it for several time slices.
const MIN_TIMEOUT: Duration = Duration::from_millis(50);
/// Attempts to verify a message that does not come back.
const MAX_ATTEMPTS: u32 = 8;
/// Number of messages verified in each direction.
const VERIFIED_PER_DIRECTION: u64 = 3;
/// Number of lost datagrams that are remembered: one that arrives after all is late, not a
/// duplicate.
const MAX_REMEMBERED_LOSSES: usize = 1 << 12;

/// This end, with buffers for its messages.
pub(super) struct Client {
    pub(super) link: Link,
    pub(super) parts: Parts,
    pub(super) message: MessageBuffer,
    into: MessageBuffer,
    /// Which parts of a message have come back.
    arrivals: Arrivals,
    /// The number of the next datagram.
    pub(super) next_id: u32,
    /// After this time a missing datagram counts as lost.
    pub(super) timeout: Duration,
    /// The shortest time of a command and its answer.
    pub(super) command_time: Duration,
    /// Consecutive losses.
    consecutive_losses: u32,
    lost_ids: VecDeque<u32>,
    verified: u64,
    /// Counters of this end.
    pub(super) counters: Datagrams,
    /// Counters of the peer, as last reported, for datagrams that it sends back.
    pub(super) peer_counters: Cell<Datagrams>,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _signals: SignalReceiver,
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
pub(super) enum Trip {
    Back,
    Lost,
}

impl Client {
    pub(super) fn new(params: Params<'_>) -> Result<Self, Errno> {
        let parts = Parts::of(params.number("size"))?;
        let signals = SignalReceiver::install()?;
        let (link, alarm) = (connect(params)?, Alarm::start()?);
        let mut client = Self {
            link,
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
            _signals: signals,
        };
        client.verify()?;
        // Verification does not count.
        client.counters = Datagrams::default();
        Ok(client)
    }

    /// Sends a command and returns the answer. The peer waits for datagrams; an empty one makes it
    /// read the control stream, and is repeated if it is lost.
    pub(super) fn run_command(&self, command_code: u64, messages: u64) -> Result<[u64; 4], Errno> {
        socket::set_interval_timer(MIN_TIMEOUT)?;
        let wake_again = |times: u32| {
            self.check_peer()?;
            if MIN_TIMEOUT * times >= PEER_TIMEOUT {
                return Err(Errno::PEER_TIMED_OUT);
            }
            self.wake_peer()
        };
        let words = [command_code, self.parts.size as u64, messages, u64::from(self.next_id)];
        self.link.control.send(words, &wake_again)?;
        self.wake_peer()?;
        self.link.control.receive(&wake_again)
    }

    /// Starts a mode of the peer.
    pub(super) fn start_mode(&mut self, command_code: u64, messages: u64) -> Result<(), Errno> {
        let start = Instant::now();
        match self.run_command(command_code, messages).map_err(|errno| self.cause(errno))? {
            [command::READY, ..] => {}
            _ => return Err(Errno::EPROTO),
        }
        self.command_time = self.command_time.min(start.elapsed());
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

    pub(super) fn cause(&self, errno: Errno) -> Errno {
        failure_cause(self.link.child.as_ref(), errno)
    }

    /// Sends different messages until each was verified at both ends.
    fn verify(&mut self) -> Result<(), Errno> {
        self.start_mode(command::VERIFY, u64::from(MAX_ATTEMPTS) * VERIFIED_PER_DIRECTION)?;
        let first = self.next_id;
        let mut losses = 0;
        let mut expected = MessageBuffer::new(self.parts.size);
        while self.verified < 2 * VERIFIED_PER_DIRECTION {
            if losses == MAX_ATTEMPTS {
                return Err(self.no_answer_cause());
            }
            let number = u64::from(self.next_id.wrapping_sub(first) / self.parts.count);
            let first_id = self.next_id;
            self.parts.fill(self.message.get_mut(), number, first_id, Sender::Own);
            socket::set_interval_timer(self.timeout)?;
            match self.trip(1).map_err(|errno| self.cause(errno))? {
                Trip::Lost => losses += 1,
                Trip::Back => {
                    self.parts.fill(expected.get_mut(), number, first_id, Sender::Peer);
                    if &self.into.get()[..self.parts.size] != expected.get() {
                        return Err(Errno::check_failed(format!(
                            "a message of {} bytes from the peer differs from what it sent",
                            self.parts.size
                        )));
                    }
                    self.verified += 2;
                    losses = 0;
                }
            }
        }
        self.consecutive_losses = 0;
        Ok(())
    }

    /// The reason why no message arrives: silence, or a receive buffer that is too small.
    fn no_answer_cause(&self) -> Errno {
        let buffer_bytes = self.link.socket.observation().receive_buffer_bytes.unwrap_or(0);
        // The kernel charges a datagram with more than its bytes.
        if 2 * (self.parts.size as u64) <= buffer_bytes {
            return Errno::PEER_TIMED_OUT;
        }
        Errno::unavailable(format!(
            "of {MAX_ATTEMPTS} messages of {} bytes, each in {} datagrams, none arrived \
             completely: the receive buffer has {buffer_bytes} bytes, and what does not fit is \
             dropped. Select buffer={}, or raise net.core.rmem_default",
            self.parts.size,
            self.parts.count,
            2 * self.parts.size
        ))
    }

    /// One round trip of a message. It is lost after `interrupted` interruptions.
    #[inline(always)]
    pub(super) fn trip(&mut self, interrupted: u32) -> Result<Trip, Errno> {
        let first = self.next_id;
        self.next_id = first.wrapping_add(self.parts.count);
        self.parts.write_numbers(self.message.get_mut(), first);
        self.counters.sent += u64::from(self.parts.count);
        self.parts.send(&self.link.socket, self.message.get())?;
        let file = &self.link.socket.file;
        let received =
            socket::receive_packet(file, &mut self.into.get_mut()[..self.parts.each_bytes]);
        if self.parts.count == 1
            && received == Ok(self.parts.size)
            && id_of(self.into.get()) == Some(first)
        {
            self.counters.arrived += 1;
            self.consecutive_losses = 0;
            return Ok(Trip::Back);
        }
        self.finish_trip(first, received, interrupted)
    }

    /// The rest of a round trip that is not a single datagram which comes back at once.
    #[inline(never)]
    fn finish_trip(
        &mut self,
        first: u32,
        mut received: Result<usize, Errno>,
        interrupted: u32,
    ) -> Result<Trip, Errno> {
        self.arrivals.reset();
        let (mut arrived_parts, mut interruptions_left, mut slot) = (0, interrupted, 0);
        loop {
            match received {
                Ok(bytes) => arrived_parts += u32::from(self.record(first, slot, bytes)),
                Err(Errno::EINTR) => {
                    self.check_peer()?;
                    interruptions_left -= 1;
                }
                Err(error) => return Err(error),
            }
            if arrived_parts == self.parts.count {
                self.consecutive_losses = 0;
                return Ok(Trip::Back);
            }
            if interruptions_left == 0 {
                return self.give_up(first, self.parts.count - arrived_parts);
            }
            slot = arrived_parts;
            let into = &mut self.into.get_mut()[self.parts.slot(slot)];
            received = socket::receive_packet(&self.link.socket.file, into);
        }
    }

    /// Counts a datagram; returns whether it is a new part of the expected message.
    fn record(&mut self, first: u32, slot: u32, bytes: usize) -> bool {
        let from = self.parts.slot(slot).start;
        let Some(id) = id_of(&self.into.get()[from..]).filter(|_| bytes >= ID_BYTES) else {
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
        if bytes != into.len() || !self.arrivals.record(part) {
            self.counters.duplicate += self.arrivals.counters.duplicate - before.duplicate;
            return false;
        }
        self.counters.arrived += 1;
        self.counters.reordered += self.arrivals.counters.reordered - before.reordered;
        if into.start != from {
            self.into.get_mut().copy_within(from..from + bytes, into.start);
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

    pub(super) fn observation(&self) -> ChannelObservation {
        ChannelObservation {
            datagrams_per_message: Some(u64::from(self.parts.count)),
            datagrams: Some(self.counters.merged_with(self.peer_counters.get())),
            verified_messages: self.verified,
            peer_cpu: self.link.peer_cpu,
            ..self.link.socket.observation()
        }
    }
}
