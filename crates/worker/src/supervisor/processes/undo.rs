//! The undo list: what must be undone, however the session ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use oscost_model::treatment::AttachedTreatment;

use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::process::{self, WaitTarget};
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::treatments::system::RestorePlan;
use crate::treatments::{self, system};

/// The process groups to kill and the directory to remove. Dropping it undoes everything.
pub(crate) struct Undo {
    /// The process groups, each with what it may leave changed in the system.
    groups: BTreeMap<u32, RestorePlan>,
    scratch: Option<PathBuf>,
    /// The lock of the directory, which marks the session as alive.
    _lock: Option<File>,
    /// The prefix of the names of everything that jobs create elsewhere.
    session_name: String,
    /// The user's current directory.
    user_directory: PathBuf,
}

impl Undo {
    /// A list with one private directory, the working directory of the workers. A machine on which
    /// none can be created (read-only, full) is measured without. The leftovers of killed sessions
    /// are removed first.
    pub(crate) fn with_scratch() -> Self {
        let temporary = std::env::temp_dir();
        // A current directory that has been removed is still `.`, and empty.
        let user_directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        remove_stale_sessions(&temporary, &user_directory);
        system::remove_stale_instances();
        // PID 1 of a virtual machine passes a fixed name, so that it is always the same.
        let named = std::env::args().nth(2).filter(|name| is_session_name(name));
        let fresh = || {
            let made = || format!("{NAME_PREFIX}{}-{:x}", std::process::id(), monotonic_raw_ns());
            named.clone().unwrap_or_else(made)
        };
        // Another session may remove it between its creation and the lock.
        let made = (0..3).find_map(|_| {
            let mark = fresh();
            let folder = temporary.join(&mark);
            // Fails if anything of that name exists, a symbolic link included.
            DirBuilder::new().mode(0o700).create(&folder).ok()?;
            let alive = lock_directory(&folder).ok().filter(|_| folder.exists());
            alive.map(|alive| (mark, Some(folder), Some(alive)))
        });
        let (mark, scratch, _alive) = made.unwrap_or_else(|| (fresh(), None, None));
        Self { groups: BTreeMap::new(), scratch, _lock: _alive, session_name: mark, user_directory }
    }

    /// The arguments of a job: the session name, and the user's directory.
    pub(crate) fn arguments(&self) -> [&OsStr; 2] {
        [self.session_name.as_ref(), self.user_directory.as_os_str()]
    }

    /// The private directory.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// Adds a process group.
    pub(super) fn add_group(&mut self, group: u32) {
        self.groups.insert(group, RestorePlan::default());
    }

    /// Records that a group is about to attach treatments to the system.
    pub(super) fn add_attaching_group(&mut self, group: u32, treatments: &[AttachedTreatment]) {
        let name = location::leftover_name(&self.session_name, group);
        self.groups.insert(group, RestorePlan::of(treatments, &name));
    }

    /// Kills a process group, reaps our children in it, and removes its leftovers.
    pub(super) fn end_group(&mut self, group: u32) {
        if let Some(put_back) = self.groups.remove(&group) {
            process::kill_group(group);
            // Waits for all our children in the group: they have been killed.
            while let Ok(Some(_)) = process::wait(WaitTarget::Group(group), true) {}
            self.kill_orphans();
            location::remove_leftovers(&self.session_name, group, &self.user_directory);
            if let Some(scratch) = &self.scratch {
                let path = scratch.join(location::leftover_name(&self.session_name, group));
                // Usually there is neither a folder nor a record.
                let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
            }
            treatments::remove_leftovers(&self.session_name, group);
            put_back.restore();
        }
    }

    /// Kills processes that have left their group and were reparented to the supervisor.
    fn kill_orphans(&self) {
        // For at most 2 s: a process of another user (a set-uid program) cannot be killed.
        for _ in 0..2_000 {
            // An orphan may belong to the group of another job.
            let has_job = |pid: &u32| {
                process::process_group(*pid).is_some_and(|group| self.groups.contains_key(&group))
            };
            let orphans: Vec<u32> =
                process::children().into_iter().filter(|pid| !has_job(pid)).collect();
            if orphans.is_empty() {
                return;
            }
            for pid in orphans {
                process::kill(pid);
                let _ = process::wait(WaitTarget::Child(pid), false);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// The directory for temporary files that was made for this session alone.
const OWN_TMPDIR: &str = "OSCOST_OWN_TMPDIR";

/// The prefix of the names of private directories; a process number and a time follow.
const NAME_PREFIX: &str = "oscost-";

/// Whether a name is that of a session.
fn is_session_name(name: &str) -> bool {
    let numbers = name.strip_prefix(NAME_PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, time)| {
        pid.parse::<u32>().is_ok() && u64::from_str_radix(time, 16).is_ok()
    })
}

/// Locks a directory for as long as the result lives; an error if another process has locked it.
fn lock_directory(folder: &Path) -> Result<File, Errno> {
    let opened = File::open(folder)?;
    opened.try_lock().map_err(|_| Errno::EAGAIN)?;
    Ok(opened)
}

/// Removes the leftovers of this user's dead sessions: their unlocked directories among the
/// temporary ones, and what carries their names elsewhere.
fn remove_stale_sessions(temporary: &Path, user_directory: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_session_name(name)) else { continue };
        // A real directory, owned by this user.
        let own = entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == user);
        if let (true, Ok(_lock)) = (own, lock_directory(&entry.path())) {
            location::remove_all_leftovers(name, user_directory, &entry.path());
            treatments::remove_all_leftovers(name);
            // Best effort: errors have no receiver.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        while let Some(&group) = self.groups.keys().next() {
            self.end_group(group);
        }
        self.kill_orphans();
        if let Some(folder) = self.scratch.take() {
            // Best effort: errors have no receiver.
            let _ = fs::remove_dir_all(folder);
            // A remote session's shell removes the directory that it has made, unless it was killed.
            let own = std::env::var_os(OWN_TMPDIR).map(PathBuf::from);
            if let Some(own) = own.filter(|own| *own == std::env::temp_dir()) {
                let _ = fs::remove_dir(own);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_a_killed_session_are_removed_and_those_of_others_stay() {
        let temporary =
            std::env::temp_dir().join(format!("oscost-test-sweep-{}", monotonic_raw_ns()));
        let user_directory = temporary.join("here");
        fs::create_dir_all(&user_directory).unwrap();
        let [dead, alive, other] = ["oscost-7-ab1", "oscost-8-ab2", "oscost-test-Xy"];
        for name in [dead, alive, other] {
            fs::create_dir(temporary.join(name)).unwrap();
        }
        fs::write(temporary.join(dead).join("left"), "x").unwrap();
        fs::create_dir(user_directory.join(format!("{dead}-99"))).unwrap();
        fs::write(user_directory.join(format!("{alive}-99")), "x").unwrap();
        let lock = lock_directory(&temporary.join(alive)).unwrap();
        remove_stale_sessions(&temporary, &user_directory);
        let exists = |path: PathBuf| path.exists();
        assert!(!exists(temporary.join(dead)) && !exists(user_directory.join("oscost-7-ab1-99")));
        assert!(exists(temporary.join(alive)) && exists(user_directory.join("oscost-8-ab2-99")));
        assert!(exists(temporary.join(other)));
        drop(lock);
        remove_stale_sessions(&temporary, &user_directory);
        assert!(!exists(temporary.join(alive)) && !exists(user_directory.join("oscost-8-ab2-99")));
        fs::remove_dir_all(temporary).unwrap();
    }

    #[test]
    fn only_session_names_are_recognised() {
        assert!(is_session_name("oscost-11146-12722a00b303"));
        for other in ["oscost", "oscost-", "oscost-test-9tBND9", "oscost-1-", "oscost--1", "x-1-2"]
        {
            assert!(!is_session_name(other), "{other}");
        }
    }
}
