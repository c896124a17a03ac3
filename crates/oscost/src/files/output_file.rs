//! Files that the user names for output: each is written as what it is.
//!
//! A regular file is written beside and renamed, so that a full disk leaves the old one whole; a link
//! is followed; a device, a pipe, and all that /dev and /proc name (`/dev/stdout`, `/dev/fd/3`) is
//! opened and written. Nothing there may be replaced: programs of the whole machine write to it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Folders in which nothing is replaced or created.
const SYSTEM_FOLDERS: [&str; 2] = ["/dev", "/proc"];

/// More links than these are a circle, as for the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// How a file is written.
#[derive(Debug, PartialEq, Eq)]
enum WriteMode {
    /// Opened as it is, and written at its end.
    Append,
    /// Written beside this file, and renamed to it.
    Replace(PathBuf),
}

/// Writes a file completely, or leaves it as it was where it can be replaced.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match write_mode(path)? {
        WriteMode::Append => append(path, bytes),
        WriteMode::Replace(target) => match replace(&target, bytes) {
            // The folder, or the owner of the file, does not allow another file in its place.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && target.exists() => {
                File::options().write(true).truncate(true).open(&target)?.write_all(bytes)
            }
            result => result,
        },
    }
}

/// Checks that a file can be written. The check leaves no file behind; a device or a pipe is not
/// touched.
pub fn check(path: &Path) -> io::Result<()> {
    let WriteMode::Replace(target) = write_mode(path)? else { return Ok(()) };
    let beside = beside(&target)?;
    match File::create_new(&beside) {
        Ok(_) => std::fs::remove_file(&beside),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && target.exists() => {
            File::options().write(true).open(&target).map(drop)
        }
        Err(error) => Err(error),
    }
}

fn write_mode(path: &Path) -> io::Result<WriteMode> {
    let mut target = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        if is_of_system(&target) {
            return Ok(WriteMode::Append);
        }
        match std::fs::read_link(&target) {
            // A relative link begins in its own folder; an absolute one replaces it.
            Ok(named) => target = target.with_file_name("").join(named),
            Err(_) => break,
        }
    }
    match target.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(WriteMode::Append),
        _ => Ok(WriteMode::Replace(target)),
    }
}

/// Whether a path is below one of the system's folders, also by a link to it.
fn is_of_system(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_below = |path: &Path| SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
    is_below(path) || folder.is_some_and(|folder| is_below(&folder))
}

/// Standard output that a shell redirected to a file may have content already.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(bytes)
}

/// The file beside another one that is renamed to it when it is complete.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    Ok(target.with_file_name(format!(".{name}.{}", std::process::id())))
}

fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(target)?;
    let written = File::create_new(&beside).and_then(|mut file| {
        if let Ok(old) = target.metadata() {
            keep_owner_and_mode(&file, &old)?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&beside, target));
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    renamed
}

fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    file.set_permissions(old.permissions())
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
        if nix::unistd::geteuid().is_root() {
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
        assert_eq!(write_mode(Path::new("/dev/stdout")).unwrap(), WriteMode::Append);
        assert_eq!(write_mode(Path::new("/dev/new")).unwrap(), WriteMode::Append);
        assert!(write(Path::new("/dev/oscost-new"), b"text").is_err(), "nothing is created there");
    }

    #[test]
    fn a_folder_and_a_file_in_a_folder_that_is_not_there_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(folder.path(), b"").unwrap_err().kind(), ErrorKind::IsADirectory);
        let path = folder.path().join("absent").join("file");
        assert_eq!(check(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
