//! Control groups: making and removing them, moving processes, reading and setting.
//!
//! The groups are below the first hierarchy in which the worker may make some. They are empty, or
//! hold a child that sleeps; what a killed worker leaves is removed by the supervisor, by its name.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use kernel::ipc::context_switch::PeerProcess;
use kernel::machine::cgroup::{self, Group, StatisticsGroup};
use kernel::process;
use kernel::syscall::prepared;

use super::helper::if_permitted;
use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "cgroup",
    about: "the cost of making, filling, reading and limiting control groups",
    benches: BENCHES,
};

/// Why a group can be made, but not used.
const REFUSED: &str = "a control group refuses this here";

const BENCHES: &[Bench] = &[
    Bench {
        id: "cgroup/create-delete",
        asks: "What do making and removing a control group cost?",
        op: "mkdir and rmdir of an empty group, as mkdirat(2) and unlinkat(2) by the raw \
             instruction, relative to the folder of its parent: the first mounted hierarchy in \
             which the worker may, of version 1 (cpu, memory or pids) or 2. Not included: the \
             removal of what each controller holds, which the kernel defers to its own threads \
             after RCU grace periods: the worker sleeps for 10 ms before each batch of 16 while \
             it happens.",
        expected: "60 us: 30 us to make it, 30 us to remove it",
        why: "A group is a folder with some 20 to 60 files, each made at once, and a structure of \
              each enabled controller, some of which have parts for each CPU. A lock of the whole \
              machine (cgroup_mutex) serialises it with every other change of groups.",
        calls: &[exactly("mkdirat", 1), exactly("unlinkat", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        in_price_list: false,
        switches: true,
        source: "cgroups(7), mkdir(2), rmdir(2); cgroup_mkdir in kernel/cgroup/cgroup.c",
        build: |_| if_permitted(create_delete(), REFUSED),
        ..Bench::DEFAULT
    },
    Bench {
        id: "cgroup/move",
        asks: "What does moving a process from one control group to another and back cost?",
        op: "two pwrite(2) of a process id to cgroup.procs, of a group and of its sibling, by the \
             raw instruction: a child of the worker, which sleeps, moves to one and to the other. \
             Not included: making the groups and the child.",
        expected: "20 us while moves follow each other; the first after a pause waits some 10 ms \
                   for an RCU grace period",
        why: "No process may fork or exit while one moves: a lock that is cheap for these two, \
              which happen often, and expensive for a move (cgroup_threadgroup_rwsem). Taken by a \
              writer after a while, it waits until every CPU has seen that; within the same grace \
              period further writers pass at once. `favordynmods`, a mount option, keeps it \
              expensive for all and so cheap for moves.",
        calls: &[exactly("pwrite64", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        in_price_list: false,
        switches: true,
        source: "cgroups(7), cgroup-v2.rst of the kernel's documentation; kernel/cgroup/cgroup.c",
        build: |_| if_permitted(move_there_and_back(), REFUSED),
        ..Bench::DEFAULT
    },
    Bench {
        id: "cgroup/read",
        asks: "What does reading the statistics of a control group cost?",
        op: "pread(2) at offset 0 of cpu.stat or memory.stat of the worker's own group, or, with \
             `group=root`, of the root of the hierarchy as far as it is mounted; the file is open \
             already; into a buffer of 64 KiB, by the raw instruction. Not included: opening it; \
             loop overhead.",
        expected: "1 us for cpu.stat, 10 us for memory.stat",
        why: "The kernel makes the text anew for each read. In version 2 it first adds up what \
              each CPU has counted since the last time, for the group and all groups in it \
              (cgroup_rstat_flush): for a group that is busy, or has many others in it, that is \
              the most expensive part. memory.stat has some 50 lines; since Linux 5.15 it is at \
              most 2 s old, and is not added up at each read.",
        calls: &[exactly("pread64", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[
            Axis {
                name: "file",
                sets: "the file that is read",
                points: Points::Words(&["cpu-stat", "memory-stat"]),
                default_points: Points::Words(&["cpu-stat", "memory-stat"]),
            },
            Axis {
                name: "group",
                sets: "the group: that of the worker, or the root, to which all groups that are \
                       visible here belong",
                points: Points::Words(&["own", "root"]),
                default_points: Points::Implied("own"),
            },
        ],
        in_price_list: false,
        // 2: the root is no longer read where the own group has no such file.
        rev: 2,
        source: "cgroups(7), cgroup-v2.rst of the kernel's documentation; kernel/cgroup/rstat.c",
        build: |params| {
            let group = match params.word("group") {
                "root" => StatisticsGroup::Root,
                _ => StatisticsGroup::Own,
            };
            let file = match params.word("file") {
                "memory-stat" => cgroup::open_statistics(group, "memory", "memory.stat"),
                _ => cgroup::open_statistics(group, "cpu", "cpu.stat"),
            };
            if_permitted(file.map(|file| Work::raw(prepared::pread_text(file))), REFUSED)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "cgroup/limit",
        asks: "What does setting a limit of a control group cost?",
        op: "pwrite(2) of a limit that the group has already, by the raw instruction: 1000 to \
             pids.max; or half a CPU to cpu.max (version 2) or cpu.cfs_quota_us (version 1). The \
             group is empty. Not included: making the group and opening the file; loop overhead.",
        expected: "0.6 us for pids.max, 5 us for cpu.max",
        why: "pids.max is a number. For cpu.max the kernel takes a lock of the scheduler, and on \
              each CPU of the machine, in turn, that of its queue, so that the figure grows with \
              the number of CPUs.",
        calls: &[exactly("pwrite64", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "limit",
            sets: "the limit that is set",
            points: Points::Words(&["pids-max", "cpu-max"]),
            default_points: Points::Words(&["pids-max", "cpu-max"]),
        }],
        in_price_list: false,
        source: "cgroups(7); pids_max_write in kernel/cgroup/pids.c, tg_set_cfs_bandwidth in \
                 kernel/sched",
        build: |params| if_permitted(limit(params.word("limit")), REFUSED),
        ..Bench::DEFAULT
    },
];

/// How long the worker sleeps while the kernel removes the groups of the last batch, and their
/// number.
const PAUSE: Duration = Duration::from_millis(10);
const MAX_BATCH: u64 = 16;

fn create_delete() -> Result<Work, Errno> {
    let group = Group::create(None, 0)?;
    let name = CString::new(group.name()).map_err(|_| Errno::EINVAL)?;
    let parent = group.open_parent()?;
    // Its name is free for the op, and is removed with the value if an op ends half-way.
    group.remove()?;
    let work = Work::raw_pair(prepared::mkdir_rmdir(parent, name, group));
    let sleep = move |_: u64| {
        std::thread::sleep(PAUSE);
        Ok(())
    };
    Ok(work.with_preparation(sleep).with_max_batch_ops(MAX_BATCH))
}

/// A child, and the groups that it moves between.
struct MovedChild {
    // Dropped first: a group with a process in it cannot be removed.
    child: PeerProcess,
    _groups: [Group; 2],
}

fn move_there_and_back() -> Result<Work, Errno> {
    let here = Group::create(None, 1)?;
    let there = here.create_sibling(2)?;
    let files = [here.open("cgroup.procs")?, there.open("cgroup.procs")?];
    let child = PeerProcess::start(None, || process::pause_forever())?;
    let owner = MovedChild { child, _groups: [here, there] };
    let pid = owner.child.id().to_string();
    Ok(Work::raw_pair(prepared::pwrite_text_to_both(files, &pid, owner)))
}

fn limit(which: &str) -> Result<Work, Errno> {
    let (controller, number) = if which == "cpu-max" { ("cpu", 3) } else { ("pids", 4) };
    let group = Group::create(Some(controller), number)?;
    let (file, text, unlimited) = match (controller, group.is_first_version()) {
        ("cpu", true) => ("cpu.cfs_quota_us", "50000", "-1"),
        ("cpu", false) => ("cpu.max", "50000 100000", "max"),
        _ => ("pids.max", "1000", "max"),
    };
    let owner = LimitedGroup { file: group.open(file)?, unlimited, _group: group };
    let file = owner.file.try_clone()?;
    Ok(Work::raw(prepared::pwrite_text(file, text, owner)))
}

/// A group with a limit, which is lifted before the group is removed: the scheduler keeps its code
/// for limited CPU time switched on (`cfs_bandwidth_used`) until it is, for all programs.
struct LimitedGroup {
    file: File,
    unlimited: &'static str,
    _group: Group,
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = self.file.write_all_at(self.unlimited.as_bytes(), 0);
    }
}
