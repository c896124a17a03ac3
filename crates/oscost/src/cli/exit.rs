//! Exit statuses: all of them, and the errors that lead to them.
//!
//! `tests/cli/exit_statuses.rs` has a line for each status of each subcommand;
//! `docs/reference/CLI.md` has the table.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use super::output::{OutputError, report_line};
use crate::app::{CommandError, Completion, interrupt_status, is_of_host, is_usage};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitStatus {
    /// Done.
    Success,
    /// A gate failed: a regression was found.
    Failure,
    /// The command line is at fault, or what cannot be read.
    Usage,
    /// What was asked for could not be measured, or a gate could be neither passed nor failed.
    NotMeasured,
    /// It was measured, but a file could not be written.
    NotWritten,
    /// The command to measure or to run is not executable.
    NotExecutable,
    /// The command to measure or to run is not there.
    NotFound,
    /// A signal asked for the end: Ctrl-C, SIGTERM or SIGHUP.
    Interrupted,
    /// The reader of standard output closed it.
    ClosedOutput,
    /// The status of a command that was run for the user.
    Of(u8),
}

impl ExitStatus {
    /// Its number; that of an interrupt depends on the signal.
    pub(super) fn number(self) -> u8 {
        match self {
            ExitStatus::Success => 0,
            ExitStatus::Failure => 1,
            ExitStatus::Usage => 2,
            ExitStatus::NotMeasured => 3,
            ExitStatus::NotWritten => 4,
            ExitStatus::NotExecutable => 126,
            ExitStatus::NotFound => 127,
            ExitStatus::Interrupted => interrupt_status(),
            // As a shell tells that SIGPIPE ended a command.
            ExitStatus::ClosedOutput => 141,
            ExitStatus::Of(status) => status,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status.number())
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
        None if is_usage(error) => ExitStatus::Usage,
        None if error.downcast_ref().is_some_and(OutputError::is_interrupted) => {
            ExitStatus::Interrupted
        }
        None if error.is::<OutputError>() => ExitStatus::NotWritten,
        None if measures || is_of_host(error) => ExitStatus::NotMeasured,
        None => ExitStatus::Usage,
    }
}

/// Reports that a command could not be started; its exit status.
pub(super) fn report_not_started(program: &str, error: &io::Error) -> ExitStatus {
    let hint = match error.kind() {
        ErrorKind::NotFound => "give its path, or install it",
        _ => "`chmod +x` makes a script a program",
    };
    report_line(&format!("error: cannot run `{program}`: {error}"));
    report_line(&format!("  hint: {hint}"));
    not_started(error.kind())
}

/// The exit status of a command that could not be started, as in shells.
fn not_started(kind: ErrorKind) -> ExitStatus {
    match kind {
        ErrorKind::NotFound => ExitStatus::NotFound,
        _ => ExitStatus::NotExecutable,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Of the worker, which `oscost treat` becomes: the treatment cannot be applied.
    const NOT_TREATED: u8 = 125;

    #[test]
    fn the_page_of_the_command_line_has_every_status_and_no_other() {
        let page = include_str!("../../../../docs/reference/CLI.md");
        let (_, table) = page.split_once("| exit status | means |").unwrap();
        let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        let documented: BTreeSet<u8> = cells
            .flat_map(|cell| cell.split(',').filter_map(|it| it.trim().parse().ok()))
            .collect();
        let named = [
            ExitStatus::Success,
            ExitStatus::Failure,
            ExitStatus::Usage,
            ExitStatus::NotMeasured,
            ExitStatus::NotWritten,
            ExitStatus::NotExecutable,
            ExitStatus::NotFound,
            ExitStatus::ClosedOutput,
        ];
        let signals = [nix::libc::SIGHUP, nix::libc::SIGINT, nix::libc::SIGTERM];
        let interrupts = signals.map(|signal| 128 + signal as u8);
        let all: BTreeSet<u8> = named
            .map(ExitStatus::number)
            .into_iter()
            .chain(interrupts)
            .chain([NOT_TREATED])
            .collect();
        assert_eq!(documented, all);
    }
}
