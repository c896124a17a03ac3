//! The rounds of a comparison: pilots, shared batch plans, pairs and controls.

use std::time::{Duration, Instant};

use oscost_model::journal::{Design, Entry, Phase};
use oscost_model::record::RowOutcome;
use oscost_model::treatment::AttachedTreatment;
use oscost_model::worker::WorkerSpec;

use super::arms::SetWithPlan;
use super::batch_plan::shared_plan;
use super::plan::{CONTROL_ARMS, ComparisonPlan, MIN_PAIR_SPAN, PairCount, PlannedSet};
use crate::plan::ComparisonSet;
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::Measurement;
use crate::run::progress::{Pace, RunActivity, expected_worker};
use crate::run::request::TrialBudget;
use crate::run::state::Run;

/// How long a set is expected to take in a round; each of its arms takes its time.
fn expected_pair(planned: &SetWithPlan) -> Duration {
    (1 + planned.set.news.len() as u32) * expected_worker(&planned.plan)
}

impl Run<'_> {
    /// Measures a comparison, with the reference cases before and after.
    pub(in crate::run) fn measure_comparison(
        &mut self,
        comparison: &ComparisonPlan,
        time: TrialBudget,
    ) -> Result<(), RunError> {
        let looks = |set: &ComparisonSet| {
            let rows: Vec<usize> =
                std::iter::once(set.base).chain(set.news.iter().copied()).collect();
            self.looks(&rows)
        };
        let pairs = comparison.pairings(&looks);
        self.emit(Entry::Paired { pairs });
        self.pilot_targets()?;
        let planned = self.shared_plans(comparison);
        let planned = self.if_requested(comparison, planned);
        self.schedule.following = self.bound_of_trials();
        self.reference_cases(Phase::Before)?;
        self.limited_pair_rounds(planned, comparison.pairs)?;
        self.trials(Some(comparison), time)?;
        for row in 0..self.rows.len() {
            if !self.rows[row].given_up {
                self.emit(Entry::RowFinished { row: row as u32, converged: true });
            }
        }
        self.schedule.close(Instant::now());
        self.reference_cases(Phase::After)
    }

    /// Runs pilots and counts calls of every row, grouped by attached treatments.
    fn pilot_targets(&mut self) -> Result<(), RunError> {
        let mut targets: Vec<Vec<AttachedTreatment>> = Vec::new();
        for row in &self.rows {
            if !targets.contains(&row.treatments.attached) {
                targets.push(row.treatments.attached.clone());
            }
        }
        // Rows without attached treatments first: a base that cannot be measured spares the rest.
        targets.sort_by_key(Vec::len);
        for attached in targets {
            let of_target = |row: &usize| {
                self.rows[*row].treatments.attached == attached && !self.is_program(*row)
            };
            let rows: Vec<usize> = (0..self.rows.len()).filter(of_target).collect();
            match self.attach(&attached)? {
                Ok(job) => {
                    self.pilot(&rows, self.deadline)?;
                    self.count(&rows)?;
                    let report = self.detach(job)?;
                    self.verify_counted_rows(&rows, &report);
                }
                Err(failure) => rows.into_iter().for_each(|row| self.give_up(row, failure.clone())),
            }
        }
        // The first round of pairs is made in any case.
        self.give_up_counts(|row| row.progress.plan().is_some());
        Ok(())
    }

    /// The batch plan of each set; rows whose base cannot be measured are given up.
    fn shared_plans(&mut self, comparison: &ComparisonPlan) -> Vec<SetWithPlan> {
        let mut planned = Vec::new();
        for (number, set) in comparison.sets.iter().enumerate() {
            if self.is_program(set.base) {
                continue; // Programs have trials and no pilot.
            }
            let mut set = set.clone();
            let Some(base) = self.rows[set.base].progress.plan().cloned() else {
                for &row in &set.news {
                    if !self.rows[row].given_up {
                        let reason = "its base could not be measured";
                        self.give_up(row, JobFailure::new(RowOutcome::Skipped, reason));
                    }
                }
                continue;
            };
            set.news.retain(|&row| !self.rows[row].given_up);
            let plans = set.news.iter().filter_map(|&row| self.rows[row].progress.plan());
            if set.news.is_empty() && comparison.measure_lone_bases {
                set.design = Design::Pairs;
            } else if set.news.is_empty() {
                continue;
            }
            let Some(clock) = &self.clock else { continue };
            let plan = shared_plan(&base, plans, clock);
            for &row in &set.news {
                self.rows[row].progress.set_plan(&plan);
                self.emit(Entry::Piloted { row: row as u32, plan: plan.clone() });
            }
            planned.push(SetWithPlan { number: number as u32, set, plan });
        }
        planned
    }

    /// The planned sets; none if cases were asked for, and none of their rows can be compared. The
    /// others are reference cases: a minute of pairs of them would answer no question.
    fn if_requested(
        &mut self,
        comparison: &ComparisonPlan,
        planned: Vec<SetWithPlan>,
    ) -> Vec<SetWithPlan> {
        let mut of_cases = comparison.sets.iter().filter(|set| !self.is_program(set.base));
        if !of_cases.any(|set| self.is_requested(set))
            || planned.iter().any(|planned| self.is_requested(&planned.set))
        {
            return planned;
        }
        for row in planned.iter().flat_map(|planned| planned.set.news.iter().copied()) {
            let reason = "no row that was asked for could be compared";
            self.give_up(row, JobFailure::new(RowOutcome::Skipped, reason));
        }
        Vec::new()
    }

    /// Whether the rows of a set were asked for: all have the same case.
    fn is_requested(&self, set: &ComparisonSet) -> bool {
        self.rows[set.base].planned.requested
    }

    /// Runs the rounds within their time limit, if they have one.
    fn limited_pair_rounds(
        &mut self,
        sets: Vec<SetWithPlan>,
        count: PairCount,
    ) -> Result<(), RunError> {
        let planned = sets.iter().map(|SetWithPlan { set, plan, .. }| PlannedSet {
            design: set.design,
            arms: 1 + set.news.len() as u32,
            plan,
            counting: self.counted_events.as_ref().map(|it| it.of_arm(plan, count.min)),
        });
        let limit = count.time_limit(&planned.collect::<Vec<_>>());
        let deadline = self.deadline;
        let limit = limit.map(|limit| Instant::now() + limit);
        self.deadline = deadline.into_iter().chain(limit).min();
        let done = self.pair_rounds(sets, count);
        self.deadline = deadline;
        done
    }

    /// Runs rounds, each with one pair of every set and one of each control.
    fn pair_rounds(
        &mut self,
        mut sets: Vec<SetWithPlan>,
        count: PairCount,
    ) -> Result<(), RunError> {
        if sets.is_empty() {
            return Ok(());
        }
        let was_requested = sets.iter().any(|planned| self.is_requested(&planned.set));
        let mut started_at = Instant::now();
        let mut rounds = count.min;
        let mut round = 0;
        let mut pace = Pace::expected(sets.iter().map(expected_pair).sum());
        self.schedule.begin(RunActivity::Pairs, None);
        while round < rounds && !(self.time_is_up() && round > 0) {
            let round_start = Instant::now();
            self.schedule.done = round;
            self.schedule.all = (round > 0).then_some(rounds);
            self.schedule.ends_by = Some(match round {
                0 => self.end_of_all_pairs(count, pace),
                _ => self.end_of_pairs(count, pace, rounds - round, started_at),
            });
            self.order.shuffle(&mut sets);
            self.pair_round(&sets, round)?;
            pace.add(round_start.elapsed());
            if round == 0 {
                rounds = count.rounds(round_start.elapsed());
                // The first pair of each row is before this, the last one after the end.
                started_at = Instant::now();
            }
            round += 1;
            sets.retain(|planned| self.is_wanted(&planned.set));
            if was_requested && !sets.iter().any(|planned| self.is_requested(&planned.set)) {
                // Each of these rows says why it was given up: no pair is missing.
                rounds = round;
            }
            if count.spread && round < rounds {
                self.sleep_until(started_at + MIN_PAIR_SPAN * round / (rounds - 1).max(1))?;
            }
        }
        self.pairs_missing |= round < rounds;
        Ok(())
    }

    /// When all rounds end at the latest: their number follows from the time that the first one takes.
    fn end_of_all_pairs(&self, count: PairCount, pace: Pace) -> Instant {
        let first = pace.bound(1);
        let all = first + count.time_budget.max(pace.bound(count.min));
        let spread = if count.spread { MIN_PAIR_SPAN + 2 * first } else { Duration::ZERO };
        self.not_after_deadline(Instant::now() + all.max(spread), first)
    }

    /// When so many more rounds end at the latest. Spread ones do not begin before their time.
    fn end_of_pairs(
        &self,
        count: PairCount,
        pace: Pace,
        rounds: u32,
        started_at: Instant,
    ) -> Instant {
        let end = Instant::now() + pace.bound(rounds);
        let spread = if count.spread { MIN_PAIR_SPAN } else { Duration::ZERO };
        self.not_after_deadline(end.max(started_at + spread + pace.bound(1)), pace.bound(1))
    }

    /// An end, or that of the round in which the time is up.
    fn not_after_deadline(&self, end: Instant, round: Duration) -> Instant {
        self.deadline.map_or(end, |deadline| end.min(deadline + round))
    }

    /// Whether there is no time for a pair of this round. The first one is always made.
    fn skips_pair(&mut self, round: u32) -> bool {
        let is_skipped = self.time_is_up() && round > 0;
        self.pairs_missing |= is_skipped;
        is_skipped
    }

    /// Whether a set still has rows to be measured with its base, or its base is measured alone.
    fn is_wanted(&self, set: &ComparisonSet) -> bool {
        let alive = |&row: &usize| !self.rows[row].given_up;
        alive(&set.base) && (set.news.is_empty() || set.news.iter().any(alive))
    }

    fn pair_round(&mut self, sets: &[SetWithPlan], round: u32) -> Result<(), RunError> {
        let of = |design: Design| sets.iter().filter(move |planned| planned.set.design == design);
        for planned in of(Design::Twins) {
            if !self.skips_pair(round) {
                self.report(planned.set.base);
                self.measure_twins(planned, round)?;
                self.count_pair(planned, round)?;
            }
        }
        for planned in of(Design::Pairs) {
            if !self.skips_pair(round) {
                self.report(planned.set.base);
                self.measure_pair(planned, round)?;
                self.count_pair(planned, round)?;
            }
        }
        let toggled: Vec<&SetWithPlan> = of(Design::Toggle).collect();
        for group in self.toggle_groups(&toggled) {
            if !self.skips_pair(round) {
                self.report(group[0].set.base);
                self.measure_toggled(&group, round)?;
                for planned in &group {
                    self.count_pair(planned, round)?;
                }
            }
        }
        // The control rotates over the rows from round to round.
        for design in [Design::Twins, Design::Pairs, Design::Toggle] {
            let mut all: Vec<&SetWithPlan> =
                of(design).filter(|planned| !planned.set.news.is_empty()).collect();
            all.sort_by_key(|planned| planned.number);
            if let Some(&planned) = all.get(round as usize % all.len().max(1)) {
                self.control(planned, round)?;
            }
        }
        Ok(())
    }

    /// Counts events of all rows of a set, by a worker each.
    fn count_pair(&mut self, planned: &SetWithPlan, round: u32) -> Result<(), RunError> {
        let rows: Vec<usize> =
            std::iter::once(planned.set.base).chain(planned.set.news.iter().copied()).collect();
        self.count_events_of_pair(&rows, &planned.plan, round, planned.number)
    }

    /// Measures a control: a pair of arms that do not differ.
    fn control(&mut self, planned: &SetWithPlan, round: u32) -> Result<(), RunError> {
        let (row, design) = (planned.set.base, planned.set.design);
        if self.rows[row].given_up {
            return Ok(());
        }
        let samples = match design {
            Design::Twins => {
                let base = self.rows[row].treatments.applied.clone();
                let spec = self.spec_of_arms(planned, CONTROL_ARMS);
                let spec = WorkerSpec { treatments: vec![base.clone(), base], ..spec };
                let measurement = self
                    .with_attached(row, Measurement::ops, |run| run.measure_arms(spec, planned))?;
                measurement.map(|measurement| measurement.samples)
            }
            Design::Pairs => self.control_by_pairs(planned)?,
            Design::Toggle => self.control_by_toggling(planned, round)?,
            // Nothing drifts between boots that a control could show.
            Design::Boots => return Ok(()),
        };
        // A lost control is left out.
        if let Ok(samples) = samples {
            let (phase, at_s) = (Phase::Round(round), self.started_at.elapsed().as_secs_f64());
            self.emit(Entry::Control { row: row as u32, design, phase, at_s, samples });
        }
        Ok(())
    }
}
