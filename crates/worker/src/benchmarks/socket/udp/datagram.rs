//! What both ends know about datagrams: how a message is split, their numbers, which have arrived.

use std::ops::Range;

use super::super::super::exchange::{Sender, fill_message};
use super::super::endpoint::Socket;
use crate::bench::Datagrams;
use crate::kernel::Errno;
use crate::kernel::net::socket;

/// The payload of a UDP datagram over IPv4.
pub(super) const MAX_PAYLOAD_BYTES: usize = 65_507;
/// Size of the number that it begins with.
pub(super) const ID_BYTES: usize = size_of::<u32>();
/// Maximum number of datagrams per batch: the peer keeps one bit for each.
pub(super) const MAX_BATCH_DATAGRAMS: u64 = 1 << 24;

/// Commands to the peer: the first word selects one, then the message size, the number of messages,
/// and the number of the first datagram.
pub(super) mod command {
    /// Verify each message, and answer each intact one with another.
    pub(crate) const VERIFY: u64 = 1;
    /// Send back each complete message.
    pub(crate) const ECHO: u64 = 2;
    /// The same, and take time stamps of both.
    pub(crate) const TIME: u64 = 3;
    /// Receive until the end marker.
    pub(crate) const DRAIN: u64 = 4;
    /// Report what arrived since the last command.
    pub(crate) const REPORT: u64 = 5;
    /// As an answer: ready.
    pub(crate) const READY: u64 = 6;
}

/// How a message of some size is split.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) size: usize,
    pub(super) count: u32,
    pub(super) each_bytes: usize,
}

impl Parts {
    pub(super) fn of(size: u64) -> Result<Self, Errno> {
        let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
        if size < ID_BYTES {
            return Err(Errno::unavailable(format!(
                "a datagram begins with a number of {ID_BYTES} bytes: select size={ID_BYTES} or \
                 more"
            )));
        }
        let count = size.div_ceil(MAX_PAYLOAD_BYTES);
        Ok(Self { size, count: count as u32, each_bytes: size.div_ceil(count) })
    }

    /// The position of a part in the message.
    pub(super) fn range(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each_bytes;
        from..(from + self.each_bytes).min(self.size)
    }

    /// Where a part is received: with room for the largest.
    #[inline(always)]
    pub(super) fn slot(self, part: u32) -> Range<usize> {
        let from = part as usize * self.each_bytes;
        from..from + self.each_bytes
    }

    /// The buffer size for a message with all parts of the largest size.
    pub(super) fn buffer_bytes(self) -> usize {
        self.each_bytes * self.count as usize
    }

    /// Writes the numbers of its datagrams into a message.
    pub(super) fn write_numbers(self, message: &mut [u8], first: u32) {
        for part in 0..self.count {
            let range = self.range(part);
            message[range][..ID_BYTES].copy_from_slice(&first.wrapping_add(part).to_le_bytes());
        }
    }

    /// Fills a message to be verified: its bytes, and the numbers of its datagrams.
    pub(super) fn fill(self, message: &mut [u8], number: u64, first_id: u32, from: Sender) {
        fill_message(message, number, from);
        self.write_numbers(message, first_id);
    }

    /// Sends a message whose datagrams are numbered.
    #[inline(always)]
    pub(super) fn send(self, to: &Socket, message: &[u8]) -> Result<(), Errno> {
        for part in 0..self.count {
            send(to, &message[self.range(part)])?;
        }
        Ok(())
    }
}

/// Sends a datagram. If the send queue is full, it counts as lost like any other.
#[inline(always)]
pub(super) fn send(to: &Socket, datagram: &[u8]) -> Result<(), Errno> {
    loop {
        match socket::send(&to.file, datagram) {
            Ok(sent) if sent == datagram.len() => return Ok(()),
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

/// The duplicate and reordered datagrams as one word of an answer.
pub(super) fn pack_counters(counters: &Datagrams) -> u64 {
    counters.duplicate << 32 | counters.reordered
}

/// The counters of [`pack_counters`]; the others are 0.
pub(super) fn unpack_counters(word: u64) -> Datagrams {
    let (duplicate, reordered) = (word >> 32, word & u64::from(u32::MAX));
    Datagrams { duplicate, reordered, ..Datagrams::default() }
}

/// Which datagrams of a batch have arrived, and in what order.
#[derive(Default)]
pub(super) struct Arrivals {
    /// One bit per datagram.
    pub(super) bits: Vec<u64>,
    /// One more than the highest that has arrived.
    pub(super) next: u32,
    /// The counters.
    pub(super) counters: Datagrams,
}

impl Arrivals {
    /// None of `datagrams` has arrived.
    pub(super) fn new(datagrams: u64) -> Self {
        Self { bits: vec![0; datagrams.div_ceil(64) as usize], ..Self::default() }
    }

    /// Resets which have arrived, and keeps the counters.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        self.bits.fill(0);
        self.next = 0;
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.bits[index as usize / 64] >> (index % 64) & 1 == 1
    }

    /// Counts one; returns whether it is new.
    #[inline(always)]
    pub(super) fn record(&mut self, index: u32) -> bool {
        let (word, bit) = (&mut self.bits[index as usize / 64], 1 << (index % 64));
        if *word & bit != 0 {
            self.counters.duplicate += 1;
            return false;
        }
        *word |= bit;
        self.counters.arrived += 1;
        if index < self.next {
            self.counters.reordered += 1;
        } else {
            self.next = index + 1;
        }
        true
    }

    /// The number of complete messages, if each has `parts` parts.
    pub(super) fn complete_messages(&self, messages: u64, parts: u32) -> u64 {
        if parts == 1 {
            return self.counters.arrived;
        }
        let is_complete = |message: &u32| (0..parts).all(|part| self.has(message * parts + part));
        (0..messages as u32).filter(is_complete).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_into_the_fewest_datagrams_with_room_for_their_numbers() {
        for (size, count) in
            [(4, 1), (65_507, 1), (65_508, 2), (65_536, 2), (131_015, 3), (524_288, 9)]
        {
            let parts = Parts::of(size).unwrap();
            assert_eq!(parts.count, count, "{size}");
            let lengths: Vec<usize> = (0..count).map(|part| parts.range(part).len()).collect();
            assert_eq!(lengths.iter().sum::<usize>() as u64, size);
            assert!(
                lengths.iter().all(|&length| (ID_BYTES..=MAX_PAYLOAD_BYTES).contains(&length)),
                "{lengths:?}"
            );
        }
        assert_eq!(Parts::of(3).err(), Some(Errno::UNAVAILABLE));
    }

    #[test]
    fn duplicates_and_reordering_are_counted_and_a_message_is_complete_with_all_its_parts() {
        let mut received = Arrivals::new(200);
        let are_new: Vec<bool> =
            [0, 1, 3, 2, 3, 5, 130, 129].map(|index| received.record(index)).into();
        assert_eq!(are_new, [true, true, true, true, false, true, true, true]);
        let counted = received.counters;
        assert_eq!((counted.arrived, counted.duplicate, counted.reordered), (7, 1, 2));
        // Of messages of two parts the first two are complete, and no others.
        assert_eq!(received.complete_messages(100, 2), 2);
        received.reset();
        assert!(received.record(0) && received.counters.reordered == 2);
    }
}
