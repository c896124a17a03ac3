//! Messages between two ends, by any mechanism.
//!
//! Not a family, but what the families of channels share. An [`End`] sends and receives whole
//! messages; its loops are compiled once per mechanism, and dispatched once per batch. The peer
//! runs [`serve`] in a process of its own, on this machine or on another one, and communicates with
//! the measured process only through the channel and a separate [`ControlStream`]: no memory is
//! shared and nothing is inherited.

use super::prelude::*;
pub(super) use crate::kernel::net::control_stream::{ControlStream, InterruptHandler};

mod channel;
mod content;
mod end;
mod failure;
mod fills;
mod message_file;
mod peer;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use channel::{Channel, Direction, LocalPeer, TripMode};
pub(super) use content::{MessageBuffer, Sender, fill_message};
pub(super) use end::{ACK_BYTES, End, EndPair, MAX_MESSAGE_BYTES, ReceivedMessages, check_length};
pub(super) use failure::{failure_cause, retry_interrupted};
pub(super) use message_file::MessageFile;
pub(super) use peer::serve;
pub(super) use stream::{Stream, transfer_rest};

/// The message sizes of study cs736-2019.
pub(super) const MESSAGE_SIZES: &[u64] = &[4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// Messages of all sizes, of which the price list has some.
pub(super) const fn size(in_price_list: &'static Points) -> Axis {
    Axis {
        name: "size",
        sets: "message size in bytes",
        points: Points::Range { min: 1, max: MAX_MESSAGE_BYTES, points: MESSAGE_SIZES },
        default_points: Points::WithPriceList {
            points: &Points::Numbers(MESSAGE_SIZES),
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

/// Where the peer is pinned.
pub(super) const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the peer is pinned: to the same CPU or to another one (the last that it may use)",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same", "other"]),
};
