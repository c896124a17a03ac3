//! The directories of a user's cache and data (XDG Base Directory Specification), and who owns what
//! is created in them.
//!
//! Root often has the `HOME` of a user (`sudo -E`, `su -m`). What root creates there is given to the
//! user: a folder of root's in a user's home would shut out the user's own programs.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{ROOT, User, geteuid};

/// Where a kind of folder is.
struct Place {
    /// The variable that names the folder above it.
    variable: &'static str,
    /// The folder above it in a home, where the variable is not set.
    in_home: &'static str,
}

const CACHE: Place = Place { variable: "XDG_CACHE_HOME", in_home: ".cache" };
const DATA: Place = Place { variable: "XDG_DATA_HOME", in_home: ".local/share" };

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

/// What root's folders are instead of those that the environment names, if they are others.
pub fn redirection_note() -> Option<String> {
    let redirected = |place: &Place| {
        let (named, used) = (place.named()?, place.usable()?);
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

impl Place {
    /// As the environment names it.
    fn named(&self) -> Option<PathBuf> {
        folder(std::env::var_os(self.variable), std::env::var_os("HOME"), self.in_home)
    }

    /// The same, or root's own where root could only create files in it that shut out its owner.
    fn usable(&self) -> Option<PathBuf> {
        let named = self.named()?;
        if !geteuid().is_root() || may_create_below(&named) {
            return Some(named);
        }
        let home = User::from_uid(ROOT).ok().flatten().map(|root| root.dir);
        folder(None, home.map(OsString::from), self.in_home).or(Some(named))
    }
}

/// A relative path is invalid by the specification, and is ignored.
fn folder(xdg: Option<OsString>, home: Option<OsString>, in_home: &str) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = xdg.and_then(absolute);
    let base = base.or_else(|| Some(home.and_then(absolute)?.join(in_home)))?;
    Some(base.join("oscost"))
}

/// The owner of what this process creates in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewOwner {
    /// The user of this process.
    Creator,
    /// The owner of the folder, since root creates it in another user's.
    OwnerOfFolder {
        /// The user.
        uid: u32,
        /// The group.
        gid: u32,
    },
    /// The same, but this root has no right to change owners (a user namespace, NFS, a container
    /// without CAP_CHOWN).
    Refused,
}

impl NewOwner {
    fn in_folder(folder: &File) -> io::Result<Self> {
        let metadata = folder.metadata()?;
        let (uid, gid) = (metadata.uid(), metadata.gid());
        if !geteuid().is_root() || uid == ROOT.as_raw() {
            return Ok(NewOwner::Creator);
        }
        // A change to the same owner takes the right to change it, and changes nothing.
        Ok(match fchown(folder, Some(uid), Some(gid)) {
            Err(error) if error.kind() != ErrorKind::ReadOnlyFilesystem => NewOwner::Refused,
            _ => NewOwner::OwnerOfFolder { uid, gid },
        })
    }

    /// Gives a file or a folder that this process has just created.
    fn take(self, created: &File) -> io::Result<()> {
        match self {
            NewOwner::OwnerOfFolder { uid, gid } => fchown(created, Some(uid), Some(gid)),
            NewOwner::Creator | NewOwner::Refused => Ok(()),
        }
    }
}

/// Whether what root creates below a path, which may not exist, can have the right owner.
fn may_create_below(path: &Path) -> bool {
    let owner = open_nearest(path).and_then(|(folder, _)| NewOwner::in_folder(&folder));
    match owner {
        Ok(owner) => owner != NewOwner::Refused,
        // It is reported when it is used.
        Err(error) => error.kind() != ErrorKind::PermissionDenied,
    }
}

/// Creates a directory and those above it, for their owner only: this user, or for root the owner
/// of the nearest one that exists. An existing one is unchanged.
pub fn create_private(folder: &Path) -> io::Result<()> {
    if !geteuid().is_root() {
        return DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    // By descriptors: the owner of the folder could replace a part of a path by a link, and be given
    // what is elsewhere.
    let (mut above, missing) = open_nearest(folder)?;
    let owner = NewOwner::in_folder(&above)?;
    for name in missing {
        let created = mkdirat(&above, name, Mode::S_IRWXU);
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let made = match created {
            // Another process has created it meanwhile.
            Ok(()) | Err(Errno::EEXIST) => File::from(openat(&above, name, flags, Mode::empty())?),
            Err(error) => return Err(error.into()),
        };
        if created.is_ok() && made.metadata()?.uid() == ROOT.as_raw() {
            owner.take(&made)?;
        }
        above = made;
    }
    Ok(())
}

/// Gives a file that root has just created in a folder to the owner of the folder.
pub fn give_to_owner_of(folder: &Path, created: &File) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    NewOwner::in_folder(&open_folder(folder, 0)?)?.take(created)
}

/// Gives a folder that root has created and filled, and what is in it, to the owner of the folder
/// above it.
pub fn give_tree(tree: &Path) -> io::Result<()> {
    let Some(above) = tree.parent().filter(|_| geteuid().is_root()) else { return Ok(()) };
    let owner = NewOwner::in_folder(&open_folder(above, 0)?)?;
    let NewOwner::OwnerOfFolder { uid, gid } = owner else { return Ok(()) };
    let top = open_folder(tree, nix::libc::O_NOFOLLOW)?;
    let metadata = top.metadata()?;
    // As long as only root can enter it, no path below its descriptor can be replaced by a link.
    if metadata.uid() != ROOT.as_raw() || metadata.mode() & 0o077 != 0 {
        let why = "others can change what is in it while it is given to its owner";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    let below = PathBuf::from(format!("/proc/self/fd/{}", top.as_raw_fd()));
    give_content(&below, uid, gid)?;
    owner.take(&top)
}

fn give_content(folder: &Path, uid: u32, gid: u32) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        if metadata.is_dir() {
            give_content(&path, uid, gid)?;
        }
        // A file with another name may be one from elsewhere: git clones a local repository so.
        let is_only_here = metadata.is_dir() || metadata.nlink() == 1;
        if is_only_here && metadata.uid() == ROOT.as_raw() {
            lchown(&path, Some(uid), Some(gid))?;
        }
    }
    Ok(())
}

/// The nearest folder of a path that exists, and the names below it that do not.
fn open_nearest(path: &Path) -> io::Result<(File, Vec<&OsStr>)> {
    let mut missing = Vec::new();
    let mut nearest = path;
    loop {
        match (open_folder(nearest, 0), nearest.parent(), nearest.file_name()) {
            (Err(error), Some(above), Some(name)) if error.kind() == ErrorKind::NotFound => {
                missing.insert(0, name);
                nearest = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            }
            (opened, ..) => return Ok((opened?, missing)),
        }
    }
}

fn open_folder(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(nix::libc::O_DIRECTORY | flags).open(path)
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

    /// An id that no user of a test machine has.
    const OTHER: u32 = 12_345;

    /// A folder of another user; `None` where this user cannot make one.
    fn home_of_other() -> Option<tempfile::TempDir> {
        if !geteuid().is_root() {
            eprintln!("cannot run here: only root creates files in another user's folder");
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(home.path(), Some(OTHER), Some(OTHER)).unwrap();
        Some(home)
    }

    fn owner(path: &Path) -> (u32, u32) {
        let metadata = path.symlink_metadata().unwrap();
        (metadata.uid(), metadata.gid())
    }

    #[test]
    fn folders_are_created_for_their_owner_only_and_existing_ones_unchanged() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        create_private(&folder).unwrap();
        create_private(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(owner(&folder).0, geteuid().as_raw());
        std::fs::write(home.path().join("file"), "").unwrap();
        for path in ["file", "file/below"] {
            assert!(create_private(&home.path().join(path)).is_err(), "{path}");
        }
        std::os::unix::fs::symlink("absent", home.path().join("link")).unwrap();
        assert!(create_private(&home.path().join("link/below")).is_err());
        assert!(!home.path().join("absent").exists(), "a link was followed");
    }

    #[test]
    fn what_root_creates_in_a_users_folder_belongs_to_the_user() {
        let Some(home) = home_of_other() else { return };
        let folder = home.path().join(".local/share/oscost");
        create_private(&folder).unwrap();
        let file = File::create_new(folder.join("file")).unwrap();
        give_to_owner_of(&folder, &file).unwrap();
        for path in [".local", ".local/share", ".local/share/oscost", ".local/share/oscost/file"] {
            assert_eq!(owner(&home.path().join(path)), (OTHER, OTHER), "{path}");
        }
    }

    #[test]
    fn a_tree_is_given_without_what_its_links_name() {
        let Some(home) = home_of_other() else { return };
        let elsewhere = tempfile::tempdir().unwrap();
        let (file, tree) = (elsewhere.path().join("file"), home.path().join("tree"));
        std::fs::write(&file, "").unwrap();
        DirBuilder::new().mode(0o700).create(&tree).unwrap();
        std::fs::create_dir(tree.join("folder")).unwrap();
        std::fs::write(tree.join("folder/own"), "").unwrap();
        std::os::unix::fs::symlink(&file, tree.join("symbolic")).unwrap();
        // It fails where the two are on different file systems.
        let _ = std::fs::hard_link(&file, tree.join("hard"));
        give_tree(&tree).unwrap();
        for path in ["", "folder", "folder/own", "symbolic"] {
            assert_eq!(owner(&tree.join(path)), (OTHER, OTHER), "{path}");
        }
        assert_eq!(owner(&file).0, 0, "what a link names was given away");
        // What others may enter is not given: they could replace a part of it by a link.
        let open = home.path().join("open");
        DirBuilder::new().mode(0o755).create(&open).unwrap();
        assert!(give_tree(&open).is_err());
        std::os::unix::fs::symlink(elsewhere.path(), home.path().join("link")).unwrap();
        assert!(give_tree(&home.path().join("link")).is_err());
        assert_eq!(owner(elsewhere.path()).0, 0);
    }
}
