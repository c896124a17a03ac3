//! ftrace's events at the entry and the exit of every call, in a tracing instance of our own:
//! nothing of what the user may have set up is touched, and removing the folder undoes it all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::undo_failure;
use crate::kernel::Errno;
use crate::kernel::because::lacking;
use crate::kernel::file::location;

/// Mounted inside debugfs before Linux 4.1.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// What the names of a session's instances begin with; the number of a process follows.
const NAME_PREFIX: &str = "oscost-";
/// How much a CPU's buffer holds, in KiB: some thousand calls. The newest ones overwrite the
/// oldest, and nobody reads them.
const BUFFER_KIB: &str = "256";

/// A tracing instance that notes every call. It goes with its folder.
pub(super) struct TracingInstance {
    name: String,
    /// Open for as long as it is there: the kernel lets nobody remove it meanwhile.
    busy_file: File,
}

impl TracingInstance {
    /// Makes it, and enables its events.
    pub(super) fn create(name: &str) -> Result<Self, Errno> {
        let folder = instances_directory()?.join(name);
        remove_stale_instances();
        let refused = |act: String, error: Errno| {
            let way_out = match error {
                Errno::EPERM | Errno::EACCES => {
                    "it takes root, and a kernel that is not locked down for confidentiality"
                }
                _ => "it takes CONFIG_FTRACE_SYSCALLS",
            };
            lacking(format!("cannot {act}: {error}; {way_out}"))
        };
        let held = create_busy(&folder)
            .map_err(|error| refused(format!("make {}", folder.display()), error))?;
        let it = Self { name: name.to_owned(), busy_file: held };
        for (file, value) in [
            ("buffer_size_kb", BUFFER_KIB),
            ("options/overwrite", "1"),
            ("events/raw_syscalls/sys_enter/enable", "1"),
            ("events/raw_syscalls/sys_exit/enable", "1"),
            ("tracing_on", "1"),
        ] {
            if let Err(error) = write(&folder.join(file), value) {
                // The error that counts is the first one.
                let _ = it.remove();
                return Err(refused(format!("write to {file} of tracefs"), error));
            }
        }
        Ok(it)
    }

    /// Removes it.
    pub(super) fn remove(self) -> Result<(), Errno> {
        drop(self.busy_file);
        remove(&self.name).map_err(|error| {
            let way_out = format!("`rmdir {}/instances/{}`", FOLDERS[0], self.name);
            undo_failure("the tracing instance", error, &way_out)
        })
    }
}

/// Makes the folder and keeps a file of it open; another session's sweep may come between.
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

/// Where instances are made.
fn instances_directory() -> Result<PathBuf, Errno> {
    let mut why = Errno::ENOENT;
    for folder in FOLDERS {
        let folder = Path::new(folder).join("instances");
        match fs::metadata(&folder) {
            Ok(_) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => why = error.into(),
        }
    }
    Err(lacking(match why {
        Errno::ENOENT => format!(
            "tracefs is not mounted here, or has no instances; it takes root, and `mount -t tracefs \
             tracefs {}`",
            FOLDERS[0]
        ),
        other => format!("cannot look into tracefs: {other}; it takes root"),
    }))
}

/// Removes an instance; that there is none is no error. One that somebody looks into is busy for as
/// long as that takes, and one whose process was killed until the last of its processes has ended.
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

/// Removes what killed processes of ours have left: those that live keep theirs busy.
pub fn remove_stale_instances() {
    let Ok(instances) = instances_directory() else { return };
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let number = name.strip_prefix(NAME_PREFIX).unwrap_or_default();
        let is_ours = number.starts_with(|c: char| c.is_ascii_digit());
        if is_ours || name.starts_with(location::WITHOUT_MARK) {
            // There is nobody to tell.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
