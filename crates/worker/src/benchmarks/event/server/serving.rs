//! A single-threaded HTTP server: one page, one loop, any number of connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::super::super::prelude::*;
use super::http::{self, MOST_HEAD, Request};
use super::waiting::{Name, Told, Waiting};
use crate::kernel::event::readiness::WaitLimit;
use crate::kernel::net::socket::listen;

/// The slot of the listening socket; connections have the others.
const DOOR: u32 = 0;

/// Input that is read and discarded from a connection that is being closed, so that the last answer
/// arrives: closing a socket with unread data resets it.
const MOST_THROWN_AWAY: usize = 1 << 20;

/// A server on a port of 127.0.0.1.
pub(super) struct Server {
    door: TcpListener,
    at: SocketAddr,
    waiting: Waiting,
    /// By slot number, less one.
    guests: Vec<Seat>,
    free: Vec<u32>,
    /// Maximum number of connections.
    most: usize,
    told: Vec<Told>,
    room: Box<[u8]>,
    usual: Vec<u8>,
    pub(super) seen: Seen,
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Connections accepted.
    pub(super) admitted: u32,
    /// Connections refused because all slots were in use.
    pub(super) turned_away: u64,
    /// Requests answered on active connections.
    pub(super) answered: u64,
    /// Requests answered on other connections.
    pub(super) of_others: u64,
    /// Active connections that were closed.
    pub(super) friends_gone: u64,
}

/// A slot for a connection.
#[derive(Default)]
struct Seat {
    turn: u32,
    guest: Option<Guest>,
}

/// A connection.
struct Guest {
    stream: TcpStream,
    from: SocketAddr,
    is_friend: bool,
    /// The beginning of an incomplete request.
    kept: Vec<u8>,
    /// Being closed: the number of bytes discarded so far.
    ending: Option<usize>,
}

/// What happens to a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

impl Server {
    /// Listens, with room for `most` connections.
    pub(super) fn new(method: &str, most: usize) -> Result<Self, Errno> {
        let door = listen(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))?;
        door.set_nonblocking(true)?;
        let mut waiting = Waiting::by(method)?;
        waiting.add(Name { place: DOOR, turn: 0 }, door.as_raw_fd())?;
        let usual = http::first(http::USUAL).ok_or(Errno::EINVAL)?.answer();
        Ok(Self {
            at: door.local_addr()?,
            door,
            waiting,
            guests: Vec::new(),
            free: Vec::new(),
            most,
            told: Vec::new(),
            room: vec![0; MOST_HEAD].into_boxed_slice(),
            usual,
            seen: Seen::default(),
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
    pub(super) fn befriend(&mut self, from: &[SocketAddr]) -> usize {
        let mut friends = 0;
        for guest in self.guests.iter_mut().filter_map(|seat| seat.guest.as_mut()) {
            guest.is_friend = from.contains(&guest.from);
            friends += usize::from(guest.is_friend);
        }
        friends
    }

    /// One iteration of the event loop: waits once, and handles all events.
    pub(super) fn turn(&mut self, patience: WaitLimit) -> Result<(), Errno> {
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        self.waiting.wait(patience, &mut told)?;
        let done = told.iter().try_for_each(|&told| self.hear(told));
        self.told = told;
        done
    }

    fn hear(&mut self, told: Told) -> Result<(), Errno> {
        let Name { place, turn } = told.name;
        if place == DOOR {
            self.admit()?;
            return if told.last {
                self.waiting.again(told.name, self.door.as_raw_fd())
            } else {
                Ok(())
            };
        }
        let Some(seat) = self.guests.get_mut(place as usize - 1) else { return Err(Errno::EPROTO) };
        let is_meant = turn == u32::MAX || turn == seat.turn;
        let Some(guest) = seat.guest.as_mut().filter(|_| is_meant) else { return Ok(()) };
        let name = Name { place, turn: seat.turn };
        match guest.attend(&mut self.room, &self.usual, &mut self.seen) {
            Fate::Stays if told.last => self.waiting.again(name, guest.stream.as_raw_fd()),
            Fate::Stays => Ok(()),
            Fate::Goes => {
                self.seen.friends_gone += u64::from(guest.is_friend);
                self.waiting.remove(name, guest.stream.as_raw_fd())?;
                seat.guest = None;
                seat.turn = (seat.turn + 1) % u32::MAX;
                self.free.push(place);
                Ok(())
            }
        }
    }

    /// Accepts all pending connections.
    fn admit(&mut self) -> Result<(), Errno> {
        loop {
            let (stream, from) = match self.door.accept() {
                Ok(guest) => guest,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A connection that was aborted before it was accepted.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error.into()),
            };
            self.seen.admitted += 1;
            if self.guests() >= self.most {
                self.seen.turned_away += 1;
                continue;
            }
            stream.set_nonblocking(true)?;
            let place = self.free.pop().unwrap_or_else(|| {
                self.guests.push(Seat::default());
                self.guests.len() as u32
            });
            let Some(seat) = self.guests.get_mut(place as usize - 1) else {
                return Err(Errno::EPROTO);
            };
            self.waiting.add(Name { place, turn: seat.turn }, stream.as_raw_fd())?;
            let kept = Vec::new();
            seat.guest = Some(Guest { stream, from, is_friend: false, kept, ending: None });
        }
    }
}

impl Guest {
    /// Reads all available input, and answers all complete requests in it.
    fn attend(&mut self, room: &mut [u8], usual: &[u8], seen: &mut Seen) -> Fate {
        loop {
            let given = match self.stream.read(room) {
                Ok(0) => return Fate::Goes,
                Ok(given) => given,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Fate::Stays,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A reset.
                Err(_) => return Fate::Goes,
            };
            let fate = match &mut self.ending {
                Some(thrown) if *thrown + given > MOST_THROWN_AWAY => Fate::Goes,
                Some(thrown) => {
                    *thrown += given;
                    Fate::Stays
                }
                None => self.hear(&room[..given], usual, seen),
            };
            // A short read means that no more input is available now.
            if fate == Fate::Goes || given < room.len() {
                return fate;
            }
        }
    }

    fn hear(&mut self, new: &[u8], usual: &[u8], seen: &mut Seen) -> Fate {
        let kept = std::mem::take(&mut self.kept);
        let all;
        let mut rest = if kept.is_empty() {
            new
        } else {
            all = [&kept, new].concat();
            &all[..]
        };
        while let Some(request) = http::first(rest) {
            rest = &rest[request.bytes..];
            let counted = if self.is_friend { &mut seen.answered } else { &mut seen.of_others };
            *counted += 1;
            if !self.answer(&request, usual) {
                return Fate::Goes;
            }
            if request.then == http::Then::Ends {
                // This fails if the client has gone: then the next read reports it.
                let _ = self.stream.shutdown(Shutdown::Write);
                self.ending = Some(rest.len());
                return Fate::Stays;
            }
        }
        self.kept = rest.to_vec();
        Fate::Stays
    }

    /// Sends an answer; returns whether it was sent completely. A client that never reads fills the
    /// send buffer, which holds thousands of answers.
    fn answer(&mut self, request: &Request, usual: &[u8]) -> bool {
        let other;
        let answer = if request.is_usual() {
            usual
        } else {
            other = request.answer();
            &other[..]
        };
        self.stream.write(answer).is_ok_and(|taken| taken == answer.len())
    }
}
