//! Calibration: a clock's step, cost and rate.

use std::collections::BTreeMap;

use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::fault_injection::{InjectedFault, is_injected};

use super::clock::Clock;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::time::clock_sync::{self, SyncWindow};

/// The rate is measured over this time, to some 2 parts in a million. The end of the run gives a
/// longer baseline.
const RATE_NS: u64 = 20_000_000;

/// A calibrated clock.
#[derive(Clone, Copy, Debug)]
pub struct CalibratedClock {
    /// Its step, cost and rate.
    pub calibration: Calibration,
    /// The last sync point of the calibration.
    pub sync: ClockSync,
}

/// Calibrates `clock`.
pub fn calibrate<C: Clock>(clock: &mut C) -> Option<CalibratedClock> {
    let first = sync(clock);
    let quantum_ticks = quantum(clock)?;
    let inside_ticks = inside(clock);
    let pair_ticks = pair(clock);
    while clock.raw_ns() - first.raw_ns < RATE_NS {
        clock.chain(800); // Busy, so that the core keeps its frequency.
    }
    let last = sync(clock);
    let ticks_per_ns = first.ticks_per_ns(&last)?;
    let kind = clock.kind();
    let calibration = Calibration { kind, ticks_per_ns, quantum_ticks, inside_ticks, pair_ticks };
    Some(CalibratedClock { calibration, sync: last })
}

/// Simultaneous readings of `clock` and of CLOCK_MONOTONIC_RAW: the narrowest of 50 windows.
pub fn sync<C: Clock>(clock: &mut C) -> ClockSync {
    clock_sync::narrowest(|| SyncWindow {
        opened_ticks: clock.start(),
        raw_ns: clock.raw_ns(),
        closed_ticks: clock.stop(),
    })
}

/// q, the clock's step.
///
/// If two consecutive reads often return the same value, the clock is coarser than its own read,
/// and the step is the smallest difference of at least one pair in a hundred. Not the smallest of
/// all: if a hypervisor scales the counter, a rare difference of 1 tick is rounding, and the
/// greatest common divisor is 1 whatever the step is. If a read takes longer than a step, the
/// differences are the read's cost in whole steps, and the step is their spacing.
pub fn quantum<C: Clock>(clock: &mut C) -> Option<f64> {
    const READS: usize = 300_000;
    // No counting between two reads: it would be part of the difference.
    let mut reads = vec![0u64; READS + 1];
    for read in &mut reads {
        *read = clock.plain();
    }
    // Longer differences are gaps; they would only fill the table.
    let mut times = vec![0u64; 100_000];
    for pair in reads.windows(2) {
        let step = pair[1].wrapping_sub(pair[0]);
        if let Some(times) = usize::try_from(step).ok().and_then(|step| times.get_mut(step)) {
            *times += 1;
        }
    }
    let counts = (0..).zip(times).filter(|&(_, times)| times > 0).collect();
    step(&counts, READS as u64 / 100)
}

/// The step of a clock, from the number of times that each difference occurred; fewer than
/// `min_count` are rounding or chance.
///
/// If a hypervisor scales the counter, rounding may be frequent: of reads in steps of 26 one in
/// fifty was a tick late, and the differences were 26, 25 and 1. No clock can be read within one or
/// two of its ticks, so differences that small mean that it did not advance.
fn step(counts: &BTreeMap<u64, u64>, min_count: u64) -> Option<f64> {
    const ROUNDING: u64 = 2;
    let mut nonzero = counts.iter().filter(|&(&ticks, _)| ticks > 0);
    let first = nonzero.next().map(|(&ticks, _)| ticks)?;
    if is_injected(InjectedFault::SmallestStep) {
        return Some(first as f64);
    }
    let stands_still = counts.range(..=ROUNDING).map(|(_, &count)| count).sum::<u64>() >= min_count;
    let frequent: Vec<u64> = counts
        .range(ROUNDING + 1..)
        .filter(|&(_, &count)| count >= min_count)
        .map(|(&ticks, _)| ticks)
        .collect();
    let Some(&smallest) = frequent.first() else { return Some(first as f64) };
    // One step shows as two or three differences: as the most frequent one.
    let one_step = counts.range(smallest..=smallest + smallest / 5);
    let most_frequent =
        one_step.max_by_key(|&(_, &count)| count).map_or(smallest, |(&ticks, _)| ticks);
    Some(if stands_still {
        most_frequent as f64
    } else {
        spacing(&frequent).unwrap_or(most_frequent as f64)
    })
}

/// The distance between neighbouring clusters of `values`. With a single cluster: a narrow one is
/// the step itself, since a read takes one step; a wide one is a clock finer than its read, and the
/// step is the distance between its values.
///
/// Values belong to a cluster if they are within a fifth of the smallest value of their neighbour:
/// a step of 10 ns shows as 9, 10 and 11 if the clock is scaled.
fn spacing(values: &[u64]) -> Option<f64> {
    let width = values.first()? / 5;
    let clusters: Vec<&[u64]> = values.chunk_by(|one, other| other - one <= width).collect();
    let middle = |cluster: &[u64]| cluster.iter().sum::<u64>() as f64 / cluster.len() as f64;
    let min_distance = |pairs: &mut dyn Iterator<Item = f64>| pairs.reduce(f64::min);
    match clusters[..] {
        [single] if single[single.len() - 1] - single[0] <= single[0] / 7 => Some(middle(single)),
        [single] => min_distance(&mut single.windows(2).map(|pair| (pair[1] - pair[0]) as f64)),
        _ => min_distance(&mut clusters.windows(2).map(|pair| middle(pair[1]) - middle(pair[0]))),
    }
}

/// c_in: the reading of an empty window, as the median of many short means.
///
/// A mean, since single readings are whole quanta and only their mean is unbiased; a median of
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
    median(means.collect())
}

/// c_tot: the cost of a pair of reads to the program, as the slope between k and 2k pairs.
fn pair<C: Clock>(clock: &mut C) -> f64 {
    const PAIRS: u32 = 200;
    let mut chain = |pairs: u32| {
        let start = clock.start();
        for _ in 0..pairs {
            consume(clock.start());
            consume(clock.stop());
        }
        clock.stop().wrapping_sub(start) as i64 as f64
    };
    let slopes = (0..51).map(|_| {
        let once = chain(PAIRS);
        (chain(2 * PAIRS) - once) / f64::from(PAIRS)
    });
    median(slopes.collect())
}

/// The median.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::{spacing, step};

    #[test]
    fn the_step_of_a_slow_read_is_the_spacing_of_its_costs() {
        assert_eq!(spacing(&[19, 20, 21, 29, 30, 31]), Some(10.0));
        assert_eq!(spacing(&[160, 170, 180, 190]), Some(10.0));
        assert_eq!(spacing(&[20, 21, 22, 23]), Some(1.0));
        assert_eq!(spacing(&[25, 26, 27]), Some(26.0));
        assert_eq!(spacing(&[20]), Some(20.0));
        assert_eq!(spacing(&[]), None);
    }

    #[test]
    fn rounding_is_not_mistaken_for_a_step() {
        let of = |counts: &[(u64, u64)]| step(&counts.iter().copied().collect(), 3_000);
        // Observed on an EPYC guest: the counter steps by 26, and is sometimes a tick late.
        assert_eq!(of(&[(1, 6_658), (25, 6_649), (26, 286_103), (52, 315)]), Some(26.0));
        assert_eq!(of(&[(1, 2_162), (25, 2_114), (26, 294_970)]), Some(26.0));
        assert_eq!(of(&[(0, 100_000), (26, 190_000), (52, 9_000)]), Some(26.0));
        assert_eq!(of(&[(0, 299_990), (4_000_000, 2)]), Some(4_000_000.0));
        assert_eq!(of(&[(20, 100_000), (21, 100_000), (22, 60_000), (23, 39_000)]), Some(1.0));
        assert_eq!(of(&[(0, 300_000)]), None);
    }
}
