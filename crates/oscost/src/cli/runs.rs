//! `oscost runs`

use super::display::list_text;
use super::exit::ExitStatus;
use super::exports::{Exports, Table};
use super::output::{Destination, Output, report_line};
use super::report::{RunToShow, show};
use super::run_text::report_missing_batches;
use super::terminal::Terminal;
use super::values::{CountedArguments, plots};
use crate::app::report::with_study;
use crate::app::runs::{self, KeepCount, KeptRun, ListedRun, PruneRequest, Pruning, RunList};
use crate::report;

/// What to do with the runs in the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, `last~1` for the run before it, or
`@LABEL` for the newest run with that label. `oscost explain trust` says what
the grade of a run rests on.

The last 50 runs, and those of the last 30 days, keep their raw batches; each
run of oscost prunes a few older ones. The variables OSCOST_KEEP_RUNS and
OSCOST_KEEP_DAYS set other limits, `all` none. Records are kept for ever.

Examples:
  oscost runs list
  oscost runs list --json | jq '.runs[].trust'
  oscost runs show last
  oscost runs show @before             the newest run of `--label before`
  oscost runs export 0197 run.json     a record for another user
  oscost runs import run.json          a record from another user
  oscost runs prune --dry-run          what old raw batches take")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the runs, newest first: start, duration, trust, label, machine, command.
    List {
        /// Show each command whole, below its run.
        #[arg(short, long)]
        verbose: bool,
        /// Print the list as JSON, `oscost.runs/1`.
        #[arg(long, conflicts_with = "verbose")]
        json: bool,
    },
    /// Show a run as a table, or write it to files.
    Show {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
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
        /// Also show flags for information, and how figures were measured.
        #[arg(short, long)]
        verbose: bool,
    },
    /// Delete a run.
    Delete {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
        run: String,
    },
    /// Write a run's record with every raw sample.
    Export {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
        run: String,
        /// The file; `-` is standard output.
        file: String,
    },
    /// Keep a record from another machine.
    Import {
        /// The file; `-` is standard input.
        file: String,
    },
    /// Remove the raw batches of old runs; their records are kept.
    Prune {
        /// Keep those of the last N runs, or of `all` [default: 50].
        #[arg(long, value_name = "N")]
        keep_runs: Option<KeepCount>,
        /// Keep those of the last D days, or of `all` [default: 30].
        #[arg(long, value_name = "D")]
        keep_days: Option<KeepCount>,
        /// Only say what would be removed.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) fn runs(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::List { verbose, json } => list(verbose, json, output)?,
        Verb::Show { run, exports, samples, table, plot, no_plot, counted, verbose } => {
            exports.check()?;
            let run = with_study(
                runs::export(&run, samples || exports.needs_samples())?,
                &Terminal::new(output),
            );
            let (plots, counted) = (plots(plot, no_plot), counted.into());
            let shown = RunToShow { run, samples, table, plots, counted, verbose };
            show(&shown, &exports, output)?;
        }
        Verb::Delete { run } => {
            let id = runs::delete(&run)?;
            report_line(&format!("deleted {id}"));
        }
        Verb::Export { run, file } => {
            let KeptRun { record, pruned_at } = runs::export(&run, true)?;
            report_missing_batches(pruned_at.as_deref());
            Destination::of(&file).write(&report::json::record(&record)?, output)?;
        }
        Verb::Import { file } => {
            let id = runs::import(&file, &Terminal::new(output))?;
            report_line(&format!("kept as {id}"));
        }
        Verb::Prune { keep_runs, keep_days, dry_run } => {
            let request = PruneRequest { keep_runs, keep_days, is_preview: dry_run };
            report_pruning(runs::prune(&request)?, dry_run)?;
        }
    }
    Ok(ExitStatus::Success)
}

/// Lists the runs, and how much room they take.
fn list(verbose: bool, json: bool, output: &mut Output) -> anyhow::Result<()> {
    let RunList { runs, store_bytes } = runs::list()?;
    let lines: Vec<report::runs::Line> = runs.into_iter().map(line).collect();
    if json {
        return output.write(&report::json::value(&report::runs::json(&lines, store_bytes))?);
    }
    if lines.is_empty() {
        return output.write(&format!("{}\n", report::runs::NO_RUNS));
    }
    output.write(&list_text(&report::runs::table(&lines, verbose)))?;
    report_line(&report::runs::size_line(&report::runs::StoreSize {
        runs: lines.len(),
        with_raw_batches: lines.iter().filter(|line| line.has_raw_batches).count(),
        bytes: store_bytes,
    }));
    Ok(())
}

fn line(run: ListedRun) -> report::runs::Line {
    let ListedRun { listing, duration, processor, class, trust } = run;
    report::runs::Line {
        id: listing.id,
        started: listing.started,
        ended: listing.ended,
        duration_s: duration.map(|it| it.as_secs_f64()),
        complete: listing.complete,
        label: listing.label,
        processor,
        class,
        trust,
        command: listing.command,
        imported: listing.imported,
        has_raw_batches: listing.has_raw_batches,
    }
}

/// Reports what was pruned; an error if a run that was to be pruned was not.
fn report_pruning(pruning: Pruning, is_preview: bool) -> anyhow::Result<()> {
    let Pruning { limits, runs, bytes, unended, failures, locked, store_bytes } = pruning;
    if runs > 0 || (failures.is_empty() && locked.is_none()) {
        report_line(&report::runs::pruning_line(&report::runs::PrunedBatches {
            kept: limits.to_string(),
            runs,
            bytes_before: bytes.before,
            bytes_after: bytes.after,
            store_bytes,
            is_preview,
        }));
    }
    if unended > 0 {
        report_line(&format!("note: {}", report::runs::unended_line(unended)));
    }
    failures.iter().for_each(|failure| report_line(&format!("note: {failure}")));
    if let Some(error) = locked {
        return Err(error.context(format!("{runs} runs were pruned, the others were not")));
    }
    anyhow::ensure!(
        failures.is_empty(),
        "{} of {} runs keep their raw batches: `oscost runs delete` removes a damaged run",
        failures.len(),
        failures.len() + runs
    );
    Ok(())
}
