//! Errors of the store, distinguishable by the caller and with a way out for the user.

use std::io;
use std::path::PathBuf;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use rusqlite::ErrorCode;
use rusqlite::ffi;
use thiserror::Error;

use super::limits::{LOCK_TIMEOUT, MAX_PREDICTIONS};
use crate::files::open_folder::OwnerMismatch;

/// An operation of the store failed.
#[derive(Debug, Error)]
#[error("cannot {act} the store {}: {cause}", path.display())]
pub struct StoreError {
    /// The operation, as the start of a sentence: `open`, `append to run 0190... in`.
    pub act: String,
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub cause: Cause,
}

/// Why an operation of the store failed.
#[derive(Debug, Error)]
pub enum Cause {
    /// The user lacks permission.
    #[error(
        "permission denied\n  hint: its owner can give it; XDG_DATA_HOME names another folder for \
         a store of your own"
    )]
    Denied,
    /// The file or its folder is not of the user whose folder it is in, or seems to be in.
    ///
    /// `chown -h`: what a link of the user's leads to is not given to the user.
    #[error(
        "{0}\n  hint: `ls -l FILE` shows whether a link leads there; if none does, `chown -h {user} \
         FILE` gives it to the user",
        user = .0.from
    )]
    OfOther(OwnerMismatch),
    /// The file or its file system is read-only.
    #[error(
        "the file, its folder or its file system is read-only\n  hint: what it has can be read; \
         XDG_DATA_HOME names a folder for another one"
    )]
    ReadOnly,
    /// The disk or a quota is full. Stored data is kept.
    #[error(
        "no space left on its disk\n  hint: `oscost runs prune` and `oscost runs delete RUN` make \
         room without needing any, `oscost runs list` names the runs"
    )]
    Full,
    /// A file would exceed the limit of this process. Stored data is kept.
    #[error(
        "it would exceed the limit of file sizes of this process\n  hint: `ulimit -f unlimited` in \
         the shell that starts oscost"
    )]
    TooLarge,
    /// The file at its path is no longer the one that is open.
    #[error("its file was deleted or replaced while it was open\n  hint: run the command again")]
    Gone,
    /// The store cannot be written, and its log cannot be read without writing.
    #[error(
        "its newest runs are in the log beside it, which cannot be read without writing there\n  \
         hint: copy its folder `oscost` to one that you may write, which XDG_DATA_HOME then names"
    )]
    UnreadableLog,
    /// Another process held the lock for too long.
    #[error(
        "another process has locked it for more than {} s\n  hint: `fuser FILE` names the process; \
         try again when it has ended",
        LOCK_TIMEOUT.as_secs()
    )]
    Locked,
    /// It has another version of the schema. It was left as it is.
    #[error(
        "it has version {found}, and this oscost reads versions {oldest} to {newest}{}",
        version_hint(*found > *newest)
    )]
    OtherVersion {
        /// The version of the file.
        found: i64,
        /// The oldest version that this program reads.
        oldest: i64,
        /// The newest one.
        newest: i64,
    },
    /// The file is not a store. It was left as it is.
    #[error("{0}\n  hint: move it away: a new store is created there")]
    NotAStore(&'static str),
    /// Stored data is invalid.
    #[error(
        "it is damaged: {0}\n  hint: `oscost runs delete RUN` removes a damaged run; if that \
         fails, move the file away: a new one is created"
    )]
    Damaged(String),
    /// No run has that id, or it was imported and cannot be appended to.
    #[error("it has no such run, or the run was imported")]
    NoRun,
    /// No bill has that id.
    #[error("it has no such bill")]
    NoBill,
    /// The run has no raw batches: it does not exist, was imported, or was pruned before.
    #[error("it has no raw batches of such a run: it was deleted, imported or pruned before")]
    NoRawBatches,
    /// The run has no end, and may still be measured.
    #[error(
        "the run has no end: it is still being measured, or was killed\n  hint: `oscost runs \
         delete RUN` removes one that was killed"
    )]
    NotEnded,
    /// No prediction has that number.
    #[error("it has no prediction {0}\n  hint: `oscost predict list` shows their numbers")]
    NoPrediction(i64),
    /// The maximum number of predictions is reached.
    #[error(
        "it already has {} predictions, the maximum\n  hint: `oscost predict delete NUMBER` removes \
         one",
        MAX_PREDICTIONS
    )]
    TooManyPredictions,
    /// A run already has that id.
    #[error("it already has another run with that id\n  hint: `oscost runs list` shows it")]
    Exists,
    /// An entry or figure that cannot be stored.
    #[error("the entry cannot be stored: {0}")]
    Invalid(String),
    /// Another I/O error.
    #[error(
        "{0}\n  hint: `df` shows whether its disk is full, `dmesg` whether it fails; XDG_DATA_HOME \
         names another folder"
    )]
    Io(io::Error),
    /// Another SQLite error.
    #[error(
        "{0}\n  hint: `df` shows whether its disk is full, `dmesg` whether it fails; XDG_DATA_HOME \
         names another folder"
    )]
    Other(String),
}

impl Cause {
    /// Whether the store cannot be written, but perhaps read.
    pub(super) fn prevents_writing(&self) -> bool {
        matches!(self, Cause::Denied | Cause::ReadOnly) || self.is_lack_of_space()
    }

    /// Whether there is no room for more.
    pub(super) fn is_lack_of_space(&self) -> bool {
        matches!(self, Cause::Full | Cause::TooLarge)
    }

    /// Whether it is about what the file contains.
    pub(super) fn is_of_content(&self) -> bool {
        matches!(self, Cause::OtherVersion { .. } | Cause::NotAStore(_) | Cause::Damaged(_))
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<OwnerMismatch>() {
            Ok(elsewhere) => return Cause::OfOther(elsewhere),
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::FileTooLarge => Cause::TooLarge,
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
            // SQLite has no code for EFBIG: unlike a full disk it fails a write as an I/O error.
            Some((
                ErrorCode::SystemIoFailure,
                ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE,
            )) if file_size_limit().is_some() => Cause::TooLarge,
            // WAL keeps its index in a small mapped file; on a full disk its growth often fails
            // first.
            Some((_, ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMOPEN))
                if file_size_limit().is_some_and(|limit| limit < LOG_INDEX_BYTES) =>
            {
                Cause::TooLarge
            }
            Some((_, ffi::SQLITE_IOERR_SHMSIZE)) => Cause::Full,
            Some((_, ffi::SQLITE_READONLY_DBMOVED)) => Cause::Gone,
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

/// What to do about a store of another version.
fn version_hint(is_newer: bool) -> &'static str {
    match is_newer {
        true => {
            "\n  hint: a newer oscost has written it, and reads it; XDG_DATA_HOME names a folder \
             for another store"
        }
        false => "\n  hint: delete the file, or move it away to keep it: a new one is created",
    }
}

/// The first size of the index of SQLite's log.
const LOG_INDEX_BYTES: u64 = 32 << 10;

/// The limit of file sizes of this process (`ulimit -f`), if it has one.
fn file_size_limit() -> Option<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_FSIZE).ok()?;
    (soft != RLIM_INFINITY).then_some(soft)
}

/// An imported record was refused, and no part of it was stored.
///
/// Texts of the record that these errors quote are shortened, without control characters.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It is larger than the maximum.
    #[error(
        "the record has {bytes} bytes or more, the maximum is {max_bytes}: one that is written \
         without `--samples` is smaller"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The maximum.
        max_bytes: usize,
    },
    /// It is a bill larger than the maximum.
    #[error("the bill has {bytes} bytes or more, the maximum is {max_bytes}")]
    BillTooLarge {
        /// Its size.
        bytes: usize,
        /// The maximum.
        max_bytes: usize,
    },
    /// It is a bill where a run is wanted.
    #[error(
        "the file is a bill, and a run is needed here: `oscost report FILE` shows it, `oscost bill \
         A B` compares two bills"
    )]
    IsBill,
    /// It is a run where a bill is wanted.
    #[error(
        "the file is a run, and a bill is needed here: `oscost compare A B` compares two runs, \
         `oscost bill -- COMMAND` makes a bill"
    )]
    IsRun,
    /// It is not the JSON of a record.
    #[error("the file is not a record: {0}")]
    NotARecord(String),
    /// It was written by a newer oscost.
    #[error(
        "the record has the newer schema {found}: this oscost reads {known}, a newer one reads both"
    )]
    Newer {
        /// Its schema.
        found: String,
        /// The schema that this program reads.
        known: &'static str,
    },
    /// It is JSON with another schema.
    #[error("the file is not a record: its schema is {found}, not {known}")]
    OtherSchema {
        /// Its schema.
        found: String,
        /// The schema that this program reads.
        known: &'static str,
    },
    /// A part of it is invalid.
    #[error("the record's `{at}` {why}")]
    Bad {
        /// The part: `results[3].reason`.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// The store has a run with that id.
    #[error(
        "run {id} is already in the store\n  hint: `oscost runs show {id}` shows it, `oscost runs \
         delete {id}` makes room for this record"
    )]
    Exists {
        /// The id.
        id: String,
    },
    /// The store has a bill with that id.
    #[error(
        "bill {id} is already in the store\n  hint: `oscost runs show {id}` shows it, `oscost runs \
         delete {id}` makes room for this record"
    )]
    BillExists {
        /// The id.
        id: String,
    },
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
