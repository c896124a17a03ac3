//! Which CPU the peer of a round trip is pinned to.

use super::super::prelude::*;

/// The CPU of the peer, `None` if there is no peer; or a skipped row that says why it is
/// unavailable.
pub(crate) fn cpu_of_peer(params: Params<'_>) -> Result<Option<u32>, Work> {
    match params.word("peer_cpu") {
        "same" => params.context.cpu.map(Some).ok_or_else(unpinned_work),
        // An unpinned process might be moved to the peer's CPU.
        "other" if params.context.cpu.is_none() => Err(unpinned_work()),
        "other" => params.context.other_cpu.map(Some).ok_or_else(|| {
            Work::unavailable(
                "the peer needs a second CPU: this machine has one, or taskset(1) or a cpuset \
                 allows only one",
            )
        }),
        _ => Ok(None),
    }
}
