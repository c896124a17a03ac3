//! Folders that stay open: what is created in one is there, wherever its path leads meanwhile.
//!
//! Root often has the `HOME` of a user (`sudo -E`, `su -m`), who can replace any part of a path
//! below it by a link at any moment. So root follows no link there that leads out of what the user
//! owns, creates by descriptors, and gives what it has created to the user.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{ROOT, UnlinkatFlags, geteuid, unlinkat};
use thiserror::Error;

/// A folder that is open.
#[derive(Debug)]
pub struct OpenFolder {
    folder: File,
    owner: NewOwner,
}

impl OpenFolder {
    /// Opens a folder that exists.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(open(path)?)
    }

    /// Opens a folder; creates it and those above it where they are missing, for their owner only:
    /// this user, or for root the owner of the nearest one that exists. An existing one is
    /// unchanged.
    pub fn create(path: &Path) -> io::Result<Self> {
        if !is_root() {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            return Self::open(path);
        }
        let (mut above, missing) = open_nearest(path)?;
        let owner = NewOwner::in_folder(&above)?;
        for name in missing {
            let created = mkdirat(&above, name, Mode::S_IRWXU);
            let made = match created {
                // Another process has created it meanwhile.
                Ok(()) | Err(Errno::EEXIST) => open_child(&above, name)?,
                Err(error) => return Err(error.into()),
            };
            if created.is_ok()
                && made.metadata()?.uid() == ROOT.as_raw()
                && let Err(error) = owner.take(&made)
            {
                // One that stays root's would be in the way for ever.
                let _ = unlinkat(&above, name, UnlinkatFlags::RemoveDir);
                return Err(error);
            }
            above = made;
        }
        Self::of(above)
    }

    fn of(folder: File) -> io::Result<Self> {
        let owner = NewOwner::in_folder(&folder)?;
        Ok(Self { folder, owner })
    }

    /// Creates a file for the owner of the folder only. Anything of that name, a link too, is an
    /// error ([`ErrorKind::AlreadyExists`]).
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL;
        let created = self.open_at(name, flags)?;
        if let Err(error) = self.owner.take(&created) {
            // A file of root's would be in the way for ever.
            let _ = self.remove(name);
            return Err(error);
        }
        Ok(created)
    }

    /// Opens a file to read and write it; a link is not followed.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_at(name, OFlag::O_RDWR)
    }

    fn open_at(&self, name: &OsStr, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        Ok(File::from(openat(&self.folder, name, flags, mode)?))
    }

    /// Renames a file of the folder; another one of the new name is replaced.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.folder, from, &self.folder, to)?)
    }

    /// Removes a file of the folder.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Checks a file that root has opened by its path, as libraries do: in the folder of another
    /// user it must be that user's, or a link may have led to it.
    pub fn check_owner(&self, opened_uid: u32) -> io::Result<()> {
        match self.owner {
            NewOwner::OwnerOfFolder { uid, .. } if uid != opened_uid => {
                Err(owner_mismatch(uid, opened_uid))
            }
            _ => Ok(()),
        }
    }
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
        if !is_root() || uid == ROOT.as_raw() {
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

/// Whether this process is root, who may own what other users cannot change.
///
/// The root of a user namespace (`unshare -r`) on the file system of the host is an ordinary user
/// there: `/` is not its own. Its files are those of this user, like any that it creates.
pub(super) fn is_root() -> bool {
    let is_own = || {
        let uid_map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let owner = Path::new("/").metadata().map_or(ROOT.as_raw(), |top| top.uid());
        !is_root_of_namespace_only(&uid_map, owner)
    };
    geteuid().is_root() && is_own()
}

/// By the user ids of the namespace, and the owner of `/`. A process without /proc, and a container
/// with files of its own, have root's rights on these.
fn is_root_of_namespace_only(uid_map: &str, owner_of_top: u32) -> bool {
    let mut ids = uid_map.split_whitespace();
    let outer_root = ids.nth(1);
    outer_root.is_some_and(|uid| uid != "0") && owner_of_top != ROOT.as_raw()
}

/// Whether what root creates below a path, which may not exist, can have the right owner.
pub(super) fn may_create_below(path: &Path) -> bool {
    let owner = open_nearest(path).and_then(|(folder, _)| NewOwner::in_folder(&folder));
    match owner {
        Ok(owner) => owner != NewOwner::Refused,
        // It is reported when it is used.
        Err(error) => error.kind() != ErrorKind::PermissionDenied,
    }
}

/// Whether no other user can change what is at a path, which may not exist: all on the way is
/// root's, and others may not write there.
pub(super) fn is_roots_alone(path: &Path) -> bool {
    let exists = |part: &&Path| part.symlink_metadata().is_ok();
    let Some(nearest) = path.ancestors().find(exists) else { return false };
    let Ok(real) = nearest.canonicalize() else { return false };
    let is_closed = |part: &Path, is_last: bool| {
        let Ok(metadata) = part.symlink_metadata() else { return false };
        let (mode, is_of_roots_group) = (metadata.mode(), metadata.gid() == 0);
        let is_open = mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_of_roots_group);
        let is_sticky = mode & 0o1000 != 0;
        // In a sticky folder no other user replaces what is root's, but each may create what is missing.
        let is_changeable = is_open && (is_last || !is_sticky);
        metadata.uid() == ROOT.as_raw() && (metadata.is_symlink() || !is_changeable)
    };
    [nearest, real.as_path()]
        .into_iter()
        .all(|path| path.ancestors().enumerate().all(|(above, part)| is_closed(part, above == 0)))
}

/// The nearest folder of a path that exists, and the names below it that do not.
fn open_nearest(path: &Path) -> io::Result<(File, Vec<&OsStr>)> {
    let mut missing = Vec::new();
    let mut nearest = path;
    loop {
        match (open(nearest), nearest.parent(), nearest.file_name()) {
            (Err(error), Some(above), Some(name)) if error.kind() == ErrorKind::NotFound => {
                missing.insert(0, name);
                nearest = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            }
            (opened, ..) => return Ok((opened?, missing)),
        }
    }
}

/// Opens a folder that exists. Root follows what another user can have put on the way only to a
/// folder of that user's.
fn open(path: &Path) -> io::Result<File> {
    let path = std::path::absolute(path)?;
    if !is_root() {
        // A folder that this user may not list is one to create files in, too.
        return open_folder(&path, nix::libc::O_PATH);
    }
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let users = parts.into_iter().find_map(|part| {
        // A link of root's may lead to a folder of a user's.
        let owners = [part.symlink_metadata(), part.metadata()];
        let mut uids = owners.into_iter().flatten().map(|owner| owner.uid());
        Some((part, uids.find(|uid| *uid != ROOT.as_raw())?))
    });
    let Some((top, uid)) = users else { return open_folder(&path, 0) };
    match open_without_links(&path, top) {
        Err(error) if matches!(error.raw_os_error(), Some(LINK | NO_FOLDER)) => {}
        opened => return opened,
    }
    let folder = open_folder(&path, 0)?;
    let owner = folder.metadata()?.uid();
    if owner == uid { Ok(folder) } else { Err(owner_mismatch(uid, owner)) }
}

/// The errors of opening a link without following it; as a folder, the second.
const LINK: i32 = nix::libc::ELOOP;
const NO_FOLDER: i32 = nix::libc::ENOTDIR;

/// Opens a folder below `top`, which is the beginning of its path.
fn open_without_links(path: &Path, top: &Path) -> io::Result<File> {
    let mut folder = open_folder(top, nix::libc::O_NOFOLLOW)?;
    for name in path.strip_prefix(top).map_err(io::Error::other)? {
        folder = open_child(&folder, name)?;
    }
    Ok(folder)
}

fn open_child(above: &File, name: &OsStr) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(File::from(openat(above, name, flags, Mode::empty())?))
}

fn open_folder(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(nix::libc::O_DIRECTORY | flags).open(path)
}

/// A path leads root out of what a user owns; the inner error of [`ErrorKind::PermissionDenied`].
#[derive(Debug, Error)]
#[error("its path leads from a folder of user {from} to what belongs to user {to}")]
pub struct OwnerMismatch {
    /// The user.
    pub from: u32,
    /// The owner of what it leads to.
    pub to: u32,
}

fn owner_mismatch(from: u32, to: u32) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, OwnerMismatch { from, to })
}

#[cfg(test)]
mod tests;
