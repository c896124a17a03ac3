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
    at: SocketAddr,
    waiting: WaitSet,
    /// By slot number, less one.
    guests: Vec<Slot>,
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

/// What happens to a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Close,
}

impl Server {
    /// Listens, with room for `most` connections.
    pub(super) fn new(method: &str, most: usize) -> Result<Self, Errno> {
        let door = listen(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))?;
        door.set_nonblocking(true)?;
        let mut waiting = WaitSet::new(method)?;
        waiting.add(Token { slot: LISTENER_SLOT, generation: 0 }, door.as_raw_fd())?;
        let usual = http::parse_first(http::COMMON_REQUEST).ok_or(Errno::EINVAL)?.answer();
        Ok(Self {
            at: door.local_addr()?,
            listener: door,
            waiting,
            guests: Vec::new(),
            free: Vec::new(),
            max_connections: most,
            events: Vec::new(),
            buffer: vec![0; MAX_HEAD_BYTES].into_boxed_slice(),
            common_answer: usual,
            counters: Counters::default(),
        })
    }

    /// The address that it listens on.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// The number of open connections.
    pub(super) fn guests(&self) -> usize {
        self.guests.len() - self.free.len()
    }

    /// Marks the connections from these addresses as active, whose requests count; returns their
    /// number.
    pub(super) fn mark_active(&mut self, from: &[SocketAddr]) -> usize {
        let mut friends = 0;
        for guest in self.guests.iter_mut().filter_map(|seat| seat.connection.as_mut()) {
            guest.is_active = from.contains(&guest.from);
            friends += usize::from(guest.is_active);
        }
        friends
    }

    /// One iteration of the event loop: waits once, and handles all events.
    pub(super) fn run_once(&mut self, patience: WaitLimit) -> Result<(), Errno> {
        let mut told = std::mem::take(&mut self.events);
        told.clear();
        self.waiting.wait(patience, &mut told)?;
        let done = told.iter().try_for_each(|&told| self.handle_event(told));
        self.events = told;
        done
    }

    fn handle_event(&mut self, told: Event) -> Result<(), Errno> {
        let Token { slot: place, generation: turn } = told.token;
        if place == LISTENER_SLOT {
            self.accept_all()?;
            return if told.needs_rearm {
                self.waiting.rearm(told.token, self.listener.as_raw_fd())
            } else {
                Ok(())
            };
        }
        let Some(seat) = self.guests.get_mut(place as usize - 1) else { return Err(Errno::EPROTO) };
        let is_meant = turn == u32::MAX || turn == seat.generation;
        let Some(guest) = seat.connection.as_mut().filter(|_| is_meant) else { return Ok(()) };
        let name = Token { slot: place, generation: seat.generation };
        match guest.read_requests(&mut self.buffer, &self.common_answer, &mut self.counters) {
            Fate::Keep if told.needs_rearm => self.waiting.rearm(name, guest.stream.as_raw_fd()),
            Fate::Keep => Ok(()),
            Fate::Close => {
                self.counters.active_closed += u64::from(guest.is_active);
                self.waiting.remove(name, guest.stream.as_raw_fd())?;
                seat.connection = None;
                seat.generation = (seat.generation + 1) % u32::MAX;
                self.free.push(place);
                Ok(())
            }
        }
    }

    /// Accepts all pending connections.
    fn accept_all(&mut self) -> Result<(), Errno> {
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(guest) => guest,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A connection that was aborted before it was accepted.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error.into()),
            };
            self.counters.accepted += 1;
            if self.guests() >= self.max_connections {
                self.counters.refused += 1;
                continue;
            }
            stream.set_nonblocking(true)?;
            let place = self.free.pop().unwrap_or_else(|| {
                self.guests.push(Slot::default());
                self.guests.len() as u32
            });
            let Some(seat) = self.guests.get_mut(place as usize - 1) else {
                return Err(Errno::EPROTO);
            };
            self.waiting
                .add(Token { slot: place, generation: seat.generation }, stream.as_raw_fd())?;
            let kept = Vec::new();
            seat.connection = Some(Connection {
                stream,
                from,
                is_active: false,
                partial_request: kept,
                discarded: None,
            });
        }
    }
}

impl Connection {
    /// Reads all available input, and answers all complete requests in it.
    fn read_requests(&mut self, room: &mut [u8], usual: &[u8], seen: &mut Counters) -> Fate {
        loop {
            let given = match self.stream.read(room) {
                Ok(0) => return Fate::Close,
                Ok(given) => given,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Fate::Keep,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A reset.
                Err(_) => return Fate::Close,
            };
            let fate = match &mut self.discarded {
                Some(thrown) if *thrown + given > MAX_DISCARDED_BYTES => Fate::Close,
                Some(thrown) => {
                    *thrown += given;
                    Fate::Keep
                }
                None => self.handle_input(&room[..given], usual, seen),
            };
            // A short read means that no more input is available now.
            if fate == Fate::Close || given < room.len() {
                return fate;
            }
        }
    }

    fn handle_input(&mut self, new: &[u8], usual: &[u8], seen: &mut Counters) -> Fate {
        let kept = std::mem::take(&mut self.partial_request);
        let all;
        let mut rest = if kept.is_empty() {
            new
        } else {
            all = [&kept, new].concat();
            &all[..]
        };
        while let Some(request) = http::parse_first(rest) {
            rest = &rest[request.bytes..];
            let counted =
                if self.is_active { &mut seen.answered } else { &mut seen.answered_others };
            *counted += 1;
            if !self.answer(&request, usual) {
                return Fate::Close;
            }
            if request.persistence == http::Persistence::Close {
                // This fails if the client has gone: then the next read reports it.
                let _ = self.stream.shutdown(Shutdown::Write);
                self.discarded = Some(rest.len());
                return Fate::Keep;
            }
        }
        self.partial_request = rest.to_vec();
        Fate::Keep
    }

    /// Sends an answer; returns whether it was sent completely. A client that never reads fills the
    /// send buffer, which holds thousands of answers.
    fn answer(&mut self, request: &Request, usual: &[u8]) -> bool {
        let other;
        let answer = if request.is_common() {
            usual
        } else {
            other = request.answer();
            &other[..]
        };
        self.stream.write(answer).is_ok_and(|taken| taken == answer.len())
    }
}
