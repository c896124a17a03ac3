//! The content of messages that are verified: no two are equal.

use crate::bench::Seed;

/// Page size: messages are page-aligned, so that none spans more pages than another of its size.
const PAGE: usize = 4_096;

/// A page-aligned buffer for a message.
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
    from: usize,
    size: usize,
}

impl MessageBuffer {
    /// A buffer of `size` bytes, each written once: none of its pages faults later.
    pub(crate) fn new(size: usize) -> Self {
        let mut bytes = vec![0; size + PAGE];
        let from = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        bytes.fill(1);
        Self { bytes, from, size }
    }

    /// Its bytes.
    pub(crate) fn get(&self) -> &[u8] {
        &self.bytes[self.from..][..self.size]
    }

    /// Its bytes, mutable.
    pub(crate) fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..][..self.size]
    }
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The measured process.
    Own,
    /// Its peer.
    Peer,
}

/// Fills a message: different bytes for each size, number and sender.
pub(crate) fn fill_message(message: &mut [u8], number: u64, from: Sender) {
    let mut seed =
        Seed::new((message.len() as u64) << 8 | number << 1 | u64::from(from == Sender::Own));
    for piece in message.chunks_mut(8) {
        let word = seed.bits().to_le_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
}

/// A checksum in which each byte and its position count.
pub(super) fn checksum(message: &[u8]) -> u64 {
    /// An odd number with as many ones as zeros: multiplication by it loses no bits of a word.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let words = message
        .chunks(8)
        .map(|piece| piece.iter().rev().fold(0, |word: u64, &byte| word << 8 | u64::from(byte)));
    words.fold(message.len() as u64, |sum, word| (sum ^ word).wrapping_mul(SPREAD).rotate_left(29))
}
