//! Cache directories: the files that a workload works on, prepared once.
//!
//! A directory is filled under a temporary name and renamed when it is complete, so that a killed
//! preparation leaves no partial one. Only one process at a time fills or deletes the directory of
//! a workload: it holds a lock, which the kernel releases when the process ends.

use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use oscost_model::point::Point;
use thiserror::Error;

use super::environment::RunEnvironment;
use super::files::placeholders::Placeholders;
use super::files::quoting;
use super::files::spec::{Prepare, Spec};
use super::requirements::MissingItems;
use crate::files::input_file;
use crate::files::lock::{FileLock, LockError};
use crate::files::user_folder::create_private;

/// A file in a prepared directory with the commands that filled it.
const FILL_RECORD: &str = ".oscost-filled-by";
/// More than the commands of the largest workload file as text.
const MAX_FILL_RECORD_BYTES: u64 = 1 << 20;

/// Why a cache directory cannot be prepared or deleted.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The workload has no preparation.
    #[error("{0} needs no preparation")]
    Nothing(String),
    /// A requirement must be installed first.
    #[error(transparent)]
    Missing(#[from] MissingItems),
    /// Another process is preparing or deleting it.
    #[error("another oscost is preparing or deleting it")]
    Locked,
    /// A command failed.
    #[error("`{command}` ended with {status}")]
    Command {
        /// The command, shortened.
        command: String,
        /// Its exit status.
        status: String,
    },
    /// A command could not be started, or a placeholder could not be replaced.
    #[error("{0}")]
    Start(String),
    /// The commands succeeded without creating the marker file.
    #[error("its commands succeeded, but did not create {0:?}")]
    NoMarker(String),
    /// A file operation failed.
    #[error("{0:?}: {1}")]
    File(PathBuf, #[source] io::Error),
}

/// The result of a preparation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparationOutcome {
    /// It filled the directory.
    Now,
    /// The directory was filled before, by the same commands.
    Already,
}

/// The state of a cache directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was filled by the commands of the workload.
    Ready,
    /// It does not exist, or is incomplete.
    Absent,
    /// It was filled by other commands: those of another version.
    Outdated,
}

/// The state of the cache directory of a workload.
pub(super) fn state(spec: &Spec, environment: &RunEnvironment) -> State {
    let Some(prepare) = &spec.prepare else { return State::Ready };
    let folder = environment.cache_of(spec);
    match input_file::read(&folder.join(FILL_RECORD), MAX_FILL_RECORD_BYTES) {
        Ok(record) if record != fill_record(prepare).as_bytes() => State::Outdated,
        Ok(_) if folder.join(&prepare.marker_file).exists() => State::Ready,
        Ok(_) | Err(_) => State::Absent,
    }
}

/// The commands as text: the same commands fill a directory the same way.
fn fill_record(prepare: &Prepare) -> String {
    format!("{:?}\n", prepare.commands)
}

/// Fills the cache directory of a workload; the output of its commands is passed on to `output`.
pub fn prepare(
    spec: &Spec,
    environment: &RunEnvironment,
    output: &mut dyn Write,
) -> Result<PreparationOutcome, CacheError> {
    let prepare = spec.prepare.as_ref().ok_or_else(|| CacheError::Nothing(spec.id.clone()))?;
    let missing = spec.missing_needs();
    if !missing.lacks.is_empty() {
        return Err(missing.into());
    }
    let paths = CachePaths::of(spec, environment);
    let lock = paths.lock()?;
    if state(spec, environment) == State::Ready {
        return Ok(PreparationOutcome::Already);
    }
    // Left over by a killed preparation.
    remove(&paths.staging)?;
    DirBuilder::new().mode(0o700).create(&paths.staging).map_err(error_at(&paths.staging))?;
    let preparation = Preparation { spec, prepare, environment, staging: &paths.staging, lock };
    let filled = preparation.run(output).and_then(|()| {
        remove(&paths.folder)?;
        std::fs::rename(&paths.staging, &paths.folder).map_err(error_at(&paths.folder))
    });
    if filled.is_err() {
        // The error of the preparation is reported, not one of this.
        let _ = remove(&paths.staging);
    }
    filled.map(|()| PreparationOutcome::Now)
}

/// Deletes the cache directory of a workload and leftovers of a killed preparation; `false` if
/// there was nothing.
pub fn clean(spec: &Spec, environment: &RunEnvironment) -> Result<bool, CacheError> {
    let paths = CachePaths::of(spec, environment);
    if !paths.root.exists() {
        return Ok(false);
    }
    let _lock = paths.lock()?;
    let had_leftovers = remove(&paths.staging)?;
    Ok(remove(&paths.folder)? || had_leftovers)
}

/// A preparation under the lock.
struct Preparation<'a> {
    spec: &'a Spec,
    prepare: &'a Prepare,
    environment: &'a RunEnvironment,
    staging: &'a Path,
    lock: FileLock,
}

impl Preparation<'_> {
    /// Runs the commands in the staging directory.
    fn run(&self, output: &mut dyn Write) -> Result<(), CacheError> {
        let Self { spec, prepare, environment, staging, lock } = self;
        let point = Point::none();
        let placeholders =
            Placeholders::new(spec, &point, environment).map_err(CacheError::Start)?;
        let variables = placeholders.variables(&spec.variables);
        for words in &prepare.commands {
            let words = placeholders.command(words).map_err(CacheError::Start)?;
            let [program, arguments @ ..] = &words[..] else { continue };
            let mut command = Command::new(program);
            command.args(arguments).envs(&variables).current_dir(staging);
            // Standard input is the lock file, which is empty. The commands hold the lock too: if
            // this process is killed, the directory is not deleted before the last command ends.
            command.stdin(lock.try_clone_file().map_err(error_at(staging))?);
            run_command(command, &quoting::command(&words), output)?;
        }
        if !staging.join(&prepare.marker_file).exists() {
            return Err(CacheError::NoMarker(prepare.marker_file.clone()));
        }
        let record = staging.join(FILL_RECORD);
        std::fs::write(&record, fill_record(prepare)).map_err(error_at(&record))
    }
}

/// Runs a command to its end, and passes on its output as it arrives.
fn run_command(
    mut command: Command,
    shown: &str,
    output: &mut dyn Write,
) -> Result<(), CacheError> {
    let failed = |error: io::Error| CacheError::Start(format!("cannot start `{shown}`: {error}"));
    let (mut reader, writer) = io::pipe().map_err(failed)?;
    let stderr = writer.try_clone().map_err(failed)?;
    let mut child = command.stdout(writer).stderr(stderr).spawn().map_err(failed)?;
    // Closes our own writing ends of the pipe: reading ends when the child's are closed.
    drop(command);
    let mut bytes = [0; 4096];
    let mut written = Ok(());
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => break,
            // A closed output does not stop the preparation.
            Ok(read) if written.is_ok() => {
                written = output.write_all(bytes.get(..read).unwrap_or_default());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(()),
        false => Err(CacheError::Command { command: shown.to_owned(), status: status.to_string() }),
    }
}

/// The paths of a cache directory.
struct CachePaths {
    root: PathBuf,
    folder: PathBuf,
    staging: PathBuf,
    lock: PathBuf,
}

impl CachePaths {
    fn of(spec: &Spec, environment: &RunEnvironment) -> Self {
        let folder = environment.cache_of(spec);
        let root = folder.parent().unwrap_or(&folder).to_owned();
        let staging = root.join(format!(".{}.new", spec.name()));
        let lock = root.join(format!(".{}.lock", spec.name()));
        Self { root, folder, staging, lock }
    }

    fn lock(&self) -> Result<FileLock, CacheError> {
        create_private(&self.root).map_err(error_at(&self.root))?;
        FileLock::acquire(&self.lock).map_err(|error| match error {
            LockError::Held => CacheError::Locked,
            LockError::Io(error) => error_at(&self.lock)(error),
        })
    }
}

fn error_at(path: &Path) -> impl Fn(io::Error) -> CacheError + '_ {
    move |error| CacheError::File(path.to_owned(), error)
}

/// Removes a directory with its content, or a symbolic link; links are never followed. `false` if
/// nothing exists there.
fn remove(path: &Path) -> Result<bool, CacheError> {
    let metadata = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        metadata => metadata.map_err(error_at(path))?,
    };
    let removed = match metadata.is_dir() {
        // The standard library opens each entry relative to its directory (CVE-2022-21658).
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    removed.map(|()| true).map_err(error_at(path))
}

#[cfg(test)]
mod tests;
