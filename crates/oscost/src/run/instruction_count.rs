//! Machines that count instructions: every worker is planned before they are booted.
//!
//! What such a machine does is the same each time it is booted, so nothing is sampled here, and
//! there is no pace, no pair and no control. A case is measured in a few fresh workers, as far apart
//! in the boot as can be, and whether these agree to the last instruction is what is found out.

use std::time::{Duration, Instant};

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::facts::Facts;
use oscost_model::journal::{Entry, Pairing, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Machine, RowOutcome, Vm};
use oscost_model::treatment::TreatmentSet;
use oscost_model::worker::{Sample, Subject, Task, WorkerSpec};

use super::workers::{JobFailure, job_failure};
use super::{Observer, RunEnd, RunError, WARM_OPS, counted_ops};
use crate::hosts::HostError;

/// What a worker may take, in the machine's own time, which is its instructions: a hundred times what
/// most take. An emulator is busy with them for half a minute.
const WORKER_TIMEOUT_MS: u64 = 10_000;
/// What a tracer takes is in proportion to the calls; one that waits in vain is not waited for.
const COUNT_TIMEOUT_MS: u64 = 3_000;
/// Nothing that a machine does takes so long: an emulator on a busy host is ten times slower than on
/// one of its own.
const EVENT_TIMEOUT: Duration = Duration::from_secs(300);
/// All workers have the same one, or their stacks and environments would differ, and with them the
/// pages that their ops touch: what repeats itself is to be told from what does not.
const SEED: u64 = 1;
/// The CPU of a machine that has one.
const CPU: u32 = 0;
/// The job that looks whether the counter counts instructions.
const CALIBRATION_JOB_ID: u64 = 1;

/// Machines that wait to be booted, by their numbers.
pub trait Machines {
    /// Boots one, with all its orders.
    fn boot(&mut self, machine: usize, orders: &[Vec<Order>]) -> Result<(), HostError>;

    /// Hears who its supervisor is.
    fn hello(&mut self, machine: usize) -> Result<Hello, HostError>;

    /// Sleeps until its next event.
    fn next(&mut self, machine: usize, patience: Duration) -> Result<Event, HostError>;

    /// Ends one from which nothing more is wanted.
    fn end(&mut self, machine: usize);
}

/// What is to be counted.
#[derive(Clone, Debug)]
pub struct InstructionCountRequest {
    /// The first entry of the journal.
    pub header: RunHeader,
    /// The rows: all those of the first machine, then all those of the next.
    pub rows: Vec<PlannedRow>,
    /// What is done to each row's process.
    pub treatments: Vec<TreatmentSet>,
    /// What is compared with what.
    pub pairs: Vec<Pairing>,
    /// The machines, as they are booted; each row names its own by `m` and its number.
    pub machines: Vec<Vm>,
    /// How many machines may run at a time.
    pub max_concurrent: usize,
    /// Workers of each case.
    pub repetitions: u32,
    /// Rows that cannot be measured there, and why.
    pub unmeasurable: Vec<(usize, String)>,
}

/// Does what is asked. However it ends, the journal says so, and holds what was measured.
pub fn count_instructions(
    machines: &mut dyn Machines,
    request: InstructionCountRequest,
    listener: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    listener.observe(&Entry::Started(Box::new(request.header.clone())));
    let count = request.machines.len();
    let states = vec![RowState::default(); request.rows.len()];
    let mut run = Run { request, listener, started_at: Instant::now(), states };
    let mut complete = true;
    let mut finish = RunEnd::Completed;
    let mut booted = 0;
    let mut untold = None;
    for machine in 0..count {
        let mut refused = None;
        while booted < count.min(machine + run.request.max_concurrent) {
            if let Err(error) = machines.boot(booted, &run.orders(booted)) {
                refused = Some(error);
                break;
            }
            booted += 1;
        }
        let done = match refused.filter(|_| booted <= machine) {
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
                if !run.record_machine_failure(machine, &error) {
                    untold = Some(error);
                }
                // A machine that was never booted is not to be waited for.
                booted = booted.max(machine + 1);
            }
        }
    }
    run.settle();
    let at = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
    run.emit(Entry::Ended { at, complete });
    match untold {
        Some(error) if finish == RunEnd::Completed => Err(RunError::Host(error)),
        _ => Ok(finish),
    }
}

/// How far a row is.
#[derive(Clone, Default)]
struct RowState {
    workers: u32,
    piloted: bool,
    given_up: bool,
}

/// What a job of a machine's is for.
#[derive(Clone, Copy)]
enum Job {
    /// To count the calls of a row.
    Count(usize),
    /// To be a worker of a row.
    Worker(usize, Phase),
}

struct Run<'a> {
    request: InstructionCountRequest,
    listener: &'a mut dyn Observer,
    started_at: Instant,
    states: Vec<RowState>,
}

impl Run<'_> {
    fn emit(&mut self, entry: Entry) {
        self.listener.observe(&entry);
    }

    /// The rows of a machine that can be measured there.
    fn measurable_rows(&self, machine: usize) -> Vec<usize> {
        let id = machine_id(machine);
        let lacks =
            |row: &usize| self.request.unmeasurable.iter().any(|(lacking, _)| lacking == row);
        let rows = 0..self.request.rows.len();
        rows.filter(|&row| self.request.rows[row].target.machine == id)
            .filter(|row| !lacks(row))
            .collect()
    }

    /// The jobs of a machine: counts, then rounds of workers. The first round is a rehearsal: a kernel
    /// that has just booted does some things for the first time, and never again.
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
        // What an empty window shows is found when the machine is there; no worker asks for it.
        let clock = Calibration {
            kind: ClockKind::Instructions,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        Box::new(WorkerSpec {
            subject: Subject::Case(self.request.rows[row].case.clone()),
            seed: SEED,
            cpu: Some(CPU),
            clock,
            arms: 1,
            treatments: vec![self.request.treatments[row].applied.clone()],
            toggled: false,
            // A process that something is applied to is another one than one that is not.
            forked: self.is_treated(),
            workers: 1,
            remote_end: None,
            peer_cpu: None,
            timeout_ms: if matches!(task, Task::Count { .. }) {
                COUNT_TIMEOUT_MS
            } else {
                WORKER_TIMEOUT_MS
            },
            task,
        })
    }

    /// Whether something is done to the process of any row.
    fn is_treated(&self) -> bool {
        self.request.treatments.iter().any(|it| !it.applied.is_empty())
    }

    /// A machine was met, or was not: the first one also tells what is planned.
    fn describe_machine(
        &mut self,
        number: usize,
        hello: Result<Hello, HostError>,
    ) -> Result<(), HostError> {
        let (facts, lost) = match hello {
            Ok(hello) => (hello.facts, Ok(())),
            Err(error) => (Facts::default(), Err(error)),
        };
        let tracers = facts.tracers.clone();
        let vm = self.request.machines.get(number).cloned();
        // What is said of machines speaks of noise, and none changes a count.
        let machine = Machine { vm, ..Machine::new(&machine_id(number), facts, Vec::new()) };
        self.emit(Entry::MachineDescribed { machine: Box::new(machine), tracers });
        if lost.is_ok() {
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
            for (row, reason) in self.request.unmeasurable.clone() {
                self.give_up(row, RowOutcome::Skipped, reason);
            }
        }
        lost
    }

    /// Hears all that a machine has to say of its jobs.
    fn collect(&mut self, number: usize, machines: &mut dyn Machines) -> Result<(), HostError> {
        match machines.next(number, EVENT_TIMEOUT)? {
            Event::Calibrated { calibration, sync, .. } => {
                let machine = machine_id(number);
                let passed_over = Vec::new();
                self.emit(Entry::Calibrated { machine, calibration, sync, passed_over });
            }
            other => return Err(HostError::SupervisorEnded(job_failure(other).reason)),
        }
        let mut early = None;
        for (job, number_of_job) in self.jobs(number).into_iter().zip(0..) {
            let id = job_id(number_of_job);
            let event = match early.take_if(|event: &mut Event| event.id() == Some(id)) {
                Some(event) => event,
                // Jobs are done in their order: an answer to a later one says that there is none to
                // this.
                None if early.is_some() => no_answer(id),
                None => answer(id, number, machines, &mut early)?,
            };
            match job {
                Job::Count(row) => self.record_call_count(row, event),
                Job::Worker(row, phase) => self.record_worker(row, phase, event),
            }
        }
        Ok(())
    }

    fn record_call_count(&mut self, row: usize, event: Event) {
        let entry = match event {
            Event::Counted { count, .. } => Entry::Counted { row: row as u32, count: *count },
            other => Entry::NotCounted { row: row as u32, reason: job_failure(other).reason },
        };
        self.emit(entry);
    }

    /// A worker of a row came back, or did not.
    fn record_worker(&mut self, row: usize, phase: Phase, event: Event) {
        let at_s = self.started_at.elapsed().as_secs_f64();
        let number = row as u32;
        match event {
            Event::Sampled { samples, .. } if self.counted_idle_time(row, &samples) => {
                let reason = "an op waits while nothing runs, and then the counter goes on without \
                              instructions";
                self.give_up(row, RowOutcome::Unmeasurable, reason.to_owned());
            }
            Event::Sampled { samples, disturbance, monitor_wakeups_per_op: seen, plan, .. } => {
                if let Some(plan) = plan.filter(|_| !self.states[row].piloted) {
                    self.states[row].piloted = true;
                    self.emit(Entry::Piloted { row: number, plan: *plan });
                }
                self.states[row].workers += u32::from(matches!(phase, Phase::Round(_)));
                let seen = seen.first().copied().flatten();
                let outcome = WorkerOutcome::Sampled {
                    samples,
                    disturbance,
                    monitor_wakeups_per_op: seen,
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
                // What a machine that repeats itself has failed to do it will not do.
                self.give_up(row, outcome, reason);
            }
        }
    }

    /// Whether the ops of a row have waited with nobody there to run: an idle machine skips to its
    /// next timer, and its counter with it. Of ops that switch, others run meanwhile; of the rest,
    /// all that a batch counts was the thread's own, but for its account's step.
    fn counted_idle_time(&self, row: usize, samples: &[Sample]) -> bool {
        const SLACK: f64 = 0.9;
        if self.request.rows[row].definition.switches {
            return false;
        }
        let counted: i64 = samples.iter().map(|sample| sample.ticks).sum();
        let ran: Option<u64> = samples.iter().map(|sample| sample.cpu_ns).sum();
        ran.is_some_and(|ran| (ran as f64) < SLACK * counted as f64)
    }

    fn give_up(&mut self, row: usize, outcome: RowOutcome, reason: String) {
        if !std::mem::replace(&mut self.states[row].given_up, true) {
            self.emit(Entry::Abandoned { row: row as u32, outcome, reason });
        }
    }

    /// A machine is gone before it had done all: rows without a repetition say so. Whether that
    /// tells it: where rows that were asked for have lost repetitions alone, none has failed.
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
        let asked = |rows: &[usize]| rows.iter().any(|&row| self.request.rows[row].requested);
        asked(&none) || !asked(&some)
    }

    /// Every row that was measured has as many workers as it gets.
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

/// The answer to a job, if it comes before one to a later job, which is kept.
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
            Some(of) if of == id && !matches!(event, Event::Ready { .. }) => return Ok(event),
            Some(of) if of > id => {
                *early = Some(event);
                return Ok(no_answer(id));
            }
            _ => {}
        }
    }
}

/// What is said of a job that has none.
fn no_answer(id: u64) -> Event {
    let why = "the machine has gone on without an answer".to_owned();
    Event::Failed { id, at_op: None, reason: why, errno: None, arm: None }
}

/// What a machine is called.
pub fn machine_id(machine: usize) -> String {
    format!("m{machine}")
}

fn job_id(number: usize) -> u64 {
    CALIBRATION_JOB_ID + 1 + number as u64
}
