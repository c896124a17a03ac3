//! What a run may leave on a machine, by name: processes, control groups, tracing instances and
//! probes, mounts, loop devices, sockets, network links and namespaces, shared memory, semaphores,
//! message queues, keys and BPF programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::PATIENCE;

/// The folders in which a run makes entries, and how deep.
const FOLDERS: [(&str, u32); 6] = [
    ("/sys/fs/cgroup", 3),
    ("/sys/kernel/tracing/instances", 1),
    ("/dev/shm", 1),
    ("/dev/mqueue", 1),
    ("/run/netns", 1),
    ("/sys/fs/bpf", 1),
];

/// How the names of oscost begin.
const MARK: &str = "oscost";

/// All that is on the machine now, by name. Other tools on the machine have such things, too: an
/// attack that looks here is made alone.
pub(crate) fn named() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, depth) in FOLDERS {
        add_entries(Path::new(folder), depth, &mut found);
    }
    // A namespace that no process is in is kept by a mount.
    let is_ours = |line: &&str| line.contains(MARK) || line.contains(" nsfs ");
    found.extend(read("/proc/self/mounts").lines().filter(is_ours).map(str::to_owned));
    // An abstract name begins with `@` there.
    let sockets = read("/proc/net/unix");
    let names = sockets.lines().filter_map(|line| line.split_whitespace().last());
    found.extend(names.filter(|name| name.starts_with("@oscost")).map(str::to_owned));
    for table in ["shm", "sem", "msg"] {
        let lines = read(&format!("/proc/sysvipc/{table}"));
        // Its key and its number; the rest of a line changes with its use.
        let entries = lines.lines().skip(1).map(|line| line.split_whitespace().take(2));
        let names = entries.map(|words| words.collect::<Vec<_>>().join(" "));
        found.extend(names.map(|name| format!("sysvipc {table}: {name}")));
    }
    // Probes of the kernel and of programs, which outlive the process that has made them.
    let probes = read("/sys/kernel/tracing/dynamic_events");
    found.extend(probes.lines().map(|line| format!("dynamic event {line}")));
    let links = read("/proc/net/dev");
    let names = links.lines().skip(2).filter_map(|line| line.split(':').next());
    found.extend(names.map(|name| format!("network link {}", name.trim())));
    found.extend(processes());
    found.extend(loop_devices());
    found.extend(message_queues());
    found.extend(keys(&read("/proc/keys")));
    found.extend(programs());
    found
}

/// Waits until nothing is on the machine that was not there before.
#[track_caller]
pub(crate) fn nothing_is_new(before: &BTreeSet<String>) {
    let begun = Instant::now();
    loop {
        let left: Vec<String> = named().difference(before).cloned().collect();
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "left on the machine: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file of the kernel; empty where there is none.
fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// The processes that execute a program of oscost. A namespace or a file without a name lives no
/// longer than they.
fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let each = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let program = fs::read_link(entry.path().join("exe")).ok()?;
        let is_ours = program.file_name()?.to_str()?.starts_with(MARK);
        is_ours.then(|| format!("process {pid}: {}", program.display()))
    });
    each.collect()
}

/// The loop devices that have a file, with its path.
fn loop_devices() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let each = devices.filter_map(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        Some(format!("{}: {}", device.file_name().display(), file.trim_end()))
    });
    each.collect()
}

/// The POSIX message queues, of which the file system is mounted on few machines: here it is, for a
/// moment, in a mount namespace of its own. Without root there is none.
fn message_queues() -> Vec<String> {
    const LIST: [&str; 4] = ["--mount", "sh", "-c", "mount -t mqueue mqueue /tmp && ls /tmp"];
    let listed = Command::new("unshare").args(LIST).output();
    let names = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned());
    names.unwrap_or_default().lines().map(|name| format!("message queue {name}")).collect()
}

/// The keys of benchmarks in the text of /proc/keys, and the keyrings of threads, which end with
/// them.
fn keys(text: &str) -> Vec<String> {
    let each = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let id = words.next()?;
        // Flags, uses, expiry, permissions, user, group.
        let (kind, name) = (words.nth(6)?, words.next()?.trim_end_matches(':'));
        (name.starts_with(MARK) || name == "_tid").then(|| format!("key {id}: {kind} {name}"))
    });
    each.collect()
}

fn add_entries(folder: &Path, depth: u32, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(MARK) {
            found.insert(entry.path().display().to_string());
        }
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_entries(&entry.path(), depth - 1, found);
        }
    }
}

/// The BPF programs of pH and of treatments: those by name, with their numbers.
#[cfg(feature = "ebpf")]
fn programs() -> impl Iterator<Item = String> {
    let all = libbpf_rs::query::ProgInfoIter::default();
    let named = all.map(|program| (program.id, program.name.to_string_lossy().into_owned()));
    let ours = named.filter(|(_, name)| name.starts_with("ph_") || name.starts_with(MARK));
    ours.map(|(id, name)| format!("BPF program {id}: {name}"))
}

#[cfg(not(feature = "ebpf"))]
fn programs() -> impl Iterator<Item = String> {
    std::iter::empty()
}

/// The numbers of a machine that a leak moves; other programs move them as well.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Processes and threads.
    pub(crate) tasks: u64,
    /// Open files of all processes.
    pub(crate) open_files: u64,
    /// Memory that may be used, in KiB.
    pub(crate) available_kib: u64,
}

impl Load {
    pub(crate) fn now() -> Self {
        let first = |text: &str| text.split_whitespace().next().and_then(|it| it.parse().ok());
        let loads = read("/proc/loadavg");
        let tasks = loads.split('/').nth(1).and_then(first);
        let memory = read("/proc/meminfo");
        let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        Self {
            tasks: tasks.unwrap_or(0),
            open_files: first(&read("/proc/sys/fs/file-nr")).unwrap_or(0),
            available_kib: available.and_then(first).unwrap_or(0),
        }
    }
}

#[test]
fn keys_of_benchmarks_and_of_threads_are_told_from_others() {
    let text = "\
        093fe9e5 I--Q---     1 perm 0c030000     0 65534 keyring   .user_reg: 2\n\
        1f50cb00 I--Q---     1 perm 1f3f0000     0 65534 keyring   _uid_ses.0: 1\n\
        2a0b6448 I--Q---     1 perm 3f010000     0     0 user      oscost: 1\n\
        30dd7cc6 I--Q---     2 perm 3f010000     0     0 keyring   _tid: 1\n";
    assert_eq!(keys(text), ["key 2a0b6448: user oscost", "key 30dd7cc6: keyring _tid"]);
}
