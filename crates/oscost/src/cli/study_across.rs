//! `oscost study across`

use super::display;
use super::documents::{self, Document, Format, by_ending};
use super::exit::ExitStatus;
use super::output::Output;
use super::terminal::Terminal;
use crate::app::UsageError;
use crate::app::study_across::{Request, look_up};
use crate::report;
use crate::report::study::across::{self as view, AcrossContent};

/// Which studies, and where to write.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A study's row names its act; the newest run of this machine that measured the
row's case is shown with it, whatever that run was for. If cases were never
measured, the command that measures them is shown.

Examples:
  oscost study across                          in the terminal
  oscost study across -o across.html           a page with a curve for each act
  oscost study across -o across.csv            every published figure in a line
  oscost study across mine.toml                with a study of your own")]
pub(super) struct Arguments {
    /// Study files of your own, added to those that come with oscost.
    #[arg(value_name = "STUDY")]
    files: Vec<String>,
    /// Target whose runs are compared with the studies.
    #[arg(long, value_name = "TARGET", default_value = "local")]
    at: String,
    /// Write to FILE in the format of its ending: .html, .csv, .md or .json.
    #[arg(short, long = "output", value_name = "FILE", value_parser = by_ending)]
    output: Vec<Document>,
    /// Write JSON (`oscost.study-across/1`); `-` is standard output, instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write a page for a browser: one file, which loads nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

pub(super) fn across(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { files, at, output: documents, json, html } = arguments;
    let mut documents = documents.clone();
    documents.extend(Document::new(Format::Json, json.as_ref()));
    documents.extend(Document::new(Format::Html, html.as_ref()));
    if documents.iter().any(|it| it.format == Format::Parquet) {
        let what = "the acts of studies are written as .html, .csv, .md or .json";
        return Err(UsageError::with_hint(what, "name a file that ends so").into());
    }
    documents::check(&documents)?;
    let request = Request { files: files.clone(), at: at.clone() };
    let found = look_up(&request, &Terminal::new(output))?;
    let across = found.across();
    let content = AcrossContent {
        across: &across,
        target: at,
        machine: found.machine.as_deref(),
        other_runs: found.other_runs,
    };
    let make = |format| {
        Ok(match format {
            Format::Html => report::html(&view::page(&content))?.into_bytes(),
            Format::Csv => report::table_csv(&view::figures(&across))?,
            Format::Markdown => report::markdown_page(&view::document(&content)).into_bytes(),
            _ => view::json(&content)?.into_bytes(),
        })
    };
    documents::write_with_text(&documents, make, || display::text(&view::view(&content)), output)?;
    Ok(ExitStatus::Success)
}
