//! The options that write what was measured to files, which `run`, `ab`, `compare` and `report`
//! share.

use std::io::IsTerminal;

use oscost_model::definition::Catalog;
use oscost_model::record::Record;

use super::UsageError;
use super::output::{Destination, Output, complain};
use super::programs::Programs;
use crate::hosts::WorkerBinary;
use crate::report;
use crate::report::compare::Shown;
use crate::report::export::{self, Sheet};
use crate::report::html::{self, OfStudy};
use crate::studies::Study;
use crate::studies::beside::beside;
use crate::studies::lay::lay;

/// Where it is written to, and as what.
#[derive(Debug, clap::Args)]
pub(super) struct Exports {
    /// Write JSON (a run's record, or `oscost.comparison/1`) to a file, or with `-` to standard
    /// output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write a page for a browser likewise: one file, which needs no network.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Write CSV likewise, a line for each figure or comparison.
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Write a page of Markdown likewise, for a pull request.
    #[arg(long, value_name = "FILE")]
    markdown: Option<String>,
    /// Write Parquet likewise, for pandas and DuckDB.
    #[arg(long, value_name = "FILE")]
    parquet: Option<String>,
}

/// What a line of CSV and Parquet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Table {
    /// A figure of a case at a place.
    Rows,
    /// Two figures compared.
    Comparisons,
}

/// What is written.
pub(super) enum Subject<'a> {
    /// A run.
    Run(OfRun<'a>),
    /// Runs that were compared.
    Compared(&'a Shown<'a>),
}

/// A run that is written.
#[derive(Clone, Copy)]
pub(super) struct OfRun<'a> {
    /// Its record; for a page with all raw batches, if they are to be had.
    pub(super) record: &'a Record,
    /// Whether these stand in its JSON, too.
    pub(super) samples: bool,
    /// The study that it was measured for.
    pub(super) study: Option<&'a Study>,
    /// What is written of it as a table.
    pub(super) table: Table,
}

impl OfRun<'_> {
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
        let Self { record, study, .. } = *self;
        let catalog = catalog();
        let two = |study| Some(OfStudy::Two(Box::new(lay(study, record)?)));
        let study = study.map(|study| {
            two(study).unwrap_or_else(|| OfStudy::One(Box::new(beside(study, record))))
        });
        html::run(&html::Shown { record, study, catalog: catalog.as_ref() })
    }
}

/// What is explained of benchmarks; nothing where there is no worker to ask.
fn catalog() -> Option<Catalog> {
    Some(Programs::known().beside(&WorkerBinary::find().ok()?.catalog))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Html,
    Csv,
    Markdown,
    Parquet,
}

impl Format {
    /// The document, whole.
    fn make(self, subject: &Subject<'_>) -> anyhow::Result<Vec<u8>> {
        let sheet = || match subject {
            Subject::Run(OfRun { record, table: Table::Rows, .. }) => Sheet::rows(record),
            Subject::Run(OfRun { record, .. }) => Sheet::comparisons(record),
            Subject::Compared(shown) => Sheet::compared(shown),
        };
        Ok(match (self, subject) {
            (Format::Json, Subject::Run(run)) => run.json()?.into_bytes(),
            (Format::Json, Subject::Compared(shown)) => report::compare::json(shown)?.into_bytes(),
            (Format::Html, Subject::Run(run)) => run.html()?.into_bytes(),
            (Format::Html, Subject::Compared(shown)) => {
                html::comparison(shown, catalog().as_ref())?.into_bytes()
            }
            (Format::Csv, _) => export::csv(&sheet())?,
            (Format::Markdown, Subject::Run(run)) => report::markdown::run(run.record).into_bytes(),
            (Format::Markdown, Subject::Compared(shown)) => {
                report::markdown::comparison(shown).into_bytes()
            }
            (Format::Parquet, _) => export::parquet(&sheet())?,
        })
    }
}

impl Exports {
    /// What was asked for.
    fn asked(&self) -> Vec<(Format, Destination)> {
        let all = [
            (Format::Json, &self.json),
            (Format::Html, &self.html),
            (Format::Csv, &self.csv),
            (Format::Markdown, &self.markdown),
            (Format::Parquet, &self.parquet),
        ];
        all.into_iter()
            .filter_map(|(format, file)| Some((format, Destination::of(file.as_deref()?))))
            .collect()
    }

    /// Whether raw batches are wanted: a page shows how they are spread.
    pub(super) fn wants_samples(&self) -> bool {
        self.html.is_some()
    }

    /// Whether nothing was.
    pub(super) fn is_empty(&self) -> bool {
        self.asked().is_empty()
    }

    /// Refuses beforehand what could not be written in the end.
    pub(super) fn look(&self) -> anyhow::Result<()> {
        let asked = self.asked();
        for (at, (format, target)) in asked.iter().enumerate() {
            if asked[..at].iter().any(|(_, other)| other == target) {
                let text = match target {
                    Destination::Stdout => "two documents on standard output would be none: \
                                       name a file for one of them"
                        .to_owned(),
                    Destination::File(path) => {
                        format!("two documents are to be written to {}", path.display())
                    }
                };
                return Err(UsageError(text).into());
            }
            let is_shown = *target == Destination::Stdout && std::io::stdout().is_terminal();
            if *format == Format::Parquet && is_shown {
                let text = "a terminal cannot show Parquet: name a file, or pipe it to a program";
                return Err(UsageError(text.to_owned()).into());
            }
            target.look()?;
        }
        Ok(())
    }

    /// Writes all that was asked for; what cannot be written does not cost the rest.
    pub(super) fn write(&self, subject: &Subject<'_>, output: &mut Output) -> anyhow::Result<()> {
        let mut failed = None;
        for (format, target) in self.asked() {
            let written = format.make(subject).and_then(|made| target.write(&made, output));
            if let Err(error) = written {
                // The last one is left to whoever asked.
                if let Some(before) = failed.replace(error) {
                    complain(&before);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Writes all that was asked for, and the text unless a document takes its place.
    pub(super) fn show(
        &self,
        subject: &Subject<'_>,
        text: impl FnOnce() -> String,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let written = self.write(subject, output);
        if !self.asked().iter().any(|(_, target)| *target == Destination::Stdout) {
            output.write(&text())?;
        }
        // A file that cannot be written does not cost the table.
        written
    }
}
