//! Repeats the rows of a study with that study's method (docs/explanation/METHOD.md, section 14).
//!
//! Each experiment has its own worker: a study repeats more than its loop. The workers are spread
//! over rounds like those of oscost's own method, so that rows can be compared round by round.
//! These measurements are not repetitions of the row, and no figure of the row depends on them.

mod plan;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use oscost_model::journal::{Entry, Phase, WorkerOutcome};
use oscost_model::record::RowOutcome;
use oscost_model::worker::{Mode, Task};

use super::iteration_cost::IterationCost;
use super::row::RowRun;
use crate::run::error::RunError;
use crate::run::jobs::job::{JobFailure, JobResult};
use crate::run::jobs::workers::Measurement;
use crate::run::progress::RunActivity;
use crate::run::request::Request;
use crate::run::state::{MAX_LOST_WORKERS, Run};
use plan::{ExperimentPlan, Limits, MethodCost, PartPlan, WORKER_NS, fair_share_ns};

/// A worker's share of the ops is reduced if a row would take this much longer than it may.
const TOLERANCE: f64 = 1.1;

/// A worker is killed after so many times its expected time ...
const TIMEOUT_FACTOR: f64 = 10.0;
/// ... and this much more.
const TIMEOUT_GRACE_MS: u64 = 20_000;

/// A row while it is measured with its study method.
struct MethodRow {
    plan: ExperimentPlan,
    cost: IterationCost,
    /// An iteration with all that is around it, as found in the last rounds or as expected.
    iteration_ns: f64,
    /// The time that it has taken.
    spent_ns: f64,
    /// The iterations in that time.
    iterations: u64,
    /// Its workers in that time.
    workers: u64,
    /// The workers lost in this round.
    losses: u32,
}

/// A worker to come.
#[derive(Clone, Copy, Debug)]
struct Job {
    row: usize,
    worker: u64,
}

impl MethodRow {
    /// The workers from a round on.
    fn workers_from(&self, round: u32) -> impl Iterator<Item = u64> {
        (0..self.plan.workers()).filter(move |&worker| self.plan.round_of(worker) >= round)
    }

    /// The time that the rest takes, apart from that of the workers themselves.
    fn iterations_left_ns(&self, round: u32) -> f64 {
        let iterations = self.workers_from(round).map(|worker| self.plan.iterations_of(worker));
        iterations.sum::<u64>() as f64 * self.iteration_ns
    }

    fn workers_left_ns(&self, round: u32) -> f64 {
        self.workers_from(round).count() as f64 * WORKER_NS
    }

    /// The time that the rest takes, at most that which the row has left.
    fn needs_ns(&self, round: u32, limits: Limits) -> f64 {
        let all_ns = self.iterations_left_ns(round) + self.workers_left_ns(round);
        all_ns.min((limits.row_ns - self.spent_ns).max(0.0))
    }

    /// The share of the iterations that are left for which `share_ns` is enough.
    fn affordable(&self, round: u32, limits: Limits, share_ns: f64) -> f64 {
        let allowed_ns = self.needs_ns(round, limits).min(share_ns) - self.workers_left_ns(round);
        let iterations_ns = self.iterations_left_ns(round);
        match iterations_ns <= TOLERANCE * allowed_ns {
            true => 1.0,
            false => (allowed_ns / iterations_ns).max(0.0),
        }
    }

    /// Takes the time of a worker into account.
    fn add(&mut self, iterations: u64, took: Duration) {
        self.spent_ns += took.as_nanos() as f64;
        self.iterations += iterations;
        self.workers += 1;
        let timed_ns = (self.spent_ns - self.workers as f64 * WORKER_NS).max(0.0);
        self.iteration_ns = timed_ns / self.iterations.max(1) as f64;
    }
}

impl Run<'_> {
    /// The share of a requested time limit that is kept for the study methods: half of it, if a row
    /// has one.
    pub(crate) fn reserve_for_study_methods(&mut self, request: &Request) {
        let has_method = |row: &RowRun| row.planned.study_method.is_some();
        if let Some(limit) = request.trials.run_limit
            && self.rows.iter().any(has_method)
        {
            let half = self.started_at + limit / 2;
            self.deadline = Some(self.deadline.map_or(half, |deadline| deadline.min(half)));
        }
    }

    /// Measures all rows of studies with their study methods, in rounds in which the workers of all
    /// rows are in random order.
    pub(crate) fn measure_by_study_methods(&mut self, request: &Request) -> Result<(), RunError> {
        let limits = self.limits_of_study_methods(request);
        if self.has_study_methods() {
            self.schedule.begin(RunActivity::StudyMethods, Some(limits.rounds as usize));
            self.schedule.ends_by = Some(Instant::now() + self.bound_of_study_methods(request));
            self.schedule.following = self.bound_of_trials();
        }
        let mut rows = self.plan_study_methods(limits)?;
        let workers: u64 = rows.iter().flatten().map(|row| row.plan.workers()).sum();
        if workers == 0 {
            return Ok(());
        }
        let expected_ns: f64 = rows.iter().flatten().map(|row| row.needs_ns(0, limits)).sum();
        self.emit(Entry::StudyMethodsPlanned {
            rounds: limits.rounds,
            workers: workers as u32,
            expected_s: expected_ns / 1e9,
        });
        let begun_at = Instant::now();
        for round in 0..limits.rounds {
            let needs_ns: f64 = rows.iter().flatten().map(|row| row.needs_ns(round, limits)).sum();
            self.schedule.done = round;
            self.schedule.ends_by = Some(Instant::now() + longest_ns(needs_ns.min(limits.all_ns)));
            let left_ns = limits.all_ns - begun_at.elapsed().as_nanos() as f64;
            self.study_method_round(&mut rows, round, limits, left_ns)?;
        }
        Ok(())
    }

    fn has_study_methods(&self) -> bool {
        let has_method = |row: &RowRun| row.planned.study_method.is_some() && !row.given_up;
        self.rows.iter().any(has_method)
    }

    fn limits_of_study_methods(&self, request: &Request) -> Limits {
        let left =
            request.trials.run_limit.map(|limit| limit.saturating_sub(self.started_at.elapsed()));
        Limits::of(request.profile, left)
    }

    /// A bound of the time of all measurements by study methods.
    pub(crate) fn bound_of_study_methods(&self, request: &Request) -> Duration {
        match self.has_study_methods() {
            true => longest_ns(self.limits_of_study_methods(request).all_ns),
            false => Duration::ZERO,
        }
    }

    /// One round: the workers that belong to it, in random order.
    fn study_method_round(
        &mut self,
        rows: &mut [Option<MethodRow>],
        round: u32,
        limits: Limits,
        left_ns: f64,
    ) -> Result<(), RunError> {
        let needs = rows.iter().flatten().map(|row| row.needs_ns(round, limits));
        let share_ns = fair_share_ns(needs, left_ns);
        let affordable: Vec<f64> = rows
            .iter()
            .map(|row| row.as_ref().map_or(0.0, |row| row.affordable(round, limits, share_ns)))
            .collect();
        for method_row in rows.iter_mut().flatten() {
            method_row.losses = 0;
        }
        let mut jobs = Vec::new();
        for (row, method_row) in rows.iter().enumerate() {
            let Some(method_row) = method_row else { continue };
            let all = 0..method_row.plan.workers();
            let of_round = all.filter(|&worker| method_row.plan.round_of(worker) == round);
            jobs.extend(of_round.map(|worker| Job { row, worker }));
        }
        self.order.shuffle(&mut jobs);
        let mut jobs = VecDeque::from(jobs);
        while let Some(job) = jobs.pop_front() {
            let Some(method_row) = rows[job.row].as_mut().filter(|_| !self.rows[job.row].given_up)
            else {
                continue;
            };
            let wanted = method_row.plan.iterations_of(job.worker);
            let iterations = ((wanted as f64 * affordable[job.row]) as u64).clamp(1, wanted.max(1));
            let failure = self.measure_part(job, method_row, round, iterations)?;
            let Some(failure) = failure else { continue };
            if self.divide_loop(job.row, method_row, &failure, iterations) {
                jobs.push_back(job);
                continue;
            }
            let JobFailure { outcome, reason, is_final, .. } = failure;
            let experiment = method_row.plan.experiment_of(job.worker);
            self.emit_lost_experiment(job.row, round, experiment, outcome, reason);
            method_row.losses += 1;
            // What others of its workers have done is not impossible: an eviction may fail once.
            let is_final = is_final && method_row.iterations == 0;
            if is_final || method_row.losses > MAX_LOST_WORKERS {
                rows[job.row] = None;
            } else {
                jobs.push_back(job);
            }
        }
        Ok(())
    }

    /// How each row is timed with its study method; `None` if it is not, and the journal says why.
    fn plan_study_methods(&mut self, limits: Limits) -> Result<Vec<Option<MethodRow>>, RunError> {
        let mut rehearsed_ns = Vec::new();
        for row in 0..self.rows.len() {
            rehearsed_ns.push(self.rehearse_study_method(row, limits)?);
        }
        let whole_ns = self.rows.iter().zip(&rehearsed_ns).filter_map(|(row, &rehearsed_ns)| {
            let cost = MethodCost { rehearsed_ns, ..method_cost(row, limits)? };
            Some(cost.whole_ns().min(limits.row_ns))
        });
        let limit_ns = fair_share_ns(whole_ns, limits.all_ns).min(limits.row_ns);
        let plans = rehearsed_ns.iter().enumerate().map(|(row, &rehearsed_ns)| {
            self.plan_study_method(row, limits, rehearsed_ns, limit_ns)
        });
        Ok(plans.collect())
    }

    /// The time of an iteration with all that is around it, as an untimed worker shows it; `None`
    /// without need, or if the worker failed, which the rounds then report.
    fn rehearse_study_method(
        &mut self,
        row: usize,
        limits: Limits,
    ) -> Result<Option<f64>, RunError> {
        let Some(of_row) = method_cost(&self.rows[row], limits) else { return Ok(None) };
        let Some((iterations, plan)) = of_row.rehearsal().zip(of_row.fit(limits.row_ns)) else {
            return Ok(None);
        };
        let part = plan.part(of_row.pilot, of_row.cost, iterations);
        let begun_at = Instant::now();
        let outcome = self.run_part(row, &part)?;
        let took_ns = begun_at.elapsed().as_nanos() as f64;
        Ok(outcome.ok().map(|_| (took_ns - WORKER_NS).max(0.0) / part.iterations as f64))
    }

    fn plan_study_method(
        &mut self,
        row: usize,
        limits: Limits,
        rehearsed_ns: Option<f64>,
        limit_ns: f64,
    ) -> Option<MethodRow> {
        let it = MethodCost { rehearsed_ns, ..method_cost(&self.rows[row], limits)? };
        let cost = it.cost;
        let Some(plan) = it.fit(limit_ns) else {
            let op_ns = match it.pilot.mode {
                Mode::C | Mode::F => cost.window_ns,
                _ => cost.ns,
            };
            let seconds = op_ns / 1e9;
            let reason = format!("it would take too long: an op takes {seconds:.1} s");
            self.emit_lost_experiment(row, 0, 0, RowOutcome::Skipped, reason);
            return None;
        };
        let iteration_ns = it.iteration_ns();
        let (spent_ns, iterations, workers, losses) = (0.0, 0, 0, 0);
        Some(MethodRow { plan, cost, iteration_ns, spent_ns, iterations, workers, losses })
    }

    /// Measures one experiment, or its part of a round, in a new worker. Returns its failure.
    fn measure_part(
        &mut self,
        job: Job,
        method_row: &mut MethodRow,
        round: u32,
        iterations: u64,
    ) -> Result<Option<JobFailure>, RunError> {
        let Some(pilot) = self.rows[job.row].progress.plan() else { return Ok(None) };
        let part = method_row.plan.part(pilot, method_row.cost, iterations);
        let begun_at = Instant::now();
        let outcome = self.run_part(job.row, &part)?;
        method_row.add(if outcome.is_ok() { part.iterations } else { 0 }, begun_at.elapsed());
        if self.rows[job.row].given_up {
            return Ok(None);
        }
        Ok(match outcome {
            Ok(measurement) => {
                self.rows[job.row].timed_ops += measurement.ops();
                let experiment = method_row.plan.experiment_of(job.worker);
                self.emit_part(job.row, round, experiment, measurement.outcome());
                None
            }
            Err(failure) => Some(failure),
        })
    }

    /// Runs a worker.
    fn run_part(&mut self, row: usize, part: &PartPlan) -> JobResult<Measurement> {
        self.report(row);
        let mut spec = self.worker_spec(row, Task::Measure(part.plan.clone()));
        spec.windows = part.windows;
        // Several times the expected time, like that of any worker; what is around an op may take
        // longer than the op.
        spec.timeout_ms += (TIMEOUT_FACTOR * part.timed_ns / 1e6) as u64 + TIMEOUT_GRACE_MS;
        let outcome = self.workers.measure(spec, self.rows[row].peer_location())?;
        self.check_early_detachment();
        Ok(outcome)
    }

    /// Whether a worker failed only because its loop could not be prepared at once, and will be
    /// repeated with several shorter ones.
    fn divide_loop(
        &self,
        row: usize,
        method_row: &mut MethodRow,
        failure: &JobFailure,
        iterations: u64,
    ) -> bool {
        let prepared = self.rows[row].progress.plan().map_or(1, |pilot| pilot.iterations.max(1));
        let divides =
            failure.batch_too_large && method_row.plan.max_loop.is_none() && iterations > prepared;
        if divides {
            method_row.plan.max_loop = Some(prepared);
        }
        divides
    }

    fn emit_lost_experiment(
        &mut self,
        row: usize,
        round: u32,
        experiment: u32,
        outcome: RowOutcome,
        reason: String,
    ) {
        self.emit_part(row, round, experiment, WorkerOutcome::Lost { outcome, reason });
    }

    fn emit_part(&mut self, row: usize, round: u32, experiment: u32, outcome: WorkerOutcome) {
        self.emit_worker(row, Phase::StudyMethod { round, experiment }, 0, outcome);
    }
}

/// How long what should take so many nanoseconds may take: a row may exceed its time by the
/// tolerance, and its last worker is not stopped.
fn longest_ns(planned_ns: f64) -> Duration {
    const LAST_WORKER: Duration = Duration::from_secs(1);
    let planned = Duration::try_from_secs_f64((TOLERANCE * TOLERANCE * planned_ns / 1e9).max(0.0));
    planned.unwrap_or(Duration::ZERO) + LAST_WORKER
}

/// What a row's study method costs; `None` if the row has none, or no plan.
fn method_cost(row: &RowRun, limits: Limits) -> Option<MethodCost<'_>> {
    let study_method =
        row.planned.study_method.filter(|_| row.planned.requested && !row.given_up)?;
    // A rate is a slope over sizes.
    let pilot = row.progress.plan().filter(|plan| plan.mode != Mode::T)?;
    let cost = row.iteration_cost.unwrap_or_else(|| IterationCost::from_pilot(pilot));
    Some(MethodCost { study_method, pilot, cost, rehearsed_ns: None, limits })
}
