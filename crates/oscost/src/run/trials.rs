//! Programs as subjects: one warm-up each, then trials. In a comparison the trials of all targets
//! follow each other in random order, in each round.

mod warm_up;

use std::time::{Duration, Instant};

use oscost_model::counters::TreeCounts;
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::parameter::ParameterValues;
use oscost_model::program::{ProgramResult, Trial};
use oscost_model::record::RowOutcome;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::comparison::{ComparisonPlan, MIN_PAIR_SPAN};
use super::error::RunError;
use super::jobs::job::JobFailure;
use super::progress::{Pace, RunActivity};
use super::request::TrialBudget;
use super::state::Run;
use crate::workloads;

/// The time for cleaning up after a trial, beyond the program's own limit.
const CLEANUP_GRACE: Duration = Duration::from_secs(20);

/// The most trials of a command that have a worker each.
const MAX_SPACED_TRIALS: u32 = 200;

/// The rows of one workload whose trials follow each other.
#[derive(Clone, Debug)]
struct TrialSet {
    /// The number of the set in the journal.
    number: u32,
    /// Whether treatments are attached for each trial, not for the whole run.
    attaches: bool,
    /// The base comes first.
    rows: Vec<usize>,
    done: u32,
    trial_count: u32,
    /// When its first round was over.
    started_at: Option<Instant>,
    /// The time from then to its last round.
    span: Duration,
    /// When its next round is due; `None` for immediately.
    due: Option<Instant>,
    pace: Pace,
}

impl TrialSet {
    /// When its next round is due, so that all are spread over its span.
    fn next_due(&self) -> Option<Instant> {
        let rounds = self.trial_count.saturating_sub(1).max(1);
        Some(self.started_at? + self.span * self.done.min(rounds) / rounds)
    }
}

/// Which trial of a row is counted.
#[derive(Clone, Copy)]
pub(super) struct CountedTrial<'a> {
    pub(super) round: u32,
    /// How often the events of its set could be counted before: after each round, or after each
    /// worker that makes several.
    pub(super) opportunity: u32,
    pub(super) set: u32,
    /// Whether treatments are attached for it.
    pub(super) attaches: bool,
    pub(super) is_one_of_pair: bool,
    /// The values of sampled parameters in its round.
    pub(super) values: &'a ParameterValues,
}

/// The warm-up succeeded and the first trial failed: leftovers of the warm-up may be the cause.
fn explain_first_failure(failure: JobFailure) -> JobFailure {
    match failure.outcome {
        RowOutcome::Failed if !failure.is_final => JobFailure {
            reason: format!(
                "{}; the warm-up succeeded: if leftovers of one run affect the next, `--prepare \
                 COMMAND` (`before` in a file) runs before each",
                failure.reason
            ),
            ..failure
        },
        _ => failure,
    }
}

impl Run<'_> {
    /// Whether the subject of a row is a program.
    pub(super) fn is_program(&self, row: usize) -> bool {
        self.rows[row].planned.workload.is_some()
    }

    /// Whether it is a command of the command line, which has a time for its trials.
    fn is_command(&self, row: usize) -> bool {
        self.rows[row].planned.workload.as_ref().is_some_and(|it| it.time.is_some())
    }

    /// Runs the trials of all programs: each row alone, or compared rows side by side.
    pub(super) fn trials(
        &mut self,
        comparison: Option<&ComparisonPlan>,
        budget: TrialBudget,
    ) -> Result<(), RunError> {
        let mut sets = self.trial_sets(comparison);
        let deadline = self.deadline;
        self.deadline = budget.run_limit.map(|until| self.started_at + until);
        if !sets.is_empty() {
            // How long a program takes is not known before its warm-up.
            self.schedule.begin(RunActivity::Trials, None);
            self.schedule.ends_by = None;
            self.schedule.following = Some(Duration::ZERO);
        }
        self.warm_up_all(&sets)?;
        if budget.count_calls {
            self.count_programs(&sets)?;
        }
        self.retain_measurable(&mut sets, comparison);
        let (turns, mut sets): (Vec<TrialSet>, Vec<TrialSet>) =
            sets.into_iter().partition(|set| self.can_take_turns(&set.rows, set.attaches));
        let turns = turns.into_iter().map(|set| self.turn_set(set.number, set.rows)).collect();
        self.schedule.following = sets.is_empty().then_some(Duration::ZERO);
        self.take_turns(turns, comparison)?;
        self.schedule.following = Some(Duration::ZERO);
        let share = budget.time_budget / u32::try_from(sets.len()).unwrap_or(1).max(1);
        let spreads = comparison.is_some() && budget.spread;
        while self.retain_measurable(&mut sets, comparison) {
            self.schedule_trials(&sets, spreads);
            self.order.shuffle(&mut sets);
            for set in &mut sets {
                if self.time_is_up() && set.done > 0 || set.due > Some(Instant::now()) {
                    continue;
                }
                let started_at = Instant::now();
                self.round_of_trials(set)?;
                if set.done == 0 {
                    let took = started_at.elapsed();
                    set.trial_count = self.trials_within(set.rows[0], share, took);
                    // The first pair is before this, the last one after the end.
                    set.started_at = Some(Instant::now());
                    set.span = self.span_of_rounds(took);
                }
                set.done += 1;
                set.pace.add(started_at.elapsed());
                set.due = set.next_due().filter(|_| spreads);
            }
            if self.time_is_up() && sets.iter().all(|set| set.done > 0) {
                self.pairs_missing |= sets.iter().any(|set| set.done < self.requested_rounds(set));
                break;
            }
            let unfinished = sets.iter().filter(|set| set.done < set.trial_count);
            if let Some(Some(due)) = unfinished.map(|set| set.due).min() {
                self.sleep_until(due)?;
            }
        }
        self.deadline = deadline;
        Ok(())
    }

    /// Says how far the trials are, and when they end at the latest; before the first round of each
    /// set nothing bounds their number.
    fn schedule_trials(&mut self, sets: &[TrialSet], spreads: bool) {
        self.schedule.done = sets.iter().map(|set| set.done).max().unwrap_or(0);
        let has_begun = sets.iter().all(|set| set.done > 0);
        let all = sets.iter().map(|set| set.trial_count).max();
        self.schedule.all = all.filter(|_| has_begun);
        let left = |set: &TrialSet| set.trial_count.saturating_sub(set.done);
        let rounds: Duration = sets.iter().map(|set| set.pace.bound(left(set))).sum();
        let round: Duration = sets.iter().map(|set| set.pace.bound(1)).sum();
        let last_due = sets.iter().filter_map(|set| Some(set.started_at? + set.span)).max();
        let by_rounds = Instant::now() + rounds;
        let end = last_due.filter(|_| spreads).map_or(by_rounds, |due| by_rounds.max(due + round));
        let end = self.deadline.map_or(end, |deadline| end.min(deadline + round));
        self.schedule.ends_by = has_begun.then_some(end);
    }

    /// Removes rows that were given up, and sets that are done or have nothing left to compare;
    /// returns whether any is left.
    fn retain_measurable(
        &self,
        sets: &mut Vec<TrialSet>,
        comparison: Option<&ComparisonPlan>,
    ) -> bool {
        sets.retain_mut(|set| {
            let base = set.rows.first().copied();
            set.rows.retain(|&row| !self.rows[row].given_up);
            let has_partner = match comparison {
                Some(comparison) => {
                    set.rows.first().copied() == base
                        && (set.rows.len() > 1 || comparison.measure_lone_bases)
                }
                None => !set.rows.is_empty(),
            };
            has_partner && base.is_some() && (set.done == 0 || set.done < set.trial_count)
        });
        !sets.is_empty()
    }

    /// The sets of trials.
    fn trial_sets(&self, comparison: Option<&ComparisonPlan>) -> Vec<TrialSet> {
        let trials = |number: usize, rows: Vec<usize>, attaches| TrialSet {
            number: number as u32,
            attaches,
            rows,
            done: 0,
            trial_count: 0,
            started_at: None,
            span: MIN_PAIR_SPAN,
            due: None,
            pace: Pace::expected(Duration::ZERO),
        };
        match comparison {
            Some(comparison) => {
                let of_programs = comparison.sets.iter().enumerate();
                let of_programs = of_programs.filter(|(_, set)| self.is_program(set.base));
                let rows = of_programs.map(|(number, set)| {
                    let rows = std::iter::once(set.base).chain(set.news.iter().copied());
                    trials(number, rows.collect(), true)
                });
                rows.collect()
            }
            None => {
                let rows = (0..self.rows.len()).filter(|&row| self.is_program(row));
                rows.map(|row| trials(0, vec![row], false)).collect()
            }
        }
    }

    /// The time from the first round to the last one, if a round takes this long: within a time
    /// limit there is room for the last one.
    fn span_of_rounds(&self, round: Duration) -> Duration {
        let left = self.deadline.map(|it| it.saturating_duration_since(Instant::now()));
        left.map_or(MIN_PAIR_SPAN, |left| left.saturating_sub(round).min(MIN_PAIR_SPAN))
    }

    /// How many rounds were asked for: of a command as many as its time allows, and at least its
    /// minimum.
    fn requested_rounds(&self, set: &TrialSet) -> u32 {
        let workload = set.rows.first().and_then(|&row| self.rows[row].planned.workload.as_ref());
        match workload {
            Some(command) if command.time.is_some() => command.min_trials.min(set.trial_count),
            _ => set.trial_count,
        }
    }

    /// How many rounds fit into that time, if the first one took this long.
    fn trials_within(&self, row: usize, within: Duration, first: Duration) -> u32 {
        let Some(workload) = &self.rows[row].planned.workload else { return 0 };
        let own = workload.time.map(|time| time.last_look_s.unwrap_or(time.first_look_s));
        let within = own.map_or(within, Duration::from_secs_f64);
        let fit = within.as_secs_f64() / first.as_secs_f64().max(1e-3);
        let max = if workload.time.is_some() { MAX_SPACED_TRIALS } else { workload.trials };
        let most = workload.trials.min(max).max(workload.min_trials);
        (fit as u32).clamp(workload.min_trials, most)
    }

    /// The values of a row's sampled parameters in the next round.
    pub(super) fn next_values(&mut self, row: usize) -> ParameterValues {
        let workload = self.rows[row].planned.workload.as_deref();
        workload.map(|it| self.order.values(&it.sampled)).unwrap_or_default()
    }

    /// The specification of a worker that runs a row's program with these values.
    fn program_spec(
        &mut self,
        row: usize,
        values: &ParameterValues,
        task: Task,
    ) -> Option<WorkerSpec> {
        let workload = self.rows[row].planned.workload.clone()?;
        let limit = Duration::from_secs(workload.program.limits.seconds.into());
        let timeout_ms = (limit + CLEANUP_GRACE).as_millis() as u64;
        let program = workload.program.with_values(values).into_owned();
        let subject = Subject::Program(Box::new(program));
        let cpu = self.cpu.filter(|_| workload.one_cpu);
        Some(WorkerSpec { subject, cpu, timeout_ms, ..self.worker_spec(row, task) })
    }

    /// Runs one trial of each row of a set.
    fn round_of_trials(&mut self, set: &TrialSet) -> Result<(), RunError> {
        let mut order = set.rows.clone();
        self.order.shuffle(&mut order);
        let values = self.next_values(set.rows[0]);
        for row in order {
            let task = Task::Run { warm_up: false, counted: Vec::new() };
            let result = self.trial(row, set.attaches, &values, task)?;
            let trial = result.and_then(|result| self.read_trial(row, &values, result));
            let trial = trial.map_err(|failure| match self.rows[row].lost_workers == set.done {
                true => explain_first_failure(failure),
                false => failure,
            });
            let outcome = match &trial {
                Ok(trial) => WorkerOutcome::Trial(Box::new(trial.clone())),
                Err(JobFailure { outcome, reason, .. }) => {
                    WorkerOutcome::Lost { outcome: *outcome, reason: reason.clone() }
                }
            };
            self.emit_worker(row, Phase::Round(set.done), set.number, outcome);
            match trial {
                Ok(_) => {
                    let TrialSet { done: round, number: set, attaches, .. } = *set;
                    let is_one_of_pair = attaches;
                    let values = &values;
                    let opportunity = round;
                    let counted =
                        CountedTrial { round, opportunity, set, attaches, is_one_of_pair, values };
                    self.counted_trial(row, counted)?;
                }
                Err(failure) => self.count_lost_worker(row, failure),
            }
        }
        Ok(())
    }

    /// Runs a row's program once more while its events are counted, if that is due. It is no trial
    /// of the row.
    pub(super) fn counted_trial(
        &mut self,
        row: usize,
        trial: CountedTrial<'_>,
    ) -> Result<(), RunError> {
        let CountedTrial { round, opportunity, set, attaches, is_one_of_pair, values } = trial;
        let counted = self.events_of_trial(row, opportunity, is_one_of_pair);
        if counted.is_empty() || self.time_is_up() || self.rows[row].given_up {
            return Ok(());
        }
        let started_at = Instant::now();
        let task = Task::Run { warm_up: false, counted };
        let result = self.trial(row, attaches, values, task)?;
        let counts = result.and_then(|ProgramResult { counts, real_ns, .. }| {
            let none = || JobFailure::new(RowOutcome::Failed, "its worker counted nothing");
            let counts = counts.ok_or_else(none)?;
            Ok(TreeCounts { real_ns: Some(real_ns), ..counts })
        });
        self.emit_tree_counts(row, round, set, started_at.elapsed(), counts);
        Ok(())
    }

    /// Reads the figures from the output of a trial with these values. If a figure is missing, the
    /// program or the expression is wrong: another trial would not help.
    pub(super) fn read_trial(
        &self,
        row: usize,
        values: &ParameterValues,
        result: ProgramResult,
    ) -> Result<Trial, JobFailure> {
        let Some(workload) = &self.rows[row].planned.workload else {
            return Ok(Trial::default());
        };
        let figures = workloads::figures(workload, &result, self.rows[row].warm_lines);
        let figures = figures.map_err(|reason| JobFailure::new(RowOutcome::Failed, reason))?;
        let ProgramResult { real_ns, usage, .. } = result;
        Ok(Trial { real_ns, usage, figures, parameters: values.clone() })
    }

    /// Runs a row's program once with these values, with its treatments attached.
    fn trial(
        &mut self,
        row: usize,
        attaches: bool,
        values: &ParameterValues,
        task: Task,
    ) -> Result<Result<ProgramResult, JobFailure>, RunError> {
        let Some(spec) = self.program_spec(row, values, task) else {
            return Ok(Err(JobFailure::new(RowOutcome::Failed, "it has no program")));
        };
        self.report(row);
        if !attaches {
            let result = self.workers.run_program(spec)?;
            self.check_early_detachment();
            return Ok(result);
        }
        self.with_attached(row, |_| 0, |run| Ok(run.workers.run_program(spec)?))
    }
}

#[cfg(test)]
mod tests;
