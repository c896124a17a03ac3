//! The control groups that limit this process's CPU time, memory and number of tasks.

use std::path::{Path, PathBuf};

use oscost_model::facts::{Bound, CgroupVersion};

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// Maximum number of groups read from the own one upwards; a container in a pod in a slice has six.
const MAX_DEPTH: usize = 16;

/// Version 1 writes "no limit" on memory as the largest number of bytes in whole pages.
const UNLIMITED_FROM_BYTES: u64 = 1 << 62;

/// The group of this process and its ancestors.
pub(in crate::facts) struct Group {
    /// The version that manages the controller.
    pub(in crate::facts) version: CgroupVersion,
    /// The own directory first. Ancestors count too: when one is out of quota, all groups in it
    /// stop.
    folders: Vec<PathBuf>,
}

/// The sums over a group and its ancestors since their start; `None` if unknown.
#[derive(Default)]
pub(in crate::facts) struct Throttling {
    pub(in crate::facts) periods: Option<u64>,
    pub(in crate::facts) us: Option<u64>,
}

/// Finds the own group; `None` if the kernel has no control groups or none is visible.
///
/// Version 1 manages the controller if any of its hierarchies names it: if both versions are
/// mounted, a controller is in one of them only. The paths are the usual ones under
/// `/sys/fs/cgroup`.
pub(in crate::facts) fn own_group(roots: &Roots, controller: &str) -> Option<Group> {
    let text = reader::lines(&roots.at("proc/self/cgroup"))?;
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let mounts = roots.at("sys/fs/cgroup");
    let mut lines: Vec<(&str, &str)> = lines.collect();
    // The unified hierarchy, which names no controller, comes last: only if version 1 has none.
    lines.sort_by_key(|(controllers, _)| controllers.is_empty());
    let has_it = |controllers: &str| controllers.split(',').any(|name| name == controller);
    let (controllers, path) = *lines.iter().find(|(names, _)| has_it(names) || names.is_empty())?;
    let (version, mounts) = match controllers {
        "" => (CgroupVersion::V2, [mounts.clone(), mounts.join("unified")]),
        names => (CgroupVersion::V1, [mounts.join(names), mounts.join(controller)]),
    };
    let mount = mounts.into_iter().find(|mount| mount.join("cgroup.procs").exists());
    let folders = mount.map(|mount| from_own_upwards(&mount, path)).unwrap_or_default();
    Some(Group { version, folders })
}

/// In a container without a cgroup namespace the path is the host's, and the mount shows the own
/// group as its root. A path with `..` leads out of the namespace and is not followed.
fn from_own_upwards(mount: &Path, path: &str) -> Vec<PathBuf> {
    let inside = path.trim_start_matches('/');
    let own = mount.join(inside);
    if inside.split('/').any(|part| part == "..") || !own.join("cgroup.procs").exists() {
        return vec![mount.to_path_buf()];
    }
    let upwards = own.ancestors().take_while(|folder| folder.starts_with(mount));
    upwards.take(MAX_DEPTH).map(Path::to_path_buf).collect()
}

impl Group {
    /// The lowest quota in 1/1000 CPU; `None` if that of a level is unknown.
    pub(in crate::facts) fn quota_milli_cpus(&self) -> Option<Bound> {
        self.lowest(|folder| match self.version {
            CgroupVersion::V1 => quota_v1(folder),
            CgroupVersion::V2 => quota_v2(folder),
        })
    }

    /// The lowest limit in the file that has these names in version 1 and in version 2.
    pub(in crate::facts) fn bound(&self, [v1, v2]: [&str; 2]) -> Option<Bound> {
        let name = if self.version == CgroupVersion::V1 { v1 } else { v2 };
        self.lowest(|folder| {
            let file = folder.join(name);
            let Some(text) = reader::value(&file) else { return no_file(&file) };
            match (text.as_str(), text.parse().ok()) {
                ("max", _) | (_, Some(UNLIMITED_FROM_BYTES..)) => Some(Bound::UNLIMITED),
                (_, number) => number.map(Bound::Max),
            }
        })
    }

    /// The CPU weights, the own one first, of the groups that have one; `None` if the groups are not
    /// visible, or a weight cannot be read.
    pub(in crate::facts) fn cpu_weights(&self) -> Option<Vec<u64>> {
        let name = match self.version {
            CgroupVersion::V1 => "cpu.shares",
            CgroupVersion::V2 => "cpu.weight",
        };
        if self.folders.is_empty() {
            return None;
        }
        let files = self.folders.iter().map(|folder| folder.join(name));
        files.filter(|file| file.exists()).map(|file| reader::number(&file)).collect()
    }

    /// The lowest limit of all levels.
    fn lowest(&self, limit: impl Fn(&Path) -> Option<Bound>) -> Option<Bound> {
        let mut tightest = None;
        for folder in &self.folders {
            let level = limit(folder)?;
            tightest = match (tightest, level) {
                (Some(Bound::Max(before)), Bound::Max(now)) => Some(Bound::Max(now.min(before))),
                (Some(Bound::Max(before)), Bound::Unlimited(_)) => Some(Bound::Max(before)),
                (None | Some(Bound::Unlimited(_)), now) => Some(now),
            };
        }
        tightest
    }

    /// How often and how long the groups were throttled.
    pub(in crate::facts) fn throttling(&self) -> Throttling {
        let stats =
            self.folders.iter().filter_map(|folder| reader::lines(&folder.join("cpu.stat")));
        let stats: Vec<String> = stats.collect();
        let sum = |read: fn(&str) -> Option<u64>| {
            stats.iter().filter_map(|text| read(text)).reduce(u64::saturating_add)
        };
        let us = |text: &str| {
            let ns = || parse::counter(text, "throttled_time").map(|ns| ns / 1000);
            parse::counter(text, "throttled_usec").or_else(ns)
        };
        Throttling { periods: sum(|text| parse::counter(text, "nr_throttled")), us: sum(us) }
    }
}

/// `max 100000` or `50000 100000`: quota and period in us.
fn quota_v2(folder: &Path) -> Option<Bound> {
    let file = folder.join("cpu.max");
    let Some(text) = reader::value(&file) else { return no_file(&file) };
    match text.split_once(' ')? {
        ("max", _) => Some(Bound::UNLIMITED),
        (quota, period) => milli_cpus(quota.parse().ok()?, period.trim().parse().ok()?),
    }
}

/// Quota and period in us, in a file each; a quota of -1 means none.
fn quota_v1(folder: &Path) -> Option<Bound> {
    let file = folder.join("cpu.cfs_quota_us");
    match reader::number::<i64>(&file) {
        Some(-1) => Some(Bound::UNLIMITED),
        Some(quota) => {
            let period = reader::number(&folder.join("cpu.cfs_period_us"))?;
            milli_cpus(u64::try_from(quota).ok()?, period)
        }
        None => no_file(&file),
    }
}

/// A group without the file (the root, or where the controller is off) sets no quota; a group whose
/// file cannot be read may set one.
fn no_file(file: &Path) -> Option<Bound> {
    (!file.exists()).then_some(Bound::UNLIMITED)
}

fn milli_cpus(quota_us: u64, period_us: u64) -> Option<Bound> {
    quota_us.checked_mul(1000)?.checked_div(period_us).map(Bound::Max)
}
