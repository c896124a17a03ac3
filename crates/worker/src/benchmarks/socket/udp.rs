//! Datagrams that may be lost: UDP, as study cs736-2019 measures it and beyond.
//!
//! Each datagram begins with a number of 4 bytes. A message that one datagram does not hold travels
//! in the fewest that do, as equal as may be, and has come when all have. What is lost, late,
//! duplicate or out of order is counted and is never a sample.
//!
//! Both ends listen to datagrams alone: an empty one says that there is something to hear on the
//! control stream, which knows no loss. So nothing but the message passes in an op.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::OwnedFd;

use oscost_model::channel::Datagrams;

use super::super::exchange::{Control, From, fill};
use super::super::prelude::*;
use super::ends::{Socket, Watched, first_words, way, with_buffers};
use crate::kernel::because::lacking;
use crate::kernel::door::Door;
use crate::kernel::socket;
use crate::kernel::switch::PeerProcess;

mod own;
mod peer;

pub(super) use own::{one_way, round_trips, throughput};

/// What a datagram of UDP over IPv4 may carry.
const MOST: usize = 65_507;
/// The number that it begins with.
const ID: usize = size_of::<u32>();
/// No more of them belong to one batch: the peer keeps a bit for each.
const MOST_DATAGRAMS: u64 = 1 << 24;

/// Orders to the peer: the first word says which, then the size of messages, how many come, and the
/// number of the first datagram.
mod order {
    /// Look whether each message is as it should be, and answer each one that is with another.
    pub(super) const VERIFY: u64 = 1;
    /// Send back each message that is whole.
    pub(super) const ECHO: u64 = 2;
    /// The same, and take the time of both.
    pub(super) const TIME: u64 = 3;
    /// Take them until it is said that there are no more.
    pub(super) const DRAIN: u64 = 4;
    /// Say what came since the last order.
    pub(super) const REPORT: u64 = 5;
    /// As an answer: done.
    pub(super) const READY: u64 = 6;
}

/// How a message of some size travels.
#[derive(Clone, Copy)]
struct Parts {
    size: usize,
    count: u32,
    each: usize,
}

impl Parts {
    fn of(size: u64) -> Result<Self, Errno> {
        let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
        if size < ID {
            return Err(lacking(format!(
                "a datagram begins with a number of {ID} bytes: say size={ID} or more"
            )));
        }
        let count = size.div_ceil(MOST);
        Ok(Self { size, count: count as u32, each: size.div_ceil(count) })
    }

    /// Where a part of it lies.
    fn range(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each;
        from..(from + self.each).min(self.size)
    }

    /// Where it may be received: room for the largest.
    #[inline(always)]
    fn slot(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each;
        from..from + self.each
    }

    /// Room for a message all of whose parts are the largest.
    fn room(self) -> usize {
        self.each * self.count as usize
    }

    /// Writes the numbers of a message's datagrams into it.
    fn number(self, message: &mut [u8], first: u32) {
        for part in 0..self.count {
            let range = self.range(part);
            message[range][..ID].copy_from_slice(&first.wrapping_add(part).to_le_bytes());
        }
    }

    /// What a verified message holds: its bytes, and the numbers of its datagrams.
    fn filled(self, message: &mut [u8], (number, first): (u64, u32), from: From) {
        fill(message, number, from);
        self.number(message, first);
    }

    /// Sends a message, whose datagrams have their numbers.
    #[inline(always)]
    fn send(self, to: &Socket, message: &[u8]) -> Result<(), Errno> {
        for part in 0..self.count {
            send(to, &message[self.range(part)])?;
        }
        Ok(())
    }
}

/// Sends a datagram. That there was no room for it on the way out is a loss as any other.
#[inline(always)]
fn send(to: &Socket, datagram: &[u8]) -> Result<(), Errno> {
    loop {
        match socket::send(&to.file, datagram) {
            Ok(taken) if taken == datagram.len() => return Ok(()),
            Ok(_) => return Err(Errno::EPROTO),
            Err(Errno::EINTR) => {}
            Err(Errno(libc::ENOBUFS)) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// The number that a datagram begins with.
#[inline(always)]
fn id_of(datagram: &[u8]) -> Option<u32> {
    datagram.first_chunk().map(|id| u32::from_le_bytes(*id))
}

/// Which datagrams of a batch have come, and in what order.
#[derive(Default)]
struct Came {
    /// A bit for each.
    had: Vec<u64>,
    /// The one behind the highest that has come.
    next: u32,
    /// What is known of them.
    counted: Datagrams,
}

impl Came {
    /// None of so many yet.
    fn none_of(datagrams: u64) -> Self {
        Self { had: vec![0; datagrams.div_ceil(64) as usize], ..Self::default() }
    }

    /// Forgets which have come, and keeps what was counted.
    #[inline(always)]
    fn forget(&mut self) {
        self.had.fill(0);
        self.next = 0;
    }

    fn has(&self, at: u32) -> bool {
        self.had[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Counts one; whether it had not come before.
    #[inline(always)]
    fn take(&mut self, at: u32) -> bool {
        let (word, bit) = (&mut self.had[at as usize / 64], 1 << (at % 64));
        if *word & bit != 0 {
            self.counted.duplicate += 1;
            return false;
        }
        *word |= bit;
        self.counted.arrived += 1;
        if at < self.next {
            self.counted.reordered += 1;
        } else {
            self.next = at + 1;
        }
        true
    }

    /// How many messages have come whole, if each has so many parts.
    fn whole(&self, messages: u64, parts: u32) -> u64 {
        if parts == 1 {
            return self.counted.arrived;
        }
        let whole = |message: &u32| (0..parts).all(|part| self.has(message * parts + part));
        (0..messages as u32).filter(whole).count() as u64
    }
}

/// Both ends' common part: a socket that hears the other one alone, and the control stream.
struct Line {
    socket: Socket,
    control: Control,
    child: Option<PeerProcess>,
    peer_cpu: Option<u32>,
}

/// This end's line.
fn line(at: At<'_>) -> Result<Line, Errno> {
    let mut way = way(at, serve)?;
    let stream = way.go()?;
    let (here, there) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    let (socket, port) = bound(here)?;
    let control = Control::over(stream.try_clone()?);
    control.tell([u64::from(port), 0, 0, 0], &|_| Ok(()))?;
    let [port, before, ..] = first_words(&stream)?;
    let door = way.watched(before);
    let socket = connected(at, socket, SocketAddr::new(there, port as u16), door)?;
    let (child, peer_cpu) = way.child().unzip();
    Ok(Line { socket, control, child, peer_cpu })
}

/// The other end, behind a door.
pub(super) fn serve(at: At<'_>, door: &mut Door) -> Result<(), Errno> {
    let stream = door.wait()?;
    stream.set_nodelay(true)?;
    let (here, there) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    let (socket, own) = bound(here)?;
    let [port, ..] = first_words(&stream)?;
    let control = Control::over(stream);
    // Connected before it is told of: no datagram of the peer's comes too early.
    let socket = connected(at, socket, SocketAddr::new(there, port as u16), None)?;
    control.tell([u64::from(own), door.strangers(), 0, 0], &|_| Ok(()))?;
    peer::serve(&socket, &control, at.site.watch)
}

/// A socket at this address, and its port.
fn bound(here: IpAddr) -> Result<(UdpSocket, u16), Errno> {
    let socket = UdpSocket::bind(SocketAddr::new(here, 0))?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// The socket, which from now on hears that address alone: the kernel keeps all others out.
fn connected(
    at: At<'_>,
    socket: UdpSocket,
    to: SocketAddr,
    door: Option<Watched>,
) -> Result<Socket, Errno> {
    socket.connect(to)?;
    let here = socket.local_addr()?.ip();
    let file = OwnedFd::from(socket).into();
    with_buffers(at, &file)?;
    // What came before it was connected may be anybody's.
    while socket::receive_packet_now(&file, &mut []).is_ok() {}
    Ok(Socket::of_udp(file, here, door))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_travels_in_the_fewest_datagrams_each_of_which_has_room_for_its_number() {
        for (size, count) in
            [(4, 1), (65_507, 1), (65_508, 2), (65_536, 2), (131_015, 3), (524_288, 9)]
        {
            let parts = Parts::of(size).unwrap();
            assert_eq!(parts.count, count, "{size}");
            let lengths: Vec<usize> = (0..count).map(|part| parts.range(part).len()).collect();
            assert_eq!(lengths.iter().sum::<usize>() as u64, size);
            assert!(lengths.iter().all(|&length| (ID..=MOST).contains(&length)), "{lengths:?}");
        }
        assert_eq!(Parts::of(3).err(), Some(Errno::LACKING));
    }

    #[test]
    fn what_comes_twice_or_out_of_order_is_counted_and_a_message_is_whole_with_all_its_parts() {
        let mut came = Came::none_of(200);
        let news: Vec<bool> = [0, 1, 3, 2, 3, 5, 130, 129].map(|at| came.take(at)).into();
        assert_eq!(news, [true, true, true, true, false, true, true, true]);
        let counted = came.counted;
        assert_eq!((counted.arrived, counted.duplicate, counted.reordered), (7, 1, 2));
        // Of messages of two parts the first two are whole, and no other.
        assert_eq!(came.whole(100, 2), 2);
        came.forget();
        assert!(came.take(0) && came.counted.reordered == 2);
    }
}
