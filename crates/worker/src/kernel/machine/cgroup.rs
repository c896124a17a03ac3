//! Control groups (cgroups(7)): the hierarchies in which groups can be created, and the groups of
//! benchmarks. The supervisor removes by their names what a killed process leaves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kernel::Errno;
use crate::kernel::file::location;

/// The controllers in which a new group is created.
pub const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// How to be allowed to create a group.
pub const HINT: &str = "run oscost as root with a writable /sys/fs/cgroup, or in a group that is \
                        delegated to you (systemd-run --user --scope -p Delegate=yes)";

/// A hierarchy in which groups can be created.
pub struct Hierarchy {
    /// The folder in which they are.
    pub folder: PathBuf,
    /// In version 1, the controllers that it manages.
    pub controllers: Option<Vec<String>>,
}

impl Hierarchy {
    /// The mounted hierarchies, in the order of /proc/self/mounts.
    pub fn mounted() -> Vec<Hierarchy> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        parse_hierarchies(&mounts, &own_groups())
    }

    /// Whether groups created here have this controller.
    pub fn manages(&self, controller: &str) -> bool {
        match &self.controllers {
            Some(controllers) => controllers.iter().any(|one| one == controller),
            // The controllers that are enabled for the groups in it.
            None => fs::read_to_string(self.folder.join("cgroup.subtree_control"))
                .is_ok_and(|handed| handed.split_whitespace().any(|one| one == controller)),
        }
    }
}

/// The groups of this process, a line for each hierarchy.
fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// The hierarchies in a table of mounts; in version 2 also the group that the process is in, which
/// may be delegated to its user.
fn parse_hierarchies(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (Some(folder), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let folder = PathBuf::from(folder);
        let controllers: Vec<String> =
            options.split(',').filter(|one| CONTROLLERS.contains(one)).map(String::from).collect();
        match kind {
            "cgroup" if !controllers.is_empty() => {
                found.push(Hierarchy { folder, controllers: Some(controllers) });
            }
            "cgroup2" => {
                let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
                found.push(Hierarchy { folder: folder.clone(), controllers: None });
                if let Some(own) = own.filter(|own| !own.is_empty() && !own.contains("..")) {
                    found.push(Hierarchy { folder: folder.join(own), controllers: None });
                }
            }
            _ => {}
        }
    }
    found
}

/// Opens a file of this process's own group, for reading: in the hierarchy of version 1 that
/// manages the controller, otherwise in version 2. Where the group is not visible, as in some
/// containers, that of the root of what is mounted.
pub fn open_own(controller: &str, file: &str) -> Result<File, Errno> {
    let hierarchies = Hierarchy::mounted();
    let paths = own_paths(&hierarchies, &own_groups(), controller);
    let opened = paths.iter().find_map(|group| File::open(group.join(file)).ok());
    opened.ok_or_else(|| {
        Errno::unavailable(format!(
            "no control group of this process has a file {file}: the controller `{controller}` is \
             not enabled for it, or no hierarchy is mounted"
        ))
    })
}

/// The folders that may be the group of a process for a controller, the likeliest first. `own` is
/// /proc/self/cgroup.
fn own_paths(hierarchies: &[Hierarchy], own: &str, controller: &str) -> Vec<PathBuf> {
    let path_in_first_version = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (of, path) = (fields.next()?, fields.next()?);
        of.split(',').any(|one| one == controller).then_some(path)
    });
    let is_first = |one: &&Hierarchy| one.controllers.is_some() && one.manages(controller);
    let mut paths = Vec::new();
    for hierarchy in hierarchies.iter().filter(is_first) {
        let path = path_in_first_version.unwrap_or_default();
        paths.push(hierarchy.folder.join(path.trim_start_matches('/')));
        paths.push(hierarchy.folder.clone());
    }
    // The process's own group stands after the root.
    let second = hierarchies.iter().rev().filter(|one| one.controllers.is_none());
    paths.extend(second.map(|one| one.folder.clone()));
    paths
}

/// An empty control group of a benchmark, removed on drop.
pub struct Group {
    folder: PathBuf,
    is_first_version: bool,
}

impl Group {
    /// Creates one in the first hierarchy that allows it, and that manages `controller` if one is
    /// named. `which` tells the groups of a process apart.
    pub fn create(controller: Option<&str>, which: u32) -> Result<Self, Errno> {
        let mut refused = Errno::ENOENT;
        for hierarchy in Hierarchy::mounted() {
            let is_managed = controller.is_none_or(|controller| hierarchy.manages(controller));
            if !is_managed || location::is_own_cgroup(&hierarchy.folder) {
                continue;
            }
            let is_first_version = hierarchy.controllers.is_some();
            match Self::create_in(&hierarchy.folder, is_first_version, which) {
                Ok(group) => return Ok(group),
                Err(error) => refused = error,
            }
        }
        let with = controller.map(|name| format!(" with the controller `{name}`"));
        let with = with.unwrap_or_default();
        let reason = match refused {
            Errno::ENOENT => "it is not mounted, or not enabled for new groups".to_owned(),
            error => error.to_string(),
        };
        Err(Errno::unavailable(format!("cannot create a control group{with}: {reason}; {HINT}")))
    }

    /// Creates another one beside it.
    pub fn create_sibling(&self, which: u32) -> Result<Self, Errno> {
        Self::create_in(self.parent()?, self.is_first_version, which)
    }

    fn create_in(parent: &Path, is_first_version: bool, which: u32) -> Result<Self, Errno> {
        let folder = parent.join(location::benchmark_cgroup_name(which));
        fs::create_dir(&folder)?;
        Ok(Self { folder, is_first_version })
    }

    fn parent(&self) -> Result<&Path, Errno> {
        self.folder.parent().ok_or(Errno::ENOENT)
    }

    /// Whether it is in a hierarchy of version 1.
    pub fn is_first_version(&self) -> bool {
        self.is_first_version
    }

    /// Opens one of its files for writing.
    pub fn open(&self, file: &str) -> Result<File, Errno> {
        Ok(File::options().write(true).open(self.folder.join(file))?)
    }

    /// Opens the folder that it is in.
    pub fn open_parent(&self) -> Result<File, Errno> {
        Ok(File::open(self.parent()?)?)
    }

    /// Its name in that folder.
    pub fn name(&self) -> String {
        self.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Removes it. A group of the same name, created later, is removed on drop all the same.
    pub fn remove(&self) -> Result<(), Errno> {
        /// A killed process leaves its group within milliseconds.
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            match fs::remove_dir(&self.folder).map_err(Errno::from) {
                Err(Errno::EBUSY) => std::thread::sleep(Duration::from_millis(1)),
                done => return done,
            }
        }
        Err(Errno::EBUSY)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Errors cannot be reported from here; the supervisor removes what stays.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounted_hierarchies_of_both_versions_are_found() {
        let mounts = "\
            tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
            cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
            cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
            nonsense\n";
        let found = parse_hierarchies(mounts, "5:cpu:/\n0::/user.slice/me\n");
        let folders: Vec<_> = found.iter().map(|one| one.folder.to_str().unwrap()).collect();
        let unified = "/sys/fs/cgroup/unified";
        let own = format!("{unified}/user.slice/me");
        assert_eq!(folders, ["/sys/fs/cgroup/cpu,cpuacct", unified, &own]);
        assert!(found[0].manages("cpu") && !found[0].manages("memory"));
        assert_eq!(parse_hierarchies("cgroup2 /g cgroup2 rw 0 0", "0::/../..").len(), 1);
    }

    #[test]
    fn the_own_group_is_looked_for_in_the_first_version_and_then_in_the_second() {
        let mounts = "cgroup /g/cpu cgroup rw,cpu 0 0\ncgroup2 /g/both cgroup2 rw 0 0\n";
        let own = "4:cpu,cpuacct:/one/two\n0::/three\n";
        let found = parse_hierarchies(mounts, own);
        let paths = |controller| own_paths(&found, own, controller);
        let second = ["/g/both/three", "/g/both"].map(PathBuf::from);
        assert_eq!(paths("memory"), second);
        let first = ["/g/cpu/one/two", "/g/cpu"].map(PathBuf::from);
        assert_eq!(paths("cpu"), [first, second].concat());
    }

    #[test]
    fn a_group_is_gone_with_its_value() {
        let group = match Group::create(None, 9) {
            Ok(group) => group,
            Err(error) => return eprintln!("cannot run here: {error}"),
        };
        let folder = group.folder.clone();
        assert!(folder.join("cgroup.procs").exists());
        drop(group);
        assert!(!folder.exists());
    }
}
