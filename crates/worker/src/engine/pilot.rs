//! The pilot: finds how an op is to be timed, once, for all later workers of its case.

use oscost_model::clock::Calibration;
use oscost_model::worker::{BatchPlan, Mode};

use super::clock::Clock;
use super::collect::{Collector, MAX_JITTER, batch_length_ns, min_batch_ns};
use super::covariates::Covariates;
use crate::bench::{OpError, Shape, Work};

/// Ops below this are unrolled: the loop and the clock would be a visible part of them.
const UNROLLED_BELOW_NS: f64 = 50.0;
/// Ops from here on are timed one by one: each fills a batch by itself.
const SINGLE_FROM_NS: f64 = 50_000.0;

/// Batches in a worker, odd: enough for a robust median. More would be time that further workers use
/// better, since workers differ more than batches do.
const GROUPS: u32 = 21;
/// Single shots are also wanted for their distribution: as many as fit into this time ...
const SINGLE_SHOTS_NS: f64 = 10_000_000.0;
/// ... but no more than this.
const MAX_SHOTS: u32 = 201;

/// The copies of mode U: four points of a line, so that the slope does not hang on two.
const UNROLLED: &[u32] = &[1, 2, 4, 8];
/// The sizes of mode T: once and twice the bytes.
const DOUBLED: &[u32] = &[1, 2];

/// Of figures that the work finds itself a worker takes at least so many: some of them take 10 ms,
/// and with fewer a worker has no value.
const MIN_OWN_VALUES: u32 = 5;
/// As many of them as fit into this time: over fifteen workers still enough for the 99th percentile.
const OWN_VALUES_NS: f64 = 5_000_000.0;

/// A reading this long is good enough for a plan: three of them twice would only take time.
const LONG_ENOUGH_NS: f64 = 50_000_000.0;

/// What is moved between two ends is moved in batches of several fills of what lies between them,
/// where these take no longer than this: a slope over one fill and two would tell of the sender
/// alone or of both ends, as it happens ...
const FILLS_NS: f64 = 3_000_000.0;
/// ... and else in batches of this length: a switch and a wake-up, some 5 us, are then a part in a
/// hundred of the shorter batch, and the slope holds what does not lie beyond it.
const FILLING_NS: f64 = 500_000.0;
/// Where no slope takes out how such a batch ends it is longer: its end is some 20 us, or 100 us
/// where that was lost.
const ENDING_NS: f64 = 3_000_000.0;
/// Groups that are longer than this are fewer ...
const LONG_GROUP_NS: f64 = 1_000_000.0;
/// ... odd as the others, and more than a worker needs for a value.
const LONG_GROUPS: u32 = 11;

/// No batch has more turns, whatever the op seems to cost: 2^32 turns take a second.
const MAX_ITERATIONS: u64 = 1 << 32;

/// Finds mode, turns and batch length for `work`.
pub fn pilot<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    interruptions_per_s: f64,
) -> Result<BatchPlan, OpError> {
    let length = |copies: &[u32]| batch_length_ns(clock, interruptions_per_s, copies).0;
    let most_ops = work.max_batch_ops();
    let repeated = |mode: Mode, turns: u64, copies: &[u32]| {
        let (batch_ns, coarse_clock) = batch_length_ns(clock, interruptions_per_s, copies);
        let most = max_iterations(most_ops, copies.iter().max().copied().unwrap_or(1));
        if turns <= most {
            let copies = copies.to_vec();
            return BatchPlan {
                mode,
                iterations: turns,
                unroll_factors: copies,
                groups: GROUPS,
                batch_ns,
                coarse_clock,
            };
        }
        // Shorter than it should be: where the clock's step or its cost shows then, it is said.
        let batch_ns = batch_ns * most as f64 / turns as f64;
        let coarse_clock = coarse_clock || batch_ns < min_batch_ns(clock, copies);
        let copies = copies.to_vec();
        BatchPlan {
            mode,
            iterations: most,
            unroll_factors: copies,
            groups: GROUPS,
            batch_ns,
            coarse_clock,
        }
    };
    // A single shot is as long as it is: no length is aimed at.
    let shot = |mode: Mode, op_ns: f64, groups: u32| {
        let copies = vec![1];
        BatchPlan {
            mode,
            iterations: 1,
            unroll_factors: copies,
            groups,
            batch_ns: op_ns,
            coarse_clock: false,
        }
    };
    match work.shape {
        Shape::Cold => Ok(shot(Mode::C, iteration_ns(collector, work, clock, 0.0)?, GROUPS)),
        Shape::SingleShot | Shape::OwnTicks => {
            let op_ns = iteration_ns(collector, work, clock, 0.0)?;
            Ok(shot(Mode::S, op_ns, shots(op_ns)))
        }
        Shape::OwnValue => {
            // Some take long, and only their number hangs on this.
            let op_ns = best_ns(collector, work, clock, 1)?;
            Ok(shot(Mode::F, op_ns, shots_in(OWN_VALUES_NS, MIN_OWN_VALUES, op_ns)))
        }
        Shape::Transfer => {
            let half = length(DOUBLED) / 2.0;
            let least = work.min_batch_ops();
            // What a few messages take is mostly the start: the first one waits for the other end.
            let (enough_ns, most) = if least > 1 { (FILLING_NS, least) } else { (half, u64::MAX) };
            let turn_ns = iteration_ns_up_to(collector, work, clock, (enough_ns, most))?;
            let filling = if turn_ns * least as f64 > FILLS_NS { FILLING_NS } else { FILLS_NS };
            let turns =
                iterations_for(half, turn_ns).max(least.min(iterations_for(filling, turn_ns)));
            let plan = repeated(Mode::T, turns, DOUBLED);
            let batch_ns = plan.batch_ns.max(2.0 * turns as f64 * turn_ns);
            let group_ns = 1.5 * batch_ns;
            let groups = if group_ns > LONG_GROUP_NS { LONG_GROUPS } else { GROUPS };
            Ok(BatchPlan { groups, batch_ns, ..plan })
        }
        Shape::WithLoop => {
            if work.min_batch_ops() > 1 {
                // So long that its end is a small part of what an op seems to cost.
                let op_ns = iteration_ns(collector, work, clock, ENDING_NS / 3.0)?;
                let enough = work.min_batch_ops().min(iterations_for(ENDING_NS, op_ns));
                let plan = repeated(Mode::B, enough.max(iterations_for(length(&[1]), op_ns)), &[1]);
                let batch_ns = plan.iterations as f64 * op_ns;
                return Ok(BatchPlan { groups: LONG_GROUPS, batch_ns, ..plan });
            }
            let op_ns = iteration_ns(collector, work, clock, length(&[1]) / 2.0)?;
            let plan = repeated(Mode::B, iterations_for(length(&[1]), op_ns), &[1]);
            // One op alone may be longer than what is aimed at, and more time is allowed for it.
            let batch_ns =
                if plan.iterations == 1 { plan.batch_ns.max(op_ns) } else { plan.batch_ns };
            Ok(BatchPlan { batch_ns, ..plan })
        }
        Shape::Repeat => {
            let op_ns = iteration_ns(collector, work, clock, length(&[1]) / 2.0)?;
            Ok(if op_ns < UNROLLED_BELOW_NS {
                let longest = f64::from(UNROLLED[UNROLLED.len() - 1]);
                repeated(Mode::U, iterations_for(length(UNROLLED), op_ns * longest), UNROLLED)
            } else if op_ns < SINGLE_FROM_NS {
                repeated(Mode::B, iterations_for(length(&[1]), op_ns), &[1])
            } else {
                shot(Mode::S, op_ns, shots(op_ns))
            })
        }
    }
}

/// What a turn of the loop costs, loop included: the batch grows until its best reading is at least
/// `enough_ns`, twice with the same number of turns. One reading that a preemption lengthened would
/// end the search ten times too early.
fn iteration_ns<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    enough_ns: f64,
) -> Result<f64, OpError> {
    iteration_ns_up_to(collector, work, clock, (enough_ns, MAX_ITERATIONS))
}

/// The same with at most so many turns.
fn iteration_ns_up_to<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    (enough_ns, most): (f64, u64),
) -> Result<f64, OpError> {
    let most = work.max_batch_ops().min(MAX_ITERATIONS).min(most);
    let mut turns = 1u64;
    let mut confirmed = false;
    loop {
        let best = best_ns(collector, work, clock, turns)?;
        if best >= enough_ns || turns >= most {
            if confirmed || best >= LONG_ENOUGH_NS {
                return Ok(best / turns as f64);
            }
            confirmed = true;
            continue;
        }
        confirmed = false;
        // As far as the reading says, a little beyond, and at most ten times.
        let factor = (1.2 * enough_ns / best.max(1.0)).clamp(1.5, 10.0);
        turns = ((turns as f64 * factor).ceil() as u64).min(most);
    }
}

/// The best of some readings of a batch: of three that were not preempted, as far as the account
/// shows; of all where there are none, since some ops switch by themselves.
pub(super) fn best_ns<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    turns: u64,
) -> Result<f64, OpError> {
    const UNDISTURBED: u32 = 3;
    const MOST_READINGS: u32 = 9;
    let (mut best, mut best_of_all, mut undisturbed) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..MOST_READINGS {
        work.prepare(turns)?;
        let before = collector.covariates.read().involuntary_switches;
        let start = collector.clock.start();
        work.run(turns, 1)?;
        let stop = collector.clock.stop();
        let after = collector.covariates.read().involuntary_switches;
        work.verify()?;
        let ticks = stop.wrapping_sub(start) as i64 as f64 - clock.inside_ticks;
        best_of_all = best_of_all.min(clock.ns(ticks));
        if before == after {
            best = best.min(clock.ns(ticks));
            undisturbed += 1;
        }
        if undisturbed == UNDISTURBED || best >= LONG_ENOUGH_NS && undisturbed > 0 {
            break;
        }
    }
    Ok(if undisturbed > 0 { best } else { best_of_all })
}

/// The turns of a batch that has at most so many ops, however it is cut; one at least.
fn max_iterations(most_ops: u64, copies: u32) -> u64 {
    (((most_ops / u64::from(copies)) as f64 / MAX_JITTER) as u64).max(1)
}

fn iterations_for(batch_ns: f64, turn_ns: f64) -> u64 {
    ((batch_ns / turn_ns.max(1e-3)).round() as u64).clamp(1, MAX_ITERATIONS)
}

fn shots(op_ns: f64) -> u32 {
    shots_in(SINGLE_SHOTS_NS, GROUPS, op_ns)
}

fn shots_in(time_ns: f64, fewest: u32, op_ns: f64) -> u32 {
    let fit = (time_ns / op_ns.max(1.0)) as u32;
    fit.clamp(fewest, MAX_SHOTS) | 1
}
