//! Gaps: how often the CPU is taken away, whatever the cause.

use oscost_model::protocol::CpuProbe;

use super::clock::Clock;
use super::covariates::Covariates;
use crate::kernel::cpu::dependent_chain::CYCLES_PER_LINK;

/// The cycles of one of the two chains that show the core's rate; the other one has twice as many.
/// 8 us at 3 GHz.
const CHAIN_CYCLES: f64 = 24_000.0;
/// A clock with a step of a larger part of that does not show the rate: each reading may be wrong by
/// a step.
const MAX_STEP_SHARE: f64 = 0.01;

/// Spins for `spin_ns` and records gaps between two reads of the clock.
///
/// It detects what no counter of a guest shows: system management mode, exits to the hypervisor,
/// unaccounted steal. It also ramps up the frequency for the workers that follow.
pub fn find_gaps<C: Clock, V: Covariates>(
    clock: &mut C,
    covariates: &mut V,
    cpu: u32,
    spin_ns: u64,
    ticks_per_ns: f64,
) -> CpuProbe {
    let one_us = (1_000.0 * ticks_per_ns) as u64;
    let spin = (spin_ns as f64 * ticks_per_ns) as u64;
    let delay_before = covariates.run_delay_ns();
    let (mut gaps_over_1us, mut gaps_over_5us, mut lost_ticks, mut max_gap) = (0, 0, 0u64, 0u64);
    let start = clock.plain();
    let mut last = start;
    while last.wrapping_sub(start) < spin {
        let now = clock.plain();
        // A backward step shows as a gap of nearly 2^64; the clock check handles it.
        let gap = now.wrapping_sub(last);
        if gap > one_us && gap < u64::MAX / 2 {
            gaps_over_1us += 1;
            gaps_over_5us += u64::from(gap > 5 * one_us);
            lost_ticks += gap;
            max_gap = max_gap.max(gap);
        }
        last = now;
    }
    let delay_after = covariates.run_delay_ns();
    let ns = |ticks: u64| (ticks as f64 / ticks_per_ns) as u64;
    CpuProbe {
        cpu,
        spin_ns: ns(last.wrapping_sub(start)),
        gaps_over_1us,
        gaps_over_5us,
        lost_ns: ns(lost_ticks),
        max_gap_ns: ns(max_gap),
        run_delay_ns: delay_after.zip(delay_before).map(|(now, then)| now.saturating_sub(then)),
        core_cycles_per_ns: None,
    }
}

/// The core's frequency in cycles per nanosecond, estimated from a chain of known latency.
///
/// Two lengths, so that the costs of the clock and the call cancel; the best of so many tries, since
/// an interruption can only add time.
pub fn core_cycles_per_ns<C: Clock>(clock: &mut C, ticks_per_ns: f64, tries: u32) -> Option<f64> {
    let links = (CHAIN_CYCLES / CYCLES_PER_LINK) as u64;
    let mut best = |links: u64| {
        (0..tries)
            .map(|_| {
                let start = clock.start();
                clock.chain(links);
                clock.stop().wrapping_sub(start)
            })
            .min()
    };
    let (one, two) = (best(links)?, best(2 * links)?);
    let ns = two.checked_sub(one).filter(|&ticks| ticks > 0)? as f64 / ticks_per_ns;
    Some(CHAIN_CYCLES / ns)
}

/// Whether a clock of this step shows such a rate of the core.
pub fn shows_core_rate(step_ns: f64, cycles_per_ns: f64) -> bool {
    step_ns <= MAX_STEP_SHARE * CHAIN_CYCLES / cycles_per_ns
}
