//! ftrace events at the entry and exit of every system call, in a tracing instance of our own: the
//! user's own tracing set-up is not touched, and removing the directory undoes everything.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::undo_failure;
use crate::kernel::Errno;
use crate::kernel::file::location;

/// Mounted inside debugfs before Linux 4.1.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The prefix of the names of a session's instances; a process number follows.
const NAME_PREFIX: &str = "oscost-";
/// The size of a CPU's buffer, in KiB: some thousand calls. New events overwrite the oldest ones;
/// they are never read.
const BUFFER_KIB: &str = "256";

/// A tracing instance that records every system call. Removing its directory ends it.
pub(super) struct TracingInstance {
    name: String,
    /// An open file in the instance: the kernel refuses to remove a busy instance.
    busy_file: File,
}

impl TracingInstance {
    /// Creates the instance and enables its events.
    pub(super) fn create(name: &str) -> Result<Self, Errno> {
        let folder = instances_directory()?.join(name);
        remove_stale_instances();
        let refused = |act: String, error: Errno| {
            let hint = match error {
                Errno::EPERM | Errno::EACCES => {
                    "it needs root, and a kernel that is not locked down for confidentiality"
                }
                _ => "it needs CONFIG_FTRACE_SYSCALLS",
            };
            Errno::unavailable(format!("cannot {act}: {error}; {hint}"))
        };
        let held = create_busy(&folder)
            .map_err(|error| refused(format!("create {}", folder.display()), error))?;
        let instance = Self { name: name.to_owned(), busy_file: held };
        for (file, value) in [
            ("buffer_size_kb", BUFFER_KIB),
            ("options/overwrite", "1"),
            ("events/raw_syscalls/sys_enter/enable", "1"),
            ("events/raw_syscalls/sys_exit/enable", "1"),
            ("tracing_on", "1"),
        ] {
            if let Err(error) = write(&folder.join(file), value) {
                // The first error is the one to report.
                let _ = instance.remove();
                return Err(refused(format!("write to {file} of tracefs"), error));
            }
        }
        Ok(instance)
    }

    /// Removes it.
    pub(super) fn remove(self) -> Result<(), Errno> {
        drop(self.busy_file);
        remove(&self.name).map_err(|error| {
            let hint = format!("`rmdir {}/instances/{}`", FOLDERS[0], self.name);
            undo_failure("the tracing instance", error, &hint)
        })
    }
}

/// Creates the directory and keeps a file in it open; another session's cleanup may interfere.
fn create_busy(folder: &Path) -> Result<File, Errno> {
    const TRIES: u32 = 3;
    let file = folder.join("tracing_on");
    for _ in 1..TRIES {
        fs::create_dir(folder)?;
        match File::open(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => return opened.map_err(Errno::from),
        }
    }
    fs::create_dir(folder)?;
    File::open(file).map_err(Errno::from)
}

fn write(path: &Path, value: &str) -> Result<(), Errno> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(value.as_bytes()).map_err(Errno::from)
}

/// The directory in which instances are created.
fn instances_directory() -> Result<PathBuf, Errno> {
    let mut last_error = Errno::ENOENT;
    for folder in FOLDERS {
        let folder = Path::new(folder).join("instances");
        match fs::metadata(&folder) {
            Ok(_) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => last_error = error.into(),
        }
    }
    Err(Errno::unavailable(match last_error {
        Errno::ENOENT => format!(
            "tracefs is not mounted or has no instances; it needs root and `mount -t tracefs tracefs \
             {}`",
            FOLDERS[0]
        ),
        other => format!("cannot read tracefs: {other}; it needs root"),
    }))
}

/// Removes an instance; a missing one is not an error. An instance is busy while a process reads
/// it, and after its owner was killed until the owner's last process has exited.
pub(super) fn remove(name: &str) -> Result<(), Errno> {
    const TRIES: u32 = 100;
    let folder = instances_directory()?.join(name);
    for _ in 0..TRIES {
        match fs::remove_dir(&folder).map_err(Errno::from) {
            Err(Errno(libc::EBUSY)) => std::thread::sleep(Duration::from_millis(10)),
            Err(Errno::ENOENT) => return Ok(()),
            other => return other,
        }
    }
    Err(Errno(libc::EBUSY))
}

/// Removes the instances that killed processes have left behind; those of live ones are busy.
pub fn remove_stale_instances() {
    let Ok(instances) = instances_directory() else { return };
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let number = name.strip_prefix(NAME_PREFIX).unwrap_or_default();
        let is_ours = number.starts_with(|c: char| c.is_ascii_digit());
        if is_ours || name.starts_with(location::UNSUPERVISED_MARK) {
            // Best effort: errors have no receiver.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
