//! What is left of a run of prices or pairs that has ended.

use oscost_model::record::Record;

use crate::app::measurement::retention::{CompletedRun, Completion};
use crate::hosts::HostError;
use crate::run::RunError;

/// Why a run failed.
pub(super) struct Failure {
    pub(super) text: String,
    /// Whether nothing more can be measured in its session.
    pub(super) is_of_session: bool,
}

/// What is left of a run that has ended.
pub(super) struct EndedRun {
    /// What it measured.
    pub(super) record: Option<Record>,
    /// Whether the user interrupted it.
    pub(super) interrupted: bool,
    pub(super) failure: Option<Failure>,
}

impl EndedRun {
    pub(super) fn of(ended: anyhow::Result<CompletedRun>) -> Self {
        match ended {
            Ok(CompletedRun { record, ended, .. }) => {
                let (interrupted, failure) = match ended {
                    Ok(Completion::Interrupted) => (true, None),
                    Ok(Completion::Complete | Completion::WithFailures) => (false, None),
                    Err(error) => of_error(&error),
                };
                Self { record: Some(record), interrupted, failure }
            }
            Err(error) => {
                let (interrupted, failure) = match error.downcast_ref::<RunError>() {
                    Some(error) => of_error(error),
                    None => {
                        let text = format!("{error:#}");
                        (false, Some(Failure { text, is_of_session: false }))
                    }
                };
                Self { record: None, interrupted, failure }
            }
        }
    }
}

/// Whether the user interrupted a run that ended with this error, or why it failed.
fn of_error(error: &RunError) -> (bool, Option<Failure>) {
    match error {
        RunError::Host(HostError::Interrupted) => (true, None),
        other => {
            let is_of_session = matches!(other, RunError::Host(_));
            (false, Some(Failure { text: other.to_string(), is_of_session }))
        }
    }
}
