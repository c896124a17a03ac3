//! Things measured side by side: fork twins, toggled workers, pairs of workers; and a control.
//!
//! What stands still in a pair is all but what is compared: the CPU, the minute, the number of ops
//! in a batch. Pairs of a row lie in different rounds, and rounds are spread over more than a
//! minute: what is compared is measured again when the machine has become another.

mod alternation;
mod orders;
mod plan;

use std::time::{Duration, Instant};

use oscost_model::journal::{Design, Entry, Pairing, Phase, WorkerOutcome};
use oscost_model::record::RowOutcome;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment};
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};

use self::plan::shared_plan;
use super::workers::{JobFailure, Measurement};
use super::{Run, RunError, TrialBudget};
use crate::plan::ComparisonSet;

/// The first pair and the last one lie at least so far apart where the time allows it: what wanders
/// on a shared machine does so over seconds.
pub(super) const MIN_PAIR_SPAN: Duration = Duration::from_secs(62);

/// Two arms of a control.
const CONTROL_ARMS: u8 = 2;

/// What is to be measured side by side.
#[derive(Clone, Debug)]
pub struct ComparisonPlan {
    /// The workers of a round: which rows they are of, and how those are interleaved.
    pub sets: Vec<ComparisonSet>,
    /// How many pairs.
    pub pairs: PairCount,
    /// Whether a base is measured by itself where nothing can be measured beside it: not for a
    /// comparison, but for who wants to know what it costs.
    pub measure_lone_bases: bool,
}

/// How many pairs a row gets. It hangs on the time that a round takes, never on what was measured:
/// whoever looks and stops when he is pleased finds something in nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCount {
    /// At least so many, whatever time that takes.
    pub min: u32,
    /// At most so many.
    pub max: u32,
    /// Whether they are spread over a minute.
    pub spread: bool,
    /// The time that the rounds are to fit into, beyond the least.
    pub time_budget: Duration,
}

impl PairCount {
    /// The number of rounds, when the first one took this long.
    fn rounds(self, first: Duration) -> u32 {
        let fit = self.time_budget.as_secs_f64() / first.as_secs_f64().max(1e-3);
        (fit as u32).clamp(self.min, self.max.max(self.min))
    }
}

impl ComparisonPlan {
    /// The pairs of rows, as the journal names them.
    fn pairings(&self) -> Vec<Pairing> {
        let of = |(number, set): (usize, &ComparisonSet)| {
            let (base, design, set_number) = (set.base as u32, set.design, number as u32);
            let one =
                move |&new: &usize| Pairing { base, new: new as u32, design, set: set_number };
            set.news.iter().map(one).collect::<Vec<_>>()
        };
        self.sets.iter().enumerate().flat_map(of).collect()
    }
}

/// A set with the plan that all its arms share.
#[derive(Clone)]
struct PlannedSet {
    number: u32,
    set: ComparisonSet,
    plan: BatchPlan,
}

impl Run<'_> {
    /// Measures what is compared, with the reference cases before and after.
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

    /// Pilots and counts of every row, those of a place at which something is attached together.
    fn pilot_targets(&mut self) -> Result<(), RunError> {
        let mut targets: Vec<Vec<AttachedTreatment>> = Vec::new();
        for row in &self.rows {
            if !targets.contains(&row.treated.attached) {
                targets.push(row.treated.attached.clone());
            }
        }
        // Where nothing is attached comes first: a base that cannot be measured spares the rest.
        targets.sort_by_key(Vec::len);
        for attached in targets {
            let of_target = |row: &usize| {
                self.rows[*row].treated.attached == attached && !self.is_program(*row)
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

    /// The plans that all arms of each set share; rows whose partner cannot be measured go without.
    fn shared_plans(&mut self, contest: &ComparisonPlan) -> Vec<PlannedSet> {
        let mut ready = Vec::new();
        for (number, set) in contest.sets.iter().enumerate() {
            if self.is_program(set.base) {
                continue; // It has trials, and nothing that a pilot could find.
            }
            let mut set = set.clone();
            let Some(base) = self.rows[set.base].progress.plan().cloned() else {
                for &row in &set.news {
                    if !self.rows[row].given_up {
                        let reason = "what it is compared with could not be measured".to_owned();
                        let outcome = RowOutcome::Skipped;
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

    /// Round after round, each with one pair of every set and one of each control.
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
                // The first pair of each row lies before this, the last one behind the end.
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

    /// Whether any of a set's rows still can be measured beside its base, or that is alone.
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
        // Over the rounds the control rotates over the rows.
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

    /// The arms of a set as fork twins in one worker.
    fn measure_twins(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let rows: Vec<usize> = std::iter::once(ready.set.base)
            .chain(ready.set.news.iter().copied())
            .filter(|&row| !self.rows[row].given_up)
            .collect();
        let applied = rows.iter().map(|&row| self.rows[row].treated.applied.clone()).collect();
        let spec = self.spec_of_arms(ready, rows.len() as u8);
        let spec = WorkerSpec { treatments: applied, ..spec };
        match self
            .with_attached(ready.set.base, Measurement::ops, |run| run.measured(spec, ready))?
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
                    // Alone, the base could be measured: whoever is treated is the likelier cause.
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

    /// Whether something is applied on either side of a set that a forked process takes upon itself.
    fn needs_fork(&self, set: &ComparisonSet) -> bool {
        let mut rows = std::iter::once(set.base).chain(set.news.iter().copied());
        rows.any(|row| self.rows[row].treated.applied.iter().any(AppliedTreatment::supports_twins))
    }

    /// Two workers one after the other, in random order.
    fn measure_pair(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let mut order = vec![ready.set.base];
        order.extend(&ready.set.news);
        self.order.shuffle(&mut order);
        let forked = self.needs_fork(&ready.set);
        // The same numbers of ops, and the same layout: what differs is the place alone.
        let seed = self.order.worker_seed();
        for row in order {
            let task = Task::Measure(ready.plan.clone());
            let spec = WorkerSpec { seed, forked, ..self.worker_spec(row, task) };
            match self.with_attached(row, Measurement::ops, |run| run.measured(spec, ready))? {
                Ok(brought) => self.emit_samples(row, ready, round, brought),
                Err(ended) => self.emit_lost(row, ready, round, ended),
            }
        }
        Ok(())
    }

    /// Measures with what is attached at a row's place attached; `ops` tells how many ops of what it
    /// brings were timed, whose calls are known.
    pub(super) fn with_attached<T>(
        &mut self,
        row: usize,
        ops: fn(&T) -> u64,
        does: impl FnOnce(&mut Self) -> Result<Result<T, JobFailure>, RunError>,
    ) -> Result<Result<T, JobFailure>, RunError> {
        let attached = self.rows[row].treated.attached.clone();
        match self.attach(&attached)? {
            Ok(job) => {
                let done = does(self)?;
                let said = self.detach(job)?;
                if let Some(why) = self.workers.early_detachment.take() {
                    return Ok(Err(why));
                }
                Ok(done.and_then(|brought| {
                    self.verify_timed_rows(&[(row, ops(&brought))], &[said])?;
                    Ok(brought)
                }))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// A pair of arms in which nothing differs, of the row whose turn it is.
    fn control(&mut self, ready: &PlannedSet, round: u32) -> Result<(), RunError> {
        let (row, design) = (ready.set.base, ready.set.design);
        if self.rows[row].given_up {
            return Ok(());
        }
        let samples = match design {
            Design::Twins => {
                let base = self.rows[row].treated.applied.clone();
                let spec = self.spec_of_arms(ready, CONTROL_ARMS);
                let spec = WorkerSpec { treatments: vec![base.clone(), base], ..spec };
                let brought =
                    self.with_attached(row, Measurement::ops, |run| run.measured(spec, ready))?;
                brought.map(|brought| brought.samples)
            }
            Design::Pairs => self.control_by_pairs(ready)?,
            Design::Toggle => self.control_by_toggling(ready, round)?,
            // Nothing drifts from boot to boot that a control could show.
            Design::Boots => return Ok(()),
        };
        // A control that is lost is one fewer.
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
        // Which of the two is called the new one is random, as it is where something differs.
        let mut arms = [0u8, 1];
        self.order.shuffle(&mut arms);
        let seed = self.order.worker_seed();
        for arm in arms {
            let spec = self.worker_spec(ready.set.base, Task::Measure(ready.plan.clone()));
            let spec = WorkerSpec { seed, forked: self.needs_fork(&ready.set), ..spec };
            match self
                .with_attached(ready.set.base, Measurement::ops, |run| run.measured(spec, ready))?
            {
                Ok(brought) => samples
                    .extend(brought.samples.into_iter().map(|sample| Sample { arm, ..sample })),
                Err(ended) => return Ok(Err(ended)),
            }
        }
        Ok(Ok(samples))
    }

    /// A worker with several arms of a set.
    fn spec_of_arms(&mut self, ready: &PlannedSet, arms: u8) -> WorkerSpec {
        let spec = self.worker_spec(ready.set.base, Task::Measure(ready.plan.clone()));
        let timeout_ms = u64::from(arms) * spec.timeout_ms;
        WorkerSpec { arms, timeout_ms, ..spec }
    }

    fn measured(
        &mut self,
        spec: WorkerSpec,
        ready: &PlannedSet,
    ) -> Result<Result<Measurement, JobFailure>, RunError> {
        let other = self.rows[ready.set.base].peer_location();
        Ok(self.workers.measure(spec, other)?)
    }

    /// Does something to the whole system; `Ok(None)` where there is nothing to do.
    pub(super) fn attach(
        &mut self,
        attached: &[AttachedTreatment],
    ) -> Result<Result<Option<u64>, JobFailure>, RunError> {
        if attached.is_empty() {
            return Ok(Ok(None));
        }
        let (cpu, other_cpu) = (self.cpu, self.peer_cpu);
        let attached = attached.to_vec();
        Ok(self.workers.attach(attached, cpu, other_cpu)?.map(Some))
    }

    /// One side of a pair came back.
    fn emit_samples(&mut self, row: usize, ready: &PlannedSet, round: u32, brought: Measurement) {
        let ns = |sample: &Sample| {
            self.clock.as_ref().map_or(0.0, |clock| clock.ns(sample.ticks as f64))
        };
        // The account of a worker is of all its arms: what one of them lost is not known.
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
        self.emit_worker(row, ready, round, Measurement { disturbance, ..brought }.outcome());
    }

    /// One side of a pair is lost: the second time it is its own fault.
    fn emit_lost(&mut self, row: usize, ready: &PlannedSet, round: u32, ended: JobFailure) {
        let JobFailure { outcome, reason, .. } = ended.clone();
        self.emit_worker(row, ready, round, WorkerOutcome::Lost { outcome, reason });
        self.rows[row].lost_workers += 1;
        if ended.is_final || self.rows[row].lost_workers > super::MAX_LOST_WORKERS {
            self.give_up(row, ended);
        }
    }

    fn emit_worker(&mut self, row: usize, ready: &PlannedSet, round: u32, outcome: WorkerOutcome) {
        let (phase, at_s) = (Phase::Round(round), self.started_at.elapsed().as_secs_f64());
        self.emit(Entry::Worker { row: row as u32, phase, at_s, set: ready.number, outcome });
    }

    /// Waits, ready for a Ctrl-C.
    pub(super) fn sleep_until(&mut self, until: Instant) -> Result<(), RunError> {
        let until = self.deadline.map_or(until, |deadline| until.min(deadline));
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            self.workers.sleep(left)?;
        }
        Ok(())
    }
}
