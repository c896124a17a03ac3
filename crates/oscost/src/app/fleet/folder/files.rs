//! Files of a folder that several machines see, and into which others may write: names are numbers
//! alone, links are not followed, sizes are bounded, and what is written is whole or absent.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::Mode;
use oscost_model::fleet::MAX_TASKS;

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
    // Files of strangers beside them are bounded, too.
    for entry in entries.take(4 * MAX_TASKS) {
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
    let beside = folder.join(format!(".tmp-{}", uuid::Uuid::now_v7().simple()));
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
