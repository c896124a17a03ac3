//! Messages between two ends, whatever they go through.
//!
//! Not a family but what families of channels share. An [`End`] sends and receives whole messages;
//! its loops are compiled once for each means, and chosen once for a batch. Its other end runs
//! [`serve`] in a process of its own, here or behind a door on another machine, and knows of this
//! one only what comes through the channel and a [`Control`] stream beside it: no memory is shared
//! and nothing inherited.

use super::prelude::*;
pub(super) use crate::kernel::net::control_stream::{Control, Gone};

mod content;
mod end;
mod held;
mod peer;
mod stream;
#[cfg(test)]
mod tests;
mod two;

pub(super) use content::{From, Room, fill};
pub(super) use end::{ACKNOWLEDGEMENT, End, LARGEST, whole};
pub(super) use held::Held;
pub(super) use peer::serve;
pub(super) use stream::{Stream, go_on};
pub(super) use two::{Trips, Two, Way};

/// The sizes of messages of study cs736-2019.
pub(super) const SIZES: &[u64] = &[4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// Messages of all sizes, of which the price list has some.
pub(super) const fn size(in_price_list: &'static Points) -> Axis {
    Axis {
        name: "size",
        sets: "bytes of a message",
        points: Points::Range { min: 1, max: LARGEST, points: SIZES },
        default_points: Points::WithPriceList {
            points: &Points::Numbers(SIZES),
            price_list: in_price_list,
        },
    }
}

/// Which way is timed, of which messages.
pub(super) const WAY: Axis = Axis {
    name: "way",
    sets: "which way is timed: to the other process, or from it",
    points: Points::Words(&["there", "back"]),
    default_points: Points::Words(&["there", "back"]),
};

/// The sizes at which one way is timed usually.
pub(super) const SIZE_ONE_WAY: Axis =
    Axis { default_points: Points::Numbers(&[64, 65_536]), ..size(&Points::Numbers(&[])) };

/// The kernel's door, below which no call can go.
pub(super) const GETPPID: &str = "syscall/getppid:via=raw";

/// Where the other end stands.
pub(super) const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the other end is pinned: to the same CPU or another, the last that it may use",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same", "other"]),
};

/// The CPU of the other end, where times of both ends are compared; or the row that says why they
/// cannot be.
pub(super) fn cpu_of_timed_peer(at: Params<'_>) -> Result<u32, Work> {
    let cpu = cpu_of_peer(at)?;
    let one_clock = at.context.cpu == Some(cpu) || at.context.clock.is_one_for_all_cpus();
    if one_clock { Ok(cpu) } else { Err(clocks_apart()) }
}

/// The CPU of the other end; or the row that says why it cannot be had.
pub(super) fn cpu_of_peer(at: Params<'_>) -> Result<u32, Work> {
    // Unpinned, this end might come to stand on the other one's.
    let own = at.context.cpu.ok_or_else(unpinned)?;
    match at.word("peer_cpu") {
        "other" => at.context.other_cpu.ok_or_else(|| {
            Work::unavailable(
                "the other end needs a second CPU: this machine has one, or taskset(1) or a \
                 cpuset allows no more",
            )
        }),
        _ => Ok(own),
    }
}
