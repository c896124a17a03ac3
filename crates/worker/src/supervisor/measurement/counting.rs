//! A worker that counts events: `ready`, one `go`, then all its batches and the answer.
//!
//! It opens its counters before its treatments are applied, since a filter of system calls usually
//! forbids perf_event_open(2), and before its work is built, since only tasks that are created
//! afterwards inherit them.

use std::cell::Cell;

use oscost_model::clock::ClockKind;
use oscost_model::counters::{CountedSet, CounterEvent, CounterRead, CountingPlan, EventCounts};
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Disturbance, WorkerSpec};

use super::case_work::{pin_to_cpu, timed_work};
use super::forbidden_call::describe_worker_end;
use super::timing::{
    next_order, send_ready, system_counters, with_stack_offset, with_system_counters,
};
use crate::bench::{Shape, Work};
use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::collect::{BatchJitter, Collector, may_avoid_syscalls};
use crate::engine::covariates::KernelAccount;
use crate::engine::events::inheritance;
use crate::engine::events::kernel_counters::{CounterRequest, KernelCounters, visible_modes};
use crate::engine::events::refusal::open_error;
use crate::engine::events::source::CounterSource;
use crate::facts::Roots;
use crate::kernel::Errno;
use crate::kernel::probe::perf::{Counted, Modes};
use crate::kernel::process::Termination;
use crate::supervisor::core_counters::open_on_cpu;
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::{failure, no_instruction_counter, op_failure, refusal};
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::Treatments;

/// Counts the events of a case, in a process of its own if treatments are applied to it.
pub(super) fn count_events(
    id: u64,
    spec: &WorkerSpec,
    plan: &CountingPlan,
    wire: &mut Wire,
) -> Answer {
    if spec.arms != 1 || spec.toggled || spec.windows.is_some() {
        let reason = "events are counted in a worker of one arm, by the plan of its batches";
        return failure(id, reason).into();
    }
    let applied = spec.treatments_of(0);
    // A variable and a wrapper were applied when the program was started.
    if !spec.forked && applied.iter().all(|one| !one.supports_twins()) {
        let sets = OpenSets::open(spec, plan);
        return run_session(id, spec, plan, sets, pin_to_cpu(id, spec), wire).into();
    }
    // Both closures run in the treated process, one after the other.
    let prepared = Cell::new(None);
    let started = Treatments { applied, cpu: spec.cpu, arm: 0 }.start_prepared(
        &mut || prepared.set(Some((OpenSets::open(spec, plan), pin_to_cpu(id, spec)))),
        &mut |_| {
            let Some((sets, pinned)) = prepared.take() else { return 1 };
            let answer = run_session(id, spec, plan, sets, pinned, wire);
            i32::from(wire.send(&answer).is_err())
        },
    );
    match started.and_then(|process| process.wait()) {
        Ok(Termination::Exited(0)) => Answer::Sent,
        Ok(termination) => {
            let end = describe_worker_end(id, spec, 0, termination);
            failure(id, format!("the worker {end}")).into()
        }
        Err(reason) => refusal(id, reason).into(),
    }
}

/// The counters of a set, or why it has none.
struct OpenSet {
    events: Vec<CounterEvent>,
    counters: Result<KernelCounters, String>,
    /// See [`CountedSet::added_per_process`].
    added_per_process: Option<Vec<f64>>,
}

/// The counters of all sets. They do not count yet.
struct OpenSets {
    sets: Vec<OpenSet>,
    modes: Modes,
}

impl OpenSets {
    /// Opens the counters of the calling thread.
    fn open(spec: &WorkerSpec, plan: &CountingPlan) -> Self {
        open_on_cpu(&Roots::machine(), spec.cpu, |pmu| Self::open_here(spec, plan, pmu))
            .unwrap_or_else(|why| Self::none(plan, &why))
    }

    /// No counters, for this reason.
    fn none(plan: &CountingPlan, why: &str) -> Self {
        let none = |events: &Vec<CounterEvent>| OpenSet {
            events: events.clone(),
            counters: Err(why.to_owned()),
            added_per_process: None,
        };
        Self { sets: plan.sets.iter().map(none).collect(), modes: Modes::User }
    }

    /// Opens them on the CPU that the thread is on, which has these counters.
    fn open_here(spec: &WorkerSpec, plan: &CountingPlan, pmu: u32) -> Self {
        let modes = visible_modes().unwrap_or(Modes::User);
        let counted = if plan.inherits { Counted::Descendants } else { Counted::Thread };
        // On another CPU the number of a counter may be that of none, which faults.
        let read_by = plan.read_by.filter(|_| spec.cpu.is_some()).unwrap_or(CounterRead::Read);
        let avoids_syscalls = may_avoid_syscalls(&plan.batches);
        let open = |events: &Vec<CounterEvent>| {
            let request = CounterRequest { events, modes, counted, read_by, avoids_syscalls, pmu };
            let mut counters = KernelCounters::open(&request).map_err(|error| {
                format!("cannot count {}: {}", error.event.perf_name(), open_error(error.errno))
            });
            let added_per_process = match &mut counters {
                Ok(counters) if plan.inherits => {
                    inheritance::added_per_process(counters, || KernelCounters::open(&request).ok())
                }
                _ => None,
            };
            OpenSet { events: events.clone(), counters, added_per_process }
        };
        Self { sets: plan.sets.iter().map(open).collect(), modes }
    }

    /// How the first counters are read that could be opened.
    fn read_by(&self) -> CounterRead {
        let mut opened = self.sets.iter().filter_map(|set| set.counters.as_ref().ok());
        opened.next().map_or(CounterRead::Read, CounterSource::read_by)
    }
}

/// Counts the events of a case with the clock that the spec names.
fn run_session(
    id: u64,
    spec: &WorkerSpec,
    plan: &CountingPlan,
    sets: OpenSets,
    pinned: Result<Vec<u32>, Event>,
    wire: &mut Wire,
) -> Event {
    let mut work = match pinned.and_then(|allowed| timed_work(id, spec, 0, allowed)) {
        Ok(work) => work,
        Err(answer) => return answer,
    };
    let mut sets = Some(sets);
    with_stack_offset(spec, &mut || {
        let Some(sets) = sets.take() else { return failure(id, "events are counted once") };
        let session = CountingSession { id, spec, plan, sets, wire, work: &mut work };
        let done = match spec.clock.kind {
            ClockKind::Tsc => session.run(Ok(Tsc)),
            ClockKind::Vdso => session.run(Vdso::find()),
            ClockKind::Syscall => session.run(Ok(Syscall)),
            // An emulator counts instructions already, all of them and exactly.
            ClockKind::Instructions => Err(no_instruction_counter(id)),
        };
        done.unwrap_or_else(|answer| answer)
    })
}

/// The session of a counting worker.
struct CountingSession<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    plan: &'a CountingPlan,
    sets: OpenSets,
    wire: &'a mut Wire,
    work: &'a mut Work,
}

impl CountingSession<'_> {
    fn run<C: Clock>(self, clock: Result<C, Errno>) -> Result<Event, Event> {
        let (id, spec, plan, work) = (self.id, self.spec, &self.plan.batches, self.work);
        let deferred_ns = self.plan.deferred_work_ns;
        let at = |error| op_failure(id, error);
        let clock = clock.map_err(|error| failure(id, format!("open the clock: {error}")))?;
        let mut collector = Collector::new(clock, KernelAccount::of_this_thread());
        send_ready(id, self.wire)?;
        let Some(Order::Go { .. }) = next_order(id, self.wire)? else {
            return Err(failure(id, "the worker was stopped before its first `go`"));
        };
        let before = system_counters(spec);
        collector.warm_up_to_count(work, plan).map_err(at)?;
        let opened = collector.open_account();
        let (read_by, modes) = (self.sets.read_by(), self.sets.modes);
        let mut jitter = BatchJitter::new(spec.seed);
        let mut next_batch = 0;
        let mut sets = Vec::new();
        for OpenSet { events, counters, added_per_process } in self.sets.sets {
            let set = match counters {
                Err(reason) => CountedSet { events, void: Some(reason), ..CountedSet::default() },
                Ok(mut counters) => collector
                    .count_set(work, plan, deferred_ns, &mut jitter, next_batch, &mut counters)
                    .map_err(at)?,
            };
            // More batches than those of the plan if they are over ticks, and fewer if some are lost.
            let planned = next_batch + plan.groups * plan.unroll_factors.len() as u32;
            let last = set.batches.iter().map(|it| it.sample.batch + 1).max();
            next_batch = last.unwrap_or(planned).max(planned);
            sets.push(CountedSet { added_per_process, ..set });
        }
        let account = collector.close_account(&opened);
        let (file, channel) = (work.file_observation(), work.channel_observation());
        let account = Disturbance { file, channel, ..account };
        let counts = EventCounts {
            read_by,
            inherited: self.plan.inherits,
            times_itself: matches!(work.shape, Shape::OwnTicks | Shape::OwnValue),
            kernel: modes == Modes::Both,
            sets,
            disturbance: Box::new(with_system_counters(spec, account, before)),
        };
        Ok(Event::EventsCounted { id, counts: Box::new(counts) })
    }
}
