//! The file itself: where it lies, who may read it, and how it is opened.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::error::Cause;

/// How long to wait for another process. A write takes milliseconds and giving back the space of
/// a large run under a second, so whoever holds the store longer than this is stuck.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// See [`super::Store::default_path`]. The XDG specification calls a relative path invalid.
pub(super) fn default_path(xdg_data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let data = xdg_data.and_then(absolute);
    let data = data.or_else(|| Some(home.and_then(absolute)?.join(".local/share")))?;
    Some(data.join("oscost").join("store.db"))
}

/// Opens the database, first making its folders and an empty file where there is none.
pub(super) fn open(path: &Path) -> Result<Connection, Cause> {
    // SQLite takes a relative name that begins with `file:` for a URI, and `:memory:` for no file.
    let path = std::path::absolute(path)?;
    create(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&path, flags).map_err(|error| {
        let unopened = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
        let told = unopened.then(|| refusal(&path)).flatten();
        told.unwrap_or_else(|| error.into())
    })?;
    // SQLite opens what it may not write for reading alone, and says nothing.
    if conn.is_readonly(MAIN_DB)? {
        return Err(refusal(&path).unwrap_or(Cause::ReadOnly));
    }
    conn.busy_timeout(LOCK_TIMEOUT)?;
    Ok(conn)
}

/// Makes an empty file for its owner alone; SQLite gives the files beside it the same mode.
///
/// An existing file is left unopened: closing any descriptor of it would drop the locks that this
/// process holds on it through another connection, since POSIX locks belong to the process.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Why the system does not open the file for writing, which SQLite does not tell; `None` if it
/// does. Only asked where SQLite has failed, so that there is no lock to lose.
fn refusal(path: &Path) -> Option<Cause> {
    OpenOptions::new().read(true).write(true).open(path).err().map(Cause::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(xdg_data: &str, home: &str) -> Option<String> {
        let some = |text: &str| Some(OsString::from(text)).filter(|text| text != "unset");
        let found = default_path(some(xdg_data), some(home))?;
        Some(found.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_store_lies_in_the_users_data_folder() {
        let below_home = Some("/home/joe/.local/share/oscost/store.db".to_owned());
        assert_eq!(path("unset", "/home/joe"), below_home);
        assert_eq!(path("", "/home/joe"), below_home);
        assert_eq!(path("relative", "/home/joe"), below_home);
        assert_eq!(path("/data", "/home/joe"), Some("/data/oscost/store.db".to_owned()));
        assert_eq!(path("/data", "unset"), Some("/data/oscost/store.db".to_owned()));
        assert_eq!(path("unset", "unset"), None);
        assert_eq!(path("unset", ""), None);
    }
}
