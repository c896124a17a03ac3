//! The peer of UDP: executes commands until the measured process closes the control stream.

use super::super::super::exchange::{ControlStream, From, LARGEST, Room};
use super::super::endpoint::Socket;
use super::datagram::{Came, ID, MOST_DATAGRAMS, Parts, id_of, order, send};
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{Alarm, SignalReceiver};
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::socket;
use crate::kernel::time::stopwatch::Stopwatch;

/// What to do with incoming datagrams.
struct Task {
    what: u64,
    parts: Parts,
    messages: u64,
    /// The number of the first datagram, and how many belong to the batch.
    first: u32,
    datagrams: u32,
    came: Came,
    /// Whether the end marker has arrived.
    ended: bool,
    /// Of the current message: its index in the batch, and how many parts have arrived.
    now: (u32, u32),
    /// The message that was sent back last.
    back: Option<u32>,
    /// When the last complete message had arrived, and when it was sent back.
    times: (u64, u64),
    room: Room,
    wanted: Room,
}

/// Serves as the peer.
pub(super) fn serve(
    socket: &Socket,
    control: &ControlStream,
    watch: Stopwatch,
) -> Result<(), Errno> {
    // The alarm makes it check every second whether the measured process still exists: its exit is
    // visible on the control stream only.
    let _ear = SignalReceiver::install()?;
    let _alarm = Alarm::start()?;
    let mut task = Task::none()?;
    loop {
        let slot = task.slot();
        match socket::receive_packet(&socket.file, &mut task.room.get_mut()[slot.clone()]) {
            Ok(0) => {
                if !task.attend(control)? {
                    return Ok(());
                }
            }
            Ok(given) => match task.what {
                order::DRAIN => task.drain(socket, (slot.start, given))?,
                _ => task.answer(socket, (slot, given), watch)?,
            },
            // The alarm; or the other end's socket is closed.
            Err(Errno::EINTR | Errno(libc::ECONNREFUSED)) => {
                if !task.attend(control)? {
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
    }
}

impl Task {
    /// No task: datagrams are not expected yet.
    fn none() -> Result<Self, Errno> {
        Self::new([order::ECHO, ID as u64, 0, 0])
    }

    fn new([what, size, messages, first]: [u64; 4]) -> Result<Self, Errno> {
        if size > LARGEST {
            return Err(Errno::EINVAL);
        }
        let parts = Parts::of(size)?;
        // A task that sends messages back keeps state for one message only: their number is
        // unknown.
        let datagrams = messages.saturating_mul(u64::from(parts.count));
        let kept = if what == order::DRAIN { datagrams } else { u64::from(parts.count) };
        if kept > MOST_DATAGRAMS {
            return Err(Errno::E2BIG);
        }
        Ok(Self {
            what,
            parts,
            messages,
            first: first as u32,
            datagrams: u32::try_from(datagrams).unwrap_or(u32::MAX / 2),
            came: Came::none_of(kept),
            ended: false,
            now: (0, 0),
            back: None,
            times: (0, 0),
            room: Room::new(parts.room()),
            wanted: Room::new(if what == order::VERIFY { parts.size } else { 0 }),
        })
    }

    /// Where the next part of a message belongs, if none is lost.
    #[inline(always)]
    fn slot(&self) -> std::ops::Range<usize> {
        match self.parts.count {
            1 => self.parts.slot(0),
            count if self.what == order::DRAIN => {
                self.parts.slot((self.came.counted.arrived % u64::from(count)) as u32)
            }
            count => self.parts.slot(self.now.1 % count),
        }
    }

    /// Executes a command from the control stream, if there is one; false at its end.
    fn attend(&mut self, control: &ControlStream) -> Result<bool, Errno> {
        match control.pending() {
            Pending::Nothing => return Ok(true),
            Pending::Closed => return Ok(false),
            Pending::Message => {}
        }
        let wait = |_| Ok(());
        let words = control.receive(&wait)?;
        let answer = match words[0] {
            order::REPORT if self.what == order::TIME => [self.times.0, self.times.1, 0, 0],
            order::REPORT => {
                let counted = &self.came.counted;
                let odd = counted.duplicate << 32 | counted.reordered;
                let whole = match self.what {
                    order::DRAIN => self.came.whole(self.messages, self.parts.count),
                    _ => 0,
                };
                [counted.arrived, whole, odd, counted.late]
            }
            order::VERIFY | order::ECHO | order::TIME | order::DRAIN => {
                *self = Self::new(words)?;
                [order::READY, 0, 0, 0]
            }
            _ => return Err(Errno::EPROTO),
        };
        control.send(answer, &wait)?;
        Ok(true)
    }

    /// Handles a datagram of a series.
    #[inline(always)]
    fn drain(&mut self, socket: &Socket, (at, given): (usize, usize)) -> Result<(), Errno> {
        let Some(id) = id_of(&self.room.get()[at..]) else { return Err(Errno::EPROTO) };
        let place = id.wrapping_sub(self.first);
        if place < self.datagrams && !self.ended {
            if given != self.parts.range(place % self.parts.count).len() {
                return Err(Errno::EPROTO);
            }
            self.came.take(place);
            return Ok(());
        }
        self.odd(socket, id, place)
    }

    /// Handles the end marker, or a datagram that arrives too late.
    #[cold]
    fn odd(&mut self, socket: &Socket, id: u32, place: u32) -> Result<(), Errno> {
        if place == self.datagrams {
            self.ended = true;
            return send(socket, &id.to_le_bytes());
        }
        if place < self.datagrams && self.came.has(place) {
            self.came.counted.duplicate += 1;
        } else {
            self.came.counted.late += 1;
        }
        Ok(())
    }

    /// Handles a datagram, and sends the message back once it is complete.
    #[inline(always)]
    fn answer(
        &mut self,
        socket: &Socket,
        (slot, given): (std::ops::Range<usize>, usize),
        watch: Stopwatch,
    ) -> Result<(), Errno> {
        let Some(id) = id_of(&self.room.get()[slot.start..]) else { return Err(Errno::EPROTO) };
        let place = id.wrapping_sub(self.first);
        if place >= self.datagrams {
            return Ok(()); // From an earlier batch that was given up.
        }
        let (message, part) = (place / self.parts.count, place % self.parts.count);
        let into = self.parts.range(part);
        if given != into.len() {
            return Err(Errno::EPROTO);
        }
        if message < self.now.0 {
            // Of a message that was sent back, or given up for a later one.
            match self.back == Some(message) {
                true => self.came.counted.duplicate += 1,
                false => self.came.counted.late += 1,
            }
            return Ok(());
        }
        if message > self.now.0 {
            self.now = (message, 0);
            self.came.forget();
        }
        if !self.came.take(part) {
            return Ok(());
        }
        self.now.1 += 1;
        if into != slot {
            self.room.get_mut().copy_within(slot.start..slot.start + given, into.start);
        }
        if self.now.1 < self.parts.count {
            return Ok(());
        }
        match self.what {
            order::VERIFY => self.verify(socket, message)?,
            order::TIME => {
                self.times.0 = watch.stop();
                self.times.1 = watch.start();
                self.parts.send(socket, self.room.get())?;
            }
            _ => self.parts.send(socket, self.room.get())?,
        }
        self.back = Some(message);
        self.now = (message + 1, 0);
        self.came.forget();
        Ok(())
    }

    /// Checks that a message is intact, and answers it with another one.
    fn verify(&mut self, socket: &Socket, message: u32) -> Result<(), Errno> {
        let numbers = (u64::from(message), self.first.wrapping_add(message * self.parts.count));
        self.parts.filled(self.wanted.get_mut(), numbers, From::Own);
        if self.wanted.get() != &self.room.get()[..self.parts.size] {
            return Err(Errno(libc::EBADMSG));
        }
        self.parts.filled(self.wanted.get_mut(), numbers, From::Peer);
        self.parts.send(socket, self.wanted.get())
    }
}
