//! `oscost runs`

use super::display::list_text;
use super::exit::ExitStatus;
use super::exports::Exports;
use super::output::{Destination, Output, report_line};
use super::report::{ShownRun, refuse_for_bill, show, show_bill};
use super::run_text::report_missing_batches;
use super::table_choice::TableChoice;
use super::terminal::Terminal;
use super::values::{CountedArguments, PlotArguments};
use crate::app::report::{ReportSubject, reported};
use crate::app::runs::{
    self, KeepCount, KeptRecord, ListedBill, ListedRun, ListedVisits, PruneRequest, Pruning,
    RunList, StoredFleet,
};
use crate::report::{self, Screen};

/// What to do with the runs and bills in the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is a run or a bill: an id, the beginning of one, `last`, `last~1` for the
one before it, or `@LABEL` for the newest with that label. `last` never counts
runs that a bill has started for itself (in the list `bill run`).
`oscost explain trust` says what the grade of a run rests on.

The last 50 runs, and those of the last 30 days, keep their raw batches; each
run of oscost prunes a few older ones. The variables OSCOST_KEEP_RUNS and
OSCOST_KEEP_DAYS set other limits, `all` none. Records are kept for ever.

Examples:
  oscost runs list
  oscost runs list --json | jq '.runs[].trust'
  oscost runs list --fleet lab         each visit of a fleet
  oscost runs delete --fleet lab       all of them
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
    /// List the runs and bills, newest first, with trust, label and command; the visits of a fleet
    /// are one line.
    #[command(after_help = "\
Examples:
  oscost runs list
  oscost runs list --fleet lab    each visit of a fleet
  oscost runs list --json | jq '.runs[].trust'")]
    List {
        /// List each visit of each fleet.
        #[arg(long)]
        all: bool,
        /// List the visits of a fleet, and nothing else.
        #[arg(long, value_name = "NAME", conflicts_with = "all")]
        fleet: Option<String>,
        /// Show each command whole, below its run.
        #[arg(short, long)]
        verbose: bool,
        /// Print the list as JSON, `oscost.runs/1`, with each visit of each fleet.
        #[arg(long, conflicts_with = "verbose")]
        json: bool,
    },
    /// Show a run or a bill as a table, or write it to files.
    #[command(after_help = "\
Examples:
  oscost runs show last
  oscost runs show last~1 -o run.html    the run before it as a page
  oscost runs show @before --verbose     the newest of `--label before`")]
    Show {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
        run: String,
        #[command(flatten)]
        exports: Exports,
        /// Include every raw sample in the JSON record.
        #[arg(long)]
        samples: bool,
        /// What a line of CSV and Parquet is [default: a comparison if the run has any; of a bill
        /// items].
        #[arg(long, value_name = "TABLE")]
        table: Option<TableChoice>,
        #[command(flatten)]
        plots: PlotArguments,
        #[command(flatten)]
        counted: CountedArguments,
        /// Also show flags for information, and how figures were measured.
        #[arg(short, long)]
        verbose: bool,
    },
    /// Delete a run or a bill, or all visits of a fleet.
    #[command(after_help = "\
Examples:
  oscost runs delete last
  oscost runs delete --fleet lab    all visits of a fleet")]
    Delete {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
        #[arg(required_unless_present = "fleet")]
        run: Option<String>,
        /// Delete all visits of this fleet; records in its folder stay.
        #[arg(long, value_name = "NAME", conflicts_with = "run")]
        fleet: Option<String>,
    },
    /// Write a run's record with every raw sample, or that of a bill.
    #[command(after_help = "\
Examples:
  oscost runs export last run.json
  oscost runs export last - | gzip > run.json.gz")]
    Export {
        /// An id, the beginning of one, `last`, `last~1`, or `@LABEL`.
        run: String,
        /// The file; `-` is standard output.
        file: String,
    },
    /// Keep a record from another machine.
    #[command(after_help = "\
Examples:
  oscost runs import run.json
  ssh db1 oscost runs export last - | oscost runs import -")]
    Import {
        /// The file, which gzip(1) may have packed; `-` is standard input.
        file: String,
    },
    /// Remove the raw batches of old runs; their records are kept.
    #[command(after_help = "\
Examples:
  oscost runs prune --dry-run                         what they take
  oscost runs prune --keep-runs 10 --keep-days 7")]
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
        Verb::List { all, fleet, verbose, json } => {
            let visits = match fleet {
                Some(fleet) => ListedVisits::OfFleet(fleet),
                None if all || json => ListedVisits::All,
                None => ListedVisits::None,
            };
            list(&visits, verbose, json, output)?;
        }
        Verb::Show { run, exports, samples, table, plots, counted, verbose } => {
            exports.check()?;
            let kept = runs::export(&run, samples || exports.needs_samples())?;
            // What is shown again is shown whole.
            let screen = Screen { verbose, ..Screen::default() };
            let run = match reported(kept, &Terminal::new(output)) {
                ReportSubject::Run(run) => *run,
                ReportSubject::Bill(bill) => {
                    let [plot, no_plot] = plots.options();
                    refuse_for_bill(&[("--samples", samples), plot, no_plot])?;
                    show_bill(&bill, table, screen, &exports, output)?;
                    return Ok(ExitStatus::Success);
                }
            };
            let table = table.map(TableChoice::of_run).transpose()?;
            let (plots, counted) = (plots.into(), counted.into());
            let shown = ShownRun { run, samples, table, plots, counted, screen };
            show(&shown, &exports, output)?;
        }
        Verb::Delete { run, fleet } => {
            if let Some(fleet) = fleet {
                let visits = runs::delete_fleet(&fleet)?;
                report_line(&report::runs::deletion_line(&fleet, visits));
            }
            if let Some(run) = run {
                let id = runs::delete(&run)?;
                report_line(&format!("deleted {id}"));
            }
        }
        Verb::Export { run, file } => {
            let json = match runs::export(&run, true)? {
                KeptRecord::Run(run) => {
                    report_missing_batches(run.pruned_at.as_deref());
                    report::json::record(&run.record)?
                }
                KeptRecord::Bill(bill) => report::bill::json(&bill)?,
            };
            Destination::of(&file).write(&json, output)?;
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

/// Lists the runs and bills, and how much room they take.
fn list(
    visits: &ListedVisits,
    verbose: bool,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let RunList { runs, fleets, unlisted, bills, store_bytes } =
        runs::list(visits, &report::bill::trust)?;
    let (run_count, bill_count) = (runs.len() + unlisted.len(), bills.len());
    let has_fleets = !fleets.is_empty();
    let lines = runs.into_iter().map(line).chain(bills.into_iter().map(bill_line));
    let lines = lines.chain(fleets.into_iter().map(fleet_line));
    let mut lines: Vec<report::runs::Line> = lines.collect();
    lines.sort_by(|one, other| (newest_by(other), &other.id).cmp(&(newest_by(one), &one.id)));
    if json {
        return output.write(&report::json::value(&report::runs::json(&lines, store_bytes))?);
    }
    if lines.is_empty() {
        output.write(&format!("{}\n", report::runs::NO_RUNS))?;
        report_line(report::runs::FIRST_RUN);
        return Ok(());
    }
    output.write(&list_text(&report::runs::table(&lines, &unlisted, verbose)))?;
    if has_fleets {
        report_line(report::runs::FOLDED_FLEETS);
    }
    if matches!(visits, ListedVisits::OfFleet(_)) {
        return Ok(());
    }
    let with_raw_batches = lines.iter().filter(|line| line.has_raw_batches).count();
    report_line(&report::runs::size_line(&report::runs::StoreSize {
        runs: run_count,
        bills: bill_count,
        with_raw_batches,
        bytes: store_bytes,
    }));
    if with_raw_batches > 0 {
        report_line(report::runs::PRUNABLE);
    }
    Ok(())
}

/// The time of a record, as `last` orders them: a bill follows the runs that measured its prices.
fn newest_by(line: &report::runs::Line) -> &str {
    match (line.kind, &line.ended) {
        (report::runs::LineKind::Bill, Some(ended)) => ended,
        _ => &line.started,
    }
}

fn line(run: ListedRun) -> report::runs::Line {
    let ListedRun { listing, duration, processor, class, trust, fleet } = run;
    let kind = match listing.is_of_bill() {
        true => report::runs::LineKind::BillRun,
        false if listing.is_of_ab() => report::runs::LineKind::Ab,
        false => report::runs::LineKind::Run,
    };
    report::runs::Line {
        kind,
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
        fleet,
        ..report::runs::Line::default()
    }
}

/// The visits of a fleet.
fn fleet_line(StoredFleet { name, visits, nodes, newest }: StoredFleet) -> report::runs::Line {
    report::runs::Line {
        kind: report::runs::LineKind::Fleet,
        started: newest,
        complete: true,
        fleet: Some(name),
        visits,
        nodes,
        ..report::runs::Line::default()
    }
}

/// A bill: it is written when it is whole.
fn bill_line(ListedBill { listing: bill, duration, trust }: ListedBill) -> report::runs::Line {
    let of = match bill.pid {
        Some(pid) => vec!["--pid".to_owned(), pid.to_string()],
        None => [vec!["--".to_owned()], bill.program].concat(),
    };
    let command = ["oscost", "bill"].map(str::to_owned).into_iter().chain(of).collect();
    report::runs::Line {
        kind: report::runs::LineKind::Bill,
        system_ns: Some(bill.system_ns),
        id: bill.id,
        started: bill.started,
        ended: Some(bill.ended),
        duration_s: duration.map(|it| it.as_secs_f64()),
        complete: true,
        label: bill.label,
        processor: bill.processor,
        trust,
        command,
        imported: bill.imported,
        ..report::runs::Line::default()
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
