//! What is attached to the system while all rows of a run are measured.
//!
//! A clock source is another one before the clocks are surveyed and until they have been looked at
//! again, since it is what they are read from. All else is attached only after they were calibrated.

use oscost_model::record::RowOutcome;
use oscost_model::treatment::AttachedTreatment;

use super::workers::JobFailure;
use super::{Run, RunError};

/// When something is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachPhase {
    /// Before the survey of clocks.
    BeforeClocks,
    /// Behind it.
    AfterClocks,
}

impl Run<'_> {
    /// Attaches what is attached then to all rows alike; the job that it is, if there is any.
    pub(super) fn attach_for_run(
        &mut self,
        when: AttachPhase,
    ) -> Result<Result<Option<u64>, JobFailure>, RunError> {
        let Some(row) = self.rows.first() else { return Ok(Ok(None)) };
        let is_then = |attached: &&AttachedTreatment| {
            let is_clock = matches!(attached, AttachedTreatment::Clocksource { .. });
            is_clock == (when == AttachPhase::BeforeClocks)
        };
        let then: Vec<AttachedTreatment> =
            row.treated.attached.iter().filter(is_then).cloned().collect();
        self.attach(&then)
    }

    /// Undoes it.
    pub(super) fn detach_after_run(&mut self, standing: Option<u64>) -> Result<(), RunError> {
        let Some(id) = standing.filter(|id| self.workers.attached.contains(id)) else {
            return Ok(());
        };
        let said = self.workers.detach(id)?;
        let rows: Vec<usize> =
            (0..self.rows.len()).filter(|&row| !self.rows[row].given_up).collect();
        let timed: Vec<_> = rows.iter().map(|&row| (row, self.rows[row].timed_ops)).collect();
        match self.verify_timed_rows(&timed, std::slice::from_ref(&said)) {
            Ok(()) => self.verify_counted_rows(&rows, &said),
            Err(ended) => rows.into_iter().for_each(|row| self.give_up(row, ended.clone())),
        }
        Ok(())
    }

    /// No row can be measured, or none any longer.
    pub(super) fn give_up_all(&mut self, ended: &JobFailure) {
        for row in 0..self.rows.len() {
            if !self.rows[row].given_up {
                self.give_up(row, ended.clone());
            }
        }
    }

    /// What was attached is no longer: whatever is measured now is measured without it.
    pub(super) fn check_early_detachment(&mut self) {
        if let Some(JobFailure { reason, .. }) = self.workers.early_detachment.take() {
            self.workers.attached.clear();
            let reason = format!("what was attached to the system came off: {reason}");
            let outcome = RowOutcome::Failed;
            self.give_up_all(&JobFailure {
                outcome,
                reason,
                is_final: true,
                batch_too_large: false,
                arm: None,
            });
        }
    }
}
