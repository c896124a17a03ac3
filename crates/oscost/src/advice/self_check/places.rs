//! Devices, folders and files that oscost uses.

use super::conditions::{Conditions, Folder, FolderAccess, LockFile};
use super::judgement::Judgement;

/// Space that the store needs: raw batches of a default run of every kind, and SQLite's log.
const STORE_BYTES: u64 = 64 << 20;

/// Space for temporary files: a minimal program, sockets, named pipes.
const TEMPORARY_BYTES: u64 = 16 << 20;

/// The null device, which is the input of every worker.
pub(super) fn null_device(conditions: &Conditions) -> Judgement {
    match conditions.host.has_null_device {
        true => Judgement::fine("there"),
        false => Judgement::blocks(
            "it does not exist, or is not the null device",
            "`mknod -m 666 /dev/null c 1 3` as root makes it",
        ),
    }
}

/// POSIX shared memory.
pub(super) fn shared_memory(conditions: &Conditions) -> Judgement {
    let folder = &conditions.host.shared_memory;
    let cost = "rows with `directory=tmpfs` are skipped: files and directories in memory";
    match folder.access {
        FolderAccess::Writable => Judgement::fine(format!("writable{}", space(folder))),
        FolderAccess::NotWritable => Judgement::limits(
            "it cannot be written",
            cost,
            "`sudo chmod 1777 /dev/shm`, or mount it writable",
        ),
        FolderAccess::Missing | FolderAccess::Creatable => {
            Judgement::limits("it does not exist", cost, "`sudo mount -t tmpfs tmpfs /dev/shm`")
        }
    }
}

/// The folder of temporary files.
pub(super) fn temporary(conditions: &Conditions) -> Judgement {
    let folder = &conditions.host.temporary;
    let path = &folder.path;
    let remedy = "set TMPDIR to a folder that is writable and allows programs";
    match folder.access {
        FolderAccess::Writable if folder.forbids_programs => Judgement::limits(
            format!("{path} is mounted noexec"),
            "rows that start a program are skipped: `process/fork-exec` and others of `process`",
            remedy,
        ),
        FolderAccess::Writable if is_short_of(folder, TEMPORARY_BYTES) => Judgement::limits(
            format!("{path} is nearly full{}", space(folder)),
            "rows that start a program are skipped",
            remedy,
        ),
        FolderAccess::Writable => Judgement::fine(format!("{path} is writable{}", space(folder))),
        FolderAccess::NotWritable | FolderAccess::Missing | FolderAccess::Creatable => {
            Judgement::limits(
                format!("{path} does not exist, or cannot be written"),
                "there is no scratch directory: rows that start a program are skipped",
                remedy,
            )
        }
    }
}

/// The folder of the store.
pub(super) fn store(conditions: &Conditions) -> Judgement {
    let cost = "no run is kept: `runs`, `history` and `compare last` do not see it; `--json FILE` \
                still writes it";
    let remedy = "set XDG_DATA_HOME to a folder that can be written, with 64 MiB of space";
    let Some(folder) = &conditions.host.store else {
        return Judgement::limits("neither XDG_DATA_HOME nor HOME names a folder", cost, remedy);
    };
    let path = &folder.path;
    match folder.access {
        FolderAccess::NotWritable | FolderAccess::Missing => {
            Judgement::limits(format!("{path} cannot be written"), cost, remedy)
        }
        FolderAccess::Writable | FolderAccess::Creatable if is_short_of(folder, STORE_BYTES) => {
            Judgement::limits(format!("{path} is nearly full{}", space(folder)), cost, remedy)
        }
        FolderAccess::Creatable => {
            Judgement::fine(format!("{path} can be created{}", space(folder)))
        }
        FolderAccess::Writable => Judgement::fine(format!("{path} is writable{}", space(folder))),
    }
}

/// The file by which runs in other network namespaces are excluded.
pub(super) fn lock_file(conditions: &Conditions) -> Judgement {
    let cost = "a run in another network namespace (a container) may measure at the same time, \
                unseen";
    match &conditions.host.lock_file {
        LockFile::Usable(path) => Judgement::fine(path),
        LockFile::NoFolder => Judgement::limits(
            "neither /run/lock nor /tmp is open to all users",
            cost,
            "`sudo chmod 1777 /run/lock`",
        ),
        LockFile::Unusable(why) => Judgement::limits(why, cost, "let its owner remove the file"),
    }
}

fn is_short_of(folder: &Folder, bytes: u64) -> bool {
    folder.free_bytes.is_some_and(|free| free < bytes)
}

/// The free space, where it is known.
fn space(folder: &Folder) -> String {
    let free = |bytes: u64| format!(", {} MiB free", bytes >> 20);
    folder.free_bytes.map_or(String::new(), free)
}
