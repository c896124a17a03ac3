//! The batch plan that all arms of a set share.

use oscost_model::clock::Calibration;
use oscost_model::worker::{BatchPlan, Mode};

/// Batches of an arm per worker: enough for a median, since workers differ more than batches.
const DEFAULT_GROUPS: u32 = 21;
/// Longer batches were not sized for the clock's resolution.
const MAX_CALIBRATED_BATCH_NS: f64 = 1_000_000.0;
/// Long ops get fewer batches ...
const MIN_GROUPS: u32 = 5;
/// ... so that an arm takes at most this long.
const MAX_ARM_NS: f64 = 60_000_000.0;

/// The plan of all arms: the base's mode, and the iterations of the slowest arm, but enough that
/// the batch of the fastest is still long compared with the clock's resolution. Arms with different
/// numbers of ops would differ for that reason alone.
pub(super) fn shared_plan<'a>(
    base: &'a BatchPlan,
    news: impl Iterator<Item = &'a BatchPlan>,
    clock: &Calibration,
) -> BatchPlan {
    let base_factor = f64::from(base.unroll_factors.iter().max().copied().unwrap_or(1));
    // The cost of an iteration of the base's loop in that plan.
    let iteration_ns = |plan: &BatchPlan| {
        let factor = f64::from(plan.unroll_factors.iter().max().copied().unwrap_or(1));
        plan.batch_ns / (plan.iterations.max(1) as f64 * factor) * base_factor
    };
    let costs: Vec<f64> = std::iter::once(base).chain(news).map(iteration_ns).collect();
    let slowest = costs.iter().copied().fold(0.0, f64::max);
    let fastest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    // A transfer must fill its channel: with fewer iterations the sender would never wait.
    let fills_channel = base.mode == Mode::T || base.batch_ns > MAX_CALIBRATED_BATCH_NS;
    let repeats = matches!(base.mode, Mode::U | Mode::B) && !fills_channel;
    let iterations = if repeats && slowest > 0.0 {
        // The clock's resolution and read overhead are then a thousandth of a batch.
        let min_batch_ns = 1_000.0 * clock.ns(clock.quantum_ticks.max(clock.inside_ticks));
        let for_the_slowest = base.batch_ns / slowest;
        let for_the_fastest = min_batch_ns / fastest;
        let iterations = for_the_slowest.max(for_the_fastest).ceil() as u64;
        iterations.clamp(1, base.iterations.max(1))
    } else {
        base.iterations
    };
    let group_ns: f64 = {
        let all: f64 = base.unroll_factors.iter().map(|&it| f64::from(it)).sum();
        iterations as f64 * slowest * all / base_factor
    };
    let fit = (MAX_ARM_NS / group_ns.max(1.0)) as u32;
    // Odd, so that the median is one of the values.
    let groups = DEFAULT_GROUPS.min(fit.max(MIN_GROUPS)).min(base.groups.max(MIN_GROUPS)) | 1;
    BatchPlan { iterations, groups, batch_ns: iterations as f64 * slowest, ..base.clone() }
}
