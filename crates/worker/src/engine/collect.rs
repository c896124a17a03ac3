//! Batches: the timed window, and the untimed work around it.

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::seed::Seed;
use oscost_model::worker::{
    BatchPlan, COUNTED_WARM_UP_NS, Disturbance, Mode, Sample, Usage, WARM_UP_NS,
};

mod windows;

use super::clock::Clock;
use super::covariates::{Covariates, Reading, SwitchWatch};
use super::probe::{core_cycles_per_ns, shows_core_rate};
use super::tick::TickClock;
use crate::bench::{OpError, Work};
use crate::kernel::cpu::black_box::barrier;
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

/// How often a worker times each of the two chains that show the core's rate: 0.1 ms in all at 3 GHz.
const WORKER_RATE_TRIES: u32 = 5;

/// The maximum number of iterations of a batch, as a multiple of those of the plan.
pub const MAX_JITTER: f64 = 1.1;

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
            // is not part of the batch.
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

    /// Starts the account of a worker's timed part.
    pub fn open_account(&mut self) -> Account {
        Account {
            raw_ns: self.clock.raw_ns(),
            preparation_ns: self.preparation_ns,
            cpu_ns: self.covariates.read().cpu_ns.unwrap_or(0),
            run_delay_ns: self.covariates.run_delay_ns(),
            ops: self.ops,
            usage: self.covariates.usage().zip(self.preparation_usage),
        }
    }

    /// The time since the account was opened, without the time in which the thread was ready but
    /// did not run.
    fn ran_ns(&mut self, opened: &Account) -> u64 {
        let prepared_ns = self.preparation_ns - opened.preparation_ns;
        let account = self.close_account(opened);
        (account.wall_ns + prepared_ns).saturating_sub(account.run_delay_ns.unwrap_or(0))
    }

    /// Ends the account.
    pub fn close_account(&mut self, opened: &Account) -> Disturbance {
        let delay = self.covariates.run_delay_ns();
        // Only CPU time: a preparation may sleep.
        let prepared = opened.usage.zip(self.preparation_usage);
        let prepared_ns = prepared.map_or(0, |((_, then), now)| {
            let charged = now.since(then);
            charged.user_ns + charged.system_ns
        });
        let cpu_ns = self.covariates.read().cpu_ns.unwrap_or(0).saturating_sub(opened.cpu_ns);
        Disturbance {
            wall_ns: (self.clock.raw_ns() - opened.raw_ns)
                .saturating_sub(self.preparation_ns - opened.preparation_ns),
            cpu_ns: cpu_ns.saturating_sub(prepared_ns),
            run_delay_ns: delay
                .zip(opened.run_delay_ns)
                .map(|(now, then)| now.saturating_sub(then)),
            steal_ticks: None,
            throttled_periods: None,
            switches_uncounted: self.switches_unknown,
            usage: self.usage_since(opened),
            core_cycles_per_ns: None,
            file: None,
            channel: None,
        }
    }

    /// The account with the core's rate, which is measured now: after the last batch, so that it
    /// changes nothing for those that are timed. Counted instructions have no rate, and a clock of
    /// coarse steps shows none.
    pub fn with_core_rate(&mut self, account: Disturbance, clock: &Calibration) -> Disturbance {
        let core_cycles_per_ns = match clock.kind {
            ClockKind::Instructions => None,
            ClockKind::Tsc | ClockKind::Vdso | ClockKind::Syscall => {
                core_cycles_per_ns(&mut self.clock, clock.ticks_per_ns, WORKER_RATE_TRIES)
                    .filter(|&rate| shows_core_rate(clock.ns(clock.quantum_ticks), rate))
            }
        };
        Disturbance { core_cycles_per_ns, ..account }
    }

    /// The resource usage of the ops since the account was opened, without that of the
    /// preparations.
    fn usage_since(&mut self, opened: &Account) -> Option<Usage> {
        let ((then, preparation_then), (now, preparation)) =
            opened.usage.zip(self.covariates.usage().zip(self.preparation_usage))?;
        let charged = now.since(then).since(preparation.since(preparation_then));
        Some(Usage {
            ops: self.ops - opened.ops,
            user_ns: charged.user_ns,
            system_ns: charged.system_ns,
            minor_faults: charged.minor_faults,
            child_minor_faults: charged.child_minor_faults,
            major_faults: charged.major_faults,
            voluntary_switches: charged.voluntary_switches,
            involuntary_switches: charged.involuntary_switches,
        })
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

/// The counters at the beginning of the timed part.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    raw_ns: u64,
    preparation_ns: u64,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    ops: u64,
    usage: Option<(ThreadUsage, ThreadUsage)>,
}

/// The jitter of batches: a random number of iterations around that of the plan, and a random
/// start.
///
/// A constant number of ops can alias with the clock's quantum or with the timer interrupt; then
/// every batch has the same error.
pub struct BatchJitter {
    seed: Seed,
}

impl BatchJitter {
    /// Jitter from `seed`: two arms with the same seed get the same numbers of iterations.
    pub fn new(seed: u64) -> Self {
        Self { seed: Seed::new(seed) }
    }

    /// The number of iterations of the next group, within 10 % of the plan's, and the order of its
    /// batches. Single shots stay single.
    fn next(&mut self, plan: &BatchPlan, order: &mut [u32]) -> u64 {
        self.seed.shuffle(order);
        let factor = 0.9 + (MAX_JITTER - 0.9) * self.seed.unit();
        if plan.mode.is_single_shot() {
            return plan.iterations;
        }
        ((plan.iterations as f64 * factor).round() as u64).max(1)
    }

    /// Delays by up to some 20 ns, so that the next START falls anywhere in the clock's quantum.
    fn dither(&mut self) {
        for _ in 0..self.seed.below(64) {
            barrier();
        }
    }
}

/// The length of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchLength {
    /// In nanoseconds.
    pub ns: f64,
    /// Whether the clock is too coarse for batches as short as the interruptions require.
    pub coarse_clock: bool,
}

/// The batch length for a clock and a machine: long against the clock's step, short against the
/// time between interruptions.
///
/// A slope is taken over a group of batches with these unroll factors, and an interruption anywhere
/// in the group invalidates it: then the group must be short against the interruptions.
pub fn batch_length(
    clock: &Calibration,
    interruptions_per_s: f64,
    unroll_factors: &[u32],
) -> BatchLength {
    /// The target if nothing else decides.
    const USUAL_NS: f64 = 50_000.0;
    /// Longer batches are hit by the timer tick of every kernel.
    const MAX_NS: f64 = 1_000_000.0;
    /// A batch is undisturbed with probability exp(-0.1) = 0.9, so that the median is.
    const INTERRUPTIONS_PER_BATCH: f64 = 0.1;
    let batches_per_group = unroll_factors.iter().sum::<u32>() as f64
        / unroll_factors.iter().max().copied().unwrap_or(1) as f64;
    let min_ns = min_batch_ns(clock, unroll_factors);
    let max_ns = if interruptions_per_s > 0.0 {
        MAX_NS.min(INTERRUPTIONS_PER_BATCH / interruptions_per_s * 1e9 / batches_per_group)
    } else {
        MAX_NS
    };
    if is_injected(InjectedFault::LongBatches) {
        return BatchLength { ns: 10_000_000.0, coarse_clock: false };
    }
    if min_ns > max_ns {
        BatchLength { ns: min_ns, coarse_clock: true }
    } else {
        BatchLength { ns: USUAL_NS.clamp(min_ns, max_ns), coarse_clock: false }
    }
}

/// The length above which a clock's step and its cost are a negligible part of a batch, in
/// nanoseconds.
pub fn min_batch_ns(clock: &Calibration, unroll_factors: &[u32]) -> f64 {
    /// The clock's step is at most 0.1 % of a batch.
    const QUANTA_PER_BATCH: f64 = 1_000.0;
    // The same for the cost of reading the clock; a slope cancels it, and only its spread remains.
    let by_slope = unroll_factors.len() > 1;
    let reads_per_batch = if by_slope { 50.0 } else { 1_000.0 };
    (QUANTA_PER_BATCH * clock.ns(clock.quantum_ticks))
        .max(reads_per_batch * clock.ns(clock.inside_ticks))
}

#[cfg(test)]
mod tests;
