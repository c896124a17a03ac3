//! `oscost fleet cancel`

use std::path::PathBuf;

use crate::app::fleet::cancel as end_jobs;
use crate::cli::exit::ExitStatus;
use crate::cli::output::{Output, report_line};

/// Which fleet's jobs to end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Visits that run are ended, and give no record; what was measured stays, and
`oscost fleet run FOLDER --retry` measures the rest.

Examples:
  oscost fleet cancel /shared/lab")]
pub(super) struct Arguments {
    /// The folder of the fleet.
    folder: PathBuf,
}

pub(super) fn cancel(arguments: Arguments, _: &mut Output) -> anyhow::Result<ExitStatus> {
    let jobs = end_jobs(&arguments.folder)?;
    report_line(&match jobs.is_empty() {
        true => "no job waits or runs".to_owned(),
        false => format!("cancelled {}", jobs.join(", ")),
    });
    Ok(ExitStatus::Success)
}
