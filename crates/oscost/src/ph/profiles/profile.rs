//! The profile of an executable: its learned and its normal pairs, and its counts.

use std::fmt;

use crate::ph::constants::Constants;

/// The system calls that a profile can contain have numbers below this.
pub const CALLS: usize = 512;
/// The number of earlier calls that a call is paired with: the published window of 9 without the
/// call itself. One bit of a byte each.
pub const LOOKBACK: usize = 8;
/// The size of [`Pairs`].
const PAIR_BYTES: usize = CALLS * CALLS;

/// The profile of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The file of the executable.
    pub key: Key,
    /// Its path when it was first observed, for display; empty if unknown. It is not a key, since
    /// another file may have this path by now.
    pub executable: String,
    /// What is done with its calls.
    pub state: State,
    /// The number of observed calls.
    pub calls: u64,
    /// The number of calls that it was trained with since training last began.
    pub train_count: u64,
    /// The number of these since the last new pair. (The published name: a new pair is a
    /// modification.)
    pub last_mod_count: u64,
    /// The number of anomalies since it became normal.
    pub anomalies: u64,
    /// When it was frozen, in seconds since 1970; `None` if it is not frozen.
    pub frozen_at_s: Option<u64>,
    /// The learned pairs.
    pub train: Pairs,
    /// The normal pairs: the learned ones when it became normal. Empty before.
    pub test: Pairs,
    /// The constants of the rules when it was last saved.
    pub learned_with: Constants,
}

impl Profile {
    /// An empty profile.
    pub fn new(key: Key, executable: String) -> Self {
        Self {
            key,
            executable,
            state: State::Training,
            calls: 0,
            train_count: 0,
            last_mod_count: 0,
            anomalies: 0,
            frozen_at_s: None,
            train: Pairs::default(),
            test: Pairs::default(),
            learned_with: Constants::default(),
        }
    }

    /// The index of the trained call with the last new pair; `None` if the two counts are
    /// inconsistent, since they are not read at the same time.
    pub fn last_new_at(&self) -> Option<u64> {
        self.train_count.checked_sub(self.last_mod_count)
    }
}

/// The file of an executable, which identifies it in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The device of its file system, in the kernel's own encoding.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
}

/// What is done with the calls of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// They are learned.
    Training,
    /// They are learned, but there was no new pair for long; the profile becomes normal later.
    Frozen,
    /// They are compared with the normal pairs.
    Normal,
}

impl State {
    /// All states.
    pub const ALL: [State; 3] = [State::Training, State::Frozen, State::Normal];

    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            State::Training => "training",
            State::Frozen => "frozen",
            State::Normal => "normal",
        }
    }
}

/// A call, and an earlier call of the same task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The call.
    pub current: u16,
    /// The earlier call.
    pub previous: u16,
    /// How many calls earlier: 1 to [`LOOKBACK`].
    pub position: u8,
}

/// All pairs of the same two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairEntry {
    /// The call.
    pub current: u16,
    /// The earlier call.
    pub previous: u16,
    /// The positions: bit `i - 1` for `i` calls earlier.
    pub bits: u8,
}

/// The lookahead pairs of a profile, in the layout of the BPF programs.
///
/// Bit `i - 1` of the byte of `current` and `previous` is set if `previous` was observed `i` calls
/// before `current`.
#[derive(Clone, PartialEq, Eq)]
pub struct Pairs(Box<[u8; PAIR_BYTES]>);

impl Default for Pairs {
    fn default() -> Self {
        // A `Vec` of zeros is allocated by calloc: pages that are never written take no memory.
        match vec![0; PAIR_BYTES].try_into() {
            Ok(bytes) => Self(bytes),
            Err(_) => Self(Box::new([0; PAIR_BYTES])),
        }
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

impl Pairs {
    /// Copies the layout of the BPF programs; `None` unless these are 512 times 512 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: Box<[u8]> = bytes.into();
        bytes.try_into().ok().map(Self)
    }

    /// The layout of the BPF programs.
    pub fn bytes(&self) -> &[u8; PAIR_BYTES] {
        &self.0
    }

    /// Adds the pairs of two calls at the positions of `bits`; `None` without a change if the
    /// number of a call is too large.
    pub fn add(&mut self, current: u16, previous: u16, bits: u8) -> Option<()> {
        *self.0.get_mut(byte_index(current, previous)?)? |= bits;
        Some(())
    }

    /// Whether it contains a pair.
    pub fn has(&self, pair: Pair) -> bool {
        let bit = u32::from(pair.position).checked_sub(1).and_then(|shift| 1_u8.checked_shl(shift));
        let byte = byte_index(pair.current, pair.previous).and_then(|index| self.0.get(index));
        matches!((byte, bit), (Some(byte), Some(bit)) if byte & bit != 0)
    }

    /// The number of pairs.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// Whether it contains no pair.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// The pairs in order, those of the same two calls together.
    pub fn entries(&self) -> impl Iterator<Item = PairEntry> + '_ {
        let calls = || 0_u16..;
        let rows = calls().zip(self.0.chunks_exact(CALLS));
        let all = rows.flat_map(move |(current, row)| {
            calls().zip(row).map(move |(previous, &bits)| PairEntry { current, previous, bits })
        });
        all.filter(|entry| entry.bits != 0)
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = Pair> + '_ {
        self.entries().flat_map(|PairEntry { current, previous, bits }| {
            positions(bits).map(move |position| Pair { current, previous, position })
        })
    }
}

/// The positions of the bits of a [`PairEntry`].
pub fn positions(bits: u8) -> impl Iterator<Item = u8> {
    (1..=8).filter(move |position| bits & (1 << (position - 1)) != 0)
}

/// The index of the byte of two calls.
fn byte_index(current: u16, previous: u16) -> Option<usize> {
    let (current, previous) = (usize::from(current), usize::from(previous));
    (current < CALLS && previous < CALLS).then_some(current * CALLS + previous)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_a_bit_of_the_byte_of_its_calls() {
        let mut pairs = Pairs::default();
        assert!(pairs.is_empty());
        pairs.add(59, 0, 0b1000_0001).unwrap();
        pairs.add(511, 511, 0b10).unwrap();
        assert_eq!(pairs.bytes()[59 * 512], 0b1000_0001);
        assert_eq!(pairs.bytes()[512 * 512 - 1], 0b10);
        let pair = |current, previous, position| Pair { current, previous, position };
        let all: Vec<Pair> = pairs.iter().collect();
        assert_eq!(all, [pair(59, 0, 1), pair(59, 0, 8), pair(511, 511, 2)]);
        assert_eq!(pairs.count(), 3);
        assert!(all.iter().all(|&pair| pairs.has(pair)));
        for absent in [pair(59, 0, 2), pair(0, 59, 1), pair(59, 0, 0), pair(59, 0, 9)] {
            assert!(!pairs.has(absent), "{absent:?}");
        }
        assert_eq!(Pairs::from_bytes(pairs.bytes()), Some(pairs));
    }

    #[test]
    fn a_call_with_too_large_a_number_is_not_added() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.add(512, 0, 1), None);
        assert_eq!(pairs.add(0, 512, 1), None);
        assert!(pairs.is_empty());
        assert!(!pairs.has(Pair { current: 512, previous: 0, position: 1 }));
        assert_eq!(Pairs::from_bytes(&[0; 511]), None);
    }

    #[test]
    fn inconsistent_counts_have_no_last_new_pair() {
        let mut profile = Profile::new(Key { device: 1, inode: 2 }, "/bin/true".to_owned());
        (profile.train_count, profile.last_mod_count) = (90, 30);
        assert_eq!(profile.last_new_at(), Some(60));
        profile.last_mod_count = 91;
        assert_eq!(profile.last_new_at(), None);
    }
}
