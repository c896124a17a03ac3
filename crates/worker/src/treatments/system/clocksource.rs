//! Changes the kernel's clock source.

use std::fs::{self, File};
use std::io::Write;

use super::failure::undo_failure;
use crate::kernel::Errno;

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

/// A changed clock source.
pub(super) struct ClocksourceChange {
    previous: String,
    applied: String,
    /// Locked for as long as the change lasts: two changes at once could not both be restored.
    _lock: File,
}

impl ClocksourceChange {
    /// Changes the clock source to `name`.
    pub(super) fn start(name: &str) -> Result<Self, Errno> {
        let available = read("available_clocksource").map_err(|error| {
            Errno::unavailable(format!("cannot list the clock sources: {FOLDER}: {error}"))
        })?;
        if !available.split_whitespace().any(|other| other == name) {
            return Err(Errno::unavailable(format!(
                "this machine has no clock source `{}`; it has {}",
                name.escape_debug(),
                available.trim_end().replace(' ', ", ")
            )));
        }
        let refused = |error: Errno| {
            Errno::unavailable(format!(
                "cannot change the clock source to {name}: {error}; it needs root and a writable /sys"
            ))
        };
        // Opened for writing: a user who may not change it can neither block others nor wait for
        // them.
        let lock = writable().map_err(refused)?;
        lock.try_lock().map_err(|_| {
            Errno::unavailable(
                "another oscost has changed the clock source: wait until it is done".to_owned(),
            )
        })?;
        let previous = current()?;
        let changed = Self { previous, applied: name.to_owned(), _lock: lock };
        set(name).map_err(refused)?;
        Ok(changed)
    }

    /// Restores the previous clock source.
    pub(super) fn restore(self) -> Result<(), Errno> {
        restore(&self.previous, &self.applied).map_err(|error| {
            let hint = format!("`echo {} > {FOLDER}/current_clocksource`", self.previous);
            undo_failure("the clock source", error, &hint)
        })
    }
}

/// Restores `previous` if the clock source is still `applied`; otherwise another program has
/// changed it since.
pub(super) fn restore(previous: &str, applied: &str) -> Result<(), Errno> {
    if previous == applied || current()? != applied {
        return Ok(());
    }
    set(previous)
}

/// The present clock source.
pub(super) fn current() -> Result<String, Errno> {
    Ok(read("current_clocksource")?.trim_end().to_owned())
}

fn read(file: &str) -> Result<String, Errno> {
    fs::read_to_string(format!("{FOLDER}/{file}")).map_err(Errno::from)
}

fn writable() -> Result<File, Errno> {
    let file = File::options().write(true).open(format!("{FOLDER}/current_clocksource"))?;
    Ok(file)
}

/// The kernel silently ignores a name that it does not have: so the file is read back.
fn set(name: &str) -> Result<(), Errno> {
    writable()?.write_all(name.as_bytes())?;
    if current()? == name { Ok(()) } else { Err(Errno::EINVAL) }
}
