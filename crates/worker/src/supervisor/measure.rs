//! A worker's conversation: `ready`, then `go` as often as wanted, then `stop`.

use oscost_model::clock::ClockKind;
use oscost_model::facts::Snapshot;
use oscost_model::point::Value;
use oscost_model::protocol::{Event, Order};
use oscost_model::seed::Seed;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, Subject, Task, WorkerSpec};

use super::arms;
use super::job::{Answer, Wire, applied_to, build, failed, failed_at};
use super::needs::NO_TIME;
use crate::bench::{Bench, OpError, Shape, Work};
use crate::benchmarks;
use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::collect::{Collector, Cut, Tag};
use crate::engine::disturb::Kernel;
use crate::engine::exact::{self, Ticks};
use crate::engine::pilot;
use crate::facts;
use crate::kernel::Errno;
use crate::kernel::cpu::stack_offset;
use crate::kernel::memory::shared_table::SharedTable;
use crate::kernel::process::Ended;
use crate::kernel::process::signal;
use crate::kernel::time::clock;
use crate::treatments::{self, Refused, Seen, Treatments};

/// Measures or pilots a case, in a process of its own where that is treated.
pub(super) fn measure(id: u64, spec: &WorkerSpec, wire: &mut Wire) -> Answer {
    if matches!(spec.task, Task::Measure(_)) && (2..=3).contains(&spec.arms) {
        return arms::twins(id, spec, wire).map_or_else(|answer| answer, Answer::Say);
    }
    let applied = applied_to(spec, 0);
    // A variable and a wrapper were there when the program was started.
    if !spec.forked && applied.iter().all(|one| !one.supports_twins()) {
        return conversation(id, spec, wire, &Seen::nobody()).into();
    }
    let ended = treatments::within(&Treatments { applied, cpu: spec.cpu, arm: 0 }, &mut |seen| {
        let answer = conversation(id, spec, wire, seen);
        i32::from(wire.say(&answer).is_err())
    });
    match ended {
        Ok(Ended::Exited(0)) => Answer::Said,
        Ok(how) => failed(id, format!("the worker {}", in_words(how, applied))).into(),
        Err(why) => refused(id, why).into(),
    }
}

/// Why a treatment was not applied, as an answer.
pub(super) fn refused(id: u64, why: Refused) -> Event {
    match why {
        Refused::Lacking(missing) => Event::Skipped { id, missing, arm: None },
        Refused::Failed(why) => failed(id, why),
    }
}

/// How a treated process ended that was to say more.
pub(super) fn in_words(how: Ended, applied: &[AppliedTreatment]) -> String {
    let under = match treatments::in_words(applied) {
        none if none.is_empty() => none,
        names => format!(" under {names}"),
    };
    match how {
        Ended::Killed(libc::SIGSYS) if !under.is_empty() => {
            format!("was killed by SIGSYS{under}: a filter forbids a call that it makes")
        }
        Ended::Killed(by) => format!("was killed by {}{under}", signal::name(by)),
        Ended::Exited(status) => format!("ended without an answer{under}, with status {status}"),
    }
}

/// Measures or pilots a case with the clock that the spec names.
fn conversation(id: u64, spec: &WorkerSpec, wire: &mut Wire, seen: &Seen) -> Event {
    let mut work = match work(id, spec, 0) {
        Ok(work) => work,
        Err(answer) => return answer,
    };
    deeper(spec, &mut || {
        let session = Session { id, spec, wire, work: &mut work, seen };
        let done = match spec.clock.kind {
            ClockKind::Instructions if !exact::counts_instructions(&mut Tsc) => Err(no_counter(id)),
            // An emulator that counts instructions shows them where a processor shows time.
            ClockKind::Tsc | ClockKind::Instructions => session.with(|| Ok(Tsc)),
            ClockKind::Vdso => session.with(Vdso::find),
            ClockKind::Syscall => session.with(|| Ok(Syscall)),
        };
        done.unwrap_or_else(|answer| answer)
    })
}

pub(super) fn no_counter(id: u64) -> Event {
    failed(id, "instructions are counted by an emulator only")
}

/// Pins the process and builds the work of an arm.
pub(super) fn work(id: u64, spec: &WorkerSpec, arm: u8) -> Result<Work, Event> {
    let work = build(id, spec, arm)?;
    #[cfg(feature = "live")]
    let work = super::slowed::slowed(work, spec, arm);
    Ok(work)
}

/// Does it deeper by less than a page, so that the stack's place differs from worker to worker.
pub(super) fn deeper<R>(spec: &WorkerSpec, what: &mut dyn FnMut() -> R) -> R {
    stack_offset::deeper(Seed::new(!spec.seed).below(4_096), what)
}

/// How often a monitor is woken by one op, found in ops that nobody times; `None` where there is no
/// monitor. No call but those of the ops lies between two looks.
pub(super) fn wakes(
    work: &mut Work,
    plan: &BatchPlan,
    seen: &Seen,
) -> Result<Option<f64>, OpError> {
    /// So many batches of so many turns: a stop may take 100 us, and an op make many.
    const BATCHES: u32 = 4;
    const TURNS: u64 = 16;
    let turns = if plan.mode == Mode::T { plan.iterations } else { plan.iterations.min(TURNS) };
    let (mut woken, mut ops) = (0, 0);
    for _ in 0..BATCHES {
        if seen.stops().is_none() {
            return Ok(None);
        }
        work.prepare(turns)?;
        let before = seen.stops();
        let done = work.run(turns, 1);
        let after = seen.stops();
        done.and_then(|()| work.verify())?;
        if !work.is_batch_lost() {
            woken += after.zip(before).map_or(0, |(after, before)| after - before);
            ops += work.actual_ops().unwrap_or(turns * work.op_count());
        }
    }
    Ok((ops > 0).then(|| woken as f64 / ops as f64))
}

/// Room for every sample that the plan allows of so many arms, pre-faulted and locked.
pub(super) fn table(id: u64, plan: &BatchPlan, arms: u8) -> Result<SharedTable<Sample>, Event> {
    let batches = plan.groups as usize * plan.unroll_factors.len() * usize::from(arms);
    SharedTable::new(batches).map_err(|error| failed(id, format!("map the sample buffer: {error}")))
}

/// Refuses more groups than the plan has.
pub(super) fn room(id: u64, plan: &BatchPlan, groups: u32) -> Result<(), Event> {
    if groups <= plan.groups {
        return Ok(());
    }
    let why = format!("{groups} groups were asked for: there is room for {}", plan.groups);
    Err(failed(id, why))
}

/// The machine's own counters before the timed part.
pub(super) fn snapshot(spec: &WorkerSpec) -> Option<Snapshot> {
    spec.cpu.map(facts::disturbances)
}

/// Adds what the machine's own counters say of the timed part.
pub(super) fn whole(
    spec: &WorkerSpec,
    account: Disturbance,
    before: Option<Snapshot>,
) -> Disturbance {
    let (before, after) = (before.unwrap_or_default(), snapshot(spec).unwrap_or_default());
    let grown = |now: Option<u64>, then: Option<u64>| {
        now.zip(then).map(|(now, then)| now.saturating_sub(then))
    };
    Disturbance {
        steal_ticks: grown(after.steal_ticks, before.steal_ticks),
        throttled_periods: grown(after.throttled_periods, before.throttled_periods),
        ..account
    }
}

/// Tells the tool that the worker stands ready.
pub(super) fn ready(id: u64, wire: &mut Wire) -> Result<(), Event> {
    let event = Event::Ready { id, pid: std::process::id(), addr: None };
    wire.say(&event).map_err(|error| failed(id, format!("say ready: {error}")))
}

/// The next order.
pub(super) fn next(id: u64, wire: &mut Wire) -> Result<Option<Order>, Event> {
    wire.order().map_err(|error| failed(id, format!("read an order: {error}")))
}

/// The conversation of a worker with one process.
struct Session<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    wire: &'a mut Wire,
    work: &'a mut Work,
    seen: &'a Seen,
}

impl Session<'_> {
    fn with<C: Clock>(mut self, clock: impl Fn() -> Result<C, Errno>) -> Result<Event, Event> {
        let id = self.id;
        let clock = clock().map_err(|error| failed(id, format!("open the clock: {error}")))?;
        let mut collector = Collector::new(clock, Kernel::of_this_thread());
        match &self.spec.task {
            Task::Pilot { interruptions_per_s } => {
                ready(id, self.wire)?;
                let Some(Order::Go { .. }) = next(id, self.wire)? else {
                    return Err(failed(id, "a pilot was stopped before it went"));
                };
                let clock = &self.spec.clock;
                let plan = pilot::pilot(&mut collector, self.work, clock, *interruptions_per_s)
                    .map_err(|error| failed_at(id, error))?;
                Ok(Event::Piloted { id, plan })
            }
            Task::Measure(plan) if self.spec.arms == 1 => self.alone(plan, &mut collector),
            Task::Exact if self.work.shape == Shape::OwnValue && self.finds_time() => {
                Ok(Event::Skipped { id, missing: NO_TIME.to_owned(), arm: None })
            }
            Task::Exact => {
                let period_ns =
                    clock::tick_ns().ok_or_else(|| failed(id, "the kernel tells of no tick"))?;
                let of = (self.bytes(), period_ns);
                let plan = exact::plan(&mut collector, self.work, &self.spec.clock, of)
                    .map_err(|error| failed_at(id, error))?;
                collector.ticks = Some(Ticks::every(period_ns));
                self.alone(&plan, &mut collector)
            }
            Task::Measure(_) => {
                Err(failed(id, format!("{} arms were asked for: 1 to 3", self.spec.arms)))
            }
            Task::Count { .. } | Task::Serve { .. } | Task::Run { .. } => {
                Err(failed(id, "neither counting nor serving is measuring"))
            }
        }
    }

    /// Whether the figures that its ops find are times.
    fn finds_time(&self) -> bool {
        self.bench().is_some_and(|bench| !matches!(bench.unit, Unit::YesOrNo | Unit::TimesPerOp))
    }

    /// The bytes of a message, where its ops move some; else those of a page.
    fn bytes(&self) -> u64 {
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
            Subject::Program(_) => None,
        }
    }

    /// One process. From its first batch to its last it writes nothing, but where what is around it
    /// is toggled: then it says each time that it went.
    fn alone<C: Clock>(
        &mut self,
        plan: &BatchPlan,
        collector: &mut Collector<C, Kernel>,
    ) -> Result<Event, Event> {
        let id = self.id;
        let arms = if self.spec.toggled { 2 } else { 1 };
        let mut table = table(id, plan, arms)?;
        // Rounds of the same number have the same number of ops in every arm.
        let mut cuts: Vec<Cut> = (0..arms).map(|_| Cut::new(self.spec.seed)).collect();
        let mut settling = Cut::new(!self.spec.seed);
        let (mut rounds, mut next_slot) = ([0; 2], 0);
        let mut account = None;
        let mut woken = None;
        let exact = self.spec.task == Task::Exact;
        ready(id, self.wire)?;
        while let Some(Order::Go { batches, arm, .. }) = next(id, self.wire)? {
            let at = usize::from(arm);
            let Some(cut) = cuts.get_mut(at) else {
                return Err(failed(id, format!("arm {arm} was told to go: it has {arms}")));
            };
            // Whoever made the plan knows how many.
            let batches = if exact { plan.groups } else { batches };
            room(id, plan, rounds[at] + batches)?;
            if account.is_none() {
                let before = snapshot(self.spec);
                collector.warm_up(self.work, plan).map_err(|error| failed_at(id, error))?;
                woken = wakes(self.work, plan, self.seen).map_err(|error| failed_at(id, error))?;
                account = Some((collector.open_account(), before));
            }
            if self.spec.toggled {
                // What has changed around it has moved what the caches hold.
                let tag = Tag { arm, round: rounds[at], batch: next_slot as u32 };
                collector
                    .group(self.work, plan, &mut settling, tag, &mut |_| ())
                    .map_err(|error| failed_at(id, error))?;
            }
            for _ in 0..batches {
                let tag = Tag { arm, round: rounds[at], batch: next_slot as u32 };
                let mut kept = Ok(());
                let mut keep = |sample| {
                    kept = kept.and(table.set(next_slot, sample));
                    next_slot += 1;
                };
                collector
                    .group(self.work, plan, cut, tag, &mut keep)
                    .map_err(|error| failed_at(id, error))?;
                kept.map_err(|error| failed(id, format!("keep a sample: {error}")))?;
                rounds[at] += 1;
            }
            if self.spec.toggled {
                let went = self.wire.say(&Event::BatchesDone { id });
                went.map_err(|error| failed(id, format!("say that it went: {error}")))?;
            }
        }
        let Some((opened, before)) = account else {
            return Err(failed(id, "it was stopped before it went"));
        };
        let account = collector.close_account(&opened);
        let (file, channel) = (self.work.file_observation(), self.work.channel_observation());
        let account = Disturbance { file, channel, ..account };
        let disturbance = whole(self.spec, account, before);
        let treated = !applied_to(self.spec, 0).is_empty();
        Ok(Event::Sampled {
            id,
            samples: table.first(next_slot),
            disturbance: Box::new(disturbance),
            monitor_wakeups_per_op: if treated {
                vec![woken; usize::from(arms)]
            } else {
                Vec::new()
            },
            speculation: Vec::new(),
            plan: exact.then(|| Box::new(plan.clone())),
        })
    }
}
