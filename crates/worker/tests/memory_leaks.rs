//! The families `fault` and `memory` leave nothing behind. A test program of its own, since other
//! tests in the process would disturb it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics where it fails, and prints what it skips"
)]

#[path = "common/work.rs"]
mod work;

use std::collections::BTreeSet;
use std::fs;

use oscost_model::case::Case;
use oscost_model::definition::Definition;
use oscost_model::point::Point;
use oscost_worker::benchmarks;

use work::{batch, work};

fn definitions() -> Vec<Definition> {
    let all = benchmarks::data().benchmarks.into_iter();
    all.filter(|found| ["fault", "memory"].contains(&found.family())).collect()
}

/// Every combination of one value of each axis, as a case names it.
fn points(definition: &Definition) -> Vec<Point> {
    let points = definition.axes.iter().fold(vec![Point::none()], |points, axis| {
        let with = |point: &Point| {
            let values = axis.points.iter();
            values.map(|value| point.clone().with(&axis.name, value.clone())).collect::<Vec<_>>()
        };
        points.iter().flat_map(with).collect()
    });
    points.iter().map(|point| definition.without_implied(point)).collect()
}

/// The resources of a process.
#[derive(Debug, PartialEq)]
struct Belongings {
    children: BTreeSet<u32>,
    descriptors: usize,
    threads: usize,
    /// Signal handlers, and whether huge pages are disabled.
    status: Vec<String>,
}

impl Belongings {
    fn now() -> Self {
        let count = |folder: &str| fs::read_dir(folder).unwrap().count();
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let lines = status.lines().filter(|line| {
            ["SigCgt:", "SigIgn:", "SigBlk:", "THP_enabled:", "VmLck:"]
                .iter()
                .any(|title| line.starts_with(title))
        });
        Self {
            children: children(),
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            status: lines.map(str::to_owned).collect(),
        }
    }
}

/// The children of every thread, zombies included.
fn children() -> BTreeSet<u32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
    let lists: Vec<String> = lists.collect();
    lists.iter().flat_map(|list| list.split_whitespace()).map(|pid| pid.parse().unwrap()).collect()
}

/// Writable memory, in KiB, and the number of mappings. Address space that the C library only
/// reserves (64 MiB for the heap of the first additional thread) does not count.
fn mapped() -> (u64, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    let kib = line.trim().split(' ').next().unwrap().parse().unwrap();
    (kib, fs::read_to_string("/proc/self/maps").unwrap().lines().count())
}

#[test]
fn no_case_leaves_memory_descriptors_children_or_handlers_behind() {
    /// Larger sizes behave like smaller ones.
    const LARGEST_BYTES: u64 = 8 << 20;
    let mut before = None;
    let mut cases = 0;
    for definition in definitions() {
        for point in points(&definition) {
            let case = Case::new(definition.id.clone(), point);
            let size = case.point.get("size").map(ToString::to_string);
            if size.is_some_and(|size| size.parse::<u64>().unwrap() > LARGEST_BYTES) {
                continue;
            }
            let text = case.to_string();
            let Some(mut work) = work(&text) else { continue };
            let ops = work.max_batch_ops().min(23);
            for _ in 0..2 {
                assert_eq!(batch(&mut work, ops), Ok(()), "{text}");
            }
            drop(work);
            cases += 1;
            // One-time initialisation by the first case (a cached thread stack, the locale) stays.
            let now = Belongings::now();
            match &before {
                None => before = Some((now, mapped())),
                Some((before, _)) => assert_eq!(now, *before, "{text}"),
            }
        }
    }
    let (_, (kib, mappings)) = before.unwrap();
    let (kib_now, mappings_now) = mapped();
    assert!(kib_now < kib + (8 << 10), "{cases} cases have left {} KiB", kib_now - kib);
    assert!(mappings_now < mappings + 16, "{mappings} mappings have become {mappings_now}");
    assert!(cases > 150, "only {cases} cases could be built");
    check_memory_bound();
}

/// Checks the memory that works use while they exist.
fn check_memory_bound() {
    for (case, most_kib) in [
        ("fault/zero-fill:access=write,pages=4k,map=outside,order=ascending", 16 << 10),
        ("fault/zero-fill:access=read,pages=thp,map=outside,order=ascending", 80 << 10),
        ("fault/copy-on-write:child=lives,order=ascending", 24 << 10),
        ("fault/prefault:prefault=mlock,chunk=pieces,cost=foreground", 16 << 10),
        ("fault/prefault:prefault=thread,chunk=pieces,cost=foreground", 32 << 10),
        ("memory/dontneed:size=8388608", 80 << 10),
    ] {
        let (before, _) = mapped();
        let Some(mut work) = work(case) else { continue };
        let ops = work.max_batch_ops().min(64);
        for _ in 0..5 {
            batch(&mut work, ops).unwrap();
        }
        let (now, _) = mapped();
        assert!(now < before + most_kib, "{case} has mapped {} KiB", now - before);
    }
}
