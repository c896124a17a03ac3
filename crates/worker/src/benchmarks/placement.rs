//! Which CPU the peer of a benchmark is pinned to.

use super::prelude::*;

/// The CPU of the peer; or a skipped row that says why it is unavailable.
pub(super) fn cpu_of_peer(params: Params<'_>) -> Result<u32, Work> {
    // An unpinned process might be moved to the peer's CPU.
    let own = params.context.cpu.ok_or_else(unpinned_work)?;
    match params.word("peer_cpu") {
        "other" => params.context.other_cpu.ok_or_else(|| {
            Work::unavailable(
                "the peer needs a second CPU: this machine has one, or taskset(1) or a cpuset \
                 allows only one",
            )
        }),
        _ => Ok(own),
    }
}

/// Like [`cpu_of_peer`], for points that may have no peer: `None`.
pub(super) fn cpu_of_optional_peer(params: Params<'_>) -> Result<Option<u32>, Work> {
    match params.word("peer_cpu") {
        "none" => Ok(None),
        _ => cpu_of_peer(params).map(Some),
    }
}

/// The CPU of the peer, if time stamps of both ends are comparable; or a skipped row that says why
/// they are not.
pub(super) fn cpu_of_timed_peer(params: Params<'_>) -> Result<u32, Work> {
    let cpu = cpu_of_peer(params)?;
    let one_clock = params.context.cpu == Some(cpu) || params.context.clock.agrees_across_cpus();
    if one_clock { Ok(cpu) } else { Err(incomparable_clocks()) }
}
