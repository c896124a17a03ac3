//! `oscost fleet report`

use std::path::PathBuf;

use super::super::display;
use super::super::documents::{self, Document, Format, by_ending};
use super::super::exit::ExitStatus;
use super::super::output::{Destination, Output};
use super::super::values::ScreenArguments;
use crate::app::UsageError;
use crate::app::fleet::report::{Outcome, Request, report as report_fleet};
use crate::report;
use crate::report::export::FleetSheet;
use crate::report::fleet::open_metrics::open_metrics;
use crate::report::fleet::report::{self as view, FleetContent, Rejected};

/// Which fleet, and where to write.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
SOURCE is the name of a fleet in the store, the folder of a fleet (with a slash
in its name), or a data set that `--data-set` wrote.

The first sentences name what is not like the others: a node, a family of cases
on it, or a case, with its ratio to the nodes of its class. Of all that stands
out at most 5 % is expected to be false. The fact beside it separates such nodes
from others best: it is a candidate for the reason, and no proof. A sentence
says how slow a node must be to be found.

With `--baseline`, each node is compared with itself at the other moment, and
the nodes of a class together.

Examples:
  oscost fleet report night                          in the terminal
  oscost fleet report /shared/night -o night.html    a page with a heat map
  oscost fleet report night --baseline last-month    what changed
  oscost fleet report night --json - | jq '.findings[].node'
  oscost fleet report night --data-set night.parquet/    for DuckDB
  oscost fleet report night --openmetrics /var/lib/node-exporter/night.prom")]
pub(super) struct Arguments {
    /// Name of a fleet, its folder, or a data set.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Same fleet at another moment: what changed since, by class of nodes.
    #[arg(long, value_name = "SOURCE")]
    baseline: Option<String>,
    /// Write to FILE in the format of its ending: .html, .json, .csv, .md or .parquet.
    #[arg(short, long = "output", value_name = "FILE", value_parser = by_ending)]
    output: Vec<Document>,
    /// Write JSON (`oscost.fleet-report/1`); `-` is standard output, instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write all figures of all visits into FOLDER, as Parquet by day and class.
    #[arg(long, value_name = "FOLDER")]
    data_set: Option<PathBuf>,
    /// Write gauges for Prometheus (OpenMetrics) to FILE.
    #[arg(long, value_name = "FILE")]
    openmetrics: Option<String>,
    #[command(flatten)]
    screen: ScreenArguments,
}

pub(super) fn report(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { source, baseline, output: mut documents, json, data_set, openmetrics, screen } =
        arguments;
    documents.extend(Document::new(Format::Json, json.as_ref()));
    documents::check(&documents)?;
    let metrics = metrics_file(openmetrics.as_deref())?;
    let found = report_fleet(&Request { source: source.clone(), baseline })?;
    let Outcome { fleet, analysis, changes, rejected } = &found;
    let rejected: Vec<Rejected<'_>> =
        rejected.iter().map(|it| Rejected { file: &it.file, why: &it.why }).collect();
    let content = FleetContent {
        fleet,
        analysis,
        rejected: &rejected,
        changes: changes.as_ref(),
        source: &source,
    };
    let make = |format| made(&content, format);
    let text = || display::fitted_text(view::view(&content), screen.screen());
    // The table is shown even if a file cannot be written.
    let written = documents::write_with_text(&documents, make, text, output);
    let metrics_written = match metrics {
        Some(file) => file.write(&open_metrics(fleet, analysis), output),
        None => Ok(()),
    };
    let data_written = data_set.map_or(Ok(()), |folder| found.write_data_set(&folder));
    written.and(metrics_written).and(data_written)?;
    Ok(ExitStatus::Success)
}

/// Where gauges are written: a file, which a program reads again and again.
fn metrics_file(name: Option<&str>) -> anyhow::Result<Option<Destination>> {
    let Some(name) = name else { return Ok(None) };
    let file = Destination::of(name);
    if file == Destination::Stdout {
        let what = "gauges are written to a file that a program reads, not to standard output";
        return Err(UsageError::with_hint(what, "name a file").into());
    }
    file.check()?;
    Ok(Some(file))
}

/// The report in a format.
fn made(content: &FleetContent<'_>, format: Format) -> anyhow::Result<Vec<u8>> {
    let sheet = || FleetSheet::of(content.fleet, content.analysis);
    Ok(match format {
        Format::Html => report::html(&view::page(content))?.into_bytes(),
        Format::Markdown => report::markdown_page(&view::page(content)).into_bytes(),
        Format::Csv => report::csv(&sheet())?,
        Format::Parquet => report::parquet(&sheet())?,
        Format::Json | Format::Hyperfine => view::json(content)?.into_bytes(),
    })
}
