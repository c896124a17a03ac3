//! How long a batch is to be.

use oscost_model::clock::Calibration;
use oscost_model::fault_injection::{InjectedFault, is_injected};

/// The length of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchLength {
    /// In nanoseconds.
    pub ns: f64,
    /// Whether the clock is too coarse for batches as short as the interruptions require.
    pub coarse_clock: bool,
}

/// The batch length for a clock and a machine: long against the clock's step, short against the
/// time between interruptions.
///
/// A slope is taken over a group of batches with these unroll factors, and an interruption anywhere
/// in the group invalidates it: then the group must be short against the interruptions.
pub fn batch_length(
    clock: &Calibration,
    interruptions_per_s: f64,
    unroll_factors: &[u32],
) -> BatchLength {
    /// The target if nothing else decides.
    const USUAL_NS: f64 = 50_000.0;
    /// Longer batches are hit by the timer tick of every kernel.
    const MAX_NS: f64 = 1_000_000.0;
    /// A batch is undisturbed with probability exp(-0.1) = 0.9, so that the median is.
    const INTERRUPTIONS_PER_BATCH: f64 = 0.1;
    let batches_per_group = unroll_factors.iter().sum::<u32>() as f64
        / unroll_factors.iter().max().copied().unwrap_or(1) as f64;
    let min_ns = min_batch_ns(clock, unroll_factors);
    let max_ns = if interruptions_per_s > 0.0 {
        MAX_NS.min(INTERRUPTIONS_PER_BATCH / interruptions_per_s * 1e9 / batches_per_group)
    } else {
        MAX_NS
    };
    if is_injected(InjectedFault::LongBatches) {
        return BatchLength { ns: 10_000_000.0, coarse_clock: false };
    }
    if min_ns > max_ns {
        BatchLength { ns: min_ns, coarse_clock: true }
    } else {
        BatchLength { ns: USUAL_NS.clamp(min_ns, max_ns), coarse_clock: false }
    }
}

/// The length above which a clock's step and its cost are a negligible part of a batch, in
/// nanoseconds.
pub fn min_batch_ns(clock: &Calibration, unroll_factors: &[u32]) -> f64 {
    /// The clock's step is at most 0.1 % of a batch.
    const QUANTA_PER_BATCH: f64 = 1_000.0;
    // The same for the cost of reading the clock; a slope cancels it, and only its spread remains.
    let by_slope = unroll_factors.len() > 1;
    let reads_per_batch = if by_slope { 50.0 } else { 1_000.0 };
    (QUANTA_PER_BATCH * clock.ns(clock.quantum_ticks))
        .max(reads_per_batch * clock.ns(clock.inside_ticks))
}
