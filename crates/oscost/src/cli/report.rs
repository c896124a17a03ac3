//! `oscost report`

use super::Done;
use super::exports::{Exports, OfRun, Subject, Table};
use super::output::Output;
use super::records::Reader;
use super::run::plots;
use super::{runs, study};

/// Which run, and what it is written as.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, or `last~1` for the run before it;
or a record file, named with a slash or as *.json; `-` is standard input.

Several FILEs may be asked for at once, one of them may be `-`. Each is written
whole or not at all. docs/EXPORTS.md says what stands in every column.

Examples:
  oscost report last                                 its table once more
  oscost report last --html run.html                 a page to look at, to send
  oscost report last --csv run.csv --parquet run.parquet
  oscost report last --markdown - | gh pr comment --body-file -
  oscost report ./theirs.json --csv -                a record from somebody
  oscost report last --table rows --csv -            of a run of `oscost ab`")]
pub(super) struct Arguments {
    /// An id, the beginning of one, `last`, `last~1`, or a record file.
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    exports: Exports,
    /// What a line of CSV and Parquet is; without it, a comparison if the run holds any.
    #[arg(long, value_name = "TABLE")]
    table: Option<Table>,
    /// Draw all curves; without it, they are drawn where they make two pictures at most.
    #[arg(long)]
    plot: bool,
    /// Draw none.
    #[arg(long, conflicts_with = "plot")]
    no_plot: bool,
}

pub(super) fn report(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let exports = &arguments.exports;
    exports.look()?;
    let samples = exports.wants_samples();
    let record = Reader::to("report").record(&arguments.run, samples)?;
    if exports.is_empty() {
        output.write(&runs::text(&record, plots(arguments.plot, arguments.no_plot)))?;
        return Ok(Done::Well);
    }
    let held = if record.comparisons.is_empty() { Table::Rows } else { Table::Comparisons };
    let study = study::of_record(&record);
    let table = arguments.table.unwrap_or(held);
    let run = OfRun { record: &record, samples: false, study: study.as_ref(), table };
    exports.write(&Subject::Run(run), output)?;
    Ok(Done::Well)
}
