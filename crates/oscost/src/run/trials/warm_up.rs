//! What is done once with each program before its trials: warm-ups, and a count of its calls.

use std::time::{Duration, Instant};

use oscost_model::journal::Entry;
use oscost_model::parameter::ParameterValues;
use oscost_model::program::{ProgramResult, Trial, Workload};
use oscost_model::record::RowOutcome;
use oscost_model::worker::{Task, WorkerSpec};

use super::TrialSet;
use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;
use crate::run::error::RunError;
use crate::run::exit_status::with_option;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::PeerLocation;
use crate::run::state::{NO_TIME_TO_COUNT, Run};

/// A program that has not begun so long after the end of the time is left out: of many programs, each
/// of which runs at least twice, a run would last minutes beyond its budget.
const LATEST_BEGINNING: Duration = Duration::from_secs(5);
/// Why, behind [`ENDED_BEFORE_FIRST_REPETITION`].
const NO_TIME_TO_BEGIN: &str = "other programs took its time (`--budget` gives more)";

/// How often the warm-up of a command is repeated that took this long: a short run may have waited for
/// a CPU by chance.
fn repeated_warm_ups(first: Duration) -> u32 {
    match first.as_millis() {
        0..100 => 5,
        100..2_000 => 1,
        _ => 0,
    }
}

impl Run<'_> {
    /// Runs one untimed trial of each row: it warms the caches, and a program that cannot run fails
    /// before anything is timed.
    pub(super) fn warm_up_all(&mut self, sets: &[TrialSet]) -> Result<(), RunError> {
        let mut done: Vec<usize> = Vec::new();
        for (nth, set) in sets.iter().enumerate() {
            if nth > 0 && self.is_too_late_to_begin() {
                self.leave_out(set);
                continue;
            }
            for &row in &set.rows {
                if done.contains(&row) || self.rows[row].given_up {
                    continue;
                }
                done.push(row);
                match self.warm_up(row, set.attaches)? {
                    Ok(result) => self.warmed_up(row, result),
                    Err(failure) if self.is_command(row) => {
                        self.give_up(row, with_option(failure));
                    }
                    Err(failure) => self.give_up(row, failure),
                }
            }
        }
        Ok(())
    }

    fn is_too_late_to_begin(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end + LATEST_BEGINNING)
    }

    /// Gives up the rows of programs that have not begun.
    fn leave_out(&mut self, set: &TrialSet) {
        let reason = format!("{ENDED_BEFORE_FIRST_REPETITION}: {NO_TIME_TO_BEGIN}");
        for &row in &set.rows {
            if !self.rows[row].given_up && self.rows[row].warm_up.is_none() {
                self.programs_missing = true;
                self.give_up(row, JobFailure::new(RowOutcome::Skipped, reason.as_str()));
            }
        }
    }

    /// Runs a program untimed: once for the caches, and a command that is short again, since the choice
    /// of its metric depends on how much it waits. Of these runs the least disturbed one counts.
    fn warm_up(
        &mut self,
        row: usize,
        attaches: bool,
    ) -> Result<Result<ProgramResult, JobFailure>, RunError> {
        let values = self.middle_values(row);
        let warm_up = Task::Run { warm_up: true, counted: Vec::new() };
        let first = self.trial(row, attaches, &values, warm_up)?;
        let (true, Ok(mut warm)) = (self.is_command(row), first.clone()) else { return Ok(first) };
        let mut best_share = None;
        for _ in 0..repeated_warm_ups(Duration::from_nanos(warm.real_ns)) {
            // As in a trial, its output is not read: reading would make it wait.
            let timed = Task::Run { warm_up: false, counted: Vec::new() };
            let repeated = self.trial(row, attaches, &values, timed)?;
            let ProgramResult { real_ns, usage, .. } = match repeated {
                Ok(result) => result,
                Err(failure) => return Ok(Err(failure)),
            };
            let share = usage.cpu_ns() as f64 / real_ns.max(1) as f64;
            if best_share.is_none_or(|best| share > best) {
                best_share = Some(share);
                warm = ProgramResult { real_ns, usage, ..warm };
            }
        }
        Ok(Ok(warm))
    }

    /// Keeps what a warm-up showed.
    fn warmed_up(&mut self, row: usize, result: ProgramResult) {
        self.rows[row].warm_lines = result.lines;
        let ProgramResult { real_ns, usage, digest, .. } = result;
        let parameters = self.middle_values(row);
        let trial = Trial { real_ns, usage, parameters, ..Trial::default() };
        if self.is_command(row) {
            let (row, trial) = (row as u32, Box::new(trial.clone()));
            self.emit(Entry::WarmedUp { row, trial, output: digest });
        }
        self.rows[row].warm_up = Some(trial);
    }

    /// Runs each program once under a tracer, which counts its system calls. Treatments make no
    /// calls in the program, so that it is counted at the base alone.
    pub(super) fn count_programs(&mut self, sets: &[TrialSet]) -> Result<(), RunError> {
        let mut counted: Vec<usize> = Vec::new();
        for (set, &row) in sets.iter().flat_map(|set| set.rows.iter().map(move |row| (set, row))) {
            let is_base_elsewhere = row != set.rows[0]
                && self.rows[row].planned.case == self.rows[set.rows[0]].planned.case;
            if is_base_elsewhere {
                continue;
            }
            if counted.contains(&row) || self.rows[row].given_up {
                continue;
            }
            counted.push(row);
            if counted.len() > 1 && self.is_too_late_to_begin() {
                let reason = NO_TIME_TO_COUNT.to_owned();
                self.emit(Entry::NotCounted { row: row as u32, reason });
                continue;
            }
            let values = self.middle_values(row);
            let task = Task::Count { warm_ops: 0, ops: 1 };
            let Some(spec) = self.program_spec(row, &values, task) else {
                continue;
            };
            let spec = WorkerSpec { treatments: Vec::new(), ..spec };
            let entry = match self.workers.count(spec, PeerLocation::SameMachine)? {
                Ok(count) => Entry::Counted { row: row as u32, count },
                Err(failure) => Entry::NotCounted { row: row as u32, reason: failure.reason },
            };
            self.emit(entry);
        }
        Ok(())
    }

    /// The values of a row's sampled parameters in runs that are not timed.
    fn middle_values(&self, row: usize) -> ParameterValues {
        let workload = self.rows[row].planned.workload.as_deref();
        workload.map(Workload::middle_values).unwrap_or_default()
    }
}
