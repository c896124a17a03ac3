//! Standard output and standard error.

#![expect(
    clippy::print_stderr,
    reason = "this is where the tool speaks to a person, between workers only"
)]

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Where data goes.
pub(super) struct Output(std::io::Stdout);

impl Output {
    pub(super) fn stdout() -> Self {
        Self(std::io::stdout())
    }

    /// Writes data; a reader that has gone away shows as an error (see [`is_broken_pipe`]).
    pub(super) fn write(&mut self, data: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
        let mut out = self.0.lock();
        let written = out.write_all(data.as_ref()).and_then(|()| out.flush());
        written.context("cannot write to standard output")
    }
}

/// Where a document goes: `-` is standard output, anything else a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Destination {
    pub(super) fn of(text: &str) -> Self {
        if text == "-" { Destination::Stdout } else { Destination::File(PathBuf::from(text)) }
    }

    /// Writes the document; a file is there whole or not at all.
    pub(super) fn write(
        &self,
        document: &(impl AsRef<[u8]> + ?Sized),
        output: &mut Output,
    ) -> anyhow::Result<()> {
        match self {
            Destination::Stdout => output.write(document),
            Destination::File(path) => write_whole(path, document.as_ref())
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }

    /// Finds out beforehand whether a file could be written there: a minute's figures are not to be
    /// lost for a misspelt folder. Nothing is left of the attempt; a device or a pipe is not touched.
    pub(super) fn look(&self) -> anyhow::Result<()> {
        let Destination::File(path) = self else { return Ok(()) };
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(());
        }
        let looked = beside(path).and_then(|beside| {
            File::create_new(&beside)?;
            std::fs::remove_file(&beside)
        });
        looked.map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "its folder is not there".to_owned(),
                ErrorKind::IsADirectory => "it is a folder".to_owned(),
                _ => error.to_string(),
            };
            anyhow::anyhow!("cannot write {}: {why}", path.display())
        })
    }
}

/// The file beside `path` that becomes it when it is whole.
fn beside(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{}", std::process::id())))
}

/// Writes beside the file and renames: a full disk leaves no half-written file behind.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A device or a pipe cannot be renamed over; it is written to as it is.
    if path.exists() && !path.is_file() && !path.is_dir() {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    let beside = beside(path)?;
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&beside, path));
    if renamed.is_err() {
        // The reason for the failure is what matters; the rest is tidying up.
        let _ = std::fs::remove_file(&beside);
    }
    renamed
}

/// Whether an error is only that nobody reads any more.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// Says what went wrong, with its causes.
pub(super) fn complain(error: &anyhow::Error) {
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  caused by: {cause}");
    }
}

/// Says something that is no error.
pub(super) fn remark(text: &str) {
    eprintln!("{text}");
}
