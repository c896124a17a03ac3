//! Where scratch files are placed: in the folder where the user started the tool, or in memory.
//! Named ones have names that the supervisor knows, so that leftovers can be removed whatever
//! happens.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

use oscost_model::file::{Backing, file_system};
use rustix::fs::{FallocateFlags, fallocate, fstatfs, fstatvfs};

use crate::kernel::Errno;
use crate::kernel::file::unnamed_file::open_unnamed;
use crate::kernel::machine::resources;

/// POSIX shared memory, on Linux always a tmpfs.
const SHARED_MEMORY: &str = "/dev/shm";
/// The roots of memory control groups: version 1, then version 2.
const MEMORY_GROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];

/// A location for scratch files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The folder where the user started the tool.
    UserFolder,
    /// A tmpfs.
    Tmpfs,
}

impl Location {
    /// The folder of this location.
    pub fn folder(self) -> Result<PathBuf, Errno> {
        match self {
            Location::UserFolder => {
                Ok(job_argument(4).map_or_else(|| PathBuf::from("."), PathBuf::from))
            }
            Location::Tmpfs => {
                let folder = PathBuf::from(SHARED_MEMORY);
                match File::open(&folder)
                    .map_err(Errno::from)
                    .and_then(|file| file_system_type(&file))
                {
                    Ok(number) if file_system(number).backing == Backing::Memory => Ok(folder),
                    _ => Err(Errno::unavailable(format!(
                        "there is no tmpfs at {SHARED_MEMORY}: `sudo mount -t tmpfs tmpfs \
                         {SHARED_MEMORY}`"
                    ))),
                }
            }
        }
    }

    /// A hint for a location that cannot be used.
    fn hint(self) -> &'static str {
        match self {
            Location::UserFolder => "start oscost in another folder, or select directory=tmpfs",
            Location::Tmpfs => "select directory=cwd",
        }
    }

    /// Adds the location and a hint to an error; other errors stay as they are.
    fn explain_error(self, folder: &Path, object: &str, error: Errno) -> Errno {
        match error {
            Errno::EACCES | Errno::EROFS | Errno::EPERM | Errno::ENOENT => Errno::unavailable(
                format!("cannot create {object} in {}: {error}; {}", folder.display(), self.hint()),
            ),
            Errno::ENOSPC | Errno(libc::EDQUOT) => Errno::unavailable(format!(
                "{} has no space for {object}: {error}; {}",
                folder.display(),
                self.hint()
            )),
            other => other,
        }
    }
}

/// A command-line argument of a job (`job PARENT MARK FOLDER`); `None` in a test.
fn job_argument(position: usize) -> Option<OsString> {
    let is_job = std::env::args().nth(1).is_some_and(|verb| verb == "job" || verb == "traced-job");
    std::env::args_os().nth(position).filter(|_| is_job)
}

/// The leftover mark and the user's folder that the supervisor gave this job, to be passed on to a
/// copy.
pub fn job_arguments() -> [OsString; 2] {
    [3, 4].map(|at| job_argument(at).unwrap_or_default())
}

/// The name of the leftovers of a job's process group.
pub fn leftover_name(mark: &str, group: u32) -> String {
    format!("{mark}-{group}")
}

/// The name of this process's leftovers.
pub fn own_leftover_name() -> String {
    leftover_name_of_all_arms() + ARMS[arm()]
}

/// The name of the leftovers of this process and of the other arms of its job begins with this.
fn leftover_name_of_all_arms() -> String {
    // SAFETY: it takes nothing and cannot fail. 0 if the leader is in another process namespace.
    let group = unsafe { libc::getpgrp() }.unsigned_abs();
    let mark = job_argument(3).and_then(|mark| mark.into_string().ok());
    match mark {
        Some(mark) => leftover_name(&mark, group),
        None => leftover_name(UNSUPERVISED_MARK, std::process::id()),
    }
}

fn arm() -> usize {
    usize::from(ARM.load(Ordering::Relaxed)) % ARMS.len()
}

/// The name suffixes of a job's arms.
const ARMS: [&str; 3] = ["", "_1", "_2"];

/// Which arm of its job this process is.
static ARM: AtomicU8 = AtomicU8::new(0);

/// Sets this process's arm, which changes its leftover names from here on.
pub fn set_arm(arm: u8) {
    ARM.store(arm, Ordering::Relaxed);
}

/// The mark of a process that no supervisor started.
pub const UNSUPERVISED_MARK: &str = "oscost-alone";

/// The name of the control group of an arm of this job.
pub fn cgroup_name(arm: u8) -> String {
    format!("{}.{arm}", own_leftover_name())
}

/// The name of a control group of this process's benchmark. The dot ends the name of the job, by
/// which its groups are removed; an arm's number is no name of a benchmark's group.
pub fn benchmark_cgroup_name(which: u32) -> String {
    format!("{}.bench-{}-{which}", leftover_name_of_all_arms(), arm())
}

/// The name of the control group in which this job sums up the CPU time of programs. It is removed by
/// the name of the job, as all of its groups.
pub fn cpu_cgroup_name() -> String {
    leftover_name_of_all_arms() + ".cpu"
}

/// Whether a folder is a control group of this job: one within it would keep it from being removed.
pub fn is_own_cgroup(folder: &Path) -> bool {
    let ours = leftover_name_of_all_arms() + ".";
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&ours))
}

/// System V queues per process: one for each direction.
pub const MAX_QUEUES: u32 = 2;

/// The name of this process's message queue.
pub fn queue_name() -> String {
    own_leftover_name()
}

/// The key of the System V queue for a name: queues have no names, and a kernel-chosen key could
/// not be found after a killed process.
pub fn queue_key(name: &str, which: u32) -> i32 {
    let mixed = name
        .bytes()
        .fold(0x811C_9DC5u32, |mixed, byte| (mixed ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // Never 0, which is IPC_PRIVATE.
    (mixed << 2 | which << 1 | 1) as i32
}

/// The name of this process's set of System V semaphores.
pub fn semaphore_name() -> String {
    own_leftover_name()
}

/// The key of the set of System V semaphores for a name. Keys of queues are another kind of key.
pub fn semaphore_key(name: &str) -> i32 {
    queue_key(name, 0)
}

/// Removes the semaphores of that name.
fn remove_semaphores(name: &str) {
    // SAFETY: plain numbers; no memory is accessed. Usually there is no such set; another user's
    // set of the same key cannot be removed by an ordinary user.
    unsafe {
        let found = libc::semget(semaphore_key(name), 0, 0o600);
        if found >= 0 {
            libc::semctl(found, 0, libc::IPC_RMID);
        }
    }
}

/// Removes the queues of that name, of both kinds.
fn remove_queues(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        // SAFETY: the name is NUL-terminated. Usually there is no such queue.
        unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
    }
    for which in 0..MAX_QUEUES {
        // SAFETY: plain numbers; no memory is accessed. Another user's queue of the same key cannot
        // be removed by an ordinary user, and is not opened here without write permission.
        unsafe {
            let found = libc::msgget(queue_key(name, which), 0o600);
            if found >= 0 {
                libc::msgctl(found, libc::IPC_RMID, std::ptr::null_mut());
            }
        }
    }
}

/// Removes the named leftovers of a process group that has ended, below `here` and in memory.
pub fn remove_leftovers(mark: &str, group: u32, here: &Path) {
    for arm in ARMS {
        let name = leftover_name(mark, group) + arm;
        // Usually there is nothing; errors cannot be reported from here.
        for folder in [here, Path::new(SHARED_MEMORY)] {
            let path = folder.join(&name);
            // A folder, or a file of a process that was killed between creating and unlinking it.
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
        for groups in MEMORY_GROUPS {
            let _ = fs::remove_dir(Path::new(groups).join(&name));
        }
        remove_queues(&name);
        remove_semaphores(&name);
    }
}

/// Leaves a file with the leftover name of this job in the supervisor's directory. What has a key,
/// and no name that a folder shows, is found by it when the supervisor is killed, too.
pub fn record_leftovers() {
    let Some(mark) = job_argument(3) else { return };
    if std::env::current_dir().is_ok_and(|here| here.ends_with(mark)) {
        // Best effort: a supervisor that lives needs no record.
        let _ = File::create(leftover_name_of_all_arms());
    }
}

/// Removes the leftovers of all jobs of a session that no longer run, of which `scratch` was the
/// directory.
pub fn remove_all_leftovers(mark: &str, here: &Path, scratch: &Path) {
    let ours = format!("{mark}-");
    let folders = [here, scratch, Path::new(SHARED_MEMORY)].into_iter();
    for folder in folders.chain(MEMORY_GROUPS.map(Path::new)) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let group = name.to_str().and_then(|name| {
                let group = name.strip_prefix(&ours)?.split('_').next();
                group.and_then(|group| group.parse().ok())
            });
            if let Some(group) = group {
                remove_leftovers(mark, group, here);
            }
        }
    }
}

/// The type number of a file's file system (statfs(2)).
pub fn file_system_type(file: &File) -> Result<u64, Errno> {
    Ok(fstatfs(file)?.f_type as u64)
}

/// An unnamed file of `bytes` bytes (O_TMPFILE), so that nothing is left of it; where the file
/// system does not support that, its name is unlinked at once. Its space is allocated first.
pub fn unnamed_file(location: Location, bytes: u64) -> Result<File, Errno> {
    let folder = location.folder()?;
    let mib = (bytes >> 20).max(1);
    if let Some(limit) = resources::file_size_limit().filter(|&limit| limit < bytes) {
        // Exceeding it raises SIGXFSZ, which ends the process.
        return Err(Errno::unavailable(format!(
            "RLIMIT_FSIZE is {} KiB, and the file has {mib} MiB: `ulimit -f unlimited` in the \
             shell that starts oscost, or a smaller file_mib",
            limit >> 10
        )));
    }
    let left = resources::available_bytes().filter(|_| location == Location::Tmpfs);
    if let Some(left) = left.filter(|&left| left < bytes + SPARE_BYTES) {
        return Err(Errno::unavailable(format!(
            "{} MiB of memory are available, and the file needs {mib} plus a reserve: choose a \
             smaller file_mib, or directory=cwd",
            left >> 20
        )));
    }
    let file = open_unnamed(&folder, &own_leftover_name())
        .map_err(|error| location.explain_error(&folder, "a file", error))?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(Errno::from) {
        Ok(()) => Ok(file),
        Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => {
            let free_mib = fstatvfs(&file)
                .map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize))
                >> 20;
            Err(Errno::unavailable(format!(
                "{} has no space for a file of {mib} MiB ({free_mib} MiB are free): choose a smaller \
                 file_mib, or {}",
                folder.display(),
                location.hint()
            )))
        }
        // Not every file system can allocate in advance; then a write may fail.
        Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => Ok(file),
        Err(other) => Err(other),
    }
}

/// Memory to leave free when a file is placed in memory.
const SPARE_BYTES: u64 = 64 << 20;

/// A private folder, removed when dropped, otherwise by the supervisor.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Creates it.
    pub fn new(location: Location) -> Result<Self, Errno> {
        let folder = location.folder()?;
        let path = folder.join(own_leftover_name());
        // Fails if anything of that name exists, symbolic links included.
        let created = DirBuilder::new().mode(0o700).create(&path).map_err(Errno::from);
        created.map_err(|error| location.explain_error(&folder, "a folder", error))?;
        Ok(Self(path))
    }

    /// Opens the folder, for paths relative to it.
    pub fn open(&self) -> Result<File, Errno> {
        Ok(File::open(&self.0)?)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // The supervisor retries what cannot be removed here.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A control group with a memory limit that this process has joined. Dropping it moves the process
/// back and removes the group.
pub struct MemoryCgroup {
    group: PathBuf,
    before: PathBuf,
}

impl MemoryCgroup {
    /// Creates a group limited to `bytes` and joins it: version 1 if that manages memory, otherwise
    /// version 2.
    pub fn enter(bytes: u64) -> Result<Self, Errno> {
        let refused = |error: std::io::Error| {
            Errno::unavailable(format!(
                "cannot create a memory control group: {error}; run oscost as root, where \
                 /sys/fs/cgroup is writable"
            ))
        };
        let Some(own) = resources::memory_groups().into_iter().next() else {
            return Err(refused(std::io::ErrorKind::NotFound.into()));
        };
        let root = MEMORY_GROUPS[usize::from(!own.is_first_version)];
        let group = Path::new(root).join(own_leftover_name());
        fs::create_dir(&group).map_err(refused)?;
        let limit = group.join(own.limit_file());
        let entered = Self { group, before: own.folder };
        fs::write(limit, bytes.to_string()).map_err(refused)?;
        fs::write(entered.group.join("cgroup.procs"), "0").map_err(refused)?;
        Ok(entered)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // Errors cannot be reported from here; the supervisor removes what stays.
        let _ = fs::write(self.before.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.group);
    }
}

#[cfg(test)]
mod tests;
