//! The stopping rule of a row.

use oscost_model::clock::Calibration;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::journal::PlannedRow;
use oscost_model::worker::{BatchPlan, Mode, Sample};

use crate::estimate::{SampleContext, WorkerValue, estimate, worker_value};
use oscost_stats::interval::Nominal;
use oscost_stats::stopping::{
    AdaptiveStopping, Decision, Goal, Look, QUICK_REPETITIONS, THOROUGH_FIRST_PHASE,
    thorough_repetitions,
};

/// A row with this many repetitions ends whatever its interval: it has then taken about half a
/// second.
const MAX_REPETITIONS: usize = 80;
/// A row whose workers take long ends after this much timed work ...
const MAX_TIMED_NS: f64 = 1e9;
/// ... but not before its second check.
const MIN_REPETITIONS: usize = 15;
/// The maximum in a thorough run.
pub(super) const MAX_THOROUGH_REPETITIONS: usize = 200;
/// The precision goal of a cold row is wider by this factor: the cache state after an eviction
/// differs between shots and workers, and an interval of 2 % would take hundreds of workers.
const COLD_GOAL_FACTOR: f64 = 5.0;
/// Workers whose batches were disturbed are repeated, up to this many times the number of wanted
/// repetitions.
const MAX_ATTEMPTS_PER_REPETITION: usize = 2;

/// The profile of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile {
    /// Six repetitions.
    Quick,
    /// As many as the precision goal needs.
    Default {
        /// The half-width of the interval aimed at.
        precision_pct: f64,
    },
    /// A first phase that determines the number of repetitions, then that many new ones.
    Thorough {
        /// The half-width of the interval aimed at.
        precision_pct: f64,
    },
}

impl Profile {
    /// The profile's name in the record.
    pub fn text(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Default { .. } => "default",
            Profile::Thorough { .. } => "thorough",
        }
    }

    /// The precision goal: half-width in per cent.
    pub fn precision_pct(self) -> Option<f64> {
        match self {
            Profile::Quick => None,
            Profile::Default { precision_pct } | Profile::Thorough { precision_pct } => {
                Some(precision_pct)
            }
        }
    }

    /// The level of the intervals: repeated checks need a wider interval.
    pub fn nominal(self) -> Nominal {
        match self {
            Profile::Default { .. } if is_injected(InjectedFault::PeekAndStop) => Nominal::FIXED,
            Profile::Default { .. } => Nominal::ADAPTIVE,
            Profile::Quick | Profile::Thorough { .. } => Nominal::FIXED,
        }
    }

    /// The goal of a row that is timed in `mode`.
    fn goal(self, mode: Option<Mode>) -> Goal {
        let factor = if mode == Some(Mode::C) { COLD_GOAL_FACTOR } else { 1.0 };
        let max_repetitions = match self {
            Profile::Quick => QUICK_REPETITIONS,
            Profile::Default { .. } => MAX_REPETITIONS,
            Profile::Thorough { .. } => MAX_THOROUGH_REPETITIONS,
        };
        // Without a goal no width is narrow enough to stop early.
        let relative_half_width = self.precision_pct().map_or(0.0, |pct| factor * pct / 100.0);
        Goal { relative_half_width, max_repetitions }
    }
}

/// The progress of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It may get another worker in the next round.
    Continue,
    /// Too many of its workers were disturbed.
    Unmeasurable {
        /// Why.
        reason: String,
    },
}

/// The repetitions of one row so far, and its stopping rule.
pub(crate) struct RowProgress {
    profile: Profile,
    plan: Option<BatchPlan>,
    values: Vec<WorkerValue>,
    attempts: usize,
    target_repetitions: usize,
    stopping: AdaptiveStopping,
    settled: bool,
}

impl RowProgress {
    pub(crate) fn new(profile: Profile) -> Self {
        let stopping = AdaptiveStopping::new(profile.goal(None));
        let target_repetitions = match profile {
            Profile::Quick => QUICK_REPETITIONS,
            Profile::Default { .. } => stopping.first_look(),
            Profile::Thorough { .. } => THOROUGH_FIRST_PHASE,
        };
        let values = Vec::new();
        Self {
            profile,
            plan: None,
            values,
            attempts: 0,
            target_repetitions,
            stopping,
            settled: false,
        }
    }

    pub(crate) fn set_plan(&mut self, plan: &BatchPlan) {
        self.stopping = AdaptiveStopping::new(self.profile.goal(Some(plan.mode)));
        if let Profile::Default { .. } = self.profile {
            let worker_ns = plan.batch_ns * f64::from(plan.groups);
            let fit = (MAX_TIMED_NS / worker_ns.max(1.0)) as usize;
            let max_repetitions = fit.clamp(MIN_REPETITIONS, MAX_REPETITIONS);
            self.stopping = AdaptiveStopping::new(Goal {
                max_repetitions,
                ..self.profile.goal(Some(plan.mode))
            });
        }
        self.plan = Some(plan.clone());
    }

    fn goal(&self) -> Goal {
        self.profile.goal(self.plan.as_ref().map(|plan| plan.mode))
    }

    pub(crate) fn plan(&self) -> Option<&BatchPlan> {
        self.plan.as_ref()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Half the width of the interval as a fraction of the estimate, now.
    fn width(&self) -> Option<f64> {
        let plan = self.plan.as_ref()?;
        estimate(&self.values, plan, self.profile.nominal())?.relative_half_width
    }

    /// The distance from the precision goal: 2 means an interval twice as wide as wanted.
    pub(super) fn goal_distance(&self) -> f64 {
        let goal = self.goal().relative_half_width;
        self.width().map_or(f64::INFINITY, |width| width / goal.max(f64::MIN_POSITIVE))
    }

    /// Whether the precision goal is reached; a run without a goal only needs its repetitions.
    pub(crate) fn has_converged(&self) -> bool {
        let is_narrow =
            || self.width().is_some_and(|width| width <= self.goal().relative_half_width);
        match self.profile {
            Profile::Quick => self.values() >= QUICK_REPETITIONS,
            // One narrow interval is often luck: a row that was cut short has not converged.
            Profile::Default { .. } => self.settled && is_narrow(),
            Profile::Thorough { .. } => is_narrow(),
        }
    }

    /// The figure so far, and half its interval as a fraction of it.
    pub(crate) fn figure(&self) -> Option<(f64, Option<f64>)> {
        let plan = self.plan.as_ref()?;
        let found = estimate(&self.values, plan, self.profile.nominal())?;
        Some((found.estimate.median, found.relative_half_width))
    }

    /// How many workers it may still get in the present rounds, if as many of them are disturbed as
    /// so far.
    pub(super) fn repetitions_left(&self) -> usize {
        let most = match self.profile {
            Profile::Default { .. } => self.stopping.max_repetitions(),
            Profile::Quick | Profile::Thorough { .. } => self.target_repetitions,
        };
        let values = self.values();
        let left = most.saturating_sub(values);
        match values {
            0 => left,
            values => (left * self.attempts.max(values)).div_ceil(values),
        }
    }

    fn values(&self) -> usize {
        self.values.iter().filter(|value| value.value.is_some()).count()
    }

    /// Whether it has fewer repetitions than these, and may still get them.
    pub(super) fn lacks(&self, repetitions: usize) -> bool {
        self.plan.is_some()
            && self.values() < repetitions
            && self.attempts < MAX_ATTEMPTS_PER_REPETITION * repetitions
    }

    /// Adds the samples of a worker, and checks whether the row is settled.
    pub(super) fn add_worker(
        &mut self,
        samples: &[Sample],
        clock: &Calibration,
        row: &PlannedRow,
    ) -> Progress {
        let Some(plan) = &self.plan else { return Progress::Continue };
        self.attempts += 1;
        let context = SampleContext::new(&row.definition, plan, clock);
        let context = SampleContext { switches: row.monitored || context.switches, ..context };
        self.values.push(worker_value(samples, 0, context));
        if self.settled {
            return Progress::Continue; // A reference case is measured until the end of the run.
        }
        let values = self.values();
        if values < self.target_repetitions
            && self.attempts < MAX_ATTEMPTS_PER_REPETITION * self.target_repetitions
        {
            return Progress::Continue;
        }
        if values < self.target_repetitions {
            // The undisturbed ones are those whose disturbance was most likely missed.
            let reason = format!(
                "only {values} of {} workers had enough undisturbed batches",
                self.attempts
            );
            return Progress::Unmeasurable { reason };
        }
        match self.profile {
            Profile::Quick | Profile::Thorough { .. } => self.settled = true,
            Profile::Default { .. } => {
                let look = Look { repetitions: values, relative_half_width: self.width() };
                let goal = self.goal().relative_half_width;
                if is_injected(InjectedFault::PeekAndStop)
                    && self.width().is_some_and(|width| width <= goal)
                {
                    self.settled = true;
                }
                match self.stopping.look(look) {
                    Decision::Continue { until } => self.target_repetitions = until,
                    Decision::Stop { .. } => self.settled = true,
                }
            }
        }
        Progress::Continue
    }

    /// Begins the second phase of a thorough run, whose number of repetitions follows from the
    /// width found in the first; none are reused.
    pub(super) fn restart(&mut self) {
        let look = Look { repetitions: self.values(), relative_half_width: self.width() };
        self.target_repetitions = thorough_repetitions(look, self.goal());
        self.values.clear();
        self.attempts = 0;
        self.settled = false;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    const MEASURED: WorkerValue = WorkerValue {
        value: Some(1.0),
        value_all: Some(1.0),
        raw: Some(1.0),
        clock_ns: None,
        sd: None,
        batches: 21,
        rejected: BTreeMap::new(),
        samples: 21,
        ops_per_sample: 1,
        segments: Vec::new(),
        first_and_last_third: None,
        clean: Vec::new(),
    };

    #[test]
    fn a_row_lacks_repetitions_once_it_has_a_plan_and_until_it_has_them() {
        let mut progress = RowProgress::new(Profile::Default { precision_pct: 2.0 });
        assert!(!progress.lacks(6), "without a plan no worker can be started");
        progress.set_plan(&pilot(Mode::B, 100));
        assert!(progress.lacks(6));
        progress.values = vec![MEASURED; 6];
        assert!(!progress.lacks(6) && progress.lacks(7));
        progress.values.clear();
        progress.attempts = 12;
        assert!(!progress.lacks(6), "twelve were disturbed");
    }
}
