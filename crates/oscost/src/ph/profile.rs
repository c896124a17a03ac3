//! What pH knows of an executable.

use std::fmt;

use super::constants::Constants;

/// How many system calls a profile tells apart, by their numbers; a call above has no place in it.
pub const CALLS: usize = 512;
/// How many earlier calls a call is looked at with: the published window of 9, without the call
/// itself. One bit of a byte each.
pub const LOOKBACK: usize = 8;
/// The bytes of [`Pairs`].
const CELLS: usize = CALLS * CALLS;

/// What pH knows of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Which executable it is, for the kernel.
    pub key: Key,
    /// Its path when it was first seen, for people; empty where that was not known. It is no key:
    /// another file may bear the name by now.
    pub executable: String,
    /// What is done with its calls.
    pub state: State,
    /// The calls that were seen.
    pub calls: u64,
    /// The calls that it was trained with, since training last began.
    pub train_count: u64,
    /// The calls among those since the last pair that was new. (The name is the published one: a
    /// new pair is a modification.)
    pub last_mod_count: u64,
    /// The anomalies since its behaviour was found normal.
    pub anomalies: u64,
    /// When it was frozen, in seconds since 1970; `None` while it is not.
    pub frozen_at_s: Option<u64>,
    /// What it was seen to do while it was trained.
    pub train: Pairs,
    /// What is normal for it: the training's pairs of the moment when that began. Empty before.
    pub test: Pairs,
    /// The constants that were in force when it was last kept.
    pub learnt_with: Constants,
}

impl Profile {
    /// The profile of an executable of which nothing is known yet.
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
            learnt_with: Constants::default(),
        }
    }

    /// The number of the trained call that brought the last new pair; `None` where the two counts
    /// do not go together, since they are not read at one moment.
    pub fn last_new_at(&self) -> Option<u64> {
        self.train_count.checked_sub(self.last_mod_count)
    }
}

/// An executable, as the kernel tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The device that its file is on, in the kernel's own numbering.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
}

/// What is done with the calls of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// They are learnt.
    Training,
    /// They are learnt, but nothing new has come for long: it waits to be found normal.
    Frozen,
    /// They are held against what is normal.
    Normal,
}

impl State {
    /// All of them.
    pub const ALL: [State; 3] = [State::Training, State::Frozen, State::Normal];

    /// The word for it.
    pub fn text(self) -> &'static str {
        match self {
            State::Training => "training",
            State::Frozen => "frozen",
            State::Normal => "normal",
        }
    }
}

/// A call, and one that came some calls before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The call.
    pub current: u16,
    /// The earlier one.
    pub previous: u16,
    /// How many calls earlier: 1 to [`LOOKBACK`].
    pub position: u8,
}

/// Which calls were seen before which: the lookahead pairs of a profile, in the kernel's layout.
///
/// Bit `i - 1` of the byte of `current` and `previous` says that `previous` was seen `i` calls
/// before `current`.
#[derive(Clone, PartialEq, Eq)]
pub struct Pairs(Box<[u8; CELLS]>);

impl Default for Pairs {
    fn default() -> Self {
        // By way of a `Vec`, the zeros are the kernel's: what is never written to takes no memory.
        match vec![0; CELLS].try_into() {
            Ok(workers) => Self(workers),
            Err(_) => Self(Box::new([0; CELLS])),
        }
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.cells()).finish()
    }
}

impl Pairs {
    /// As the kernel has them; `None` unless these are 512 times 512 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let workers: Box<[u8]> = bytes.into();
        workers.try_into().ok().map(Self)
    }

    /// As the kernel has them.
    pub fn bytes(&self) -> &[u8; CELLS] {
        &self.0
    }

    /// Takes up all of the bits `bits` for two calls; `None`, and nothing is done, where a profile
    /// has no place for one of them.
    pub fn add(&mut self, current: u16, previous: u16, bits: u8) -> Option<()> {
        *self.0.get_mut(cell_index(current, previous)?)? |= bits;
        Some(())
    }

    /// Whether a pair is there.
    pub fn has(&self, pair: Pair) -> bool {
        let bit = u32::from(pair.position).checked_sub(1).and_then(|shift| 1_u8.checked_shl(shift));
        let byte = cell_index(pair.current, pair.previous).and_then(|target| self.0.get(target));
        matches!((byte, bit), (Some(byte), Some(bit)) if byte & bit != 0)
    }

    /// How many pairs there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// Which two calls were seen together, and in what distances: `(current, previous, bits)`, in
    /// order.
    pub fn cells(&self) -> impl Iterator<Item = (u16, u16, u8)> + '_ {
        let calls = || 0_u16..;
        let rows = calls().zip(self.0.chunks_exact(CALLS));
        let all = rows.flat_map(move |(current, row)| {
            calls().zip(row).map(move |(previous, &bits)| (current, previous, bits))
        });
        all.filter(|&(_, _, bits)| bits != 0)
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = Pair> + '_ {
        self.cells().flat_map(|(current, previous, bits)| {
            positions(bits).map(move |position| Pair { current, previous, position })
        })
    }
}

/// The distances that the bits of two calls stand for.
pub fn positions(bits: u8) -> impl Iterator<Item = u8> {
    (1..=8).filter(move |position| bits & (1 << (position - 1)) != 0)
}

/// Where the byte of two calls is.
fn cell_index(current: u16, previous: u16) -> Option<usize> {
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
    fn a_call_that_has_no_place_changes_nothing() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.add(512, 0, 1), None);
        assert_eq!(pairs.add(0, 512, 1), None);
        assert!(pairs.is_empty());
        assert!(!pairs.has(Pair { current: 512, previous: 0, position: 1 }));
        assert_eq!(Pairs::from_bytes(&[0; 511]), None);
    }

    #[test]
    fn counts_that_do_not_go_together_name_no_call() {
        let mut profile = Profile::new(Key { device: 1, inode: 2 }, "/bin/true".to_owned());
        (profile.train_count, profile.last_mod_count) = (90, 30);
        assert_eq!(profile.last_new_at(), Some(60));
        profile.last_mod_count = 91;
        assert_eq!(profile.last_new_at(), None);
    }
}
