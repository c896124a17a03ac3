//! `oscost report`

use oscost_model::bill::Bill;

use super::display::fitted_text;
use super::exit::ExitStatus;
use super::exports::{BillDocument, BillTable, Exports, RunDocument, Subject, Table};
use super::output::Output;
use super::run_text::{self, RunText};
use super::table_choice::TableChoice;
use super::terminal::Terminal;
use super::values::{CountedArguments, PlotArguments, ScreenArguments};
use crate::app::UsageError;
use crate::app::report::{ReportSubject, Run, read};
use crate::report::run::{CountedEvents, Plots};
use crate::report::{self, DetailsOf, Screen};

/// Which run or bill, and how it is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is a run or a bill: an id, the beginning of one, `last`, `last~1` for the
one before it, or `@LABEL` for the newest with that label; a record file, with a
slash in its name or ending in .json, which gzip(1) may have packed; `-` is
standard input; or `@NAME`, a record that comes with oscost (`oscost table
--list`).

Each FILE is written whole or not at all; one of them may be `-`, which is
standard output. docs/reference/EXPORTS.md documents every column.

Examples:
  oscost report last                                 its table
  oscost report last -o run.html                     a page to look at, to send
  oscost report last -o run.csv -o run.parquet
  oscost report last --markdown - | gh pr comment --body-file -
  oscost report ./theirs.json.gz --csv -             a record from another user
  oscost report last --table rows --csv -            of a run of `oscost ab`
  oscost report last --table changes --csv -         of a bill, what would help")]
pub(super) struct Arguments {
    /// An id, the beginning of one, `last`, `last~1`, `@LABEL`, or a record file.
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    exports: Exports,
    /// What a line of CSV and Parquet is [default: a comparison if the run has any; of a bill items].
    #[arg(long, value_name = "TABLE")]
    table: Option<TableChoice>,
    #[command(flatten)]
    plots: PlotArguments,
    #[command(flatten)]
    counted: CountedArguments,
    #[command(flatten)]
    screen: ScreenArguments,
}

pub(super) fn report(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { run, exports, table, .. } = arguments;
    exports.check()?;
    let run = match read(run, exports.needs_samples(), &Terminal::new(output))? {
        ReportSubject::Run(run) => *run,
        ReportSubject::Bill(bill) => {
            let [plot, no_plot] = arguments.plots.options();
            refuse_for_bill(&[plot, no_plot])?;
            show_bill(&bill, *table, arguments.screen.screen(), exports, output)?;
            return Ok(ExitStatus::Success);
        }
    };
    let table = table.map(TableChoice::of_run).transpose()?;
    let (plots, counted) = (arguments.plots.into(), arguments.counted.into());
    let screen = arguments.screen.screen();
    let shown = ShownRun { run, samples: false, table, plots, counted, screen };
    show(&shown, exports, output)?;
    Ok(ExitStatus::Success)
}

/// A run that is shown or written.
pub(super) struct ShownRun {
    pub(super) run: Run,
    /// Whether its JSON has the raw samples.
    pub(super) samples: bool,
    /// What a line of its tables is; by default a comparison if there are any.
    pub(super) table: Option<Table>,
    pub(super) plots: Plots,
    pub(super) counted: CountedEvents,
    /// What is shown of it.
    pub(super) screen: Screen,
}

/// Writes a run to files; without any, shows it.
pub(super) fn show(shown: &ShownRun, exports: &Exports, output: &mut Output) -> anyhow::Result<()> {
    let ShownRun { run, samples, table, plots, counted, screen } = shown;
    let Run { record, study, before, pruned_at } = run;
    let (study, before) = (study.as_ref(), before.as_ref());
    if *samples || exports.needs_samples() {
        run_text::report_missing_batches(pruned_at.as_deref());
    }
    if exports.is_empty() {
        let text = RunText { study, before, screen: *screen };
        return output.write(&run_text::any(record, text, *plots, *counted));
    }
    let default_table =
        if record.comparisons.is_empty() { Table::Rows } else { Table::Comparisons };
    let table = table.unwrap_or(default_table);
    let document = RunDocument { record, samples: *samples, study, before, table };
    exports.write(&Subject::Run(document), output)
}

/// Refuses options, each with whether it was given, that a bill does not have.
pub(super) fn refuse_for_bill(options: &[(&str, bool)]) -> anyhow::Result<()> {
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            let what = format!("cannot use {option} here: it is about runs, and this is a bill");
            Err(UsageError::with_hint(&what, "leave it out").into())
        }
        None => Ok(()),
    }
}

/// Writes a bill to files; without any, shows it.
pub(super) fn show_bill(
    bill: &Bill,
    table: Option<TableChoice>,
    screen: Screen,
    exports: &Exports,
    output: &mut Output,
) -> anyhow::Result<()> {
    let table = table.map_or(Ok(BillTable::Items), TableChoice::of_bill)?;
    match exports.is_empty() {
        true => output.write(&bill_text(bill, screen)),
        false => exports.write(&Subject::Bill(BillDocument { bill, table }), output),
    }
}

/// A bill as it fits standard output.
pub(super) fn bill_text(bill: &Bill, screen: Screen) -> String {
    fitted_text(report::bill::view(bill), Screen { details: DetailsOf::Bill, ..screen })
}
