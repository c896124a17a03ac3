//! The axes and the floor that most system calls share.

use crate::benchmarks::prelude::*;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::cpu::eviction::Eviction;

/// The entry path, where the cost of the wrapper is close to that of the raw instruction.
pub(super) const VIA: Axis = Axis {
    name: "via",
    sets: "entry path: raw system-call instruction, or C library wrapper",
    points: Points::Words(&["raw", "libc"]),
    default_points: Points::Words(&["raw"]),
};

/// Whether caches and predictors are warm. The axis was added after the ops, so the warm state is
/// implied.
pub(super) const STATE: Axis = Axis {
    name: "state",
    sets: "warm: after the previous op; cold: after evicting caches and branch predictors before \
           each of 21 single shots",
    points: Points::Words(&["warm", "cold"]),
    default_points: Points::Implied("warm"),
};

/// The work in the state that the point selects.
///
/// Cold: a walk through twice the last-level cache of this CPU, at most 256 MiB, and a run of
/// branches; see [`Eviction`].
pub(super) fn in_state(params: Params<'_>, work: Work) -> Result<Work, Errno> {
    if params.word("state") != "cold" {
        return Ok(work);
    }
    let mut eviction = Eviction::for_current_cpu()?;
    Ok(work.with_eviction(move || {
        consume(eviction.evict().lines);
        Ok(())
    }))
}

/// Whether the point selects the raw instruction.
pub(super) fn is_raw(params: Params<'_>) -> bool {
    params.word("via") == "raw"
}
