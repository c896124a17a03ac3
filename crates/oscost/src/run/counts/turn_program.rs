//! A program that is timed and counted in turns: what its workers are to do.

use std::time::Duration;

use oscost_model::program::Program;
use oscost_model::program_calls::{KernelEvents, ProgramCalls};
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::run::machine::cpu_survey::NO_CLOCK;

/// The time for cleaning up after a trial, beyond the program's own limit.
const CLEANUP_GRACE: Duration = Duration::from_secs(20);

/// A program, and how it runs.
#[derive(Clone, Copy, Debug)]
pub struct TurnProgram<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its treatments.
    pub treatments: &'a TreatmentSet,
    /// The CPU of its processes; `None` leaves the choice to the scheduler.
    pub cpu: Option<u32>,
}

/// A run for the caches.
pub(super) fn warm_up() -> Task {
    Task::Run { warm_up: true, counted: Vec::new() }
}

/// Why a program cannot be counted under these treatments, if that is so.
pub(super) fn uncountable_treatment(treatments: &TreatmentSet, by_tracer: bool) -> Option<String> {
    let has_monitor = treatments.applied.iter().any(AppliedTreatment::has_monitor);
    (by_tracer && has_monitor)
        .then(|| "a tracer counts calls, and a process can have only one monitor".to_owned())
}

/// What a program did, without the switches to other processes and the wake-ups of and by tasks of other
/// programs if its monitor may be one of these: prices of calls under such treatments contain those of the
/// monitor.
pub(super) fn without_events_of_monitor(
    calls: ProgramCalls,
    treatments: &TreatmentSet,
) -> ProgramCalls {
    // A wrapper may be a tracer.
    let has_monitor =
        |it: &AppliedTreatment| it.has_monitor() || matches!(it, AppliedTreatment::Wrapper { .. });
    if !treatments.applied.iter().any(has_monitor) {
        return calls;
    }
    let events = calls.events.map(|events| KernelEvents {
        voluntary_to_process: None,
        remote_wakes_of_outside: None,
        remote_wakes_by_outside: None,
        ..events
    });
    ProgramCalls { events, ..calls }
}

/// Whether one worker can make several of its runs.
pub(super) fn can_take_turns(TurnProgram { program, treatments, .. }: TurnProgram<'_>) -> bool {
    treatments.applied.iter().all(AppliedTreatment::allows_turns) && program.can_take_turns()
}

/// A worker that runs the program so many times.
pub(super) fn turns_spec(program: TurnProgram<'_>, rounds: u32, in_group: bool) -> WorkerSpec {
    let task = Task::TakeTurns { order: vec![0; rounds as usize], values: Vec::new(), in_group };
    let one = spec(program, task);
    WorkerSpec {
        subject: Subject::Programs(vec![program.program.clone()]),
        timeout_ms: one.timeout_ms.saturating_mul(u64::from(rounds)),
        ..one
    }
}

/// A worker that does this with the program.
pub(super) fn spec(
    TurnProgram { program, treatments, cpu }: TurnProgram<'_>,
    task: Task,
) -> WorkerSpec {
    let limit = Duration::from_secs(program.limits.seconds.into()) + CLEANUP_GRACE;
    let subject = Subject::Program(Box::new(program.clone()));
    WorkerSpec {
        cpu,
        treatments: vec![treatments.applied.clone()],
        ..WorkerSpec::new(subject, task, NO_CLOCK, limit.as_millis() as u64)
    }
}

/// A worker that traces the program, under its treatments or without them.
pub(super) fn traced_spec(program: TurnProgram<'_>, without_treatments: bool) -> WorkerSpec {
    let under_them = spec(program, Task::CountForms);
    match without_treatments {
        true => WorkerSpec { treatments: Vec::new(), ..under_them },
        false => under_them,
    }
}
