//! `oscost runs`

use super::exit::ExitStatus;
use super::exports::{Exports, Table};
use super::output::{Destination, Output, report_line};
use super::report::{RunToShow, show};
use super::terminal::Terminal;
use super::values::{CountedArguments, plots};
use crate::app::report::with_study;
use crate::app::runs;
use crate::report;

/// What to do with the runs in the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, or `last~1` for the run before it.

Examples:
  oscost runs list
  oscost runs show last
  oscost runs export 0197 run.json     a record for another user
  oscost runs import run.json          a record from another user")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the runs, newest first.
    List,
    /// Show a run as a table, or write it to files.
    Show {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
        #[command(flatten)]
        exports: Exports,
        /// Include every raw sample in the JSON record.
        #[arg(long)]
        samples: bool,
        /// What a line of CSV and Parquet is [default: a comparison if the run has any].
        #[arg(long, value_name = "TABLE")]
        table: Option<Table>,
        /// Draw all curves [default: only if they fit into two pictures].
        #[arg(long)]
        plot: bool,
        /// Draw no curves.
        #[arg(long, conflicts_with = "plot")]
        no_plot: bool,
        #[command(flatten)]
        counted: CountedArguments,
    },
    /// Delete a run.
    Delete {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
    },
    /// Write a run's record with every raw sample.
    Export {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
        /// The file; `-` is standard output.
        file: String,
    },
    /// Keep a record from another machine.
    Import {
        /// The file; `-` is standard input.
        file: String,
    },
}

pub(super) fn runs(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::List => {
            let lines = runs::list()?.into_iter().map(|run| report::runs::Line {
                id: run.id,
                started: run.started,
                complete: run.complete,
                label: run.label,
                command: run.command,
            });
            output.write(&report::terminal(&report::runs::view(&lines.collect::<Vec<_>>())))?;
        }
        Verb::Show { run, exports, samples, table, plot, no_plot, counted } => {
            exports.check()?;
            let record = runs::export(&run, samples || exports.needs_samples())?;
            let (plots, counted) = (plots(plot, no_plot), counted.into());
            let run = with_study(record, &Terminal::new());
            let shown = RunToShow { run, samples, table, plots, counted };
            show(&shown, &exports, output)?;
        }
        Verb::Delete { run } => {
            let id = runs::delete(&run)?;
            report_line(&format!("deleted {id}"));
        }
        Verb::Export { run, file } => {
            let record = runs::export(&run, true)?;
            Destination::of(&file).write(&report::json::record(&record)?, output)?;
        }
        Verb::Import { file } => {
            let id = runs::import(&file, &Terminal::new())?;
            report_line(&format!("kept as {id}"));
        }
    }
    Ok(ExitStatus::Success)
}
