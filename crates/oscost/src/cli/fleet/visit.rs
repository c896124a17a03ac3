//! `oscost fleet visit`

use std::path::PathBuf;

use crate::app::fleet::{VisitOutcome, VisitRequest, visit as measure};
use crate::cli::exit::ExitStatus;
use crate::cli::output::{Output, report_line};
use crate::cli::terminal::Terminal;

/// Which task of which fleet to do.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The batch script in FOLDER starts it on each node. By hand it must be started on
the node that the plan names, with the version of oscost that wrote the plan. It
does nothing if the task has its record.

Examples:
  oscost fleet visit /shared/lab --task 7")]
pub(super) struct Arguments {
    /// The folder of the fleet.
    folder: PathBuf,
    /// The number of the task in the plan, from 0.
    #[arg(long, value_name = "N")]
    task: u32,
}

pub(super) fn visit(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { folder, task } = arguments;
    let outcome = measure(&VisitRequest { folder, task }, &Terminal::new(output))?;
    report_line(&match outcome {
        VisitOutcome::Measured => format!("task {task} is measured"),
        VisitOutcome::MeasuredBefore => format!("task {task} was measured before"),
    });
    Ok(ExitStatus::Success)
}
