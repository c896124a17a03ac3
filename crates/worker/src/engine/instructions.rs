//! Plans for counting instructions under an emulator.
//!
//! A tick of the clock is an instruction, so batches need not be long against the step of the
//! clock. What would differ between workers is the kernel's timer tick, which comes every so many
//! instructions, and other runnable tasks: each batch begins just after a tick, after a sleep.

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::worker::{BatchPlan, Mode};

use super::clock::Clock;
use super::collect::Collector;
use super::covariates::Covariates;
use super::{calibrate, pilot};
use crate::bench::{OpError, Shape, Work};
use crate::kernel::counter;

/// n ops and 2n ops: their difference is the cost of the ops alone, without clock and loop, and
/// without the additional cost of the first ones after a sleep.
const ONCE_AND_TWICE: &[u32] = &[1, 2];
/// Ops in the smaller batch, if they fit between two ticks: a kernel list that is refilled at every
/// tenth op is then in the same state in most batches.
const MAX_ITERATIONS: u64 = 16;
/// The maximum length of a batch, as a share of the time between two ticks.
const MAX_TICK_SHARE: f64 = 0.5;
/// Groups of batches in a worker: enough to show the most frequent count, and how often others
/// occur.
const GROUPS: u32 = 41;
/// Fewer groups, but an odd number, if they would take longer than this: a third of a second of an
/// emulator. The minimum is more than a worker needs, since one may be invalid.
const MAX_WORKER_NS: f64 = 1e8;
const MIN_GROUPS: u32 = 9;
/// A batch of a transfer has many messages, but no more bytes than this, if that is enough ...
const MAX_MOVED_BYTES: u64 = 1 << 20;
const MAX_MESSAGES: u64 = 64;
/// ... for this many messages.
const MIN_MESSAGES: u64 = 4;
/// The number is higher if the ops do not wait for the other end until the end of the batch.
const MAX_FILL_MESSAGES: u64 = 128;

/// The plan for counting the ops of `work`. It depends on the definition alone, as far as possible:
/// a plan derived from times would differ between kernels, and with it the figure. `bytes` is the
/// size of a message, for work that moves bytes.
pub fn plan<C: Clock, V: Covariates>(
    collector: &mut Collector<C, V>,
    work: &mut Work,
    clock: &Calibration,
    bytes: u64,
    period_ns: u64,
) -> Result<BatchPlan, OpError> {
    let (mode, unroll_factors) = match work.shape {
        Shape::Cold => (Mode::C, &[1][..]),
        Shape::OwnValue => (Mode::F, &[1][..]),
        Shape::OwnTicks => (Mode::S, &[1][..]),
        Shape::Transfer => (Mode::T, ONCE_AND_TWICE),
        // The preparation may provide for one op only, or for the first of them.
        Shape::SingleShot if work.has_preparation() => (Mode::S, &[1][..]),
        _ if work.max_batch_ops() < 2 => (Mode::S, &[1][..]),
        _ => (Mode::U, ONCE_AND_TWICE),
    };
    let max = unroll_factors.iter().max().copied().unwrap_or(1);
    let messages = |max: u64| (MAX_MOVED_BYTES / bytes.max(1)).clamp(MIN_MESSAGES, max);
    let iterations = match mode {
        // An iteration is a byte, or counts as several.
        Mode::T => bytes * messages(MAX_MESSAGES) / work.op_count(),
        // The buffer between the two ends is filled in both batches alike.
        Mode::U if work.min_batch_ops() > 1 => {
            work.min_batch_ops().min(messages(MAX_FILL_MESSAGES))
        }
        Mode::U => {
            let two_ns = pilot::best_ns(collector, work, clock, 2)?;
            let room_ns = MAX_TICK_SHARE * period_ns as f64;
            let fits = |iterations: u64| two_ns * iterations as f64 <= room_ns;
            let powers =
                std::iter::successors(Some(MAX_ITERATIONS), |iterations| Some(iterations / 2));
            powers
                .take_while(|&iterations| iterations > 1)
                .find(|&iterations| fits(iterations))
                .unwrap_or(1)
        }
        _ => 1,
    };
    let iterations = iterations.clamp(1, (work.max_batch_ops() / u64::from(max)).max(1));
    let batch_ns = pilot::best_ns(collector, work, clock, iterations * u64::from(max))?;
    let fit = (MAX_WORKER_NS / (1.5 * batch_ns).max(1.0)) as u32;
    Ok(BatchPlan {
        mode,
        iterations,
        unroll_factors: unroll_factors.to_vec(),
        groups: fit.clamp(MIN_GROUPS, GROUPS) | 1,
        batch_ns,
        coarse_clock: false,
    })
}

/// The calibration of a counter as one of instructions: the rate in nanoseconds does not apply.
pub fn as_instructions(calibration: Calibration) -> Calibration {
    Calibration { kind: ClockKind::Instructions, ticks_per_ns: 1.0, ..calibration }
}

/// Whether a tick of this clock is an instruction: a hundred more instructions show as a hundred
/// more ticks, and empty windows are all the same.
pub fn counts_instructions<C: Clock>(clock: &mut C) -> bool {
    const WINDOWS: usize = 101;
    let mut windows = |body: fn()| {
        let counts = (0..WINDOWS).map(|_| {
            let start = clock.start();
            body();
            clock.stop().wrapping_sub(start) as i64 as f64
        });
        let counts: Vec<f64> = counts.collect();
        let middle = calibrate::median(counts.clone());
        // The timer tick may hit one of them.
        let identical = counts.iter().filter(|&&count| count == middle).count();
        (middle, identical + 1 >= WINDOWS)
    };
    let (with, is_stable_with) = windows(counter::hundred_nops);
    let (without, is_stable_without) = windows(|| ());
    is_stable_with && is_stable_without && with - without == 100.0
}
