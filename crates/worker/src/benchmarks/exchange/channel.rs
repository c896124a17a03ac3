//! Both ends of a channel, as held by the measured process.

use std::time::Duration;

use oscost_model::channel::ChannelObservation;

use super::super::prelude::*;
use super::content::{MessageBuffer, Sender, checksum, fill_message};
use super::end::{End, MAX_MESSAGE_BYTES, timed_trip};
use super::peer::{command, serve};
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver, sched_yield};
use crate::kernel::net::control_stream::{ControlStream, OnInterrupt};
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

/// Whether the peer knows how many round trips come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TripMode {
    /// It answers every message, for ever, and nothing is exchanged between batches.
    Unlimited,
    /// It is told before each batch, and sleeps in between: for spinning ends.
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

/// Both ends of a channel.
pub(crate) struct Channel {
    end: Box<dyn End>,
    control: ControlStream,
    peer: Option<PeerProcess>,
    observation: ChannelObservation,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _ear: SignalReceiver,
}

impl Channel {
    /// The peer is a child on `cpu`, which owns the second end.
    pub(crate) fn with_child(
        cpu: u32,
        watch: Stopwatch,
        (own, peer): (Box<dyn End>, Box<dyn End>),
    ) -> Result<Self, Errno> {
        Self::with_child_running(cpu, own, peer, move |mut end, control| {
            serve(&mut *end, &control, watch)
        })
    }

    /// Like [`Self::with_child`], with another function for the child to run.
    pub(crate) fn with_child_running(
        cpu: u32,
        own: Box<dyn End>,
        peer: Box<dyn End>,
        serve: impl FnOnce(Box<dyn End>, ControlStream) -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        let ear = SignalReceiver::install()?;
        let (to_peer, to_own) = ControlStream::pair()?;
        let (mut ours, mut theirs) = (Some((own, to_peer)), Some((peer, to_own)));
        let child = {
            let (ours, theirs) = (&mut ours, &mut theirs);
            PeerProcess::start(Some(cpu), move || {
                // The child's copies: if it held its parent's ends, it would never see EOF.
                drop(ours.take());
                let (end, control) = theirs.take().ok_or(Errno::EINVAL)?;
                serve(end, control)
            })?
        };
        drop(theirs);
        let (mut end, control) = ours.ok_or(Errno::EINVAL)?; // Taken only in the child.
        end.set_peer(child.id());
        let seen = ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() };
        Ok(Self {
            end,
            control,
            peer: Some(child),
            observation: seen,
            _alarm: Alarm::start()?,
            _ear: ear,
        })
    }

    /// The peer is an existing child that this end has connected to.
    pub(crate) fn with_connected_child(
        (child, cpu): (PeerProcess, u32),
        end: Box<dyn End>,
        control: ControlStream,
    ) -> Result<Self, Errno> {
        let two = Self::with_remote_peer(end, control)?;
        let seen = ChannelObservation { peer_cpu: Some(cpu), ..two.observation };
        Ok(Self { peer: Some(child), observation: seen, ..two })
    }

    /// The peer is on another machine, where a worker runs [`serve`].
    pub(crate) fn with_remote_peer(
        end: Box<dyn End>,
        control: ControlStream,
    ) -> Result<Self, Errno> {
        let ear = SignalReceiver::install()?;
        let seen = ChannelObservation::default();
        Ok(Self { end, control, peer: None, observation: seen, _alarm: Alarm::start()?, _ear: ear })
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

    /// Transfers the bytes of messages, at least `least` messages per batch: several fills of the
    /// channel's capacity.
    pub(crate) fn throughput(self, size: u64, least: u64) -> Result<Work, Errno> {
        let body = BufferedChannel::new(self, size)?;
        let work = Work::from_prepared_body(Shape::Transfer, Messages { body, sent: None });
        Ok(work.with_op_count(size).with_min_batch_ops(least))
    }

    /// An op is a message one way, within a series of round trips.
    pub(crate) fn one_way(
        self,
        size: u64,
        way: Direction,
        watch: Stopwatch,
    ) -> Result<Work, Errno> {
        let body = BufferedChannel::new(self, size)?;
        let work = Work::from_prepared_body(
            Shape::OwnTicks,
            OneWay { body, direction: way, watch, took_ticks: 0 },
        );
        // A second one would find the peer still reporting the time stamps of the first.
        Ok(work.with_max_batch_ops(1))
    }
}

/// Fails if the peer is gone, or has been silent for too long.
fn continue_waiting(peer: Option<&PeerProcess>, times: u32) -> Result<(), Errno> {
    peer.map_or(Ok(()), PeerProcess::check_running)?;
    if times > MAX_ALARMS { Err(Errno::PEER_TIMED_OUT) } else { Ok(()) }
}

/// Both ends, and buffers for their messages.
struct BufferedChannel {
    channel: Channel,
    message: MessageBuffer,
    answer: MessageBuffer,
}

impl BufferedChannel {
    /// Allocates the buffers, and verifies some messages at both ends.
    fn new(two: Channel, size: u64) -> Result<Self, Errno> {
        if !(1..=MAX_MESSAGE_BYTES).contains(&size) {
            return Err(Errno::EINVAL);
        }
        let size = size as usize;
        let mut body = Self {
            channel: two,
            message: MessageBuffer::new(size),
            answer: MessageBuffer::new(size),
        };
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
        let mut rooms: Vec<MessageBuffer> = Vec::new();
        let mut sums = 0u64;
        for number in 0..count {
            let mut room = MessageBuffer::new(size);
            fill_message(room.get_mut(), number, Sender::Own);
            sums = sums.wrapping_add(checksum(room.get()));
            rooms.push(room);
        }
        self.send_command(command::VERIFY, count)?;
        for room in &rooms {
            self.with(|end, _, _, gone| end.send(room.get(), gone))?;
        }
        let [good, bytes, theirs, _] = self.read_reply()?;
        if (good, bytes, theirs) != (count, count * size as u64, sums) {
            return Err(Errno::check_failed(format!(
                "of {count} messages of {size} bytes, {good} arrived intact at the peer, {bytes} bytes \
                 in all"
            )));
        }
        for number in 0..count {
            let came = self.with(|end, _, into, gone| end.receive(into, gone))?;
            let wanted = rooms[0].get_mut();
            fill_message(wanted, number, Sender::Peer);
            if came != size
                || checksum(self.answer.get()) != checksum(wanted)
                || self.answer.get() != wanted
            {
                return Err(Errno::check_failed(format!(
                    "message {number} of {size} bytes from the peer differs from what it sent: \
                     {came} bytes arrived"
                )));
            }
        }
        self.send_command(command::READY, 0)?;
        self.channel.observation.verified += 2 * count;
        Ok(())
    }

    /// Calls `act` with the end and its buffers.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut dyn End, &[u8], &mut [u8], OnInterrupt<'_>) -> T,
    ) -> T {
        let peer = self.channel.peer.as_ref();
        let gone = |times| continue_waiting(peer, times);
        act(&mut *self.channel.end, self.message.get(), self.answer.get_mut(), &gone)
    }

    fn send_command(&self, what: u64, messages: u64) -> Result<(), Errno> {
        let words = [what, self.answer.get().len() as u64, messages, 0];
        self.channel
            .control
            .send(words, &|times| continue_waiting(self.channel.peer.as_ref(), times))
    }

    fn read_reply(&self) -> Result<[u64; 4], Errno> {
        self.channel.control.receive(&|times| continue_waiting(self.channel.peer.as_ref(), times))
    }

    /// Sends a command, and waits until the peer is waiting for messages.
    fn start(&self, what: u64, messages: u64) -> Result<(), Errno> {
        self.send_command(what, messages)?;
        match self.read_reply()? {
            // On a shared CPU it may have been preempted after its answer.
            [command::READY, ..] => sched_yield(),
            _ => Err(Errno::EPROTO),
        }
    }

    /// The cause of a failure: that the peer has died is more specific than a closed channel.
    fn cause(&self, why: Errno) -> Errno {
        /// An exiting process closes its descriptors some time before its parent is notified.
        const LOOKS: u32 = 50;
        let hung_up = matches!(
            why,
            Errno::EPIPE | Errno::ESRCH | Errno(libc::ECONNRESET | libc::ECONNREFUSED)
        );
        let Some(peer) = self.channel.peer.as_ref().filter(|_| hung_up) else { return why };
        for _ in 0..LOOKS {
            match peer.check_running() {
                Ok(()) => std::thread::sleep(Duration::from_millis(2)),
                Err(Errno::ESRCH) => {
                    return Errno::check_failed(
                        "the peer was killed during the measurement".to_owned(),
                    );
                }
                // Missing features and permissions are not failures.
                Err(Errno::EPERM | Errno::EACCES) => return Errno::EPERM,
                Err(Errno::ENOSYS | Errno::EOPNOTSUPP) => return Errno::ENOSYS,
                Err(error) => return Errno::check_failed(format!("the peer has failed: {error}")),
            }
        }
        why
    }

    /// Runs a batch: one indirect call per batch, none per message.
    fn batch(
        &mut self,
        act: impl FnOnce(&mut dyn End, &[u8], &mut [u8], OnInterrupt<'_>) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let done = self.with(act);
        done.map_err(|failed| OpError { errno: self.cause(failed.errno), ..failed })
    }

    fn observation(&self) -> Option<ChannelObservation> {
        let ours = &self.channel.observation;
        let seen = ChannelObservation { peer_cpu: ours.peer_cpu, ..self.channel.end.observation() };
        Some(ChannelObservation { verified: seen.verified + ours.verified, ..seen })
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
        self.body.batch(|end, message, into, gone| end.round_trips(trips, (message, into), gone))
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
        self.body.batch(|end, message, _, gone| end.send_many(messages, message, gone))
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        let report = self.body.read_reply().map_err(|errno| self.body.cause(errno))?;
        let [came, bytes, ..] = report;
        let claimed = (sent, sent * self.body.message.get().len() as u64);
        if (came, bytes) == claimed {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "{} messages ({} bytes) were sent, and the peer received {came} messages \
             ({bytes} bytes)",
            claimed.0, claimed.1
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
    took_ticks: i64,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        let before = |body: &mut BufferedChannel| {
            body.start(command::TIME, WARM_UP_TRIPS + 2)?;
            body.with(|end, message, into, gone| {
                end.round_trips(WARM_UP_TRIPS, (message, into), gone)
            })
            .map_err(|failed| failed.errno)
        };
        before(&mut self.body).map_err(|errno| self.body.cause(errno))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let (way, watch) = (self.direction, self.watch);
        if iterations * u64::from(unroll) == 0 {
            return Ok(());
        }
        let once = |body: &mut BufferedChannel| {
            let (sent, had) = body.with(|end, message, into, gone| {
                let times = timed_trip(end, watch, (message, &mut *into), gone)?;
                // The peer waits for one more message before it does anything else.
                end.round_trips(1, (message, into), gone).map_err(|failed| failed.errno)?;
                Ok::<_, Errno>(times)
            })?;
            let [there, back, ..] = body.read_reply()?;
            Ok(match way {
                Direction::ToPeer => there.wrapping_sub(sent) as i64,
                Direction::FromPeer => had.wrapping_sub(back) as i64,
            })
        };
        let took = once(&mut self.body);
        self.took_ticks =
            took.map_err(|why: Errno| OpError { op: 0, errno: self.body.cause(why) })?;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.took_ticks
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.observation()
    }
}
