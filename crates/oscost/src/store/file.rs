//! The file of a store: its path, its permissions, and how it is opened.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{
    Connection, ErrorCode, FileControl, MAIN_DB, OpenFlags, Transaction, TransactionBehavior,
};

use super::error::{Cause, StoreError};
use super::limits::LOCK_TIMEOUT;
use super::lock_wait::retry_while_locked;
use super::tables::schema;
use crate::files::open_folder::OpenFolder;
use crate::files::user_folder::data_folder;
use crate::signals::watch_end_signals;

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
        Self::opened(path, open(path))
    }

    /// Opens the store at `path` to read it, also where it cannot be written.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        match Store::open(path) {
            Err(error) if error.cause.prevents_writing() && path.exists() => {
                Self::opened(path, open_read_only(path))
            }
            opened => opened,
        }
    }

    /// Opens the store at `path` to delete from it, also where its disk is full.
    pub fn open_to_delete(path: &Path) -> Result<Store, StoreError> {
        match Store::open(path) {
            Err(error) if error.cause.is_lack_of_space() && path.exists() => {
                Self::opened(path, open_in_place(path))
            }
            opened => opened,
        }
    }

    fn opened(path: &Path, opened: Result<Connection, Cause>) -> Result<Store, StoreError> {
        let path = path.to_owned();
        match opened {
            Ok(conn) => Ok(Store { conn, path }),
            Err(cause) => Err(StoreError { act: "open".to_owned(), path, cause }),
        }
    }

    /// Opens the file again, to change it without space for a log. After an error this store can no
    /// longer be used.
    pub(super) fn reopen_in_place(&mut self) -> Result<(), Cause> {
        // The connection is closed first: it has the lock that the next one needs.
        self.conn = Connection::open_in_memory()?;
        self.conn = open_in_place(&self.path)?;
        Ok(())
    }

    /// Opens the same file again, to read it in another thread. If it is gone, no other is created.
    pub fn open_again_to_read(&self) -> Result<Store, StoreError> {
        Self::opened(&self.path, self.connect_again())
    }

    fn connect_again(&self) -> Result<Connection, Cause> {
        let conn = match self.conn.is_readonly(MAIN_DB)? {
            true => open_read_only(&self.path)?,
            false => connect(&std::path::absolute(&self.path)?)?,
        };
        // Both are the file that is at the path now.
        place_of(&conn)?;
        self.place()?;
        Ok(conn)
    }

    /// Opens a new store where this one was, whose file is gone.
    pub(super) fn open_anew(&self) -> Result<Store, StoreError> {
        Store::open(&self.path)
    }

    /// Checks that what was committed is in the file at the path of this store. A process that has
    /// a deleted file open can still write to it, and all of that is lost at its end.
    pub fn check_place(&self) -> Result<(), StoreError> {
        self.place().map_err(|cause| self.error("keep the run in".to_owned(), cause))
    }

    /// The same for a part of an operation.
    pub(super) fn place(&self) -> Result<(), Cause> {
        place_of(&self.conn)
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

/// Checks that the file that is open is the one at its path.
fn place_of(conn: &Connection) -> Result<(), Cause> {
    let mut has_moved = 0;
    conn.file_control(Some(MAIN_DB), FileControl::HasMoved(&mut has_moved))?;
    if has_moved == 0 { Ok(()) } else { Err(Cause::Gone) }
}

/// A transaction that holds the write lock from its start. One that reads first may find, when it
/// starts to write, that another process has written meanwhile; waiting does not help then.
pub(super) fn transaction(conn: &mut Connection) -> Result<Transaction<'_>, Cause> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Opens the database, and prepares it; if there is none, creates its folders and an empty file
/// first.
fn open(path: &Path) -> Result<Connection, Cause> {
    // SQLite reads a relative name that starts with `file:` as a URI, and `:memory:` as no file.
    let path = std::path::absolute(path)?;
    let folder = create(&path)?;
    let mut conn = connect(&path)?;
    // SQLite has opened it by its path, which may have led elsewhere: it resolves links first. What
    // was at the resolved path before the file was prepared must be there afterwards.
    check_owner(&conn, &folder, &path)?;
    schema::prepare(&mut conn)?;
    check_owner(&conn, &folder, &path)?;
    Ok(conn)
}

/// Checks that the file that is open is at its place, and may be used in that folder.
fn check_owner(conn: &Connection, folder: &OpenFolder, path: &Path) -> Result<(), Cause> {
    place_of(conn)?;
    // SQLite's own path has no links; it is not known if it is not UTF-8.
    let opened = conn.path().map_or(path, Path::new);
    Ok(folder.check_owner(std::fs::symlink_metadata(opened)?.uid())?)
}

/// Opens an existing database to read and write it.
fn connect(path: &Path) -> Result<Connection, Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(|error| {
        let cannot_open = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
        let cause = cannot_open.then(|| open_error(path)).flatten();
        cause.unwrap_or_else(|| error.into())
    })?;
    // SQLite opens a file that it may not write read-only, without an error.
    if conn.is_readonly(MAIN_DB)? {
        return Err(open_error(path).unwrap_or(Cause::ReadOnly));
    }
    conn.busy_timeout(LOCK_TIMEOUT)?;
    Ok(conn)
}

/// Opens a database whose changes are made in its file, not in a log beside it that grows first:
/// for a deletion on a full disk. No other process can use it meanwhile.
///
/// What is changed is kept in memory, to be restored after an error. A kill in the milliseconds of
/// a commit may damage the file: hence only where there is no space, and signals that ask for an
/// end are held off.
fn open_in_place(path: &Path) -> Result<Connection, Cause> {
    watch_end_signals()?;
    let path = std::path::absolute(path)?;
    retry_while_locked(|| {
        let conn = connect(&path)?;
        let text = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        // Before the first query: the index of a log is then in memory, too.
        conn.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", text)?;
        schema::check(&conn)?;
        // Until the commit nothing is written, and no temporary file is made.
        conn.pragma_update(None, "cache_spill", false)?;
        conn.pragma_update(None, "temp_store", "MEMORY")?;
        conn.pragma_update(None, "foreign_keys", true)?;
        // What is in a log is moved into the file, and the log deleted. The next process that opens
        // the store has one again.
        let mode = conn.pragma_update_and_check(None, "journal_mode", "MEMORY", text)?;
        if mode == "memory" { Ok(conn) } else { Err(Cause::Locked) }
    })
}

/// Opens a database that cannot be written, and writes nothing beside it.
///
/// In WAL mode SQLite needs the log's index, which it makes beside the file. Without a log the file
/// has everything, and may be read as one that nobody changes.
fn open_read_only(path: &Path) -> Result<Connection, Cause> {
    let path = std::path::absolute(path)?;
    let log_bytes = std::fs::metadata(log_path(&path)).map(|log| log.len()).ok();
    if let Some(log_bytes) = log_bytes {
        match connect_read_only(&path, Changes::ByOthers) {
            Err(cause) if !cause.is_of_content() && log_bytes > 0 => {
                return Err(Cause::UnreadableLog);
            }
            Err(cause) if !cause.is_of_content() => {}
            opened => return opened,
        }
    }
    connect_read_only(&path, Changes::None)
}

/// Whether a database that is read may change meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    None,
    ByOthers,
}

fn connect_read_only(path: &Path, changes: Changes) -> Result<Connection, Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri(path, changes), flags).map_err(|error| {
        let reason = OpenOptions::new().read(true).open(path).err();
        reason.map_or_else(|| Cause::from(error), Cause::from)
    })?;
    conn.busy_timeout(LOCK_TIMEOUT)?;
    schema::check(&conn)?;
    Ok(conn)
}

/// The path as a URI of SQLite (<https://sqlite.org/uri.html>).
fn uri(path: &Path, changes: Changes) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    if changes == Changes::None {
        uri.push_str("?immutable=1");
    }
    uri
}

/// The log beside a database.
fn log_path(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Creates an empty file that only its owner may read, and returns its folder; SQLite creates its
/// WAL and shared-memory files with the same mode.
///
/// An existing file is not opened: closing any descriptor of it would release the locks that this
/// process holds on it through another connection, since POSIX locks belong to the process.
fn create(path: &Path) -> io::Result<OpenFolder> {
    let parts = path.parent().zip(path.file_name());
    let (folder, name) = parts.ok_or(io::ErrorKind::IsADirectory)?;
    let folder = OpenFolder::create(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })?;
    match folder.create_file(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        // SQLite gives its WAL and shared-memory files the owner of this one.
        _ => Ok(folder),
    }
}

/// The reason why the system does not open the file for writing, which SQLite does not report;
/// `None` if it does. Called only after SQLite failed to open it, when there are no locks to lose.
fn open_error(path: &Path) -> Option<Cause> {
    OpenOptions::new().read(true).write(true).open(path).err().map(Cause::from)
}

#[cfg(test)]
mod tests;
