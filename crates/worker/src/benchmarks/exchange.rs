//! Messages between two ends, by any mechanism.
//!
//! Not a family, but what the families of channels share. An [`End`] sends and receives whole
//! messages; its loops are compiled once per mechanism, and dispatched once per batch. The peer
//! runs [`serve`] in a process of its own, on this machine or on another one, and communicates with
//! the measured process only through the channel and a separate [`Control`] stream: no memory is
//! shared and nothing is inherited.

use super::prelude::*;
pub(super) use crate::kernel::net::control_stream::{ControlStream, OnInterrupt};

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

/// The message sizes of study cs736-2019.
pub(super) const SIZES: &[u64] = &[4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// Messages of all sizes, of which the price list has some.
pub(super) const fn size(in_price_list: &'static Points) -> Axis {
    Axis {
        name: "size",
        sets: "message size in bytes",
        points: Points::Range { min: 1, max: LARGEST, points: SIZES },
        default_points: Points::WithPriceList {
            points: &Points::Numbers(SIZES),
            price_list: in_price_list,
        },
    }
}

/// The direction that is timed.
pub(super) const WAY: Axis = Axis {
    name: "way",
    sets: "direction that is timed: to the other process, or from it",
    points: Points::Words(&["there", "back"]),
    default_points: Points::Words(&["there", "back"]),
};

/// The default sizes for one-way messages.
pub(super) const SIZE_ONE_WAY: Axis =
    Axis { default_points: Points::Numbers(&[64, 65_536]), ..size(&Points::Numbers(&[])) };

/// A null system call, the floor of every call.
pub(super) const GETPPID: &str = "syscall/getppid:via=raw";

/// Where the peer is pinned.
pub(super) const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the peer is pinned: to the same CPU or to another one (the last that it may use)",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same", "other"]),
};

/// The CPU of the peer, if time stamps of both ends are comparable; or a skipped row that says why
/// they are not.
pub(super) fn cpu_of_timed_peer(at: Params<'_>) -> Result<u32, Work> {
    let cpu = cpu_of_peer(at)?;
    let one_clock = at.context.cpu == Some(cpu) || at.context.clock.agrees_across_cpus();
    if one_clock { Ok(cpu) } else { Err(clocks_apart()) }
}

/// The CPU of the peer; or a skipped row that says why it is unavailable.
pub(super) fn cpu_of_peer(at: Params<'_>) -> Result<u32, Work> {
    // An unpinned process might be moved to the peer's CPU.
    let own = at.context.cpu.ok_or_else(unpinned)?;
    match at.word("peer_cpu") {
        "other" => at.context.other_cpu.ok_or_else(|| {
            Work::unavailable(
                "the peer needs a second CPU: this machine has one, or taskset(1) or a cpuset \
                 allows only one",
            )
        }),
        _ => Ok(own),
    }
}
