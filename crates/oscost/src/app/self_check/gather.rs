//! Gathers what the tool sees of its process and of the system by itself.
//!
//! Files are read below a root, which tests make up; the folders that the environment names are
//! passed in.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, eaccess};
use oscost_model::facts::{Bound, Limit};
use oscost_model::machine_lock::{LOCK_FILE, LOCK_FOLDERS, is_shared_folder};

use crate::advice::self_check::{
    Folder, FolderAccess, HostConditions, LockFile, ProcView, ProcessState,
};

/// More than a file of /proc that is read here; a machine with thousands of mounts has longer ones.
const MAX_BYTES: u64 = 1 << 20;

/// The device number of /dev/null: major 1, minor 3 (`Documentation/admin-guide/devices.txt`).
const NULL_DEVICE: u64 = 1 << 8 | 3;

/// The bit of CAP_SYS_PTRACE, to which `hidepid` does not apply.
const CAP_SYS_PTRACE: u32 = 19;

/// The whole range of users, as the map of the machine's own user namespace has it.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// The folders that the environment names.
pub(super) struct NamedFolders {
    /// Of the store; `None` if no variable names one.
    pub(super) store: Option<PathBuf>,
    /// Of temporary files.
    pub(super) temporary: PathBuf,
}

/// Gathers all of it. `root` is the root directory of the machine: `/`, except in tests.
pub(super) fn gather(root: &Path, named: &NamedFolders) -> HostConditions {
    let process = process_state(root);
    HostConditions {
        proc: proc_view(root, &process),
        file_size_bytes: limit(root, "Max file size"),
        max_user_namespaces: text(&root.join("proc/sys/user/max_user_namespaces"))
            .and_then(|text| text.trim().parse().ok()),
        has_null_device: is_null_device(&root.join("dev/null")),
        shared_memory: folder(&root.join("dev/shm")),
        temporary: folder(&named.temporary),
        store: named.store.as_deref().map(folder),
        lock_file: lock_file(root),
        process,
    }
}

fn process_state(root: &Path) -> ProcessState {
    let status = text(&root.join("proc/self/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim())
    };
    let number = |name: &str| field(name)?.parse::<u32>().ok();
    let users = text(&root.join("proc/self/uid_map"));
    ProcessState {
        // Real, effective, saved, and that of the file system.
        uid: field("Uid")
            .and_then(|ids| ids.split_ascii_whitespace().nth(1))
            .and_then(|id| id.parse().ok()),
        capabilities: field("CapEff").and_then(|bits| u64::from_str_radix(bits, 16).ok()),
        is_in_user_namespace: users.map(|map| !map.split_whitespace().eq(ALL_USERS)),
        seccomp_mode: number("Seccomp"),
        seccomp_filters: number("Seccomp_filters"),
        no_new_privileges: number("NoNewPrivs").map(|is_set| is_set == 1),
    }
}

/// Whose processes /proc shows to this process.
fn proc_view(root: &Path, process: &ProcessState) -> ProcView {
    if text(&root.join("proc/self/status")).is_none() {
        return ProcView::Missing;
    }
    if process.has(CAP_SYS_PTRACE) == Some(true) {
        return ProcView::AllUsers;
    }
    let mounts = text(&root.join("proc/self/mounts")).unwrap_or_default();
    // Device, folder, type, options. The last mount hides those below it.
    let of_proc = mounts.lines().rev().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        (folder == "/proc" && kind == "proc").then_some(options)
    });
    let Some(options) = of_proc else { return ProcView::Mounted };
    let hidden = options.split(',').find_map(|option| option.strip_prefix("hidepid="));
    match hidden {
        None | Some("0" | "off") => ProcView::AllUsers,
        Some(_) => ProcView::OwnUser,
    }
}

/// A limit of this process (`/proc/self/limits`): its name has several words, then come the soft
/// and the hard limit.
fn limit(root: &Path, name: &str) -> Limit {
    let table = text(&root.join("proc/self/limits")).unwrap_or_default();
    let row = table.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let bound = |word: &str| match word {
        "unlimited" => Some(Bound::UNLIMITED),
        number => number.parse().ok().map(Bound::Max),
    };
    let mut words = row.split_whitespace();
    Limit { soft: words.next().and_then(bound), hard: words.next().and_then(bound) }
}

fn is_null_device(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    metadata.file_type().is_char_device()
        && metadata.rdev() == NULL_DEVICE
        && eaccess(path, AccessFlags::R_OK | AccessFlags::W_OK).is_ok()
}

/// How a folder can be used; one that is missing is judged by the nearest one above it.
fn folder(path: &Path) -> Folder {
    let nearest = path.ancestors().find(|above| above.exists());
    let may_write = nearest.is_some_and(|nearest| {
        nearest.is_dir() && eaccess(nearest, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
    });
    let access = match (path.exists(), may_write) {
        (true, true) => FolderAccess::Writable,
        (true, false) => FolderAccess::NotWritable,
        (false, true) => FolderAccess::Creatable,
        (false, false) => FolderAccess::Missing,
    };
    let system = nearest.and_then(|nearest| statvfs(nearest).ok());
    Folder {
        path: path.display().to_string(),
        access,
        free_bytes: system
            .map(|system| system.blocks_available().saturating_mul(system.fragment_size())),
        forbids_programs: system.is_some_and(|system| system.flags().contains(FsFlags::ST_NOEXEC)),
    }
}

/// The file of the machine's lock, which is never made here.
fn lock_file(root: &Path) -> LockFile {
    let shared = LOCK_FOLDERS.into_iter().find(|folder| {
        let metadata = fs::metadata(below(root, folder));
        metadata.is_ok_and(|metadata| metadata.is_dir() && is_shared_folder(metadata.mode()))
    });
    let Some(folder) = shared else { return LockFile::NoFolder };
    let path = format!("{folder}/{LOCK_FILE}");
    let file = below(root, &path);
    match fs::symlink_metadata(&file) {
        // A run makes it.
        Err(_) => LockFile::Usable(path),
        Ok(metadata) if !metadata.is_file() || metadata.nlink() > 1 => {
            LockFile::Unusable(format!("{path} is not a regular file with one link"))
        }
        Ok(_) => match File::open(&file) {
            Ok(_) => LockFile::Usable(path),
            Err(error) => LockFile::Unusable(format!("{path} cannot be read: {error}")),
        },
    }
}

/// An absolute path below a root.
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The beginning of a file; `None` if it cannot be read.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const STATUS: &str = "Name:\toscost\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000080000\n\
                          NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

    /// What is gathered on a machine with these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, HostConditions) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let gathered = gathered(root.path());
        (root, gathered)
    }

    fn gathered(root: &Path) -> HostConditions {
        let named =
            NamedFolders { store: Some(root.join("data/oscost")), temporary: root.join("tmp") };
        gather(root, &named)
    }

    #[test]
    fn the_state_of_the_process_is_read_from_its_files() {
        let (_root, host) = machine(&[
            ("proc/self/status", STATUS),
            ("proc/self/uid_map", "         0       1000          1\n"),
            ("proc/self/limits", "Max file size             4096   unlimited   bytes\n"),
            ("proc/sys/user/max_user_namespaces", "0\n"),
        ]);
        let expected = ProcessState {
            uid: Some(1000),
            capabilities: Some(1 << 19),
            is_in_user_namespace: Some(true),
            seccomp_mode: Some(2),
            seccomp_filters: Some(3),
            no_new_privileges: Some(true),
        };
        assert_eq!(host.process, expected);
        let soft_and_hard = (Some(Bound::Max(4096)), Some(Bound::UNLIMITED));
        assert_eq!((host.file_size_bytes.soft, host.file_size_bytes.hard), soft_and_hard);
        assert_eq!(host.max_user_namespaces, Some(0));
        let map = "         0          0 4294967295\n";
        let (_root, host) = machine(&[("proc/self/uid_map", map)]);
        assert_eq!(host.process.is_in_user_namespace, Some(false));
    }

    #[test]
    fn an_empty_machine_is_unknown_and_not_fine() {
        let (_root, host) = machine(&[]);
        assert_eq!(host.process, ProcessState::default());
        assert_eq!(host.proc, ProcView::Missing);
        assert_eq!(host.max_user_namespaces, None);
        assert!(!host.has_null_device);
        assert_eq!(host.lock_file, LockFile::NoFolder);
        assert_eq!(host.file_size_bytes, Limit::default());
    }

    #[test]
    fn the_last_mount_of_proc_says_whose_processes_are_visible() {
        let user = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";
        let view = |status: &str, mounts: &str| {
            let files = [("proc/self/status", status), ("proc/self/mounts", mounts)];
            machine(&files).1.proc
        };
        let open = "proc /proc proc rw,nosuid 0 0\n";
        let hidden = "proc /proc proc rw,nosuid,hidepid=invisible,gid=4 0 0\n";
        assert_eq!(view(user, open), ProcView::AllUsers);
        assert_eq!(view(user, &format!("{open}{hidden}")), ProcView::OwnUser);
        assert_eq!(view(user, &format!("{hidden}{open}")), ProcView::AllUsers);
        assert_eq!(view(user, &hidden.replace("invisible", "0")), ProcView::AllUsers);
        assert_eq!(view(user, &hidden.replace("invisible", "2")), ProcView::OwnUser);
        assert_eq!(view(user, "tmpfs /tmp tmpfs rw 0 0\n"), ProcView::Mounted);
        // With the capability the option does not apply.
        assert_eq!(view(STATUS, hidden), ProcView::AllUsers);
    }

    #[test]
    fn a_regular_file_is_no_null_device() {
        let (_root, host) = machine(&[("dev/null", "")]);
        assert!(!host.has_null_device);
        assert!(gathered(Path::new("/")).has_null_device, "that of this machine");
    }

    #[test]
    fn folders_are_writable_missing_or_can_be_made() {
        let (root, host) = machine(&[("dev/shm/file", ""), ("tmp", "no folder")]);
        assert_eq!(host.shared_memory.access, FolderAccess::Writable);
        assert!(host.shared_memory.free_bytes.is_some());
        assert_eq!(host.temporary.access, FolderAccess::NotWritable, "it is a file");
        let store = host.store.unwrap();
        assert_eq!(store.access, FolderAccess::Creatable);
        assert_eq!(store.path, root.path().join("data/oscost").display().to_string());
        // Below a file no folder can be made.
        assert_eq!(folder(&root.path().join("tmp/below")).access, FolderAccess::Missing);
    }

    #[test]
    fn the_lock_file_is_in_the_first_shared_folder_and_regular() {
        let (root, _) = machine(&[("run/lock/other", ""), ("tmp/other", "")]);
        let set_mode = |name: &str, mode: u32| {
            fs::set_permissions(root.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode("run/lock", 0o755);
        set_mode("tmp", 0o1777);
        let found = || gathered(root.path()).lock_file;
        assert_eq!(found(), LockFile::Usable("/tmp/oscost.lock".into()));
        set_mode("run/lock", 0o1777);
        assert_eq!(found(), LockFile::Usable("/run/lock/oscost.lock".into()));
        symlink("other", root.path().join("run/lock/oscost.lock")).unwrap();
        assert!(matches!(found(), LockFile::Unusable(why) if why.contains("not a regular file")));
        assert!(!root.path().join("tmp/oscost.lock").exists(), "it must not be made");
    }
}
