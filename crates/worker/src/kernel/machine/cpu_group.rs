//! A control group of version 2 that sums up the CPU time of the processes in it.
//!
//! wait4(2) tells the times of each process as its own clock ticks divide them, and a process that
//! no tick has interrupted is told to have been in user mode alone. Of a group the ticks of all of its
//! processes divide the sum.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use oscost_model::program::GroupTimes;

use super::cgroup::{HINT, Hierarchy, remove_folder};
use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};

/// The file with its times, which needs no controller: since Linux 4.15.
const STATISTICS: &str = "cpu.stat";

/// A control group for the processes of programs, removed on drop.
pub struct CpuGroup {
    folder: PathBuf,
    members: File,
}

impl CpuGroup {
    /// Creates one, in the group of this process if that is allowed: it then changes the least of how
    /// programs are scheduled.
    pub fn create() -> Result<Self, Errno> {
        let mut refused = "cannot create a control group of version 2: none is mounted".to_owned();
        // The group of this process comes after the root.
        for hierarchy in Hierarchy::mounted().iter().rev() {
            if hierarchy.controllers.is_some() || location::is_own_cgroup(&hierarchy.folder) {
                continue;
            }
            let folder = hierarchy.folder.join(location::cpu_cgroup_name());
            match Self::check_entry(&folder).and_then(|()| Self::create_at(folder)) {
                Ok(group) => return Ok(group),
                Err(Errno::UNAVAILABLE) => refused = Errno::UNAVAILABLE.to_string(),
                Err(error) => {
                    refused = format!("cannot create a control group of version 2: {error}");
                }
            }
        }
        Err(Errno::unavailable(format!("{refused}; {HINT}")))
    }

    /// Whether a process can enter a group there: a folder may be writable, and its kind of group or
    /// that of the process not allow it. The process leaves its time in that group, which is removed.
    fn check_entry(folder: &Path) -> Result<(), Errno> {
        let group = Self::create_at(folder.to_owned())?;
        let child = process::fork(|| group.enter().map_or_else(|error| error.0, |()| 0))?;
        let ended = process::wait(WaitTarget::Child(child), true)?;
        entry_of(ended.map(|EndedChild { termination, .. }| termination))
    }

    fn create_at(folder: PathBuf) -> Result<Self, Errno> {
        fs::create_dir(&folder)?;
        let members = match File::options().write(true).open(folder.join("cgroup.procs")) {
            Ok(members) => members,
            Err(error) => {
                // It is empty; the supervisor removes what stays.
                let _ = remove_folder(&folder);
                return Err(error.into());
            }
        };
        let group = Self { folder, members };
        // A kernel that does not tell them is found before any program runs.
        group.times()?;
        Ok(group)
    }

    /// Moves the calling process into it.
    pub fn enter(&self) -> Result<(), Errno> {
        Ok((&self.members).write_all(b"0")?)
    }

    /// What the processes in it were charged since it was created. The kernel never takes back what it
    /// has told, so that times of a few ticks leave their mark on later ones: they are read once, at
    /// the end.
    pub fn times(&self) -> Result<GroupTimes, Errno> {
        let text = fs::read_to_string(self.folder.join(STATISTICS))?;
        parse_times(&text).map_err(Errno::unavailable)
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // Errors cannot be reported from here; the supervisor removes what stays.
        let _ = remove_folder(&self.folder);
    }
}

/// Whether the process that was to enter a group has done so: its status is the error.
fn entry_of(termination: Option<Termination>) -> Result<(), Errno> {
    let why = match termination {
        Some(Termination::Exited(0)) => return Ok(()),
        Some(Termination::Exited(error)) => Errno(error).to_string(),
        Some(Termination::Killed(signal)) => format!("its process was killed by signal {signal}"),
        None => "its process did not end".to_owned(),
    };
    Err(Errno::unavailable(format!("cannot enter a new control group of version 2: {why}")))
}

/// The times in such a file.
fn parse_times(text: &str) -> Result<GroupTimes, String> {
    let microseconds = |key: &str| -> Result<u64, String> {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let value =
            value.ok_or_else(|| format!("{STATISTICS} of control groups has no `{key}`"))?;
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|_| is_number);
        number.ok_or_else(|| format!("`{key}` in {STATISTICS} of a control group is not a number"))
    };
    Ok(GroupTimes { user_us: microseconds("user_usec")?, system_us: microseconds("system_usec")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_no_process_may_enter_is_refused_with_the_error() {
        assert_eq!(entry_of(Some(Termination::Exited(0))), Ok(()));
        let why = |termination| {
            let refused = entry_of(termination);
            assert_eq!(refused, Err(Errno::UNAVAILABLE));
            refused.unwrap_err().to_string()
        };
        let busy = why(Some(Termination::Exited(Errno::EBUSY.0)));
        assert!(busy.contains("cannot enter a new control group"), "{busy}");
        assert!(busy.contains(&Errno::EBUSY.to_string()), "{busy}");
        let killed = why(Some(Termination::Killed(9)));
        assert!(killed.ends_with("its process was killed by signal 9"), "{killed}");
    }

    #[test]
    fn times_are_read_whatever_else_the_kernel_tells_and_a_wrong_file_is_refused() {
        let whole = "usage_usec 62\nuser_usec 20\nsystem_usec 42\nnice_usec 0\nnr_periods 0\n";
        assert_eq!(parse_times(whole), Ok(GroupTimes { user_us: 20, system_us: 42 }));
        let backwards = "system_usec 18446744073709551615\nuser_usec_of_others 7\nuser_usec 0";
        assert_eq!(parse_times(backwards), Ok(GroupTimes { user_us: 0, system_us: u64::MAX }));
        for (text, part) in [
            ("", "no `user_usec`"),
            ("usage_usec 62\nuser_usec 20\n", "no `system_usec`"),
            ("user_usec20\nsystem_usec 42\n", "no `user_usec`"),
            ("user_usec \nsystem_usec 42\n", "`user_usec` in cpu.stat"),
            ("user_usec -1\nsystem_usec 42\n", "`user_usec` in cpu.stat"),
            ("user_usec 20\nsystem_usec +42\n", "`system_usec` in cpu.stat"),
            ("user_usec 20\nsystem_usec 18446744073709551616\n", "`system_usec` in cpu.stat"),
        ] {
            let why = parse_times(text).unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }

    #[test]
    fn a_group_has_the_time_of_its_process_and_is_gone_with_its_value() {
        let group = match CpuGroup::create() {
            Ok(group) => group,
            Err(error) => return eprintln!("cannot run here: {error}"),
        };
        let folder = group.folder.clone();
        assert_eq!(group.times(), Ok(GroupTimes::default()));
        let child = process::fork(|| i32::from(group.enter().is_err())).unwrap();
        process::wait(WaitTarget::Child(child), true).unwrap();
        let GroupTimes { user_us, system_us } = group.times().unwrap();
        assert!(user_us + system_us > 0, "its exit takes time");
        drop(group);
        assert!(!folder.exists());
    }
}
