//! Measurements side by side: fork twins, toggled workers, pairs of workers, and controls.
//!
//! A pair keeps everything fixed but what is compared: the CPU, the time, the number of ops in a
//! batch. The pairs of a row are in different rounds, which are spread over more than a minute,
//! since the state of the machine drifts.

mod alternation;
mod batch_plan;
mod orders;
mod plan;

pub(super) use plan::MIN_PAIR_SPAN;
pub use plan::{ComparisonPlan, PairCount};

use std::time::Instant;

use oscost_model::journal::{Design, Entry, Phase, WorkerOutcome};
use oscost_model::record::RowOutcome;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment};
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

use self::batch_plan::shared_plan;
use super::error::RunError;
use super::job::JobFailure;
use super::request::TrialBudget;
use super::state::Run;
use super::workers::Measurement;
use crate::plan::ComparisonSet;

/// A control has two arms.
const CONTROL_ARMS: u8 = 2;

/// A set with the batch plan that all its arms share.
#[derive(Clone)]
struct PlannedSet {
    number: u32,
    set: ComparisonSet,
    plan: BatchPlan,
}

impl Run<'_> {
    /// Measures a comparison, with the reference cases before and after.
    pub(super) fn measure_comparison(
        &mut self,
        contest: &ComparisonPlan,
        time: TrialBudget,
    ) -> Result<(), RunError> {
        self.emit(Entry::Paired { pairs: contest.pairings() });
        self.pilot_targets()?;
        let ready = self.shared_plans(contest);
        self.reference_cases(Phase::Before)?;
        self.pair_rounds(ready, contest.pairs)?;
        self.trials(Some(contest), time)?;
        for row in 0..self.rows.len() {
            if !self.rows[row].given_up {
                self.emit(Entry::RowFinished { row: row as u32, converged: true });
            }
        }
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
                    self.pilot(&rows)?;
                    self.count(&rows)?;
                    let said = self.detach(job)?;
                    self.verify_counted_rows(&rows, &said);
                }
                Err(why) => rows.into_iter().for_each(|row| self.give_up(row, why.clone())),
            }
        }
        Ok(())
    }

    /// The batch plan of each set; rows whose base cannot be measured are given up.
    fn shared_plans(&mut self, contest: &ComparisonPlan) -> Vec<PlannedSet> {
        let mut ready = Vec::new();
        for (number, set) in contest.sets.iter().enumerate() {
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
            if set.news.is_empty() && contest.measure_lone_bases {
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
            ready.push(PlannedSet { number: number as u32, set, plan });
        }
        ready
    }

    /// Runs rounds, each with one pair of every set and one of each control.
    fn pair_rounds(&mut self, mut sets: Vec<PlannedSet>, count: PairCount) -> Result<(), RunError> {
        if sets.is_empty() {
            return Ok(());
        }
        let mut begun = Instant::now();
        let mut rounds = count.min;
        let mut round = 0;
        while round < rounds && !(self.time_is_up() && round > 0) {
            let before = Instant::now();
            self.order.shuffle(&mut sets);
            self.pair_round(&sets, round)?;
            if round == 0 {
                rounds = count.rounds(before.elapsed());
                // The first pair of each row is before this, the last one after the end.
                begun = Instant::now();
            }
            round += 1;
            if count.spread && round < rounds {
                self.sleep_until(begun + MIN_PAIR_SPAN * round / (rounds - 1).max(1))?;
            }
            sets.retain(|ready| self.is_wanted(&ready.set));
        }
        self.pairs_missing = round < rounds;
        Ok(())
    }

    /// Whether a set still has rows to be measured with its base, or its base is measured alone.
    fn is_wanted(&self, set: &ComparisonSet) -> bool {
        let alive = |&row: &usize| !self.rows[row].given_up;
        alive(&set.base) && (set.news.is_empty() || set.news.iter().any(alive))
    }

    fn pair_round(&mut self, sets: &[PlannedSet], round: u32) -> Result<(), RunError> {
        let of = |design: Design| sets.iter().filter(move |ready| ready.set.design == design);
        for ready in of(Design::Twins) {
            if !(self.time_is_up() && round > 0) {
                self.measure_twins(ready, round)?;
            }
        }
        for ready in of(Design::Pairs) {
            if !(self.time_is_up() && round > 0) {
                self.measure_pair(ready, round)?;
            }
        }
        let toggled: Vec<&PlannedSet> = of(Design::Toggle).collect();
        for group in self.toggle_groups(&toggled) {
            if !(self.time_is_up() && round > 0) {
                self.measure_toggled(&group, round)?;
            }
        }
        // The control rotates over the rows from round to round.
        for design in [Design::Twins, Design::Pairs, Design::Toggle] {
            let mut all: Vec<&PlannedSet> =
                of(design).filter(|ready| !ready.set.news.is_empty()).collect();
            all.sort_by_key(|ready| ready.number);
            if let Some(&ready) = all.get(round as usize % all.len().max(1)) {
                self.control(ready, round)?;
            }
        }
        Ok(())
    }

    /// Measures the arms of a set as fork twins in one worker.
    fn measure_twins(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let rows: Vec<usize> = std::iter::once(ready.set.base)
            .chain(ready.set.news.iter().copied())
            .filter(|&row| !self.rows[row].given_up)
            .collect();
        let applied = rows.iter().map(|&row| self.rows[row].treatments.applied.clone()).collect();
        let spec = self.spec_of_arms(ready, rows.len() as u8);
        let spec = WorkerSpec { treatments: applied, ..spec };
        match self
            .with_attached(ready.set.base, Measurement::ops, |run| run.measure_arms(spec, ready))?
        {
            Ok(brought) => {
                for (arm, row) in rows.into_iter().enumerate() {
                    self.emit_samples(row, ready, round, brought.for_arm(arm as u8));
                }
            }
            Err(ended) => {
                let arm = ended.arm.and_then(|arm| rows.get(usize::from(arm)).copied());
                match arm {
                    Some(row) => self.emit_lost(row, ready, round, ended),
                    // The base could be measured alone: a treatment is the likelier cause.
                    None => {
                        for &row in &ready.set.news {
                            self.emit_lost(row, ready, round, ended.clone());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a treatment of a set is applied by a forked process.
    fn needs_fork(&self, set: &ComparisonSet) -> bool {
        let mut rows = std::iter::once(set.base).chain(set.news.iter().copied());
        rows.any(|row| {
            self.rows[row].treatments.applied.iter().any(AppliedTreatment::supports_twins)
        })
    }

    /// Measures two workers one after the other, in random order.
    fn measure_pair(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let mut order = vec![ready.set.base];
        order.extend(&ready.set.news);
        self.order.shuffle(&mut order);
        let forked = self.needs_fork(&ready.set);
        // The same numbers of ops, and the same layout: only the target differs.
        let seed = self.order.worker_seed();
        for row in order {
            let task = Task::Measure(ready.plan.clone());
            let spec = WorkerSpec { seed, forked, ..self.worker_spec(row, task) };
            match self.with_attached(row, Measurement::ops, |run| run.measure_arms(spec, ready))? {
                Ok(brought) => self.emit_samples(row, ready, round, brought),
                Err(ended) => self.emit_lost(row, ready, round, ended),
            }
        }
        Ok(())
    }

    /// Measures a control: a pair of arms that do not differ.
    fn control(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let (row, design) = (ready.set.base, ready.set.design);
        if self.rows[row].given_up {
            return Ok(());
        }
        let samples = match design {
            Design::Twins => {
                let base = self.rows[row].treatments.applied.clone();
                let spec = self.spec_of_arms(ready, CONTROL_ARMS);
                let spec = WorkerSpec { treatments: vec![base.clone(), base], ..spec };
                let brought =
                    self.with_attached(row, Measurement::ops, |run| run.measure_arms(spec, ready))?;
                brought.map(|brought| brought.samples)
            }
            Design::Pairs => self.control_by_pairs(ready)?,
            Design::Toggle => self.control_by_toggling(ready, round)?,
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

    fn control_by_pairs(
        &mut self,
        ready: &PlannedSet,
    ) -> Result<Result<Vec<Sample>, JobFailure>, RunError> {
        let mut samples = Vec::new();
        // Which of the two counts as the new one is random, as in a real pair.
        let mut arms = [0u8, 1];
        self.order.shuffle(&mut arms);
        let seed = self.order.worker_seed();
        for arm in arms {
            let spec = self.worker_spec(ready.set.base, Task::Measure(ready.plan.clone()));
            let spec = WorkerSpec { seed, forked: self.needs_fork(&ready.set), ..spec };
            match self.with_attached(ready.set.base, Measurement::ops, |run| {
                run.measure_arms(spec, ready)
            })? {
                Ok(brought) => samples
                    .extend(brought.samples.into_iter().map(|sample| Sample { arm, ..sample })),
                Err(ended) => return Ok(Err(ended)),
            }
        }
        Ok(Ok(samples))
    }

    /// The specification of a worker with several arms.
    fn spec_of_arms(&mut self, ready: &PlannedSet, arms: u8) -> WorkerSpec {
        let spec = self.worker_spec(ready.set.base, Task::Measure(ready.plan.clone()));
        let timeout_ms = u64::from(arms) * spec.timeout_ms;
        WorkerSpec { arms, timeout_ms, ..spec }
    }

    fn measure_arms(
        &mut self,
        spec: WorkerSpec,
        ready: &PlannedSet,
    ) -> Result<Result<Measurement, JobFailure>, RunError> {
        let other = self.rows[ready.set.base].peer_location();
        Ok(self.workers.measure(spec, other)?)
    }

    /// Emits the samples of one arm of a pair.
    fn emit_samples(&mut self, row: usize, ready: &PlannedSet, round: u32, brought: Measurement) {
        let ns = |sample: &Sample| {
            self.clock.as_ref().map_or(0.0, |clock| clock.ns(sample.ticks as f64))
        };
        // The accounting of a worker covers all its arms: the lost time of one arm is unknown.
        let disturbance = match ready.set.design {
            Design::Pairs | Design::Boots => brought.disturbance,
            Design::Twins | Design::Toggle => Disturbance {
                wall_ns: brought.samples.iter().map(ns).sum::<f64>() as u64,
                cpu_ns: 0,
                run_delay_ns: None,
                usage: None,
                ..brought.disturbance
            },
        };
        let outcome = Measurement { disturbance, ..brought }.outcome();
        self.emit_worker(row, Phase::Round(round), ready.number, outcome);
    }

    /// Emits that an arm of a pair is lost; at the second loss its row is given up.
    fn emit_lost(&mut self, row: usize, ready: &PlannedSet, round: u32, ended: JobFailure) {
        let JobFailure { outcome, reason, .. } = ended.clone();
        let lost = WorkerOutcome::Lost { outcome, reason };
        self.emit_worker(row, Phase::Round(round), ready.number, lost);
        self.count_lost_worker(row, ended);
    }

    /// Sleeps until that time, or until Ctrl-C.
    pub(super) fn sleep_until(&mut self, until: Instant) -> Result<(), RunError> {
        let until = self.deadline.map_or(until, |deadline| until.min(deadline));
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            self.workers.sleep(left)?;
        }
        Ok(())
    }
}
