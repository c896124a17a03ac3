//! Control groups of both versions, and their values in a snapshot.

use oscost_model::facts::{Bound, CgroupVersion, Facts};

use super::Tree;
use crate::facts::{disturbances_in, gather};

fn quota(facts: &Facts) -> Option<Bound> {
    facts.scheduling.cgroup_quota_milli_cpus
}

fn group(tree: Tree, folder: &str, files: &[(&str, &str)]) -> Tree {
    let tree = tree.file(&format!("{folder}/cgroup.procs"), "");
    files.iter().fold(tree, |tree, (name, text)| tree.file(&format!("{folder}/{name}"), text))
}

#[test]
fn the_lowest_quota_of_all_levels_applies() {
    let tree = Tree::new().file("proc/self/cgroup", "0::/pod/worker\n");
    let tree = group(tree, "sys/fs/cgroup", &[]);
    let stat = "usage_usec 9\nnr_throttled 2\nthrottled_usec 300\n";
    let pod = [("cpu.max", "150000 100000\n"), ("cpu.stat", stat)];
    let tree = group(tree, "sys/fs/cgroup/pod", &pod);
    let worker = [("cpu.max", "max 100000\n"), ("cpu.stat", "nr_throttled 1\nthrottled_usec 50\n")];
    let tree = group(tree, "sys/fs/cgroup/pod/worker", &worker);
    let facts = gather(&tree.roots());
    assert_eq!(facts.scheduling.cgroup_version, Some(CgroupVersion::V2));
    assert_eq!(quota(&facts), Some(Bound::Max(1500)));
    let snapshot = disturbances_in(&tree.roots(), 0);
    assert_eq!((snapshot.throttled_periods, snapshot.throttled_us), (Some(3), Some(350)));
}

#[test]
fn version_1_is_read_if_it_manages_the_cpu_controller() {
    let lines = "9:name=systemd:/\n4:cpu,cpuacct:/a\n3:cpuset:/\n0::/\n";
    let tree = Tree::new().file("proc/self/cgroup", lines);
    let tree = group(tree, "sys/fs/cgroup/unified", &[("cpu.stat", "nr_throttled 9\n")]);
    let top = [("cpu.cfs_quota_us", "-1\n"), ("cpu.stat", "nr_throttled 0\nthrottled_time 0\n")];
    let tree = group(tree, "sys/fs/cgroup/cpu,cpuacct", &top);
    let own = [
        ("cpu.cfs_quota_us", "50000\n"),
        ("cpu.cfs_period_us", "100000\n"),
        ("cpu.stat", "nr_throttled 4\nthrottled_time 7000\n"),
    ];
    let tree = group(tree, "sys/fs/cgroup/cpu,cpuacct/a", &own);
    let facts = gather(&tree.roots());
    assert_eq!(facts.scheduling.cgroup_version, Some(CgroupVersion::V1));
    assert_eq!(quota(&facts), Some(Bound::Max(500)));
    let snapshot = disturbances_in(&tree.roots(), 0);
    assert_eq!((snapshot.throttled_periods, snapshot.throttled_us), (Some(4), Some(7)));
}

#[test]
fn a_path_out_of_the_namespace_is_not_followed() {
    let tree = Tree::new().file("proc/self/cgroup", "0::/../../proc\n");
    let tree = group(tree, "sys/fs/cgroup", &[("cpu.max", "max 100000\n")]);
    let tree = group(tree, "proc", &[("cpu.max", "1000 100000\n")]);
    assert_eq!(quota(&gather(&tree.roots())), Some(Bound::UNLIMITED));
}

#[test]
fn an_invalid_quota_is_unknown_and_not_unlimited() {
    for text in ["100000 0\n", "many few\n", "50000\n", "18446744073709551615 1\n", "\n"] {
        let tree = Tree::new().file("proc/self/cgroup", "0::/\n");
        let tree = group(tree, "sys/fs/cgroup", &[("cpu.max", text)]);
        assert_eq!(quota(&gather(&tree.roots())), None, "{text}");
    }
}

#[test]
fn an_unmounted_version_is_known_and_has_no_quota() {
    let tree = Tree::new().file("proc/self/cgroup", "0::/\n");
    let facts = gather(&tree.roots());
    assert_eq!(facts.scheduling.cgroup_version, Some(CgroupVersion::V2));
    assert_eq!(quota(&facts), None);
}

#[test]
fn memory_and_tasks_are_limited_by_the_lowest_limit() {
    let tree = Tree::new().file("proc/self/cgroup", "0::/pod/worker\n");
    let tree = group(tree, "sys/fs/cgroup", &[]);
    let pod = [("memory.max", "1073741824\n"), ("pids.max", "max\n")];
    let tree = group(tree, "sys/fs/cgroup/pod", &pod);
    let worker = [("memory.max", "max\n"), ("pids.max", "100\n")];
    let tree = group(tree, "sys/fs/cgroup/pod/worker", &worker);
    let scheduling = gather(&tree.roots()).scheduling;
    assert_eq!(scheduling.cgroup_memory_bytes, Some(Bound::Max(1 << 30)));
    assert_eq!(scheduling.cgroup_tasks, Some(Bound::Max(100)));
}

#[test]
fn each_controller_of_version_1_has_a_hierarchy_of_its_own() {
    let tree = Tree::new().file("proc/self/cgroup", "4:memory:/a\n2:cpu:/\n0::/\n");
    let tree = group(tree, "sys/fs/cgroup/cpu", &[("cpu.cfs_quota_us", "-1\n")]);
    let top = [("memory.limit_in_bytes", "9223372036854771712\n")];
    let tree = group(tree, "sys/fs/cgroup/memory", &top);
    let own = [("memory.limit_in_bytes", "4096\n")];
    let tree = group(tree, "sys/fs/cgroup/memory/a", &own);
    let scheduling = gather(&tree.roots()).scheduling;
    assert_eq!(scheduling.cgroup_memory_bytes, Some(Bound::Max(4096)));
    let tree = tree.file("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "many\n");
    assert_eq!(gather(&tree.roots()).scheduling.cgroup_memory_bytes, None);
    let tree = tree.file("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    let bound = gather(&tree.roots()).scheduling.cgroup_memory_bytes;
    assert_eq!(bound, Some(Bound::UNLIMITED));
}

#[test]
fn weights_are_those_of_the_groups_that_have_one() {
    let tree = Tree::new().file("proc/self/cgroup", "0::/pod/worker\n");
    let tree = group(tree, "sys/fs/cgroup", &[]);
    let tree = group(tree, "sys/fs/cgroup/pod", &[("cpu.weight", "100\n")]);
    let tree = group(tree, "sys/fs/cgroup/pod/worker", &[]);
    let read = |tree: &Tree| gather(&tree.roots()).scheduling;
    assert_eq!(read(&tree).cgroup_cpu_weights, Some(vec![100]));
    assert_eq!(read(&tree).unusual_cpu_weights(), Some(Vec::new()));
    let tree = tree.file("sys/fs/cgroup/pod/worker/cpu.weight", "20\n");
    assert_eq!(read(&tree).cgroup_cpu_weights, Some(vec![20, 100]));
    assert_eq!(read(&tree).unusual_cpu_weights(), Some(vec![20]));
    let tree = tree.file("sys/fs/cgroup/pod/cpu.weight", "many\n");
    assert_eq!(read(&tree).cgroup_cpu_weights, None);
    let unmounted = Tree::new().file("proc/self/cgroup", "0::/\n");
    assert_eq!(read(&unmounted).cgroup_cpu_weights, None);
    let tree = Tree::new().file("proc/self/cgroup", "4:cpu:/\n");
    let tree = group(tree, "sys/fs/cgroup/cpu", &[("cpu.shares", "1024\n")]);
    let usual = (read(&tree).cgroup_cpu_weights, read(&tree).unusual_cpu_weights());
    assert_eq!(usual, (Some(vec![1024]), Some(Vec::new())));
}

#[test]
fn policy_and_nice_value_stand_behind_a_name_of_any_characters() {
    let scheduling = |nice: &str, policy: &str| {
        let before = "1234 (a b) R (x) R 1 2 3 0 -1 4194304 9 8 7 6 5 4 3 2 30";
        let after = format!("{nice} 1 0 99 {} 17 1 0 {policy} 0", "0 ".repeat(15).trim_end());
        let tree = Tree::new().file("proc/self/stat", format!("{before} {after}\n"));
        let scheduling = gather(&tree.roots()).scheduling;
        (scheduling.nice, scheduling.policy)
    };
    let named = |policy: &str| Some(policy.to_owned());
    assert_eq!(scheduling("0", "0"), (Some(0), named("other")));
    assert_eq!(scheduling("-5", "3"), (Some(-5), named("batch")));
    assert_eq!(scheduling("19", "5"), (Some(19), named("idle")));
    assert_eq!(scheduling("0", "12"), (Some(0), named("12")));
    assert_eq!(scheduling("low", "none"), (None, None));
}

#[test]
fn a_snapshot_reads_ticks_pressure_and_load() {
    let tree = Tree::new().files(&[
        ("proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 750 0 626 64171 14 0 7 12 0 0\n"),
        ("proc/pressure/cpu", "some avg10=12.50 avg60=0 avg300=0 total=4\n"),
        ("proc/loadavg", "0.25 0.03 0.00 2/82 3963\n"),
    ]);
    let snapshot = disturbances_in(&tree.roots(), 0);
    assert_eq!((snapshot.steal_ticks, snapshot.total_ticks), (Some(12), Some(65580)));
    assert_eq!(snapshot.pressure_cpu_some_avg10_pct, Some(12.5));
    assert_eq!((snapshot.load_1min, snapshot.runnable_tasks), (Some(0.25), Some(2)));
}
