//! Benchmarks that create processes and threads leave nothing behind, at any point. One test in a
//! program of its own, since it counts the resources of the whole process.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics where it fails, and prints what it skips"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use oscost_model::definition::{Axis, Definition, Requirement};
use oscost_model::point::{Point, Value};
use oscost_worker::bench::{Bench, Context, Params};
use oscost_worker::benchmarks;
use oscost_worker::kernel::Errno;
use oscost_worker::kernel::cpu::affinity;
use oscost_worker::kernel::process::{self, WaitTarget};

const FAMILIES: &[&str] = &["process", "thread", "cgroup", "mount", "namespace", "security"];

/// Whether it can run is up to the mappings of this process, which the first pass makes more.
const OF_MAPPINGS: &str = "process/fork-libraries";

/// Larger points of this axis only take longer.
const MOST: (&str, u64) = ("touched_mib", 64);

fn points(definition: &Definition) -> Vec<Point> {
    let values = |axis: &Axis| -> Vec<Value> {
        let small = |value: &Value| match value {
            Value::Number(number) => axis.name != MOST.0 || *number <= MOST.1,
            Value::Word(_) => true,
        };
        axis.points.iter().filter(|value| small(value)).cloned().collect()
    };
    definition.axes.iter().fold(vec![Point::none()], |points, axis| {
        let named = |point: &Point, value| point.clone().with(axis.name.clone(), value);
        points.iter().flat_map(|point| values(axis).into_iter().map(|v| named(point, v))).collect()
    })
}

/// Builds, runs and drops the work of every point; returns the number of points that ran, but for those of
/// [`OF_MAPPINGS`].
fn run_all(site: Context) -> usize {
    let benches = benchmarks::FAMILIES.iter().filter(|family| FAMILIES.contains(&family.name));
    benches.flat_map(|family| family.benches).map(|bench| run_points(bench, site)).sum()
}

fn run_points(bench: &Bench, site: Context) -> usize {
    let definition = bench.definition();
    let mut ran = 0;
    for point in points(&definition) {
        let without_meaning = definition.needs.iter().any(|need| {
            matches!(need.requirement, Requirement::Undefined(_)) && point.includes(&need.when)
        });
        if without_meaning {
            continue;
        }
        let case = format!("{}:{point}", bench.id);
        let mut work = (bench.build)(Params::new(&point, site))
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        if let Some(lacks) = work.unavailable_reason() {
            eprintln!("{case} cannot run here: {lacks}");
            continue;
        }
        // More ops are prepared than run, as when a worker is stopped in the middle.
        let prepared = work.max_batch_ops().min(5);
        work.prepare(prepared).unwrap_or_else(|error| panic!("{case}: {error:?}"));
        work.run(prepared.min(3), 1).unwrap_or_else(|error| panic!("{case}: {error:?}"));
        ran += usize::from(bench.id != OF_MAPPINGS);
    }
    ran
}

/// The resources of this process: descriptors, threads, mappings.
fn resources() -> (BTreeSet<PathBuf>, usize, usize) {
    let entries = |folder: &str| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let descriptors = entries("/proc/self/fd").filter_map(|fd| fs::read_link(fd).ok());
    // Without the descriptor that lists the directory.
    let descriptors = descriptors.filter(|file| !file.ends_with("fd")).collect();
    let threads = entries("/proc/self/task").count();
    let mappings = fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    (descriptors, threads, mappings)
}

/// Kernel threads of the network devices that benchmarks create.
fn kernel_threads() -> usize {
    let names = fs::read_dir("/proc").unwrap().flatten();
    let names = names.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|name| name.starts_with("napi/oscost0")).count()
}

#[test]
fn dropped_work_leaves_no_child_descriptor_thread_mapping_file_or_namespace() {
    let folder = std::env::temp_dir().join(format!("oscost-nothing-left-{}", std::process::id()));
    // As the supervisor creates it.
    fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    std::env::set_current_dir(&folder).unwrap();
    let namespace = || fs::read_link("/proc/thread-self/ns/net").unwrap();
    let home = namespace();

    let allowed = affinity::allowed_cpus(0).unwrap();
    affinity::pin(allowed[0]).unwrap();
    let site =
        Context { cpu: Some(allowed[0]), other_cpu: allowed.get(1).copied(), ..Context::DEFAULT };
    // The first pass initialises libraries: a cached stack, a buffer.
    let ran = run_all(site);
    assert!(ran > 20, "only {ran} cases could run");
    let before = resources();
    assert_eq!(run_all(site), ran);
    let after = resources();

    // Children of any thread.
    assert_eq!(process::wait(WaitTarget::Any, false), Err(Errno::ECHILD), "children");
    assert_eq!(after.0, before.0, "descriptors");
    assert_eq!(after.1, before.1, "threads");
    // The allocator may split or join a mapping of its own.
    assert!(after.2 <= before.2 + 1, "{} mappings, and {} before", after.2, before.2);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "files");
    assert_eq!(namespace(), home);
    // The kernel destroys namespaces asynchronously.
    let deadline = Instant::now() + Duration::from_secs(20);
    while kernel_threads() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    // A run of oscost at the same time may have one.
    if process_runs("oscost-worker") {
        eprintln!("a worker of a concurrent test runs: kernel threads are not counted");
    } else {
        assert_eq!(kernel_threads(), 0);
    }
    std::env::set_current_dir("/").unwrap();
    fs::remove_dir(&folder).unwrap();
}

fn process_runs(name: &str) -> bool {
    let programs = fs::read_dir("/proc").unwrap().flatten();
    let mut programs =
        programs.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    programs.any(|program| program.trim() == name)
}
