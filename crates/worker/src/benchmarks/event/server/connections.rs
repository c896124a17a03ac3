//! A single-threaded HTTP server: one page, one loop, any number of connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::super::super::prelude::*;
use super::http::{self, MAX_HEAD_BYTES, Request};
use super::wait_set::{Event, Token, WaitSet};
use crate::kernel::event::readiness::WaitLimit;
use crate::kernel::net::socket::listen;

/// The slot of the listening socket; connections have the others.
const LISTENER_SLOT: u32 = 0;

/// Input that is read and discarded from a connection that is being closed, so that the last answer
/// arrives: closing a socket with unread data resets it.
const MAX_DISCARDED_BYTES: usize = 1 << 20;

/// A server on a port of 127.0.0.1.
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    waiting: WaitSet,
    /// By slot number, less one.
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Maximum number of connections.
    max_connections: usize,
    events: Vec<Event>,
    buffer: Box<[u8]>,
    common_answer: Vec<u8>,
    pub(super) counters: Counters,
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    /// Connections accepted.
    pub(super) accepted: u32,
    /// Connections refused because all slots were in use.
    pub(super) refused: u64,
    /// Requests answered on active connections.
    pub(super) answered: u64,
    /// Requests answered on other connections.
    pub(super) answered_others: u64,
    /// Active connections that were closed.
    pub(super) active_closed: u64,
}

/// A slot for a connection.
#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// A connection.
struct Connection {
    stream: TcpStream,
    from: SocketAddr,
    is_active: bool,
    /// The beginning of an incomplete request.
    partial_request: Vec<u8>,
    /// Being closed: the number of bytes discarded so far.
    discarded: Option<usize>,
}

/// What is done with a connection after its input was handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Keep,
    Close,
}

impl Server {
    /// Listens, with room for `max_connections` connections.
    pub(super) fn new(method: &str, max_connections: usize) -> Result<Self, Errno> {
        let listener = listen(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let mut waiting = WaitSet::new(method)?;
        waiting.add(Token { slot: LISTENER_SLOT, generation: 0 }, listener.as_raw_fd())?;
        let common_answer = http::parse_first(http::COMMON_REQUEST).ok_or(Errno::EINVAL)?.answer();
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            waiting,
            slots: Vec::new(),
            free: Vec::new(),
            max_connections,
            events: Vec::new(),
            buffer: vec![0; MAX_HEAD_BYTES].into_boxed_slice(),
            common_answer,
            counters: Counters::default(),
        })
    }

    /// The address it listens on.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of open connections.
    pub(super) fn open_connections(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Marks the connections from these addresses as active, so that their requests count; returns
    /// how many there are.
    pub(super) fn mark_active(&mut self, from: &[SocketAddr]) -> usize {
        let mut active = 0;
        for connection in self.slots.iter_mut().filter_map(|slot| slot.connection.as_mut()) {
            connection.is_active = from.contains(&connection.from);
            active += usize::from(connection.is_active);
        }
        active
    }

    /// One iteration of the event loop: waits once, and handles all events.
    pub(super) fn run_once(&mut self, limit: WaitLimit) -> Result<(), Errno> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.waiting.wait(limit, &mut events)?;
        let done = events.iter().try_for_each(|&event| self.handle_event(event));
        self.events = events;
        done
    }

    fn handle_event(&mut self, event: Event) -> Result<(), Errno> {
        let Token { slot: number, generation } = event.token;
        if number == LISTENER_SLOT {
            self.accept_all()?;
            return if event.needs_rearm {
                self.waiting.rearm(event.token, self.listener.as_raw_fd())
            } else {
                Ok(())
            };
        }
        let Some(slot) = self.slots.get_mut(number as usize - 1) else { return Err(Errno::EPROTO) };
        let is_current = generation == u32::MAX || generation == slot.generation;
        let Some(connection) = slot.connection.as_mut().filter(|_| is_current) else {
            return Ok(());
        };
        let token = Token { slot: number, generation: slot.generation };
        match connection.read_requests(&mut self.buffer, &self.common_answer, &mut self.counters) {
            NextStep::Keep if event.needs_rearm => {
                self.waiting.rearm(token, connection.stream.as_raw_fd())
            }
            NextStep::Keep => Ok(()),
            NextStep::Close => {
                self.counters.active_closed += u64::from(connection.is_active);
                self.waiting.remove(token, connection.stream.as_raw_fd())?;
                slot.connection = None;
                slot.generation = (slot.generation + 1) % u32::MAX;
                self.free.push(number);
                Ok(())
            }
        }
    }

    /// Accepts all pending connections.
    fn accept_all(&mut self) -> Result<(), Errno> {
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A connection that was aborted before it was accepted.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error.into()),
            };
            self.counters.accepted += 1;
            if self.open_connections() >= self.max_connections {
                self.counters.refused += 1;
                continue;
            }
            stream.set_nonblocking(true)?;
            let number = self.free.pop().unwrap_or_else(|| {
                self.slots.push(Slot::default());
                self.slots.len() as u32
            });
            let Some(slot) = self.slots.get_mut(number as usize - 1) else {
                return Err(Errno::EPROTO);
            };
            self.waiting
                .add(Token { slot: number, generation: slot.generation }, stream.as_raw_fd())?;
            let partial = Vec::new();
            slot.connection = Some(Connection {
                stream,
                from,
                is_active: false,
                partial_request: partial,
                discarded: None,
            });
        }
    }
}

impl Connection {
    /// Reads all available input, and answers all complete requests in it.
    fn read_requests(
        &mut self,
        buffer: &mut [u8],
        common_answer: &[u8],
        counters: &mut Counters,
    ) -> NextStep {
        loop {
            let bytes = match self.stream.read(buffer) {
                Ok(0) => return NextStep::Close,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return NextStep::Keep,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A reset.
                Err(_) => return NextStep::Close,
            };
            let next_step = match &mut self.discarded {
                Some(discarded) if *discarded + bytes > MAX_DISCARDED_BYTES => NextStep::Close,
                Some(discarded) => {
                    *discarded += bytes;
                    NextStep::Keep
                }
                None => self.handle_input(&buffer[..bytes], common_answer, counters),
            };
            // A short read means that no more input is available now.
            if next_step == NextStep::Close || bytes < buffer.len() {
                return next_step;
            }
        }
    }

    fn handle_input(
        &mut self,
        new: &[u8],
        common_answer: &[u8],
        counters: &mut Counters,
    ) -> NextStep {
        let partial = std::mem::take(&mut self.partial_request);
        let all;
        let mut rest = if partial.is_empty() {
            new
        } else {
            all = [&partial, new].concat();
            &all[..]
        };
        while let Some(request) = http::parse_first(rest) {
            rest = &rest[request.bytes..];
            let counted =
                if self.is_active { &mut counters.answered } else { &mut counters.answered_others };
            *counted += 1;
            if !self.answer(&request, common_answer) {
                return NextStep::Close;
            }
            if request.persistence == http::Persistence::Close {
                // This fails if the client has disconnected: then the next read reports it.
                let _ = self.stream.shutdown(Shutdown::Write);
                self.discarded = Some(rest.len());
                return NextStep::Keep;
            }
        }
        self.partial_request = rest.to_vec();
        NextStep::Keep
    }

    /// Sends an answer; returns whether it was sent completely. A client that never reads fills the
    /// send buffer, which holds thousands of answers.
    fn answer(&mut self, request: &Request, common_answer: &[u8]) -> bool {
        let other;
        let answer = if request.is_common() {
            common_answer
        } else {
            other = request.answer();
            &other[..]
        };
        self.stream.write(answer).is_ok_and(|sent| sent == answer.len())
    }
}
