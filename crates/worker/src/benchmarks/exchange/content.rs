//! What messages hold while they are verified: no two alike.

use oscost_model::seed::Seed;

/// A page: where messages begin, so that none has its bytes in more pages than another.
const PAGE: usize = 4_096;

/// Room for a message, at the beginning of a page.
pub(in super::super) struct Room {
    bytes: Vec<u8>,
    from: usize,
    size: usize,
}

impl Room {
    /// Room for so many bytes, each of them written once: no page of it is met for the first time
    /// later.
    pub(in super::super) fn new(size: usize) -> Self {
        let mut bytes = vec![0; size + PAGE];
        let from = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        bytes.fill(1);
        Self { bytes, from, size }
    }

    /// Its bytes.
    pub(in super::super) fn get(&self) -> &[u8] {
        &self.bytes[self.from..][..self.size]
    }

    /// Its bytes, to be written to.
    pub(in super::super) fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..][..self.size]
    }
}

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum From {
    /// The end that measures.
    Own,
    /// Its peer.
    Peer,
}

/// The bytes of a message of this size: others for each size, each number and each sender.
pub(in super::super) fn fill(message: &mut [u8], number: u64, from: From) {
    let mut seed =
        Seed::new((message.len() as u64) << 8 | number << 1 | u64::from(from == From::Own));
    for piece in message.chunks_mut(8) {
        let word = seed.bits().to_le_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
}

/// A sum of a message in which each byte and its place count.
pub(super) fn sum(message: &[u8]) -> u64 {
    /// An odd number with as many ones as noughts: multiplied by it, a word loses nothing.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let words = message
        .chunks(8)
        .map(|piece| piece.iter().rev().fold(0, |word: u64, &byte| word << 8 | u64::from(byte)));
    words.fold(message.len() as u64, |sum, word| (sum ^ word).wrapping_mul(SPREAD).rotate_left(29))
}
