//! Both ends of a channel, as held by the measured process.

use std::time::Duration;

use oscost_model::channel::ChannelObservation;

use super::super::prelude::*;
use super::content::{From, Room, fill, sum};
use super::end::{End, LARGEST, timed_trip};
use super::peer::{order, serve};
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver, sched_yield};
use crate::kernel::net::control_stream::{ControlStream, OnInterrupt};
use crate::kernel::time::stopwatch::Stopwatch;

/// Number of messages verified in each direction: swapped neighbours would be detected.
const VERIFIED: u64 = 3;

/// From this message size on fewer are verified: all are in memory at once.
const LARGE: usize = 1 << 20;

/// Round trips before a timed one, so that both ends are as warm, and wait in the same calls, as in
/// a series.
const BEFORE_TIMED: u64 = 8;

/// Alarms (one per second) that interrupt a wait before the peer has been silent for
/// [`crate::kernel::SILENCE`].
const ALARMS: u32 = 3;

/// Whether the peer knows how many round trips come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Trips {
    /// It answers every message, for ever, and nothing is exchanged between batches.
    Freely,
    /// It is told before each batch, and sleeps in between: for spinning ends.
    Announced,
}

/// The direction that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Way {
    /// To the peer.
    There,
    /// From the peer.
    Back,
}

/// Both ends of a channel.
pub(in super::super) struct Two {
    end: Box<dyn End>,
    control: ControlStream,
    peer: Option<PeerProcess>,
    seen: ChannelObservation,
    // Dropped last: until then a wait can be interrupted.
    _alarm: Alarm,
    _ear: SignalReceiver,
}

impl Two {
    /// The peer is a child on `cpu`, which owns the second end.
    pub(in super::super) fn here(
        cpu: u32,
        watch: Stopwatch,
        (own, peer): (Box<dyn End>, Box<dyn End>),
    ) -> Result<Self, Errno> {
        Self::here_by(cpu, own, peer, move |mut end, control| serve(&mut *end, &control, watch))
    }

    /// Like [`Self::here`], with another function for the child to run.
    pub(in super::super) fn here_by(
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
        end.meet(child.id());
        let seen = ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() };
        Ok(Self { end, control, peer: Some(child), seen, _alarm: Alarm::start()?, _ear: ear })
    }

    /// The peer is an existing child that this end has connected to.
    pub(in super::super) fn beside(
        (child, cpu): (PeerProcess, u32),
        end: Box<dyn End>,
        control: ControlStream,
    ) -> Result<Self, Errno> {
        let two = Self::far(end, control)?;
        let seen = ChannelObservation { peer_cpu: Some(cpu), ..two.seen };
        Ok(Self { peer: Some(child), seen, ..two })
    }

    /// The peer is on another machine, where a worker runs [`serve`].
    pub(in super::super) fn far(end: Box<dyn End>, control: ControlStream) -> Result<Self, Errno> {
        let ear = SignalReceiver::install()?;
        let seen = ChannelObservation::default();
        Ok(Self { end, control, peer: None, seen, _alarm: Alarm::start()?, _ear: ear })
    }

    /// An op is a round trip of a message.
    pub(in super::super) fn round_trips(self, size: u64, trips: Trips) -> Result<Work, Errno> {
        let body = Body::new(self, size)?;
        match trips {
            Trips::Freely => {
                body.order(order::ECHO, u64::MAX)?;
                Ok(Work::from_body(Shape::Repeat, RoundTrips { body, trips }))
            }
            Trips::Announced => {
                Ok(Work::from_prepared_body(Shape::Repeat, RoundTrips { body, trips }))
            }
        }
    }

    /// Transfers the bytes of messages, at least `least` messages per batch: several fills of the
    /// channel's capacity.
    pub(in super::super) fn throughput(self, size: u64, least: u64) -> Result<Work, Errno> {
        let body = Body::new(self, size)?;
        let work = Work::from_prepared_body(Shape::Transfer, Messages { body, sent: None });
        Ok(work.with_op_count(size).with_min_batch_ops(least))
    }

    /// An op is a message one way, within a series of round trips.
    pub(in super::super) fn one_way(
        self,
        size: u64,
        way: Way,
        watch: Stopwatch,
    ) -> Result<Work, Errno> {
        let body = Body::new(self, size)?;
        let work = Work::from_prepared_body(Shape::OwnTicks, OneWay { body, way, watch, took: 0 });
        // A second one would find the peer still reporting the time stamps of the first.
        Ok(work.with_max_batch_ops(1))
    }
}

/// Fails if the peer is gone, or has been silent for too long.
fn wait_on(peer: Option<&PeerProcess>, times: u32) -> Result<(), Errno> {
    peer.map_or(Ok(()), PeerProcess::check_running)?;
    if times > ALARMS { Err(Errno::PEER_TIMED_OUT) } else { Ok(()) }
}

/// Both ends, and buffers for their messages.
struct Body {
    two: Two,
    message: Room,
    into: Room,
}

impl Body {
    /// Allocates the buffers, and verifies some messages at both ends.
    fn new(two: Two, size: u64) -> Result<Self, Errno> {
        if !(1..=LARGEST).contains(&size) {
            return Err(Errno::EINVAL);
        }
        let size = size as usize;
        let mut body = Self { two, message: Room::new(size), into: Room::new(size) };
        let verified = body.verify();
        verified.map_err(|why| body.cause(why))?;
        Ok(body)
    }

    /// Sends different messages to be checked by the peer, and checks its answers.
    fn verify(&mut self) -> Result<(), Errno> {
        let size = self.into.get().len();
        let count = if size < LARGE { VERIFIED } else { VERIFIED - 1 };
        // Some mechanisms send references to pages: all stay in place until the peer has read them.
        let mut rooms: Vec<Room> = Vec::new();
        let mut sums = 0u64;
        for number in 0..count {
            let mut room = Room::new(size);
            fill(room.get_mut(), number, From::Own);
            sums = sums.wrapping_add(sum(room.get()));
            rooms.push(room);
        }
        self.tell(order::VERIFY, count)?;
        for room in &rooms {
            self.with(|end, _, _, gone| end.send(room.get(), gone))?;
        }
        let [good, bytes, theirs, _] = self.hear()?;
        if (good, bytes, theirs) != (count, count * size as u64, sums) {
            return Err(Errno::check_failed(format!(
                "of {count} messages of {size} bytes, {good} arrived intact at the peer, {bytes} bytes \
                 in all"
            )));
        }
        for number in 0..count {
            let came = self.with(|end, _, into, gone| end.receive(into, gone))?;
            let wanted = rooms[0].get_mut();
            fill(wanted, number, From::Peer);
            if came != size || sum(self.into.get()) != sum(wanted) || self.into.get() != wanted {
                return Err(Errno::check_failed(format!(
                    "message {number} of {size} bytes from the peer differs from what it sent: \
                     {came} bytes arrived"
                )));
            }
        }
        self.tell(order::READY, 0)?;
        self.two.seen.verified += 2 * count;
        Ok(())
    }

    /// Calls `act` with the end and its buffers.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut dyn End, &[u8], &mut [u8], OnInterrupt<'_>) -> T,
    ) -> T {
        let peer = self.two.peer.as_ref();
        let gone = |times| wait_on(peer, times);
        act(&mut *self.two.end, self.message.get(), self.into.get_mut(), &gone)
    }

    fn tell(&self, what: u64, messages: u64) -> Result<(), Errno> {
        let words = [what, self.into.get().len() as u64, messages, 0];
        self.two.control.send(words, &|times| wait_on(self.two.peer.as_ref(), times))
    }

    fn hear(&self) -> Result<[u64; 4], Errno> {
        self.two.control.receive(&|times| wait_on(self.two.peer.as_ref(), times))
    }

    /// Sends a command, and waits until the peer is waiting for messages.
    fn order(&self, what: u64, messages: u64) -> Result<(), Errno> {
        self.tell(what, messages)?;
        match self.hear()? {
            // On a shared CPU it may have been preempted after its answer.
            [order::READY, ..] => sched_yield(),
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
        let Some(peer) = self.two.peer.as_ref().filter(|_| hung_up) else { return why };
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

    fn seen(&self) -> Option<ChannelObservation> {
        let ours = &self.two.seen;
        let seen = ChannelObservation { peer_cpu: ours.peer_cpu, ..self.two.end.seen() };
        Some(ChannelObservation { verified: seen.verified + ours.verified, ..seen })
    }
}

struct RoundTrips {
    body: Body,
    trips: Trips,
}

impl WorkBody for RoundTrips {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        match self.trips {
            Trips::Freely => Ok(()),
            Trips::Announced => {
                self.body.order(order::ECHO, ops).map_err(|why| self.body.cause(why))
            }
        }
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let trips = turns * u64::from(copies);
        self.body.batch(|end, message, into, gone| end.trips(trips, (message, into), gone))
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.seen()
    }

    fn is_batch_lost(&self) -> bool {
        self.body.two.end.is_lost()
    }
}

struct Messages {
    body: Body,
    /// The number of announced messages whose report has not been read yet.
    sent: Option<u64>,
}

impl WorkBody for Messages {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.verify()?;
        self.sent = Some(ops);
        self.body.order(order::DRAIN, ops).map_err(|why| self.body.cause(why))
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let messages = turns * u64::from(copies);
        self.body.batch(|end, message, _, gone| end.pour(messages, message, gone))
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        let report = self.body.hear().map_err(|why| self.body.cause(why))?;
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
        self.body.seen()
    }

    fn is_batch_lost(&self) -> bool {
        self.body.two.end.is_lost()
    }
}

struct OneWay {
    body: Body,
    way: Way,
    watch: Stopwatch,
    took: i64,
}

impl WorkBody for OneWay {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        let before = |body: &mut Body| {
            body.order(order::TIME, BEFORE_TIMED + 2)?;
            body.with(|end, message, into, gone| end.trips(BEFORE_TIMED, (message, into), gone))
                .map_err(|failed| failed.errno)
        };
        before(&mut self.body).map_err(|why| self.body.cause(why))
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let (way, watch) = (self.way, self.watch);
        if turns * u64::from(copies) == 0 {
            return Ok(());
        }
        let once = |body: &mut Body| {
            let (sent, had) = body.with(|end, message, into, gone| {
                let times = timed_trip(end, watch, (message, &mut *into), gone)?;
                // The peer waits for one more message before it does anything else.
                end.trips(1, (message, into), gone).map_err(|failed| failed.errno)?;
                Ok::<_, Errno>(times)
            })?;
            let [there, back, ..] = body.hear()?;
            Ok(match way {
                Way::There => there.wrapping_sub(sent) as i64,
                Way::Back => had.wrapping_sub(back) as i64,
            })
        };
        let took = once(&mut self.body);
        self.took = took.map_err(|why: Errno| OpError { op: 0, errno: self.body.cause(why) })?;
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.took
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.seen()
    }
}
