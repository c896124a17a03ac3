//! Whether one op does work for many: it refills a store of random numbers, a list of free pages, a
//! cache of objects.
//!
//! Such work is in few short batches and in every long one. So a long batch has more instructions per
//! op than short ones have; an interrupt, which also adds instructions, is in few batches of any of
//! these lengths.

use oscost_model::counters::CountedBatch;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::worker::{BatchPlan, Mode};

use super::lengthening::{INSTRUCTIONS, interquartile_range, positions, sum};
use super::source::CounterSource;
use super::windows::Windows;
use crate::bench::{OpError, Work};
use crate::engine::clock::Clock;
use crate::engine::collect::{Collector, MAX_JITTER, SampleTag};
use crate::engine::covariates::Covariates;

/// Batches of each length. Of seven the second fewest instructions are compared: an interrupt must hit
/// six of them to move it, and work for many ops must be in six.
const BATCHES: usize = 7;
/// Lengths of the short batches, in ops. Work of every 15th op, or of fewer, is in few of those of one
/// to four ops; that of every 8th is seen by chance.
const SHORT: [u64; 5] = [1, 2, 4, 8, 16];
/// The long batch has at least so many times the ops of the longest short one.
const MIN_RATIO: u64 = 4;
/// The long batch has at least so many ops: as many as have work of every 128th op in all of them ...
const LONG_OPS: f64 = 128.0;
/// ... and takes at least so long ...
const LONG_NS: f64 = 50_000.0;
/// ... but no longer than this, since a tick of the clock would be in most of them.
const MAX_LONG_NS: f64 = 500_000.0;

/// The share of the instructions of an op that is told apart: what interrupts are told apart by.
const SHARE: f64 = 0.002;
/// By how many instructions the ends of two batches may differ, beyond what these batches show.
const ENDS: f64 = 10.0;
/// By how many the code around no op and around one may differ.
const AROUND_OPS: f64 = 40.0;
/// Steps from one short length to the next that must each have fewer instructions per op than the long
/// batch: one may be so by chance, and two in succession share a length, so that they rarely are.
const MIN_STEPS: usize = 2;

/// Counted batches of such work, and the fewest if there are so many in the plan. One refill more or
/// less is in each by chance: for a time that is given, the error of the mean is as the square root of
/// their number, so that few long ones are better than many short ones.
const GROUPS: u32 = 5;
/// All of them together take so long for each group of the plan: twenty times a counted batch.
const NS_PER_GROUP: f64 = 250_000.0;
/// None is longer: a batch that is interrupted for another task is lost.
const MAX_BATCH_NS: f64 = 1_000_000.0;

/// The lengths that are compared, in ops.
#[derive(Debug, PartialEq, Eq)]
struct Lengths {
    short: Vec<u64>,
    long: u64,
}

/// The largest unroll factor of a plan, by which its longest batch has more ops than iterations.
fn unroll(plan: &BatchPlan) -> f64 {
    f64::from(plan.unroll_factors.iter().copied().max().unwrap_or(1).max(1))
}

impl Lengths {
    /// The lengths for work that has `ops` in a batch; `None` if its batches cannot be compared.
    fn of(plan: &BatchPlan, ops: std::ops::RangeInclusive<u64>) -> Option<Self> {
        if !matches!(plan.mode, Mode::U | Mode::B) {
            return None;
        }
        let op_ns = plan.batch_ns.max(1.0) / (plan.iterations.max(1) as f64 * unroll(plan));
        let long = LONG_OPS.max(LONG_NS / op_ns).min(MAX_LONG_NS / op_ns) as u64;
        let long = long.min(*ops.end());
        let is_short = |it: &u64| ops.contains(it) && MIN_RATIO * it <= long;
        let short: Vec<u64> = SHORT.into_iter().filter(is_short).collect();
        (short.len() >= MIN_STEPS).then_some(Self { short, long })
    }
}

/// What batches of one length show.
#[derive(Clone, Copy, Debug)]
struct LengthCount {
    ops: f64,
    /// The instructions of a batch, the second fewest of seven.
    instructions: f64,
    /// The range of their middle.
    varies: f64,
}

impl LengthCount {
    /// `None` if some are lost, or decide their number of ops themselves.
    fn of(batches: &[CountedBatch], positions: &[usize]) -> Option<Self> {
        let ops = batches.first()?.sample.n;
        if batches.len() < BATCHES || batches.iter().any(|batch| batch.sample.n != ops) {
            return None;
        }
        let mut sorted: Vec<f64> = batches.iter().map(|batch| sum(batch, positions)).collect();
        sorted.sort_by(f64::total_cmp);
        let instructions = *sorted.get(sorted.len() / 4)?;
        Some(Self { ops: ops as f64, instructions, varies: interquartile_range(&sorted) })
    }

    /// Instructions of an op by which this length has more than a shorter one: what is the same in
    /// each batch cancels.
    fn per_op_beyond(&self, shorter: &Self) -> f64 {
        (self.instructions - shorter.instructions) / (self.ops - shorter.ops)
    }

    /// How far that is uncertain.
    fn uncertainty_beyond(&self, shorter: &Self) -> f64 {
        let ends = if shorter.ops > 0.0 { ENDS } else { AROUND_OPS };
        (self.varies + shorter.varies + ends) / (self.ops - shorter.ops)
    }
}

/// Whether the longest of these batches, which are sorted by their length, has more instructions per
/// op than the others.
fn is_amortized(lengths: &[LengthCount]) -> bool {
    let [short @ .., long] = lengths else { return false };
    let Some(longest_short) = short.last() else { return false };
    if !lengths.is_sorted_by(|one, next| one.ops < next.ops) {
        return false;
    }
    let per_op = long.per_op_beyond(longest_short);
    let has_fewer = |step: &&[LengthCount]| {
        let [one, next] = step else { return false };
        let missing = per_op - next.per_op_beyond(one);
        missing > SHARE * per_op + next.uncertainty_beyond(one)
    };
    short.windows(2).filter(has_fewer).count() >= MIN_STEPS
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Whether one op of this work does work for many, as batches of several lengths show; `empty` are
    /// batches without an op. Not seen of work that is prepared, which would take too long.
    pub(super) fn has_amortized_work<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        tag: SampleTag,
        source: &mut S,
        empty: &[CountedBatch],
    ) -> Result<bool, OpError> {
        if is_injected(InjectedFault::ShortCountedBatches) {
            return Ok(false);
        }
        let events = source.events().len();
        let positions = positions(source.events(), &INSTRUCTIONS);
        let lengths = Lengths::of(plan, work.min_batch_ops()..=work.max_batch_ops());
        let Some(Lengths { short, long }) =
            lengths.filter(|_| !positions.is_empty() && !work.has_preparation())
        else {
            return Ok(false);
        };
        let Some(without_op) = LengthCount::of(empty, &positions) else { return Ok(false) };
        let mut counted = vec![without_op];
        for ops in short.into_iter().chain([long]) {
            let mut windows = Windows::with_capacity(BATCHES, events);
            for _ in 0..BATCHES {
                let sample = self.time_batch(work, plan, ops, 1, tag, source)?;
                if !work.is_batch_lost() {
                    windows.add(sample, source);
                }
            }
            let Some(of_length) = LengthCount::of(&windows.into_batches(), &positions) else {
                return Ok(false);
            };
            counted.push(of_length);
        }
        Ok(is_amortized(&counted))
    }
}

/// The plan of batches in which such work is counted, of work that allows so many ops in a batch.
pub(super) fn amortized_plan(plan: &BatchPlan, max_ops: u64) -> BatchPlan {
    let total_ns = NS_PER_GROUP * f64::from(plan.groups);
    let by_time = (total_ns / f64::from(GROUPS)).min(MAX_BATCH_NS) / plan.batch_ns.max(1.0);
    let by_ops = max_ops as f64 / (MAX_JITTER * plan.iterations.max(1) as f64 * unroll(plan));
    let factor = by_time.min(by_ops).max(1.0);
    let batch_ns = plan.batch_ns.max(1.0) * factor;
    BatchPlan {
        iterations: (plan.iterations as f64 * factor) as u64,
        groups: ((total_ns / batch_ns) as u32).max(GROUPS).min(plan.groups),
        batch_ns,
        ..plan.clone()
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::CounterEvent;
    use oscost_model::worker::Sample;

    use super::*;

    fn plan(mode: Mode, iterations: u64, batch_ns: f64) -> BatchPlan {
        let unroll_factors = if mode == Mode::U { vec![1, 2, 4, 8] } else { vec![1] };
        BatchPlan { mode, iterations, unroll_factors, groups: 12, batch_ns, coarse_clock: false }
    }

    #[test]
    fn batches_are_compared_up_to_a_length_that_few_interrupts_hit() {
        let of = |plan: &BatchPlan, max_ops| Lengths::of(plan, 1..=max_ops);
        // Ops of 893 ns, of 125 ns, of 10 us and of 1.25 ns.
        let lengths = |short: &[u64], long| Some(Lengths { short: short.to_vec(), long });
        assert_eq!(of(&plan(Mode::B, 14, 12_500.0), u64::MAX), lengths(&SHORT, 128));
        assert_eq!(of(&plan(Mode::B, 100, 12_500.0), u64::MAX), lengths(&SHORT, 400));
        assert_eq!(of(&plan(Mode::B, 1, 10_000.0), u64::MAX), lengths(&SHORT[..4], 50));
        assert_eq!(of(&plan(Mode::U, 1_000, 10_000.0), u64::MAX), lengths(&SHORT, 40_000));
        assert_eq!(of(&plan(Mode::B, 100, 12_500.0), 20), lengths(&SHORT[..3], 20));
        let of_many = Lengths::of(&plan(Mode::B, 100, 12_500.0), 4..=u64::MAX);
        assert_eq!(of_many, lengths(&SHORT[2..], 400));
        // Ops of 100 us, of which a batch has five, seven ops at most, and modes of one length.
        assert_eq!(of(&plan(Mode::B, 1, 100_000.0), u64::MAX), None);
        assert_eq!(of(&plan(Mode::B, 14, 12_500.0), 7), None);
        for mode in [Mode::S, Mode::C, Mode::T, Mode::F] {
            assert_eq!(of(&plan(mode, 1, 100.0), u64::MAX), None, "{mode:?}");
        }
    }

    /// Batches of so many ops, each with the instructions of its number.
    fn of_length(ops: u64, instructions: &dyn Fn(u64) -> u64) -> LengthCount {
        let batch = |nth| CountedBatch {
            sample: Sample { n: ops, ..Sample::default() },
            counts: vec![40, 900 + instructions(nth)],
            ..CountedBatch::default()
        };
        let batches: Vec<CountedBatch> = (0..BATCHES as u64).map(batch).collect();
        let events = [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel];
        LengthCount::of(&batches, &positions(&events, &INSTRUCTIONS)).unwrap()
    }

    /// Lengths of which the batches follow each other, and every `every`th op has `more` instructions.
    fn lengths(every: u64, more: u64) -> Vec<LengthCount> {
        let mut done = 0;
        let of = |ops: u64| {
            let begun = done;
            done += ops * BATCHES as u64;
            let refills = move |nth: u64| {
                let from = begun + nth * ops;
                (from + ops) / every - from / every
            };
            of_length(ops, &|nth| 300 * ops + more * refills(nth))
        };
        [0, 1, 2, 4, 8, 16, 128].into_iter().map(of).collect()
    }

    #[test]
    fn work_that_an_op_does_for_many_is_seen_whatever_their_number() {
        for every in [16, 20, 24, 31, 48, 63] {
            assert!(is_amortized(&lengths(every, 2_900)), "every {every}");
            assert!(!is_amortized(&lengths(every, 0)), "every {every}");
        }
        // A thousandth of the work is not told apart, nor is work that is in few of the long batches.
        assert!(!is_amortized(&lengths(48, 14)));
        assert!(!is_amortized(&lengths(1_000, 2_900)));
    }

    #[test]
    fn interrupts_in_some_batches_and_reads_that_vary_are_no_such_work() {
        let hit = |nth: u64| if nth < 3 { 6_000 } else { 0 };
        let of = |ops: u64| of_length(ops, &|nth| 300 * ops + hit(nth));
        assert!(!is_amortized(&[0, 1, 2, 4, 8, 16, 128].map(of)));
        let uneven = |ops: u64| of_length(ops, &|nth| 300 * ops + 37 * ((ops + nth) % 5));
        assert!(!is_amortized(&[0, 1, 2, 4, 8, 16, 128].map(uneven)));
        assert!(!is_amortized(&[]) && !is_amortized(&[0].map(of)));
        // Lengths that do not increase, as of work that decides its number of ops.
        assert!(!is_amortized(&[0, 1, 1, 1].map(of)));
    }

    #[test]
    fn batches_of_different_sizes_are_not_compared() {
        let batch = |n| CountedBatch {
            sample: Sample { n, ..Sample::default() },
            counts: vec![100],
            ..CountedBatch::default()
        };
        let mut batches = vec![batch(8); BATCHES];
        assert!(LengthCount::of(&batches, &[0]).is_some());
        batches[3] = batch(7);
        assert!(LengthCount::of(&batches, &[0]).is_none());
        assert!(LengthCount::of(&batches[..3], &[0]).is_none());
        assert!(LengthCount::of(&[], &[0]).is_none());
    }

    #[test]
    fn few_long_batches_count_it_in_a_time_that_is_bounded() {
        let longer = amortized_plan(&plan(Mode::B, 14, 12_500.0), u64::MAX);
        assert_eq!((longer.groups, longer.iterations), (5, 672));
        assert!((longer.batch_ns - 600_000.0).abs() < 1e-6, "{longer:?}");
        // Where the work does not allow as many ops there are more batches.
        let bounded = amortized_plan(&plan(Mode::B, 14, 12_500.0), 320);
        assert_eq!((bounded.groups, bounded.iterations), (11, 290));
        let slope = amortized_plan(&plan(Mode::U, 100, 12_500.0), 1_800);
        assert_eq!((slope.groups, slope.iterations), (12, 204));
        let long = amortized_plan(&plan(Mode::B, 1, 900_000.0), u64::MAX);
        assert_eq!((long.groups, long.iterations, long.batch_ns), (5, 1, 900_000.0));
    }
}
