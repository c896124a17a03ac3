//! The result of a job of a session: its answer or its failure.

use std::time::Duration;

use nix::errno::Errno;
use oscost_model::protocol::Event;
use oscost_model::record::RowOutcome;

use crate::hosts::HostError;

/// The supervisor enforces the time limits of its jobs; if it is silent this much longer, the
/// supervisor itself hangs.
pub(crate) const SUPERVISOR_GRACE: Duration = Duration::from_secs(10);

/// The failure of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobFailure {
    /// `skipped`, `failed`, `timed-out` or `unmeasurable`.
    pub(crate) outcome: RowOutcome,
    /// Why.
    pub(crate) reason: String,
    /// Whether another worker would fail in the same way.
    pub(crate) is_final: bool,
    /// The worker cannot prepare this many ops at once (E2BIG) and has done none.
    pub(crate) batch_too_large: bool,
    /// The arm that failed, if a worker has several.
    pub(crate) arm: Option<u8>,
}

impl JobFailure {
    /// A failure that another worker would repeat.
    pub(crate) fn new(outcome: RowOutcome, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { outcome, reason, is_final: true, batch_too_large: false, arm: None }
    }
}

/// The result of a job: its answer or its failure. The outer error is a failed session.
pub(crate) type JobResult<T> = Result<Result<T, JobFailure>, HostError>;

/// The failure that an event reports.
pub(crate) fn job_failure(event: Event) -> JobFailure {
    let mut failed_arm = None;
    let mut batch_too_large = false;
    let (outcome, reason, is_final) = match event {
        Event::Skipped { missing, arm, .. } => {
            failed_arm = arm;
            (RowOutcome::Skipped, missing, true)
        }
        Event::TimedOut { after_ms, reason: why, .. } => {
            let ended = || format!("the worker was killed after {after_ms} ms");
            (RowOutcome::TimedOut, why.unwrap_or_else(ended), false)
        }
        Event::Failed { at_op, reason: why, errno, arm, .. } => {
            failed_arm = arm;
            batch_too_large = at_op == Some(0) && errno == Some(Errno::E2BIG as i32);
            match at_op {
                Some(op) => (RowOutcome::Failed, format!("op {op} of a batch: {why}"), true),
                None => (RowOutcome::Failed, why, false),
            }
        }
        other => {
            let why = format!("unexpected reply of the worker: {other:?}");
            (RowOutcome::Failed, why, false)
        }
    };
    JobFailure { outcome, reason, is_final, batch_too_large, arm: failed_arm }
}
