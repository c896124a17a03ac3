//! Programs of the tests, and what their runs return.

use std::fs;
use std::path::PathBuf;

use oscost_model::program::{CompanionProgram, Program, ProgramResult};
use oscost_model::protocol::Event;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::common::{Session, measuring, until, wait_until_gone};

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A command that runs a shell script.
pub(crate) fn sh(script: &str) -> Vec<String> {
    words(&["sh", "-c", script])
}

/// A program whose output is read.
pub(crate) fn program(script: &str) -> Program {
    Program { command: sh(script), captures_output: true, ..Program::default() }
}

/// A companion that runs this script.
pub(crate) fn companion_running(script: &str) -> Option<CompanionProgram> {
    let (variable, prefix) = ("ADDRESS".to_owned(), "at ".to_owned());
    Some(CompanionProgram { command: sh(script), variable, prefix })
}

pub(crate) fn trial(program: Program) -> WorkerSpec {
    let subject = Subject::Program(Box::new(program));
    let task = Task::Run { warm_up: false, counted: Vec::new() };
    WorkerSpec { subject, task, timeout_ms: 60_000, ..measuring("syscall/getppid:via=raw") }
}

/// The answer for a run of this program. Afterwards only the supervisor must be left, and its
/// directory must be empty.
pub(crate) fn event(session: &mut Session, id: u64, program: Program) -> Event {
    event_of(session, id, trial(program))
}

pub(crate) fn event_of(session: &mut Session, id: u64, spec: WorkerSpec) -> Event {
    session.measure(id, spec);
    let event = session.event();
    assert_eq!(event.id(), Some(id));
    wait_until_gone(session, "a trial");
    let says_it_itself = !matches!(event, Event::TimedOut { reason: None, .. });
    assert!(!says_it_itself || in_scratch(session).is_empty(), "after {event:?}");
    until("its folder is gone", || in_scratch(session).is_empty());
    event
}

pub(crate) fn in_scratch(session: &Session) -> Vec<PathBuf> {
    let entries = fs::read_dir(session.scratch()).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

pub(crate) fn ran(event: Event) -> ProgramResult {
    match event {
        Event::ProgramExited { result: ran, .. } => *ran,
        other => panic!("it should have run: {other:?}"),
    }
}

/// How many processes of the session run sleep(1).
pub(crate) fn sleepers(session: &Session) -> usize {
    let comm = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    session.workers().iter().filter(|pid| comm(pid).trim_end() == "sleep").count()
}
