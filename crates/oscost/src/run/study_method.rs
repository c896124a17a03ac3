//! Repeats the rows of a study with that study's method (docs/explanation/METHOD.md, section 14).
//!
//! Each experiment has its own worker: a study repeats more than its loop. These measurements are
//! not repetitions of the row, and no figure of the row depends on them.

use std::collections::VecDeque;
use std::time::Duration;

use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::record::RowOutcome;
use oscost_model::study_method::{StudyMethod, TimingScope};
use oscost_model::worker::{BatchPlan, Mode, Task};

use super::error::RunError;
use super::iteration_cost::{IterationCost, WINDOW_OVERHEAD_NS};
use super::job::JobFailure;
use super::state::{MAX_LOST_WORKERS, Run};
use super::stopping::Profile;

/// The time budget of a row with its study method: sixty rows take one more minute.
const TIME_BUDGET: Duration = Duration::from_secs(1);
/// The same in a quick run.
const QUICK_TIME_BUDGET: Duration = Duration::from_millis(250);
/// A row that takes at least this many times its budget is skipped, and says so.
const MAX_SLOWDOWN_FOR_STUDY_METHOD: f64 = 10.0;
/// The maximum number of windows of a row: each is stored.
const MAX_WINDOWS: u64 = 10_000;
/// Rather than fewer ops per experiment than these, fewer experiments are made ...
const MIN_ITERATIONS: u64 = 100;
/// ... but not fewer than these, since a deviation needs them.
const MIN_EXPERIMENTS: u32 = 3;
/// The time to start and end a worker.
const WORKER_START_NS: f64 = 5e6;
/// A worker warms up for at least this long ...
const MIN_WARM_UP_NS: f64 = 3e6;
/// ... and this many batches.
const MIN_WARM_UP_BATCHES: f64 = 5.0;

/// How a row is timed with its study method.
#[derive(Clone, Debug, PartialEq)]
struct ExperimentPlan {
    plan: BatchPlan,
    experiments: u32,
    /// Iterations of an experiment, in all its windows.
    iterations: u64,
}

/// The largest number in a range that fits, if all smaller ones fit too; `None` if the first does
/// not.
fn largest_fitting(min: u64, max: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    if !fits(min) {
        return None;
    }
    let (mut fit, mut beyond) = (min, max.saturating_add(1));
    while fit + 1 < beyond {
        let middle = fit + (beyond - fit) / 2;
        if fits(middle) { fit = middle } else { beyond = middle }
    }
    Some(fit)
}

/// Whether each window holds a single op whatever the study method: the op returns its own figure,
/// is measured cold, or fills a batch by itself.
fn times_single_ops(pilot: &BatchPlan) -> bool {
    pilot.mode.is_single_shot() || pilot.iterations == 1
}

/// Fits a study method into `limit`: fewer ops first, then fewer experiments, then fewer ops again.
/// `None` if even one op per experiment takes far too long.
fn fit_to_budget(
    study_method: &StudyMethod,
    pilot: &BatchPlan,
    cost: IterationCost,
    limit: Duration,
) -> Option<ExperimentPlan> {
    let limit_ns = limit.as_nanos() as f64;
    let single_ops = study_method.timed == TimingScope::Each || times_single_ops(pilot);
    let requested_experiments = study_method.experiments.max(1);
    let max_experiments = requested_experiments.min(MAX_WINDOWS as u32);
    let max_iterations = (study_method.iterations / cost.ops).max(1);
    let max_iterations = |experiments: u32| match single_ops {
        true => max_iterations.min(MAX_WINDOWS / u64::from(experiments)).max(1),
        false => max_iterations,
    };
    let cost_ns = |iterations: u64, experiments: u32| {
        let iterations = iterations as f64;
        let (warm_ns, timed_ns) = match (pilot.mode, single_ops) {
            (Mode::C, _) => (0.0, iterations * cost.window_ns),
            (Mode::F, _) => (cost.window_ns, iterations * cost.window_ns),
            (_, true) => {
                let window_ns = cost.ns + WINDOW_OVERHEAD_NS;
                (MIN_WARM_UP_BATCHES * window_ns, iterations * window_ns)
            }
            (_, false) => (MIN_WARM_UP_BATCHES * iterations * cost.ns, iterations * cost.ns),
        };
        f64::from(experiments) * (WORKER_START_NS + warm_ns.max(MIN_WARM_UP_NS) + timed_ns)
    };
    let fits = |iterations: u64, experiments: u32| cost_ns(iterations, experiments) <= limit_ns;
    let min_iterations =
        |experiments: u32| (MIN_ITERATIONS / cost.ops).max(1).min(max_iterations(experiments));
    let min_experiments = MIN_EXPERIMENTS.min(max_experiments);
    let mut experiments = max_experiments;
    if !fits(min_iterations(experiments), experiments) {
        let fit = largest_fitting(
            u64::from(min_experiments),
            u64::from(max_experiments),
            |experiments| fits(min_iterations(experiments as u32), experiments as u32),
        );
        experiments = fit.map_or(min_experiments, |fit| fit as u32);
    }
    let iterations =
        largest_fitting(1, max_iterations(experiments), |iterations| fits(iterations, experiments));
    if iterations.is_none() && cost_ns(1, experiments) > MAX_SLOWDOWN_FOR_STUDY_METHOD * limit_ns {
        return None;
    }
    let iterations = iterations.unwrap_or(1);
    let plan = if single_ops {
        single_shot_plan(pilot, iterations, cost)
    } else {
        loop_plan(pilot, iterations, cost)
    };
    Some(ExperimentPlan { plan, experiments, iterations })
}

/// One op per window.
fn single_shot_plan(pilot: &BatchPlan, windows: u64, cost: IterationCost) -> BatchPlan {
    let mode = match pilot.mode {
        own if own.is_single_shot() => own,
        // Batches of one iteration: for ops below 50 ns the kernel is not entered between them, as
        // in a study that reads a counter.
        _ => Mode::B,
    };
    let batch_ns = match mode {
        Mode::C | Mode::F => cost.window_ns,
        _ => cost.ns,
    };
    BatchPlan {
        mode,
        iterations: 1,
        unroll_factors: vec![1],
        groups: windows as u32,
        batch_ns,
        ..pilot.clone()
    }
}

/// All ops in one window, timed as a single shot: with exactly this many iterations, which vary
/// from batch to batch in other modes.
fn loop_plan(pilot: &BatchPlan, iterations: u64, cost: IterationCost) -> BatchPlan {
    let batch_ns = iterations as f64 * cost.ns;
    BatchPlan {
        mode: Mode::S,
        iterations,
        unroll_factors: vec![1],
        groups: 1,
        batch_ns,
        ..pilot.clone()
    }
}

/// The loop split into several windows, if no more ops than the pilot's can be prepared at once.
fn chunked_plan(
    pilot: &BatchPlan,
    experiment_plan: &ExperimentPlan,
    cost: IterationCost,
) -> BatchPlan {
    let max_windows = MAX_WINDOWS / u64::from(experiment_plan.experiments.max(1));
    let windows =
        experiment_plan.iterations.div_ceil(pilot.iterations.max(1)).clamp(1, max_windows.max(1));
    BatchPlan {
        groups: windows as u32,
        ..loop_plan(pilot, pilot.iterations.min(experiment_plan.iterations), cost)
    }
}

/// An experiment to come.
struct Job {
    row: usize,
    experiment: u32,
}

impl Run<'_> {
    /// Measures all rows of studies with their study methods, one worker per experiment, in random
    /// order.
    pub(super) fn measure_by_study_methods(&mut self, profile: Profile) -> Result<(), RunError> {
        let limit = if profile == Profile::Quick { QUICK_TIME_BUDGET } else { TIME_BUDGET };
        let mut plans: Vec<Option<ExperimentPlan>> = vec![None; self.rows.len()];
        let mut jobs = Vec::new();
        for (row, plan) in plans.iter_mut().enumerate() {
            *plan = self.plan_experiments(row, limit);
            let experiments = plan.as_ref().map_or(0, |it| it.experiments);
            jobs.extend((0..experiments).map(|experiment| Job { row, experiment }));
        }
        self.order.shuffle(&mut jobs);
        let mut jobs = VecDeque::from(jobs);
        let mut losses = vec![0; self.rows.len()];
        while let Some(Job { row, experiment }) = jobs.pop_front() {
            let Some(experiment_plan) = plans[row].as_mut().filter(|_| !self.rows[row].given_up)
            else {
                continue;
            };
            let plan = experiment_plan.plan.clone();
            let Err(failure) = self.measure_experiment(row, experiment, plan.clone())? else {
                continue;
            };
            if let Some(pilot) = self.rows[row].progress.plan()
                && failure.batch_too_large
                && plan.iterations > pilot.iterations
            {
                let cost = self.rows[row]
                    .iteration_cost
                    .unwrap_or_else(|| IterationCost::from_pilot(pilot));
                experiment_plan.plan = chunked_plan(pilot, experiment_plan, cost);
                jobs.push_back(Job { row, experiment });
                continue;
            }
            let JobFailure { outcome, reason, is_final, .. } = failure;
            self.emit_lost_experiment(row, experiment, outcome, reason);
            losses[row] += 1;
            if is_final || losses[row] > MAX_LOST_WORKERS {
                plans[row] = None;
            } else {
                jobs.push_back(Job { row, experiment });
            }
        }
        Ok(())
    }

    /// How a row is timed with its study method; `None` if it is not, and the journal says why.
    fn plan_experiments(&mut self, row: usize, limit: Duration) -> Option<ExperimentPlan> {
        let it = &self.rows[row];
        let study_method =
            it.planned.study_method.filter(|_| it.planned.requested && !it.given_up)?;
        // A rate is a slope over sizes.
        let pilot = it.progress.plan().filter(|plan| plan.mode != Mode::T)?;
        let cost = it.iteration_cost.unwrap_or_else(|| IterationCost::from_pilot(pilot));
        let plan = fit_to_budget(&study_method, pilot, cost, limit);
        if plan.is_none() {
            let op_ns = match pilot.mode {
                Mode::C | Mode::F => cost.window_ns,
                _ => cost.ns,
            };
            let seconds = op_ns / 1e9;
            let reason = format!("it would take too long: an op takes {seconds:.1} s");
            self.emit_lost_experiment(row, 0, RowOutcome::Skipped, reason);
        }
        plan
    }

    /// Measures one experiment in a new worker.
    fn measure_experiment(
        &mut self,
        row: usize,
        experiment: u32,
        plan: BatchPlan,
    ) -> Result<Result<(), JobFailure>, RunError> {
        let spec = self.worker_spec(row, Task::Measure(plan));
        let outcome = self.workers.measure(spec, self.rows[row].peer_location())?;
        self.check_early_detachment();
        if self.rows[row].given_up {
            return Ok(Ok(()));
        }
        Ok(outcome.map(|measurement| {
            self.rows[row].timed_ops += measurement.ops();
            self.emit_experiment(row, experiment, measurement.outcome());
        }))
    }

    fn emit_lost_experiment(
        &mut self,
        row: usize,
        experiment: u32,
        outcome: RowOutcome,
        reason: String,
    ) {
        self.emit_experiment(row, experiment, WorkerOutcome::Lost { outcome, reason });
    }

    fn emit_experiment(&mut self, row: usize, experiment: u32, outcome: WorkerOutcome) {
        self.emit_worker(row, Phase::StudyMethod { round: 0, experiment }, 0, outcome);
    }
}

#[cfg(test)]
mod tests;
