//! The peer of UDP: executes commands until the measured process closes the control stream.

use super::super::super::exchange::{ControlStream, MAX_MESSAGE_BYTES, MessageBuffer, Sender};
use super::super::endpoint::Socket;
use super::datagram::{
    Arrivals, ID_BYTES, MAX_BATCH_DATAGRAMS, Parts, command, id_of, pack_counters, send,
};
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{Alarm, SignalReceiver};
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::socket;
use crate::kernel::time::stopwatch::Stopwatch;

/// What to do with incoming datagrams.
struct Task {
    command: u64,
    parts: Parts,
    messages: u64,
    /// The number of the first datagram, and how many belong to the batch.
    first: u32,
    datagrams: u32,
    arrivals: Arrivals,
    /// Whether the end marker has arrived.
    ended: bool,
    /// Of the current message: its index in the batch, and how many parts have arrived.
    current: (u32, u32),
    /// The message that was sent back last.
    last_returned: Option<u32>,
    /// When the last complete message had arrived, and when it was sent back.
    times: (u64, u64),
    buffer: MessageBuffer,
    expected: MessageBuffer,
}

/// Serves as the peer.
pub(super) fn serve(
    socket: &Socket,
    control: &ControlStream,
    watch: Stopwatch,
) -> Result<(), Errno> {
    // The alarm makes it check every second whether the measured process still runs: its exit is
    // visible on the control stream only.
    let _signals = SignalReceiver::install()?;
    let _alarm = Alarm::start()?;
    let mut task = Task::idle()?;
    loop {
        let slot = task.slot();
        match socket::receive_packet(&socket.file, &mut task.buffer.get_mut()[slot.clone()]) {
            Ok(0) => {
                if !task.handle_command(control)? {
                    return Ok(());
                }
            }
            Ok(bytes) => match task.command {
                command::DRAIN => task.receive_in_series(socket, slot.start, bytes)?,
                _ => task.handle_message(socket, slot, bytes, watch)?,
            },
            // The alarm; or the other end's socket is closed.
            Err(Errno::EINTR | Errno(libc::ECONNREFUSED)) => {
                if !task.handle_command(control)? {
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
    }
}

impl Task {
    /// No task: datagrams are not expected yet.
    fn idle() -> Result<Self, Errno> {
        Self::new([command::ECHO, ID_BYTES as u64, 0, 0])
    }

    fn new([command_code, size, messages, first]: [u64; 4]) -> Result<Self, Errno> {
        if size > MAX_MESSAGE_BYTES {
            return Err(Errno::EINVAL);
        }
        let parts = Parts::of(size)?;
        // A task that sends messages back keeps state for one message only: their number is
        // unknown.
        let datagrams = messages.saturating_mul(u64::from(parts.count));
        let tracked =
            if command_code == command::DRAIN { datagrams } else { u64::from(parts.count) };
        if tracked > MAX_BATCH_DATAGRAMS {
            return Err(Errno::E2BIG);
        }
        Ok(Self {
            command: command_code,
            parts,
            messages,
            first: first as u32,
            datagrams: u32::try_from(datagrams).unwrap_or(u32::MAX / 2),
            arrivals: Arrivals::new(tracked),
            ended: false,
            current: (0, 0),
            last_returned: None,
            times: (0, 0),
            buffer: MessageBuffer::new(parts.buffer_bytes()),
            expected: MessageBuffer::new(if command_code == command::VERIFY {
                parts.size
            } else {
                0
            }),
        })
    }

    /// Where the next part of a message belongs, if none is lost.
    #[inline(always)]
    fn slot(&self) -> std::ops::Range<usize> {
        match self.parts.count {
            1 => self.parts.slot(0),
            count if self.command == command::DRAIN => {
                self.parts.slot((self.arrivals.counters.arrived % u64::from(count)) as u32)
            }
            count => self.parts.slot(self.current.1 % count),
        }
    }

    /// Executes a command from the control stream, if there is one; false at its end.
    fn handle_command(&mut self, control: &ControlStream) -> Result<bool, Errno> {
        match control.pending() {
            Pending::Nothing => return Ok(true),
            Pending::Closed => return Ok(false),
            Pending::Message => {}
        }
        let wait = |_| Ok(());
        let words = control.receive(&wait)?;
        let answer = match words[0] {
            command::REPORT if self.command == command::TIME => [self.times.0, self.times.1, 0, 0],
            command::REPORT => {
                let counted = &self.arrivals.counters;
                let packed = pack_counters(counted);
                let complete = match self.command {
                    command::DRAIN => {
                        self.arrivals.complete_messages(self.messages, self.parts.count)
                    }
                    _ => 0,
                };
                [counted.arrived, complete, packed, counted.late]
            }
            command::VERIFY | command::ECHO | command::TIME | command::DRAIN => {
                *self = Self::new(words)?;
                [command::READY, 0, 0, 0]
            }
            _ => return Err(Errno::EPROTO),
        };
        control.send(answer, &wait)?;
        Ok(true)
    }

    /// Handles a datagram of a series.
    #[inline(always)]
    fn receive_in_series(
        &mut self,
        socket: &Socket,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Errno> {
        let Some(id) = id_of(&self.buffer.get()[offset..]) else { return Err(Errno::EPROTO) };
        let index = id.wrapping_sub(self.first);
        if index < self.datagrams && !self.ended {
            if bytes != self.parts.range(index % self.parts.count).len() {
                return Err(Errno::EPROTO);
            }
            self.arrivals.record(index);
            return Ok(());
        }
        self.handle_unexpected(socket, id, index)
    }

    /// Handles the end marker, or a datagram that arrives too late.
    #[cold]
    fn handle_unexpected(&mut self, socket: &Socket, id: u32, index: u32) -> Result<(), Errno> {
        if index == self.datagrams {
            self.ended = true;
            return send(socket, &id.to_le_bytes());
        }
        if index < self.datagrams && self.arrivals.has(index) {
            self.arrivals.counters.duplicate += 1;
        } else {
            self.arrivals.counters.late += 1;
        }
        Ok(())
    }

    /// Handles a datagram, and sends the message back once it is complete.
    #[inline(always)]
    fn handle_message(
        &mut self,
        socket: &Socket,
        slot: std::ops::Range<usize>,
        bytes: usize,
        watch: Stopwatch,
    ) -> Result<(), Errno> {
        let Some(id) = id_of(&self.buffer.get()[slot.start..]) else { return Err(Errno::EPROTO) };
        let index = id.wrapping_sub(self.first);
        if index >= self.datagrams {
            return Ok(()); // From an earlier batch that was given up.
        }
        let (message, part) = (index / self.parts.count, index % self.parts.count);
        let into = self.parts.range(part);
        if bytes != into.len() {
            return Err(Errno::EPROTO);
        }
        if message < self.current.0 {
            // Of a message that was sent back, or given up for a later one.
            match self.last_returned == Some(message) {
                true => self.arrivals.counters.duplicate += 1,
                false => self.arrivals.counters.late += 1,
            }
            return Ok(());
        }
        if message > self.current.0 {
            self.current = (message, 0);
            self.arrivals.reset();
        }
        if !self.arrivals.record(part) {
            return Ok(());
        }
        self.current.1 += 1;
        if into != slot {
            self.buffer.get_mut().copy_within(slot.start..slot.start + bytes, into.start);
        }
        if self.current.1 < self.parts.count {
            return Ok(());
        }
        match self.command {
            command::VERIFY => self.verify(socket, message)?,
            command::TIME => {
                self.times.0 = watch.stop();
                self.times.1 = watch.start();
                self.parts.send(socket, self.buffer.get())?;
            }
            _ => self.parts.send(socket, self.buffer.get())?,
        }
        self.last_returned = Some(message);
        self.current = (message + 1, 0);
        self.arrivals.reset();
        Ok(())
    }

    /// Checks that a message is intact, and answers it with another one.
    fn verify(&mut self, socket: &Socket, message: u32) -> Result<(), Errno> {
        let number = u64::from(message);
        let first_id = self.first.wrapping_add(message * self.parts.count);
        self.parts.fill(self.expected.get_mut(), number, first_id, Sender::Own);
        if self.expected.get() != &self.buffer.get()[..self.parts.size] {
            return Err(Errno(libc::EBADMSG));
        }
        self.parts.fill(self.expected.get_mut(), number, first_id, Sender::Peer);
        self.parts.send(socket, self.expected.get())
    }
}
