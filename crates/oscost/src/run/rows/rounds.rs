//! Rounds: one new worker per row and round, in random order.

use std::time::{Duration, Instant};

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::journal::{Entry, Phase, WorkerOutcome};
use oscost_model::record::RowOutcome;
use oscost_model::treatment::TreatmentSet;
use oscost_model::worker::Task;

use super::iteration_cost::IterationCost;
use super::row::RowRun;
use super::stopping::{MAX_THOROUGH_REPETITIONS, Profile, Progress};
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::machine::cpu_survey::SPIN;
use crate::run::progress::{Pace, RunActivity, expected_worker};
use crate::run::request::Request;
use crate::run::state::Run;

/// Workers of each reference case before the first round, and after the last.
pub(crate) const REFERENCE_CASE_WORKERS: usize = 5;
/// In these first rounds every row that is not settled gets a worker; the remaining budget goes to
/// the rows furthest from their precision goal.
const ROUNDS_FOR_ALL_ROWS: u32 = 15;

/// What bounds the time of rounds.
#[derive(Clone, Copy)]
struct RoundBounds {
    /// At most so many rounds of another phase follow.
    later: usize,
    /// The deadline of all phases.
    until: Option<Instant>,
}

impl Run<'_> {
    /// Measures until every row from `first` on is settled, or the time is up.
    pub(crate) fn measure_until_settled(
        &mut self,
        first: usize,
        request: &Request,
    ) -> Result<(), RunError> {
        // Rows that are added later are all that the rest of the run consists of.
        self.plan_counting(first, if first == 0 { SPIN } else { Duration::ZERO });
        let until = self.deadline;
        if matches!(request.profile, Profile::Thorough { .. }) {
            // The rehearsal gets a third of the budget; the rest is for the real rounds.
            let deadline = self.deadline;
            let now = Instant::now();
            self.deadline = deadline.map(|it| now + it.saturating_duration_since(now) / 3);
            let to_come = RoundBounds { later: MAX_THOROUGH_REPETITIONS, until };
            self.rounds(Phase::Rehearsal, to_come)?;
            self.deadline = deadline;
            for row in &mut self.rows[first..] {
                row.progress.restart();
            }
        }
        self.rounds(Phase::Round, RoundBounds { later: 0, until })?;
        // A time limit that was asked for is kept.
        if request.trials.run_limit.is_none() {
            self.complete_short_rows(first)?;
        }
        self.finish_rows(first);
        Ok(())
    }

    /// Rows whose workers are short get the repetitions of the first rounds although the time is up:
    /// beside rows whose workers take seconds, such as passes over large files, it ends after a few
    /// rounds, and rows that need no more than milliseconds would have no interval.
    fn complete_short_rows(&mut self, first: usize) -> Result<(), RunError> {
        loop {
            let mut rows: Vec<usize> = (first..self.rows.len())
                .filter(|&row| self.rows[row].is_short_and_lacks(ROUNDS_FOR_ALL_ROWS as usize))
                .collect();
            if rows.is_empty() {
                return Ok(());
            }
            self.order.shuffle(&mut rows);
            for row in rows {
                self.measure_worker(row, Phase::Round(self.rounds_done))?;
            }
            self.rounds_done += 1;
        }
    }

    /// Says of each row whether its precision goal is reached.
    fn finish_rows(&mut self, first: usize) {
        for row in first..self.rows.len() {
            if !self.rows[row].given_up && !self.is_program(row) {
                let converged = self.rows[row].progress.has_converged();
                self.emit(Entry::RowFinished { row: row as u32, converged });
            }
        }
    }

    /// Measures the additional rows that the observer returns.
    pub(crate) fn refine(&mut self, request: &Request) -> Result<(), RunError> {
        let additional = self.observer.additional_rows();
        if additional.is_empty() {
            return Ok(());
        }
        let first = self.rows.len();
        self.emit(Entry::RowsAdded { rows: additional.clone() });
        let treatments =
            self.rows.first().map_or_else(TreatmentSet::default, |row| row.treatments.clone());
        self.rows.extend(additional.into_iter().map(|planned| {
            let row = RowRun::new(planned, request.profile);
            RowRun { treatments: treatments.clone(), ..row }
        }));
        self.prepare(first)?;
        self.measure_until_settled(first, request)
    }

    /// Measures workers of each reference case, interleaved, before the first round or after the
    /// last.
    pub(crate) fn reference_cases(&mut self, phase: Phase) -> Result<(), RunError> {
        let reference_cases: Vec<usize> =
            (0..self.rows.len()).filter(|&row| self.rows[row].planned.is_reference).collect();
        let started_at = Instant::now();
        self.schedule.begin(RunActivity::ReferenceCases, Some(REFERENCE_CASE_WORKERS));
        for done in 0..REFERENCE_CASE_WORKERS {
            self.schedule.done = done as u32;
            let mut order = reference_cases.clone();
            self.order.shuffle(&mut order);
            for row in order {
                if !self.rows[row].given_up {
                    self.measure_worker(row, phase)?;
                }
            }
        }
        if phase == Phase::Before {
            self.schedule.reference_cases_took(started_at.elapsed());
        }
        Ok(())
    }

    /// Runs rounds until every requested row is settled, or the time is up. Each round is a new
    /// random permutation with one new worker per row: repetitions are spread over the whole run.
    fn rounds(&mut self, phase: fn(u32) -> Phase, to_come: RoundBounds) -> Result<(), RunError> {
        let is_real = matches!(phase(0), Phase::Round(_));
        // Rows added later continue the numbering: a number identifies one round of the whole run.
        let mut round = if is_real { self.rounds_done } else { 0 };
        let adaptive_from = round + ROUNDS_FOR_ALL_ROWS;
        let is_counted = |row: &&RowRun| row.planned.requested && row.planned.workload.is_none();
        let requested = self.rows.iter().filter(is_counted).count();
        self.schedule.begin(RunActivity::Rounds, Some(requested));
        let mut pace = Pace::expected(self.expected_round());
        while self.rows.iter().any(|row| !row.is_settled()) && !self.time_is_up() {
            let started_at = Instant::now();
            let unsettled = self.rows.iter().filter(|row| !row.is_settled()).count();
            self.schedule.done = requested.saturating_sub(unsettled) as u32;
            let full_rounds = adaptive_from.saturating_sub(round);
            self.schedule.ends_by = Some(self.end_of_rounds(pace, full_rounds, to_come));
            let mut rows: Vec<usize> =
                (0..self.rows.len()).filter(|&row| self.rows[row].needs_worker()).collect();
            if round >= adaptive_from && self.deadline.is_some() {
                rows = self.least_precise_rows(rows);
            }
            self.order.shuffle(&mut rows);
            if is_injected(InjectedFault::BackToBack) {
                rows.sort_unstable();
                rows.truncate(1);
            }
            for row in rows {
                if self.time_is_up() {
                    break;
                }
                self.measure_worker(row, phase(round))?;
                if is_real {
                    self.count_events_if_due(row, round)?;
                }
            }
            pace.add(started_at.elapsed());
            round += 1;
            if is_real {
                self.count_late()?;
            }
        }
        if is_real {
            self.rounds_done = round;
        }
        Ok(())
    }

    /// How long a round of all rows is expected to take.
    fn expected_round(&self) -> Duration {
        let rows = self.rows.iter().filter(|row| row.needs_worker());
        rows.filter_map(|row| row.progress.plan()).map(expected_worker).sum()
    }

    /// When the rounds end at the latest: by the number of repetitions that rows may still get, or by
    /// the deadline. In so many rounds all rows have workers.
    fn end_of_rounds(&self, pace: Pace, full_rounds: u32, to_come: RoundBounds) -> Instant {
        let RoundBounds { later, until } = to_come;
        let now = Instant::now();
        let unsettled = || self.rows.iter().filter(|row| !row.is_settled());
        let left = unsettled().map(|row| row.progress.repetitions_left()).max().unwrap_or(0);
        let left = (left + later) as u32;
        // Where half of the rows are in a round, a row is in every second one.
        let halved = until.is_some() && unsettled().count() > 1;
        let passed_over = if halved { left.saturating_sub(full_rounds) } else { 0 };
        let by_repetitions = now + pace.bound(left + passed_over);
        let longest = self.rows.iter().filter_map(|row| row.worker_time).max();
        let by_time = until.map(|until| {
            // The first rounds are completed although the time is up.
            until.max(now + pace.bound(full_rounds)) + 2 * longest.unwrap_or_default()
        });
        by_time.map_or(by_repetitions, |by_time| by_time.min(by_repetitions))
    }

    /// The half of the unsettled rows that is furthest from its goal; reference cases are always
    /// included.
    pub(super) fn least_precise_rows(&self, rows: Vec<usize>) -> Vec<usize> {
        let need = |&row: &usize| self.rows[row].progress.goal_distance();
        let (mut rows, settled): (Vec<usize>, Vec<usize>) =
            rows.into_iter().partition(|&row| !self.rows[row].is_settled());
        rows.sort_by(|one, other| need(other).total_cmp(&need(one)));
        let passed_over = rows.split_off(rows.len().div_ceil(2));
        rows.extend(passed_over.into_iter().filter(|&row| self.rows[row].planned.is_reference));
        rows.extend(settled);
        rows
    }

    /// Measures one new worker of a row.
    pub(super) fn measure_worker(&mut self, row: usize, phase: Phase) -> Result<(), RunError> {
        let Some(plan) = self.rows[row].progress.plan().cloned() else { return Ok(()) };
        self.report(row);
        let spec = self.worker_spec(row, Task::Measure(plan.clone()));
        let started_at = Instant::now();
        let outcome = self.workers.measure(spec, self.rows[row].peer_location())?;
        let took = started_at.elapsed();
        self.rows[row].counting.timed += took;
        self.check_early_detachment();
        if self.rows[row].given_up {
            return Ok(());
        }
        match outcome {
            Ok(measurement) => {
                let Some(clock) = &self.clock else { return Ok(()) };
                let is_repetition = matches!(phase, Phase::Round(_) | Phase::Rehearsal(_));
                let RowRun { planned, progress, timed_ops, iteration_cost, worker_time, .. } =
                    &mut self.rows[row];
                *timed_ops += measurement.ops();
                *worker_time = Some(took);
                *iteration_cost =
                    IterationCost::from_samples(&measurement.samples, &plan, clock, took)
                        .or(*iteration_cost);
                let was_settled = progress.is_settled();
                let step = if is_repetition {
                    progress.add_worker(&measurement.samples, clock, planned)
                } else {
                    Progress::Continue
                };
                let has_settled = !was_settled && progress.is_settled() && planned.requested;
                self.emit_worker(row, phase, 0, measurement.outcome());
                if has_settled && matches!(phase, Phase::Round(_)) {
                    self.show_settled(row);
                }
                if let Progress::Unmeasurable { reason } = step {
                    self.give_up(row, JobFailure::new(RowOutcome::Unmeasurable, reason));
                }
            }
            Err(failure) => {
                let JobFailure { outcome, reason, .. } = failure.clone();
                self.emit_worker(row, phase, 0, WorkerOutcome::Lost { outcome, reason });
                self.count_lost_worker(row, failure);
            }
        }
        Ok(())
    }
}
