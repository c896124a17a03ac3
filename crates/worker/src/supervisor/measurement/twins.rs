//! Workers of several arms: fork twins, each of which applies its treatments and builds its own
//! work.

use std::cell::Cell;

use oscost_model::clock::ClockKind;
use oscost_model::protocol::{Event, Order};
use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

use super::case_work::{pin_to_cpu, timed_work};
use super::forbidden_call::describe_worker_end;
use super::timing::{
    check_group_limit, monitor_wakeups_per_op, next_order, sample_table, send_ready,
    system_counters, with_stack_offset, with_system_counters,
};
use crate::bench::Work;
use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::collect::{BatchJitter, Collector};
use crate::engine::covariates::KernelAccount;
use crate::engine::twins::{self, ArmAnswer, FailedArm, SampleSlots, TokenPipes, Twin, Twins};
use crate::kernel::cpu::affinity;
use crate::kernel::file::location;
use crate::kernel::memory::shared_table::SharedTable;
use crate::kernel::{Errno, process};
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::{failure, no_instruction_counter, op_failure, refusal};
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::{MonitorPage, TreatedProcess, Treatments};

/// The results of an arm besides its samples.
#[derive(Clone, Copy, Default)]
struct ArmResult {
    account: Disturbance,
    wakeups: Option<f64>,
}

/// An arm that was started, and its process.
struct RunningArm {
    number: u8,
    process: TreatedProcess,
}

/// The state that the worker shares with its arms.
struct TwinWorker<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    plan: &'a BatchPlan,
    samples: SharedTable<Sample>,
    results: SharedTable<ArmResult>,
}

/// Two or three arms, in processes of their own.
pub(super) fn measure_twins(id: u64, spec: &WorkerSpec, wire: &mut Wire) -> Result<Event, Answer> {
    let Task::Measure(plan) = &spec.task else {
        return Err(failure(id, "the task of the order is not to measure").into());
    };
    let arms = spec.arms;
    let results = SharedTable::new(usize::from(arms))
        .map_err(|error| failure(id, format!("map the arms' accounts: {error}")))?;
    let mut worker = TwinWorker { id, spec, plan, samples: sample_table(id, plan, arms)?, results };
    let mut order: Vec<u8> = (0..arms).collect();
    // Another random stream than those of the stack offset and of the batches.
    Seed::new(spec.seed.rotate_left(32)).shuffle(&mut order);
    let mut twins = Twins::new(spec.seed);
    let mut running = Vec::new();
    for arm in order {
        // One after the other: set-up and warm-up of one arm must not disturb those of another.
        running.push(worker.start_arm(arm, &mut twins)?);
    }
    // Pinned to the CPU of its arms, so that a token wakes no other CPU. The arms were forked
    // before: the fork of a pinned process would see no other CPU.
    if let Some(cpu) = spec.cpu {
        affinity::pin(cpu).map_err(|error| failure(id, format!("pin to CPU {cpu}: {error}")))?;
    }
    // Read from outside: an arm under a filter might be refused or killed for asking.
    let in_order = (0..arms).map(|arm| running.iter().find(|running| running.number == arm));
    let speculation = in_order.map(|arm| process::speculation_status(arm?.process.pid())).collect();
    send_ready(id, wire)?;
    let mut rounds = 0;
    let before = system_counters(spec);
    while let Some(Order::Go { batches, .. }) = next_order(id, wire)? {
        check_group_limit(id, plan, rounds + batches)?;
        for _ in 0..batches {
            twins.round().map_err(|failed| worker.arm_failure(failed, &mut running))?;
            rounds += 1;
        }
    }
    twins.end().map_err(|failed| worker.arm_failure(failed, &mut running))?;
    let all = worker.results.prefix(usize::from(arms));
    let account =
        all.iter().map(|results| results.account).reduce(twins::merge).unwrap_or_default();
    let slots = SampleSlots { arms, batches: plan.unroll_factors.len() };
    let mut samples = worker.samples.prefix(slots.first(0, rounds));
    // A batch whose answer never arrived has left its slot empty.
    samples.retain(|sample| sample.n != 0 || sample.ticks != 0);
    let is_treated = spec.treatments.iter().any(|applied| !applied.is_empty());
    Ok(Event::Sampled {
        id,
        samples,
        disturbance: Box::new(with_system_counters(spec, account, before)),
        monitor_wakeups_per_op: if is_treated {
            all.iter().map(|results| results.wakeups).collect()
        } else {
            Vec::new()
        },
        speculation,
        plan: None,
    })
}

impl TwinWorker<'_> {
    /// Starts an arm, waits until it is ready, and adds it to the others.
    fn start_arm(&mut self, arm: u8, others: &mut Twins) -> Result<RunningArm, Answer> {
        let id = self.id;
        let (mut pipes, tokens) = twins::arm_pipes()
            .map_err(|error| failure(id, format!("open the pipes to an arm: {error}")))?;
        let mut tokens = Some(tokens);
        let applied = self.spec.treatments_of(arm);
        let spec = self.spec;
        // Both closures run in the process of the arm, one after the other.
        let pinned = Cell::new(None);
        let started = Treatments { applied, cpu: spec.cpu, arm }.start_prepared(
            &mut || pinned.set(Some(pin_to_cpu(id, spec))),
            &mut |page| {
                location::set_arm(arm);
                // Closes the inherited pipes, so that each arm has the same number of descriptors.
                others.close_pipes();
                let (Some(mut tokens), Some(pinned)) = (tokens.take(), pinned.take()) else {
                    return 1;
                };
                let Err(reason) = self.run_arm(arm, pinned, page, &mut tokens) else { return 0 };
                let words = serde_json::to_vec(&with_arm(reason, arm)).unwrap_or_default();
                i32::from(tokens.send_message(&words).is_err())
            },
        );
        let process = started.map_err(|reason| with_arm(refusal(id, reason), arm))?;
        let running = RunningArm { number: arm, process };
        drop(tokens);
        match pipes.receive() {
            ArmAnswer::Done => {
                others.add(arm, pipes);
                Ok(running)
            }
            answer => Err(self.arm_failure(FailedArm { number: arm, answer }, &mut [running])),
        }
    }

    /// The answer for an arm that cannot continue.
    fn arm_failure(&self, failed: FailedArm, running: &mut [RunningArm]) -> Answer {
        let arm = match failed {
            FailedArm { answer: ArmAnswer::Message(line), .. } => return Answer::Line(line),
            FailedArm { number, .. } => number,
        };
        let exited = running.iter_mut().find(|running| running.number == arm);
        let end = match exited.map(|arm| arm.process.reap()) {
            Some(Ok(end)) => describe_worker_end(self.id, self.spec, arm, end),
            _ => "has disappeared".to_owned(),
        };
        with_arm(failure(self.id, format!("a twin exited: arm {arm} {end}")), arm).into()
    }

    /// Runs an arm, in its own process.
    fn run_arm(
        &mut self,
        arm: u8,
        pinned: Result<Vec<u32>, Event>,
        page: &MonitorPage,
        tokens: &mut TokenPipes,
    ) -> Result<(), Event> {
        let mut work = timed_work(self.id, self.spec, arm, pinned?)?;
        let (id, spec) = (self.id, self.spec);
        let mut process = ArmProcess { arm, page, tokens, work: &mut work, worker: self };
        with_stack_offset(spec, &mut || match spec.clock.kind {
            ClockKind::Tsc => process.run(Ok(Tsc)),
            ClockKind::Vdso => process.run(Vdso::find()),
            ClockKind::Syscall => process.run(Ok(Syscall)),
            ClockKind::Instructions => Err(no_instruction_counter(id)),
        })
    }
}

/// The process of an arm.
struct ArmProcess<'a, 'b> {
    arm: u8,
    page: &'a MonitorPage,
    tokens: &'a mut TokenPipes,
    work: &'a mut Work,
    worker: &'a mut TwinWorker<'b>,
}

impl ArmProcess<'_, '_> {
    fn run<C: Clock>(&mut self, clock: Result<C, Errno>) -> Result<(), Event> {
        let (id, plan, arm) = (self.worker.id, self.worker.plan, self.arm);
        let at = |error| op_failure(id, error);
        let send_error = |error: Errno| failure(id, format!("send the answer of an arm: {error}"));
        let clock = clock.map_err(|error| failure(id, format!("open the clock: {error}")))?;
        let mut collector = Collector::new(clock, KernelAccount::of_this_thread());
        // No other arm is forked from this one, and its ops leave the tables alone.
        self.worker.samples.keep_from_forks();
        self.worker.results.keep_from_forks();
        collector.warm_up(self.work, plan).map_err(at)?;
        let wakeups = monitor_wakeups_per_op(self.work, plan, self.page).map_err(at)?;
        self.tokens.send_done().map_err(send_error)?;
        let slots = SampleSlots { arms: self.worker.spec.arms, batches: plan.unroll_factors.len() };
        let mut twin = Twin { arm, slots, jitter: BatchJitter::new(self.worker.spec.seed) };
        let table = &mut self.worker.samples;
        let account =
            twin.serve(self.tokens, self.work, plan, table, &mut collector).map_err(at)?;
        let account = collector.with_core_rate(account, &self.worker.spec.clock);
        let (file, channel) = (self.work.file_observation(), self.work.channel_observation());
        let account = Disturbance { file, channel, ..account };
        self.worker
            .results
            .set(usize::from(arm), ArmResult { account, wakeups })
            .map_err(send_error)?;
        self.tokens.send_done().map_err(send_error)
    }
}

/// The same event, for this arm.
fn with_arm(event: Event, arm: u8) -> Event {
    match event {
        Event::Failed { id, at_op, reason, errno, .. } => {
            Event::Failed { id, at_op, reason, errno, arm: Some(arm) }
        }
        Event::Skipped { id, missing, .. } => Event::Skipped { id, missing, arm: Some(arm) },
        other => other,
    }
}
