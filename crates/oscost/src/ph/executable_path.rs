//! Where an executable lies: the kernel's programs know its path in its own file system, and the
//! list of mounts tells where that hangs.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::profile::Key;

/// A file system in the tree of files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// Its device, in the kernel's own numbering.
    device: u64,
    /// What of it is mounted,
    root: String,
    /// and where.
    mount_point: String,
}

/// The path of an executable as people write it; `path` is the one in its own file system. Where no
/// mount that is seen from here leads to that file (a container's), it is `path` itself.
pub fn absolute_path(key: Key, path: &str) -> String {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    candidates(&mounts, key.device, path)
        .find(|candidate| is_file(candidate, key))
        .unwrap_or_else(|| path.to_owned())
}

fn is_file(path: &str, key: Key) -> bool {
    // The device is the mount's, and stat(2) may tell another one: that of a subvolume.
    fs::metadata(Path::new(path)).is_ok_and(|it| it.is_file() && it.ino() == key.inode)
}

/// Whether an executable is no longer where it was: nothing is there, or another file. That is not
/// known of one without a whole path, nor where nobody may look; a file in a container counts as
/// gone, unless its path leads to it from here, too.
pub fn is_gone(key: Key, path: &str) -> bool {
    if !path.starts_with('/') {
        return false;
    }
    match fs::metadata(path) {
        Ok(it) => it.ino() != key.inode,
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Where a file may lie that has this path in its file system.
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

/// A line of mountinfo: number, parent, major:minor, root, where, and more (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(2);
    let (major, minor) = words.next()?.split_once(':')?;
    let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
    let (root, at) = (unescaped(words.next()?), unescaped(words.next()?));
    // MKDEV() of the kernel: a minor number has 20 bits.
    Some(Mount { device: major << 20 | minor, root, mount_point: at })
}

/// Blanks and the like stand as three octal digits behind a backslash.
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
    fn a_path_in_a_file_system_hangs_where_that_is_mounted() {
        assert_eq!(found(254 << 20, "/usr/bin/dash"), ["/usr/bin/dash"]);
        assert_eq!(found(27, "/x"), ["/dev/shm/x"]);
        assert_eq!(found(254 << 20 | 1, "/@usr/bin/make"), ["/usr/bin/make"]);
        assert_eq!(found(254 << 20 | 1, "/home/my own/x"), ["/srv/o\\n/x"]);
        assert!(found(254 << 20 | 1, "/@usrlocal/x").is_empty());
        assert!(found(99, "/usr/bin/dash").is_empty());
    }

    #[test]
    fn a_file_that_no_mount_leads_to_keeps_its_own_path() {
        assert_eq!(absolute_path(Key { device: 1, inode: 1 }, "/no/such"), "/no/such");
    }

    #[test]
    fn a_file_is_gone_when_another_one_or_none_has_its_place() {
        let folder = tempfile::TempDir::with_prefix("oscost-test-").unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "").unwrap();
        let name = path.to_str().unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let key = |inode| Key { device: 1, inode };
        assert!(!is_gone(key(inode), name));
        assert!(is_gone(key(inode + 1), name), "another file is there");
        assert!(is_gone(key(inode), &format!("{name}/below")), "it is no folder");
        fs::remove_file(&path).unwrap();
        assert!(is_gone(key(inode), name));
        assert!(!is_gone(key(inode), "") && !is_gone(key(inode), ".../x"), "where is it?");
    }

    #[test]
    fn this_program_is_found() {
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let it = fs::metadata(&own).unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let key = |device| Key { device, inode: it.ino() };
        let own = own.to_str().unwrap();
        let found =
            mounts.lines().filter_map(mount).any(|at| absolute_path(key(at.device), own) == own);
        assert!(found, "{own} is on no mount of {mounts}");
    }
}
