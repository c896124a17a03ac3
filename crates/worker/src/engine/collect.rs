//! Batches: the timed window and what surrounds it.

use oscost_model::clock::Calibration;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, Usage};

use super::clock::Clock;
use super::covariates::{Covariates, Reading};
use super::tick::TickClock;
use crate::bench::{OpError, Work};
use crate::kernel::cpu::black_box::barrier;
use crate::kernel::process::usage::ThreadUsage;

/// A warm-up ends after so many groups of batches ...
const WARM_UP_GROUPS: u32 = 5;
/// ... and not before so long: page and dentry caches and the branch predictor have settled by then.
/// Time in which the process was ready but did not run does not count: nothing settles meanwhile.
/// (The 20 ms of the frequency ramp are paid once per run, by the probe's spin.)
const WARM_UP_NS: u64 = 3_000_000;

/// At the beginning of a batch so many turns are run untimed, or an eighth of the batch if that is
/// less.
const REWARM_ITERATIONS: u64 = 64;

/// Between batches of ops that are shorter than this the kernel is not entered.
const NO_SYSCALLS_BELOW_NS: f64 = 50.0;

/// A batch is cut to at most so many times the turns of its plan.
pub const MAX_JITTER: f64 = 1.1;

/// A clock and the covariates of the thread that collects.
pub struct Collector<C, V> {
    /// The clock.
    pub clock: C,
    /// The signals of disturbance.
    pub covariates: V,
    /// The CPU of the first batch.
    first_cpu: Option<i32>,
    /// Switches could not be counted.
    switches_unknown: bool,
    /// Ops that were run so far, timed or not.
    ops: u64,
    /// What the thread was charged so far for what comes before batches; unknown once it went
    /// unasked.
    preparation_usage: Option<ThreadUsage>,
    /// How long that took, in nanoseconds.
    preparation_ns: u64,
    /// The kernel's ticks, where batches are to keep clear of them.
    pub ticks: Option<TickClock>,
}

/// Where a sample belongs.
#[derive(Clone, Copy, Debug)]
pub struct SampleTag {
    /// Which of the things compared.
    pub arm: u8,
    /// Its group.
    pub round: u32,
    /// Its place in the worker's order.
    pub batch: u32,
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// A collector with this clock and these signals.
    pub fn new(clock: C, covariates: V) -> Self {
        let aside = Some(ThreadUsage::default());
        let ticks = None;
        Self {
            clock,
            covariates,
            first_cpu: None,
            switches_unknown: false,
            ops: 0,
            preparation_usage: aside,
            preparation_ns: 0,
            ticks,
        }
    }

    /// Runs groups of batches whose times are thrown away, until the work has settled.
    pub fn warm_up(&mut self, work: &mut Work, plan: &BatchPlan) -> Result<(), OpError> {
        if plan.mode == Mode::C || is_injected(InjectedFault::NoWarmUp) {
            return Ok(()); // What is wanted cold is not warmed.
        }
        let begun = self.open_account();
        // A figure that is found may take 10 ms, and hangs on no cache.
        let fewest = if plan.mode == Mode::F { 1 } else { WARM_UP_GROUPS };
        let mut groups = 0;
        while groups < fewest || self.ran_ns(&begun) < WARM_UP_NS {
            for &copies in &plan.unroll_factors {
                self.time_batch(
                    work,
                    plan,
                    (plan.iterations, copies),
                    SampleTag { arm: 0, round: 0, batch: 0 },
                )?;
            }
            groups += 1;
        }
        Ok(())
    }

    /// Times one group: a batch for each number of copies, in random order, all with the same
    /// number of turns. The order is random so that what one batch leaves in the caches does not
    /// always fall to the same one. A batch whose answer never came is no sample.
    pub fn time_group(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        cut: &mut BatchJitter,
        tag: SampleTag,
        sink: &mut dyn FnMut(Sample),
    ) -> Result<(), OpError> {
        let mut order = plan.unroll_factors.clone();
        let mut turns = cut.next(plan, &mut order);
        if self.ticks.is_some() {
            // There is no step of a clock to fall into, and the tick is kept clear of.
            turns = plan.iterations;
        }
        for (index, &copies) in order.iter().enumerate() {
            cut.dither();
            let batch = tag.batch + index as u32;
            let sample =
                self.time_batch(work, plan, (turns, copies), SampleTag { batch, ..tag })?;
            if !work.is_batch_lost() {
                sink(sample);
            }
        }
        Ok(())
    }

    /// Times one batch. Between START and STOP stands one indirect call of the body and nothing
    /// else.
    ///
    /// Where an op is short or cold the kernel is not entered between batches either, if the thread
    /// can be watched without (see [`crate::kernel::rseq`]): an op of a nanosecond would be timed in
    /// the state in which a system call leaves the core, and one that enters the kernel would not
    /// be cold. A fault that waits is a switch, and shows as one.
    fn time_batch(
        &mut self,
        work: &mut Work,
        plan: &BatchPlan,
        (turns, copies): (u64, u32),
        tag: SampleTag,
    ) -> Result<Sample, OpError> {
        if let Some(ticks) = &self.ticks {
            // Before anything else: a second process may be told to keep the CPU busy.
            ticks.sleep_past();
        }
        // Who sleeps before a batch has entered the kernel.
        let quiet = self.ticks.is_none()
            && avoids_syscalls(plan, work)
            && self.covariates.start_switch_watch();
        let mut before = if quiet { Reading::default() } else { self.covariates.read() };
        // After the covariates, since reading them has just moved things in the caches; but never
        // before a single shot.
        let again = if self.ticks.is_some() { 0 } else { (turns / 8).min(REWARM_ITERATIONS) };
        if again > 0 {
            self.prepare(work, again * u64::from(copies), quiet)?;
            work.run(again, copies)?;
            work.verify()?;
        }
        let ops = turns * u64::from(copies);
        self.ops += (again * u64::from(copies) + ops) * work.op_count();
        self.prepare(work, ops, quiet)?;
        if plan.mode == Mode::C {
            // What is wanted cold is the op: the loop around it is fetched again, without an op.
            work.run(0, copies)?;
        }
        if plan.mode == Mode::C || work.has_preparation() {
            // Whoever took the CPU during an eviction or a preparation has disturbed nothing, and
            // what that took is no part of the batch.
            match quiet {
                true => drop(self.covariates.start_switch_watch()),
                false => before = self.covariates.read(),
            }
        }
        let start = self.clock.start();
        let done = work.run(turns, copies);
        let stop = self.clock.stop();
        let sample = Sample {
            arm: tag.arm,
            round: tag.round,
            batch: tag.batch,
            n: ops * work.op_count(),
            ticks: work.last_value().unwrap_or(stop.wrapping_sub(start) as i64),
            ..Sample::default()
        };
        if quiet {
            let (switched, cpu) = self.covariates.end_switch_watch();
            done.and_then(|()| work.verify())?;
            // A move to another CPU is a switch too; the first batch tells where the worker stands.
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
        let grown = |now: Option<u64>, then: Option<u64>| {
            now.zip(then).map(|(now, then)| now.saturating_sub(then))
        };
        let switches = grown(after.involuntary_switches, before.involuntary_switches);
        self.switches_unknown |= switches.is_none();
        Ok(Sample {
            n: work.actual_ops().unwrap_or(sample.n),
            cpu_ns: grown(after.cpu_ns, before.cpu_ns),
            involuntary_switches: switches.unwrap_or(0) as u32,
            major_faults: grown(after.major_faults, before.major_faults).unwrap_or(0) as u32,
            migrated: after.cpu != before.cpu,
            ..sample
        })
    }

    /// Does what must come before a batch. What the thread is charged for it is kept apart: it is
    /// not the ops'. In a batch that is to leave the kernel alone nobody asks.
    fn prepare(&mut self, work: &mut Work, ops: u64, quiet: bool) -> Result<(), OpError> {
        if !work.has_preparation() {
            return work.prepare(ops);
        }
        if quiet {
            self.preparation_usage = None;
            return work.prepare(ops);
        }
        let begun = self.clock.raw_ns();
        let before = self.covariates.usage();
        work.prepare(ops)?;
        self.preparation_ns += self.clock.raw_ns() - begun;
        let charged = before.zip(self.covariates.usage()).map(|(then, now)| now.since(then));
        self.preparation_usage =
            self.preparation_usage.zip(charged).map(|(aside, charged)| aside.plus(charged));
        Ok(())
    }

    /// Begins the account of a worker's timed part.
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

    /// How long the thread ran or slept by itself since the account was opened.
    fn ran_ns(&mut self, opened: &Account) -> u64 {
        let prepared_ns = self.preparation_ns - opened.preparation_ns;
        let account = self.close_account(opened);
        (account.wall_ns + prepared_ns).saturating_sub(account.run_delay_ns.unwrap_or(0))
    }

    /// Ends the account.
    pub fn close_account(&mut self, opened: &Account) -> Disturbance {
        let delay = self.covariates.run_delay_ns();
        // What came before batches may have slept, and has lost nothing by it.
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
            file: None,
            channel: None,
        }
    }

    /// What the ops were charged since the account was opened, without what came before batches.
    fn usage_since(&mut self, opened: &Account) -> Option<Usage> {
        let ((then, aside_then), (now, aside)) =
            opened.usage.zip(self.covariates.usage().zip(self.preparation_usage))?;
        let charged = now.since(then).since(aside.since(aside_then));
        Some(Usage {
            ops: self.ops - opened.ops,
            user_ns: charged.user_ns,
            system_ns: charged.system_ns,
            minor_faults: charged.minor_faults,
            major_faults: charged.major_faults,
            voluntary_switches: charged.voluntary_switches,
            involuntary_switches: charged.involuntary_switches,
        })
    }
}

/// Whether the kernel is left alone between the batches of a plan.
fn avoids_syscalls(plan: &BatchPlan, work: &Work) -> bool {
    match plan.mode {
        Mode::U => true,
        // A whole pass is so long that what the kernel was asked before it shows nowhere.
        Mode::C => work.op_count() == 1,
        Mode::B => plan.batch_ns < NO_SYSCALLS_BELOW_NS * plan.iterations as f64,
        Mode::S | Mode::T | Mode::F => false,
    }
}

/// What the accounts showed when the timed part began.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    raw_ns: u64,
    preparation_ns: u64,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    ops: u64,
    usage: Option<(ThreadUsage, ThreadUsage)>,
}

/// How each group is cut: a random number of turns around the plan's, and a random moment.
///
/// A number of ops that never changes can fall into step with the clock's quantum or with the
/// timer interrupt, and then every batch shows the same error.
pub struct BatchJitter {
    seed: Seed,
}

impl BatchJitter {
    /// Cuts as `seed` says: two arms with the same seed get the same numbers of turns.
    pub fn new(seed: u64) -> Self {
        Self { seed: Seed::new(seed) }
    }

    /// The number of turns of the next group, within a tenth of the plan's, and the order of its
    /// batches. Single shots stay single.
    fn next(&mut self, plan: &BatchPlan, order: &mut [u32]) -> u64 {
        self.seed.shuffle(order);
        let factor = 0.9 + (MAX_JITTER - 0.9) * self.seed.unit();
        if plan.mode.is_single_shot() {
            return plan.iterations;
        }
        ((plan.iterations as f64 * factor).round() as u64).max(1)
    }

    /// Lets up to some 20 ns pass, so that the next START meets the clock's quantum anywhere.
    fn dither(&mut self) {
        for _ in 0..self.seed.below(64) {
            barrier();
        }
    }
}

/// The batch length that suits a clock and a machine, in nanoseconds, and whether both could be
/// suited: long against the clock's step, short against the time between interruptions.
///
/// A slope is taken over a group of batches of `copies`, and an interruption anywhere in the group
/// spoils it: then it is the group that must be short against the interruptions.
pub fn batch_length_ns(
    clock: &Calibration,
    interruptions_per_s: f64,
    copies: &[u32],
) -> (f64, bool) {
    /// What is aimed at where nothing else decides.
    const USUAL_NS: f64 = 50_000.0;
    /// Longer batches meet the tick of every kernel.
    const LONGEST_NS: f64 = 1_000_000.0;
    /// A batch is untouched with a probability of exp(-0.1) = 0.9, so that the median stays clean.
    const INTERRUPTIONS_PER_BATCH: f64 = 0.1;
    let group =
        copies.iter().sum::<u32>() as f64 / copies.iter().max().copied().unwrap_or(1) as f64;
    let shortest = min_batch_ns(clock, copies);
    let longest = if interruptions_per_s > 0.0 {
        LONGEST_NS.min(INTERRUPTIONS_PER_BATCH / interruptions_per_s * 1e9 / group)
    } else {
        LONGEST_NS
    };
    if is_injected(InjectedFault::LongBatches) {
        return (10_000_000.0, false);
    }
    if shortest > longest { (shortest, true) } else { (USUAL_NS.clamp(shortest, longest), false) }
}

/// The length from which on a clock's step and its cost are no visible part of a batch, in
/// nanoseconds.
pub fn min_batch_ns(clock: &Calibration, copies: &[u32]) -> f64 {
    /// The clock's step is then at most 0.1 % of a batch.
    const QUANTA_PER_BATCH: f64 = 1_000.0;
    // So is what reading the clock adds to a batch; a slope takes that out, and only its spread
    // remains.
    let by_slope = copies.len() > 1;
    let reads_per_batch = if by_slope { 50.0 } else { 1_000.0 };
    (QUANTA_PER_BATCH * clock.ns(clock.quantum_ticks))
        .max(reads_per_batch * clock.ns(clock.inside_ticks))
}
