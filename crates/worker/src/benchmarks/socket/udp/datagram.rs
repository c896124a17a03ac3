//! What both ends know of datagrams: how a message travels in them, their numbers, which have come.

use std::ops::Range;

use oscost_model::channel::Datagrams;

use super::super::super::exchange::{From, fill};
use super::super::endpoint::Socket;
use crate::kernel::Errno;
use crate::kernel::because::lacking;
use crate::kernel::net::socket;

/// What a datagram of UDP over IPv4 may carry.
pub(super) const MOST: usize = 65_507;
/// The number that it begins with.
pub(super) const ID: usize = size_of::<u32>();
/// No more of them belong to one batch: the peer keeps a bit for each.
pub(super) const MOST_DATAGRAMS: u64 = 1 << 24;

/// Orders to the peer: the first word says which, then the size of messages, how many come, and the
/// number of the first datagram.
pub(super) mod order {
    /// Look whether each message is as it should be, and answer each one that is with another.
    pub(in super::super) const VERIFY: u64 = 1;
    /// Send back each message that is whole.
    pub(in super::super) const ECHO: u64 = 2;
    /// The same, and take the time of both.
    pub(in super::super) const TIME: u64 = 3;
    /// Take them until it is said that there are no more.
    pub(in super::super) const DRAIN: u64 = 4;
    /// Say what came since the last order.
    pub(in super::super) const REPORT: u64 = 5;
    /// As an answer: done.
    pub(in super::super) const READY: u64 = 6;
}

/// How a message of some size travels.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) size: usize,
    pub(super) count: u32,
    pub(super) each: usize,
}

impl Parts {
    pub(super) fn of(size: u64) -> Result<Self, Errno> {
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
    pub(super) fn range(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each;
        from..(from + self.each).min(self.size)
    }

    /// Where it may be received: room for the largest.
    #[inline(always)]
    pub(super) fn slot(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each;
        from..from + self.each
    }

    /// Room for a message all of whose parts are the largest.
    pub(super) fn room(self) -> usize {
        self.each * self.count as usize
    }

    /// Writes the numbers of a message's datagrams into it.
    pub(super) fn number(self, message: &mut [u8], first: u32) {
        for part in 0..self.count {
            let range = self.range(part);
            message[range][..ID].copy_from_slice(&first.wrapping_add(part).to_le_bytes());
        }
    }

    /// What a verified message holds: its bytes, and the numbers of its datagrams.
    pub(super) fn filled(self, message: &mut [u8], (number, first): (u64, u32), from: From) {
        fill(message, number, from);
        self.number(message, first);
    }

    /// Sends a message, whose datagrams have their numbers.
    #[inline(always)]
    pub(super) fn send(self, to: &Socket, message: &[u8]) -> Result<(), Errno> {
        for part in 0..self.count {
            send(to, &message[self.range(part)])?;
        }
        Ok(())
    }
}

/// Sends a datagram. That there was no room for it on the way out is a loss as any other.
#[inline(always)]
pub(super) fn send(to: &Socket, datagram: &[u8]) -> Result<(), Errno> {
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
pub(super) fn id_of(datagram: &[u8]) -> Option<u32> {
    datagram.first_chunk().map(|id| u32::from_le_bytes(*id))
}

/// Which datagrams of a batch have come, and in what order.
#[derive(Default)]
pub(super) struct Came {
    /// A bit for each.
    pub(super) had: Vec<u64>,
    /// The one behind the highest that has come.
    pub(super) next: u32,
    /// What is known of them.
    pub(super) counted: Datagrams,
}

impl Came {
    /// None of so many yet.
    pub(super) fn none_of(datagrams: u64) -> Self {
        Self { had: vec![0; datagrams.div_ceil(64) as usize], ..Self::default() }
    }

    /// Forgets which have come, and keeps what was counted.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.had.fill(0);
        self.next = 0;
    }

    pub(super) fn has(&self, at: u32) -> bool {
        self.had[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Counts one; whether it had not come before.
    #[inline(always)]
    pub(super) fn take(&mut self, at: u32) -> bool {
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
    pub(super) fn whole(&self, messages: u64, parts: u32) -> u64 {
        if parts == 1 {
            return self.counted.arrived;
        }
        let whole = |message: &u32| (0..parts).all(|part| self.has(message * parts + part));
        (0..messages as u32).filter(whole).count() as u64
    }
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
