//! Two snapshots of a synthetic machine.

use oscost_model::watch::{ProcessKind, SystemActivity};

use super::Tree;
use crate::facts::accounting::activity::{finish, start};

fn stat(pid: u32, name: &str, user: u64) -> String {
    format!("{pid} ({name}) R 1 1 1 0 -1 0 1 0 0 0 {user} 0 0 0 20 0 1 0 5 0 0\n")
}

fn first() -> Tree {
    Tree::new().files(&[
        ("proc/1/stat", &stat(1, "init", 3)),
        ("proc/7/stat", &stat(7, "hog", 10)),
        ("proc/9/stat", &stat(9, "oscost-worker", 10)),
        ("proc/stat", "cpu  50 0 0 900 0 0 0 0 0 0\ncpu0 20 0 0 400 0 0 0 5 0 0\n"),
        ("proc/pressure/cpu", "some avg10=12.50 avg60=0 avg300=0 total=4\n"),
        ("proc/pressure/io", "some avg10=0.25 avg60=0 avg300=0 total=4\n"),
        ("proc/loadavg", "1.25 0.03 0.00 2/82 3963\n"),
        ("proc/interrupts", "   CPU0\n 24: 1 IO-APIC 5-edge disk\nLOC: 7 timer\nRES: 1 x\n"),
        ("proc/irq/24/smp_affinity_list", "0-1\n"),
        ("proc/irq/24/effective_affinity_list", "0\n"),
    ])
}

fn activity_between(then: &Tree, now: &Tree, own_pids: &[u32]) -> SystemActivity {
    finish(&now.roots(), &start(&then.roots(), &[0]), own_pids)
}

#[test]
fn activity_is_the_difference_of_two_snapshots() {
    let later = first()
        .file("proc/7/stat", stat(7, "hog", 70))
        .file("proc/9/stat", stat(9, "oscost-worker", 40))
        .file("proc/stat", "cpu  150 10 0 950 0 0 0 0 0 0\ncpu0 70 0 0 430 0 0 0 25 0 0\n")
        .file(
            "proc/interrupts",
            "   CPU0\n 24: 31 IO-APIC 5-edge disk\nLOC: 257 timer\nRES: 1 x\n",
        );
    let activity = activity_between(&first(), &later, &[9]);
    assert_eq!((activity.cpus[0].steal_ticks, activity.cpus[0].total_ticks), (Some(20), Some(100)));
    assert_eq!(activity.cpus[0].steal_pct(), Some(20.0));
    assert_eq!(activity.cpus[0].interrupts, Some(280));
    let [hog] = &activity.processes[..] else { panic!("{:?}", activity.processes) };
    assert_eq!(
        (hog.name.as_str(), hog.kind, hog.cpu_ns),
        ("hog", ProcessKind::Program, 600_000_000)
    );
    // 110 ticks of work, of which 60 and our 30 are accounted for.
    assert_eq!(activity.unattributed_cpu_ns, Some(200_000_000));
    assert_eq!(activity.processes_unread, None);
    assert_eq!((activity.pressure.cpu_pct, activity.pressure.memory_pct), (Some(12.5), None));
    assert_eq!((activity.pressure.io_pct, activity.load_1min), (Some(0.25), Some(1.25)));
    let [disk, timer] = &activity.interrupts[..] else { panic!("{:?}", activity.interrupts) };
    assert_eq!((disk.irq.as_str(), disk.counts[0]), ("24", 30));
    assert_eq!((disk.allowed.clone(), disk.effective.clone()), (Some(vec![0, 1]), Some(vec![0])));
    assert_eq!((timer.irq.as_str(), timer.counts[0], &timer.allowed), ("LOC", 250, &None));
}

#[test]
fn the_activity_of_a_machine_that_hides_everything_is_unknown() {
    let empty = Tree::new();
    let activity = activity_between(&empty, &empty, &[]);
    assert!(activity.processes_unread.is_some(), "{activity:?}");
    assert_eq!((activity.unattributed_cpu_ns, activity.throttled_periods), (None, None));
    assert_eq!(activity.cpus[0].steal_pct(), None);
    assert_eq!(activity.cpus[0].interrupts, None);
    assert_eq!(activity.pressure, Default::default());
}

#[test]
fn hidden_processes_are_reported() {
    let hidden = Tree::new().file("proc/7/stat", stat(7, "own", 10));
    let activity = activity_between(&hidden, &hidden, &[]);
    assert!(activity.processes_unread.unwrap().contains("hidepid"));
}

#[test]
fn throttling_in_between_is_counted() {
    let group = |tree: Tree, times: u32| {
        tree.file("proc/self/cgroup", "0::/\n")
            .file("sys/fs/cgroup/cgroup.procs", "")
            .file("sys/fs/cgroup/cpu.stat", format!("nr_throttled {times}\n"))
    };
    let activity = activity_between(&group(first(), 3), &group(first(), 10), &[]);
    assert_eq!(activity.throttled_periods, Some(7));
}
