//! Standard output, standard error, and files of the user's.

#![expect(
    clippy::print_stderr,
    reason = "the only module that writes to standard error, and only between workers"
)]

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Standard output, for data.
pub(super) struct Output(std::io::Stdout);

impl Output {
    pub(super) fn stdout() -> Self {
        Self(std::io::stdout())
    }

    /// Writes data; a closed pipe is an error (see [`is_broken_pipe`]).
    pub(super) fn write(&mut self, data: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
        let mut out = self.0.lock();
        let written = out.write_all(data.as_ref()).and_then(|()| out.flush());
        written.context("cannot write to standard output")
    }
}

/// The destination of a document: `-` is standard output, anything else a file.
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

    /// Writes the document; a file is written completely or not created.
    pub(super) fn write(
        &self,
        document: &(impl AsRef<[u8]> + ?Sized),
        output: &mut Output,
    ) -> anyhow::Result<()> {
        match self {
            Destination::Stdout => output.write(document),
            Destination::File(path) => write_atomically(path, document.as_ref())
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }

    /// Checks before measuring that the file can be written, so that a misspelt folder does not
    /// cost the results. The check leaves no file behind; a device or a pipe is not touched.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Destination::File(path) = self else { return Ok(()) };
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(());
        }
        let tried = temporary_name(path).and_then(|temporary| {
            File::create_new(&temporary)?;
            std::fs::remove_file(&temporary)
        });
        tried.map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound if !has_parent(path) => "its folder does not exist".to_owned(),
                ErrorKind::IsADirectory => "it is a folder".to_owned(),
                _ => error.to_string(),
            };
            anyhow::anyhow!("cannot write {}: {why}", path.display())
        })
    }
}

/// Whether the folder of this file exists; an open file descriptor in /proc gives the same error
/// where it does.
fn has_parent(path: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.is_none_or(Path::is_dir)
}

/// The file next to `path` that is renamed to it when it is complete.
fn temporary_name(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{}", std::process::id())))
}

/// Writes a temporary file and renames it: a full disk leaves no partial file behind.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A device or a pipe cannot be replaced by a rename; it is written directly.
    if path.exists() && !path.is_file() && !path.is_dir() {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    let temporary = temporary_name(path)?;
    let written = File::create_new(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&temporary);
    }
    renamed
}

/// Whether the error is that the reader has closed its pipe.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// Reports an error with its causes.
pub(super) fn report_error(error: &anyhow::Error) {
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  caused by: {cause}");
    }
}

/// Writes a line to standard error.
pub(super) fn report_line(text: &str) {
    eprintln!("{text}");
}
