//! The options that write a report of a fleet to files.

use crate::app::UsageError;
use crate::cli::documents::{self, Document, Format, by_ending};
use crate::cli::output::Output;
use crate::report;
use crate::report::view::document::{Table, View};

/// The files to write.
#[derive(Debug, clap::Args)]
pub(super) struct TableExports {
    /// Write to FILE in the format of its ending: .html, .json, .csv, .md or .parquet.
    #[arg(short, long = "output", value_name = "FILE", value_parser = by_ending)]
    output: Vec<Document>,
    /// Write JSON; `-` is standard output, instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// A report as the formats have it.
pub(super) struct ReportFormats<'a> {
    /// The report for people.
    pub(super) view: &'a dyn Fn() -> View,
    /// Its figures, a line each.
    pub(super) table: &'a dyn Fn() -> Table,
    /// The document for programs.
    pub(super) json: &'a dyn Fn() -> serde_json::Result<String>,
    /// The version of that document.
    pub(super) schema: &'static str,
}

impl ReportFormats<'_> {
    fn make(&self, format: Format) -> anyhow::Result<Vec<u8>> {
        Ok(match format {
            Format::Json => (self.json)()?.into_bytes(),
            Format::Html => report::html(&(self.view)())?.into_bytes(),
            Format::Csv => report::table_csv(&(self.table)())?,
            Format::Markdown => report::markdown_page(&(self.view)()).into_bytes(),
            Format::Parquet => report::table_parquet(self.schema, &(self.table)())?,
            Format::Hyperfine => {
                let what = "hyperfine's format has no report of a fleet";
                return Err(UsageError::with_hint(what, "name a file that ends in .json").into());
            }
        })
    }
}

impl TableExports {
    fn documents(&self) -> Vec<Document> {
        let json = Document::new(Format::Json, self.json.as_ref());
        self.output.iter().cloned().chain(json).collect()
    }

    /// Checks beforehand that all documents can be written.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        documents::check(&self.documents())
    }

    /// Writes all documents, and the text unless a document goes to standard output.
    pub(super) fn write(
        &self,
        formats: &ReportFormats<'_>,
        text: impl FnOnce() -> String,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        documents::write_with_text(&self.documents(), |it| formats.make(it), text, output)
    }
}
