//! What can go wrong, named so that a caller can tell the cases apart and a user can mend them.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use thiserror::Error;

use super::file::PATIENCE;
use super::read::Listing;

/// The store could not do what it was asked.
#[derive(Debug, Error)]
#[error("cannot {act} the store {}: {cause}", path.display())]
pub struct StoreError {
    /// What was tried, as the start of a sentence: `open`, `append to run 0190... in`.
    pub act: String,
    /// The file.
    pub path: PathBuf,
    /// Why it could not be done.
    pub cause: Cause,
}

/// Why the store could not do what it was asked.
#[derive(Debug, Error)]
pub enum Cause {
    /// The user may not read or write there.
    #[error("permission denied")]
    Denied,
    /// Nothing can be written there, whoever the user is.
    #[error("the file, its folder or its file system is read-only")]
    ReadOnly,
    /// The disk or a quota is full. What was stored before stays.
    #[error("no space is left on its disk")]
    Full,
    /// Another process did not let go of it in time.
    #[error("another process has kept it locked for more than {} s", PATIENCE.as_secs())]
    Locked,
    /// It was written by a newer oscost.
    #[error("it is of version {found}, and this oscost knows versions up to {known}")]
    Newer {
        /// The version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is something else. It was left as it is.
    #[error("{0}")]
    NotAStore(&'static str),
    /// What was read makes no sense.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// No run has that id, or it was imported and takes no entries.
    #[error("it holds no such run")]
    NoRun,
    /// No prediction has that number.
    #[error("it holds no prediction {0}")]
    NoPrediction(i64),
    /// There are as many predictions as are kept.
    #[error("it holds {} predictions, and takes no more", super::MOST_PREDICTIONS)]
    TooManyPredictions,
    /// A run has that id already.
    #[error("it holds a run of that id already")]
    Exists,
    /// An entry that could be written but not read back.
    #[error("the entry cannot be kept: {0}")]
    Unkeepable(String),
    /// Anything else that the file system said.
    #[error("{0}")]
    Io(io::Error),
    /// Anything else that SQLite said.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Cause::Denied,
            io::ErrorKind::ReadOnlyFilesystem => Cause::ReadOnly,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Cause::Full,
            _ => Cause::Io(error),
        }
    }
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|failure| (failure.code, failure.extended_code));
        match code {
            // WAL keeps its index in a small mapped file, and that it cannot grow is how a full
            // disk often shows first.
            Some((_, ffi::SQLITE_IOERR_SHMSIZE)) => Cause::Full,
            Some((ErrorCode::DiskFull, _)) => Cause::Full,
            Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => Cause::Locked,
            Some((ErrorCode::ReadOnly, _)) => Cause::ReadOnly,
            Some((ErrorCode::PermissionDenied, _)) => Cause::Denied,
            Some((ErrorCode::NotADatabase, _)) => {
                Cause::NotAStore("the file is not a SQLite database")
            }
            Some((ErrorCode::DatabaseCorrupt, _)) => Cause::Damaged(error.to_string()),
            _ => Cause::Other(error.to_string()),
        }
    }
}

/// No run, or no single one, is meant by what was asked for.
#[derive(Debug, Error)]
pub enum FindError {
    /// No id begins so.
    #[error("no run is `{asked}`{}", listed("the newest are", newest))]
    Unknown {
        /// What was asked for.
        asked: String,
        /// The newest runs, at most five.
        newest: Vec<Listing>,
    },
    /// Several ids begin so.
    #[error("`{asked}` may be any of {count} runs{}", listed("the newest of them are", newest))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// How many.
        count: usize,
        /// The newest of them, at most five.
        newest: Vec<Listing>,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn listed(words: &str, runs: &[Listing]) -> String {
    if runs.is_empty() {
        return ": the store is empty".to_owned();
    }
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    format!("; {words} {}", ids.join(", "))
}

/// A record from elsewhere was refused. Nothing of it was kept.
///
/// Words of the record that stand in these texts are shortened and hold no control characters.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It is larger than any record may be.
    #[error("the record is {bytes} bytes long, and at most {most} are taken")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// It is not the JSON of a record.
    #[error("the file is not a record: {0}")]
    NotARecord(String),
    /// It was written by a newer oscost.
    #[error("the record is of the newer schema {found}, and this oscost reads {known}")]
    Newer {
        /// Its schema.
        found: String,
        /// The schema that this program reads.
        known: &'static str,
    },
    /// It is JSON of another kind.
    #[error("the file is not a record: its schema is {found}, not {known}")]
    OtherSchema {
        /// Its schema.
        found: String,
        /// The schema that this program reads.
        known: &'static str,
    },
    /// A part of it is not as a record must be.
    #[error("the record's `{at}` {why}")]
    Bad {
        /// The part: `results[3].reason`.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// A run of that id is in the store.
    #[error("run {id} is in the store already")]
    Exists {
        /// The id.
        id: String,
    },
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
