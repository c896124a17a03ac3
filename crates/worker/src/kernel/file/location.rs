//! Where files are laid: in the folder where the user has started the tool, or in memory. What has
//! a name there bears one that the supervisor knows, so that it can be removed whatever happens.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

use oscost_model::file::{Backing, file_system};

use crate::kernel::Errno;
use crate::kernel::machine::resources;

/// Where POSIX shared memory lies, on Linux always a tmpfs.
const SHARED_MEMORY: &str = "/dev/shm";
/// Where control groups of memory are: version 1, then version 2.
const MEMORY_GROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];

/// A place for files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The folder where the user has started the tool.
    UserFolder,
    /// A tmpfs.
    Tmpfs,
}

impl Location {
    /// The folder of this place.
    pub fn folder(self) -> Result<PathBuf, Errno> {
        match self {
            Location::UserFolder => {
                Ok(job_argument(4).map_or_else(|| PathBuf::from("."), PathBuf::from))
            }
            Location::Tmpfs => {
                let folder = PathBuf::from(SHARED_MEMORY);
                match folder_file_system(&folder) {
                    Ok((number, _)) if file_system(number).1 == Backing::Memory => Ok(folder),
                    _ => Err(Errno::unavailable(format!(
                        "there is no tmpfs at {SHARED_MEMORY}: `sudo mount -t tmpfs tmpfs \
                         {SHARED_MEMORY}`"
                    ))),
                }
            }
        }
    }

    /// What to do about a place that does not serve.
    fn hint(self) -> &'static str {
        match self {
            Location::UserFolder => "start oscost in another folder, or ask for where=tmpfs",
            Location::Tmpfs => "ask for where=here",
        }
    }

    /// An error of this place as one that tells the way out; other errors stay as they are.
    fn explain_error(self, folder: &Path, what: &str, error: Errno) -> Errno {
        match error {
            Errno::EACCES | Errno::EROFS | Errno::EPERM | Errno::ENOENT => Errno::unavailable(
                format!("{what} cannot be made in {}: {error}; {}", folder.display(), self.hint()),
            ),
            Errno::ENOSPC | Errno(libc::EDQUOT) => Errno::unavailable(format!(
                "{} has no room for {what}: {error}; {}",
                folder.display(),
                self.hint()
            )),
            other => other,
        }
    }
}

/// An argument of a job, beside its name (`job PARENT MARK FOLDER`); none in a test.
fn job_argument(at: usize) -> Option<OsString> {
    let is_job = std::env::args().nth(1).is_some_and(|verb| verb == "job" || verb == "traced-job");
    std::env::args_os().nth(at).filter(|_| is_job)
}

/// What the supervisor has told this job to mark its leavings with, and where its user stands: to
/// be handed on to a copy.
pub fn job_arguments() -> [OsString; 2] {
    [3, 4].map(|at| job_argument(at).unwrap_or_default())
}

/// What the leavings of a job's process group are called.
pub fn leftover_name(mark: &str, group: u32) -> String {
    format!("{mark}-{group}")
}

/// What this process's leavings are called.
pub fn own_leftover_name() -> String {
    // SAFETY: getpgrp takes no argument.
    let group = unsafe { libc::getpgrp() } as u32;
    let mark = job_argument(3).and_then(|mark| mark.into_string().ok());
    let name = match mark {
        Some(mark) => leftover_name(&mark, group),
        None => leftover_name(UNSUPERVISED_MARK, std::process::id()),
    };
    name + ARMS[usize::from(ARM.load(Ordering::Relaxed)) % ARMS.len()]
}

/// What the names of what several arms of a job leave end with.
const ARMS: [&str; 3] = ["", "_1", "_2"];

/// Which arm of its job this process is.
static ARM: AtomicU8 = AtomicU8::new(0);

/// From here on what this process leaves bears other names than what other arms of its job leave.
pub fn set_arm(arm: u8) {
    ARM.store(arm, Ordering::Relaxed);
}

/// What the leavings of a process begin with that no supervisor has started.
pub const UNSUPERVISED_MARK: &str = "oscost-alone";

/// What the control group of an arm of this job is called.
pub fn cgroup_name(arm: u8) -> String {
    format!("{}.{arm}", own_leftover_name())
}

/// How many System V queues a process has at most: one each way.
pub const MAX_QUEUES: u32 = 2;

/// What a queue of this process is called.
pub fn queue_name() -> String {
    own_leftover_name()
}

/// The key of a System V queue of that name: queues have no names, and numbers that anybody may
/// have are no use to whoever comes after a killed process.
pub fn queue_key(name: &str, which: u32) -> i32 {
    let mixed = name
        .bytes()
        .fold(0x811C_9DC5u32, |mixed, byte| (mixed ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // No key is 0, which means none.
    (mixed << 2 | which << 1 | 1) as i32
}

/// Removes the queues of that name, of either kind.
fn remove_queues(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        // SAFETY: the name ends in a nought. Mostly there is none.
        unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
    }
    for which in 0..MAX_QUEUES {
        // SAFETY: plain numbers; nothing is read or written. Somebody else's of the same key cannot
        // be removed by an ordinary user, and is not opened here without leave to write.
        unsafe {
            let found = libc::msgget(queue_key(name, which), 0o600);
            if found >= 0 {
                libc::msgctl(found, libc::IPC_RMID, std::ptr::null_mut());
            }
        }
    }
}

/// Removes what the processes of a group that has ended have left under names of their own, below
/// `here` and in memory.
pub fn remove_leftovers(mark: &str, group: u32, here: &Path) {
    for arm in ARMS {
        let name = leftover_name(mark, group) + arm;
        // Mostly there is nothing, and nobody is left to tell.
        for folder in [here, Path::new(SHARED_MEMORY)] {
            let path = folder.join(&name);
            // A folder, or a file that was killed between being made and losing its name.
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
        for groups in MEMORY_GROUPS {
            let _ = fs::remove_dir(Path::new(groups).join(&name));
        }
        remove_queues(&name);
    }
}

/// Removes what all the jobs of a session have left that is no longer there to do so.
pub fn remove_all_leftovers(mark: &str, here: &Path) {
    let ours = format!("{mark}-");
    let folders = [here, Path::new(SHARED_MEMORY)].into_iter();
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

/// The number of a folder's file system, and how many bytes are free in it.
fn folder_file_system(folder: &Path) -> Result<(u64, u64), Errno> {
    file_system_of(&File::open(folder)?)
}

/// The number of the file system that a file lies in, and how many bytes are free in it.
pub fn file_system_of(file: &File) -> Result<(u64, u64), Errno> {
    // SAFETY: all-zero bits are a valid statfs, and the call fills it in.
    unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        Errno::check(libc::fstatfs(file.as_raw_fd(), &raw mut found))?;
        Ok((found.f_type as u64, found.f_bavail.saturating_mul(found.f_bsize as u64)))
    }
}

/// A file of `bytes` bytes without a name (O_TMPFILE), so that nothing is left of it whatever
/// happens; where the file system knows no such thing, its name is taken away at once. Its room is
/// claimed first.
pub fn unnamed_file(place: Location, bytes: u64) -> Result<File, Errno> {
    let folder = place.folder()?;
    let mib = (bytes >> 20).max(1);
    if let Some(limit) = resources::file_size_limit().filter(|&limit| limit < bytes) {
        // Going beyond it is a signal that ends the process.
        return Err(Errno::unavailable(format!(
            "RLIMIT_FSIZE is {} KiB, and the file has {mib} MiB: `ulimit -f unlimited` in the \
             shell that starts oscost, or a smaller file_mib",
            limit >> 10
        )));
    }
    let left = resources::available_bytes().filter(|_| place == Location::Tmpfs);
    if let Some(left) = left.filter(|&left| left < bytes + SPARE_BYTES) {
        return Err(Errno::unavailable(format!(
            "{} MiB of memory are left, and the file takes {mib} and some: a smaller file_mib, or \
             where=here",
            left >> 20
        )));
    }
    let file =
        open_unnamed(&folder).map_err(|error| place.explain_error(&folder, "a file", error))?;
    // SAFETY: plain numbers.
    let claimed = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as i64) };
    match Errno::check(claimed) {
        Ok(_) => Ok(file),
        Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => {
            let free = file_system_of(&file).map_or(0, |(_, free)| free) >> 20;
            Err(Errno::unavailable(format!(
                "{} has no room for a file of {mib} MiB ({free} MiB are free): a smaller file_mib, \
                 or {}",
                folder.display(),
                place.hint()
            )))
        }
        // Not every file system can claim room in advance: who writes will see.
        Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => Ok(file),
        Err(other) => Err(other),
    }
}

/// What is left of memory beside a file in it.
const SPARE_BYTES: u64 = 64 << 20;

fn open_unnamed(folder: &Path) -> Result<File, Errno> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(folder).map_err(Errno::from) {
        Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno(libc::EISDIR)) => {
            let name = folder.join(own_leftover_name());
            let file = options.create_new(true).open(&name)?;
            fs::remove_file(&name)?;
            Ok(file)
        }
        other => other,
    }
}

/// A private folder at a place, removed with the value, and by the supervisor if need be.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes it.
    pub fn new(place: Location) -> Result<Self, Errno> {
        let folder = place.folder()?;
        let path = folder.join(own_leftover_name());
        // Fails where anything of that name is already there, a link too.
        let made = DirBuilder::new().mode(0o700).create(&path).map_err(Errno::from);
        made.map_err(|error| place.explain_error(&folder, "a folder", error))?;
        Ok(Self(path))
    }

    /// The folder, opened: what is in it is named from there.
    pub fn open(&self) -> Result<File, Errno> {
        Ok(File::open(&self.0)?)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed here the supervisor will try to.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A control group that this process has put itself into, and whose memory is limited. Dropping it
/// puts the process back and removes the group.
pub struct MemoryCgroup {
    group: PathBuf,
    before: PathBuf,
}

impl MemoryCgroup {
    /// Makes a group that may use so many bytes, and goes there: version 1 where memory is managed
    /// by it, else version 2.
    pub fn enter(bytes: u64) -> Result<Self, Errno> {
        let refused = |error: std::io::Error| {
            Errno::unavailable(format!(
                "no control group of memory can be made: {error}; run oscost as root, where \
                 /sys/fs/cgroup can be written to"
            ))
        };
        let of_memory = resources::memory_groups();
        let (root, limit, before) = match of_memory.first() {
            Some((path, true)) => (MEMORY_GROUPS[0], "memory.limit_in_bytes", path.clone()),
            Some((path, false)) => (MEMORY_GROUPS[1], "memory.max", path.clone()),
            None => return Err(refused(std::io::ErrorKind::NotFound.into())),
        };
        let group = Path::new(root).join(own_leftover_name());
        fs::create_dir(&group).map_err(refused)?;
        let entered = Self { group, before };
        fs::write(entered.group.join(limit), bytes.to_string()).map_err(refused)?;
        fs::write(entered.group.join("cgroup.procs"), "0").map_err(refused)?;
        Ok(entered)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // There is nobody left to tell; what stays is removed by the supervisor.
        let _ = fs::write(self.before.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_without_a_name_has_its_room_and_no_link() {
        for place in [Location::UserFolder, Location::Tmpfs] {
            let file = match unnamed_file(place, 1 << 20) {
                Ok(file) => file,
                Err(error) => {
                    eprintln!("cannot run here: {error}");
                    continue;
                }
            };
            let seen = file.metadata().unwrap();
            assert_eq!((seen.nlink(), seen.len()), (0, 1 << 20), "{place:?}");
        }
    }

    #[test]
    fn a_file_that_does_not_fit_says_how_much_is_needed_and_the_way_out() {
        // Beyond what any file system here can hold, and below what fallocate(2) takes.
        let error = unnamed_file(Location::UserFolder, 1 << 43).unwrap_err();
        let words = error.to_string();
        match error {
            Errno::UNAVAILABLE => assert!(words.contains("file_mib"), "{words}"),
            Errno(libc::EFBIG) => eprintln!("not tested: files cannot be that large here"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_has_a_name_is_removed_with_its_value_and_by_its_name() {
        let folder = PrivateFolder::new(Location::UserFolder).unwrap();
        let path = folder.0.clone();
        File::create(path.join("inside")).unwrap();
        drop(folder);
        assert!(!path.exists());
        let folder = PrivateFolder::new(Location::UserFolder).unwrap();
        remove_leftovers(UNSUPERVISED_MARK, std::process::id(), Path::new("."));
        assert!(!folder.0.exists());
    }
}
