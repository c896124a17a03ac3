//! Control groups for one treated process: version 1 if it manages the controller, otherwise
//! version 2.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use oscost_model::treatment::Limit;

use super::refusal::{Refusal, refusal};
use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::machine::cgroup::{CONTROLLERS, HINT, Hierarchy};

/// The period of a CPU quota, in microseconds: the kernel's default.
const PERIOD_US: u32 = 100_000;

fn controller_of(limit: &Limit) -> &'static str {
    match limit {
        Limit::Cpu { .. } => CONTROLLERS[0],
        Limit::Memory { .. } => CONTROLLERS[1],
        Limit::Pids { .. } => CONTROLLERS[2],
    }
}

/// Creates a group of this name with these limits, and moves the calling process into it.
pub(super) fn enter(limits: &[Limit], name: &str) -> Result<(), Refusal> {
    let all = Hierarchy::mounted();
    let mut made = Vec::new();
    for limit in limits {
        let managed = all.iter().filter(|one| one.manages(controller_of(limit)));
        let CreatedGroup { folder, is_first_version } =
            create_first(managed, name).map_err(|error| {
                cgroup_refusal(
                    &error,
                    &format!("a control group with the controller `{}`", controller_of(limit)),
                )
            })?;
        let (file, text) = setting(limit, is_first_version);
        let act = format!("write {text} to {file} of a control group");
        fs::write(folder.join(file), text).map_err(|error| refusal(error.into(), &act, HINT))?;
        // Version 2 has one group for all controllers.
        if !made.contains(&folder) {
            made.push(folder);
        }
    }
    if limits.is_empty() {
        // A group without limits: in every hierarchy of version 1, otherwise in version 2.
        for hierarchy in all.iter().filter(|one| one.controllers.is_some()) {
            if let Ok(group) = create_first([hierarchy], name) {
                made.push(group.folder);
            }
        }
        if made.is_empty() {
            let group = create_first(all.iter(), name)
                .map_err(|error| cgroup_refusal(&error, "a control group"))?;
            made.push(group.folder);
        }
    }
    made.iter().try_for_each(|group| {
        let act = format!("enter the control group {}", group.display());
        fs::write(group.join("cgroup.procs"), "0")
            .map_err(|error| refusal(error.into(), &act, HINT))
    })
}

/// Creates a group in the first of these hierarchies that allows it, or finds the one that was just
/// created there.
fn create_first<'a>(
    hierarchies: impl IntoIterator<Item = &'a Hierarchy>,
    name: &str,
) -> Result<CreatedGroup, Error> {
    let mut refused = Error::from(ErrorKind::NotFound);
    for hierarchy in hierarchies {
        let folder = hierarchy.folder.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => refused = error,
            _ => {
                let is_first_version = hierarchy.controllers.is_some();
                return Ok(CreatedGroup { folder, is_first_version });
            }
        }
    }
    Err(refused)
}

/// A control group of this process.
struct CreatedGroup {
    folder: PathBuf,
    is_first_version: bool,
}

fn cgroup_refusal(error: &Error, resource: &str) -> Refusal {
    let reason = match error.kind() {
        ErrorKind::NotFound => "it is not mounted, or not enabled for new groups".to_owned(),
        _ => error.to_string(),
    };
    Refusal::Unavailable(format!("cannot create {resource}: {reason}; {HINT}"))
}

/// The file that sets a limit, and the text that is written to it.
fn setting(limit: &Limit, is_first_version: bool) -> (&'static str, String) {
    match (limit, is_first_version) {
        (Limit::Cpu { percent }, true) => {
            ("cpu.cfs_quota_us", (u64::from(*percent) * u64::from(PERIOD_US) / 100).to_string())
        }
        (Limit::Cpu { percent }, false) => {
            let quota_us = u64::from(*percent) * u64::from(PERIOD_US) / 100;
            ("cpu.max", format!("{quota_us} {PERIOD_US}"))
        }
        (Limit::Memory { bytes }, true) => ("memory.limit_in_bytes", bytes.to_string()),
        (Limit::Memory { bytes }, false) => ("memory.max", bytes.to_string()),
        (Limit::Pids { max }, _) => ("pids.max", max.to_string()),
    }
}

/// Removes the groups of this name; waits for a group that is not empty yet.
pub fn remove(name: &str) {
    for hierarchy in Hierarchy::mounted() {
        remove_directory(&hierarchy.folder.join(name));
    }
}

fn remove_directory(group: &Path) {
    /// A killed process leaves its group within milliseconds, unless it waits for a CPU: for the
    /// rest of its quota's period, or on a machine that has other work.
    const TRIES: u32 = 3_000;
    for _ in 0..TRIES {
        match fs::remove_dir(group).map_err(Errno::from) {
            Err(Errno::EBUSY) => std::thread::sleep(Duration::from_millis(1)),
            // Usually there is none.
            _ => return,
        }
    }
}

/// Removes the groups that the treated processes of a job's process group have left behind.
pub fn remove_leftovers(mark: &str, group: u32) {
    let ours = format!("{}.", location::leftover_name(mark, group));
    remove_where(&|name| name.starts_with(&ours));
}

/// Removes the groups that the jobs of a dead session have left behind, and those of dead processes
/// without a session.
pub fn remove_all_leftovers(mark: &str) {
    let ours = format!("{mark}-");
    remove_where(&|name| {
        name.contains('.') && name.starts_with(&ours)
            || name.strip_prefix(location::UNSUPERVISED_MARK).is_some_and(|rest| {
                let pid = rest.trim_start_matches('-').split('.').next();
                pid.and_then(|pid| pid.parse::<u32>().ok())
                    .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
            })
    });
}

fn remove_where(is_ours: &dyn Fn(&str) -> bool) {
    for hierarchy in Hierarchy::mounted() {
        for entry in fs::read_dir(&hierarchy.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_ours) {
                remove_directory(&entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_in_the_format_of_its_version() {
        let half = Limit::Cpu { percent: 50 };
        assert_eq!(setting(&half, true), ("cpu.cfs_quota_us", "50000".to_owned()));
        assert_eq!(setting(&half, false), ("cpu.max", "50000 100000".to_owned()));
        let memory = Limit::Memory { bytes: 1 << 26 };
        assert_eq!(setting(&memory, false), ("memory.max", "67108864".to_owned()));
    }
}
