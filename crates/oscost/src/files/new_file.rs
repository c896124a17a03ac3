//! Files that get their name when they are complete, in place of one that has it already.
//!
//! A file is written without a name (`O_TMPFILE` of open(2)) where the file system can do that, so
//! that nothing is left of it however this process ends. Where it cannot (NFS, vfat, old overlays,
//! no /proc), it has a temporary name while it is written, and so it has for the moment between two
//! system calls where it replaces another: no call gives a file a name that is taken.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

use super::attributes;

/// How many temporary names are tried: those of killed processes may be taken.
const MAX_NAMES: u32 = 100;

/// The set-user-ID and set-group-ID bits (inode(7)). They are for the contents that a file had, which is
/// why write(2) takes them from a file; and whoever may change names in its folder while root replaces
/// it may have another file's mode read.
const RUNS_AS_OWNER: u32 = 0o6000;

/// When a file that was written is on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before it has its name.
    BeforeNamed,
    /// When the kernel writes it: a crash of the machine may lose it.
    Later,
}

/// Writes a file that replaces one of its name, if there is one, and takes over its owner, its mode
/// without set-user-ID and set-group-ID, its access control list and its users' attributes.
pub(super) fn write(target: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    // What cannot be done without a name is tried with one, whatever the reason.
    write_without_name(target, bytes, durability)
        .or_else(|_| write_with_name(target, bytes, durability))
}

/// Checks that a file can be created in the folder of this one, and leaves none.
pub(super) fn check(target: &Path) -> io::Result<()> {
    if create_without_name(target).is_ok() {
        return Ok(());
    }
    std::fs::remove_file(take_name(target, create_with_name)?.name)
}

fn write_without_name(target: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = create_without_name(target)?;
    fill(&mut file, target, bytes, durability)?;
    match give_name(&file, target) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let taken = take_name(target, |name| give_name(&file, name))?;
            rename(&taken.name, target)
        }
        named => named,
    }
}

fn write_with_name(target: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut taken = take_name(target, create_with_name)?;
    match fill(&mut taken.made, target, bytes, durability) {
        Ok(()) => rename(&taken.name, target),
        Err(error) => {
            // The first error is the one to report.
            let _ = std::fs::remove_file(&taken.name);
            Err(error)
        }
    }
}

fn create_without_name(target: &Path) -> io::Result<File> {
    let folder = target.parent().ok_or(ErrorKind::InvalidInput)?;
    OpenOptions::new().write(true).custom_flags(nix::libc::O_TMPFILE).open(folder)
}

fn create_with_name(name: &Path) -> io::Result<File> {
    File::create_new(name)
}

/// Another file of this name is an error.
fn give_name(file: &File, name: &Path) -> io::Result<()> {
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(AT_FDCWD, opened.as_str(), AT_FDCWD, name, AtFlags::AT_SYMLINK_FOLLOW)?;
    Ok(())
}

fn fill(file: &mut File, target: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    if let Ok(old) = target.metadata() {
        keep_owner_and_mode(file, &old)?;
        // The list contains the mode.
        attributes::keep(target, file)?;
    }
    file.write_all(bytes)?;
    match durability {
        Durability::BeforeNamed => file.sync_all(),
        Durability::Later => Ok(()),
    }
}

fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(old.mode() & !RUNS_AS_OWNER))
}

/// A temporary name, and what was made of it.
struct TakenName<T> {
    name: PathBuf,
    made: T,
}

/// Takes the first free name beside a file. It does not contain that of the file, which may be as
/// long as a name can be.
fn take_name<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<TakenName<T>> {
    for number in 0..MAX_NAMES {
        let name = target.with_file_name(format!(".oscost-{}-{number}", std::process::id()));
        match make(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| TakenName { name, made }),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn rename(name: &Path, target: &Path) -> io::Result<()> {
    let renamed = std::fs::rename(name, target);
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(name);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rustix::fs::{XattrFlags, getxattr, setxattr};

    use super::*;

    type WriteFile = fn(&Path, &[u8], Durability) -> io::Result<()>;

    /// Both ways and their choice; that without a name where the file system has it.
    fn ways(folder: &Path) -> Vec<WriteFile> {
        let mut ways: Vec<WriteFile> = vec![write_with_name, write];
        match create_without_name(&folder.join("file")) {
            Ok(_) => ways.push(write_without_name),
            Err(error) => eprintln!("no file without a name here: {error}"),
        }
        ways
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_created_and_replaced_with_its_mode_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        for (number, write) in ways(folder.path()).into_iter().enumerate() {
            let file = folder.path().join(format!("file-{number}"));
            check(&file).unwrap();
            assert!(!file.exists());
            write(&file, b"one", Durability::Later).unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), b"one");
            std::fs::set_permissions(&file, Permissions::from_mode(0o4640)).unwrap();
            let open = File::open(&file).unwrap();
            write(&file, b"two", Durability::BeforeNamed).unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), b"two");
            assert_eq!(std::io::read_to_string(open).unwrap(), "one", "it is another file");
            assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640, "without set-user-ID");
            std::fs::remove_file(&file).unwrap();
            assert_eq!(names(folder.path()), BTreeSet::new());
        }
    }

    /// An access control list that lets one more user read: its version and its entries, each with a
    /// tag, permissions and an id (linux/posix_acl_xattr.h).
    fn access_list() -> Vec<u8> {
        const NO_ID: u32 = u32::MAX;
        let entries: [(u16, u16, u32); 5] = [
            (0x01, 0o6, NO_ID),
            (0x02, 0o4, 12_345),
            (0x04, 0o4, NO_ID),
            (0x10, 0o4, NO_ID),
            (0x20, 0o0, NO_ID),
        ];
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_access_control_list_and_attributes_of_a_replaced_file_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let list = access_list();
        let attributes = [("user.oscost", &b"text"[..]), ("system.posix_acl_access", &list[..])];
        for (number, write) in ways(folder.path()).into_iter().enumerate() {
            let file = folder.path().join(format!("file-{number}"));
            write(&file, b"one", Durability::Later).unwrap();
            let set = attributes.into_iter().filter(|(name, value)| {
                let set = setxattr(&file, *name, value, XattrFlags::empty());
                if let Err(error) = &set {
                    eprintln!("cannot run here: {name}: {error}");
                }
                set.is_ok()
            });
            let set: Vec<(&str, &[u8])> = set.collect();
            write(&file, b"two", Durability::Later).unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), b"two");
            for (name, value) in set {
                let mut kept = vec![0u8; 1_000];
                let length = getxattr(&file, name, &mut kept[..]).unwrap();
                assert_eq!(&kept[..length], value, "{name}");
            }
        }
    }

    #[test]
    fn the_longest_name_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n".repeat(255));
        for write in ways(folder.path()) {
            for text in [b"one", b"two"] {
                check(&file).unwrap();
                write(&file, text, Durability::Later).unwrap();
                assert_eq!(std::fs::read(&file).unwrap(), text);
            }
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn a_temporary_name_that_a_killed_process_left_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!(".oscost-{}-0", std::process::id()));
        std::fs::write(&left, "left").unwrap();
        let file = folder.path().join("file");
        for write in ways(folder.path()) {
            for _ in 0..2 {
                write(&file, b"text", Durability::Later).unwrap();
            }
            assert_eq!(names(folder.path()).len(), 2);
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!(std::fs::read(&left).unwrap(), b"left");
    }

    #[test]
    fn nothing_is_left_of_a_file_that_is_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        match create_without_name(&file) {
            Err(error) => eprintln!("cannot run here: {error}"),
            Ok(mut unfinished) => {
                unfinished.write_all(b"half of it").unwrap();
                assert_eq!(names(folder.path()), BTreeSet::new());
            }
        }
        let absent = folder.path().join("absent/file");
        assert_eq!(check(&absent).unwrap_err().kind(), ErrorKind::NotFound);
        let refused = write(&absent, b"text", Durability::Later).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
    }
}
