//! Which CPU the peer of a round trip is pinned to.

use super::super::prelude::*;

/// The CPU of the peer, `None` if there is no peer; or a skipped row that says why it is
/// unavailable.
pub(in super::super) fn cpu_of_peer(at: Params<'_>) -> Result<Option<u32>, Work> {
    match at.word("peer_cpu") {
        "same" => at.context.cpu.map(Some).ok_or_else(unpinned),
        // An unpinned process might be moved to the peer's CPU.
        "other" if at.context.cpu.is_none() => Err(unpinned()),
        "other" => at.context.other_cpu.map(Some).ok_or_else(|| {
            Work::unavailable(
                "the peer needs a second CPU: this machine has one, or taskset(1) or a cpuset \
                 allows only one",
            )
        }),
        _ => Ok(None),
    }
}
