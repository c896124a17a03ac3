//! Files of a folder that several machines see, and into which others may write: names are numbers
//! alone, links are not followed, sizes are bounded, and what is written is whole or absent.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::Mode;
use oscost_model::fleet::MAX_TASKS;

/// How the names of files begin that are being written; a UUID follows.
const UNFINISHED: &str = ".tmp-";

/// A folder has a few files for each task; more are those of strangers.
const MAX_ENTRIES: usize = 4 * MAX_TASKS;

/// A file whose name is the number of a task.
pub(super) struct NumberedFile {
    pub(super) task: u32,
    /// Whether it is a regular file, and no link to one.
    pub(super) is_regular: bool,
}

/// The name of the file of a task.
pub(super) fn name_of(task: u32) -> String {
    format!("{task}.json")
}

/// The files of a folder that have numbers of tasks as their names; none if there is no folder.
pub(super) fn numbered(folder: &Path) -> io::Result<Vec<NumberedFile>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for (count, entry) in entries.enumerate() {
        if count == MAX_ENTRIES {
            // To leave out the rest in silence would leave out records.
            let why = format!("it has more than {MAX_ENTRIES} files");
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        }
        let entry = entry?;
        if let Some(task) = entry.file_name().to_str().and_then(task_number) {
            let is_regular = entry.file_type().is_ok_and(|kind| kind.is_file());
            found.push(NumberedFile { task, is_regular });
        }
    }
    Ok(found)
}

/// The number of a task by the name of its file; `007.json` is none.
fn task_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

/// Reads a regular file; more than `max_bytes` are an error. The folder it is in may be a link.
pub(super) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    read_to_end(OpenOptions::new().read(true).custom_flags(flags).open(path)?, max_bytes)
}

/// Reads a regular file of a folder; more than `max_bytes` are an error. The folder may be no link.
pub(super) fn read_in(folder: &Path, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::from(openat(&folder, name, flags | OFlag::O_CLOEXEC, Mode::empty())?);
    read_to_end(file, max_bytes)
}

fn read_to_end(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let why = format!("it has more than {max_bytes} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Writes a file under another name, and renames it when it is on the disk.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    // Process ids repeat among nodes.
    let beside = folder.join(format!("{UNFINISHED}{}", uuid::Uuid::now_v7().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&beside, folder.join(name)));
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        return renamed;
    }
    File::open(folder)?.sync_all()
}

/// Removes the files of a folder that `write_whole` began and did not finish, if they were last
/// written this long ago.
pub(super) fn remove_stale(folder: &Path, age: Duration) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let now = SystemTime::now();
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_unfinished) {
            continue;
        }
        // One that is gone by now was finished.
        let Ok(found) = entry.metadata() else { continue };
        let unchanged_for = found.modified().ok().and_then(|at| now.duration_since(at).ok());
        if found.is_file() && unchanged_for.is_some_and(|since| since >= age) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_unfinished(name: &str) -> bool {
    let id = name.strip_prefix(UNFINISHED);
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let stale = format!("{UNFINISHED}{}", uuid::Uuid::now_v7().simple());
        for name in [stale.as_str(), ".tmp-0", "1.json"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        remove_stale(folder.path(), Duration::from_secs(3_600)).unwrap();
        assert!(folder.path().join(&stale).exists(), "it may be one that is being written");
        remove_stale(folder.path(), Duration::ZERO).unwrap();
        assert!(!folder.path().join(&stale).exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        remove_stale(&folder.path().join("absent"), Duration::ZERO).unwrap();
    }
}
