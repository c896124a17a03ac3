//! Counted batches: groups by the plan of the row, and batches without an op among them.

use oscost_model::counters::CountedSet;
use oscost_model::worker::{BatchPlan, Sample};

use super::lengthening::LengthenedPlan;
use super::source::CounterSource;
use super::validity::{KNOWN_ITERATIONS, enabled_problem, loop_problem, void_reason};
use super::windows::Windows;
use super::{amortization, deferral, lengthening};
use crate::bench::{OpError, Work};
use crate::engine::clock::Clock;
use crate::engine::collect::{BatchJitter, Collector, SampleTag};
use crate::engine::covariates::Covariates;

/// Batches without an op in a set: odd, so that their median is one of them, and enough for one that
/// three interruptions do not move.
pub const EMPTY_BATCHES: u32 = 9;

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Counts a set of events in groups of batches of the plan, which become longer where what
    /// counting adds varies too much for its batches, where one op does work for many, or, if
    /// `deferred_work_ns` is given and ops are long, where the kernel may do work for many later. The
    /// first batch has the number `first_batch`. The work must be warm.
    pub fn count_set<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        deferred_work_ns: Option<f64>,
        jitter: &mut BatchJitter,
        first_batch: u32,
        source: &mut S,
    ) -> Result<CountedSet, OpError> {
        let events = source.events().to_vec();
        let per_group = plan.unroll_factors.len();
        let over_ticks = deferral::tick_plan(work, plan, deferred_work_ns, source);
        let groups = over_ticks.as_ref().map_or(plan.groups, |long| long.groups);
        let batches = groups as usize * per_group;
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
        let lengthened = settled.and_then(|()| match over_ticks {
            Some(long) => self.settled_over_ticks(work, plan, long, tag, source),
            None => self.lengthened(work, plan, jitter, first_batch, source),
        });
        let done = lengthened.and_then(|lengthened| {
            let plan = &lengthened.plan;
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
            Ok(lengthened)
        });
        self.is_continuous = false;
        source.before();
        source.run_known_loop(KNOWN_ITERATIONS);
        source.after();
        known.add(Sample::default(), source);
        let disabled = source.disable();
        let times = source.times().zip(before).and_then(|(after, before)| after.since(before));
        let LengthenedPlan { short_by, amortized, short, .. } = done?;
        let error = counted.error.or(empty.error).or(known.error);
        let (batches, empty) = (counted.into_batches(), empty.into_batches());
        let spans_ticks = short.is_some();
        let is_deferred = short
            .as_deref()
            .is_some_and(|short| deferral::has_deferred_work(&events, short, &batches, &empty));
        let amortized = amortized || is_deferred;
        let none = CountedSet::default();
        let mut set =
            CountedSet { events, batches, empty, short_by, amortized, spans_ticks, ..none };
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
    /// their ops, or as long as they may become; longer where one op does work for many. A worker
    /// decides this, since the reads and that work differ from one processor and kernel to another.
    fn lengthened<S: CounterSource>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        jitter: &mut BatchJitter,
        first_batch: u32,
        source: &mut S,
    ) -> Result<LengthenedPlan, OpError> {
        let unchanged = || {
            let plan = plan.clone();
            LengthenedPlan { plan, short_by: None, amortized: false, short: None }
        };
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
        let empty = empty.into_batches();
        let needed = lengthening::factor(&events, &empty, &group.into_batches());
        let amortized = self.has_amortized_work(work, plan, tag, source, &empty)?;
        if amortized {
            let longer = amortization::amortized_plan(plan, work.max_batch_ops());
            let max = (longer.iterations / plan.iterations.max(1)).max(1);
            let short_by = lengthening::short_by(needed, max);
            return Ok(LengthenedPlan { plan: longer, short_by, amortized, short: None });
        }
        let factor = needed.min(max);
        let (iterations, batch_ns) = (plan.iterations * factor, plan.batch_ns * factor as f64);
        let plan = BatchPlan { iterations, batch_ns, ..plan.clone() };
        let short_by = lengthening::short_by(needed, max);
        Ok(LengthenedPlan { plan, short_by, amortized, short: None })
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
