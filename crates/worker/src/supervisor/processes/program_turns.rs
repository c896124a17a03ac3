//! Programs that take turns: many short trials of several programs by one worker.
//!
//! Each program has a fork of the worker with its treatments, the starter, which lives as long as the
//! worker: between two trials there is a byte to the next starter and its answer, not a new worker.
//! Each trial is started, timed and cleaned up as one alone (see [`super::program_run`]).

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use oscost_model::program::{GroupTimes, Program, ProgramResult, TurnResult};
use oscost_model::protocol::{Event, TurnFailure};
use oscost_model::worker::{Task, WorkerSpec};

use super::external_program::{self, SessionEnd, WaitLimit, WaitResult};
use super::leftovers;
use super::private_directory::PrivateDirectory;
use super::program_run::{CLEANUP_TIME, ProgramRun};
use crate::kernel::Errno;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::machine::cpu_group::CpuGroup;
use crate::kernel::process;
use crate::supervisor::protocol::failure::{failure, refusal};
use crate::supervisor::protocol::io::{read_some, time_until};
use crate::supervisor::treat;
use crate::treatments::{TreatedProcess, Treatments};

/// The length of an answer in front of it.
const LENGTH_BYTES: usize = 4;
/// A request: how many milliseconds the program may take, and the round of the trial.
type Request = [[u8; 8]; 2];

/// Runs programs in turns, as `order` says.
pub(crate) fn take_turns(
    id: u64,
    spec: &WorkerSpec,
    line: &[u8],
    programs: &[Program],
    order: &[u8],
) -> Event {
    let started_at = Instant::now();
    let mut trials = Vec::with_capacity(order.len());
    let group = match &spec.task {
        Task::TakeTurns { in_group: true, .. } => match CpuGroup::create() {
            Ok(group) => Some(group),
            Err(error) => {
                let group = Some(Err(error.to_string()));
                return Event::TurnsTaken { id, trials, failure: None, group };
            }
        },
        _ => None,
    };
    let mut times = None;
    let failure = match Turns::start(id, spec, line, programs, group) {
        Err(failure) => Some(failure),
        Ok(mut turns) => {
            let per_round = programs.len().max(1);
            let taken = order.iter().enumerate().try_for_each(|(turn, &program)| {
                let result = turns.take(program, turn / per_round)?;
                let ended_ns = started_at.elapsed().as_nanos() as u64;
                trials.push(TurnResult { program, ended_ns, result });
                Ok(())
            });
            times = turns.group_times();
            taken.err()
        }
    };
    leftovers::kill_children();
    Event::TurnsTaken { id, trials, failure, group: times }
}

/// The process that starts one of the programs.
struct Starter<'a> {
    run: ProgramRun<'a>,
    requests: File,
    answers: File,
    /// Dropping it kills the process, with the program.
    process: TreatedProcess,
}

/// All starters, the directory that their trials share, and the control group of these, if they have
/// one: both are removed after they have ended.
struct Turns<'a> {
    id: u64,
    starters: Vec<Starter<'a>>,
    folders: PrivateDirectory,
    group: Option<CpuGroup>,
}

impl<'a> Turns<'a> {
    fn start(
        id: u64,
        spec: &'a WorkerSpec,
        line: &'a [u8],
        programs: &'a [Program],
        group: Option<CpuGroup>,
    ) -> Result<Self, TurnFailure> {
        let of_program =
            |program: u8, event: Event| TurnFailure { program, event: Box::new(event) };
        let Some(first) = programs.first() else {
            return Err(of_program(0, failure(id, "the order has no program")));
        };
        // If the supervisor is killed, this process must end what it has started: its input ends
        // then.
        process::outlive_parent();
        let prepared = process::become_subreaper().and_then(|()| PrivateDirectory::create(first));
        let folders = prepared.map_err(|error| {
            of_program(0, failure(id, format!("create a directory for the programs: {error}")))
        })?;
        let mut turns = Self { id, starters: Vec::new(), folders, group };
        for (number, program) in (0..=u8::MAX).zip(programs) {
            let run = ProgramRun { id, spec, line, program, deadline: Instant::now() };
            let earlier: Vec<RawFd> = turns.starters.iter().flat_map(Starter::ends).collect();
            let starter = start_starter(run, number, earlier, turns.group.as_ref());
            turns.starters.push(starter.map_err(|event| of_program(number, event))?);
        }
        Ok(turns)
    }

    /// What the group of the trials was charged; each of them has ended.
    fn group_times(&self) -> Option<Result<GroupTimes, String>> {
        let group = self.group.as_ref()?;
        let unread =
            |error: Errno| format!("the times of its control group cannot be read: {error}");
        Some(group.times().map_err(unread))
    }

    /// Lets a program run once, as a trial of a round.
    fn take(&mut self, program: u8, round: usize) -> Result<ProgramResult, TurnFailure> {
        let failed = |event: Event| TurnFailure { program, event: Box::new(event) };
        let Some(starter) = self.starters.get_mut(usize::from(program)) else {
            return Err(failed(failure(self.id, "the order has no such program")));
        };
        let template = starter.run();
        let filled = program_of_round(template, round).map_err(failed)?;
        let run = ProgramRun { program: &filled, ..template };
        let before = WaitLimit { deadline: run.deadline, session: SessionEnd::Cancels };
        let answer = run
            .run_commands("command before it: ", &run.program.before, before)
            .and_then(|()| starter.answer(run, round));
        if answer.is_err() {
            // A program that was given up must not run while the commands after it do.
            self.starters.clear();
        }
        let after = WaitLimit {
            deadline: run.deadline.max(Instant::now() + CLEANUP_TIME),
            session: SessionEnd::Ignored,
        };
        let after = run.run_commands("command after it: ", &run.program.after, after);
        if !run.program.before.is_empty() || !run.program.after.is_empty() {
            // What these commands left running would compete with the next trial.
            let own: Vec<u32> = self.starters.iter().map(|it| it.process.outermost()).collect();
            leftovers::kill_children_except(&own);
        }
        let cleared = self.folders.clear().map_err(|error| {
            failure(self.id, format!("empty the directory of temporary files: {error}"))
        });
        // The failure of the run itself is more useful.
        let result = answer.and_then(|result| after.and(cleared).map(|()| result));
        result.map_err(failed)
    }
}

/// Starts the process that will start a program. It closes its copies of `inherited`, so that the
/// programs of all starters inherit as much.
fn start_starter<'a>(
    run: ProgramRun<'a>,
    number: u8,
    mut inherited: Vec<RawFd>,
    group: Option<&CpuGroup>,
) -> Result<Starter<'a>, Event> {
    let ProgramRun { id, spec, .. } = run;
    let applied = spec.treatments_of(number);
    if let Some(why) = treat::why_no_command(applied) {
        return Err(Event::Skipped { id, missing: why.to_owned(), arm: None });
    }
    let pipes = pipe().and_then(|requests| Ok((requests, pipe()?)));
    let lost = |error: Errno| failure(id, format!("reach the process that starts it: {error}"));
    let ((to_read, requests), (answers, to_write)) = pipes.map_err(lost)?;
    inherited.extend([requests.as_raw_fd(), answers.as_raw_fd()]);
    let mut ends = Some((to_read, to_write));
    let treatments = Treatments { applied, cpu: spec.cpu, arm: number };
    let started = treatments.start(&mut |_| {
        let Some((requests, answers)) = ends.take() else { return 1 };
        // This process never returns to the owners of the others.
        for &fd in &inherited {
            let _ = nix::unistd::close(fd);
        }
        i32::from(serve(run, group, requests, answers).is_err())
    });
    let process = started.map_err(|reason| refusal(id, reason))?;
    Ok(Starter { run, requests, answers, process })
}

/// Runs the program at each request, in the starter, until the other end is closed.
fn serve(
    run: ProgramRun<'_>,
    group: Option<&CpuGroup>,
    mut requests: File,
    mut answers: File,
) -> std::io::Result<()> {
    let ready = run.become_starter();
    let mut request = Request::default();
    loop {
        match requests.read_exact(request.as_flattened_mut()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let [limit_ms, round] = request.map(u64::from_le_bytes);
        let limit = Duration::from_millis(limit_ms);
        let run = ProgramRun { deadline: Instant::now() + limit, ..run };
        let timed = ready.clone().and_then(|()| {
            let program = program_of_round(run, round as usize)?;
            ProgramRun { program: &program, ..run }.time_program(false, None, group)
        });
        // The tool reads no output that a trial does not need: thousands of trials are one answer.
        let timed = timed.map(|result| match run.program.captures_output {
            true => result,
            false => ProgramResult { output: String::new(), ..result },
        });
        let event = match timed {
            Ok(result) => Event::ProgramExited { id: run.id, result: Box::new(result) },
            Err(event) => event,
        };
        let line = serde_json::to_vec(&event)?;
        let length = u32::try_from(line.len()).map_err(std::io::Error::other)?;
        answers.write_all(&[&length.to_le_bytes()[..], &line].concat())?;
    }
}

/// The program with the values that the order has for a round.
fn program_of_round(run: ProgramRun<'_>, round: usize) -> Result<Cow<'_, Program>, Event> {
    match &run.spec.task {
        Task::TakeTurns { values, .. } if !values.is_empty() => match values.get(round) {
            Some(values) => Ok(run.program.with_values(values)),
            None => {
                Err(failure(run.id, format!("the order has no parameters for its round {round}")))
            }
        },
        _ => Ok(Cow::Borrowed(run.program)),
    }
}

impl<'a> Starter<'a> {
    /// Our ends of its pipes.
    fn ends(&self) -> [RawFd; 2] {
        [self.requests.as_raw_fd(), self.answers.as_raw_fd()]
    }

    /// The next run of its program.
    fn run(&self) -> ProgramRun<'a> {
        let limit = Duration::from_secs(self.run.program.limits.seconds.into());
        ProgramRun { deadline: Instant::now() + limit, ..self.run }
    }

    /// Lets the program run once, as a trial of a round, and waits for the result.
    fn answer(&mut self, run: ProgramRun<'_>, round: usize) -> Result<ProgramResult, Event> {
        let lost =
            |error: Errno| failure(run.id, format!("read the result of the program: {error}"));
        let left_ms = time_until(run.deadline).as_millis() as u64;
        let request: Request = [left_ms, round as u64].map(u64::to_le_bytes);
        self.requests.write_all(request.as_flattened()).map_err(|error| lost(error.into()))?;
        // The starter stops a program in time by itself.
        let limit =
            WaitLimit { deadline: run.deadline + 2 * CLEANUP_TIME, session: SessionEnd::Cancels };
        let mut answer = Vec::new();
        let line = loop {
            if let Some((length, line)) = answer.split_first_chunk::<LENGTH_BYTES>()
                && line.len() >= u32::from_le_bytes(*length) as usize
            {
                break line.to_vec();
            }
            let ready = external_program::wait_for_event(None, Some(self.answers.as_fd()), limit);
            match ready.map_err(lost)? {
                WaitResult::Other => {
                    if read_some(&mut self.answers, &mut answer).map_err(lost)? == 0 {
                        return Err(failure(run.id, "the process that starts it has ended"));
                    }
                }
                WaitResult::Output | WaitResult::Exited => {}
                result => {
                    return Err(run.interruption("", &run.program.command, "", result));
                }
            }
        };
        match serde_json::from_slice(&line) {
            Ok(Event::ProgramExited { result, .. }) => Ok(*result),
            Ok(event) => Err(event),
            Err(error) => Err(failure(run.id, format!("read the result of the program: {error}"))),
        }
    }
}
