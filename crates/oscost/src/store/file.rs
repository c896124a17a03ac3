//! The file of a store: its path, its permissions, and how it is opened.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use super::error::{Cause, StoreError};
use super::limits::LOCK_TIMEOUT;
use super::tables::schema;
use crate::files::user_folder::{create_private, data_folder, give_to_owner_of};

/// The runs of one user, in one file.
///
/// While one process writes, any number of others may read.
#[derive(Debug)]
pub struct Store {
    pub(super) conn: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path`. If there is none yet, creates it and its folders, readable by
    /// their owner only.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let opened = open(path).and_then(|mut conn| {
            schema::prepare(&mut conn)?;
            Ok(Store { conn, path: path.to_owned() })
        });
        opened.map_err(|cause| StoreError { act: "open".to_owned(), path: path.to_owned(), cause })
    }

    /// The path of a user's store: in `$XDG_DATA_HOME`, else in `$HOME/.local/share`; `None` if the
    /// environment sets neither.
    pub fn default_path() -> Option<PathBuf> {
        Some(data_folder()?.join("store.db"))
    }

    /// An error of this store in the operation `act`.
    pub(super) fn error(&self, act: String, cause: Cause) -> StoreError {
        StoreError { act, path: self.path.clone(), cause }
    }
}

/// A transaction that holds the write lock from its start. One that reads first may find, when it
/// starts to write, that another process has written meanwhile; waiting does not help then.
pub(super) fn transaction(conn: &mut Connection) -> Result<Transaction<'_>, Cause> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Opens the database; if there is none, creates its folders and an empty file first.
fn open(path: &Path) -> Result<Connection, Cause> {
    // SQLite reads a relative name that starts with `file:` as a URI, and `:memory:` as no file.
    let path = std::path::absolute(path)?;
    create(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&path, flags).map_err(|error| {
        let cannot_open = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
        let cause = cannot_open.then(|| open_error(&path)).flatten();
        cause.unwrap_or_else(|| error.into())
    })?;
    // SQLite opens a file that it may not write read-only, without an error.
    if conn.is_readonly(MAIN_DB)? {
        return Err(open_error(&path).unwrap_or(Cause::ReadOnly));
    }
    conn.busy_timeout(LOCK_TIMEOUT)?;
    Ok(conn)
}

/// Creates an empty file that only its owner may read; SQLite creates its WAL and shared-memory
/// files with the same mode.
///
/// An existing file is not opened: closing any descriptor of it would release the locks that this
/// process holds on it through another connection, since POSIX locks belong to the process.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private(folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // SQLite gives its WAL and shared-memory files the owner of this one.
        created => give_to_owner_of(path.parent().unwrap_or(path), &created?),
    }
}

/// The reason why the system does not open the file for writing, which SQLite does not report;
/// `None` if it does. Called only after SQLite failed to open it, when there are no locks to lose.
fn open_error(path: &Path) -> Option<Cause> {
    OpenOptions::new().read(true).write(true).open(path).err().map(Cause::from)
}
