//! The paths of executables: the BPF programs know the path in the file system, and the table of
//! mounts where that file system is mounted.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::profiles::profile::Key;

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The device of its file system, in the kernel's own encoding.
    device: u64,
    /// The directory of the file system that is mounted.
    root: String,
    /// Where it is mounted.
    mount_point: String,
}

/// The absolute path of an executable; `path` is the one in its file system. Returns `path` if no
/// mount of this process leads to the file, which may be in a container.
pub fn absolute_path(key: Key, path: &str) -> String {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    candidates(&mounts, key.device, path)
        .find(|candidate| is_file(candidate, key))
        .unwrap_or_else(|| path.to_owned())
}

fn is_file(path: &str, key: Key) -> bool {
    // stat(2) may return another device than the mount's: that of a subvolume.
    fs::metadata(Path::new(path)).is_ok_and(|it| it.is_file() && it.ino() == key.inode)
}

/// Whether an executable was removed or replaced. If its path is incomplete or cannot be read, it
/// counts as existing; a file in a container counts as removed, unless its path leads to it from
/// here too.
pub fn is_gone(key: Key, path: &str) -> bool {
    if !path.starts_with('/') {
        return false;
    }
    match fs::metadata(path) {
        Ok(it) => it.ino() != key.inode,
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// The absolute paths that a path in a file system may have.
fn candidates<'a>(
    mounts: &'a str,
    device: u64,
    path: &'a str,
) -> impl Iterator<Item = String> + 'a {
    mounts.lines().filter_map(mount).filter(move |mount| mount.device == device).filter_map(
        move |mount| {
            let inside = path.strip_prefix(mount.root.trim_end_matches('/'))?;
            inside
                .starts_with('/')
                .then(|| format!("{}{inside}", mount.mount_point.trim_end_matches('/')))
        },
    )
}

/// Parses a line of mountinfo: id, parent, major:minor, root, mount point, and more
/// (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
    let (root, mount_point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    // The kernel's MKDEV(): a minor number has 20 bits.
    Some(Mount { device: major << 20 | minor, root, mount_point })
}

/// Replaces escapes, which are three octal digits after a backslash.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (code.filter(u8::is_ascii), piece.get(3..)) {
            (Some(code), Some(rest)) => {
                whole.push(char::from(code));
                whole.push_str(rest);
            }
            _ => {
                whole.push('\\');
                whole.push_str(piece);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:27 / /dev/shm rw - tmpfs tmpfs rw
40 22 254:1 /@usr /usr rw - btrfs /dev/vdb rw
41 22 254:1 /home/my\\040own /srv/o\\134n rw - btrfs /dev/vdb rw
not a line
";

    fn found(device: u64, path: &str) -> Vec<String> {
        candidates(MOUNTS, device, path).collect()
    }

    #[test]
    fn a_path_is_below_the_mount_point_of_its_file_system() {
        assert_eq!(found(254 << 20, "/usr/bin/dash"), ["/usr/bin/dash"]);
        assert_eq!(found(27, "/x"), ["/dev/shm/x"]);
        assert_eq!(found(254 << 20 | 1, "/@usr/bin/make"), ["/usr/bin/make"]);
        assert_eq!(found(254 << 20 | 1, "/home/my own/x"), ["/srv/o\\n/x"]);
        assert!(found(254 << 20 | 1, "/@usrlocal/x").is_empty());
        assert!(found(99, "/usr/bin/dash").is_empty());
    }

    #[test]
    fn without_a_mount_the_path_in_the_file_system_is_returned() {
        assert_eq!(absolute_path(Key { device: 1, inode: 1 }, "/no/such"), "/no/such");
    }

    #[test]
    fn a_file_is_gone_if_it_was_removed_or_replaced() {
        let folder = tempfile::TempDir::with_prefix("oscost-test-").unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "").unwrap();
        let name = path.to_str().unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let key = |inode| Key { device: 1, inode };
        assert!(!is_gone(key(inode), name));
        assert!(is_gone(key(inode + 1), name), "it was replaced");
        assert!(is_gone(key(inode), &format!("{name}/below")), "its parent is not a directory");
        fs::remove_file(&path).unwrap();
        assert!(is_gone(key(inode), name));
        assert!(
            !is_gone(key(inode), "") && !is_gone(key(inode), ".../x"),
            "the path is incomplete"
        );
    }

    #[test]
    fn this_program_is_found() {
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let metadata = fs::metadata(&own).unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let key = |device| Key { device, inode: metadata.ino() };
        let own = own.to_str().unwrap();
        let mut mounted = mounts.lines().filter_map(mount);
        let found = mounted.any(|mount| absolute_path(key(mount.device), own) == own);
        assert!(found, "{own} is not on any mount of {mounts}");
    }
}
