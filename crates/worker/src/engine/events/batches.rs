//! Counted batches: groups by the plan of the row, and batches without an op among them.

use oscost_model::counters::{CountedBatch, CountedSet};
use oscost_model::worker::{BatchPlan, Sample};

use super::lengthening;
use super::source::{CounterSource, WindowError};
use super::validity::{KNOWN_ITERATIONS, enabled_problem, loop_problem, void_reason};
use crate::bench::{OpError, Work};
use crate::engine::clock::Clock;
use crate::engine::collect::{BatchJitter, Collector, SampleTag};
use crate::engine::covariates::Covariates;

/// Batches without an op in a set: odd, so that their median is one of them, and enough for one that
/// three interruptions do not move.
pub const EMPTY_BATCHES: u32 = 9;

/// A plan of counted batches that are as long as they must be, or may be.
struct LengthenedPlan {
    plan: BatchPlan,
    /// How many times longer they would have to be.
    short_by: Option<u64>,
}

/// Windows and their counts so far. Nothing is allocated while counters are enabled: memory that is
/// touched for the first time faults, and faults are counted.
struct Windows {
    samples: Vec<Sample>,
    counts: Vec<u64>,
    times: Vec<[u64; 2]>,
    error: Option<WindowError>,
}

impl Windows {
    fn with_capacity(windows: usize, events: usize) -> Self {
        // Not of zeros, which the kernel provides without the pages.
        let mut counts = vec![1; windows * events];
        let (mut samples, mut times) = (vec![Sample::default(); windows], vec![[1; 2]; windows]);
        counts.clear();
        samples.clear();
        times.clear();
        Self { samples, counts, times, error: None }
    }

    /// Adds the last window of the source; one without counts is left out, and makes the set void.
    fn add(&mut self, sample: Sample, source: &impl CounterSource) {
        match source.window() {
            Ok(window) if window.counts.len() != source.events().len() => {
                let (counts, events) = (window.counts.len() as u64, source.events().len());
                let _ = self.error.get_or_insert(WindowError::OtherGroup { counts, events });
            }
            Ok(window) => {
                self.samples.push(sample);
                self.counts.extend_from_slice(&window.counts);
                self.times.push([window.enabled_ns, window.counting_ns]);
            }
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    fn into_batches(self) -> Vec<CountedBatch> {
        let events = self.counts.len() / self.samples.len().max(1);
        let counts = self.counts.chunks(events.max(1));
        self.samples
            .into_iter()
            .zip(self.times)
            .zip(counts)
            .map(|((sample, [enabled_ns, counting_ns]), counts)| CountedBatch {
                sample,
                counts: counts.to_vec(),
                enabled_ns,
                counting_ns,
            })
            .collect()
    }
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Counts a set of events in groups of batches of the plan, which become longer where what
    /// counting adds varies too much for its batches. The first batch has the number `first_batch`.
    /// The work must be warm.
    pub fn count_set<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        jitter: &mut BatchJitter,
        first_batch: u32,
        source: &mut S,
    ) -> Result<CountedSet, OpError> {
        let events = source.events().to_vec();
        let per_group = plan.unroll_factors.len();
        let batches = plan.groups as usize * per_group;
        let mut counted = Windows::with_capacity(batches, events.len());
        let mut empty = Windows::with_capacity(EMPTY_BATCHES as usize, events.len());
        let mut known = Windows::with_capacity(1, events.len());
        // The same loop and call as of a short op, without an iteration: some bodies wait for an
        // answer also of no op.
        let mut nothing = Work::repeat(|| Ok(()));
        let before = source.times();
        let enabled = source.enable();
        if let Err(error) = enabled {
            let void = Some(format!("the counters could not be enabled: {error}"));
            return Ok(CountedSet { events, void, ..CountedSet::default() });
        }
        // Settles what enabling has disturbed; the first run of code faults its page in.
        let tag = SampleTag { arm: 0, round: 0, batch: first_batch };
        let settled = self
            .time_batch(&mut nothing, plan, 0, 1, tag, source)
            .and_then(|_| self.time_group_with(work, plan, jitter, tag, source, &mut |_, _| ()));
        let lengthened =
            settled.and_then(|()| self.lengthened(work, plan, jitter, first_batch, source));
        let done = lengthened.and_then(|LengthenedPlan { plan, short_by }| {
            let plan = &plan;
            for round in 0..plan.groups {
                for index in empty_before(round, plan.groups) {
                    let tag = SampleTag { arm: 0, round: index, batch: index };
                    let sample = self.time_batch(&mut nothing, plan, 0, 1, tag, source)?;
                    empty.add(sample, source);
                }
                let batch = first_batch + round * per_group as u32;
                let tag = SampleTag { arm: 0, round, batch };
                self.time_group_with(work, plan, jitter, tag, source, &mut |sample, source| {
                    counted.add(sample, source);
                })?;
            }
            Ok(short_by)
        });
        source.before();
        source.run_known_loop(KNOWN_ITERATIONS);
        source.after();
        known.add(Sample::default(), source);
        let disabled = source.disable();
        let times = source.times().zip(before).and_then(|(after, before)| after.since(before));
        let short_by = done?;
        let error = counted.error.or(empty.error).or(known.error);
        let (batches, empty) = (counted.into_batches(), empty.into_batches());
        let mut set = CountedSet { events, batches, empty, short_by, ..CountedSet::default() };
        let disabled = disabled.err().map(|error| format!("they could not be disabled: {error}"));
        set.void = error
            .map(|error| error.to_string())
            .or(disabled)
            .or_else(|| void_reason(&set))
            .or_else(|| enabled_problem(&set, source.read_by(), times))
            .or_else(|| loop_problem(&set, known.into_batches().first(), source.is_inherited()));
        Ok(set)
    }

    /// The plan with batches so long that what counting adds can be told apart from the counts of
    /// their ops, or as long as they may become. A worker decides this, since the reads differ from
    /// one processor and kernel to another.
    fn lengthened<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        jitter: &mut BatchJitter,
        first_batch: u32,
        source: &mut S,
    ) -> Result<LengthenedPlan, OpError> {
        let unchanged = || LengthenedPlan { plan: plan.clone(), short_by: None };
        let Some(max) = lengthening::max_factor(plan, work.max_batch_ops()) else {
            return Ok(unchanged());
        };
        let events = source.events().to_vec();
        let mut empty = Windows::with_capacity(EMPTY_BATCHES as usize, events.len());
        let mut group = Windows::with_capacity(plan.unroll_factors.len(), events.len());
        let mut nothing = Work::repeat(|| Ok(()));
        let tag = SampleTag { arm: 0, round: 0, batch: first_batch };
        for _ in 0..EMPTY_BATCHES {
            let sample = self.time_batch(&mut nothing, plan, 0, 1, tag, source)?;
            empty.add(sample, source);
        }
        self.time_group_with(work, plan, jitter, tag, source, &mut |sample, source| {
            group.add(sample, source);
        })?;
        if empty.error.or(group.error).is_some() {
            // The batches that count have the same error, which makes the set void.
            return Ok(unchanged());
        }
        let needed = lengthening::factor(&events, &empty.into_batches(), &group.into_batches());
        let factor = needed.min(max);
        let (iterations, batch_ns) = (plan.iterations * factor, plan.batch_ns * factor as f64);
        let plan = BatchPlan { iterations, batch_ns, ..plan.clone() };
        Ok(LengthenedPlan { plan, short_by: lengthening::short_by(needed, max) })
    }
}

/// The numbers of the batches without an op that come before a group: all are spread evenly over
/// the groups.
fn empty_before(round: u32, groups: u32) -> std::ops::Range<u32> {
    let until = |round: u32| {
        (u64::from(EMPTY_BATCHES) * u64::from(round)).div_ceil(u64::from(groups.max(1))) as u32
    };
    until(round)..until(round + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_an_op_are_spread_over_all_groups() {
        for groups in [1, 3, 5, 9, 21, 201] {
            let all: Vec<u32> = (0..groups).flat_map(|round| empty_before(round, groups)).collect();
            assert_eq!(all, (0..EMPTY_BATCHES).collect::<Vec<_>>(), "{groups} groups");
        }
        let most = (0..21).map(|round| empty_before(round, 21).len()).max();
        assert_eq!(most, Some(1));
    }
}
