//! How the ops of a study method are spread over rounds and workers, and how many fit.

use std::time::Duration;

use oscost_model::study_method::{StudyMethod, TimingScope};
use oscost_model::worker::{BatchPlan, Mode, WARM_UP_NS};

use super::super::iteration_cost::{IterationCost, WINDOW_OVERHEAD_NS, WORKER_START_NS};
use super::super::stopping::Profile;

/// A row of which one op takes longer than this many times its limit is skipped, and says so.
const MAX_SLOWDOWN: f64 = 10.0;
/// Rather than fewer ops per experiment than these, fewer experiments are made ...
const MIN_ITERATIONS: u64 = 1_000;
/// ... but not fewer than these, since a deviation needs them.
const MIN_EXPERIMENTS: u32 = 3;
/// The maximum number of samples of a row, in all its workers. Each is stored.
const MAX_SAMPLES: u64 = 5_000;
/// An op that takes at most this share of the time of its row once for each round is made in each.
const SHARE_OF_REPEATED_OP: f64 = 0.2;
/// A sample holds at least so many windows, if there are as many: then hardly any window comes
/// directly after the accounting was read.
const MIN_WINDOWS_PER_SAMPLE: u64 = 1_000;
/// A worker warms up for at least this long ...
const MIN_WARM_UP_NS: f64 = WARM_UP_NS as f64;
/// ... and this many ops that are timed one by one.
const WARM_UP_OPS: f64 = 5.0;
/// The time around a window that directly follows another: two reads of the clock, and a random
/// delay.
const CONSECUTIVE_OVERHEAD_NS: f64 = 100.0;
/// Where all ops would fit even if they took so many times as long, none is rehearsed.
const SPARE_FACTOR: f64 = 10.0;
/// The timed part of a rehearsal.
const REHEARSAL_NS: f64 = 5e7;
/// An op that is longer than this is not rehearsed: little around it is as long.
const MAX_REHEARSED_OP_NS: f64 = 1e8;
/// What a worker costs beyond its ops.
pub(super) const WORKER_NS: f64 = WORKER_START_NS + MIN_WARM_UP_NS;

/// The limits of the measurements by study methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// The time of a row.
    pub(super) row_ns: f64,
    /// The time of all rows.
    pub(super) all_ns: f64,
    /// The rounds over which a row is spread, if it has as many ops, or short ones.
    pub(super) rounds: u32,
    /// A row with fewer ops than these gets one in so many rounds: a verdict needs the rounds.
    /// With these alone an interval is as wide as its values, so short ops get one in each.
    pub(super) min_rounds: u32,
}

impl Limits {
    /// The limits of a profile, within the time that is left.
    pub(super) fn of(profile: Profile, left: Option<Duration>) -> Self {
        let usual = match profile {
            Profile::Default { .. } => {
                Self { row_ns: 60e9, all_ns: 480e9, rounds: 10, min_rounds: 6 }
            }
            // A twentieth, in as many rounds as a median needs.
            Profile::Quick => Self { row_ns: 3e9, all_ns: 24e9, rounds: 3, min_rounds: 3 },
            Profile::Thorough { .. } => {
                Self { row_ns: 300e9, all_ns: 2_400e9, rounds: 20, min_rounds: 6 }
            }
        };
        let left_ns = left.map_or(f64::INFINITY, |left| left.as_nanos() as f64);
        Self { all_ns: usual.all_ns.min(left_ns), ..usual }
    }
}

/// The time that each row may take, if these times are needed: what it needs, or else as much as
/// every other row that needs more.
pub(super) fn fair_share_ns(needs_ns: impl Iterator<Item = f64>, available_ns: f64) -> f64 {
    let mut needs_ns: Vec<f64> = needs_ns.collect();
    needs_ns.sort_by(f64::total_cmp);
    let mut left_ns = available_ns;
    for (index, need_ns) in needs_ns.iter().enumerate() {
        let share_ns = left_ns / (needs_ns.len() - index) as f64;
        if *need_ns > share_ns {
            return share_ns.max(0.0);
        }
        left_ns -= need_ns;
    }
    f64::INFINITY
}

/// What one worker of an experiment does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartPlan {
    pub(super) plan: BatchPlan,
    /// The windows in all its samples; `None` for one loop.
    pub(super) windows: Option<u64>,
    /// Its iterations, in all windows.
    pub(super) iterations: u64,
    /// How long it is expected to time, in nanoseconds.
    pub(super) timed_ns: f64,
}

/// How a row is timed with its study method.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExperimentPlan {
    pub(super) experiments: u32,
    /// Iterations of an experiment, in all its parts.
    pub(super) iterations: u64,
    /// The workers among which an experiment is divided, so that every round has some.
    pub(super) parts: u32,
    /// The rounds over which the workers are spread.
    pub(super) rounds: u32,
    /// Whether each op has a window of its own.
    single_ops: bool,
    /// The longest loop that can be prepared at once, if a longer one could not.
    pub(super) max_loop: Option<u64>,
}

impl ExperimentPlan {
    /// The number of its workers.
    pub(super) fn workers(&self) -> u64 {
        u64::from(self.experiments) * u64::from(self.parts)
    }

    /// The round of a worker, by its number from 0: the first parts of all experiments come first.
    pub(super) fn round_of(&self, worker: u64) -> u32 {
        (u128::from(worker) * u128::from(self.rounds) / u128::from(self.workers().max(1))) as u32
    }

    /// The experiment of a worker.
    pub(super) fn experiment_of(&self, worker: u64) -> u32 {
        (worker % u64::from(self.experiments.max(1))) as u32
    }

    /// The iterations of a worker: as many as of any other, or one more.
    pub(super) fn iterations_of(&self, worker: u64) -> u64 {
        let part = worker / u64::from(self.experiments.max(1));
        let until = |part: u64| {
            u128::from(self.iterations) * u128::from(part) / u128::from(self.parts.max(1))
        };
        (until(part + 1) - until(part)) as u64
    }

    /// What a worker with so many iterations does.
    pub(super) fn part(&self, pilot: &BatchPlan, cost: IterationCost, iterations: u64) -> PartPlan {
        let timed_ns = iterations as f64 * window_ns(pilot, cost, self.single_ops);
        let max_samples = (MAX_SAMPLES / self.workers().max(1)).max(1);
        let groups = |windows: u64| (windows / MIN_WINDOWS_PER_SAMPLE).clamp(1, max_samples) as u32;
        if self.single_ops {
            let plan = single_op_plan(pilot, groups(iterations), cost);
            return PartPlan { plan, windows: Some(iterations), iterations, timed_ns };
        }
        let Some(max_loop) = self.max_loop.filter(|&max| iterations > max) else {
            let plan = loop_plan(pilot, iterations, 1, cost);
            return PartPlan { plan, windows: None, iterations, timed_ns };
        };
        let windows = iterations.div_ceil(max_loop.max(1));
        let of_window = iterations.div_ceil(windows);
        let plan = loop_plan(pilot, of_window, groups(windows), cost);
        PartPlan { plan, windows: Some(windows), iterations: windows * of_window, timed_ns }
    }
}

/// One op per window.
fn single_op_plan(pilot: &BatchPlan, groups: u32, cost: IterationCost) -> BatchPlan {
    let mode = match pilot.mode {
        own if own.is_single_shot() => own,
        // Batches of one iteration: for ops below 50 ns the kernel is never entered, as in a
        // study that reads a counter.
        _ => Mode::B,
    };
    let batch_ns = match mode {
        Mode::C | Mode::F => cost.window_ns,
        _ => cost.ns,
    };
    BatchPlan { mode, iterations: 1, unroll_factors: vec![1], groups, batch_ns, ..pilot.clone() }
}

/// All ops in one window, timed as a single shot: with exactly this many iterations, which vary
/// from batch to batch in other modes.
fn loop_plan(pilot: &BatchPlan, iterations: u64, groups: u32, cost: IterationCost) -> BatchPlan {
    BatchPlan {
        mode: Mode::S,
        iterations,
        unroll_factors: vec![1],
        groups,
        batch_ns: iterations as f64 * cost.ns,
        ..pilot.clone()
    }
}

/// The time of an iteration, with what is around its window.
fn window_ns(pilot: &BatchPlan, cost: IterationCost, single_ops: bool) -> f64 {
    match (pilot.mode, single_ops) {
        (Mode::C | Mode::F, _) => cost.window_ns,
        (_, true) => cost.ns + CONSECUTIVE_OVERHEAD_NS,
        (_, false) => cost.ns,
    }
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

/// A row with its study method, as its pilot found it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MethodCost<'a> {
    pub(super) study_method: StudyMethod,
    pub(super) pilot: &'a BatchPlan,
    pub(super) cost: IterationCost,
    /// An iteration with all that is around it, if a worker was timed to find it.
    pub(super) rehearsed_ns: Option<f64>,
    pub(super) limits: Limits,
}

impl MethodCost<'_> {
    fn single_ops(&self) -> bool {
        self.study_method.timed == TimingScope::Each || times_single_ops(self.pilot)
    }

    /// The most iterations of an experiment: those of the study. With fewer ops than rounds, each
    /// round repeats one, or of long ops each round that a verdict needs.
    fn max_iterations(&self, experiments: u32) -> u64 {
        let of_study = self.study_method.iterations.div_ceil(self.cost.ops.max(1)).max(1);
        let repeated_ns = f64::from(self.limits.rounds) * self.iteration_ns();
        let rounds = match repeated_ns <= SHARE_OF_REPEATED_OP * self.limits.row_ns {
            true => self.limits.rounds,
            false => self.limits.min_rounds,
        };
        of_study.max(rounds.div_ceil(experiments).into())
    }

    fn experiments(&self) -> u32 {
        self.study_method.experiments.max(1)
    }

    /// A plan with so many iterations and experiments.
    fn plan(&self, iterations: u64, experiments: u32) -> ExperimentPlan {
        let rounds = self.limits.rounds;
        let parts = u64::from(rounds.div_ceil(experiments)).min(iterations).max(1) as u32;
        ExperimentPlan {
            experiments,
            iterations,
            parts,
            rounds,
            single_ops: self.single_ops(),
            max_loop: None,
        }
    }

    /// The time that a plan takes.
    fn plan_ns(&self, plan: &ExperimentPlan) -> f64 {
        let window_ns = self.iteration_ns();
        let timed_ns = plan.iterations as f64 * f64::from(plan.experiments) * window_ns;
        let of_worker = plan.iterations as f64 / f64::from(plan.parts);
        let warm_up_ns = match (self.pilot.mode, plan.single_ops) {
            _ if self.rehearsed_ns.is_some() => 0.0,
            (Mode::C, _) => 0.0,
            (Mode::F, _) => window_ns,
            (_, true) => WARM_UP_OPS * (self.cost.ns + WINDOW_OVERHEAD_NS),
            // The loop is done once before it is timed.
            (_, false) => of_worker * window_ns,
        };
        let worker_ns = WORKER_START_NS + warm_up_ns.max(MIN_WARM_UP_NS);
        timed_ns + plan.workers() as f64 * worker_ns
    }

    /// The time of an iteration, with what is around its window.
    pub(super) fn iteration_ns(&self) -> f64 {
        let expected_ns = window_ns(self.pilot, self.cost, self.single_ops());
        self.rehearsed_ns.map_or(expected_ns, |rehearsed_ns| rehearsed_ns.max(expected_ns))
    }

    /// The iterations of a worker that shows what they cost with all that is around them: an op may
    /// be prepared or verified, or leave a child to wait for. `None` if all ops of the study fit
    /// with room to spare, or if the workers of the row have shown it already.
    pub(super) fn rehearsal(&self) -> Option<u64> {
        let has_room = SPARE_FACTOR * self.whole_ns() < self.limits.row_ns;
        let iteration_ns = self.iteration_ns();
        let is_known = matches!(self.pilot.mode, Mode::C | Mode::F);
        if has_room || is_known || iteration_ns > MAX_REHEARSED_OP_NS {
            return None;
        }
        let whole = self.max_iterations(self.experiments());
        Some(((REHEARSAL_NS / iteration_ns.max(1.0)) as u64).clamp(1, whole))
    }

    /// The time of all ops of the study.
    pub(super) fn whole_ns(&self) -> f64 {
        let experiments = self.experiments();
        self.plan_ns(&self.plan(self.max_iterations(experiments), experiments))
    }

    /// As many ops as fit into `limit_ns`: fewer ops first, then fewer experiments, then fewer ops
    /// again. `None` if even one op takes far too long.
    pub(super) fn fit(&self, limit_ns: f64) -> Option<ExperimentPlan> {
        let fits = |iterations: u64, experiments: u32| {
            self.plan_ns(&self.plan(iterations, experiments)) <= limit_ns
        };
        let max_experiments = self.experiments();
        let min_iterations = |experiments: u32| {
            (MIN_ITERATIONS / self.cost.ops).max(1).min(self.max_iterations(experiments))
        };
        let min_experiments = MIN_EXPERIMENTS.min(max_experiments);
        let fit = largest_fitting(
            u64::from(min_experiments),
            u64::from(max_experiments),
            |experiments| fits(min_iterations(experiments as u32), experiments as u32),
        );
        let experiments = fit.map_or(min_experiments, |fit| fit as u32);
        let fit = largest_fitting(1, self.max_iterations(experiments), |iterations| {
            fits(iterations, experiments)
        });
        if fit.is_none() && self.plan_ns(&self.plan(1, experiments)) > MAX_SLOWDOWN * limit_ns {
            return None;
        }
        Some(self.plan(fit.unwrap_or(1), experiments))
    }
}

#[cfg(test)]
mod tests;
