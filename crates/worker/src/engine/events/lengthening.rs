//! By how much counted batches must be longer so that what counting adds to a batch can be told apart
//! from what its ops add.
//!
//! What counting adds (the reads, and entering and leaving the kernel for them) is subtracted, so its
//! size does not matter; how far it varies does. It varies by as much whatever the length of a batch.

use oscost_model::counters::{CountedBatch, CounterEvent};
use oscost_model::worker::{BatchPlan, Mode};

use crate::engine::calibrate::median;
use crate::engine::collect::MAX_JITTER;

/// Counted batches become longer by at most this factor: they are a quarter of the timed ones.
const MAX_FACTOR: u64 = 8;
/// Nor do they become longer than this: the longer a batch is, the more of them an interrupt hits.
const MAX_BATCH_NS: f64 = 200_000.0;

/// More is not stated: an op that adds nothing has no length that would do.
const MAX_SHORT_BY: u64 = 1_000;

/// Events whose counts are added up, and the share of what ops add to them by which counting may
/// vary: a change of instructions is looked for down to a tenth of a per cent, and cycles vary by
/// more than a per cent anyway. Of other events an op may have none, and no length would do.
const QUANTITIES: [(&[CounterEvent], f64); 2] =
    [(&INSTRUCTIONS, 0.001), (&[CounterEvent::Cycles], 0.01)];

/// The events that count instructions, of which a set has those of both modes as one or as two.
pub(super) const INSTRUCTIONS: [CounterEvent; 3] =
    [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel, CounterEvent::Instructions];

/// A plan of counted batches that are as long as they must be, or may be.
pub(super) struct LengthenedPlan {
    pub(super) plan: BatchPlan,
    /// How many times longer they would have to be.
    pub(super) short_by: Option<u64>,
    /// Whether one op does work for many of them.
    pub(super) amortized: bool,
    /// Short batches of the same work, if those of the plan are over many ticks.
    pub(super) short: Option<Vec<CountedBatch>>,
}

/// By which factor batches of this plan can be longer, of work that allows so many ops in a batch;
/// `None` if they have one length. One op is not divided, and does not become several; transfers are
/// long already.
pub(super) fn max_factor(plan: &BatchPlan, max_ops: u64) -> Option<u64> {
    if !matches!(plan.mode, Mode::U | Mode::B) {
        return None;
    }
    let unroll = plan.unroll_factors.iter().copied().max().unwrap_or(1);
    let ops = MAX_JITTER * plan.iterations as f64 * f64::from(unroll);
    let by_ops = (max_ops as f64 / ops) as u64;
    let by_time = (MAX_BATCH_NS / plan.batch_ns) as u64;
    Some(MAX_FACTOR.min(by_ops).min(by_time).max(1))
}

/// By which factor batches are too short that need to be longer by one factor and can be by another;
/// `None` if they are not.
pub(super) fn short_by(needed: u64, max: u64) -> Option<u64> {
    (needed > max).then(|| needed.div_ceil(max).min(MAX_SHORT_BY))
}

/// The factor by which batches must be longer, as these without an op and this group of the plan show;
/// not bounded by what is possible.
pub(super) fn factor(
    events: &[CounterEvent],
    empty: &[CountedBatch],
    group: &[CountedBatch],
) -> u64 {
    let needed = QUANTITIES.iter().map(|&(of, share)| {
        let positions = positions(events, of);
        let sum = |batch: &CountedBatch| sum(batch, &positions);
        let reads: Vec<f64> = empty.iter().map(sum).collect();
        let varies = interquartile_range(&reads);
        let permitted = share * added_by_ops(group, &sum, &reads);
        if varies <= permitted.max(0.0) {
            return 1;
        }
        // Without a count of the ops no length is enough, and the longest possible is tried.
        if permitted > 0.0 { (varies / permitted).ceil() as u64 } else { u64::MAX }
    });
    needed.max().unwrap_or(1)
}

/// The positions in a set of those of some events that it has.
pub(super) fn positions(set: &[CounterEvent], of: &[CounterEvent]) -> Vec<usize> {
    of.iter().filter_map(|event| set.iter().position(|it| it == event)).collect()
}

/// The sum of some counts of a batch, by their positions.
pub(super) fn sum(batch: &CountedBatch, positions: &[usize]) -> f64 {
    positions.iter().map(|&at| batch.counts[at] as f64).sum()
}

/// What ops add to a batch; of a group of several sizes, to the difference of the largest and the
/// smallest, from which its slope is.
fn added_by_ops(group: &[CountedBatch], sum: &dyn Fn(&CountedBatch) -> f64, reads: &[f64]) -> f64 {
    let size = |batch: &&CountedBatch| batch.sample.n;
    match (group.iter().max_by_key(size), group.iter().min_by_key(size)) {
        (Some(largest), Some(smallest)) if group.len() > 1 => sum(largest) - sum(smallest),
        (Some(only), _) if !reads.is_empty() => sum(only) - median(reads.to_vec()),
        _ => 0.0,
    }
}

/// The range of the middle half: a few interrupted batches do not move it.
pub(super) fn interquartile_range(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = sorted.len() / 4;
    match (sorted.get(quartile), sorted.get((sorted.len() - quartile).saturating_sub(1))) {
        (Some(low), Some(high)) => high - low,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oscost_model::worker::Sample;

    const EVENTS: [CounterEvent; 3] = CounterEvent::WORK;

    fn batch(n: u64, counts: [u64; 3]) -> CountedBatch {
        let sample = Sample { n, ..Sample::default() };
        CountedBatch { sample, counts: counts.to_vec(), ..CountedBatch::default() }
    }

    /// Nine batches without an op, of which the instructions vary from 900 to 900 + `varies`, as a
    /// whole and in their middle half, and the cycles likewise.
    fn empty(insn: u64, cycles: u64) -> Vec<CountedBatch> {
        let at = |nth: u64| match nth {
            0..3 => 0,
            3..6 => 1,
            _ => 2,
        };
        let one = |nth| batch(0, [40, 900 + insn * at(nth) / 2, 1_000 + cycles * at(nth) / 2]);
        (0..9).map(one).collect()
    }

    #[test]
    fn a_batch_stays_as_it_is_where_counting_varies_by_less_than_is_looked_for() {
        let group = [batch(400, [24_040, 96_960, 130_000])];
        assert_eq!(factor(&EVENTS, &empty(0, 0), &group), 1);
        // A thousandth of 120,000 instructions, and less than a hundredth of 128,400 cycles.
        assert_eq!(factor(&EVENTS, &empty(120, 1_200), &group), 1);
    }

    #[test]
    fn it_becomes_as_long_as_instructions_or_cycles_need_whichever_is_longer() {
        let group = [batch(400, [24_040, 96_960, 130_000])];
        assert_eq!(factor(&EVENTS, &empty(350, 0), &group), 3);
        assert_eq!(factor(&EVENTS, &empty(0, 5_000), &group), 4);
        assert_eq!(factor(&EVENTS, &empty(350, 5_000), &group), 4);
        let both = [CounterEvent::Instructions, CounterEvent::PageFaults, CounterEvent::TaskClock];
        let insn = [batch(400, [120_040, 0, 0])];
        let reads = [0, 0, 1, 1, 2, 2].map(|of| batch(0, [40 + 170 * of, 0, 0]));
        assert_eq!(factor(&both, &reads, &insn), 3);
        // Misses may be none, however long a batch is.
        let misses = [CounterEvent::L1dMisses, CounterEvent::PageFaults, CounterEvent::TaskClock];
        assert_eq!(factor(&misses, &empty(350, 5_000), &group), 1);
    }

    #[test]
    fn a_group_of_several_sizes_is_as_good_as_the_difference_of_its_ends() {
        let sizes = [1, 8, 2, 4].map(|of| batch(100 * of, [6_000 * of, 900, 13_000 * of]));
        // 42,000 instructions apart.
        assert_eq!(factor(&EVENTS, &empty(42, 0), &sizes), 1);
        assert_eq!(factor(&EVENTS, &empty(126, 0), &sizes), 3);
    }

    #[test]
    fn ops_without_a_count_have_no_length_that_is_enough_unless_counting_never_varies() {
        let none = [batch(400, [40, 900, 1_000])];
        assert_eq!(factor(&EVENTS, &empty(0, 0), &none), 1);
        assert_eq!(factor(&EVENTS, &empty(2, 0), &none), u64::MAX);
        // A count of nothing at all is no reason either.
        assert_eq!(factor(&EVENTS, &[], &[]), 1);
        // Two of nine that an interrupt hit are no variation.
        let mut hit = empty(0, 0);
        hit[0].counts[1] = 9_000;
        hit[8].counts[1] = 9_000;
        let group = [batch(400, [24_040, 96_960, 130_000])];
        assert_eq!(factor(&EVENTS, &hit, &group), 1);
    }

    #[test]
    fn batches_are_no_longer_than_their_work_an_interrupt_and_their_mode_allow() {
        let plan = |mode, iterations, batch_ns| BatchPlan {
            mode,
            iterations,
            unroll_factors: if mode == Mode::U { vec![1, 2, 4, 8] } else { vec![1] },
            groups: 5,
            batch_ns,
            coarse_clock: false,
        };
        assert_eq!(max_factor(&plan(Mode::B, 100, 12_500.0), u64::MAX), Some(8));
        assert_eq!(max_factor(&plan(Mode::U, 100, 12_500.0), u64::MAX), Some(8));
        // 110 ops with the jitter: three times as many are 330.
        assert_eq!(max_factor(&plan(Mode::B, 100, 12_500.0), 400), Some(3));
        assert_eq!(max_factor(&plan(Mode::U, 100, 12_500.0), 1_800), Some(2));
        assert_eq!(max_factor(&plan(Mode::B, 100, 50_000.0), u64::MAX), Some(4));
        assert_eq!(max_factor(&plan(Mode::B, 1, 900_000.0), u64::MAX), Some(1));
        for mode in [Mode::S, Mode::C, Mode::T, Mode::F] {
            assert_eq!(max_factor(&plan(mode, 1, 100.0), u64::MAX), None, "{mode:?}");
        }
    }

    #[test]
    fn batches_that_cannot_be_as_long_as_they_must_be_are_too_short_by_what_is_missing() {
        assert_eq!([(1, 1), (3, 8), (8, 8)].map(|(needed, max)| short_by(needed, max)), [None; 3]);
        assert_eq!(short_by(9, 8), Some(2));
        assert_eq!(short_by(3, 1), Some(3));
        assert_eq!(short_by(u64::MAX, 8), Some(1_000));
    }
}
