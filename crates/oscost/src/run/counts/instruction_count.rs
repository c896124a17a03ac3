//! Runs on machines that count instructions: all workers are planned before the machines boot.
//!
//! Such a machine repeats itself from boot to boot, so there is no sampling, no stopping rule, no
//! pairs and no controls. A case is measured in a few new workers, spread over the boot, which
//! shows whether they agree to the last instruction.

use std::time::{Duration, Instant};

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::facts::Facts;
use oscost_model::journal::{Entry, Pairing, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Machine, RowOutcome, Vm};
use oscost_model::treatment::TreatmentSet;
use oscost_model::worker::{Sample, Subject, Task, WorkerSpec};

use super::call_count::{WARM_OPS, counted_ops};
use crate::hosts::HostError;
use crate::plan::SkippedRow;
use crate::run::error::{RunEnd, RunError};
use crate::run::jobs::job::{JobFailure, job_failure};
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

/// Machines that can be booted, by number.
pub trait Machines {
    /// Boots a machine with all its orders.
    fn boot(&mut self, machine: usize, orders: &[Vec<Order>]) -> Result<(), HostError>;

    /// Waits for the hello of its supervisor.
    fn hello(&mut self, machine: usize) -> Result<Hello, HostError>;

    /// Sleeps until its next event.
    fn next(&mut self, machine: usize, patience: Duration) -> Result<Event, HostError>;

    /// Ends a machine.
    fn end(&mut self, machine: usize);
}

/// The parameters of a run that counts instructions.
#[derive(Clone, Debug)]
pub struct InstructionCountRequest {
    /// The first entry of the journal.
    pub header: RunHeader,
    /// The rows, machine by machine.
    pub rows: Vec<PlannedRow>,
    /// The treatments of each row.
    pub treatments: Vec<TreatmentSet>,
    /// What is compared with what.
    pub pairs: Vec<Pairing>,
    /// The machines; each row names its own as `m` and its number.
    pub machines: Vec<Vm>,
    /// The maximum number of machines that run at a time.
    pub max_concurrent: usize,
    /// Workers of each case.
    pub repetitions: u32,
    /// Rows that cannot be measured there.
    pub skipped: Vec<SkippedRow>,
}

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

    fn record_call_count(&mut self, row: usize, event: Event) {
        let entry = match event {
            Event::Counted { count, .. } => Entry::Counted { row: row as u32, count: *count },
            other => Entry::NotCounted { row: row as u32, reason: job_failure(other).reason },
        };
        self.emit(entry);
    }

    /// Records the outcome of a worker.
    fn record_worker(&mut self, row: usize, phase: Phase, event: Event) {
        let at_s = self.started_at.elapsed().as_secs_f64();
        let number = row as u32;
        match event {
            Event::Sampled { samples, .. } if self.counted_idle_time(row, &samples) => {
                let reason = "an op waits while the machine is idle, and the counter then \
                              advances without instructions";
                self.give_up(row, RowOutcome::Unmeasurable, reason.to_owned());
            }
            Event::Sampled { samples, disturbance, monitor_wakeups_per_op, plan, .. } => {
                if let Some(plan) = plan.filter(|_| !self.states[row].piloted) {
                    self.states[row].piloted = true;
                    self.emit(Entry::Piloted { row: number, plan: *plan });
                }
                self.states[row].workers += u32::from(matches!(phase, Phase::Round(_)));
                let monitor_wakeups_per_op = monitor_wakeups_per_op.first().copied().flatten();
                let outcome = WorkerOutcome::Sampled {
                    samples,
                    disturbance,
                    monitor_wakeups_per_op,
                    speculation: None,
                };
                self.emit(Entry::Worker { row: number, phase, at_s, set: 0, outcome });
            }
            other => {
                let JobFailure { outcome, reason, .. } = job_failure(other);
                if outcome != RowOutcome::Skipped {
                    let reason = reason.clone();
                    let outcome = WorkerOutcome::Lost { outcome, reason };
                    self.emit(Entry::Worker { row: number, phase, at_s, set: 0, outcome });
                }
                // A machine that repeats itself would fail again.
                self.give_up(row, outcome, reason);
            }
        }
    }

    /// Whether the ops of a row waited while the machine was idle: its clock, and with it the
    /// counter, then skips to the next timer. During ops that switch, other tasks run; of all other
    /// ops, what a batch counts was run by the thread itself, up to the resolution of its CPU time.
    fn counted_idle_time(&self, row: usize, samples: &[Sample]) -> bool {
        const SLACK: f64 = 0.9;
        if self.request.rows[row].definition.switches {
            return false;
        }
        let counted: i64 = samples.iter().map(|sample| sample.ticks).sum();
        let ran_ns: Option<u64> = samples.iter().map(|sample| sample.cpu_ns).sum();
        ran_ns.is_some_and(|ran_ns| (ran_ns as f64) < SLACK * counted as f64)
    }

    fn give_up(&mut self, row: usize, outcome: RowOutcome, reason: String) {
        if !std::mem::replace(&mut self.states[row].given_up, true) {
            self.emit(Entry::Abandoned { row: row as u32, outcome, reason });
        }
    }

    /// Records that a machine ended early: rows without a repetition fail. Returns whether the rows
    /// show the failure: if requested rows only lost some repetitions, none of them failed.
    fn record_machine_failure(&mut self, number: usize, error: &HostError) -> bool {
        let outcome = match error {
            HostError::Unavailable { .. } => RowOutcome::Skipped,
            _ => RowOutcome::Failed,
        };
        let rows = self.measurable_rows(number);
        let (none, some): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|&row| self.states[row].workers == 0);
        for &row in &none {
            self.give_up(row, outcome, error.to_string());
        }
        let has_requested =
            |rows: &[usize]| rows.iter().any(|&row| self.request.rows[row].requested);
        has_requested(&none) || !has_requested(&some)
    }

    /// Settles every row that was measured.
    fn settle(&mut self) {
        for row in 0..self.states.len() {
            let RowState { workers, given_up, .. } = self.states[row];
            if workers > 0 && !given_up {
                let converged = workers == self.request.repetitions;
                self.emit(Entry::RowFinished { row: row as u32, converged });
            }
        }
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
