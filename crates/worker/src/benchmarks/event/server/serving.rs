//! An HTTP server: one page, one loop, as many connections as there are.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::super::super::prelude::*;
use super::http::{self, MOST_HEAD, Request};
use super::waiting::{Name, Told, Waiting};
use crate::kernel::event::readiness::Patience;
use crate::kernel::net::socket::listening;

/// The place of the socket that listens; guests have the others.
const DOOR: u32 = 0;

/// Of a guest whose connection is to end so much is read and thrown away, so that the last answer
/// reaches it: a socket that is closed with something unread is reset.
const MOST_THROWN_AWAY: usize = 1 << 20;

/// A server on a port of 127.0.0.1, for as long as this lives.
pub(super) struct Server {
    door: TcpListener,
    at: SocketAddr,
    waiting: Waiting,
    /// By place, less one.
    guests: Vec<Seat>,
    free: Vec<u32>,
    /// Guests at once, at most.
    most: usize,
    told: Vec<Told>,
    room: Box<[u8]>,
    usual: Vec<u8>,
    pub(super) seen: Seen,
}

/// What a server has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Connections that came in.
    pub(super) admitted: u32,
    /// Connections that were more than there is room for.
    pub(super) turned_away: u64,
    /// Requests of friends that were answered.
    pub(super) answered: u64,
    /// Requests of others that were.
    pub(super) of_others: u64,
    /// Friends who have gone.
    pub(super) friends_gone: u64,
}

/// Where a guest sits, or sat.
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
    /// The beginning of a request whose rest has not come.
    kept: Vec<u8>,
    /// Nothing is answered any more; so much was thrown away.
    ending: Option<usize>,
}

/// What becomes of a guest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

impl Server {
    /// Listens; there is room for so many guests.
    pub(super) fn new(method: &str, most: usize) -> Result<Self, Errno> {
        let door = listening(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))?;
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

    /// Where it listens.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// How many guests there are.
    pub(super) fn guests(&self) -> usize {
        self.guests.len() - self.free.len()
    }

    /// Those who come from there are friends, whose requests count; how many there are.
    pub(super) fn befriend(&mut self, from: &[SocketAddr]) -> usize {
        let mut friends = 0;
        for guest in self.guests.iter_mut().filter_map(|seat| seat.guest.as_mut()) {
            guest.is_friend = from.contains(&guest.from);
            friends += usize::from(guest.is_friend);
        }
        friends
    }

    /// Waits once, and does what there is to do.
    pub(super) fn turn(&mut self, patience: Patience) -> Result<(), Errno> {
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

    /// Lets in all who stand at the door.
    fn admit(&mut self) -> Result<(), Errno> {
        loop {
            let (stream, from) = match self.door.accept() {
                Ok(guest) => guest,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Who was gone before we looked has cost nothing.
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
    /// Reads what there is, and answers all whole requests in it.
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
            // With less than there was room for nothing is left now.
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
                // That fails where the guest is gone: then the next read says so.
                let _ = self.stream.shutdown(Shutdown::Write);
                self.ending = Some(rest.len());
                return Fate::Stays;
            }
        }
        self.kept = rest.to_vec();
        Fate::Stays
    }

    /// Whether the answer was taken whole. Who asks and asks and never reads does not take it:
    /// there is room for thousands of answers.
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
