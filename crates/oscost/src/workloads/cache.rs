//! Cache folders: what a workload works on, made once.
//!
//! A folder is filled under another name beside its place and renamed when all is done, so that
//! whoever is killed in between leaves no half of it. One at a time fills or empties the folder of a
//! workload: a lock on a file beside it, which the kernel takes back from whoever ends.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use oscost_model::point::Point;
use thiserror::Error;

use super::environment::{Missing, Placeholders, RunEnvironment};
use super::{Prepare, Spec, quoting};

/// Says in a prepared folder what it was filled by.
const FILL_RECORD: &str = ".oscost-filled-by";
/// More than the commands of the longest file have, once they are written as text.
const MAX_FILL_RECORD_BYTES: u64 = 1 << 20;

/// Why a folder cannot be prepared or cleaned.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The workload works on nothing that is made beforehand.
    #[error("{0} needs no preparation")]
    Nothing(String),
    /// Something must be installed first.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Somebody else prepares or cleans it now.
    #[error("another oscost prepares or cleans it now")]
    Locked,
    /// A command went wrong.
    #[error("`{command}` ended with {how}")]
    Command {
        /// The command, shortened.
        command: String,
        /// Its exit status, in words.
        how: String,
    },
    /// A command could not be started, or a placeholder has no text.
    #[error("{0}")]
    Start(String),
    /// All commands went well, and what was to be there is not.
    #[error("its commands have ended, and {0:?} is not there")]
    Mark(String),
    /// A file or a folder.
    #[error("{0:?}: {1}")]
    File(PathBuf, #[source] io::Error),
}

/// What preparing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// It filled the folder.
    Now,
    /// The folder was filled already, by the same commands.
    Already,
}

/// What stands in the place of a cache folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The folder, filled by the commands that the workload has.
    Ready,
    /// Nothing, or nothing whole.
    Absent,
    /// A folder that was filled by other commands: those of another version.
    Other,
}

/// Whether its cache folder is there.
pub(super) fn state(spec: &Spec, here: &RunEnvironment) -> State {
    let Some(prepare) = &spec.prepare else { return State::Ready };
    let folder = here.cache_of(spec);
    let mut found = String::new();
    let read = File::open(folder.join(FILL_RECORD))
        .and_then(|file| file.take(MAX_FILL_RECORD_BYTES).read_to_string(&mut found));
    match read {
        Ok(_) if found != filled_by(prepare) => State::Other,
        Ok(_) if folder.join(&prepare.marker_file).exists() => State::Ready,
        Ok(_) | Err(_) => State::Absent,
    }
}

/// The commands as text: two that are alike have filled a folder alike.
fn filled_by(prepare: &Prepare) -> String {
    format!("{:?}\n", prepare.commands)
}

/// Fills the cache folder of a workload; what its commands write goes to `output`.
pub fn prepare(
    spec: &Spec,
    here: &RunEnvironment,
    output: &mut dyn Write,
) -> Result<Prepared, CacheError> {
    let wanted = spec.prepare.as_ref().ok_or_else(|| CacheError::Nothing(spec.id.clone()))?;
    let missing = spec.lacking();
    if !missing.lacks.is_empty() {
        return Err(missing.into());
    }
    let target = CachePaths::of(spec, here);
    let lock = target.lock()?;
    if state(spec, here) == State::Ready {
        return Ok(Prepared::Already);
    }
    // What a killed one has left.
    remove(&target.staging)?;
    DirBuilder::new().mode(0o700).create(&target.staging).map_err(at(&target.staging))?;
    let done = fill(spec, wanted, here, (&target, &lock), output).and_then(|()| {
        remove(&target.folder)?;
        std::fs::rename(&target.staging, &target.folder).map_err(at(&target.folder))
    });
    if done.is_err() {
        // The reason for the failure is what matters; the rest is tidying up.
        let _ = remove(&target.staging);
    }
    done.map(|()| Prepared::Now)
}

/// Removes the cache folder of a workload, and what a killed preparation has left; `false` where
/// there was none.
pub fn clean(spec: &Spec, here: &RunEnvironment) -> Result<bool, CacheError> {
    let target = CachePaths::of(spec, here);
    if !target.root.exists() {
        return Ok(false);
    }
    let _lock = target.lock()?;
    let left = remove(&target.staging)?;
    Ok(remove(&target.folder)? || left)
}

fn fill(
    spec: &Spec,
    wanted: &Prepare,
    here: &RunEnvironment,
    (target, lock): (&CachePaths, &Lock),
    output: &mut dyn Write,
) -> Result<(), CacheError> {
    let folder = &target.staging;
    let point = Point::none();
    let filler = Placeholders::of(spec, &point, here).map_err(CacheError::Start)?;
    let variables = filler.variables(&spec.variables);
    for words in &wanted.commands {
        let words = filler.command(words).map_err(CacheError::Start)?;
        let [program, rest @ ..] = &words[..] else { continue };
        let mut command = Command::new(program);
        command.args(rest).envs(&variables).current_dir(folder);
        // The lock is an empty file, so that there is nothing to read. It is theirs too: where we
        // are killed it is held until the last of them has ended, and nobody tidies up under them.
        command.stdin(lock.0.try_clone().map_err(at(&target.lock))?);
        run(command, &quoting::command(&words), output)?;
    }
    if !folder.join(&wanted.marker_file).exists() {
        return Err(CacheError::Mark(wanted.marker_file.clone()));
    }
    let by = folder.join(FILL_RECORD);
    std::fs::write(&by, filled_by(wanted)).map_err(at(&by))
}

/// Runs a command to its end, and passes on what it writes as it comes.
fn run(mut command: Command, shown: &str, output: &mut dyn Write) -> Result<(), CacheError> {
    let cannot = |error: io::Error| CacheError::Start(format!("cannot start `{shown}`: {error}"));
    let (mut reader, writer) = io::pipe().map_err(cannot)?;
    let both = writer.try_clone().map_err(cannot)?;
    let mut child = command.stdout(writer).stderr(both).spawn().map_err(cannot)?;
    // Our own ends of the pipe go with it: reading ends when the child's are closed.
    drop(command);
    let mut bytes = [0; 4096];
    let mut told = Ok(());
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => break,
            // Who no longer listens does not stop the work.
            Ok(read) if told.is_ok() => {
                told = output.write_all(bytes.get(..read).unwrap_or_default());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let status = child.wait().map_err(cannot)?;
    match status.success() {
        true => Ok(()),
        false => Err(CacheError::Command { command: shown.to_owned(), how: status.to_string() }),
    }
}

/// Where a cache folder lies, and what stands beside it.
struct CachePaths {
    root: PathBuf,
    folder: PathBuf,
    staging: PathBuf,
    lock: PathBuf,
}

impl CachePaths {
    fn of(spec: &Spec, here: &RunEnvironment) -> Self {
        let folder = here.cache_of(spec);
        let root = folder.parent().unwrap_or(&folder).to_owned();
        let beside = root.join(format!(".{}.new", spec.name()));
        let lock = root.join(format!(".{}.lock", spec.name()));
        Self { root, folder, staging: beside, lock }
    }

    /// The lock file itself stays: a lock on one that was removed would lock nobody out.
    fn lock(&self) -> Result<Lock, CacheError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
        made.map_err(at(&self.root))?;
        let mut options = OpenOptions::new();
        // A link in its place is not followed.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(nix::libc::O_NOFOLLOW).open(&self.lock);
        let file = file.map_err(at(&self.lock))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(CacheError::Locked),
            Err(TryLockError::Error(error)) => Err(at(&self.lock)(error)),
        }
    }
}

/// A lock that is held until this goes.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Said, and not left to the closing of the file: a process that another thread starts now
        // has a copy of it until it runs its program. It fails only where there was no lock.
        let _ = self.0.unlock();
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> CacheError + '_ {
    move |error| CacheError::File(path.to_owned(), error)
}

/// Removes a folder with all that is in it, or a link alone; links in it are removed, and never
/// followed. `false` where nothing is there.
fn remove(path: &Path) -> Result<bool, CacheError> {
    let known = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        known => known.map_err(at(path))?,
    };
    let removed = match known.is_dir() {
        // The standard library looks at each entry by the descriptor of its folder (CVE-2022-21658).
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    removed.map(|()| true).map_err(at(path))
}

#[cfg(test)]
mod tests;
