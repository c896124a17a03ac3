//! The directories of a user's cache and data (XDG Base Directory Specification).
//!
//! Root with another user's environment (`sudo -E`, `su -m`) uses its own: a folder of root's in a
//! user's home would shut out that user, and every other program that needs it. To give what root
//! makes to the user is no way out, since the user may replace it by a link meanwhile.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

/// The directory of oscost's cache: in `$XDG_CACHE_HOME`, or in `$HOME/.cache`; `None` if neither
/// is set.
pub fn cache_folder() -> Option<PathBuf> {
    own_folder("XDG_CACHE_HOME", ".cache")
}

/// The directory of oscost's data: in `$XDG_DATA_HOME`, or in `$HOME/.local/share`; `None` if
/// neither is set.
pub fn data_folder() -> Option<PathBuf> {
    own_folder("XDG_DATA_HOME", ".local/share")
}

/// Why the data are not where the environment says, if they are not; as a sentence.
pub fn foreign_home_note() -> Option<String> {
    let requested = requested_folder("XDG_DATA_HOME", ".local/share")?;
    let used = data_folder()?;
    (used != requested).then(|| {
        format!(
            "{} belongs to another user: root's runs are kept in {}",
            requested.display(),
            used.display()
        )
    })
}

/// The folder that the environment names, or root's own if that is another user's.
fn own_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let requested = requested_folder(variable, in_home)?;
    if !(geteuid().is_root() && is_foreign(&requested)) {
        return Some(requested);
    }
    let home = User::from_uid(Uid::from_raw(0)).ok().flatten()?.dir;
    folder(None, Some(home.into_os_string()), in_home)
}

fn requested_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    folder(std::env::var_os(variable), std::env::var_os("HOME"), in_home)
}

/// Whether a folder, or if it does not exist the nearest one above it, is another user's than root.
fn is_foreign(path: &Path) -> bool {
    let owner = path.ancestors().find_map(|it| Some(it.metadata().ok()?.uid()));
    owner.is_some_and(|uid| uid != 0)
}

/// A relative path is invalid by the specification, and is ignored.
fn folder(xdg: Option<OsString>, home: Option<OsString>, in_home: &str) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = xdg.and_then(absolute);
    let base = base.or_else(|| Some(home.and_then(absolute)?.join(in_home)))?;
    Some(base.join("oscost"))
}

/// Creates a directory and those above it, for their owner only. An existing one is unchanged.
pub fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_below_an_absolute_directory_of_the_user() {
        let path = |xdg: Option<&str>, home: Option<&str>| {
            let found = folder(xdg.map(OsString::from), home.map(OsString::from), ".cache")?;
            Some(found.display().to_string())
        };
        assert_eq!(path(Some("/c"), Some("/h")).unwrap(), "/c/oscost");
        assert_eq!(path(Some("c"), Some("/h")).unwrap(), "/h/.cache/oscost");
        assert_eq!(path(Some(""), Some("/h")).unwrap(), "/h/.cache/oscost");
        assert_eq!(path(None, Some("h")), None);
        assert_eq!(path(None, None), None);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_of_the_owner_of_the_nearest_one_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().metadata().unwrap().uid();
        assert_eq!(is_foreign(&folder.path().join("a/b")), own != 0);
        if geteuid().is_root() {
            let users = folder.path().join("users");
            DirBuilder::new().create(&users).unwrap();
            std::os::unix::fs::chown(&users, Some(65_534), None).unwrap();
            assert!(is_foreign(&users.join(".local/share/oscost")));
        }
    }
}
