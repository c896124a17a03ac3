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
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_owner_and_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, b"one").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        check(&link).unwrap();
        write(&link, b"two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(read(&file), "two");
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(12_345), Some(54_321)).unwrap();
            write(&file, b"three").unwrap();
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (12_345, 54_321));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside");
    }

    #[test]
    fn a_new_file_has_the_mode_that_the_umask_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write(&file, b"text").unwrap();
        // As another program of this process would create it.
        let other = folder.path().join("other");
        std::fs::write(&other, "text").unwrap();
        assert_eq!(file.metadata().unwrap().mode(), other.metadata().unwrap().mode());
    }

    #[test]
    fn a_named_pipe_is_written_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let path = pipe.clone();
        let reader = std::thread::spawn(move || read(&path));
        check(&pipe).unwrap();
        write(&pipe, b"text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(!pipe.metadata().unwrap().is_file());
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_creates_it() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("later", &link).unwrap();
        write(&link, b"text").unwrap();
        assert!(link.is_symlink());
        assert_eq!(read(&folder.path().join("later")), "text");
    }

    #[test]
    fn a_circle_of_links_is_an_error_and_a_chain_as_long_as_the_kernel_follows_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let link = |number: usize| folder.path().join(format!("link-{number}"));
        for number in 0..=MAX_LINKS {
            symlink(link(number + 1), link(number)).unwrap();
        }
        let is_circle = |error: &io::Error| error.raw_os_error() == Some(nix::libc::ELOOP);
        assert!(is_circle(&write(&link(0), b"text").unwrap_err()));
        write(&link(1), b"text").unwrap();
        assert_eq!(read(&link(MAX_LINKS + 1)), "text");
        assert!(link(1).is_symlink());
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        for refused in [check(&circle), write(&circle, b"text")] {
            assert!(is_circle(&refused.unwrap_err()));
        }
        assert!(circle.is_symlink());
    }

    #[test]
    fn what_dev_and_proc_name_is_written_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("redirected");
        let open = File::options().append(true).create(true).open(&file).unwrap();
        std::fs::write(&file, "before ").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&open);
        for name in [format!("/dev/fd/{fd}"), format!("/proc/self/fd/{fd}")] {
            let path = Path::new(&name);
            check(path).unwrap();
            write(path, b"text ").unwrap();
        }
        // A link to such a name, in a folder of the user.
        let link = folder.path().join("link");
        symlink(format!("/proc/self/fd/{fd}"), &link).unwrap();
        write(&link, b"end").unwrap();
        assert!(link.is_symlink());
        assert_eq!(read(&file), "before text text end");
        write(Path::new("/dev/null"), b"text").unwrap();
        assert_eq!(write_mode(Path::new("/dev/null")).unwrap(), WriteMode::Append);
    }

    #[test]
    fn a_new_name_in_dev_or_proc_is_refused_before_anything_is_measured() {
        for name in ["/dev/oscost-new", "/proc/oscost-new", "/proc/self/fd/4321", "/dev/fd/4321"] {
            let path = Path::new(name);
            for refused in [check(path), write(path, b"text")] {
                let refused = refused.unwrap_err();
                assert!(refused.to_string().contains("nothing is created in /dev"), "{refused}");
            }
            assert!(!path.exists(), "{name}");
        }
    }

    #[test]
    fn a_regular_file_of_dev_is_written_in_place_and_one_of_proc_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "longer than the new one").unwrap();
        assert_eq!(write_mode_of(file.clone(), Place::Processes).unwrap(), WriteMode::Append);
        let in_dev = write_mode_of(file.clone(), Place::Devices).unwrap();
        assert_eq!(in_dev, WriteMode::Overwrite(file.clone()));
        overwrite(&file, b"new").unwrap();
        assert_eq!(read(&file), "new");
    }

    #[test]
    fn shared_memory_is_a_folder_of_users() {
        let device = |path: &str| Path::new(path).metadata().map(|it| it.dev()).ok();
        if [None, device(DEVICES)].contains(&device("/dev/shm")) {
            return eprintln!("cannot run here: /dev/shm is no file system of its own");
        }
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink("file", &link).unwrap();
        for text in ["first", "second"] {
            check(&link).unwrap();
            write(&link, text.as_bytes()).unwrap();
            assert_eq!(read(&file), text);
        }
        assert_eq!(place_of(&file), Place::Users);
        assert_eq!(place_of(Path::new("/dev/null")), Place::Devices);
        assert_eq!(place_of(Path::new("/proc/self/fd/1")), Place::Processes);
    }

    #[test]
    fn a_new_name_that_ends_in_a_slash_is_refused_before_anything_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("name/");
        for refused in [check(&path), write(&path, b"text")] {
            assert!(refused.unwrap_err().to_string().contains("ends in a slash"));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_of_another_user_in_a_folder_of_all_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let other = Uid::from_raw(geteuid().as_raw() + 12_345);
        for (mode, user, is_kept) in [
            (0o1777, other, true),
            (0o1777, geteuid(), false),
            (0o1777, nix::unistd::ROOT, false),
            (0o777, other, false),
        ] {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let metadata = |path: &Path| path.metadata().unwrap();
            let found = is_kept_from(user, &metadata(folder.path()), &metadata(&file));
            assert_eq!(found, is_kept, "{mode:o} {user}");
        }
        check(&file).unwrap();
    }

    #[test]
    fn a_file_at_which_something_is_mounted_is_overwritten() {
        let busy = io::Error::from_raw_os_error(nix::libc::EBUSY);
        assert!(prevents_replacement(&busy), "{busy}");
        let full = io::Error::from_raw_os_error(nix::libc::ENOSPC);
        assert!(!prevents_replacement(&full), "{full}");
    }

    #[test]
    fn a_socket_is_refused_before_anything_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for refused in [check(&socket), write(&socket, b"text")] {
            assert!(refused.unwrap_err().to_string().contains("it is a socket"));
        }
    }

    #[test]
    fn a_folder_and_a_file_in_a_folder_that_is_not_there_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(folder.path(), b"").unwrap_err().kind(), ErrorKind::IsADirectory);
        let path = folder.path().join("absent").join("file");
        assert_eq!(check(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
