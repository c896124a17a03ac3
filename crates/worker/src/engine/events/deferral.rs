//! Work that the kernel does later for many ops: in softirqs at its ticks, and when a grace period of
//! RCU has ended, it frees what they have left behind.
//!
//! A batch of a few ops has none of it, nor have most batches of a millisecond. It is in the mean over
//! many ticks, if the same ops ran for some ticks before: what those left is then done in the place
//! of what the last ones leave.

use std::ops::RangeInclusive;

use oscost_model::counters::{CountedBatch, CounterEvent};
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::worker::{BatchPlan, Mode};

use super::lengthening::{INSTRUCTIONS, LengthenedPlan, positions, sum};
use super::source::CounterSource;
use super::windows::Windows;
use crate::bench::{OpError, Work};
use crate::engine::calibrate::median;
use crate::engine::clock::Clock;
use crate::engine::collect::{Collector, MAX_JITTER, SampleTag};
use crate::engine::covariates::Covariates;

/// Of these ops a batch of the plan has fewer. Shorter ones hardly leave anything to later, and what one
/// of them does for many is seen by comparing lengths.
const FEW_OPS: u64 = 16;
/// A batch takes about so long: what the kernel does while none counts is a few hundredths, and at a
/// thousand ticks a second half of the batches have none.
const BATCH_NS: f64 = 500_000.0;
/// It has at least so many ops, of which the reads around it are a small part ...
const MIN_BATCH_OPS: u64 = 8;
/// ... if these do not take longer than this.
const MAX_BATCH_NS: f64 = 2_000_000.0;
/// Work that does not allow as many ops as take so long would leave much between two batches.
const MIN_BATCH_NS: f64 = 250_000.0;
/// A long op is counted for so many ops ...
const OPS: f64 = 800.0;
/// ... but no longer than so many times the time that is given, and not at all if that has less than
/// a batch of few ops.
const MAX_LONGER: f64 = 4.0;
/// The ops before them take this share of their time: as long as three ticks at 250 a second, which a
/// grace period lasts.
const SETTLING_SHARE: f64 = 0.3;
/// Short batches, with whose median the mean of the long ones is compared.
const SHORT_BATCHES: usize = 11;
/// Long batches with more instructions per op than the short ones by this share have such work. Ticks
/// are a smaller one: some 6,000 instructions, 250 times a second, of at least 500 million.
const SHARE: f64 = 0.005;

/// The plan of batches that take at least so long together, of work that allows so many ops in a batch;
/// `None` if its ops are short, or cannot be counted so.
fn long_batches(plan: &BatchPlan, ops: RangeInclusive<u64>, total_ns: f64) -> Option<BatchPlan> {
    if plan.mode != Mode::B || plan.iterations >= FEW_OPS || *ops.start() > 1 {
        return None;
    }
    let op_ns = plan.batch_ns.max(1.0) / plan.iterations.max(1) as f64;
    let total_ns = (OPS * op_ns).max(total_ns).min(MAX_LONGER * total_ns);
    let max_ops = (*ops.end() as f64 / MAX_JITTER) as u64;
    let few_ops = MIN_BATCH_OPS.min((MAX_BATCH_NS / op_ns) as u64);
    let iterations = few_ops.max((BATCH_NS / op_ns) as u64).clamp(1, max_ops.max(1));
    let batch_ns = op_ns * iterations as f64;
    if batch_ns < MIN_BATCH_NS || total_ns < FEW_OPS as f64 * op_ns {
        return None;
    }
    let groups = (total_ns / batch_ns).ceil() as u32;
    Some(BatchPlan { iterations, groups, batch_ns, ..plan.clone() })
}

/// The plan by which the work of a set is counted over ticks; `None` if it is not. Work that is
/// prepared before each batch would take too long.
pub(super) fn tick_plan<S: CounterSource>(
    work: &Work,
    plan: &BatchPlan,
    deferred_work_ns: Option<f64>,
    source: &S,
) -> Option<BatchPlan> {
    let has_work = !positions(source.events(), &INSTRUCTIONS).is_empty();
    if !has_work || work.has_preparation() || is_injected(InjectedFault::ShortCountedBatches) {
        return None;
    }
    long_batches(plan, work.min_batch_ops()..=work.max_batch_ops(), deferred_work_ns?)
}

/// Whether long batches have more instructions per op than short ones; `empty` are batches without an
/// op.
pub(super) fn has_deferred_work(
    events: &[CounterEvent],
    short: &[CountedBatch],
    long: &[CountedBatch],
    empty: &[CountedBatch],
) -> bool {
    let counted = positions(events, &INSTRUCTIONS);
    let insn = |batch: &CountedBatch| sum(batch, &counted);
    if counted.is_empty() || short.is_empty() || empty.is_empty() {
        return false;
    }
    let reads = median(empty.iter().map(insn).collect());
    let per_op = |batch: &CountedBatch| (insn(batch) - reads) / batch.sample.n as f64;
    let of_short = median(short.iter().map(per_op).collect());
    let ops: f64 = long.iter().map(|batch| batch.sample.n as f64).sum();
    let of_long = long.iter().map(|batch| insn(batch) - reads).sum::<f64>() / ops;
    of_long > (1.0 + SHARE) * of_short
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Counts short batches of the plan, and lets the work run until as much is deferred as is done.
    pub(super) fn settled_over_ticks<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        long: BatchPlan,
        tag: SampleTag,
        source: &mut S,
    ) -> Result<LengthenedPlan, OpError> {
        let mut short = Windows::with_capacity(SHORT_BATCHES, source.events().len());
        for _ in 0..SHORT_BATCHES {
            let sample = self.time_batch(work, plan, plan.iterations, 1, tag, source)?;
            if !work.is_batch_lost() && sample.n > 0 {
                short.add(sample, source);
            }
        }
        // What the kernel did during ops that warm up a batch would be missing in those that count.
        self.is_continuous = true;
        let settling = (SETTLING_SHARE * f64::from(long.groups)).ceil() as u32;
        for _ in 0..settling {
            self.time_batch(work, &long, long.iterations, 1, tag, source)?;
        }
        // A window without counts is followed by others, which make the set void.
        let short = Some(short.into_batches());
        Ok(LengthenedPlan { plan: long, short_by: None, amortized: false, short })
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::worker::Sample;

    use super::*;

    fn plan(iterations: u64, batch_ns: f64) -> BatchPlan {
        let mode = Mode::B;
        let unroll_factors = vec![1];
        BatchPlan { mode, iterations, unroll_factors, groups: 3, batch_ns, coarse_clock: false }
    }

    const GIVEN_NS: f64 = 40e6;

    #[test]
    fn long_ops_are_counted_over_many_ticks_in_batches_of_half_a_millisecond_or_eight_ops() {
        let of = |plan: &BatchPlan, max_ops| long_batches(plan, 1..=max_ops, GIVEN_NS);
        let lengths = |plan: &BatchPlan, max_ops| {
            let found = of(plan, max_ops).unwrap();
            (found.iterations, found.groups)
        };
        // Ops of 14 us; of 100 and 250 us, which are counted for longer; of 5 ms.
        assert_eq!(lengths(&plan(1, 14_000.0), u64::MAX), (35, 82));
        assert_eq!(lengths(&plan(1, 250_000.0), u64::MAX), (8, 80));
        assert_eq!(lengths(&plan(1, 100_000.0), u64::MAX), (8, 100));
        assert_eq!(lengths(&plan(1, 5e6), u64::MAX), (1, 32));
        // Of an op of 1 us a batch of 300 us is enough.
        assert_eq!(lengths(&plan(12, 12_000.0), u64::MAX), (500, 80));
        assert_eq!(lengths(&plan(12, 12_000.0), 331), (300, 134));
        assert_eq!(of(&plan(12, 12_000.0), 200), None);
        let longer = of(&plan(1, 14_000.0), u64::MAX).unwrap();
        assert!((longer.batch_ns - 35.0 * 14_000.0).abs() < 1e-6, "{longer:?}");
    }

    #[test]
    fn short_ops_ops_of_milliseconds_and_modes_of_one_length_keep_their_batches() {
        let of = |plan: &BatchPlan, min_ops| long_batches(plan, min_ops..=u64::MAX, GIVEN_NS);
        assert_eq!(of(&plan(16, 12_000.0), 1), None);
        assert_eq!(of(&plan(1, 11e6), 1), None, "fewer than 16 in 160 ms");
        assert_eq!(of(&plan(8, 1e5), 4), None);
        for mode in [Mode::U, Mode::S, Mode::C, Mode::T, Mode::F] {
            let plan = BatchPlan { mode, ..plan(1, 14_000.0) };
            assert_eq!(of(&plan, 1), None, "{mode:?}");
        }
    }

    #[test]
    fn a_mean_beyond_short_batches_by_more_than_ticks_is_deferred_work() {
        let batch = |ops: u64, more: u64| CountedBatch {
            sample: Sample { n: ops, ..Sample::default() },
            counts: vec![40, 900 + 7_000 * ops + more],
            ..CountedBatch::default()
        };
        let events = [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel];
        let empty = vec![batch(0, 0); 9];
        let mut short = vec![batch(1, 0); SHORT_BATCHES];
        // A tick in one of them.
        short[3] = batch(1, 6_000);
        // One of each four batches has a tick, and every second of these what was deferred.
        let long = |deferred: u64| -> Vec<CountedBatch> {
            let more = |at: u64| if at % 4 == 1 { 6_000 } else { 0 };
            let later = |at: u64| if at % 8 == 1 { deferred } else { 0 };
            (0..24).map(|at| batch(142, more(at) + later(at))).collect()
        };
        let is_seen = |events: &[CounterEvent], long: &[CountedBatch]| {
            has_deferred_work(events, &short, long, &empty)
        };
        // 186 instructions an op; 20, which with the ticks are less than half a per cent; none.
        assert!(is_seen(&events, &long(8 * 142 * 186)));
        assert!(!is_seen(&events, &long(8 * 142 * 20)));
        assert!(!is_seen(&events, &long(0)));
        assert!(!is_seen(&[CounterEvent::BranchMisses, CounterEvent::TaskClock], &long(1 << 20)));
        assert!(!is_seen(&events, &[]));
    }
}
