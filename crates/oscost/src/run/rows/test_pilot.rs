//! The plan of a pilot, for tests.

use oscost_model::worker::{BatchPlan, Mode};

/// A plan with batches of 50 us.
pub(crate) fn pilot(mode: Mode, iterations: u64) -> BatchPlan {
    BatchPlan {
        mode,
        iterations,
        unroll_factors: vec![1],
        groups: 21,
        batch_ns: 5e4,
        coarse_clock: false,
    }
}
