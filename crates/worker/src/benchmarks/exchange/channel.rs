//! Both ends of a channel, in the measured process.

use super::super::prelude::*;
use super::content::{MessageBuffer, Sender, checksum, fill_message};
use super::end::{End, EndPair, MAX_MESSAGE_BYTES, timed_trip};
use super::failure::{exit_error, failure_cause};
use super::peer::{command, serve};
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver, sched_yield};
use crate::kernel::net::control_stream::{ControlStream, InterruptHandler};
use crate::kernel::time::stopwatch::Stopwatch;

/// Number of messages verified in each direction: swapped neighbours would be detected.
const VERIFIED_PER_DIRECTION: u64 = 3;

/// From this message size on fewer are verified: all are in memory at once.
const LARGE_MESSAGE_BYTES: usize = 1 << 20;

/// Round trips before a timed one, so that both ends are as warm, and wait in the same calls, as in
/// a series.
const WARM_UP_TRIPS: u64 = 8;

/// Alarms (one per second) that interrupt a wait before the peer has been silent for
/// [`crate::kernel::PEER_TIMEOUT`].
const MAX_ALARMS: u32 = 3;

/// Whether the peer knows the number of round trips in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TripMode {
    /// It answers every message until the channel is closed, and nothing is exchanged between
    /// batches.
    Unlimited,
    /// It receives the number before each batch, and sleeps in between: for spinning ends.
    Announced,
}

/// The direction that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the peer.
    ToPeer,
    /// From the peer.
    FromPeer,
}

/// A peer that is a child of the measured process.
pub(crate) struct LocalPeer {
    pub(crate) process: PeerProcess,
    /// The CPU that it is pinned to.
    pub(crate) cpu: u32,
}

/// Both ends of a channel.
pub(crate) struct Channel {
    end: Box<dyn End>,
    control: ControlStream,
    peer: Option<PeerProcess>,
    observation: ChannelObservation,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _signals: SignalReceiver,
}

impl Channel {
    /// The peer is a child on `cpu`, which owns the second end.
    pub(crate) fn with_child(cpu: u32, watch: Stopwatch, ends: EndPair) -> Result<Self, Errno> {
        Self::with_child_running(cpu, ends, move |mut end, control| {
            serve(&mut *end, &control, watch)
        })
    }

    /// Like [`Self::with_child`], with another function for the child to run.
    pub(crate) fn with_child_running(
        cpu: u32,
        EndPair { own, peer }: EndPair,
        serve: impl FnOnce(Box<dyn End>, ControlStream) -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        let signals = SignalReceiver::install()?;
        let (to_peer, to_own) = ControlStream::pair()?;
        let (mut own_end, mut peer_end) = (Some((own, to_peer)), Some((peer, to_own)));
        let child = {
            let (own_end, peer_end) = (&mut own_end, &mut peer_end);
            PeerProcess::start(Some(cpu), move || {
                // The child's copies: if it held its parent's ends, it would never see EOF.
                drop(own_end.take());
                let (end, control) = peer_end.take().ok_or(Errno::EINVAL)?;
                serve(end, control)
            })?
        };
        drop(peer_end);
        let (mut end, control) = own_end.ok_or(Errno::EINVAL)?; // `None` in the child only.
        end.set_peer(child.id());
        let observation =
            ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() };
        Ok(Self {
            end,
            control,
            peer: Some(child),
            observation,
            _alarm: Alarm::start()?,
            _signals: signals,
        })
    }

    /// The peer is an existing child that this end has connected to.
    pub(crate) fn with_connected_child(
        LocalPeer { process, cpu }: LocalPeer,
        end: Box<dyn End>,
        control: ControlStream,
    ) -> Result<Self, Errno> {
        let channel = Self::with_remote_peer(end, control)?;
        let observation = ChannelObservation { peer_cpu: Some(cpu), ..channel.observation };
        Ok(Self { peer: Some(process), observation, ..channel })
    }

    /// The peer is on another machine, where a worker runs [`serve`].
    pub(crate) fn with_remote_peer(
        end: Box<dyn End>,
        control: ControlStream,
    ) -> Result<Self, Errno> {
        let signals = SignalReceiver::install()?;
        let observation = ChannelObservation::default();
        Ok(Self {
            end,
            control,
            peer: None,
            observation,
            _alarm: Alarm::start()?,
            _signals: signals,
        })
    }

    /// An op is a round trip of a message.
    pub(crate) fn round_trips(self, size: u64, trips: TripMode) -> Result<Work, Errno> {
        let body = BufferedChannel::new(self, size)?;
        match trips {
            TripMode::Unlimited => {
                body.start(command::ECHO, u64::MAX)?;
                Ok(Work::from_body(Shape::Repeat, RoundTrips { body, mode: trips }))
            }
            TripMode::Announced => {
                Ok(Work::from_prepared_body(Shape::Repeat, RoundTrips { body, mode: trips }))
            }
        }
    }

    /// Transfers the bytes of messages, at least `min_messages` per batch: several fills of the
    /// channel's capacity.
    pub(crate) fn throughput(self, size: u64, min_messages: u64) -> Result<Work, Errno> {
        let body = BufferedChannel::new(self, size)?;
        let work = Work::from_prepared_body(Shape::Transfer, Messages { body, sent: None });
        Ok(work.with_op_count(size).with_min_batch_ops(min_messages))
    }

    /// An op is a message one way, within a series of round trips.
    pub(crate) fn one_way(
        self,
        size: u64,
        direction: Direction,
        watch: Stopwatch,
    ) -> Result<Work, Errno> {
        let body = BufferedChannel::new(self, size)?;
        let work =
            Work::from_prepared_body(Shape::OwnTicks, OneWay { body, direction, watch, ticks: 0 });
        // A second one would find the peer still reporting the time stamps of the first.
        Ok(work.with_max_batch_ops(1))
    }
}

/// Fails if the peer has exited, or has been silent for too long.
fn continue_waiting(peer: Option<&PeerProcess>, times: u32) -> Result<(), Errno> {
    peer.map_or(Ok(()), PeerProcess::check_running)?;
    if times > MAX_ALARMS { Err(Errno::PEER_TIMED_OUT) } else { Ok(()) }
}

/// Both ends, and buffers for their messages.
pub(super) struct BufferedChannel {
    channel: Channel,
    message: MessageBuffer,
    answer: MessageBuffer,
}

impl BufferedChannel {
    /// Allocates the buffers, and verifies some messages at both ends.
    pub(super) fn new(channel: Channel, size: u64) -> Result<Self, Errno> {
        if !(1..=MAX_MESSAGE_BYTES).contains(&size) {
            return Err(Errno::EINVAL);
        }
        let size = size as usize;
        let mut body =
            Self { channel, message: MessageBuffer::new(size), answer: MessageBuffer::new(size) };
        let verified = body.verify();
        verified.map_err(|errno| body.cause(errno))?;
        Ok(body)
    }

    /// Sends different messages to be checked by the peer, and checks its answers.
    fn verify(&mut self) -> Result<(), Errno> {
        let size = self.answer.get().len();
        let count = if size < LARGE_MESSAGE_BYTES {
            VERIFIED_PER_DIRECTION
        } else {
            VERIFIED_PER_DIRECTION - 1
        };
        // Some mechanisms send references to pages: all stay in place until the peer has read them.
        let mut buffers: Vec<MessageBuffer> = Vec::new();
        let mut expected_sum = 0u64;
        for number in 0..count {
            let mut buffer = MessageBuffer::new(size);
            fill_message(buffer.get_mut(), number, Sender::Own);
            expected_sum = expected_sum.wrapping_add(checksum(buffer.get()));
            buffers.push(buffer);
        }
        self.send_command(command::VERIFY, count)?;
        for buffer in &buffers {
            self.with_end(|end, _, _, on_interrupt| end.send(buffer.get(), on_interrupt))?;
        }
        let [intact, bytes, peer_sum, _] = self.read_reply()?;
        if (intact, bytes, peer_sum) != (count, count * size as u64, expected_sum) {
            return Err(Errno::check_failed(format!(
                "of {count} messages of {size} bytes, {intact} arrived intact at the peer, \
                 {bytes} bytes in all"
            )));
        }
        for number in 0..count {
            let received =
                self.with_end(|end, _, into, on_interrupt| end.receive(into, on_interrupt))?;
            let expected = buffers[0].get_mut();
            fill_message(expected, number, Sender::Peer);
            if received != size
                || checksum(self.answer.get()) != checksum(expected)
                || self.answer.get() != expected
            {
                return Err(Errno::check_failed(format!(
                    "message {number} of {size} bytes from the peer differs from what it sent: \
                     {received} bytes arrived"
                )));
            }
        }
        self.send_command(command::READY, 0)?;
        self.channel.observation.verified_messages += 2 * count;
        Ok(())
    }

    /// Calls `act` with the end and its buffers.
    pub(super) fn with_end<T>(
        &mut self,
        act: impl FnOnce(&mut dyn End, &[u8], &mut [u8], InterruptHandler<'_>) -> T,
    ) -> T {
        let peer = self.channel.peer.as_ref();
        let on_interrupt = |times| continue_waiting(peer, times);
        act(&mut *self.channel.end, self.message.get(), self.answer.get_mut(), &on_interrupt)
    }

    pub(super) fn send_command(&self, command_code: u64, messages: u64) -> Result<(), Errno> {
        let words = [command_code, self.answer.get().len() as u64, messages, 0];
        self.channel
            .control
            .send(words, &|times| continue_waiting(self.channel.peer.as_ref(), times))
    }

    pub(super) fn read_reply(&self) -> Result<[u64; 4], Errno> {
        self.channel.control.receive(&|times| continue_waiting(self.channel.peer.as_ref(), times))
    }

    /// Sends a command, and waits until the peer is waiting for messages.
    fn start(&self, command_code: u64, messages: u64) -> Result<(), Errno> {
        self.send_command(command_code, messages)?;
        match self.read_reply()? {
            // On a shared CPU it may have been preempted after its answer.
            [command::READY, ..] => sched_yield(),
            _ => Err(Errno::EPROTO),
        }
    }

    /// The cause of a failure; missing features and permissions of the peer are not failures.
    pub(super) fn cause(&self, errno: Errno) -> Errno {
        let peer = self.channel.peer.as_ref();
        match exit_error(peer, errno) {
            Some(Errno::EPERM | Errno::EACCES) => Errno::EPERM,
            Some(Errno::ENOSYS | Errno::EOPNOTSUPP) => Errno::ENOSYS,
            _ => failure_cause(peer, errno),
        }
    }

    /// Runs a batch: one indirect call per batch, none per message.
    fn batch(
        &mut self,
        act: impl FnOnce(&mut dyn End, &[u8], &mut [u8], InterruptHandler<'_>) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let done = self.with_end(act);
        done.map_err(|error| OpError { errno: self.cause(error.errno), ..error })
    }

    pub(super) fn observation(&self) -> Option<ChannelObservation> {
        let of_channel = &self.channel.observation;
        let observation =
            ChannelObservation { peer_cpu: of_channel.peer_cpu, ..self.channel.end.observation() };
        Some(ChannelObservation {
            verified_messages: observation.verified_messages + of_channel.verified_messages,
            ..observation
        })
    }
}

struct RoundTrips {
    body: BufferedChannel,
    mode: TripMode,
}

impl WorkBody for RoundTrips {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        match self.mode {
            TripMode::Unlimited => Ok(()),
            TripMode::Announced => {
                self.body.start(command::ECHO, ops).map_err(|errno| self.body.cause(errno))
            }
        }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let trips = iterations * u64::from(unroll);
        self.body.batch(|end, message, into, on_interrupt| {
            end.round_trips(trips, message, into, on_interrupt)
        })
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.observation()
    }

    fn is_batch_lost(&self) -> bool {
        self.body.channel.end.is_lost()
    }
}

struct Messages {
    body: BufferedChannel,
    /// The number of announced messages whose report has not been read yet.
    sent: Option<u64>,
}

impl WorkBody for Messages {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.verify()?;
        self.sent = Some(ops);
        self.body.start(command::DRAIN, ops).map_err(|errno| self.body.cause(errno))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let messages = iterations * u64::from(unroll);
        self.body
            .batch(|end, message, _, on_interrupt| end.send_many(messages, message, on_interrupt))
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        let report = self.body.read_reply().map_err(|errno| self.body.cause(errno))?;
        let [received, bytes, ..] = report;
        let expected = (sent, sent * self.body.message.get().len() as u64);
        if (received, bytes) == expected {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "{} messages ({} bytes) were sent, and the peer received {received} messages \
             ({bytes} bytes)",
            expected.0, expected.1
        )))
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.observation()
    }

    fn is_batch_lost(&self) -> bool {
        self.body.channel.end.is_lost()
    }
}

struct OneWay {
    body: BufferedChannel,
    direction: Direction,
    watch: Stopwatch,
    ticks: i64,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        let warm_up = |body: &mut BufferedChannel| {
            body.start(command::TIME, WARM_UP_TRIPS + 2)?;
            body.with_end(|end, message, into, on_interrupt| {
                end.round_trips(WARM_UP_TRIPS, message, into, on_interrupt)
            })
            .map_err(|error| error.errno)
        };
        warm_up(&mut self.body).map_err(|errno| self.body.cause(errno))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let (direction, watch) = (self.direction, self.watch);
        if iterations * u64::from(unroll) == 0 {
            return Ok(());
        }
        let once = |body: &mut BufferedChannel| {
            let ticks = body.with_end(|end, message, into, on_interrupt| {
                let ticks = timed_trip(end, watch, message, &mut *into, on_interrupt)?;
                // The peer waits for one more message before it does anything else.
                end.round_trips(1, message, into, on_interrupt).map_err(|error| error.errno)?;
                Ok::<_, Errno>(ticks)
            })?;
            let [peer_received, peer_sent, ..] = body.read_reply()?;
            Ok(match direction {
                Direction::ToPeer => peer_received.wrapping_sub(ticks.sent) as i64,
                Direction::FromPeer => ticks.received.wrapping_sub(peer_sent) as i64,
            })
        };
        let result = once(&mut self.body);
        self.ticks =
            result.map_err(|errno: Errno| OpError { op: 0, errno: self.body.cause(errno) })?;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.ticks
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.observation()
    }
}
