//! What must be undone, whatever happens.

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

/// The undo list: process groups to end, the folder to remove. Dropping it undoes everything.
pub(super) struct Undo {
    /// With what each of them may leave changed in the system.
    groups: BTreeMap<u32, RestorePlan>,
    scratch: Option<PathBuf>,
    /// The folder's lock: it says that this session lives.
    _lock: Option<File>,
    /// What the names of all that jobs leave elsewhere begin with.
    session_name: String,
    /// Where the user stands.
    user_directory: PathBuf,
}

impl Undo {
    /// A list that holds one private folder, where workers stand and may write. A machine on which
    /// none can be made (read-only, full) is measured without. What sessions left that were killed
    /// before they could undo it is removed first.
    pub(super) fn with_scratch() -> Self {
        let temporary = std::env::temp_dir();
        // A folder that was removed under its user's feet is still `.`, and nothing can be in it.
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        remove_stale_sessions(&temporary, &here);
        system::remove_stale_instances();
        // The first process of a machine names its supervisor's, so that it is always the same.
        let named = std::env::args().nth(2).filter(|name| is_session_name(name));
        let fresh = || {
            let made = || format!("{NAME_PREFIX}{}-{:x}", std::process::id(), monotonic_raw_ns());
            named.clone().unwrap_or_else(made)
        };
        // Another session's sweep may come between making it and locking it.
        let made = (0..3).find_map(|_| {
            let mark = fresh();
            let folder = temporary.join(&mark);
            // Fails where anything of that name is already there, a link too.
            DirBuilder::new().mode(0o700).create(&folder).ok()?;
            let alive = lock_directory(&folder).ok().filter(|_| folder.exists());
            alive.map(|alive| (mark, Some(folder), Some(alive)))
        });
        let (mark, scratch, _alive) = made.unwrap_or_else(|| (fresh(), None, None));
        Self {
            groups: BTreeMap::new(),
            scratch,
            _lock: _alive,
            session_name: mark,
            user_directory: here,
        }
    }

    /// What a job is told of what it may leave: what to mark it with, and where its user stands.
    pub(super) fn arguments(&self) -> [&OsStr; 2] {
        [self.session_name.as_ref(), self.user_directory.as_os_str()]
    }

    /// The private folder.
    pub(super) fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// A process group was started.
    pub(super) fn add_group(&mut self, group: u32) {
        self.groups.insert(group, RestorePlan::default());
    }

    /// A group that was started is about to attach things to the system.
    pub(super) fn add_attaching_group(&mut self, group: u32, treatments: &[AttachedTreatment]) {
        let name = location::leftover_name(&self.session_name, group);
        self.groups.insert(group, RestorePlan::of(treatments, &name));
    }

    /// Ends a process group and reaps all of it that is ours.
    pub(super) fn end_group(&mut self, group: u32) {
        if let Some(put_back) = self.groups.remove(&group) {
            process::kill_group(group);
            // Waits for all of the group that are our children: they have been killed.
            while let Ok(Some(_)) = process::wait(WaitTarget::Group(group), true) {}
            self.kill_orphans();
            location::remove_leftovers(&self.session_name, group, &self.user_directory);
            if let Some(scratch) = &self.scratch {
                // Mostly there is none.
                let _ = fs::remove_dir_all(
                    scratch.join(location::leftover_name(&self.session_name, group)),
                );
            }
            treatments::remove_leftovers(&self.session_name, group);
            put_back.restore();
        }
    }

    /// Ends what has left its group but came back to us as an orphan.
    fn kill_orphans(&self) {
        // So many milliseconds: somebody else's (of a set-uid program) cannot be killed.
        for _ in 0..2_000 {
            // An orphan that came back to us may still be of another job's group.
            let belongs = |pid: &u32| {
                process::process_group(*pid).is_some_and(|group| self.groups.contains_key(&group))
            };
            let strays: Vec<u32> =
                process::children().into_iter().filter(|pid| !belongs(pid)).collect();
            if strays.is_empty() {
                return;
            }
            for pid in strays {
                process::kill(pid);
                let _ = process::wait(WaitTarget::Child(pid), false);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// What the names of all private folders begin with; the number of a process follows, and a time.
const NAME_PREFIX: &str = "oscost-";

/// Whether a name is one of those.
fn is_session_name(name: &str) -> bool {
    let numbers = name.strip_prefix(NAME_PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, time)| {
        pid.parse::<u32>().is_ok() && u64::from_str_radix(time, 16).is_ok()
    })
}

/// Locks a folder for as long as the result lives; an error if somebody else has.
fn lock_directory(folder: &Path) -> Result<File, Errno> {
    let opened = File::open(folder)?;
    opened.try_lock().map_err(|_| Errno::EAGAIN)?;
    Ok(opened)
}

/// Removes what this user's sessions have left that can no longer do so themselves: their folders
/// among the temporary ones, which nobody holds locked, and what bears their names elsewhere.
fn remove_stale_sessions(temporary: &Path, here: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_session_name(name)) else { continue };
        // No link, and nobody else's.
        let own =
            entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == process::effective_user());
        if let (true, Ok(_lock)) = (own, lock_directory(&entry.path())) {
            location::remove_all_leftovers(name, here);
            treatments::remove_all_leftovers(name);
            // There is nobody to tell.
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
            // There is nobody left to tell.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_session_left_is_swept_and_what_lives_or_is_not_ours_stays() {
        let temporary =
            std::env::temp_dir().join(format!("oscost-test-sweep-{}", monotonic_raw_ns()));
        let here = temporary.join("here");
        fs::create_dir_all(&here).unwrap();
        let [dead, alive, other] = ["oscost-7-ab1", "oscost-8-ab2", "oscost-test-Xy"];
        for name in [dead, alive, other] {
            fs::create_dir(temporary.join(name)).unwrap();
        }
        fs::write(temporary.join(dead).join("left"), "x").unwrap();
        fs::create_dir(here.join(format!("{dead}-99"))).unwrap();
        fs::write(here.join(format!("{alive}-99")), "x").unwrap();
        let lock = lock_directory(&temporary.join(alive)).unwrap();
        remove_stale_sessions(&temporary, &here);
        let there = |path: PathBuf| path.exists();
        assert!(!there(temporary.join(dead)) && !there(here.join("oscost-7-ab1-99")));
        assert!(there(temporary.join(alive)) && there(here.join("oscost-8-ab2-99")));
        assert!(there(temporary.join(other)));
        drop(lock);
        remove_stale_sessions(&temporary, &here);
        assert!(!there(temporary.join(alive)) && !there(here.join("oscost-8-ab2-99")));
        fs::remove_dir_all(temporary).unwrap();
    }

    #[test]
    fn only_names_of_sessions_are_ours() {
        assert!(is_session_name("oscost-11146-12722a00b303"));
        for other in ["oscost", "oscost-", "oscost-test-9tBND9", "oscost-1-", "oscost--1", "x-1-2"]
        {
            assert!(!is_session_name(other), "{other}");
        }
    }
}
