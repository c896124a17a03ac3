//! Standard output, standard error, and files of the user's.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use oscost_model::untrusted_text::escape_controls;
use thiserror::Error;

use super::display::{DisplayArguments, folded, message, text};
use crate::app::{UsageError, output_file};
use crate::report::progress::ProgressMode;
use crate::report::view::document::View;

/// Standard output, for data.
pub(super) struct Output {
    stdout: std::io::Stdout,
    display: DisplayArguments,
}

impl Output {
    pub(super) fn stdout(display: DisplayArguments) -> Self {
        Self { stdout: std::io::stdout(), display }
    }

    /// How progress is shown beside it.
    pub(super) fn progress(&self) -> ProgressMode {
        self.display.progress()
    }

    /// Writes a report.
    pub(super) fn show(&mut self, view: &View) -> anyhow::Result<()> {
        self.write(&text(view))
    }

    /// Writes data; a closed pipe is an error (see [`is_broken_pipe`]).
    pub(super) fn write(&mut self, data: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
        let mut out = self.stdout.lock();
        let written = out.write_all(data.as_ref()).and_then(|()| out.flush());
        written.map_err(|error| OutputError::new("to standard output", error).into())
    }
}

/// Shows a help or a version that was asked for: it is data.
pub(super) fn show_help(help: &clap::Error) -> anyhow::Result<()> {
    let written = help.print().and_then(|()| io::stdout().flush());
    written.map_err(|error| OutputError::new("to standard output", error).into())
}

/// A document or a text could not be written.
#[derive(Debug, Error)]
#[error("cannot write {to}")]
pub(super) struct OutputError {
    to: String,
    #[source]
    error: io::Error,
}

impl OutputError {
    fn new(to: &str, error: io::Error) -> Self {
        Self { to: to.to_owned(), error }
    }

    /// The next step.
    fn hint(&self) -> &'static str {
        match self.error.kind() {
            ErrorKind::FileTooLarge => {
                "`ulimit -f unlimited` in the shell that starts oscost lifts its limit"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "make room, or name a file on another disk"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "name a file in a folder that you may write"
            }
            ErrorKind::NotFound => "make its folder, or name another file",
            ErrorKind::IsADirectory => "name a file in it",
            ErrorKind::TimedOut | ErrorKind::Interrupted => {
                "start the program that reads it first; `oscost report last` writes what is kept"
            }
            _ => "name another file",
        }
    }

    /// Whether a signal ended the wait for a program that reads it.
    pub(super) fn is_interrupted(&self) -> bool {
        self.error.kind() == ErrorKind::Interrupted
    }
}

/// The names of standard output.
const STDOUT_NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// The destination of a document: `-` is standard output, anything else a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Destination {
    pub(super) fn of(text: &str) -> Self {
        match STDOUT_NAMES.contains(&text) {
            true => Destination::Stdout,
            false => Destination::File(PathBuf::from(text)),
        }
    }

    /// Writes the document; a file is written completely or not created.
    pub(super) fn write(
        &self,
        document: &(impl AsRef<[u8]> + ?Sized),
        output: &mut Output,
    ) -> anyhow::Result<()> {
        match self {
            Destination::Stdout => output.write(document),
            Destination::File(path) => output_file::write(path, document.as_ref())
                .map_err(|error| OutputError::new(&name_of(path), error).into()),
        }
    }

    /// Checks before measuring that the file can be written, so that a misspelt folder does not
    /// cost the results. The check leaves no file behind; a device or a pipe is not touched.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Destination::File(path) = self else { return Ok(()) };
        output_file::check(path).map_err(|error| {
            let (why, hint) = match error.kind() {
                ErrorKind::NotFound if !has_parent(path) => {
                    ("its folder does not exist".to_owned(), "make the folder, or name another")
                }
                ErrorKind::IsADirectory => ("it is a folder".to_owned(), "name a file in it"),
                _ => (error.to_string(), "name another file"),
            };
            UsageError::with_hint(&format!("cannot write {}: {why}", name_of(path)), hint).into()
        })
    }
}

/// A file in a message.
fn name_of(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => "a file whose name is empty".to_owned(),
        false => path.display().to_string(),
    }
}

/// Whether the folder of this file exists; an open file descriptor in /proc gives the same error
/// where it does.
fn has_parent(path: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.is_none_or(Path::is_dir)
}

/// Whether the error is that the reader has closed its pipe.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// Reports an error with its causes, and what can be done.
pub(super) fn report_error(error: &anyhow::Error) {
    error_lines(error).iter().for_each(|line| report_line(line));
    let hint = error.downcast_ref().map(OutputError::hint);
    let hint = hint.or_else(|| (!has_next_step(error)).then_some(GENERAL_HINT));
    if let Some(hint) = hint {
        report_line(&format!("  hint: {hint}"));
    }
}

/// An error and its causes; the hints of all of them stand behind, whichever of them has one.
fn error_lines(error: &anyhow::Error) -> Vec<String> {
    let (mut lines, mut hints) = (Vec::new(), Vec::new());
    for (at, cause) in error.chain().enumerate() {
        let text = cause.to_string();
        let what = match text.split_once(HINT) {
            Some((what, hint)) => {
                hints.push(format!("  hint: {hint}"));
                what
            }
            None => text.as_str(),
        };
        lines.push(if at == 0 { format!("error: {what}") } else { format!("  caused by: {what}") });
    }
    lines.into_iter().chain(hints).collect()
}

/// What stands before the next step in the text of an error.
const HINT: &str = "\n  hint: ";

/// The next step after an error of which none is known: those that come from the system and from
/// libraries.
pub const GENERAL_HINT: &str =
    "`oscost --help` lists what can be asked for, `oscost doctor --self` what limits oscost here";

/// Whether an error or one of its causes names a hint, a command or an option.
fn has_next_step(error: &anyhow::Error) -> bool {
    let names = |text: &str| ["hint: ", "`oscost ", "`--"].iter().any(|sign| text.contains(sign));
    error.chain().any(|cause| names(&cause.to_string()))
}

/// Writes a line to standard error, in which nothing that was typed or read controls the terminal.
/// Where standard error is closed or full the line is lost, and the work goes on.
pub(super) fn report_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", message(&folded(&escape_controls(text))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_behind_the_causes_whoever_has_them() {
        let cause = anyhow::anyhow!("it is damaged\n  hint: delete it");
        let of_both = error_lines(&cause.context("cannot read x\n  hint: `runs list` lists all"));
        assert_eq!(
            of_both,
            [
                "error: cannot read x",
                "  caused by: it is damaged",
                "  hint: `runs list` lists all",
                "  hint: delete it",
            ]
        );
        assert_eq!(error_lines(&anyhow::anyhow!("one; another")), ["error: one; another"]);
    }

    #[test]
    fn an_error_names_a_next_step_or_is_given_the_general_one() {
        let of_cause = anyhow::anyhow!("it is damaged\n  hint: delete it").context("cannot read");
        assert!(has_next_step(&of_cause));
        assert!(has_next_step(&anyhow::anyhow!("`--treat` names none")));
        assert!(!has_next_step(&anyhow::anyhow!("one; another")));
    }
}
