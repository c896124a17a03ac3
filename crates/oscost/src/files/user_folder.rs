//! The directories of a user's cache and data (XDG Base Directory Specification).

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The directory of oscost's cache: in `$XDG_CACHE_HOME`, or in `$HOME/.cache`; `None` if neither
/// is set.
pub fn cache_folder() -> Option<PathBuf> {
    folder(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"), ".cache")
}

/// The directory of oscost's data: in `$XDG_DATA_HOME`, or in `$HOME/.local/share`; `None` if
/// neither is set.
pub fn data_folder() -> Option<PathBuf> {
    folder(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"), ".local/share")
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
}
