//! What a run may leave on a machine, by name: control groups, tracing instances, mounts, sockets,
//! shared memory, network namespaces and BPF programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let mounts = read("/proc/self/mounts");
    found.extend(mounts.lines().filter(|line| line.contains(MARK)).map(str::to_owned));
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
    found.extend(programs());
    found
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
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
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
