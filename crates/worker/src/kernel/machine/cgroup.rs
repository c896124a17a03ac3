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

/// A group that has statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsGroup {
    /// That of this process.
    Own,
    /// The root of the hierarchy, as far as it is mounted here: the group of all processes, or of
    /// those of a container.
    Root,
}

/// Opens a file of a group, for reading: in the hierarchy of version 1 that manages the
/// controller, otherwise in version 2.
pub fn open_statistics(
    group: StatisticsGroup,
    controller: &str,
    file: &str,
) -> Result<File, Errno> {
    let hierarchies = Hierarchy::mounted();
    let paths = match group {
        StatisticsGroup::Own => own_paths(&hierarchies, &own_groups(), controller),
        StatisticsGroup::Root => root_paths(&hierarchies, &own_groups(), controller),
    };
    let opened = paths.iter().find_map(|group| File::open(group.join(file)).ok());
    opened.ok_or_else(|| {
        Errno::unavailable(match group {
            StatisticsGroup::Own => format!(
                "the control group of this process has no file {file} here: the controller \
                 `{controller}` is not enabled for it, or the group is not below what is mounted, \
                 as in some containers; select group=root"
            ),
            StatisticsGroup::Root => format!(
                "no root of a hierarchy of control groups has a file {file} here: none is \
                 mounted, or this kernel makes it for other groups alone"
            ),
        })
    })
}

/// The path of a group in a line of /proc/self/cgroup, `own`, relative to the root of its
/// hierarchy: in version 1 that of a controller, in version 2 with none. `None` if it is not below
/// the root that this process sees.
fn relative_path<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (of, path) = (fields.next()?, fields.next()?);
        of.split(',').any(|one| one == controller).then_some(path)
    });
    path.map(|path| path.trim_start_matches('/')).filter(|path| !path.contains(".."))
}

/// Whether groups of version 1 have this controller.
fn is_first_with(hierarchy: &Hierarchy, controller: &str) -> bool {
    hierarchy.controllers.is_some() && hierarchy.manages(controller)
}

/// The folders that may be the group of a process for a controller, the likeliest first. `own` is
/// /proc/self/cgroup.
fn own_paths(hierarchies: &[Hierarchy], own: &str, controller: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Some(path) = relative_path(own, controller) {
        let first = hierarchies.iter().filter(|one| is_first_with(one, controller));
        paths.extend(first.map(|one| one.folder.join(path)));
    }
    if let Some(path) = relative_path(own, "") {
        // Among those of version 2 are the root and the process's own group.
        let second = hierarchies.iter().filter(|one| one.controllers.is_none());
        let is_own = |folder: &&PathBuf| path.is_empty() || folder.ends_with(path);
        paths.extend(second.map(|one| &one.folder).filter(is_own).cloned());
    }
    paths
}

/// The roots of the hierarchies that may have a controller, the likeliest first.
fn root_paths(hierarchies: &[Hierarchy], own: &str, controller: &str) -> Vec<PathBuf> {
    let own = relative_path(own, "").filter(|path| !path.is_empty());
    let first = hierarchies.iter().filter(|one| is_first_with(one, controller));
    let second = hierarchies.iter().filter(|one| {
        one.controllers.is_none() && own.is_none_or(|path| !one.folder.ends_with(path))
    });
    first.chain(second).map(|one| one.folder.clone()).collect()
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
        remove_folder(&self.folder)
    }
}

/// Removes a group; waits for the end of its last process.
pub(super) fn remove_folder(folder: &Path) -> Result<(), Errno> {
    /// A killed process leaves its group within milliseconds.
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        match fs::remove_dir(folder).map_err(Errno::from) {
            Err(Errno::EBUSY) => std::thread::sleep(Duration::from_millis(1)),
            done => return done,
        }
    }
    Err(Errno::EBUSY)
}

impl Drop for Group {
    fn drop(&mut self) {
        // Errors cannot be reported from here; the supervisor removes what stays.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

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
    fn the_own_group_and_the_root_are_looked_for_in_the_first_version_and_then_in_the_second() {
        let mounts = "cgroup /g/cpu cgroup rw,cpu 0 0\ncgroup2 /g/both cgroup2 rw 0 0\n";
        let own = "4:cpu,cpuacct:/one/two\n0::/three\n";
        let found = parse_hierarchies(mounts, own);
        let paths = |controller| own_paths(&found, own, controller);
        let [first, second] = ["/g/cpu/one/two", "/g/both/three"].map(PathBuf::from);
        assert_eq!(paths("memory"), slice::from_ref(&second));
        assert_eq!(paths("cpu"), [first, second]);
        let [first, second] = ["/g/cpu", "/g/both"].map(PathBuf::from);
        assert_eq!(root_paths(&found, own, "memory"), slice::from_ref(&second));
        assert_eq!(root_paths(&found, own, "cpu"), [first, second]);
    }

    #[test]
    fn a_group_that_is_not_visible_is_not_taken_for_the_root() {
        let mounts = "cgroup2 /g cgroup2 rw 0 0\n";
        for (own, expected) in [("0::/", Some("/g")), ("0::/../other", None), ("", None)] {
            let found = parse_hierarchies(mounts, own);
            let paths = own_paths(&found, own, "cpu");
            let expected: Vec<PathBuf> = expected.map(PathBuf::from).into_iter().collect();
            assert_eq!(paths, expected, "{own}");
            assert_eq!(root_paths(&found, own, "cpu"), [PathBuf::from("/g")], "{own}");
        }
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
