//! The options that write what was measured to files, for `run`, `ab`, `bill`, `compare`, `report`
//! and `runs show`.

use oscost_model::bill::Bill;
use oscost_model::bill_comparison::BillComparison;
use oscost_model::record::Record;

use super::documents::{self, Document, Format, by_ending};
use super::output::Output;
use super::run_text::change_since;
use crate::app::UsageError;
use crate::app::list::definitions;
use crate::app::report::{MeasuredStudy, PreviousRun, side_by_side, study_comparison};
use crate::report;
use crate::report::compare::ComparisonContent;
use crate::report::export::{BillSheet, ChangeSheet, Sheet};
use crate::report::machine_table::{self, TableContent};
use crate::report::page::{self, StudyComparison};

/// The files to write, and their formats.
#[derive(Debug, clap::Args)]
pub(super) struct Exports {
    /// Write to FILE in the format of its ending: .html, .json, .csv, .md or .parquet.
    #[arg(short, long = "output", value_name = "FILE", value_parser = by_ending)]
    output: Vec<Document>,
    /// Write JSON (a record, or a comparison); `-` is standard output, instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write a page for a browser: one file, which loads nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Write CSV, a line for each figure, comparison, item or case of a machine.
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Write Markdown, for a pull request.
    #[arg(long, value_name = "FILE")]
    markdown: Option<String>,
    /// Write Parquet, for pandas and DuckDB.
    #[arg(long, value_name = "FILE")]
    parquet: Option<String>,
    /// Write the programs of a run as `hyperfine --export-json` does.
    #[arg(long, value_name = "FILE")]
    export_hyperfine: Option<String>,
}

/// What a line of CSV and Parquet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Table {
    /// A figure of a case on a target.
    Rows,
    /// Two figures compared.
    Comparisons,
}

/// What a line of CSV and Parquet of a bill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BillTable {
    /// An item, or a total.
    Items,
    /// What a change would add or save.
    Changes,
}

/// The content of a document.
pub(super) enum Subject<'a> {
    /// A run.
    Run(RunDocument<'a>),
    /// Runs that were compared.
    Comparison(&'a ComparisonContent<'a>),
    /// A bill.
    Bill(BillDocument<'a>),
    /// Two bills side by side.
    Bills(&'a BillComparison),
    /// Machines side by side.
    Machines(&'a TableContent<'a>),
}

/// A run as the content of documents.
#[derive(Clone, Copy)]
pub(super) struct RunDocument<'a> {
    /// Its record; with the raw samples if it has any, for a page.
    pub(super) record: &'a Record,
    /// Whether its JSON includes the raw samples.
    pub(super) samples: bool,
    /// The study that it was measured for.
    pub(super) study: Option<&'a MeasuredStudy>,
    /// The run before it.
    pub(super) before: Option<&'a PreviousRun>,
    /// What a line of its tables is.
    pub(super) table: Table,
}

/// A bill as the content of documents.
#[derive(Clone, Copy)]
pub(super) struct BillDocument<'a> {
    /// The bill.
    pub(super) bill: &'a Bill,
    /// What a line of its table is.
    pub(super) table: BillTable,
}

impl RunDocument<'_> {
    fn json(&self) -> anyhow::Result<String> {
        if self.samples {
            return Ok(report::json::record(self.record)?);
        }
        let mut record = self.record.clone();
        let repetitions = record.results.iter_mut().flat_map(|row| &mut row.repetitions);
        repetitions.for_each(|it| it.samples = None);
        Ok(report::json::record(&record)?)
    }

    fn html(&self) -> anyhow::Result<String> {
        let Self { record, study, before, .. } = *self;
        let change = if study.is_none() { change_since(before) } else { None };
        let catalog = definitions().ok();
        let study = study.map(|study| match study_comparison(study, record) {
            Some(comparison) => StudyComparison::Two(Box::new(comparison)),
            None => StudyComparison::One(Box::new(side_by_side(study, record))),
        });
        let shown = page::PageContent { record, study, catalog: catalog.as_ref() };
        report::html(&page::run(&shown).with_finding(change))
    }
}

impl Subject<'_> {
    /// The document in this format.
    fn make(&self, format: Format) -> anyhow::Result<Vec<u8>> {
        match self {
            Subject::Run(run) => of_run(run, format),
            Subject::Comparison(shown) => of_comparison(shown, format),
            Subject::Bill(bill) => of_bill(*bill, format),
            Subject::Bills(compared) => of_bills(compared, format),
            Subject::Machines(shown) => of_machines(shown, format),
        }
    }
}

fn of_run(run: &RunDocument<'_>, format: Format) -> anyhow::Result<Vec<u8>> {
    let RunDocument { record, before, table, .. } = *run;
    let sheet = || match table {
        Table::Rows => Sheet::rows(record),
        Table::Comparisons => Sheet::comparisons(record),
    };
    Ok(match format {
        Format::Json => run.json()?.into_bytes(),
        Format::Html => run.html()?.into_bytes(),
        Format::Csv => report::csv(&sheet())?,
        Format::Markdown => {
            let view = report::brief(record).with_finding(change_since(before));
            report::markdown(&view).into_bytes()
        }
        Format::Parquet => report::parquet(&sheet())?,
        Format::Hyperfine => {
            report::json::value(&report::export::hyperfine::results(record))?.into_bytes()
        }
    })
}

fn of_comparison(shown: &ComparisonContent<'_>, format: Format) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        Format::Json => report::compare::json(shown)?.into_bytes(),
        Format::Html => {
            report::html(&page::comparison(shown, definitions().ok().as_ref()))?.into_bytes()
        }
        Format::Csv => report::csv(&Sheet::compared(shown))?,
        Format::Markdown => report::markdown(&report::compare::brief(shown)).into_bytes(),
        Format::Parquet => report::parquet(&Sheet::compared(shown))?,
        Format::Hyperfine => {
            let what = "hyperfine's format has no comparison of runs";
            return Err(refusal(what, EXPORT_EACH));
        }
    })
}

fn of_bill(
    BillDocument { bill, table }: BillDocument<'_>,
    format: Format,
) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        Format::Json => report::bill::json(bill)?.into_bytes(),
        Format::Html => report::html(&page::bill(bill))?.into_bytes(),
        Format::Csv => match table {
            BillTable::Items => report::csv(&BillSheet::of(bill))?,
            BillTable::Changes => report::csv(&ChangeSheet::of(bill))?,
        },
        Format::Markdown => report::markdown(&report::bill::view(bill)).into_bytes(),
        Format::Parquet => match table {
            BillTable::Items => report::parquet(&BillSheet::of(bill))?,
            BillTable::Changes => report::parquet(&ChangeSheet::of(bill))?,
        },
        Format::Hyperfine => {
            return Err(refusal("hyperfine's format has no bill", TIMES_OF_COMMAND));
        }
    })
}

fn of_bills(compared: &BillComparison, format: Format) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        Format::Json => report::bill_comparison::json(compared)?.into_bytes(),
        Format::Html => report::html(&report::bill_comparison::view(compared))?.into_bytes(),
        Format::Markdown => report::markdown(&report::bill_comparison::view(compared)).into_bytes(),
        Format::Csv | Format::Parquet => {
            let what = "two bills side by side are no table for other programs";
            let hint = "`oscost report BILL --csv FILE` writes each, `--json FILE` the comparison";
            return Err(refusal(what, hint));
        }
        Format::Hyperfine => {
            return Err(refusal("hyperfine's format has no bill", TIMES_OF_COMMAND));
        }
    })
}

fn of_machines(shown: &TableContent<'_>, format: Format) -> anyhow::Result<Vec<u8>> {
    let figures = || machine_table::figures(shown);
    Ok(match format {
        Format::Json => machine_table::json(shown)?.into_bytes(),
        Format::Html => report::html(&machine_table::view(shown))?.into_bytes(),
        Format::Csv => report::table_csv(&figures())?,
        Format::Markdown => report::markdown_page(&machine_table::view(shown)).into_bytes(),
        Format::Parquet => report::table_parquet(machine_table::SCHEMA, &figures())?,
        Format::Hyperfine => {
            return Err(refusal("hyperfine's format has no table of machines", EXPORT_EACH));
        }
    })
}

const EXPORT_EACH: &str = "`oscost report RUN --export-hyperfine FILE` writes each run";
const TIMES_OF_COMMAND: &str =
    "`oscost run --export-hyperfine FILE -- COMMAND` writes the times of a command";

/// A format that does not have what is to be written.
fn refusal(what: &str, hint: &str) -> anyhow::Error {
    UsageError::with_hint(what, hint).into()
}

impl Exports {
    /// The documents to write.
    fn documents(&self) -> Vec<Document> {
        let named = [
            (Format::Json, &self.json),
            (Format::Html, &self.html),
            (Format::Csv, &self.csv),
            (Format::Markdown, &self.markdown),
            (Format::Parquet, &self.parquet),
            (Format::Hyperfine, &self.export_hyperfine),
        ];
        let named =
            named.into_iter().filter_map(|(format, file)| Document::new(format, file.as_ref()));
        self.output.iter().cloned().chain(named).collect()
    }

    /// Whether raw samples are needed: a page shows their distribution.
    pub(super) fn needs_samples(&self) -> bool {
        self.documents().iter().any(|document| document.format == Format::Html)
    }

    /// The option of hyperfine's format, and whether it was given.
    pub(super) fn hyperfine_option(&self) -> (&'static str, bool) {
        (Format::Hyperfine.option(), self.export_hyperfine.is_some())
    }

    /// Whether nothing is to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.documents().is_empty()
    }

    /// Checks beforehand that all documents can be written.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        documents::check(&self.documents())
    }

    /// Writes all documents.
    pub(super) fn write(&self, subject: &Subject<'_>, output: &mut Output) -> anyhow::Result<()> {
        documents::write(&self.documents(), |format| subject.make(format), output)
    }

    /// Writes all documents, and the text unless a document goes to standard output.
    pub(super) fn write_with_text(
        &self,
        subject: &Subject<'_>,
        text: impl FnOnce() -> String,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let make = |format| subject.make(format);
        documents::write_with_text(&self.documents(), make, text, output)
    }
}
