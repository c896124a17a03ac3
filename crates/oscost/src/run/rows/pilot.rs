//! Pilots and call counts, before the first round.

use oscost_model::journal::Entry;
use oscost_model::protocol::PEER_UNREACHABLE_HINT;
use oscost_model::record::RowOutcome;
use oscost_model::worker::Task;

use crate::run::counts::call_count::{WARM_OPS, counted_ops};
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::PeerLocation;
use crate::run::progress::RunActivity;
use crate::run::state::Run;

impl Run<'_> {
    /// Runs the pilots and counts the calls of all rows from `first` on.
    pub(crate) fn prepare(&mut self, first: usize) -> Result<(), RunError> {
        let rows = (first..self.rows.len()).filter(|&row| !self.is_program(row));
        let rows: Vec<usize> = rows.collect();
        self.pilot(&rows)?;
        self.count(&rows)
    }

    /// Runs one pilot per case, which finds mode, iterations and batch length.
    pub(crate) fn pilot(&mut self, rows: &[usize]) -> Result<(), RunError> {
        self.schedule.begin(RunActivity::Pilots, Some(rows.len()));
        for (done, &row) in (0..).zip(rows) {
            if self.time_is_up() {
                break;
            }
            if self.rows[row].given_up {
                continue;
            }
            self.schedule.done = done;
            self.report(row);
            let spec = self
                .worker_spec(row, Task::Pilot { interruptions_per_s: self.interruptions_per_s });
            let peer = self.rows[row].peer_location();
            match self.workers.pilot(spec, peer)? {
                Ok(plan) => {
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

    /// Counts the calls of each case once.
    pub(crate) fn count(&mut self, rows: &[usize]) -> Result<(), RunError> {
        self.schedule.begin(RunActivity::CallCounts, Some(rows.len()));
        for (done, &row) in (0..).zip(rows) {
            if self.rows[row].given_up || self.time_is_up() {
                continue;
            }
            self.schedule.done = done;
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
        }
        Ok(())
    }
}
