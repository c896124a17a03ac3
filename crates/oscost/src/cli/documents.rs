//! Documents that are written to files or standard output, in the format of the file's ending.

use std::io::IsTerminal;

use super::benchmark_names::is_benchmark;
use super::output::{Destination, Output, report_error};
use crate::app::UsageError;

/// A format of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Html,
    Csv,
    Markdown,
    Parquet,
    Hyperfine,
}

impl Format {
    /// The ending of its files.
    fn ending(self) -> &'static str {
        match self {
            Format::Json => ".json",
            Format::Html => ".html",
            Format::Csv => ".csv",
            Format::Markdown => ".md",
            Format::Parquet => ".parquet",
            Format::Hyperfine => ".hyperfine.json",
        }
    }

    /// The option that names a file of it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Format::Json => "--json",
            Format::Html => "--html",
            Format::Csv => "--csv",
            Format::Markdown => "--markdown",
            Format::Parquet => "--parquet",
            Format::Hyperfine => "--export-hyperfine",
        }
    }
}

/// Those that a file's ending names: hyperfine's is an ending of JSON, and has an option of its own.
const FORMATS: [Format; 5] =
    [Format::Html, Format::Json, Format::Csv, Format::Markdown, Format::Parquet];

/// A document to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) format: Format,
    pub(super) to: Destination,
}

impl Document {
    /// In a format of which an option names the file.
    pub(super) fn new(format: Format, file: Option<&String>) -> Option<Self> {
        Some(Self { format, to: Destination::of(file?) })
    }
}

/// A file of `-o`, in the format of its ending.
pub(super) fn by_ending(file: &str) -> Result<Document, String> {
    let found = FORMATS.into_iter().find(|format| file.ends_with(format.ending()));
    let format = found.ok_or_else(|| {
        let endings = FORMATS.map(Format::ending).join(", ");
        format!("its name must end in one of {endings}")
    })?;
    Ok(Document { format, to: Destination::of(file) })
}

/// Checks beforehand that all documents can be written.
pub(super) fn check(documents: &[Document]) -> anyhow::Result<()> {
    for (at, Document { format, to }) in documents.iter().enumerate() {
        if documents[..at].iter().any(|other| other.to == *to) {
            let what = match to {
                Destination::Stdout => "standard output takes one document".to_owned(),
                Destination::File(path) => {
                    format!("two documents are to be written to {}", path.display())
                }
            };
            return Err(UsageError::with_hint(&what, "name another file for one of them").into());
        }
        let is_shown = *to == Destination::Stdout && std::io::stdout().is_terminal();
        if *format == Format::Parquet && is_shown {
            let what = "a terminal cannot show Parquet";
            return Err(UsageError::with_hint(what, "name a file, or pipe it to a program").into());
        }
        if let Destination::File(path) = to
            && let Some(name) = path.to_str().filter(|name| is_selector(name))
        {
            return Err(taken_for_file(*format, name).into());
        }
        to.check()?;
    }
    Ok(())
}

/// Whether the name of a file is probably a selector: the option takes the word behind it, and all
/// of the price list would be measured.
fn is_selector(name: &str) -> bool {
    let benchmark = name.split(':').next().unwrap_or_default();
    !name.starts_with('/') && !name.contains('.') && is_benchmark(benchmark)
}

fn taken_for_file(format: Format, name: &str) -> UsageError {
    let option = format.option();
    let what = format!("{option} would write to a file `{name}`, which is the name of a benchmark");
    let hint = format!(
        "`{option} -` before the name writes to standard output; `{option} ./{name}` to that file"
    );
    UsageError::with_hint(&what, &hint)
}

/// Writes all documents; an error with one does not keep the others from being written.
pub(super) fn write(
    documents: &[Document],
    make: impl Fn(Format) -> anyhow::Result<Vec<u8>>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let mut failed = None;
    for Document { format, to } in documents {
        let written = make(*format).and_then(|made| to.write(&made, output));
        if let Err(error) = written
            && let Some(before) = failed.replace(error)
        {
            // The last error is returned.
            report_error(&before);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Writes all documents, and the text unless a document goes to standard output.
pub(super) fn write_with_text(
    documents: &[Document],
    make: impl Fn(Format) -> anyhow::Result<Vec<u8>>,
    text: impl FnOnce() -> String,
    output: &mut Output,
) -> anyhow::Result<()> {
    let written = write(documents, make, output);
    if !documents.iter().any(|document| document.to == Destination::Stdout) {
        output.write(&text())?;
    }
    // The table is shown even if a file cannot be written.
    written
}
