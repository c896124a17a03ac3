//! The store: every run that was measured here or imported, in one SQLite file.
//!
//! What is this room for? It keeps journals, one committed entry at a time, so that after a kill
//! at any moment all that was finished is there. It lists and finds runs, hands a journal back as
//! it was written, takes in records from strangers after a close look, and deletes. Beside each run
//! it keeps the figures that it is handed, for whoever asks many runs for one.
//!
//! What may it not know? How a record follows from a journal, and what any figure in either means:
//! entries go in and come out. In turn no other room sees SQL, a table or a SQLite error.
//!
//! A run is never held up by it: each way in which a disk or another process can get in the way
//! is a [`Cause`] of its own, after which the caller can go on without a store.

mod body;
mod check;
mod error;
mod figures;
mod file;
mod import;
mod inspect;
mod predictions;
mod read;
pub mod samples;
mod schema;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use error::{Cause, FindError, ImportError, StoreError};
pub use figures::{Figure, MachineState, SummarisedRun, Summary, UnsummarisedRun};
pub use import::{MAX_IMPORT_BYTES, validate};
pub use predictions::MAX_PREDICTIONS;
pub use read::{Listing, Stored};

/// The runs of one user, in one file.
///
/// While one process writes, any number of others may read.
#[derive(Debug)]
pub struct Store {
    conn: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path`; where there is none yet, it and the folders above it are made,
    /// for their owner alone.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let opened = file::open(path).and_then(|mut conn| {
            schema::prepare(&mut conn)?;
            Ok(Store { conn, path: path.to_owned() })
        });
        opened.map_err(|cause| StoreError { act: "open".to_owned(), path: path.to_owned(), cause })
    }

    /// Where a user's store lies: in `$XDG_DATA_HOME`, else in `$HOME/.local/share`; `None` where
    /// the environment names neither.
    pub fn default_path() -> Option<PathBuf> {
        file::default_path(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
    }

    /// What went wrong here, in the act of `act`.
    fn error(&self, act: String, cause: Cause) -> StoreError {
        StoreError { act, path: self.path.clone(), cause }
    }
}
