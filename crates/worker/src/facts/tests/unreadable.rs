//! Machines without any readable file, and machines with garbage in every file.

use oscost_model::facts::{Facts, Snapshot};

use super::Tree;
use crate::facts::accounting::activity;
use crate::facts::{Roots, disturbances_in, gather};

/// Every file that facts are read from.
const FILES: &[&str] = &[
    "bin/sh",
    "proc/cpuinfo",
    "etc/os-release",
    "proc/1/comm",
    "proc/1/stat",
    "proc/cmdline",
    "proc/config.gz",
    "proc/interrupts",
    "proc/loadavg",
    "proc/meminfo",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/stat",
    "proc/device-tree/hypervisor/compatible",
    "proc/self/auxv",
    "proc/self/cgroup",
    "proc/self/limits",
    "proc/self/personality",
    "proc/self/stat",
    "proc/self/status",
    "proc/self/timerslack_ns",
    "proc/sys/kernel/arch",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/version",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/kernel/stack_tracer_enabled",
    "sys/block/sda/size",
    "run/utmp",
    "sys/class/dmi/id/bios_version",
    "sys/class/dmi/id/bios_date",
    "sys/block/sda/device/model",
    "sys/block/sda/device/vpd_pgb1",
    "sys/block/sda/queue/write_cache",
    "sys/bus/virtio/devices/virtio0/device",
    "sys/block/sda/queue/scheduler",
    "sys/class/dmi/id/product_name",
    "sys/class/net/eth0/type",
    "sys/class/net/eth0/uevent",
    "sys/class/net/eth0/device/vendor",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/vulnerabilities/meltdown",
    "sys/fs/cgroup/cgroup.procs",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/cpu.weight",
    "sys/fs/cgroup/memory.max",
    "sys/firmware/dmi/tables/DMI",
    "sys/hypervisor/type",
    "sys/kernel/debug/sched/preempt",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/notes",
    "sys/kernel/security/lockdown",
    "sys/kernel/security/lsm",
    "sys/kernel/tracing/current_tracer",
    "sys/kernel/tracing/events/enable",
];

/// All byte values many times over, longer than any limit. The order depends on `seed` alone, so
/// that a failure can be reproduced.
fn garbage(seed: usize) -> Vec<u8> {
    (0..700_000).map(|i: usize| (i.wrapping_mul(seed * 2 + 1) >> 3) as u8).collect()
}

#[test]
fn every_fact_of_an_empty_machine_is_unknown() {
    let tree = Tree::new();
    let facts = gather(&tree.roots());
    assert!(facts.unread.values().all(|reason| reason == "does not exist"), "{:?}", facts.unread);
    assert!(facts.unread.len() > 30 && facts.unread.contains_key("/sys/firmware/dmi/tables/DMI"));
    let tracers_unread = vec!["tracefs".to_string(), "/proc/self/status".to_string()];
    let unread = facts.unread.clone();
    assert_eq!(facts, Facts { tracers_unread, unread, ..Facts::default() });
    let snapshot = disturbances_in(&tree.roots(), 3);
    assert_eq!(snapshot, Snapshot { cpu: 3, ..Snapshot::default() });
}

#[test]
fn unknown_is_null_and_no_key_is_ever_missing() {
    let json = serde_json::to_value(Facts::default()).unwrap();
    assert_eq!(json["cpu"]["model_name"], serde_json::Value::Null);
    assert!(json["cpu"].as_object().unwrap().contains_key("allowed_cpus"));
    assert_eq!(json["limits"]["open_files"], serde_json::json!({"soft": null, "hard": null}));
}

#[test]
fn garbage_in_every_file_is_harmless_and_truncated() {
    for seed in 0..3 {
        let fill = |tree: Tree, file: &&str| tree.file(file, garbage(seed));
        let tree = FILES.iter().fold(Tree::new(), fill);
        let facts = gather(&tree.roots());
        let begun = activity::start(&tree.roots(), &[0, 1]);
        let watched = activity::finish(&tree.roots(), &begun, &[]);
        let snapshot = disturbances_in(&tree.roots(), 0);
        let json = serde_json::to_string(&(&facts, snapshot, watched)).unwrap();
        assert!(json.len() < 64 << 10, "{} bytes", json.len());
        // What is left after escaped backslashes and quotes would be a control character.
        let escapes = json.replace(r"\\", "").replace(r#"\""#, "");
        assert!(!escapes.contains('\\'), "{escapes}");
        assert_eq!(facts.cpu.logical_online, None);
    }
}

#[test]
fn a_directory_in_place_of_a_file_is_unknown() {
    let tree = FILES.iter().fold(Tree::new(), |tree, file| tree.file(&format!("{file}/x"), "1"));
    assert_eq!(gather(&tree.roots()).os.release, None);
}

#[test]
fn an_unreadable_file_needs_root_and_a_directory_is_readable() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new()
        .file("sys/firmware/dmi/tables/DMI", "secret")
        .file("proc/cmdline", "quiet\n")
        .file("sys/block/sda/size", "1\n");
    let table = tree.roots().at("sys/firmware/dmi/tables/DMI");
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(&table, closed).unwrap();
    let unread = gather(&tree.roots()).unread;
    assert!(!unread.contains_key("/proc/cmdline") && !unread.contains_key("/sys/block"));
    // Root reads everything.
    if std::fs::read(&table).is_err() {
        assert_eq!(unread["/sys/firmware/dmi/tables/DMI"], "needs root");
    }
}

#[test]
fn a_table_of_interrupts_that_is_too_long_is_unknown() {
    let line = " 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n";
    let text = |lines: usize| format!("           CPU0       CPU1\n{}", line.repeat(lines));
    let tree = Tree::new().file("proc/interrupts", text(100));
    assert_eq!(disturbances_in(&tree.roots(), 0).interrupts, Some(100));
    let tree = tree.file("proc/interrupts", text(10_000));
    assert_eq!(disturbances_in(&tree.roots(), 0).interrupts, None);
}

#[test]
fn the_facts_of_this_machine_survive_json() {
    let facts = gather(&Roots::machine());
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
}
