//! Treatments attached to the system: during a whole run, or while one row is measured.
//!
//! During a whole run, a clocksource is set before the clocks are calibrated and until they are
//! calibrated again, since clocks read it. All other treatments are attached after calibration.

use oscost_model::record::RowOutcome;
use oscost_model::treatment::AttachedTreatment;

use super::error::RunError;
use super::jobs::job::JobFailure;
use super::monitor_verification::TimedOps;
use super::state::Run;

/// When a treatment is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachPhase {
    /// Before the clocks are calibrated.
    BeforeClocks,
    /// After that.
    AfterClocks,
}

impl Run<'_> {
    /// Attaches the treatments of this phase; returns the job, if there is any.
    pub(super) fn attach_for_run(
        &mut self,
        phase: AttachPhase,
    ) -> Result<Result<Option<u64>, JobFailure>, RunError> {
        let Some(row) = self.rows.first() else { return Ok(Ok(None)) };
        let is_due = |attached: &&AttachedTreatment| {
            let is_clock = matches!(attached, AttachedTreatment::Clocksource { .. });
            is_clock == (phase == AttachPhase::BeforeClocks)
        };
        let due: Vec<AttachedTreatment> =
            row.treatments.attached.iter().filter(is_due).cloned().collect();
        self.attach(&due)
    }

    /// Detaches the treatments of a job, and verifies the monitor's report.
    pub(super) fn detach_after_run(&mut self, job: Option<u64>) -> Result<(), RunError> {
        let Some(id) = job.filter(|id| self.workers.attached.contains(id)) else {
            return Ok(());
        };
        let report = self.workers.detach(id)?;
        let rows: Vec<usize> =
            (0..self.rows.len()).filter(|&row| !self.rows[row].given_up).collect();
        let timed_ops = |&row: &usize| TimedOps { row, ops: self.rows[row].timed_ops };
        let timed: Vec<TimedOps> = rows.iter().map(timed_ops).collect();
        match self.verify_timed_rows(&timed, std::slice::from_ref(&report)) {
            Ok(()) => self.verify_counted_rows(&rows, &report),
            Err(failure) => rows.into_iter().for_each(|row| self.give_up(row, failure.clone())),
        }
        Ok(())
    }

    /// Attaches treatments to the system; `Ok(None)` if there are none.
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

    /// Measures with the treatments of a row attached; `ops` returns the number of timed ops in the
    /// result.
    pub(super) fn with_attached<T>(
        &mut self,
        row: usize,
        ops: fn(&T) -> u64,
        measure: impl FnOnce(&mut Self) -> Result<Result<T, JobFailure>, RunError>,
    ) -> Result<Result<T, JobFailure>, RunError> {
        let attached = self.rows[row].treatments.attached.clone();
        match self.attach(&attached)? {
            Ok(job) => {
                let done = measure(self)?;
                let report = self.detach(job)?;
                if let Some(failure) = self.workers.early_detachment.take() {
                    return Ok(Err(failure));
                }
                Ok(done.and_then(|result| {
                    let timed = TimedOps { row, ops: ops(&result) };
                    self.verify_timed_rows(&[timed], &[report])?;
                    Ok(result)
                }))
            }
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Gives up all rows if an attached treatment has ended early: further workers would run
    /// without it.
    pub(super) fn check_early_detachment(&mut self) {
        if let Some(JobFailure { reason, .. }) = self.workers.early_detachment.take() {
            self.workers.attached.clear();
            let reason = format!("an attached treatment ended early: {reason}");
            self.give_up_all(&JobFailure::new(RowOutcome::Failed, reason));
        }
    }
}
