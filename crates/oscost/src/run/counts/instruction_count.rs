//! Runs on machines that count instructions: all workers are planned before the machines boot.
//!
//! Such a machine repeats itself from boot to boot, so there is no sampling, no stopping rule, no
//! pairs and no controls. A case is measured in a few new workers, spread over the boot, which
//! shows whether they agree to the last instruction.

mod outcomes;
mod request;

use std::time::{Duration, Instant};

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::facts::Facts;
use oscost_model::journal::{Entry, Phase};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Machine, RowOutcome};
use oscost_model::worker::{Subject, Task, WorkerSpec};

pub use self::request::{InstructionCountRequest, Machines};
use super::call_count::{WARM_OPS, counted_ops};
use crate::hosts::HostError;
use crate::plan::SkippedRow;
use crate::run::error::{RunEnd, RunError};
use crate::run::jobs::job::job_failure;
use crate::run::machine::cpu_survey::NO_CLOCK;
use crate::run::observer::Observer;
use crate::run::progress::{Pace, REPORT_INTERVAL, RunActivity, RunProgress};

/// The time limit of a worker in the machine's own time, which counts instructions: a hundred times
/// what most workers need, and half a minute of emulation.
const WORKER_TIMEOUT_MS: u64 = 10_000;
/// The time limit of a counted worker: tracing takes time in proportion to the calls.
const COUNT_TIMEOUT_MS: u64 = 3_000;
/// The longest wait for an event: an emulator on a busy host is up to ten times slower than on an
/// idle one.
const EVENT_TIMEOUT: Duration = Duration::from_secs(300);
/// All workers have the same seed: otherwise their stacks and environments would differ, and with
/// them the pages that their ops touch.
const SEED: u64 = 1;
/// The only CPU of such a machine.
const CPU: u32 = 0;
/// The job that verifies that the counter counts instructions.
const CALIBRATION_JOB_ID: u64 = 1;

/// Carries out the run. However it ends, the journal says so and contains what was measured.
pub fn count_instructions(
    machines: &mut dyn Machines,
    request: InstructionCountRequest,
    observer: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    observer.observe(&Entry::Started(Box::new(request.header.clone())));
    let count = request.machines.len();
    let states = vec![RowState::default(); request.rows.len()];
    let progress = JobProgress::default();
    let mut run = Run { request, observer, started_at: Instant::now(), states, progress };
    run.progress.all = (0..count).map(|machine| run.jobs(machine).len()).sum();
    let mut complete = true;
    let mut finish = RunEnd::Completed;
    let mut booted = 0;
    let mut unreported = None;
    for machine in 0..count {
        let mut boot_error = None;
        while booted < count.min(machine + run.request.max_concurrent) {
            if let Err(error) = machines.boot(booted, &run.orders(booted)) {
                boot_error = Some(error);
                break;
            }
            booted += 1;
        }
        let done = match boot_error.filter(|_| booted <= machine) {
            Some(error) => run.describe_machine(machine, Err(error)),
            None => {
                let hello = machines.hello(machine);
                run.describe_machine(machine, hello)
            }
        };
        let done = done.and_then(|()| run.collect(machine, machines));
        machines.end(machine);
        match done {
            Ok(()) => {}
            Err(HostError::Interrupted) => {
                finish = RunEnd::Interrupted;
                complete = false;
                break;
            }
            Err(error) => {
                complete = false;
                match run.record_machine_failure(machine, &error) {
                    true => finish = RunEnd::MachineLost,
                    false => unreported = Some(error),
                }
                // A machine that was never booted is not waited for.
                booted = booted.max(machine + 1);
            }
        }
    }
    run.settle();
    let at = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
    run.emit(Entry::Ended { at, complete });
    match unreported {
        Some(error) if finish != RunEnd::Interrupted => Err(RunError::Host(error)),
        _ => Ok(finish),
    }
}

/// The state of a row.
#[derive(Clone, Default)]
struct RowState {
    workers: u32,
    piloted: bool,
    given_up: bool,
}

/// The purpose of a job.
#[derive(Clone, Copy)]
enum Job {
    /// Counts the calls of a row.
    Count(usize),
    /// Measures a worker of a row.
    Worker(usize, Phase),
}

impl Job {
    fn row(self) -> usize {
        match self {
            Job::Count(row) | Job::Worker(row, _) => row,
        }
    }
}

/// How far the jobs of all machines are.
#[derive(Clone, Copy, Debug, Default)]
struct JobProgress {
    done: usize,
    all: usize,
    /// What a round of the present machine takes; `None` before the first.
    rounds: Option<Pace>,
    /// What a machine takes; `None` before the first.
    machines: Option<Pace>,
    reported_at: Option<Instant>,
}

/// A pace with one more round.
fn with_round(pace: Option<Pace>, took: Duration) -> Option<Pace> {
    let mut pace = pace.unwrap_or(Pace::expected(Duration::ZERO));
    pace.add(took);
    Some(pace)
}

struct Run<'a> {
    request: InstructionCountRequest,
    observer: &'a mut dyn Observer,
    started_at: Instant,
    states: Vec<RowState>,
    progress: JobProgress,
}

impl Run<'_> {
    fn emit(&mut self, entry: Entry) {
        self.observer.observe(&entry);
    }

    /// The rows that can be measured on a machine.
    fn measurable_rows(&self, machine: usize) -> Vec<usize> {
        let id = machine_id(machine);
        let is_skipped =
            |row: &usize| self.request.skipped.iter().any(|skipped| skipped.row == *row);
        let rows = 0..self.request.rows.len();
        rows.filter(|&row| self.request.rows[row].target.machine == id)
            .filter(|row| !is_skipped(row))
            .collect()
    }

    /// The jobs of a machine: counts, then rounds of workers. The first round is a rehearsal, since
    /// a freshly booted kernel does some work only once.
    fn jobs(&self, machine: usize) -> Vec<Job> {
        let rows = self.measurable_rows(machine);
        let counts = rows.iter().map(|&row| Job::Count(row));
        let rounds = (0..self.request.repetitions).map(Phase::Round);
        let workers = std::iter::once(Phase::Rehearsal(0))
            .chain(rounds)
            .flat_map(|phase| rows.iter().map(move |&row| Job::Worker(row, phase)));
        counts.chain(workers).collect()
    }

    /// The orders of a machine, in blocks.
    fn orders(&self, machine: usize) -> Vec<Vec<Order>> {
        let clock = ClockKind::Instructions;
        let calibrate = Order::Calibrate { id: CALIBRATION_JOB_ID, cpu: Some(CPU), clock };
        let jobs = self.jobs(machine).into_iter().enumerate().map(|(number, job)| {
            let id = job_id(number);
            match job {
                Job::Count(row) => {
                    let ops = counted_ops(&self.request.rows[row]);
                    let spec = self.spec(row, Task::Count { warm_ops: WARM_OPS, ops });
                    vec![Order::Count { id, spec }]
                }
                Job::Worker(row, _) => {
                    let spec = self.spec(row, Task::Exact);
                    let go = Order::Go { id, batches: 1, arm: 0 };
                    vec![Order::Measure { id, spec }, go, Order::Stop { id }]
                }
            }
        });
        std::iter::once(vec![calibrate]).chain(jobs).collect()
    }

    fn spec(&self, row: usize, task: Task) -> Box<WorkerSpec> {
        // The overhead of an empty window is measured by the calibration; workers do not use it.
        let clock = Calibration { kind: ClockKind::Instructions, ..NO_CLOCK };
        let timeout_ms = match task {
            Task::Count { .. } => COUNT_TIMEOUT_MS,
            _ => WORKER_TIMEOUT_MS,
        };
        let subject = Subject::Case(self.request.rows[row].case.clone());
        Box::new(WorkerSpec {
            seed: SEED,
            cpu: Some(CPU),
            treatments: vec![self.request.treatments[row].applied.clone()],
            // A treated process is forked, so the untreated one must be too.
            forked: self.is_treated(),
            ..WorkerSpec::new(subject, task, clock, timeout_ms)
        })
    }

    /// Whether a treatment is applied to the process of any row.
    fn is_treated(&self) -> bool {
        self.request.treatments.iter().any(|it| !it.applied.is_empty())
    }

    /// Describes a machine in the journal, whether it came up or not; after the first machine also
    /// the plan.
    fn describe_machine(
        &mut self,
        number: usize,
        hello: Result<Hello, HostError>,
    ) -> Result<(), HostError> {
        let (facts, result) = match hello {
            Ok(hello) => (hello.facts, Ok(())),
            Err(error) => (Facts::default(), Err(error)),
        };
        let tracers = facts.tracers.clone();
        let vm = self.request.machines.get(number).cloned();
        // Notes on machines concern noise, which does not change a count.
        let machine = Machine { vm, ..Machine::new(&machine_id(number), facts, Vec::new()) };
        self.emit(Entry::MachineDescribed { machine: Box::new(machine), tracers });
        if result.is_ok() {
            let (machine, probe) = (machine_id(number), Vec::new());
            self.emit(Entry::CpuChosen { machine, probe, cpu: Some(CPU) });
        }
        if number == 0 {
            let rows = self.request.rows.clone();
            self.emit(Entry::Planned { rows, timers: Vec::new() });
            let pairs = self.request.pairs.clone();
            if !pairs.is_empty() {
                self.emit(Entry::Paired { pairs });
            }
            for SkippedRow { row, reason } in self.request.skipped.clone() {
                self.give_up(row, RowOutcome::Skipped, reason);
            }
        }
        result
    }

    /// Collects all events of a machine.
    fn collect(&mut self, number: usize, machines: &mut dyn Machines) -> Result<(), HostError> {
        match machines.next(number, EVENT_TIMEOUT)? {
            Event::Calibrated { calibration, sync, .. } => {
                let machine = machine_id(number);
                let rejected_clocks = Vec::new();
                self.emit(Entry::Calibrated { machine, calibration, sync, rejected_clocks });
            }
            other => {
                let how = format!("cannot calibrate: {}", job_failure(other).reason);
                return Err(HostError::SupervisorEnded(how));
            }
        }
        let mut early = None;
        let jobs = self.jobs(number);
        let in_round = self.measurable_rows(number).len().max(1);
        let began = Instant::now();
        let mut round_began = began;
        self.progress.rounds = None;
        for (job, number_of_job) in jobs.iter().copied().zip(0..) {
            let id = job_id(number_of_job);
            let round = number_of_job / in_round;
            if number_of_job % in_round == 0 {
                // The first round counts calls, which takes another time.
                if round > 1 {
                    self.progress.rounds = with_round(self.progress.rounds, round_began.elapsed());
                }
                round_began = Instant::now();
            }
            self.report(number, job.row(), (jobs.len() / in_round - round) as u32);
            let event = match early.take_if(|event: &mut Event| event.id() == Some(id)) {
                Some(event) => event,
                // Jobs are done in order: an answer to a later one means that this one has none.
                None if early.is_some() => no_answer(id),
                None => answer(id, number, machines, &mut early)?,
            };
            match job {
                Job::Count(row) => self.record_call_count(row, event),
                Job::Worker(row, phase) => self.record_worker(row, phase, event),
            }
            self.progress.done += 1;
        }
        self.progress.machines = with_round(self.progress.machines, began.elapsed());
        Ok(())
    }

    /// Reports how far the jobs are, before the answer to one of a row, with which so many rounds of
    /// its machine are left.
    fn report(&mut self, machine: usize, row: usize, rounds: u32) {
        let now = Instant::now();
        let JobProgress { done, all, rounds: round_pace, machines, reported_at } = self.progress;
        if reported_at.is_some_and(|last| now - last < REPORT_INTERVAL) {
            return;
        }
        self.progress.reported_at = Some(now);
        let others = (self.request.machines.len() - machine - 1) as u32;
        let here = round_pace.map(|pace| pace.bound(rounds));
        let here = here.or_else(|| machines.map(|pace| pace.bound(1)));
        let elsewhere = match others {
            0 => Some(Duration::ZERO),
            others => machines.map(|pace| pace.bound(others)),
        };
        self.observer.progress(&RunProgress {
            activity: RunActivity::Counting,
            done: done as u32,
            all: Some(all as u32),
            elapsed: now - self.started_at,
            at_most: here.zip(elsewhere).map(|(here, elsewhere)| here + elsewhere),
            row: Some(row as u32),
            settled: None,
        });
    }
}

/// The answer to a job. An answer to a later job is kept in `early`.
fn answer(
    id: u64,
    number: usize,
    machines: &mut dyn Machines,
    early: &mut Option<Event>,
) -> Result<Event, HostError> {
    let until = Instant::now() + EVENT_TIMEOUT;
    loop {
        let event = machines.next(number, until.saturating_duration_since(Instant::now()))?;
        match event.id() {
            Some(answered) if answered == id && !matches!(event, Event::Ready { .. }) => {
                return Ok(event);
            }
            Some(answered) if answered > id => {
                *early = Some(event);
                return Ok(no_answer(id));
            }
            _ => {}
        }
    }
}

/// The event for a job without an answer.
fn no_answer(id: u64) -> Event {
    let reason = "the machine continued without an answer".to_owned();
    Event::Failed { id, at_op: None, reason, errno: None, arm: None }
}

/// The id of a machine.
pub fn machine_id(machine: usize) -> String {
    format!("m{machine}")
}

fn job_id(number: usize) -> u64 {
    CALIBRATION_JOB_ID + 1 + number as u64
}
