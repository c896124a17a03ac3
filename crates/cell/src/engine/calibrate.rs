//! What a clock's step, cost and rate are.

use std::collections::BTreeMap;

use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::sins::{Sin, committing};

use super::clock::Clock;
use crate::sys::opaque::keep;

/// The rate is taken over this long: good to some 2 parts in a million. The run's end gives the
/// long baseline.
const RATE_NS: u64 = 20_000_000;

/// Learns all about `clock`; its last moment comes with it.
pub fn calibrate<C: Clock>(clock: &mut C) -> Option<(Calibration, ClockSync)> {
    let first = sync(clock);
    let quantum_ticks = quantum(clock)?;
    let inside_ticks = inside(clock);
    let pair_ticks = pair(clock);
    while clock.raw_ns() - first.raw_ns < RATE_NS {
        clock.chain(800); // Busy, so that the core stays at its rate.
    }
    let last = sync(clock);
    let ticks_per_ns = first.ticks_per_ns(&last)?;
    let kind = clock.kind();
    Some((Calibration { kind, ticks_per_ns, quantum_ticks, inside_ticks, pair_ticks }, last))
}

/// One moment on both clocks: the best of 50 readings.
pub fn sync<C: Clock>(clock: &mut C) -> ClockSync {
    let mut best = ClockSync { ticks: 0, raw_ns: 0, width_ticks: u64::MAX };
    for _ in 0..50 {
        let before = clock.start();
        let raw_ns = clock.raw_ns();
        let width_ticks = clock.stop().wrapping_sub(before);
        if width_ticks < best.width_ticks {
            best = ClockSync { ticks: before + width_ticks / 2, raw_ns, width_ticks };
        }
    }
    best
}

/// q, the clock's step: the smallest non-zero difference of two reads in a row that at least one
/// in a hundred of them shows.
///
/// Not the smallest of all: where a hypervisor scales the counter, a rare difference of 1 tick is
/// rounding, and the greatest common divisor is 1 whatever the step is.
pub fn quantum<C: Clock>(clock: &mut C) -> Option<f64> {
    const READS: u64 = 300_000;
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last = clock.plain();
    for _ in 0..READS {
        let now = clock.plain();
        // Longer differences are gaps; they would only fill the table.
        if let 1..100_000 = now.wrapping_sub(last) {
            *seen.entry(now - last).or_default() += 1;
        }
        last = now;
    }
    if committing(Sin::SmallestStep) {
        return seen.keys().next().map(|&ticks| ticks as f64);
    }
    let often =
        seen.iter().find(|&(_, &count)| count >= READS / 100).map(|(&ticks, _)| ticks as f64);
    // A clock finer than its own read shows many different steps, none of them often.
    often.or_else(|| seen.keys().next().map(|&ticks| ticks as f64))
}

/// c_in: what an empty window shows, as the median over many short means.
///
/// A mean, since single readings are whole quanta and only their mean is unbiased; a median over
/// means, since an interruption in one of them is not the clock's cost.
pub fn inside<C: Clock>(clock: &mut C) -> f64 {
    const MEANS: usize = 101;
    const READINGS: u32 = 200;
    let means = (0..MEANS).map(|_| {
        let total: f64 = (0..READINGS)
            .map(|_| {
                let start = clock.start();
                clock.stop().wrapping_sub(start) as i64 as f64
            })
            .sum();
        total / f64::from(READINGS)
    });
    middle(means.collect())
}

/// c_tot: what a pair of reads costs the program, as the slope between chains of k and of 2k pairs.
fn pair<C: Clock>(clock: &mut C) -> f64 {
    const PAIRS: u32 = 200;
    let mut chain = |pairs: u32| {
        let begun = clock.start();
        for _ in 0..pairs {
            keep(clock.start());
            keep(clock.stop());
        }
        clock.stop().wrapping_sub(begun) as i64 as f64
    };
    let slopes = (0..51).map(|_| {
        let once = chain(PAIRS);
        (chain(2 * PAIRS) - once) / f64::from(PAIRS)
    });
    middle(slopes.collect())
}

/// The middle one.
pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
