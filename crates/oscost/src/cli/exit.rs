//! Exit statuses.

use std::io::ErrorKind;
use std::process::ExitCode;

use super::output::OutputError;
use crate::app::{CommandError, Completion, interrupt_status, is_of_host, is_usage};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitStatus {
    /// Done.
    Success,
    /// A gate failed: a regression was found.
    Failure,
    /// What was asked for could not be measured, or a gate could be neither passed nor failed.
    NotMeasured,
    /// It was measured, but a file could not be written.
    NotWritten,
    /// A signal asked for the end: Ctrl-C, SIGTERM or SIGHUP.
    Interrupted,
    /// The reader of standard output closed it.
    ClosedOutput,
    /// The status of a command that was run for the user.
    Of(u8),
}

/// A usage error.
const USAGE: u8 = 2;

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => ExitCode::SUCCESS,
            ExitStatus::Failure => ExitCode::FAILURE,
            ExitStatus::NotMeasured => ExitCode::from(3),
            ExitStatus::NotWritten => ExitCode::from(4),
            ExitStatus::Interrupted => ExitCode::from(interrupt_status()),
            ExitStatus::ClosedOutput => ExitCode::from(141),
            ExitStatus::Of(status) => ExitCode::from(status),
        }
    }
}

impl From<Completion> for ExitStatus {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Complete => ExitStatus::Success,
            Completion::WithFailures => ExitStatus::NotMeasured,
            Completion::Interrupted => ExitStatus::Interrupted,
        }
    }
}

/// The exit status after an error. What cannot be read is an error of usage, unless the command was to
/// measure something.
pub(super) fn of_error(error: &anyhow::Error, measures: bool) -> ExitStatus {
    match error.downcast_ref::<CommandError>() {
        Some(CommandError::NotFound(_)) => not_started(ErrorKind::NotFound),
        Some(CommandError::NotExecutable(_)) => not_started(ErrorKind::PermissionDenied),
        None if is_usage(error) => ExitStatus::Of(USAGE),
        None if error.is::<OutputError>() => ExitStatus::NotWritten,
        None if measures || is_of_host(error) => ExitStatus::NotMeasured,
        None => ExitStatus::Of(USAGE),
    }
}

/// The exit status of a command that could not be started, as in shells.
pub(super) fn not_started(kind: ErrorKind) -> ExitStatus {
    ExitStatus::Of(if kind == ErrorKind::NotFound { 127 } else { 126 })
}
