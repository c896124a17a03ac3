//! `oscost history`

use super::display;
use super::documents::{self, Document, Format, by_ending};
use super::exit::ExitStatus;
use super::output::Output;
use super::terminal::Terminal;
use crate::app::UsageError;
use crate::app::history::{Request, history as look_up};
use crate::report;

/// The default number of runs: those in which changes are looked for.
const DEFAULT_RUNS: &str = "60";

/// Which cases, and how many of their runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A series has the runs on machines and kernels of the newest run's class, with
one revision of the benchmark; the others are counted. The version of the
kernel, its command line, mitigations, what is attached to it, microcode, oscost
and the worker may differ: such updates are marked.

Examples:
  oscost history                               every case that changed
  oscost history syscall/getppid:via=raw       one case, run by run
  oscost history syscall 'pipe/*'              several, in short
  oscost history pipe/round-trip:size=4096     all cases of that size
  oscost history syscall/getppid --at seccomp=docker
  oscost history syscall --last 200 -o history.json
  oscost history 'syscall/*' -o history.html")]
pub(super) struct Arguments {
    /// A case, a benchmark, a family or a glob, of the runs in the store [default: what changed].
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// How many of the newest runs of a case to read; changes are searched for in the last 60.
    #[arg(long, value_name = "N", default_value = DEFAULT_RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
    /// Target that was measured.
    #[arg(long, value_name = "TARGET", default_value = "local")]
    at: String,
    /// Write to FILE in the format of its ending: .html or .json.
    #[arg(short, long = "output", value_name = "FILE", value_parser = by_ending)]
    output: Vec<Document>,
    /// Write JSON (`oscost.history/1`); `-` is standard output, instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write a page for a browser: one file, which loads nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

pub(super) fn history(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { cases, last, at, output: mut files, json, html } = arguments;
    files.extend(Document::new(Format::Json, json.as_ref()));
    files.extend(Document::new(Format::Html, html.as_ref()));
    if files.iter().any(|file| !matches!(file.format, Format::Json | Format::Html)) {
        let what = "a history is written as .html or .json";
        return Err(UsageError::with_hint(what, "name a file that ends so").into());
    }
    documents::check(&files)?;
    let history = look_up(&Request { cases, last: last as usize, at }, &Terminal::new(output))?;
    let make = |format| {
        Ok(match format {
            Format::Html => report::html(&report::page::history(&history))?.into_bytes(),
            _ => report::history::json(&history)?.into_bytes(),
        })
    };
    let text = || display::text(&report::history::view(&history));
    documents::write_with_text(&files, make, text, output)?;
    Ok(ExitStatus::Success)
}
