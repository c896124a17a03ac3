//! Files that the user names for output: each is written as what it is.
//!
//! A regular file is replaced by another one, so that a full disk leaves the old one whole; one that
//! cannot be replaced, as a file that a container mounts, is overwritten; a link is followed; a device,
//! a pipe, and a descriptor (`/dev/stdout`, `/dev/fd/3`) is opened and written.
//! Nothing in /dev and /proc is replaced or created: programs of the whole machine write to what is
//! there.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::{Uid, geteuid};

use super::new_file::{self, Durability};
use super::pipe_output;

/// The devices of the machine.
const DEVICES: &str = "/dev";
/// What the kernel shows of processes; descriptors are there.
const PROCESSES: &str = "/proc";

/// More links than these are a circle, as for the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// How a file is written.
#[derive(Debug, PartialEq, Eq)]
enum WriteMode {
    /// Opened as it is, and written at its end.
    Append,
    /// Opened when a program reads it.
    Pipe,
    /// Its content is replaced in place.
    Overwrite(PathBuf),
    /// Another file takes the place of this one, or is created.
    Replace(PathBuf),
}

/// Whose files a folder has, which decides what may be done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Those of users.
    Users,
    /// Those of the machine in /dev.
    Devices,
    /// Those of the kernel in /proc.
    Processes,
}

/// Writes a file completely, or leaves it as it was where it can be replaced.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_as(path, bytes, Durability::BeforeNamed)
}

/// The same for one of thousands of files that can be made again: a crash of the machine may lose
/// it, and no disk is waited for.
pub fn write_repeatable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_as(path, bytes, Durability::Later)
}

fn write_as(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    match write_mode(path)? {
        WriteMode::Append => append(path, bytes),
        WriteMode::Pipe => pipe_output::write(path, bytes),
        WriteMode::Overwrite(target) => overwrite(&target, bytes),
        WriteMode::Replace(target) => match new_file::write(&target, bytes, durability) {
            Err(error) if prevents_replacement(&error) && target.exists() => {
                overwrite(&target, bytes)
            }
            result => result,
        },
    }
}

/// Whether the folder or the owner of a file does not allow another one in its place, or something is
/// mounted there.
fn prevents_replacement(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ResourceBusy)
}

/// Checks that a file can be written. The check leaves no file behind; a device or a pipe is not
/// touched.
pub fn check(path: &Path) -> io::Result<()> {
    let target = match write_mode(path)? {
        WriteMode::Append | WriteMode::Pipe => return Ok(()),
        WriteMode::Overwrite(target) => return open_to_write(&target),
        WriteMode::Replace(target) => target,
    };
    match new_file::check(&target) {
        Err(error) if prevents_replacement(&error) && target.exists() => open_to_write(&target),
        Ok(()) => check_owner(&target),
        checked => checked,
    }
}

/// Checks that a file which exists can be replaced or overwritten, where its folder allows new files:
/// an immutable one can be neither, nor may another user's in a folder such as /tmp.
fn check_owner(target: &Path) -> io::Result<()> {
    match open_to_write(target) {
        Err(error) if error.raw_os_error() == Some(nix::libc::EPERM) => Err(error),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_kept(target) => Err(error),
        _ => Ok(()),
    }
}

/// Whether its folder keeps this user from giving the name of a file to another one.
fn is_kept(target: &Path) -> bool {
    let folder = target.parent().and_then(|folder| folder.metadata().ok());
    let (Some(folder), Ok(file)) = (folder, target.metadata()) else { return false };
    is_kept_from(geteuid(), &folder, &file)
}

/// Whether only others may: the folder has the sticky bit, and neither folder nor file is the user's
/// (unlink(2)).
fn is_kept_from(user: Uid, folder: &Metadata, file: &Metadata) -> bool {
    let is_owner = [folder.uid(), file.uid()].contains(&user.as_raw());
    folder.mode() & nix::libc::S_ISVTX != 0 && !user.is_root() && !is_owner
}

fn open_to_write(target: &Path) -> io::Result<()> {
    File::options().write(true).open(target).map(drop)
}

fn write_mode(path: &Path) -> io::Result<WriteMode> {
    let mut target = std::path::absolute(path)?;
    for _ in 0..=MAX_LINKS {
        let place = place_of(&target);
        match std::fs::read_link(&target) {
            // A relative link begins in its own folder; an absolute one replaces it. Those of
            // descriptors may name what is no file, or no longer one.
            Ok(named) if place != Place::Processes => {
                target = target.with_file_name("").join(named);
            }
            _ => return write_mode_of(target, place),
        }
    }
    Err(Errno::ELOOP.into())
}

/// How what is no link is written.
fn write_mode_of(target: PathBuf, place: Place) -> io::Result<WriteMode> {
    let metadata = match target.metadata() {
        Err(error) if place != Place::Users && error.kind() == ErrorKind::NotFound => {
            let why = "it does not exist, and nothing is created in /dev and /proc";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if target.as_os_str().as_bytes().ends_with(b"/") {
                let why = "its name ends in a slash, as that of a folder";
                return Err(io::Error::new(ErrorKind::InvalidInput, why));
            }
            return Ok(WriteMode::Replace(target));
        }
        found => found?,
    };
    Ok(match place {
        _ if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        _ if metadata.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is a socket"));
        }
        _ if metadata.file_type().is_fifo() => WriteMode::Pipe,
        _ if !metadata.is_file() => WriteMode::Append,
        Place::Users => WriteMode::Replace(target),
        Place::Devices => WriteMode::Overwrite(target),
        Place::Processes => WriteMode::Append,
    })
}

/// Whose files are where a path leads, also by a link to the folder.
fn place_of(path: &Path) -> Place {
    let folder = path.parent().unwrap_or(path);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if folder.starts_with(PROCESSES) {
        return Place::Processes;
    }
    match folder.starts_with(DEVICES) && !is_memory_of_users(&folder) {
        true => Place::Devices,
        false => Place::Users,
    }
}

/// Whether a folder below /dev is on a tmpfs of its own, as /dev/shm is. What else is mounted there
/// (devpts, mqueue, hugetlbfs) takes no usual files, and /dev may itself be a tmpfs.
fn is_memory_of_users(folder: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    let is_tmpfs = statfs(folder).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC);
    is_tmpfs && device(folder) != device(Path::new(DEVICES))
}

/// Standard output that a shell redirected to a file may have content already.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A terminal does not become the one that controls this process.
    let flags = nix::libc::O_NOCTTY;
    OpenOptions::new().append(true).custom_flags(flags).open(path)?.write_all(bytes)
}

fn overwrite(target: &Path, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).truncate(true).open(target)?.write_all(bytes)
}

#[cfg(test)]
mod tests;
