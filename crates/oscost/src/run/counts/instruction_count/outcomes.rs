//! What the answers of machines mean for the rows, and what is left of a machine that ended early.

use oscost_model::journal::{Entry, Phase, WorkerOutcome};
use oscost_model::protocol::Event;
use oscost_model::record::RowOutcome;
use oscost_model::worker::Sample;

use super::{RowState, Run};
use crate::hosts::HostError;
use crate::run::jobs::job::{JobFailure, job_failure};

impl Run<'_> {
    pub(super) fn record_call_count(&mut self, row: usize, event: Event) {
        let entry = match event {
            Event::Counted { count, .. } => Entry::Counted { row: row as u32, count: *count },
            other => Entry::NotCounted { row: row as u32, reason: job_failure(other).reason },
        };
        self.emit(entry);
    }

    /// Records the outcome of a worker.
    pub(super) fn record_worker(&mut self, row: usize, phase: Phase, event: Event) {
        let at_s = self.started_at.elapsed().as_secs_f64();
        let number = row as u32;
        match event {
            Event::Sampled { samples, .. } if self.counted_idle_time(row, &samples) => {
                let reason = "an op waits while the machine is idle, and the counter then \
                              advances without instructions";
                self.give_up(row, RowOutcome::Unmeasurable, reason.to_owned());
            }
            Event::Sampled { samples, disturbance, monitor_wakeups_per_op, plan, .. } => {
                if let Some(plan) = plan.filter(|_| !self.states[row].piloted) {
                    self.states[row].piloted = true;
                    self.emit(Entry::Piloted { row: number, plan: *plan });
                }
                self.states[row].workers += u32::from(matches!(phase, Phase::Round(_)));
                let monitor_wakeups_per_op = monitor_wakeups_per_op.first().copied().flatten();
                let outcome = WorkerOutcome::Sampled {
                    samples,
                    disturbance,
                    monitor_wakeups_per_op,
                    speculation: None,
                };
                self.emit(Entry::Worker { row: number, phase, at_s, set: 0, outcome });
            }
            other => {
                let JobFailure { outcome, reason, .. } = job_failure(other);
                if outcome != RowOutcome::Skipped {
                    let reason = reason.clone();
                    let outcome = WorkerOutcome::Lost { outcome, reason };
                    self.emit(Entry::Worker { row: number, phase, at_s, set: 0, outcome });
                }
                // A machine that repeats itself would fail again.
                self.give_up(row, outcome, reason);
            }
        }
    }

    /// Whether the ops of a row waited while the machine was idle: its clock, and with it the
    /// counter, then skips to the next timer. During ops that switch, other tasks run; of all other
    /// ops, what a batch counts was run by the thread itself, up to the resolution of its CPU time.
    fn counted_idle_time(&self, row: usize, samples: &[Sample]) -> bool {
        const SLACK: f64 = 0.9;
        if self.request.rows[row].definition.switches {
            return false;
        }
        let counted: i64 = samples.iter().map(|sample| sample.ticks).sum();
        let ran_ns: Option<u64> = samples.iter().map(|sample| sample.cpu_ns).sum();
        ran_ns.is_some_and(|ran_ns| (ran_ns as f64) < SLACK * counted as f64)
    }

    pub(super) fn give_up(&mut self, row: usize, outcome: RowOutcome, reason: String) {
        if !std::mem::replace(&mut self.states[row].given_up, true) {
            self.emit(Entry::Abandoned { row: row as u32, outcome, reason });
        }
    }

    /// Records that a machine ended early: rows without a repetition fail. Returns whether the rows
    /// show the failure: if requested rows only lost some repetitions, none of them failed.
    pub(super) fn record_machine_failure(&mut self, number: usize, error: &HostError) -> bool {
        let outcome = match error {
            HostError::Unavailable { .. } => RowOutcome::Skipped,
            _ => RowOutcome::Failed,
        };
        let rows = self.measurable_rows(number);
        let (none, some): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|&row| self.states[row].workers == 0);
        for &row in &none {
            self.give_up(row, outcome, error.to_string());
        }
        let has_requested =
            |rows: &[usize]| rows.iter().any(|&row| self.request.rows[row].requested);
        has_requested(&none) || !has_requested(&some)
    }

    /// Settles every row that was measured.
    pub(super) fn settle(&mut self) {
        for row in 0..self.states.len() {
            let RowState { workers, given_up, .. } = self.states[row];
            if workers > 0 && !given_up {
                let converged = workers == self.request.repetitions;
                self.emit(Entry::RowFinished { row: row as u32, converged });
            }
        }
    }
}
