//! The pilot: finds how to time an op, once, for all later workers of its case.

use oscost_model::clock::Calibration;
use oscost_model::worker::{BatchPlan, Mode};

use super::clock::Clock;
use super::collect::{BatchLength, Collector, MAX_JITTER, batch_length, min_batch_ns};
use super::covariates::Covariates;
use crate::bench::{OpError, Shape, Work};

/// Ops shorter than this are unrolled: the loop and the clock would be a visible part of their
/// time.
const UNROLLED_BELOW_NS: f64 = 50.0;
/// Ops from this length on are timed one by one: each fills a batch by itself.
const SINGLE_FROM_NS: f64 = 50_000.0;

/// Groups in a worker: odd, and enough for a robust median. Additional workers are a better use of
/// the time than more groups, since workers differ more than batches do.
const GROUPS: u32 = 21;
/// Single shots also show a distribution: as many as fit into this time ...
const SINGLE_SHOTS_NS: f64 = 10_000_000.0;
/// ... but at most this many.
const MAX_SHOTS: u32 = 201;

/// The unroll factors of mode U: four points of a line, so that the slope does not depend on two.
const UNROLLED: &[u32] = &[1, 2, 4, 8];
/// The sizes of mode T: once and twice the bytes.
const DOUBLED: &[u32] = &[1, 2];

/// A worker takes at least this many own values, although some take 10 ms: with fewer it has no
/// figure.
const MIN_OWN_VALUES: u32 = 5;
/// As many own values as fit into this time: over fifteen workers enough for the 99th percentile.
const OWN_VALUES_NS: f64 = 5_000_000.0;

/// Passes over a file: as many as fit into this time, since each is a mean of its many reads. A pass
/// of seconds (128 MiB in reads of 8 bytes) is made once.
const PASSES_NS: f64 = 100_000_000.0;

/// A reading of this length is good enough for a plan and is not repeated ...
const LONG_ENOUGH_NS: f64 = 50_000_000.0;
/// ... and one of this length not even if it was preempted: no time slice is a large part of it.
const LONG_DESPITE_PREEMPTION_NS: f64 = 500_000_000.0;

/// Batches of a transfer fill the buffer between the two ends several times, if that takes no
/// longer than this: a slope over one and two fills could show the sender alone or both ends ...
const FILLS_NS: f64 = 3_000_000.0;
/// ... and otherwise have this length: a context switch and a wakeup, some 5 us, are then 1 % of
/// the shorter batch.
const FILLING_NS: f64 = 500_000.0;
/// Without a slope, which would cancel the end of a batch, batches are longer: the end takes some
/// 20 us, or 100 us after a lost message.
const ENDING_NS: f64 = 3_000_000.0;
/// If groups are longer than this, a worker has fewer of them ...
const LONG_GROUP_NS: f64 = 1_000_000.0;
/// ... odd again, and more than a worker needs for a figure.
const LONG_GROUPS: u32 = 11;

/// The maximum number of iterations, whatever the op seems to cost: 2^32 empty ones take a second.
const MAX_ITERATIONS: u64 = 1 << 32;

/// Finds mode, iterations and batch length for `work`.
pub fn pilot<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    interruptions_per_s: f64,
) -> Result<BatchPlan, OpError> {
    let length =
        |unroll_factors: &[u32]| batch_length(clock, interruptions_per_s, unroll_factors).ns;
    let max_ops = work.max_batch_ops();
    let repeated = |mode: Mode, iterations: u64, unroll_factors: &[u32]| {
        let BatchLength { ns: batch_ns, coarse_clock } =
            batch_length(clock, interruptions_per_s, unroll_factors);
        let max = max_iterations(max_ops, unroll_factors.iter().max().copied().unwrap_or(1));
        if iterations <= max {
            let unroll_factors = unroll_factors.to_vec();
            return BatchPlan {
                mode,
                iterations,
                unroll_factors,
                groups: GROUPS,
                batch_ns,
                coarse_clock,
            };
        }
        // Shorter than it should be: if the clock's step or its cost then matters, the plan says
        // so.
        let batch_ns = batch_ns * max as f64 / iterations as f64;
        let coarse_clock = coarse_clock || batch_ns < min_batch_ns(clock, unroll_factors);
        let unroll_factors = unroll_factors.to_vec();
        BatchPlan { mode, iterations: max, unroll_factors, groups: GROUPS, batch_ns, coarse_clock }
    };
    // A single shot has no target length.
    let shot = |mode: Mode, op_ns: f64, groups: u32| {
        let unroll_factors = vec![1];
        BatchPlan {
            mode,
            iterations: 1,
            unroll_factors,
            groups,
            batch_ns: op_ns,
            coarse_clock: false,
        }
    };
    match work.shape {
        Shape::Cold => {
            let op_ns = iteration_ns(collector, work, clock, 0.0)?;
            let groups = if work.op_count() > 1 { passes(op_ns) } else { GROUPS };
            Ok(shot(Mode::C, op_ns, groups))
        }
        Shape::SingleShot | Shape::OwnTicks => {
            let op_ns = iteration_ns(collector, work, clock, 0.0)?;
            Ok(shot(Mode::S, op_ns, shots(op_ns)))
        }
        Shape::OwnValue => {
            // Some take long, and only their number depends on this.
            let op_ns = best_ns(collector, work, clock, 1)?;
            Ok(shot(Mode::F, op_ns, shots_in(OWN_VALUES_NS, MIN_OWN_VALUES, op_ns)))
        }
        Shape::Transfer => {
            let half = length(DOUBLED) / 2.0;
            let min_ops = work.min_batch_ops();
            // The time of a few messages is mostly start-up: the first one waits for the other end.
            let (target_ns, max) =
                if min_ops > 1 { (FILLING_NS, min_ops) } else { (half, u64::MAX) };
            let iteration_ns = iteration_ns_up_to(collector, work, clock, target_ns, max)?;
            let filling =
                if iteration_ns * min_ops as f64 > FILLS_NS { FILLING_NS } else { FILLS_NS };
            let iterations = iterations_for(half, iteration_ns)
                .max(min_ops.min(iterations_for(filling, iteration_ns)));
            let plan = repeated(Mode::T, iterations, DOUBLED);
            let batch_ns = plan.batch_ns.max(2.0 * iterations as f64 * iteration_ns);
            let group_ns = 1.5 * batch_ns;
            let groups = if group_ns > LONG_GROUP_NS { LONG_GROUPS } else { GROUPS };
            Ok(BatchPlan { groups, batch_ns, ..plan })
        }
        Shape::WithLoop => {
            if work.min_batch_ops() > 1 {
                // So long that its end is a small part of the time.
                let op_ns = iteration_ns(collector, work, clock, ENDING_NS / 3.0)?;
                let enough = work.min_batch_ops().min(iterations_for(ENDING_NS, op_ns));
                let plan = repeated(Mode::B, enough.max(iterations_for(length(&[1]), op_ns)), &[1]);
                let batch_ns = plan.iterations as f64 * op_ns;
                return Ok(BatchPlan { groups: LONG_GROUPS, batch_ns, ..plan });
            }
            let op_ns = iteration_ns(collector, work, clock, length(&[1]) / 2.0)?;
            let plan = repeated(Mode::B, iterations_for(length(&[1]), op_ns), &[1]);
            // One op alone may exceed the target length; the plan allows more time for it.
            let batch_ns =
                if plan.iterations == 1 { plan.batch_ns.max(op_ns) } else { plan.batch_ns };
            Ok(BatchPlan { batch_ns, ..plan })
        }
        Shape::Repeat => {
            let op_ns = iteration_ns(collector, work, clock, length(&[1]) / 2.0)?;
            Ok(if op_ns < UNROLLED_BELOW_NS {
                let max_unroll = f64::from(UNROLLED[UNROLLED.len() - 1]);
                repeated(Mode::U, iterations_for(length(UNROLLED), op_ns * max_unroll), UNROLLED)
            } else if op_ns < SINGLE_FROM_NS {
                repeated(Mode::B, iterations_for(length(&[1]), op_ns), &[1])
            } else {
                shot(Mode::S, op_ns, shots(op_ns))
            })
        }
    }
}

/// The cost of an iteration, loop included: the batch grows until its best reading is at least
/// `target_ns`, twice with the same number of iterations. A single reading that a preemption
/// lengthened would end the search ten times too early.
fn iteration_ns<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    target_ns: f64,
) -> Result<f64, OpError> {
    iteration_ns_up_to(collector, work, clock, target_ns, MAX_ITERATIONS)
}

/// The same with a maximum number of iterations.
fn iteration_ns_up_to<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    target_ns: f64,
    max: u64,
) -> Result<f64, OpError> {
    let max = work.max_batch_ops().min(MAX_ITERATIONS).min(max);
    let mut iterations = 1u64;
    let mut confirmed = false;
    loop {
        let best = best_ns(collector, work, clock, iterations)?;
        if best >= target_ns || iterations >= max {
            if confirmed || best >= LONG_ENOUGH_NS {
                return Ok(best / iterations as f64);
            }
            confirmed = true;
            continue;
        }
        confirmed = false;
        // As the reading predicts, with a margin, and at most by a factor of ten.
        let factor = (1.2 * target_ns / best.max(1.0)).clamp(1.5, 10.0);
        iterations = ((iterations as f64 * factor).ceil() as u64).min(max);
    }
}

/// The best of several readings of a batch: of three without involuntary switches; of all if there
/// are none, since some ops block by themselves.
pub(super) fn best_ns<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    iterations: u64,
) -> Result<f64, OpError> {
    const UNDISTURBED: u32 = 3;
    const MAX_READINGS: u32 = 9;
    let (mut best, mut best_of_all, mut undisturbed) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..MAX_READINGS {
        work.prepare(iterations)?;
        let before = collector.covariates.read().involuntary_switches;
        let start = collector.clock.start();
        work.run(iterations, 1)?;
        let stop = collector.clock.stop();
        let after = collector.covariates.read().involuntary_switches;
        work.verify()?;
        let ticks = stop.wrapping_sub(start) as i64 as f64 - clock.inside_ticks;
        best_of_all = best_of_all.min(clock.ns(ticks));
        if before == after {
            best = best.min(clock.ns(ticks));
            undisturbed += 1;
        }
        let is_long = best >= LONG_ENOUGH_NS && undisturbed > 0;
        if undisturbed == UNDISTURBED || is_long || best_of_all >= LONG_DESPITE_PREEMPTION_NS {
            break;
        }
    }
    Ok(if undisturbed > 0 { best } else { best_of_all })
}

/// The iterations of a batch that may have at most `max_ops` ops, jitter included; at least one.
fn max_iterations(max_ops: u64, unroll_factors: u32) -> u64 {
    (((max_ops / u64::from(unroll_factors)) as f64 / MAX_JITTER) as u64).max(1)
}

fn iterations_for(batch_ns: f64, iteration_ns: f64) -> u64 {
    ((batch_ns / iteration_ns.max(1e-3)).round() as u64).clamp(1, MAX_ITERATIONS)
}

fn shots(op_ns: f64) -> u32 {
    shots_in(SINGLE_SHOTS_NS, GROUPS, op_ns)
}

/// The number of passes of this length in a worker.
fn passes(pass_ns: f64) -> u32 {
    let fit = (PASSES_NS / pass_ns.max(1.0)) as u32;
    fit.clamp(1, GROUPS) | 1
}

fn shots_in(time_ns: f64, min: u32, op_ns: f64) -> u32 {
    let fit = (time_ns / op_ns.max(1.0)) as u32;
    fit.clamp(min, MAX_SHOTS) | 1
}
