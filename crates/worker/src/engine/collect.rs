//! Batches: the timed window, and the untimed work around it.

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::worker::{BatchPlan, COUNTED_WARM_UP_NS, Mode, Sample, WARM_UP_NS};

mod account;
mod jitter;
mod length;
#[cfg(test)]
mod tests;
mod windows;

pub use account::Account;
pub use jitter::{BatchJitter, MAX_JITTER};
pub use length::{BatchLength, batch_length, min_batch_ns};

use super::clock::Clock;
use super::covariates::{Covariates, Reading, SwitchWatch};
use super::tick::TickClock;
use crate::bench::{OpError, Work};
use crate::kernel::process::usage::ThreadUsage;

/// A warm-up ends after so many groups of batches, and not before its time: that in which the process
/// was ready but did not run does not count.
const WARM_UP_GROUPS: u32 = 5;

/// Untimed iterations at the beginning of a batch, or an eighth of the batch if that is less.
const REWARM_ITERATIONS: u64 = 64;

/// Untimed ops before the walk of one that is timed alone: another arm on the same CPU may have walked
/// since the last one, and only its own walk is to separate it from them.
const OPS_BEFORE_WALK: u32 = 4;

/// No system call is made between batches of ops that are shorter than this.
const NO_SYSCALLS_BELOW_NS: f64 = 50.0;

/// A clock and the covariates of the thread that collects.
pub struct Collector<C, V> {
    /// The clock.
    pub clock: C,
    /// The disturbance counters.
    pub covariates: V,
    /// The CPU of the first batch.
    first_cpu: Option<i32>,
    /// Context switches could not be counted.
    switches_unknown: bool,
    /// Ops run so far, timed or not.
    ops: u64,
    /// Resource usage of the preparation of batches so far; unknown once a preparation was not
    /// measured.
    preparation_usage: Option<ThreadUsage>,
    /// The wall time of these preparations, in nanoseconds.
    preparation_ns: u64,
    /// The kernel's ticks, if batches are to avoid them.
    pub ticks: Option<TickClock>,
    /// Whether batches follow each other at once, so that none needs ops before it that warm it up.
    pub(super) is_continuous: bool,
}

/// Reads of event counters around a timed window, directly before START and directly after STOP.
pub trait CounterReads {
    /// Whether a read is a system call. Then nothing is lost by others around the batch.
    fn makes_syscalls(&self) -> bool;

    /// The read before the window.
    fn before(&mut self);

    /// The read after the window.
    fn after(&mut self);
}

/// No counters: a timed worker opens none.
pub struct NoCounters;

impl CounterReads for NoCounters {
    #[inline(always)]
    fn makes_syscalls(&self) -> bool {
        false
    }

    #[inline(always)]
    fn before(&mut self) {}

    #[inline(always)]
    fn after(&mut self) {}
}

/// Identifies a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleTag {
    /// The arm.
    pub arm: u8,
    /// The group.
    pub round: u32,
    /// The position in the worker's order.
    pub batch: u32,
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// A collector with this clock and these counters.
    pub fn new(clock: C, covariates: V) -> Self {
        let preparation_usage = Some(ThreadUsage::default());
        let ticks = None;
        Self {
            clock,
            covariates,
            first_cpu: None,
            switches_unknown: false,
            ops: 0,
            preparation_usage,
            preparation_ns: 0,
            ticks,
            is_continuous: false,
        }
    }

    /// Runs groups of batches whose times are discarded, until the work has settled.
    pub fn warm_up(&mut self, work: &mut Work, plan: &BatchPlan) -> Result<(), OpError> {
        self.warm_up_for(WARM_UP_NS, work, plan)
    }

    /// The same before events are counted.
    pub fn warm_up_to_count(&mut self, work: &mut Work, plan: &BatchPlan) -> Result<(), OpError> {
        self.warm_up_for(COUNTED_WARM_UP_NS, work, plan)
    }

    fn warm_up_for(
        &mut self,
        min_ns: u64,
        work: &mut Work,
        plan: &BatchPlan,
    ) -> Result<(), OpError> {
        let is_cold = plan.mode == Mode::C && !work.is_cooled();
        if is_cold || is_injected(InjectedFault::NoWarmUp) {
            return Ok(()); // Cold work is not warmed up.
        }
        let start = self.open_account();
        // An op that returns its own value may take 10 ms, and depends on no cache. The loop of a
        // study, which is the only single shot of several iterations, warms up with its first ones.
        let is_loop = plan.mode == Mode::S && plan.iterations > 1;
        let min_groups = if plan.mode == Mode::F || is_loop { 1 } else { WARM_UP_GROUPS };
        let mut groups = 0;
        while groups < min_groups || self.ran_ns(&start) < min_ns {
            for &unroll in &plan.unroll_factors {
                self.time_batch(
                    work,
                    plan,
                    plan.iterations,
                    unroll,
                    SampleTag { arm: 0, round: 0, batch: 0 },
                    &mut NoCounters,
                )?;
            }
            groups += 1;
        }
        Ok(())
    }

    /// Times one group: a batch for each unroll factor, in random order, all with the same number
    /// of iterations. The order is random so that the cache contents that one batch leaves do not
    /// always affect the same one. A lost batch gives no sample.
    pub fn time_group(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        jitter: &mut BatchJitter,
        tag: SampleTag,
        sink: &mut dyn FnMut(Sample),
    ) -> Result<(), OpError> {
        let counters = &mut NoCounters;
        self.time_group_with(work, plan, jitter, tag, counters, &mut |sample, _| sink(sample))
    }

    /// The same with event counters that are read around each batch. The sink gets them after each
    /// batch.
    pub(super) fn time_group_with<R: CounterReads>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        jitter: &mut BatchJitter,
        tag: SampleTag,
        counters: &mut R,
        sink: &mut dyn FnMut(Sample, &R),
    ) -> Result<(), OpError> {
        let mut order = plan.unroll_factors.clone();
        let mut iterations = jitter.next(plan, &mut order);
        if self.ticks.is_some() {
            // No jitter: there is no clock step to alias with, and batches avoid the tick.
            iterations = plan.iterations;
        }
        for (index, &unroll) in order.iter().enumerate() {
            jitter.dither();
            let batch = tag.batch + index as u32;
            let tag = SampleTag { batch, ..tag };
            let sample = self.time_batch(work, plan, iterations, unroll, tag, counters)?;
            if !work.is_batch_lost() {
                sink(sample, counters);
            }
        }
        Ok(())
    }

    /// Times one batch. Between START and STOP there is one indirect call of the body and nothing
    /// else; event counters, if there are any, are read outside.
    ///
    /// If an op is short or cold, no system call is made between batches either, provided that
    /// context switches can be detected without one (see [`crate::kernel::cpu::rseq`]): a 1 ns op
    /// would be timed in the state in which a system call leaves the core, and an op that enters
    /// the kernel would not be cold. A major fault is a context switch and is detected as one.
    pub(super) fn time_batch<R: CounterReads>(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        iterations: u64,
        unroll: u32,
        tag: SampleTag,
        counters: &mut R,
    ) -> Result<Sample, OpError> {
        if let Some(ticks) = &self.ticks {
            // Before the preparation, which may start a second process that keeps the CPU busy.
            ticks.sleep_past();
        }
        // A sleep before the batch is a system call.
        let no_syscalls = self.ticks.is_none()
            && !counters.makes_syscalls()
            && avoids_syscalls(plan, work)
            && self.covariates.start_switch_watch();
        let mut before = if no_syscalls { Reading::default() } else { self.covariates.read() };
        // After the covariates, since reading them disturbs the caches; never before a single shot.
        let is_warm = self.ticks.is_some() || self.is_continuous;
        let rewarm = if is_warm { 0 } else { (iterations / 8).min(REWARM_ITERATIONS) };
        if rewarm > 0 {
            self.prepare(work, rewarm * u64::from(unroll), no_syscalls)?;
            work.run(rewarm, unroll)?;
            work.verify()?;
        }
        if work.is_cooled() && self.ticks.is_none() {
            self.run_before_walk(work, unroll, no_syscalls)?;
        }
        let ops = iterations * u64::from(unroll);
        self.ops += (rewarm * u64::from(unroll) + ops) * work.op_count();
        self.prepare_by(Work::prepare_timed, work, ops, no_syscalls)?;
        if plan.mode == Mode::C {
            // Only the op is to be cold: the loop around it is fetched again, without an op.
            work.run(0, unroll)?;
        }
        if plan.mode == Mode::C || work.has_preparation() {
            // A context switch during an eviction or a preparation disturbs nothing, and their cost
            // is not part of the batch. The read is system calls: they bring a part of the kernel
            // back that an eviction or a walk has displaced, which only rseq(2) avoids.
            match no_syscalls {
                true => drop(self.covariates.start_switch_watch()),
                false => before = self.covariates.read(),
            }
        }
        counters.before();
        let start = self.clock.start();
        let done = work.run(iterations, unroll);
        let stop = self.clock.stop();
        counters.after();
        let sample = Sample {
            arm: tag.arm,
            round: tag.round,
            batch: tag.batch,
            n: ops * work.op_count(),
            ticks: work.last_value().unwrap_or(stop.wrapping_sub(start) as i64),
            ..Sample::default()
        };
        if no_syscalls {
            let SwitchWatch { switched, cpu } = self.covariates.end_switch_watch();
            done.and_then(|()| work.verify())?;
            // A migration is a context switch as well; the first batch defines the worker's CPU.
            let home = *self.first_cpu.get_or_insert(cpu);
            return Ok(Sample {
                n: work.actual_ops().unwrap_or(sample.n),
                involuntary_switches: u32::from(switched),
                migrated: cpu != home,
                ..sample
            });
        }
        let after = self.covariates.read();
        done.and_then(|()| work.verify())?;
        let increase = |after: Option<u64>, before: Option<u64>| {
            after.zip(before).map(|(after, before)| after.saturating_sub(before))
        };
        let switches = increase(after.involuntary_switches, before.involuntary_switches);
        self.switches_unknown |= switches.is_none();
        Ok(Sample {
            n: work.actual_ops().unwrap_or(sample.n),
            cpu_ns: increase(after.cpu_ns, before.cpu_ns),
            involuntary_switches: switches.unwrap_or(0) as u32,
            major_faults: increase(after.major_faults, before.major_faults).unwrap_or(0) as u32,
            migrated: after.cpu != before.cpu,
            ..sample
        })
    }

    /// Runs untimed ops before a walk, one by one: a preparation may provide for one only.
    fn run_before_walk(
        &mut self,
        work: &mut Work,
        unroll: u32,
        no_syscalls: bool,
    ) -> Result<(), OpError> {
        for _ in 0..OPS_BEFORE_WALK {
            self.prepare(work, u64::from(unroll), no_syscalls)?;
            work.run(1, unroll)?;
            work.verify()?;
            self.ops += u64::from(unroll) * work.op_count();
        }
        Ok(())
    }

    /// Prepares untimed ops.
    fn prepare(&mut self, work: &mut Work, ops: u64, no_syscalls: bool) -> Result<(), OpError> {
        self.prepare_by(Work::prepare, work, ops, no_syscalls)
    }

    /// Prepares a batch. Its resource usage is recorded separately from that of the ops, except
    /// between batches that avoid system calls.
    fn prepare_by(
        &mut self,
        prepare: fn(&mut Work, u64) -> Result<(), OpError>,
        work: &mut Work,
        ops: u64,
        no_syscalls: bool,
    ) -> Result<(), OpError> {
        if !work.has_preparation() {
            return prepare(work, ops);
        }
        if no_syscalls {
            self.preparation_usage = None;
            return prepare(work, ops);
        }
        let start = self.clock.raw_ns();
        let before = self.covariates.usage();
        prepare(work, ops)?;
        self.preparation_ns += self.clock.raw_ns() - start;
        let charged = before.zip(self.covariates.usage()).map(|(then, now)| now.since(then));
        self.preparation_usage = self
            .preparation_usage
            .zip(charged)
            .map(|(preparation, charged)| preparation.plus(charged));
        Ok(())
    }
}

/// Whether system calls are avoided between the batches of a plan, where the work allows it.
pub fn may_avoid_syscalls(plan: &BatchPlan) -> bool {
    match plan.mode {
        Mode::U | Mode::C => true,
        Mode::B => plan.batch_ns < NO_SYSCALLS_BELOW_NS * plan.iterations as f64,
        Mode::S | Mode::T | Mode::F => false,
    }
}

/// Whether system calls are avoided between the batches of a plan.
fn avoids_syscalls(plan: &BatchPlan, work: &Work) -> bool {
    // A whole pass is so long that a system call before it does not matter.
    may_avoid_syscalls(plan) && (plan.mode != Mode::C || work.op_count() == 1)
}
