//! Pilots and call counts, before the first round.
//!
//! Preparation has a share of the budget: a run that ends before its first repetition has measured
//! nothing. Pilots start within half of it, those of rows that are slow to prepare last, and the calls
//! of such rows are counted after the first repetition of all rows.

use std::time::Instant;

use oscost_model::journal::Entry;
use oscost_model::protocol::PEER_UNREACHABLE_HINT;
use oscost_model::record::RowOutcome;
use oscost_model::worker::Task;

use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;
use crate::run::counts::call_count::{WARM_OPS, counted_ops};
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::PeerLocation;
use crate::run::progress::RunActivity;
use crate::run::rows::row::RowRun;
use crate::run::state::{NO_TIME_TO_COUNT, Run};

/// Pilots start within this share of the time. Without its pilot nothing of a row can be measured, and
/// without the other half nothing would be measured of any.
const SHARE_OF_PILOTS: f64 = 0.5;
/// After a round, calls that are still to be counted get this share of the time that is left.
const SHARE_OF_LATE_COUNTS: f64 = 0.25;
/// Why a row has no pilot, behind [`ENDED_BEFORE_FIRST_REPETITION`].
const NO_PILOT: &str = "pilots of other rows took half of its time (`--budget` gives more)";

impl Run<'_> {
    /// Runs the pilots and counts the calls of all rows from `first` on, but of those that are slow to
    /// prepare.
    pub(crate) fn prepare(&mut self, first: usize) -> Result<(), RunError> {
        let mut rows: Vec<usize> =
            (first..self.rows.len()).filter(|&row| !self.is_program(row)).collect();
        // The sort is stable: all others stay in the order of the plan.
        rows.sort_by_key(|&row| self.rows[row].has_long_setup());
        let until = end_of_share(Instant::now(), self.deadline, SHARE_OF_PILOTS);
        self.pilot(&rows, until)?;
        self.give_up_rows_without_pilot(&rows);
        let is_late = |row: &usize| self.deadline.is_some() && self.rows[*row].is_long_to_prepare();
        let (late, early): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(is_late);
        for row in late {
            self.rows[row].count_is_due = true;
        }
        self.count(&early)
    }

    /// Runs one pilot per case, which finds mode, iterations and batch length. The first one is run
    /// however short the share of the time until `until` is.
    pub(crate) fn pilot(&mut self, rows: &[usize], until: Option<Instant>) -> Result<(), RunError> {
        self.schedule.begin(RunActivity::Pilots, Some(rows.len()));
        for (done, &row) in (0..).zip(rows) {
            if self.time_is_up() {
                break;
            }
            // Reference cases are few and short, and without them no drift is seen.
            let is_late = done > 0 && is_over(until) && !self.rows[row].planned.is_reference;
            if self.rows[row].given_up || is_late {
                continue;
            }
            self.schedule.done = done;
            self.report(row);
            let spec = self
                .worker_spec(row, Task::Pilot { interruptions_per_s: self.interruptions_per_s });
            let peer = self.rows[row].peer_location();
            let started_at = Instant::now();
            match self.workers.pilot(spec, peer)? {
                Ok(plan) => {
                    self.rows[row].pilot_time = Some(started_at.elapsed());
                    self.rows[row].progress.set_plan(&plan);
                    self.emit(Entry::Piloted { row: row as u32, plan });
                }
                Err(failure) => {
                    let reason = failure.reason.clone();
                    self.give_up(row, failure);
                    if reason.contains(PEER_UNREACHABLE_HINT) {
                        self.give_up_remote_rows(&reason);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives up all rows with a remote peer, since the peer is unreachable: each further case would
    /// wait for the same timeout.
    pub(super) fn give_up_remote_rows(&mut self, reason: &str) {
        for row in 0..self.rows.len() {
            let is_pending = self.rows[row].peer_location() == PeerLocation::RemoteMachine
                && !self.rows[row].given_up;
            if is_pending && self.rows[row].progress.plan().is_none() {
                let reason = format!("not attempted, since another case failed: {reason}");
                self.give_up(row, JobFailure::new(RowOutcome::Failed, reason));
            }
        }
    }

    /// Gives up rows whose pilot did not fit into its share of the time. Once all of the time is up,
    /// no row has a repetition for the same reason.
    fn give_up_rows_without_pilot(&mut self, rows: &[usize]) {
        if self.time_is_up() {
            return;
        }
        let reason = format!("{ENDED_BEFORE_FIRST_REPETITION}: {NO_PILOT}");
        for &row in rows {
            if !self.rows[row].given_up && self.rows[row].progress.plan().is_none() {
                self.pilots_missing = true;
                self.give_up(row, JobFailure::new(RowOutcome::Skipped, reason.as_str()));
            }
        }
    }

    /// Counts the calls of each case once. Once the time is up they are still to be counted.
    pub(crate) fn count(&mut self, rows: &[usize]) -> Result<(), RunError> {
        self.schedule.begin(RunActivity::CallCounts, Some(rows.len()));
        for (done, &row) in (0..).zip(rows) {
            if self.rows[row].given_up {
                continue;
            }
            if self.time_is_up() {
                self.rows[row].count_is_due = true;
                continue;
            }
            self.schedule.done = done;
            self.count_calls(row)?;
        }
        Ok(())
    }

    /// Counts calls that are still to be counted, after a round.
    pub(super) fn count_late(&mut self) -> Result<(), RunError> {
        let until = end_of_share(Instant::now(), self.deadline, SHARE_OF_LATE_COUNTS);
        for row in self.rows_to_count() {
            if is_over(until) {
                break;
            }
            self.count_calls(row)?;
        }
        Ok(())
    }

    /// Counts the calls that are still to be counted, and says of rows with repetitions why theirs are
    /// not, if the time is up before.
    pub(crate) fn finish_counts(&mut self) -> Result<(), RunError> {
        while !self.time_is_up() && !self.rows_to_count().is_empty() {
            self.count_late()?;
        }
        self.give_up_counts(|row| row.timed_ops > 0);
        Ok(())
    }

    /// Says why calls that are still to be counted are not, of rows that are measured.
    pub(crate) fn give_up_counts(&mut self, is_measured: impl Fn(&RowRun) -> bool) {
        for row in self.rows_to_count() {
            self.rows[row].count_is_due = false;
            if is_measured(&self.rows[row]) {
                let reason = NO_TIME_TO_COUNT.to_owned();
                self.emit(Entry::NotCounted { row: row as u32, reason });
            }
        }
    }

    /// The rows whose calls are still to be counted.
    fn rows_to_count(&self) -> Vec<usize> {
        let is_due = |row: &usize| self.rows[*row].count_is_due && !self.rows[*row].given_up;
        (0..self.rows.len()).filter(is_due).collect()
    }

    /// Counts the calls of a case.
    fn count_calls(&mut self, row: usize) -> Result<(), RunError> {
        self.rows[row].count_is_due = false;
        self.report(row);
        let ops = counted_ops(&self.rows[row].planned);
        let spec = self.worker_spec(row, Task::Count { warm_ops: WARM_OPS, ops });
        let peer = self.rows[row].peer_location();
        let entry = match self.workers.count(spec, peer)? {
            Ok(count) => {
                self.rows[row].count = Some(count.clone());
                Entry::Counted { row: row as u32, count }
            }
            Err(failure) => Entry::NotCounted { row: row as u32, reason: failure.reason },
        };
        self.emit(entry);
        Ok(())
    }
}

/// The end of this share of the time until the deadline; `None` without one.
fn end_of_share(now: Instant, deadline: Option<Instant>, share: f64) -> Option<Instant> {
    deadline.map(|deadline| now + deadline.saturating_duration_since(now).mul_f64(share))
}

/// Whether that time is over.
fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pilots_have_half_of_the_time_and_the_rest_is_for_repetitions() {
        let now = Instant::now();
        let of = |seconds: u64| {
            let deadline = Some(now + Duration::from_secs(seconds));
            end_of_share(now, deadline, SHARE_OF_PILOTS).map(|end| end - now)
        };
        assert_eq!(of(100), Some(Duration::from_secs(50)));
        assert_eq!(of(0), Some(Duration::ZERO));
        assert_eq!(end_of_share(now, None, SHARE_OF_PILOTS), None, "a run without a time limit");
        let past = now.checked_sub(Duration::from_secs(1));
        assert!(past.is_none_or(|past| end_of_share(now, Some(past), 0.5) == Some(now)));
    }
}
