//! No benchmark leaves anything behind. This program has one test, so that all descriptors,
//! mappings and files are its own.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use oscost_model::point::{Point, Value};
use oscost_worker::bench::{Bench, Context, Shape};
use oscost_worker::benchmarks::FAMILIES;
use oscost_worker::kernel::Errno;
use oscost_worker::kernel::cpu::affinity;
use oscost_worker::kernel::process::{self, EndedChild, Termination, WaitTarget};

/// Every point of a benchmark.
fn points(bench: &Bench) -> Vec<Point> {
    let definition = bench.definition();
    let all = definition.axes.iter().fold(vec![Point::none()], |points, axis| {
        let with = |point: &Point| -> Vec<Point> {
            let values = axis.points.iter();
            values.map(|value| point.clone().with(axis.name.clone(), value.clone())).collect()
        };
        points.iter().flat_map(with).collect()
    });
    all.iter().map(|point| definition.without_implied(point)).collect()
}

/// Whether a point is quick to run: no large file, no directory of thousands, no eviction of all
/// caches.
fn is_small(point: &Point) -> bool {
    let most = |axis: &str, most| match point.get(axis) {
        Some(Value::Number(number)) => *number <= most,
        _ => true,
    };
    // Some of the many read sizes are enough.
    let sizes = [8, 4_096, 65_536].map(Value::Number);
    let is_usual = point.get("file_mib").is_none()
        || point.get("size").is_none_or(|size| sizes.contains(size));
    let others_are_left_alone = point.get("evict").is_none();
    // The tests of the family `event` cover many descriptors.
    let few_fds = point.get("fds").is_none_or(|fds| [10, 100].map(Value::Number).contains(fds));
    let is_plain = ["position", "highest", "over"].iter().all(|&axis| point.get(axis).is_none());
    // Messages of all sizes and buffers use the same code.
    let unsaid = |axis: &str| point.get(axis).is_none();
    let is_usual_channel = (unsaid("peer_cpu") || most("size", 64))
        && (unsaid("size") || point.get("size") != Some(&Value::Number(4)))
        && ["buffer", "capacity", "nodelay"].into_iter().all(unsaid);
    most("file_mib", 1)
        && most("files", 100)
        && most("limit_mib", 64)
        && most("idle", 100)
        && few_fds
        && most("waiters", 2)
        && is_plain
        && is_usual
        && is_usual_channel
        && others_are_left_alone
}

/// The descriptors of this process, each with its target.
fn descriptors() -> BTreeSet<String> {
    let folder = fs::read_dir("/proc/self/fd").unwrap();
    let each = folder.filter_map(|entry| {
        let path = entry.ok()?.path();
        let leads_to = fs::read_link(&path).ok()?;
        Some(format!("{} -> {}", path.file_name()?.display(), leads_to.display()))
    });
    // Without the directory itself, which is open while it is read.
    each.filter(|text| !text.contains("/fd")).collect()
}

/// The number of mappings of this process, without heap and stack.
fn mappings() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| !line.contains("[heap]") && !line.contains("[stack]")).count()
}

/// The files that this process has left in the temporary directory.
fn temporary_files() -> Vec<String> {
    let ours = format!("oscost-{}-", std::process::id());
    let names = fs::read_dir(std::env::temp_dir()).unwrap();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&ours)).collect()
}

/// What this process has left in the current directory, in shared memory, and in control groups.
fn elsewhere() -> Vec<String> {
    let ours = format!("oscost-test-{}", std::process::id());
    let places = [".", "/dev/shm", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"];
    let paths = places.iter().map(|place| format!("{place}/{ours}"));
    paths.filter(|path| fs::exists(path).unwrap()).collect()
}

/// The context of a pinned worker, with another CPU if there is one; each half of the cases has its
/// own.
fn site(half: usize) -> Context {
    static ALLOWED: OnceLock<Vec<u32>> = OnceLock::new();
    let allowed = ALLOWED.get_or_init(|| affinity::allowed_cpus(0).unwrap_or_default());
    let mut last_first = allowed.iter().rev().cycle();
    let cpu = last_first.nth(half).copied().filter(|&cpu| affinity::pin(cpu).is_ok());
    let other_cpu = allowed.iter().copied().find(|&other| Some(other) != cpu);
    Context { cpu, other_cpu, ..Context::DEFAULT }
}

/// Runs hundreds of ops in several batches, or one op if it is slow.
fn exercise(bench: &Bench, point: &Point, half: usize) -> Result<(), Errno> {
    const EXPENSIVE: Duration = Duration::from_micros(500);
    let mut work = bench.work(point, site(half))?;
    let begun = Instant::now();
    work.prepare(1).and_then(|()| work.run(1, 1)).map_err(|error| error.errno)?;
    let (batches, ops) = match work.shape {
        Shape::Repeat | Shape::WithLoop if begun.elapsed() < EXPENSIVE => {
            (5, 97u64.div_ceil(work.op_count()).min(work.max_batch_ops()))
        }
        _ => (1, 1),
    };
    for _ in 0..batches {
        work.prepare(ops).and_then(|()| work.run(ops, 1)).map_err(|error| error.errno)?;
    }
    Ok(())
}

/// In single-threaded processes, like a worker: a timer's signal can reach no other thread. Two
/// processes take every other case each, since one would take more than a minute.
#[test]
fn no_benchmark_leaves_a_descriptor_mapping_or_file_behind() {
    /// Many times what it takes.
    const PATIENCE: Duration = Duration::from_secs(600);
    let begun = Instant::now();
    let halves = [0, 1].map(|half| {
        let all_of_it = || every_other_case_three_times(half);
        process::fork(|| i32::from(catch_unwind(AssertUnwindSafe(all_of_it)).is_err())).unwrap()
    });
    for child in halves {
        let mut ended = process::wait(WaitTarget::Child(child), false);
        while matches!(ended, Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
            ended = process::wait(WaitTarget::Child(child), false);
        }
        if matches!(ended, Ok(None)) {
            halves.into_iter().for_each(process::kill);
            panic!("it hangs");
        }
        assert!(
            matches!(ended, Ok(Some(EndedChild { termination: Termination::Exited(0), .. }))),
            "{ended:?}"
        );
    }
}

#[expect(clippy::print_stdout, reason = "what this machine lacks is printed")]
fn every_other_case_three_times(half: usize) {
    const SLOW: Duration = Duration::from_millis(100);
    let mut after_pass = Vec::new();
    // Slow cases, which fill much memory, run once.
    let mut slow = BTreeSet::new();
    for _ in 0..3 {
        let benches = FAMILIES.iter().flat_map(|family| family.benches);
        let cases = benches.flat_map(|bench| {
            points(bench).into_iter().filter(is_small).map(move |point| (bench, point))
        });
        for (bench, point) in cases.skip(half).step_by(2) {
            let name = format!("{}:{point}", bench.id);
            if slow.contains(&name) {
                continue;
            }
            let before = descriptors();
            let begun = Instant::now();
            if let Err(error) = exercise(bench, &point, half) {
                println!("{name} cannot run here: {error}");
            }
            assert_eq!(descriptors(), before, "{name}");
            assert_eq!(temporary_files(), Vec::<String>::new(), "{name}");
            assert_eq!(elsewhere(), Vec::<String>::new(), "{name}");
            if begun.elapsed() > SLOW {
                slow.insert(name);
            }
        }
        after_pass.push(mappings());
    }
    // Permanent mappings, such as a second arena of the allocator, are created in the first pass.
    assert!(after_pass[2] <= after_pass[1], "mappings after each pass: {after_pass:?}");
}
