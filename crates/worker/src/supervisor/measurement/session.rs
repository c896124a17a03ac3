//! The session of a worker of one arm: it answers `ready`, then times batches at each `go`, until
//! `stop`.

use oscost_model::clock::ClockKind;
use oscost_model::point::Value;
use oscost_model::protocol::{Event, Order};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Subject, Task, WorkerSpec};

use super::case_work::timed_work;
use super::needs::NO_PASSING_TIME;
use super::stage::Stage;
use super::timing::{
    check_group_limit, monitor_wakeups_per_op, next_order, sample_table, send_ready,
    system_counters, with_stack_offset, with_system_counters,
};
use crate::bench::{Bench, Shape, Work};
use crate::benchmarks;
use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::collect::{BatchJitter, Collector, SampleTag};
use crate::engine::covariates::KernelAccount;
use crate::engine::instructions;
use crate::engine::pilot;
use crate::engine::tick::TickClock;
use crate::kernel::Errno;
use crate::kernel::time::clock;
use crate::supervisor::protocol::failure::{failure, no_instruction_counter, op_failure};
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::MonitorPage;

/// Measures or pilots a case with the clock that the spec names, in a process that was `pinned`.
pub(super) fn run_session(
    id: u64,
    spec: &WorkerSpec,
    pinned: Result<Vec<u32>, Event>,
    wire: &mut Wire,
    page: &MonitorPage,
) -> Event {
    let mut work = match pinned.and_then(|allowed| timed_work(id, spec, 0, allowed)) {
        Ok(work) => work,
        Err(answer) => return answer,
    };
    with_stack_offset(spec, &mut || {
        let session = Session { id, spec, wire, work: &mut work, page };
        let done = match spec.clock.kind {
            ClockKind::Instructions if !instructions::counts_instructions(&mut Tsc) => {
                Err(no_instruction_counter(id))
            }
            // An emulator that counts instructions returns them from the time-stamp counter.
            ClockKind::Tsc | ClockKind::Instructions => session.run(|| Ok(Tsc)),
            ClockKind::Vdso => session.run(Vdso::find),
            ClockKind::Syscall => session.run(|| Ok(Syscall)),
        };
        done.unwrap_or_else(|answer| answer)
    })
}

/// The session of a worker of one arm.
struct Session<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    wire: &'a mut Wire,
    work: &'a mut Work,
    page: &'a MonitorPage,
}

impl Session<'_> {
    fn run<C: Clock>(mut self, clock: impl Fn() -> Result<C, Errno>) -> Result<Event, Event> {
        let id = self.id;
        Stage::Accounting.begin();
        let clock = clock().map_err(|error| failure(id, format!("open the clock: {error}")))?;
        let mut collector = Collector::new(clock, KernelAccount::of_this_thread());
        match &self.spec.task {
            Task::Pilot { interruptions_per_s } => {
                Stage::Ready.begin();
                send_ready(id, self.wire)?;
                let Some(Order::Go { .. }) = next_order(id, self.wire)? else {
                    return Err(failure(id, "the pilot was stopped before its first `go`"));
                };
                Stage::Batches.begin();
                let clock = &self.spec.clock;
                let plan = pilot::pilot(&mut collector, self.work, clock, *interruptions_per_s)
                    .map_err(|error| op_failure(id, error))?;
                Ok(Event::Piloted { id, plan })
            }
            Task::Measure(plan) if self.spec.arms == 1 => self.time_batches(plan, &mut collector),
            Task::Exact if self.work.shape == Shape::OwnValue && self.op_measures_time() => {
                Ok(Event::Skipped { id, missing: NO_PASSING_TIME.to_owned(), arm: None })
            }
            Task::Exact => {
                let period_ns = clock::tick_ns()
                    .ok_or_else(|| failure(id, "the length of the kernel's tick is unknown"))?;
                let bytes = self.message_bytes();
                let plan = instructions::plan(
                    &mut collector,
                    self.work,
                    &self.spec.clock,
                    bytes,
                    period_ns,
                )
                .map_err(|error| op_failure(id, error))?;
                collector.ticks = Some(TickClock::synchronize(period_ns));
                self.time_batches(&plan, &mut collector)
            }
            Task::Measure(_) => Err(failure(
                id,
                format!("{} arms were requested; 1 to 3 are supported", self.spec.arms),
            )),
            Task::Count { .. }
            | Task::CountForms
            | Task::RunMarked { .. }
            | Task::CountEvents(_)
            | Task::Serve { .. }
            | Task::Run { .. }
            | Task::TakeTurns { .. } => Err(failure(id, "the task of the order is not to measure")),
        }
    }

    /// Whether the values that its ops return are times.
    fn op_measures_time(&self) -> bool {
        self.bench().is_some_and(|bench| !matches!(bench.unit, Unit::YesOrNo | Unit::TimesPerOp))
    }

    /// The size of a message, if its ops move bytes; otherwise that of a page.
    fn message_bytes(&self) -> u64 {
        const PAGE: u64 = 4_096;
        let Subject::Case(case) = &self.spec.subject else { return PAGE };
        match self.bench().and_then(|bench| case.point.get(bench.bytes_axis)) {
            Some(&Value::Number(bytes)) => bytes,
            _ => PAGE,
        }
    }

    fn bench(&self) -> Option<&'static Bench> {
        match &self.spec.subject {
            Subject::Case(case) => benchmarks::find(&case.benchmark),
            Subject::Program(_) | Subject::Programs(_) => None,
        }
    }

    /// Times batches in this process. From the first batch to the last it writes nothing, except in
    /// a toggled worker, which reports the end of each block of batches.
    fn time_batches<C: Clock>(
        &mut self,
        plan: &BatchPlan,
        collector: &mut Collector<C, KernelAccount>,
    ) -> Result<Event, Event> {
        let id = self.id;
        let arms = if self.spec.toggled { 2 } else { 1 };
        let mut table = sample_table(id, plan, arms)?;
        table.keep_from_forks();
        // Rounds of the same index have the same number of ops in every arm.
        let mut jitters: Vec<BatchJitter> =
            (0..arms).map(|_| BatchJitter::new(self.spec.seed)).collect();
        let mut warm_up_jitter = BatchJitter::new(!self.spec.seed);
        let (mut rounds, mut next_slot) = ([0; 2], 0);
        let mut account = None;
        let mut wakeups = None;
        let exact = self.spec.task == Task::Exact;
        Stage::Ready.begin();
        send_ready(id, self.wire)?;
        while let Some(Order::Go { batches, arm, .. }) = next_order(id, self.wire)? {
            let at = usize::from(arm);
            let Some(jitter) = jitters.get_mut(at) else {
                return Err(failure(id, format!("`go` for arm {arm}: the worker has {arms}")));
            };
            // An exact worker makes its own plan, with its own number of groups.
            let batches = if exact { plan.groups } else { batches };
            check_group_limit(id, plan, rounds[at] + batches)?;
            if account.is_none() {
                Stage::WarmUp.begin();
                let before = system_counters(self.spec);
                collector.warm_up(self.work, plan).map_err(|error| op_failure(id, error))?;
                wakeups = monitor_wakeups_per_op(self.work, plan, self.page)
                    .map_err(|error| op_failure(id, error))?;
                account = Some((collector.open_account(), before));
                Stage::Batches.begin();
            }
            if self.spec.toggled {
                // The toggled treatment has changed the contents of the caches.
                let tag = SampleTag { arm, round: rounds[at], batch: next_slot as u32 };
                collector
                    .time_group(self.work, plan, &mut warm_up_jitter, tag, &mut |_| ())
                    .map_err(|error| op_failure(id, error))?;
            }
            for _ in 0..batches {
                let tag = SampleTag { arm, round: rounds[at], batch: next_slot as u32 };
                let mut stored = Ok(());
                let mut store = |sample| {
                    stored = stored.and(table.set(next_slot, sample));
                    next_slot += 1;
                };
                let timed = match self.spec.windows_of_group(rounds[at], plan.groups) {
                    None => collector.time_group(self.work, plan, jitter, tag, &mut store),
                    Some(windows) => {
                        collector.time_windows(self.work, plan, windows, jitter, tag, &mut store)
                    }
                };
                timed.map_err(|error| op_failure(id, error))?;
                stored.map_err(|error| failure(id, format!("store a sample: {error}")))?;
                rounds[at] += 1;
            }
            if self.spec.toggled {
                let sent = self.wire.send(&Event::BatchesDone { id });
                sent.map_err(|error| {
                    failure(id, format!("report the end of the batches: {error}"))
                })?;
            }
        }
        let Some((opened, before)) = account else {
            return Err(failure(id, "the worker was stopped before its first `go`"));
        };
        Stage::Report.begin();
        let account = collector.close_account(&opened);
        let account = collector.with_core_rate(account, &self.spec.clock);
        let (file, channel) = (self.work.file_observation(), self.work.channel_observation());
        let account = Disturbance { file, channel, ..account };
        let disturbance = with_system_counters(self.spec, account, before);
        let treated = !self.spec.treatments_of(0).is_empty();
        Ok(Event::Sampled {
            id,
            samples: table.prefix(next_slot),
            disturbance: Box::new(disturbance),
            monitor_wakeups_per_op: if treated {
                vec![wakeups; usize::from(arms)]
            } else {
                Vec::new()
            },
            speculation: Vec::new(),
            plan: exact.then(|| Box::new(plan.clone())),
        })
    }
}
