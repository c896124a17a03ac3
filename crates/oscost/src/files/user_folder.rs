//! The directories of a user's cache and data (XDG Base Directory Specification), and which of them
//! root uses.
//!
//! Root often has the `HOME` of a user (`sudo -E`, `su -m`). What root creates there is given to the
//! user: a folder of root's in a user's home would shut out the user's own programs. What root
//! executes is not kept there: the user could change it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{ROOT, User};

use super::open_folder::{OpenFolder, is_root, is_roots_alone, may_create_below};

/// Where a kind of folder is.
struct BaseFolder {
    /// The variable that names the folder above it.
    variable: &'static str,
    /// The folder above it in a home, where the variable is not set.
    in_home: &'static str,
}

const CACHE: BaseFolder = BaseFolder { variable: "XDG_CACHE_HOME", in_home: ".cache" };
const DATA: BaseFolder = BaseFolder { variable: "XDG_DATA_HOME", in_home: ".local/share" };

/// The directory of oscost's cache: in `$XDG_CACHE_HOME`, or in `$HOME/.cache`; `None` if neither
/// is set.
pub fn cache_folder() -> Option<PathBuf> {
    CACHE.usable()
}

/// The directory of oscost's data: in `$XDG_DATA_HOME`, or in `$HOME/.local/share`; `None` if
/// neither is set.
pub fn data_folder() -> Option<PathBuf> {
    DATA.usable()
}

/// The directory of programs that oscost prepares and of what they work on: that of the cache, or
/// root's own if another user could change what root executes there.
pub fn program_folder() -> Option<PathBuf> {
    for_programs(CACHE.usable()?)
}

fn for_programs(cache: PathBuf) -> Option<PathBuf> {
    match is_root() && !is_roots_alone(&cache) {
        true => CACHE.of_root(),
        false => Some(cache),
    }
}

/// What root's folders are instead of those that the environment names, if they are others.
pub fn redirection_note() -> Option<String> {
    let redirected = |base: &BaseFolder| {
        let (named, used) = (base.named()?, base.usable()?);
        (named != used).then(|| format!("{} instead of {}", used.display(), named.display()))
    };
    let redirected: Vec<String> = [DATA, CACHE].iter().filter_map(redirected).collect();
    (!redirected.is_empty()).then(|| {
        format!(
            "root may not create files for the owner of this home, and uses its own folders: {}",
            redirected.join(", ")
        )
    })
}

/// Where root's workloads are, if not in the cache.
pub fn program_folder_note() -> Option<String> {
    programs_note(CACHE.usable()?)
}

fn programs_note(cache: PathBuf) -> Option<String> {
    let used = for_programs(cache.clone()).filter(|used| *used != cache)?;
    Some(format!(
        "root prepares and runs workloads in {}, since other users could change them in {}",
        used.display(),
        cache.display()
    ))
}

impl BaseFolder {
    /// As the environment names it.
    fn named(&self) -> Option<PathBuf> {
        folder(std::env::var_os(self.variable), std::env::var_os("HOME"), self.in_home)
    }

    /// The same, or root's own where root could only create files in it that shut out its owner.
    fn usable(&self) -> Option<PathBuf> {
        let named = self.named()?;
        if !is_root() || may_create_below(&named) {
            return Some(named);
        }
        self.of_root().or(Some(named))
    }

    /// In root's own home, whatever the environment names.
    fn of_root(&self) -> Option<PathBuf> {
        let home = User::from_uid(ROOT).ok().flatten().map(|root| root.dir);
        folder(None, home.map(OsString::from), self.in_home)
    }
}

/// A relative path is invalid by the specification, and is ignored.
fn folder(xdg: Option<OsString>, home: Option<OsString>, in_home: &str) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = xdg.and_then(absolute);
    let base = base.or_else(|| Some(home.and_then(absolute)?.join(in_home)))?;
    Some(base.join("oscost"))
}

/// Creates a directory and those above it, for their owner only: this user, or for root the owner
/// of the nearest one that exists. An existing one is unchanged.
pub fn create_private(folder: &Path) -> io::Result<()> {
    OpenFolder::create(folder).map(drop)
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
    fn what_root_executes_is_not_kept_where_a_user_can_change_it() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache/oscost");
        assert_eq!(for_programs(cache.clone()), Some(cache.clone()));
        assert_eq!(programs_note(cache.clone()), None);
        if std::os::unix::fs::chown(home.path(), Some(12_345), None).is_err() {
            return eprintln!("cannot run here: only root gives a folder to another user");
        }
        let of_root = User::from_uid(ROOT).unwrap().unwrap().dir.join(".cache/oscost");
        assert_eq!(for_programs(cache.clone()), Some(of_root.clone()));
        let note = programs_note(cache).unwrap();
        assert!(note.contains(&format!("workloads in {}, since", of_root.display())), "{note}");
    }
}
