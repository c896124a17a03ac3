//! Where the other side of a round trip is pinned.

use super::super::prelude::*;

/// The CPU of the other side, none if there is none; or the row that says why it cannot be had.
pub(in super::super) fn cpu_of_peer(at: Params<'_>) -> Result<Option<u32>, Work> {
    match at.word("peer_cpu") {
        "same" => at.context.cpu.map(Some).ok_or_else(unpinned),
        // Unpinned, this side might come to stand on the peer's.
        "other" if at.context.cpu.is_none() => Err(unpinned()),
        "other" => at.context.other_cpu.map(Some).ok_or_else(|| {
            Work::unavailable(
                "the other side needs a second CPU: this machine has one, or taskset(1) or a \
                 cpuset allows no more",
            )
        }),
        _ => Ok(None),
    }
}
