//! What must be undone, whatever happens.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::sys::clock::raw_ns;
use crate::sys::place;
use crate::sys::process::{self, Whose};

/// The undo list: process groups to end, the folder to remove. Dropping it undoes everything.
#[derive(Default)]
pub(super) struct Undo {
    groups: BTreeSet<u32>,
    scratch: Option<PathBuf>,
    /// What the names of all that jobs leave elsewhere begin with.
    mark: String,
    /// Where the user stands.
    here: PathBuf,
}

impl Undo {
    /// A list that holds one private folder, where cells stand and may write. A machine on which
    /// none can be made (read-only, full) is measured without.
    pub(super) fn with_scratch() -> Self {
        let name = format!("oscost-{}-{:x}", std::process::id(), raw_ns());
        let folder = std::env::temp_dir().join(&name);
        // Fails where anything of that name is already there, a link too.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        // A folder that was removed under its user's feet is still `.`, and nothing can be in it.
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let scratch = made.ok().map(|()| folder);
        Self { groups: BTreeSet::new(), scratch, mark: name, here }
    }

    /// What a job is told of what it may leave: what to mark it with, and where its user stands.
    pub(super) fn arguments(&self) -> [&OsStr; 2] {
        [self.mark.as_ref(), self.here.as_os_str()]
    }

    /// The private folder.
    pub(super) fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// A process group was started.
    pub(super) fn group_started(&mut self, group: u32) {
        self.groups.insert(group);
    }

    /// Ends a process group and reaps all of it that is ours.
    pub(super) fn end_group(&mut self, group: u32) {
        if self.groups.remove(&group) {
            process::kill_group(group);
            // Waits for all of the group that are our children: they have been killed.
            while let Ok(Some(_)) = process::wait(Whose::Group(group), true) {}
            self.end_strays();
            place::remove_leavings(&self.mark, group, &self.here);
        }
    }

    /// Ends what has left its group but came back to us as an orphan.
    fn end_strays(&self) {
        for _ in 0..100 {
            // An orphan that came back to us may still be of another job's group.
            let belongs = |pid: &u32| {
                process::group_of(*pid).is_some_and(|group| self.groups.contains(&group))
            };
            let strays: Vec<u32> =
                process::children().into_iter().filter(|pid| !belongs(pid)).collect();
            if strays.is_empty() {
                return;
            }
            for pid in strays {
                process::kill(pid);
                let _ = process::wait(Whose::Child(pid), true);
            }
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for group in self.groups.clone() {
            self.end_group(group);
        }
        self.end_strays();
        if let Some(folder) = self.scratch.take() {
            // There is nobody left to tell.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
