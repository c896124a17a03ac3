//! One run per machine at a time: the lock that the tool takes on its own machine, taken here where
//! its session runs on another one. It has two parts: a name in the abstract socket namespace, shared
//! by the processes of one network namespace, and a locked file, shared by those that see it. Nothing
//! is ever sent or written through either.

mod file;
mod holder;
mod name;

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

pub use oscost_model::machine_lock::LockHolder;
use oscost_model::machine_lock::{HOLDER_NAMES, without_file};
use oscost_model::protocol::LOCK_NAME;

/// The machine is locked until this is dropped.
pub struct MachineLock {
    /// Released first: who finds the name free does not meet the file of the same holder.
    _file: Option<file::LockedFile>,
    _name: Option<UnixListener>,
    /// What it does not exclude, and why.
    gaps: Vec<String>,
}

/// What to do about a holder that is not oscost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherPrograms {
    /// It holds the lock.
    Respect,
    /// The lock is acquired without the part that it holds.
    Ignore,
}

/// A lock that another process holds.
pub struct HeldLock {
    /// The process.
    pub holder: LockHolder,
    /// Ends when the process releases the lock; `None` if that cannot be observed.
    pub end: Option<UnixStream>,
}

impl MachineLock {
    /// Locks the machine, or returns the holder.
    pub fn acquire(other_programs: OtherPrograms) -> Result<Self, HeldLock> {
        // The name by which others recognise this process: the file that was copied here has another
        // one. Without /proc nobody can read it.
        let _ = std::fs::write("/proc/self/comm", HOLDER_NAMES[1]);
        Self::acquire_parts(LOCK_NAME.as_bytes(), file::path(), other_programs)
    }

    /// What the lock does not exclude: one sentence each.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    fn acquire_parts(
        name: &[u8],
        path: io::Result<PathBuf>,
        other_programs: OtherPrograms,
    ) -> Result<Self, HeldLock> {
        let is_ignored = |holder: &LockHolder| {
            other_programs == OtherPrograms::Ignore && holder.is_other_program()
        };
        let (name, name_gap) = match name::bind(name) {
            name::Attempt::Bound(bound) => (Some(bound), None),
            name::Attempt::HeldBy(holder, _) if is_ignored(&holder) => {
                (None, Some(holder.ignored()))
            }
            name::Attempt::HeldBy(holder, end) => return Err(HeldLock { holder, end }),
            name::Attempt::Unavailable(error) => (None, Some(error.to_string())),
        };
        let (file, file_gap) = match path.map(|path| file::lock(&path)) {
            Ok(file::Attempt::Locked(locked)) => (Some(locked), None),
            Ok(file::Attempt::HeldBy(holder)) if is_ignored(&holder) => {
                (None, Some(holder.ignored()))
            }
            Ok(file::Attempt::HeldBy(holder)) => return Err(HeldLock { holder, end: None }),
            Ok(file::Attempt::Unavailable(error)) | Err(error) => (None, Some(without_file(error))),
        };
        let gaps = name_gap.into_iter().chain(file_gap).collect();
        Ok(Self { _file: file, _name: name, gaps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_learns_who_holds_the_machine_and_acquires_it_next() {
        use std::io::Read;

        let name = format!("oscost.test.worker.{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let acquire = |name: &str, other_programs| {
            MachineLock::acquire_parts(name.as_bytes(), Ok(path.clone()), other_programs)
        };
        let Ok(first) = acquire(&name, OtherPrograms::Respect) else {
            panic!("the machine is free");
        };
        assert_eq!(first.gaps(), [""; 0]);
        let Err(HeldLock { holder, end: Some(mut end) }) = acquire(&name, OtherPrograms::Respect)
        else {
            panic!("the machine was given twice");
        };
        assert_eq!(holder.pid, std::process::id() as i32);
        // One in another network namespace meets the file.
        let Err(held) = acquire(&format!("{name}.elsewhere"), OtherPrograms::Respect) else {
            panic!("the machine was given twice");
        };
        assert_eq!(held.holder.pid, std::process::id() as i32);
        // The command name of a test is not oscost's.
        let Ok(without) = acquire(&name, OtherPrograms::Ignore) else {
            panic!("another program was not ignored");
        };
        assert_eq!(without.gaps().len(), 2, "name and file");
        drop((without, first));
        // The end shows as a reset, since the connection was never accepted.
        assert!(!matches!(end.read(&mut [0]), Ok(1..)));
        assert!(acquire(&name, OtherPrograms::Respect).is_ok());
        std::fs::remove_file(&path).unwrap();
    }
}
