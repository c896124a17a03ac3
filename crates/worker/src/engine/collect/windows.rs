//! Samples of many windows, for the methods of studies.
//!
//! A study times each op between two reads of the clock, a million times and more. A sample for
//! each would fill the memory, so a sample holds a run of windows: their ops, the sum of their
//! ticks, and the smallest window. Its mean and its minimum follow from these without loss.

use oscost_model::worker::{BatchPlan, Mode, Sample, Windows};

use super::super::clock::Clock;
use super::super::covariates::{Covariates, Reading, SwitchWatch};
use super::{BatchJitter, Collector, NoCounters, SampleTag, avoids_syscalls};
use crate::bench::{OpError, Work};

/// The windows of one sample so far.
#[derive(Clone, Copy, Debug, Default)]
struct WindowTotal {
    ops: u64,
    ticks: i64,
    windows: Windows,
}

impl WindowTotal {
    fn add(&mut self, ops: u64, ticks: i64) {
        let Windows { count, smallest_ops, smallest_ticks } = self.windows;
        // By time per op: a window may hold several ops, and not always as many.
        let is_smallest = count == 0
            || i128::from(ticks) * i128::from(smallest_ops)
                < i128::from(smallest_ticks) * i128::from(ops);
        let (smallest_ops, smallest_ticks) =
            if is_smallest { (ops, ticks) } else { (smallest_ops, smallest_ticks) };
        self.ops += ops;
        self.ticks = self.ticks.wrapping_add(ticks);
        self.windows = Windows { count: count + 1, smallest_ops, smallest_ticks };
    }

    /// The sample of these windows; `None` if all were lost.
    fn sample(self, tag: SampleTag, around: Sample) -> Option<Sample> {
        (self.windows.count > 0).then_some(Sample {
            arm: tag.arm,
            round: tag.round,
            batch: tag.batch,
            n: self.ops,
            ticks: self.ticks,
            windows: Some(self.windows),
            ..around
        })
    }
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Times `count` windows of the plan as one sample. Lost windows are not part of it; if all are
    /// lost, there is no sample.
    pub fn time_windows(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        count: u64,
        jitter: &mut BatchJitter,
        tag: SampleTag,
        sink: &mut dyn FnMut(Sample),
    ) -> Result<(), OpError> {
        let has_work_between = self.ticks.is_some()
            || work.has_preparation()
            || !matches!(plan.mode, Mode::B | Mode::S)
            || plan.iterations != 1;
        let sample = if has_work_between {
            self.time_separate_windows(work, plan, count, jitter, tag)?
        } else {
            self.time_consecutive_windows(work, plan, count, jitter, tag)?
        };
        sample.into_iter().for_each(sink);
        Ok(())
    }

    /// Windows that are batches of their own: each is prepared, and the accounting is read around
    /// it.
    fn time_separate_windows(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        count: u64,
        jitter: &mut BatchJitter,
        tag: SampleTag,
    ) -> Result<Option<Sample>, OpError> {
        let mut total = WindowTotal::default();
        let mut around = Sample { cpu_ns: Some(0), ..Sample::default() };
        for _ in 0..count {
            jitter.dither();
            let one = self.time_batch(work, plan, plan.iterations, 1, tag, &mut NoCounters)?;
            if work.is_batch_lost() {
                continue;
            }
            total.add(one.n, one.ticks);
            around.cpu_ns = around.cpu_ns.zip(one.cpu_ns).map(|(sum, one)| sum + one);
            around.involuntary_switches += one.involuntary_switches;
            around.major_faults += one.major_faults;
            around.migrated |= one.migrated;
        }
        Ok(total.sample(tag, around))
    }

    /// Windows of one op, one after the other as in the loop of a study. The accounting is read
    /// around all of them: a system call between two would leave the core in another state.
    ///
    /// As in any batch, there is one indirect call of the body between START and STOP and nothing
    /// else. Behind STOP the op is verified, and the ticks are added up; then a random delay lets
    /// the next START fall anywhere in the clock's step, or the loop might run in step with it.
    fn time_consecutive_windows(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        count: u64,
        jitter: &mut BatchJitter,
        tag: SampleTag,
    ) -> Result<Option<Sample>, OpError> {
        let no_syscalls = avoids_syscalls(plan, work) && self.covariates.start_switch_watch();
        let before = if no_syscalls { Reading::default() } else { self.covariates.read() };
        let mut total = WindowTotal::default();
        for _ in 0..count {
            jitter.dither();
            let start = self.clock.start();
            let done = work.run(plan.iterations, 1);
            let stop = self.clock.stop();
            let ticks = work.last_value().unwrap_or(stop.wrapping_sub(start) as i64);
            done.and_then(|()| work.verify())?;
            if !work.is_batch_lost() {
                total.add(work.actual_ops().unwrap_or(work.op_count()), ticks);
            }
        }
        self.ops += count * work.op_count();
        if no_syscalls {
            let SwitchWatch { switched, cpu } = self.covariates.end_switch_watch();
            let home = *self.first_cpu.get_or_insert(cpu);
            let involuntary_switches = u32::from(switched);
            let migrated = cpu != home;
            let around = Sample { involuntary_switches, migrated, ..Sample::default() };
            return Ok(total.sample(tag, around));
        }
        let after = self.covariates.read();
        let increase = |after: Option<u64>, before: Option<u64>| {
            after.zip(before).map(|(after, before)| after.saturating_sub(before))
        };
        let switches = increase(after.involuntary_switches, before.involuntary_switches);
        self.switches_unknown |= switches.is_none();
        let around = Sample {
            cpu_ns: increase(after.cpu_ns, before.cpu_ns),
            involuntary_switches: switches.unwrap_or(0) as u32,
            major_faults: increase(after.major_faults, before.major_faults).unwrap_or(0) as u32,
            migrated: after.cpu != before.cpu,
            ..Sample::default()
        };
        Ok(total.sample(tag, around))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_has_all_ops_and_the_window_with_the_smallest_time_per_op() {
        let mut total = WindowTotal::default();
        assert!(
            total.sample(SampleTag { arm: 0, round: 0, batch: 0 }, Sample::default()).is_none()
        );
        for (ops, ticks) in [(1, 100), (4, 360), (1, 90), (1, -7), (2, -6)] {
            total.add(ops, ticks);
        }
        let tag = SampleTag { arm: 1, round: 2, batch: 3 };
        let sample = total.sample(tag, Sample::default()).unwrap();
        assert_eq!((sample.arm, sample.round, sample.batch), (1, 2, 3));
        assert_eq!((sample.n, sample.ticks), (9, 537));
        let expected = Windows { count: 5, smallest_ops: 1, smallest_ticks: -7 };
        assert_eq!(sample.windows, Some(expected));
    }
}
