//! How far a run is, and how long the rest takes at most: for the user who waits.
//!
//! A bound follows from the plan (a time limit, a number of rounds) and from the slowest round so
//! far, never from a mean. Nothing that is measured depends on it.

use std::time::{Duration, Instant};

use oscost_model::worker::BatchPlan;

/// Between two workers of a few milliseconds, most reports would not be seen.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// What starting and ending a worker takes, beside its batches.
const WORKER_OVERHEAD: Duration = Duration::from_millis(10);
/// The reference cases at the end of a run and its last calibration, before the first ones show how
/// long they take.
const CLOSING: Duration = Duration::from_secs(5);
/// A calibration, and what is written at the end.
const CALIBRATION: Duration = Duration::from_secs(2);

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProgress {
    /// What it does.
    pub activity: RunActivity,
    /// How much of that is done.
    pub done: u32,
    /// How much there is, if that is known.
    pub all: Option<u32>,
    /// The time since its start.
    pub elapsed: Duration,
    /// An upper bound of the time until its end; `None` while nothing bounds it.
    pub at_most: Option<Duration>,
    /// The row whose worker starts next.
    pub row: Option<u32>,
    /// The figure that settled last.
    pub settled: Option<SettledFigure>,
}

/// What a run does, and what is counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunActivity {
    /// Pilots, a row each.
    Pilots,
    /// Counting the calls of a row each.
    CallCounts,
    /// Rounds of reference cases.
    ReferenceCases,
    /// Rounds of workers; rows are counted.
    Rounds,
    /// Rounds of pairs.
    Pairs,
    /// Rounds by the method of a study.
    StudyMethods,
    /// Trials of programs.
    Trials,
    /// Workers whose instructions are counted.
    Counting,
}

/// The figure of a row that has enough repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettledFigure {
    /// The index of the row.
    pub row: u32,
    /// The figure.
    pub value: f64,
    /// Half its interval, as a fraction of it.
    pub relative_half_width: Option<f64>,
}

/// Rounds of about equal work: the slowest one so far bounds those to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rounds: u32,
    slowest: Duration,
    /// Whether the last round is taken for one in which the run was stopped.
    was_stopped: bool,
}

/// How long a worker with this plan is expected to take.
pub(super) fn expected_worker(plan: &BatchPlan) -> Duration {
    let batches = f64::from(plan.groups) * plan.unroll_factors.len().max(1) as f64;
    let batches_s = (batches * plan.batch_ns / 1e9).max(0.0);
    // Of a plan without sense, no time is known.
    Duration::try_from_secs_f64(batches_s).unwrap_or_default() + WORKER_OVERHEAD
}

impl Pace {
    /// A round may take so many times as long as expected.
    const MARGIN_OF_EXPECTATION: f64 = 3.0;
    /// In a round that takes longer than this, and so many times as long as the slowest one, the
    /// tool was stopped (Ctrl-Z), or its machine: a worker has a time limit of seconds.
    const SHORTEST_STOP: Duration = Duration::from_secs(600);
    const STOPPED_ROUNDS: u32 = 20;

    /// Before the first round.
    pub(super) fn expected(round: Duration) -> Self {
        Self { rounds: 0, slowest: round, was_stopped: false }
    }

    /// Adds a round that took this long. One in which the run was stopped for hours says nothing of
    /// those to come; but of two in succession the second one counts, since programs have no limit.
    pub(super) fn add(&mut self, took: Duration) {
        let is_stop = took > Self::SHORTEST_STOP
            && !self.slowest.is_zero()
            && took > Self::STOPPED_ROUNDS * self.slowest;
        self.was_stopped = is_stop && !self.was_stopped;
        if self.was_stopped {
            return;
        }
        self.slowest = if self.rounds == 0 { took } else { self.slowest.max(took) };
        self.rounds += 1;
    }

    /// A bound of the time of so many more rounds. The first few may all be fast by chance.
    pub(super) fn bound(self, rounds: u32) -> Duration {
        let margin = match self.rounds {
            0 => Self::MARGIN_OF_EXPECTATION,
            rounds => 1.0 + 1.0 / f64::from(rounds),
        };
        self.slowest.mul_f64(margin * f64::from(rounds))
    }
}

/// The stage of a run, and when it ends at the latest.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) activity: RunActivity,
    /// How much of it is done.
    pub(super) done: u32,
    /// How much there is, if that is known.
    pub(super) all: Option<u32>,
    /// Its end at the latest; `None` while nothing bounds it.
    pub(super) ends_by: Option<Instant>,
    /// A bound of the stages after this one, but the last.
    pub(super) following: Option<Duration>,
    /// A bound of the last stage.
    closing: Duration,
    /// The figure that settled last.
    pub(super) settled: Option<SettledFigure>,
    /// When this was last reported.
    pub(super) reported_at: Option<Instant>,
}

impl Schedule {
    /// Before the first stage.
    pub(super) fn new() -> Self {
        Self {
            activity: RunActivity::Pilots,
            done: 0,
            all: None,
            ends_by: None,
            following: Some(Duration::ZERO),
            closing: CLOSING,
            settled: None,
            reported_at: None,
        }
    }

    /// Takes into account how long the reference cases took the first time.
    pub(super) fn reference_cases_took(&mut self, took: Duration) {
        self.closing = 2 * took + CALIBRATION;
    }

    /// Begins a stage of so many parts; its end is as known before.
    pub(super) fn begin(&mut self, activity: RunActivity, all: Option<usize>) {
        self.activity = activity;
        self.done = 0;
        self.all = all.map(|all| all as u32);
        self.reported_at = None;
    }

    /// Begins the last stage.
    pub(super) fn close(&mut self, now: Instant) {
        self.ends_by = Some(now + self.closing);
        self.following = Some(Duration::ZERO);
        self.closing = Duration::ZERO;
    }

    /// A bound of the time from now to the end of the run.
    pub(super) fn at_most(&self, now: Instant) -> Option<Duration> {
        let stage = self.ends_by?.saturating_duration_since(now);
        Some(stage + self.following? + self.closing)
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::worker::Mode;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_slowest_round_bounds_the_others_the_closer_the_more_there_were() {
        let mut pace = Pace::expected(SECOND);
        assert_eq!(pace.bound(4), 12 * SECOND);
        pace.add(SECOND / 2);
        assert_eq!(pace.bound(4), 4 * SECOND, "one round may have been fast by chance");
        pace.add(2 * SECOND);
        pace.add(SECOND);
        pace.add(SECOND);
        assert_eq!(pace.bound(4), 10 * SECOND);
        assert_eq!(pace.bound(0), Duration::ZERO);
    }

    #[test]
    fn hours_in_which_the_run_was_stopped_do_not_bound_the_rounds_to_come() {
        const NIGHT: Duration = Duration::from_secs(8 * 3_600);
        let mut pace = Pace::expected(SECOND);
        pace.add(NIGHT);
        assert_eq!(pace.bound(4), 12 * SECOND, "the first round");
        pace.add(SECOND);
        pace.add(NIGHT);
        pace.add(2 * SECOND);
        assert_eq!(pace.bound(4), 12 * SECOND, "two rounds of up to 2 s");
        pace.add(60 * SECOND);
        assert_eq!(pace.bound(3), 4 * 60 * SECOND, "a slow round is none in which it was stopped");
        pace.add(NIGHT);
        pace.add(NIGHT);
        assert!(pace.bound(1) > NIGHT, "they are as slow as that");
        let mut unplanned = Pace::expected(Duration::ZERO);
        unplanned.add(NIGHT);
        assert_eq!(unplanned.bound(1), 2 * NIGHT, "nothing else is known");
    }

    #[test]
    fn the_time_that_is_left_is_never_less_than_nothing_after_a_stop() {
        let now = Instant::now();
        let mut schedule = Schedule::new();
        schedule.ends_by = Some(now + 60 * SECOND);
        let later = now + Duration::from_secs(8 * 3_600);
        assert_eq!(schedule.at_most(later), Some(CLOSING), "its end should have come");
        schedule.close(later);
        assert_eq!(schedule.at_most(later + 60 * SECOND), Some(Duration::ZERO));
    }

    /// How often, over many runs, less time than needed is announced before a round; the first round
    /// has only a plan.
    fn share_of_broken_bounds(spike: f64) -> f64 {
        let (mut broken, mut all) = (0u32, 0u32);
        for seed in 0..400 {
            let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut uniform = move || (draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let rounds = [6, 10, 15, 30, 80][seed as usize % 5];
            let took: Vec<Duration> = (0..rounds)
                .map(|_| {
                    let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    let spike = if uniform() < 0.05 { spike } else { 1.0 };
                    SECOND.mul_f64(spike * (0.1 * normal).exp())
                })
                .collect();
            let mut pace = Pace::expected(SECOND);
            for round in 0..rounds {
                let needed: Duration = took[round..].iter().sum();
                broken += u32::from(pace.bound((rounds - round) as u32) < needed);
                all += 1;
                pace.add(took[round]);
            }
        }
        f64::from(broken) / f64::from(all)
    }

    #[test]
    fn less_time_than_needed_is_announced_in_at_most_two_of_a_hundred_moments() {
        let (steady, spiky) = (share_of_broken_bounds(1.0), share_of_broken_bounds(2.5));
        assert!(steady < 0.002 && spiky < 0.02, "{steady} {spiky}");
    }

    #[test]
    fn a_run_is_bounded_if_all_of_its_stages_are() {
        let now = Instant::now();
        let mut schedule = Schedule::new();
        assert_eq!(schedule.at_most(now), None);
        schedule.ends_by = Some(now + 60 * SECOND);
        assert_eq!(schedule.at_most(now), Some(60 * SECOND + CLOSING));
        schedule.reference_cases_took(SECOND);
        schedule.following = Some(10 * SECOND);
        assert_eq!(schedule.at_most(now + 20 * SECOND), Some((40 + 10 + 2) * SECOND + CALIBRATION));
        assert_eq!(schedule.at_most(now + 70 * SECOND), Some((10 + 2) * SECOND + CALIBRATION));
        schedule.following = None;
        assert_eq!(schedule.at_most(now), None);
        schedule.close(now);
        assert_eq!(schedule.at_most(now), Some(2 * SECOND + CALIBRATION));
    }

    #[test]
    fn a_worker_is_expected_to_take_what_its_batches_take() {
        let plan = BatchPlan { batch_ns: 1e9, groups: 5, ..pilot(Mode::S, 1) };
        let factors = plan.unroll_factors.len() as u32;
        assert_eq!(expected_worker(&plan), 5 * factors * SECOND + WORKER_OVERHEAD);
        let endless = BatchPlan { batch_ns: f64::INFINITY, ..plan };
        assert_eq!(expected_worker(&endless), WORKER_OVERHEAD);
    }
}
