//! The memory layout of what the BPF programs and this process share: see bpf/ph.bpf.c.

use nix::libc;
use oscost_model::mark;

use crate::ph::constants::Constants;
use crate::ph::profiles::profile::{Key, State};

/// Which processes are monitored.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The root of the monitored process tree; `None` for all processes.
    pub tree: Option<u32>,
    /// The monitor process, which is never monitored.
    pub monitor_pid: u32,
    /// The cleanup process, which is never monitored; without one, the monitor process again.
    pub cleanup_pid: u32,
}

/// The sizes of the maps.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapSizes {
    /// The number of slots.
    pub(super) slots: u32,
    /// The number of possible CPUs.
    pub(super) cpus: usize,
}

/// What is done with the calls of an executable (`enum state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are handled by the profile's state.
    ByState(State),
    /// They are only counted, while the pairs are copied.
    Paused,
    /// They are compared with the normal pairs; what was learned will be discarded.
    Unlearn,
}

impl Action {
    fn from_number(number: u32) -> Self {
        match number {
            0 => Action::ByState(State::Training),
            1 => Action::ByState(State::Frozen),
            2 => Action::ByState(State::Normal),
            3 => Action::Paused,
            _ => Action::Unlearn,
        }
    }

    fn number(self) -> u32 {
        match self {
            Action::ByState(State::Training) => 0,
            Action::ByState(State::Frozen) => 1,
            Action::ByState(State::Normal) => 2,
            Action::Paused => 3,
            Action::Unlearn => 4,
        }
    }
}

/// `struct control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// What is done with the calls.
    pub action: Action,
    /// A new epoch clears all locality frames.
    pub epoch: u32,
}

impl Control {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let [state, epoch] = read_u32s(bytes);
        Self { action: Action::from_number(state), epoch }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        u32_bytes(&[self.action.number(), self.epoch])
    }
}

/// `struct counts`, summed over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that were examined in training.
    pub trained: u64,
    /// In the slot of untracked calls: calls for which the kernel had no memory.
    pub lost: u64,
    /// In the slot of untracked calls: events and executables for which there was no room.
    pub dropped: u64,
}

impl CallCounts {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let [calls, trained, lost, dropped] = read_u64s(bytes);
        Self { calls, trained, lost, dropped }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.trained += other.trained;
        self.lost += other.lost;
        self.dropped += other.dropped;
    }
}

/// `struct change_counts`: counts that change only when something is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of calls with new pairs.
    pub changes: u64,
    /// [`CallCounts::trained`] at the last of them.
    pub changed_at: u64,
    /// The number of anomalies since the profile became normal.
    pub anomalies: u64,
}

impl ChangeCounts {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let [changes, changed_at, anomalies] = read_u64s(bytes);
        Self { changes, changed_at, anomalies }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        // Padded to a cache line.
        let fields = [self.changes, self.changed_at, self.anomalies, 0, 0, 0, 0, 0];
        fields.map(u64::to_ne_bytes).concat()
    }
}

/// The key of the map of slots: `struct executable`.
pub(super) fn key_bytes(key: Key) -> Vec<u8> {
    [key.device.to_ne_bytes(), key.inode.to_ne_bytes()].concat()
}

/// The inverse of [`key_bytes`].
pub(super) fn read_key(bytes: &[u8]) -> Key {
    let [device, inode] = read_u64s(bytes);
    Key { device, inode }
}

/// The slot in a `struct task`; `None` if the bytes are too few.
pub(super) fn slot_of_task(task: &[u8]) -> Option<u32> {
    /// Five fields of 64 bits come before it.
    const OFFSET: usize = 40;
    task.get(OFFSET..).map(|rest| read_u32s::<1>(rest)[0])
}

/// `struct rules`.
pub(super) fn rules(constants: &Constants, scope: Scope, sizes: MapSizes) -> Vec<u8> {
    u32_bytes(&[
        constants.window.saturating_sub(1),
        constants.locality_frame,
        constants.anomaly_limit,
        constants.tolerise_limit,
        u32::from(constants.delay_factor > 0),
        scope.tree.unwrap_or(0),
        scope.monitor_pid,
        scope.cleanup_pid,
        sizes.slots,
        u32::try_from(sizes.cpus).unwrap_or(u32::MAX),
        libc::SYS_prctl as u32,
        mark::OPTION,
        mark::BEGIN,
        mark::END,
    ])
}

/// Numbers in the machine's byte order.
pub(super) fn u32_bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// The first numbers in some bytes; 0 where the bytes are too few.
pub(super) fn read_u32s<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut numbers =
        bytes.chunks_exact(4).filter_map(|it| Some(u32::from_ne_bytes(it.try_into().ok()?)));
    [(); N].map(|()| numbers.next().unwrap_or(0))
}

/// See [`read_u32s`].
fn read_u64s<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut numbers =
        bytes.chunks_exact(8).filter_map(|it| Some(u64::from_ne_bytes(it.try_into().ok()?)));
    [(); N].map(|()| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_the_layout_of_the_programs() {
        let scope = Scope { tree: Some(7), monitor_pid: 8, cleanup_pid: 9 };
        let sizes = MapSizes { slots: 10, cpus: 11 };
        let bytes = rules(&Constants::default(), scope, sizes);
        assert_eq!(read_u32s(&bytes), [8, 128, 30, 12, 0, 7, 8, 9, 10, 11]);
        let marks = [libc::SYS_prctl as u32, mark::OPTION, mark::BEGIN, mark::END];
        assert_eq!(read_u32s(&bytes[40..]), marks);
        assert_eq!(bytes.len(), 56);
        let delays = Constants { delay_factor: 3, window: 2, ..Constants::default() };
        let all = Scope { tree: None, ..scope };
        assert_eq!(read_u32s(&rules(&delays, all, sizes)), [1, 128, 30, 12, 1, 0]);
    }

    #[test]
    fn numbers_that_the_bytes_do_not_contain_are_zero() {
        assert_eq!(read_u32s::<2>(&[1, 0, 0]), [0, 0]);
        assert_eq!(read_u64s::<2>(&u32_bytes(&[1, 0])), [1, 0]);
    }
}
