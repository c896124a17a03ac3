//! Where instructions are counted: what a plan is then, and batches that no tick falls into.
//!
//! A tick of the clock is an instruction, so nothing is timed together to be long against the step
//! of the clock. What would differ from one worker to the next is the kernel's own tick, which comes
//! every so many instructions whatever runs, and what else wants to run: each batch begins just
//! behind a tick, after a sleep.

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::worker::{BatchPlan, Mode};

use super::clock::Clock;
use super::collect::Collector;
use super::covariates::Covariates;
use super::{calibrate, pilot};
use crate::bench::{OpError, Shape, Work};
use crate::kernel::counter;

/// Some ops, and twice as many: what lies between them is the ops alone, without clock and loop, and
/// without what only the first ones pay after a sleep.
const ONCE_AND_TWICE: &[u32] = &[1, 2];
/// Ops in the smaller batch, where all fit between two ticks: a list in the kernel that is filled up
/// with every tenth op is then in most batches alike.
const MAX_ITERATIONS: u64 = 16;
/// What a batch should be shorter than, as a share of what lies between two ticks.
const MAX_TICK_SHARE: f64 = 0.5;
/// Groups of batches in a worker: what ops come to mostly is seen in these, and how often they come to
/// something else.
const GROUPS: u32 = 41;
/// Fewer, but odd, where they would take longer than this: a third of a second of an emulator. More
/// than a worker needs for a value, since one may be spoilt.
const MAX_WORKER_NS: f64 = 1e8;
const MIN_GROUPS: u32 = 9;
/// Of what is moved a batch holds many messages, but no more than these bytes if that is enough ...
const MAX_MOVED_BYTES: u64 = 1 << 20;
const MAX_MESSAGES: u64 = 64;
/// ... for so many messages.
const MIN_MESSAGES: u64 = 4;
/// Where the ops of a batch wait for nobody until its end they are more.
const MAX_FILL_MESSAGES: u64 = 128;

/// How the ops of `work` are counted. What it hangs on is the definition alone, as far as can be: a
/// plan that is found by the clock would be another one for another kernel, and with it the figure.
/// `bytes` are those of a message, of work that moves some.
pub fn plan<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    (bytes, period_ns): (u64, u64),
) -> Result<BatchPlan, OpError> {
    let (mode, copies) = match work.shape {
        Shape::Cold => (Mode::C, &[1][..]),
        Shape::OwnValue => (Mode::F, &[1][..]),
        Shape::OwnTicks => (Mode::S, &[1][..]),
        Shape::Transfer => (Mode::T, ONCE_AND_TWICE),
        // What comes before a batch may provide for one op only, or for the first of them.
        Shape::SingleShot if work.has_preparation() => (Mode::S, &[1][..]),
        _ if work.max_batch_ops() < 2 => (Mode::S, &[1][..]),
        _ => (Mode::U, ONCE_AND_TWICE),
    };
    let most = copies.iter().max().copied().unwrap_or(1);
    let messages = |most: u64| (MAX_MOVED_BYTES / bytes.max(1)).clamp(MIN_MESSAGES, most);
    let turns = match mode {
        // A turn is a byte, or what is worth some.
        Mode::T => bytes * messages(MAX_MESSAGES) / work.op_count(),
        // What lies between two ends is filled in both batches alike.
        Mode::U if work.min_batch_ops() > 1 => {
            work.min_batch_ops().min(messages(MAX_FILL_MESSAGES))
        }
        Mode::U => {
            let two_ns = pilot::best_ns(collector, work, clock, 2)?;
            let room_ns = MAX_TICK_SHARE * period_ns as f64;
            let fits = |turns: u64| two_ns * turns as f64 <= room_ns;
            let powers = std::iter::successors(Some(MAX_ITERATIONS), |turns| Some(turns / 2));
            powers.take_while(|&turns| turns > 1).find(|&turns| fits(turns)).unwrap_or(1)
        }
        _ => 1,
    };
    let turns = turns.clamp(1, (work.max_batch_ops() / u64::from(most)).max(1));
    let batch_ns = pilot::best_ns(collector, work, clock, turns * u64::from(most))?;
    let fit = (MAX_WORKER_NS / (1.5 * batch_ns).max(1.0)) as u32;
    Ok(BatchPlan {
        mode,
        iterations: turns,
        unroll_factors: copies.to_vec(),
        groups: fit.clamp(MIN_GROUPS, GROUPS) | 1,
        batch_ns,
        coarse_clock: false,
    })
}

/// What was found of a counter, as one of instructions: how many of them the kernel takes for a
/// nanosecond is its own estimate of a rate, and none of ours.
pub fn as_instructions(found: Calibration) -> Calibration {
    Calibration { kind: ClockKind::Instructions, ticks_per_ns: 1.0, ..found }
}

/// Whether a tick of this clock is an instruction: a hundred more of them show as a hundred more,
/// and an empty window always as the same.
pub fn counts_instructions<C: Clock>(clock: &mut C) -> bool {
    const WINDOWS: usize = 101;
    let mut windows = |what: fn()| {
        let counts = (0..WINDOWS).map(|_| {
            let start = clock.start();
            what();
            clock.stop().wrapping_sub(start) as i64 as f64
        });
        let counts: Vec<f64> = counts.collect();
        let middle = calibrate::median(counts.clone());
        // A tick may fall into one of them.
        let alike = counts.iter().filter(|&&count| count == middle).count();
        (middle, alike + 1 >= WINDOWS)
    };
    let (with, of_with) = windows(counter::hundred_nops);
    let (without, of_without) = windows(|| ());
    of_with && of_without && with - without == 100.0
}
