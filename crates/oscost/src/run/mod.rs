//! The run: pilots, call counts, reference cases and rounds, within the time budget.
//!
//! Purpose: deciding which worker is measured next, and emitting journal entries. It must not know
//! how a session is reached, who observes the journal, or how anything is shown. While a worker is
//! timing, the tool sleeps in one poll(2).

mod attached_treatments;
mod call_count;
mod comparison;
mod cpu_survey;
mod inspection;
mod instruction_count;
mod lock;
mod monitor_verification;
mod remote_peer;
mod stopping;
mod study_method;
mod trials;
mod workers;

pub use call_count::{CaseCallCount, count_calls};
pub use comparison::{ComparisonPlan, PairCount};
pub use inspection::{MachineInspection, clock_rates, inspect_machine};
pub use instruction_count::{InstructionCountRequest, Machines, count_instructions, machine_id};
pub use lock::{
    Claim, LockError, LockHolder, MachineLock, claim, wait_for_claim, wait_for_release,
};
pub use remote_peer::Peer;
pub use stopping::Profile;
pub use trials::TrialBudget;

use std::time::{Duration, Instant};

use oscost_model::calls::{CallCount, CallTimes};
use oscost_model::clock::Calibration;
use oscost_model::definition::Timer;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::journal::{Entry, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::protocol::PEER_UNREACHABLE_HINT;
use oscost_model::record::{Machine, RowOutcome};
use oscost_model::treatment::TreatmentSet;
use oscost_model::worker::Task;
use thiserror::Error;

use crate::hosts::{HostError, Session};
use crate::plan::{RandomOrder, SkippedRow};
use attached_treatments::AttachPhase;
use remote_peer::PeerServers;
use stopping::{Progress, RowProgress};
use study_method::IterationCost;
use workers::{JobFailure, PeerLocation, Workers};

/// Workers of each reference case before the first round, and after the last.
const REFERENCE_CASE_WORKERS: usize = 5;
/// In these first rounds every row that is not settled gets a worker; the remaining budget goes to
/// the rows furthest from their precision goal.
const ROUNDS_FOR_ALL_ROWS: u32 = 15;
/// A worker may be killed or hang through no fault of its case (out of memory, the machine was
/// suspended): it counts as lost and is repeated. The second loss is attributed to the case.
const MAX_LOST_WORKERS: u32 = 1;
/// A tracer counts calls after this many untraced warm-up ops ...
const WARM_OPS: u64 = 3;
/// ... during this many ops: a prime number, so that a call made every second or third op shows.
const MIN_COUNTED_OPS: u64 = 23;

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The header: the first entry of the journal.
    pub header: RunHeader,
    /// The machine, as described by its supervisor.
    pub machine: Machine,
    /// Tracers that were found attached to its system.
    pub tracers: Vec<String>,
    /// The rows.
    pub rows: Vec<PlannedRow>,
    /// The timers of the timer survey, if the rows are that survey.
    pub timers: Vec<Timer>,
    /// The stopping rule.
    pub profile: Profile,
    /// The time budget; `None` for no limit.
    pub budget: Option<Duration>,
    /// The treatments of each row; rows beyond the end of the list have none.
    pub treatments: Vec<TreatmentSet>,
    /// What is compared with what, if rows are to be measured side by side.
    pub comparison: Option<ComparisonPlan>,
    /// Whether the observer is asked for additional rows, for the second half of the budget.
    pub refine: bool,
    /// The time budget of the trials of programs.
    pub trials: TrialBudget,
    /// Rows that cannot be measured here.
    pub skipped: Vec<SkippedRow>,
    /// The requested CPU.
    pub requested_cpu: Option<u32>,
    /// The requested CPU of the second process of a case on one machine.
    pub peer_cpu: Option<u32>,
}

/// Why a run failed as a whole.
#[derive(Debug, Error)]
pub enum RunError {
    /// The session failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// No CPU could be probed.
    #[error(
        "cannot measure on {0}\n  hint: `--cpu` takes one of the CPUs available to this process"
    )]
    NoCpu(String),
    /// The peer cannot run on the requested CPU.
    #[error(
        "cannot run the peer on {0}\n  hint: `--peer-cpu` takes an available CPU other than that \
         of `--cpu`"
    )]
    NoPeerCpu(String),
    /// No clock could be calibrated.
    #[error("cannot calibrate any clock: {0}")]
    NoClock(String),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It ran to its end.
    Completed,
    /// The user interrupted it.
    Interrupted,
}

/// Receives journal entries: called between workers, never while one is timing.
pub trait Observer {
    /// Handles an entry.
    fn observe(&mut self, entry: &Entry);

    /// Returns additional rows to be measured. Called once, when all rows are settled or their time
    /// is up.
    fn additional_rows(&mut self) -> Vec<PlannedRow> {
        Vec::new()
    }
}

impl<F: FnMut(&Entry)> Observer for F {
    fn observe(&mut self, entry: &Entry) {
        self(entry);
    }
}

/// Carries out a run. However it ends, the journal says so and contains what was measured.
pub fn run(
    session: &mut dyn Session,
    request: Request,
    listener: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    run_with_peer(session, None, request, listener)
}

/// The same, with the peers of some cases on another machine.
pub fn run_with_peer(
    session: &mut dyn Session,
    peer: Option<Peer<'_>>,
    request: Request,
    listener: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    let machine = request.machine.id.clone();
    listener.observe(&Entry::Started(Box::new(request.header.clone())));
    listener.observe(&Entry::MachineDescribed {
        machine: Box::new(request.machine.clone()),
        tracers: request.tracers.clone(),
    });
    let mut rows: Vec<RowRun> =
        request.rows.iter().cloned().map(|planned| RowRun::new(planned, request.profile)).collect();
    for (row, treated) in rows.iter_mut().zip(&request.treatments) {
        row.treatments = treated.clone();
    }
    let far = peer.map(|Peer { session, machine, tracers, bind, cpu }| {
        listener.observe(&Entry::MachineDescribed { machine: Box::new(machine.clone()), tracers });
        (PeerServers::new(session, bind), machine.id, cpu)
    });
    let (far, peer) = match far {
        Some((far, machine, cpu)) => (Some(far), Some((machine, cpu))),
        None => (None, None),
    };
    let mut run = Run {
        workers: Workers::new(session).with_peer(far),
        requested_cpu: request.requested_cpu,
        peer_cpu: request.peer_cpu,
        listener,
        order: RandomOrder::new(request.header.settings.seed),
        started_at: Instant::now(),
        deadline: request.budget.map(|budget| Instant::now() + budget),
        cpu: None,
        clock: None,
        interruptions_per_s: 0.0,
        rounds_done: 0,
        pairs_missing: false,
        rows,
    };
    let finish = match run.measure_all(&request, &machine, peer) {
        Ok(()) => RunEnd::Completed,
        Err(RunError::Host(HostError::Interrupted)) => RunEnd::Interrupted,
        Err(error) => {
            run.finish(false);
            return Err(error);
        }
    };
    // Rows cut short by Ctrl-C or by the budget have not reached their precision goal.
    let alone = run.workers.far().is_some_and(|far| far.gone().is_some());
    let settled = !run.pairs_missing
        && (request.comparison.is_some() || run.rows.iter().all(RowRun::is_settled));
    run.finish(finish == RunEnd::Completed && settled && !alone);
    Ok(finish)
}

/// A row while it is being measured.
struct RowRun {
    planned: PlannedRow,
    treatments: TreatmentSet,
    progress: RowProgress,
    given_up: bool,
    lost_workers: u32,
    /// The calls of its counted ops.
    count: Option<CallCount>,
    /// The number of timed ops, in a run without a comparison.
    timed_ops: u64,
    /// The number of lines that its program wrote in its warm-up.
    warm_lines: Option<u64>,
    /// The cost of an iteration in its last worker; `None` before the first.
    iteration_cost: Option<IterationCost>,
}

impl RowRun {
    fn new(planned: PlannedRow, profile: Profile) -> Self {
        Self {
            progress: RowProgress::new(profile),
            planned,
            treatments: TreatmentSet::default(),
            given_up: false,
            lost_workers: 0,
            count: None,
            timed_ops: 0,
            warm_lines: None,
            iteration_cost: None,
        }
    }

    /// Whether the row needs no further worker.
    fn is_settled(&self) -> bool {
        self.given_up
            || self.progress.is_settled()
            || !self.planned.requested
            || self.planned.workload.is_some()
    }

    /// Where its peer runs.
    fn peer_location(&self) -> PeerLocation {
        if self.planned.target.peer.is_some() {
            PeerLocation::RemoteMachine
        } else {
            PeerLocation::SameMachine
        }
    }

    /// Whether it gets a worker in the next round; a reference case always does.
    fn needs_worker(&self) -> bool {
        !self.given_up
            && self.planned.workload.is_none()
            && (self.planned.is_reference || !self.progress.is_settled())
    }
}

/// The number of counted ops of a row. Where several ops share a call, it is a multiple of their
/// number, so that the count of calls does not depend on where counting begins.
fn counted_ops(row: &PlannedRow) -> u64 {
    let point = row.definition.with_implied(&row.case.point);
    let rules = row.definition.calls.iter().filter(|rule| point.includes(&rule.when));
    let shared = rules.map(|rule| match rule.times {
        CallTimes::Per { ops, .. } => u64::from(ops),
        CallTimes::Exactly(_) | CallTimes::UpTo(_) => 1,
    });
    MIN_COUNTED_OPS * shared.max().unwrap_or(1)
}

struct Run<'a> {
    workers: Workers<'a>,
    listener: &'a mut dyn Observer,
    order: RandomOrder,
    started_at: Instant,
    deadline: Option<Instant>,
    cpu: Option<u32>,
    requested_cpu: Option<u32>,
    peer_cpu: Option<u32>,
    clock: Option<Calibration>,
    interruptions_per_s: f64,
    rounds_done: u32,
    /// Whether pairs are missing because the time was up.
    pairs_missing: bool,
    rows: Vec<RowRun>,
}

impl Run<'_> {
    fn emit(&mut self, entry: Entry) {
        self.listener.observe(&entry);
    }

    fn finish(&mut self, complete: bool) {
        let at = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        self.emit(Entry::Ended { at, complete });
    }

    fn measure_all(
        &mut self,
        request: &Request,
        machine: &str,
        peer: Option<(String, Option<u32>)>,
    ) -> Result<(), RunError> {
        let alone = request.comparison.is_none();
        let clocks = if alone { self.attach_for_run(AttachPhase::BeforeClocks)? } else { Ok(None) };
        self.survey_cpus(request, machine)?;
        if let Some((machine, cpu)) = &peer {
            self.survey_peer_cpus(machine, *cpu)?;
        }
        self.emit(Entry::Planned { rows: request.rows.clone(), timers: request.timers.clone() });
        for SkippedRow { row, reason } in request.skipped.iter().cloned() {
            let outcome = RowOutcome::Skipped;
            self.give_up(
                row,
                JobFailure { outcome, reason, is_final: true, batch_too_large: false, arm: None },
            );
        }
        if let Some(contest) = &request.comparison {
            self.measure_comparison(contest, request.trials)?;
            return self.calibrate_again(machine);
        }
        let others = match &clocks {
            Ok(_) => self.attach_for_run(AttachPhase::AfterClocks)?,
            Err(ended) => Err(ended.clone()),
        };
        if let Err(ended) = &others {
            self.give_up_all(ended);
        }
        let deadline = self.deadline;
        if request.refine {
            // The other half of the budget is for the additional rows.
            self.deadline = request.budget.map(|budget| self.started_at + budget / 2);
        }
        self.prepare(0)?;
        self.reference_cases(Phase::Before)?;
        self.measure_until_settled(0, request)?;
        self.deadline = deadline;
        if request.refine {
            self.refine(request)?;
        }
        self.measure_by_study_methods(request.profile)?;
        self.trials(None, request.trials)?;
        self.reference_cases(Phase::After)?;
        self.detach_after_run(others.ok().flatten())?;
        self.calibrate_again(machine)?;
        self.detach_after_run(clocks.ok().flatten())
    }

    /// Runs the pilots and counts the calls of all rows from `first` on.
    fn prepare(&mut self, first: usize) -> Result<(), RunError> {
        let rows = (first..self.rows.len()).filter(|&row| !self.is_program(row));
        let rows: Vec<usize> = rows.collect();
        self.pilot(&rows)?;
        self.count(&rows)
    }

    /// Measures until every row from `first` on is settled, or the time is up.
    fn measure_until_settled(&mut self, first: usize, request: &Request) -> Result<(), RunError> {
        if matches!(request.profile, Profile::Thorough { .. }) {
            // The rehearsal gets a third of the budget; the rest is for the real rounds.
            let deadline = self.deadline;
            let now = Instant::now();
            self.deadline = deadline.map(|it| now + it.saturating_duration_since(now) / 3);
            self.rounds(first, Phase::Rehearsal)?;
            self.deadline = deadline;
            for row in &mut self.rows[first..] {
                row.progress.restart();
            }
        }
        self.rounds(first, Phase::Round)
    }

    /// Measures the additional rows that the observer returns.
    fn refine(&mut self, request: &Request) -> Result<(), RunError> {
        let more = self.listener.additional_rows();
        if more.is_empty() {
            return Ok(());
        }
        let first = self.rows.len();
        self.emit(Entry::RowsAdded { rows: more.clone() });
        let treated =
            self.rows.first().map_or_else(TreatmentSet::default, |row| row.treatments.clone());
        self.rows.extend(more.into_iter().map(|planned| {
            let row = RowRun::new(planned, request.profile);
            RowRun { treatments: treated.clone(), ..row }
        }));
        self.prepare(first)?;
        self.measure_until_settled(first, request)
    }

    /// Runs one pilot per case, which finds mode, iterations and batch length.
    fn pilot(&mut self, rows: &[usize]) -> Result<(), RunError> {
        for &row in rows {
            if self.time_is_up() {
                break;
            }
            if self.rows[row].given_up {
                continue;
            }
            let spec = self
                .worker_spec(row, Task::Pilot { interruptions_per_s: self.interruptions_per_s });
            let other = self.rows[row].peer_location();
            match self.workers.pilot(spec, other)? {
                Ok(plan) => {
                    self.rows[row].progress.set_plan(&plan);
                    self.emit(Entry::Piloted { row: row as u32, plan });
                }
                Err(ended) => {
                    let no_way = ended.reason.contains(PEER_UNREACHABLE_HINT);
                    let reason = ended.reason.clone();
                    self.give_up(row, ended);
                    if no_way {
                        self.give_up_remote_rows(&reason);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives up all rows with a remote peer, since the peer is unreachable: each further case would
    /// wait for the same timeout.
    fn give_up_remote_rows(&mut self, reason: &str) {
        for row in 0..self.rows.len() {
            let is_next = self.rows[row].peer_location() == PeerLocation::RemoteMachine
                && !self.rows[row].given_up;
            if is_next && self.rows[row].progress.plan().is_none() {
                let reason = format!("not attempted, since another case failed: {reason}");
                let outcome = RowOutcome::Failed;
                self.give_up(
                    row,
                    JobFailure {
                        outcome,
                        reason,
                        is_final: true,
                        batch_too_large: false,
                        arm: None,
                    },
                );
            }
        }
    }

    /// Counts the calls of each case once.
    fn count(&mut self, rows: &[usize]) -> Result<(), RunError> {
        for &row in rows {
            if self.rows[row].given_up || self.time_is_up() {
                continue;
            }
            let ops = counted_ops(&self.rows[row].planned);
            let spec = self.worker_spec(row, Task::Count { warm_ops: WARM_OPS, ops });
            let other = self.rows[row].peer_location();
            let entry = match self.workers.count(spec, other)? {
                Ok(count) => {
                    self.rows[row].count = Some(count.clone());
                    Entry::Counted { row: row as u32, count }
                }
                Err(ended) => Entry::NotCounted { row: row as u32, reason: ended.reason },
            };
            self.emit(entry);
        }
        Ok(())
    }

    /// Measures workers of each reference case, interleaved, before the first round or after the
    /// last.
    fn reference_cases(&mut self, phase: Phase) -> Result<(), RunError> {
        let reference_cases: Vec<usize> =
            (0..self.rows.len()).filter(|&row| self.rows[row].planned.is_reference).collect();
        for _ in 0..REFERENCE_CASE_WORKERS {
            let mut order = reference_cases.clone();
            self.order.shuffle(&mut order);
            for row in order {
                if !self.rows[row].given_up {
                    self.measure_worker(row, phase)?;
                }
            }
        }
        Ok(())
    }

    /// Runs rounds until every requested row is settled, or the time is up. Each round is a new
    /// random permutation with one new worker per row: repetitions are spread over the whole run.
    fn rounds(&mut self, first: usize, phase: fn(u32) -> Phase) -> Result<(), RunError> {
        let is_real = matches!(phase(0), Phase::Round(_));
        // Rows added later continue the numbering: a number identifies one round of the whole run.
        let mut round = if is_real { self.rounds_done } else { 0 };
        let common = round + ROUNDS_FOR_ALL_ROWS;
        while self.rows.iter().any(|row| !row.is_settled()) && !self.time_is_up() {
            let mut wanted: Vec<usize> =
                (0..self.rows.len()).filter(|&row| self.rows[row].needs_worker()).collect();
            if round >= common && self.deadline.is_some() {
                wanted = self.least_precise_rows(wanted);
            }
            self.order.shuffle(&mut wanted);
            if is_injected(InjectedFault::BackToBack) {
                wanted.sort_unstable();
                wanted.truncate(1);
            }
            for row in wanted {
                if self.time_is_up() {
                    break;
                }
                self.measure_worker(row, phase(round))?;
            }
            round += 1;
        }
        if !is_real {
            return Ok(());
        }
        self.rounds_done = round;
        for row in first..self.rows.len() {
            if !self.rows[row].given_up && !self.is_program(row) {
                let converged = self.rows[row].progress.converged();
                self.emit(Entry::RowFinished { row: row as u32, converged });
            }
        }
        Ok(())
    }

    /// The half of the unsettled rows that is furthest from its goal; reference cases are always
    /// included.
    fn least_precise_rows(&self, wanted: Vec<usize>) -> Vec<usize> {
        let need = |&row: &usize| self.rows[row].progress.goal_distance();
        let (mut rows, settled): (Vec<usize>, Vec<usize>) =
            wanted.into_iter().partition(|&row| !self.rows[row].is_settled());
        rows.sort_by(|one, other| need(other).total_cmp(&need(one)));
        let passed_over = rows.split_off(rows.len().div_ceil(2));
        rows.extend(passed_over.into_iter().filter(|&row| self.rows[row].planned.is_reference));
        rows.extend(settled);
        rows
    }

    fn time_is_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Measures one new worker of a row.
    fn measure_worker(&mut self, row: usize, phase: Phase) -> Result<(), RunError> {
        let Some(plan) = self.rows[row].progress.plan().cloned() else { return Ok(()) };
        let spec = self.worker_spec(row, Task::Measure(plan.clone()));
        let begun = Instant::now();
        let outcome = self.workers.measure(spec, self.rows[row].peer_location())?;
        let took = begun.elapsed();
        let at_s = self.started_at.elapsed().as_secs_f64();
        self.check_early_detachment();
        if self.rows[row].given_up {
            return Ok(());
        }
        match outcome {
            Ok(brought) => {
                if let Some(clock) = &self.clock {
                    let counts = matches!(phase, Phase::Round(_) | Phase::Rehearsal(_));
                    let RowRun {
                        planned, progress: pace, timed_ops, iteration_cost: taken, ..
                    } = &mut self.rows[row];
                    *timed_ops += brought.ops();
                    *taken = IterationCost::from_samples(&brought.samples, &plan, clock, took)
                        .or(*taken);
                    let step = if counts {
                        pace.add_worker(&brought.samples, clock, planned)
                    } else {
                        Progress::Continue
                    };
                    let outcome = brought.outcome();
                    self.emit(Entry::Worker { row: row as u32, phase, at_s, set: 0, outcome });
                    if let Progress::Unmeasurable { reason } = step {
                        let outcome = RowOutcome::Unmeasurable;
                        self.give_up(
                            row,
                            JobFailure {
                                outcome,
                                reason,
                                is_final: true,
                                batch_too_large: false,
                                arm: None,
                            },
                        );
                    }
                }
            }
            Err(ended) => {
                let JobFailure { outcome, reason, .. } = ended.clone();
                let lost = WorkerOutcome::Lost { outcome, reason };
                self.emit(Entry::Worker { row: row as u32, phase, at_s, set: 0, outcome: lost });
                self.rows[row].lost_workers += 1;
                if ended.is_final || self.rows[row].lost_workers > MAX_LOST_WORKERS {
                    self.give_up(row, ended);
                }
            }
        }
        Ok(())
    }

    /// Stops measuring a row: it is not measurable, its op fails, or its workers are lost
    /// repeatedly.
    fn give_up(&mut self, row: usize, ended: JobFailure) {
        self.rows[row].given_up = true;
        let JobFailure { outcome, reason, .. } = ended;
        self.emit(Entry::Abandoned { row: row as u32, outcome, reason });
    }
}
