//! Exit statuses.

use std::io::ErrorKind;
use std::process::ExitCode;

use crate::app::Completion;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitStatus {
    /// Done.
    Success,
    /// A requested case could not be measured, or a gate failed.
    Failure,
    /// A gate could be neither passed nor failed.
    NotJudged,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The status of a command that was run for the user.
    Of(u8),
}

/// A usage error.
pub(super) const USAGE: u8 = 2;

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => ExitCode::SUCCESS,
            ExitStatus::Failure => ExitCode::FAILURE,
            ExitStatus::NotJudged => ExitCode::from(3),
            ExitStatus::Interrupted => ExitCode::from(130),
            ExitStatus::Of(status) => ExitCode::from(status),
        }
    }
}

impl From<Completion> for ExitStatus {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Complete => ExitStatus::Success,
            Completion::WithFailures => ExitStatus::Failure,
            Completion::Interrupted => ExitStatus::Interrupted,
        }
    }
}

/// The exit status of a command that could not be started, as in shells.
pub(super) fn not_started(kind: ErrorKind) -> ExitStatus {
    ExitStatus::Of(if kind == ErrorKind::NotFound { 127 } else { 126 })
}
