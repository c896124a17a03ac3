//! The families `fault` and `memory`: their page faults are those of their definitions, and missing
//! resources are reported.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use oscost_model::protocol::{Event, Order};
use oscost_model::resource::Resource;
use oscost_model::worker::{Mode, Task};
use oscost_worker::bench::OpError;
use oscost_worker::kernel::Errno;
use oscost_worker::kernel::machine::resources;
use oscost_worker::kernel::memory::region::{Access, PageKind, Region};
use oscost_worker::kernel::process::usage;

use crate::common::{
    ENDLESS, Session, cpu_ticks, failure_reason, plan, signal, spec, until, wait_until_gone,
};
use crate::work::{batch, work};

/// First touches that are timed one by one.
const ALONE: &str =
    "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending,between=clock";
const AFTER_WALK: &str = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending,\
                          mapping_mib=64,between=walk";

/// Signal handlers and the huge page setting are per process: one work at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn faults_per_op_are_those_of_the_definition() {
    let _alone = alone();
    let mut looked_at = 0;
    // Faults that the kernel charges us, and ops that they are charged for.
    for (case, faults, per_ops) in [
        ("fault/zero-fill:access=write,pages=4k,map=outside,order=ascending", 1, 1),
        ("fault/zero-fill:access=write,pages=4k,map=outside,order=random", 1, 1),
        ("fault/zero-fill:access=read,pages=4k,map=outside,order=ascending", 1, 1),
        ("fault/zero-fill:access=write,pages=4k,map=outside,order=random,mapping_mib=64", 1, 1),
        (ALONE, 1, 1),
        (AFTER_WALK, 1, 1),
        ("fault/zero-fill:access=write,pages=4k,map=inside,order=ascending", 1, 1),
        ("fault/zero-fill:access=read,pages=4k,map=inside,order=random", 1, 1),
        ("fault/zero-fill:access=write,pages=thp,map=outside,order=ascending", 1, 512),
        ("fault/zero-fill:access=read,pages=thp,map=outside,order=ascending", 1, 512),
        ("fault/zero-fill:access=write,pages=thp,map=inside,order=ascending", 1, 512),
        ("fault/zero-fill:access=write,pages=hugetlb,map=outside,order=ascending", 1, 512),
        ("fault/zero-fill:access=write,pages=hugetlb,map=inside,order=ascending", 1, 512),
        ("fault/copy-on-write:child=lives,order=ascending", 1, 1),
        ("fault/copy-on-write:child=exited,order=random", 1, 1),
        ("fault/file-minor:stride=65536", 1, 1),
        ("fault/file-minor:stride=4096", 1, 16),
        ("fault/file-major:readahead=off", 1, 1),
        ("fault/file-major:readahead=on", 1, 1),
        ("fault/swap-in", 1, 1),
        ("fault/userfaultfd:peer_cpu=same", 1, 1),
        ("fault/protection", 0, 1),
        ("fault/prefault:prefault=none,chunk=all,cost=foreground", 1, 1),
        ("fault/prefault:prefault=none,chunk=pieces,cost=total", 1, 1),
        ("fault/prefault:prefault=thread,chunk=all,cost=foreground", 0, 1),
        ("fault/prefault:prefault=thread,chunk=all,cost=total", 0, 1),
        ("fault/prefault:prefault=process,chunk=all,cost=foreground", 1, 1),
        ("fault/prefault:prefault=process,chunk=pieces,cost=total", 1, 1),
        ("fault/prefault:prefault=populate,chunk=all,cost=foreground", 0, 1),
        ("fault/prefault:prefault=populate,chunk=all,cost=total", 1, 1),
        ("fault/prefault:prefault=mlock,chunk=all,cost=foreground", 0, 1),
        ("fault/prefault:prefault=mlock,chunk=pieces,cost=total", 1, 1),
        ("memory/mmap-munmap:size=65536", 0, 1),
        ("memory/mprotect:size=65536", 0, 1),
        ("memory/brk:size=65536", 0, 1),
        ("memory/dontneed:size=65536", 0, 1),
        ("memory/mremap:size=65536", 0, 1),
        ("memory/clear:size=65536,by=string", 0, 1),
        ("memory/copy:size=65536,by=library", 0, 1),
        ("memory/latency:size=8388608,pages=4k", 0, 1),
    ] {
        let Some(mut work) = work(case) else { continue };
        // A first batch, in which the program's own pages come.
        batch(&mut work, 1).unwrap();
        let bodies = work.max_batch_ops().min(200);
        work.prepare(bodies).unwrap();
        let before = usage::thread().unwrap();
        work.run(bodies, 1).unwrap();
        let charged = usage::thread().unwrap().since(before);
        let expected = bodies * work.op_count() * faults / per_ops;
        let faults = charged.minor_faults + charged.major_faults;
        assert!(
            (expected..=expected + 8).contains(&faults),
            "{case}: {faults} faults in {bodies} times {} ops, not {expected}",
            work.op_count()
        );
        looked_at += 1;
    }
    assert!(looked_at > 25, "only {looked_at} cases could be built");
}

/// A value of smaps for the mapping that begins at `address`, in KiB.
fn smaps(address: usize, title: &str) -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let begins = format!("{address:x}-");
    let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&begins));
    let line = lines.find_map(|line| line.strip_prefix(title)).unwrap();
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn pages_have_the_requested_size_and_none_is_resident_before_it_is_touched() {
    let _alone = alone();
    const BYTES: usize = 8 << 20;
    for (pages, huge) in [(PageKind::Small, 0), (PageKind::Transparent, BYTES >> 10)] {
        if pages == PageKind::Transparent
            && let Some(missing) = resources::missing(Resource::TransparentHugePages)
        {
            eprintln!("cannot run here: {missing}");
            continue;
        }
        let region = Region::anonymous(BYTES, pages).unwrap();
        for _ in 0..2 {
            assert_eq!(region.resident_pages(), Ok(0), "{pages:?}: nothing has touched it");
            assert_eq!(smaps(region.address(), "Rss:"), 0);
            region.touch_all(Access::Write);
            assert_eq!(region.resident_pages(), Ok(BYTES / 4_096));
            assert_eq!(smaps(region.address(), "AnonHugePages:"), huge, "{pages:?}");
            region.remap().unwrap();
        }
    }
}

#[test]
fn an_op_that_does_not_fault_as_defined_is_an_error() {
    let _alone = alone();
    for case in [
        "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending",
        "fault/copy-on-write:child=lives,order=ascending",
        "fault/file-minor:stride=65536",
        "fault/prefault:prefault=none,chunk=all,cost=foreground",
    ] {
        let Some(mut work) = work(case) else { continue };
        let ops = work.max_batch_ops().min(100);
        batch(&mut work, ops).unwrap();
        // What it claims now never happens.
        work.prepare(ops).unwrap();
        let refused = work.verify().unwrap_err();
        assert_eq!(refused, OpError { op: 0, errno: Errno::UNVERIFIED }, "{case}");
        assert!(refused.errno.to_string().contains("show other faults or resident pages"));
    }
    // More than there is room for is refused before anything is touched.
    let mut work =
        work("fault/zero-fill:access=write,pages=4k,map=outside,order=ascending").unwrap();
    let ops = work.max_batch_ops() + 1;
    assert_eq!(work.prepare(ops), Err(OpError { op: 0, errno: Errno::E2BIG }));
}

/// The answer of a pilot.
fn piloted(session: &mut Session, id: u64, case: &str) -> Event {
    session.measure(id, spec(case, Task::Pilot { interruptions_per_s: 0.0 }));
    match session.event() {
        Event::Ready { .. } => {
            session.go(id, 1);
            session.event()
        }
        other => other,
    }
}

#[test]
fn a_pilot_respects_the_maximum_batch_and_samples_count_pages() {
    let mut session = Session::start();
    for (id, case, most, worth) in [
        (1, "fault/zero-fill:access=read,pages=4k,map=outside,order=ascending", 2_048, 1),
        (2, "fault/zero-fill:access=write,pages=4k,map=inside,order=ascending", 64, 512),
        (3, "fault/file-minor:stride=4096", 128, 16),
        (4, "fault/prefault:prefault=populate,chunk=all,cost=foreground", 4, 512),
    ] {
        let plan = match piloted(&mut session, 2 * id, case) {
            Event::Piloted { plan, .. } => plan,
            other => panic!("{case}: {other:?}"),
        };
        assert_eq!((plan.mode, &plan.unroll_factors[..]), (Mode::B, &[1][..]), "{case}");
        assert!((1..=most).contains(&plan.iterations), "{case}: {} iterations", plan.iterations);
        let iterations = plan.iterations;
        let event = session.measured(2 * id + 1, spec(case, Task::Measure(plan)), 21);
        let Event::Sampled { samples, disturbance, .. } = event else {
            panic!("{case}: {event:?}");
        };
        let longest = (iterations as f64 * 1.1).round() as u64;
        let fits = |n: u64| n.is_multiple_of(worth) && n <= longest * worth;
        assert!(samples.iter().all(|sample| fits(sample.n)), "{case}: {samples:?}");
        // What comes before a batch is not charged to its ops.
        let usage = disturbance.usage.unwrap();
        let claimed = match case.contains("foreground") {
            true => 0,
            false => usage.ops / if case.contains("file") { 16 } else { 1 },
        };
        let faults = usage.minor_faults;
        assert!((claimed..=claimed + 200).contains(&faults), "{case}: {faults}, not {claimed}");
    }
}

#[test]
fn first_touches_with_something_between_them_are_timed_one_by_one() {
    let mut session = Session::start();
    for (id, case) in [(1, ALONE), (2, AFTER_WALK)] {
        let plan = match piloted(&mut session, 2 * id, case) {
            Event::Piloted { plan, .. } => plan,
            other => panic!("{case}: {other:?}"),
        };
        assert_eq!((plan.mode, plan.iterations), (Mode::C, 1), "{case}");
        // Each takes a walk of up to a millisecond.
        assert!(plan.groups <= 21, "{case}: {} ops", plan.groups);
        let groups = plan.groups;
        let event = session.measured(2 * id + 1, spec(case, Task::Measure(plan)), groups);
        let Event::Sampled { samples, .. } = event else { panic!("{case}: {event:?}") };
        assert!(samples.iter().all(|sample| sample.n == 1), "{case}: {samples:?}");
        assert_eq!(samples.len(), groups as usize, "{case}");
    }
}

#[test]
fn a_count_is_split_if_a_batch_cannot_have_all_ops() {
    let mut session = Session::start();
    let case = "fault/prefault:prefault=populate,chunk=pieces,cost=total";
    let spec = Box::new(spec(case, Task::Count { warm_ops: 3, ops: 23 * 512 }));
    session.send(&Order::Count { id: 1, spec });
    match session.event() {
        Event::Counted { count, .. } => {
            assert_eq!(count.ops, 23 * 512);
            assert_eq!(count.own.into_iter().collect::<Vec<_>>(), [("mmap".into(), 23 * 32)]);
        }
        Event::Failed { reason: message, .. } if message.contains("ptrace is refused") => {
            eprintln!("cannot run here: {message}");
        }
        other => panic!("it should be counted: {other:?}"),
    }
}

/// Starts a worker that times one op per batch until it is killed; returns its process number.
fn start_timing(session: &mut Session, id: u64, case: &str) -> u32 {
    session.measure(id, spec(case, Task::Measure(plan(Mode::B, 1, &[1], ENDLESS))));
    let pid = session.ready(id);
    session.go(id, ENDLESS);
    until("the worker is timing", || cpu_ticks(pid) >= 3);
    pid
}

#[test]
fn page_touching_children_of_a_killed_worker_exit() {
    let mut session = Session::start();
    for (id, case) in [
        (1, "fault/copy-on-write:child=lives,order=ascending"),
        (2, "fault/prefault:prefault=process,chunk=all,cost=foreground"),
    ] {
        let pid = start_timing(&mut session, id, case);
        // Between two ops there is no child: if each op has its own child, wait until one is there.
        until("a worker and its child run", || session.workers().len() > 1);
        signal(pid, "KILL");
        assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL", "{case}");
        wait_until_gone(&session, case);
    }
    session.check_responsive(3);
}

#[test]
fn a_child_that_dies_fails_the_case() {
    let mut session = Session::start();
    for (id, case, reason) in [
        (1, "fault/copy-on-write:child=lives,order=ascending", "No child processes"),
        (2, "fault/prefault:prefault=process,chunk=all,cost=foreground", "error"),
    ] {
        let pid = start_timing(&mut session, id, case);
        // A child that is killed just when the next one replaces it is not missed.
        until("the worker has noticed that a child died", || {
            let workers = session.workers();
            for child in workers.iter().filter(|&&other| other != pid) {
                // It may be gone already.
                let kill = format!("kill -KILL {child} 2>/dev/null");
                Command::new("/bin/sh").args(["-c", &kill]).status().unwrap();
            }
            !workers.contains(&pid)
        });
        let message = failure_reason(session.event());
        assert!(message.contains(reason), "{case}: {message}");
        wait_until_gone(&session, case);
    }
}

/// Why a case is skipped.
fn skipped(session: &mut Session, id: u64, case: &str) -> String {
    match piloted(session, id, case) {
        Event::Skipped { missing, .. } => missing,
        other => panic!("{case} should be skipped: {other:?}"),
    }
}

#[test]
fn a_small_address_space_skips_the_case_with_a_hint() {
    // Enough for the worker, and not for 80 MiB more.
    let mut session = Session::limited("ulimit -v 60000");
    let case = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending";
    let missing = skipped(&mut session, 1, case);
    assert!(missing.contains("RLIMIT_AS leaves") && missing.contains("`ulimit -v unlimited`"));
    session.check_responsive(2);
}

#[test]
fn a_missing_resource_is_reported_with_the_command_that_provides_it() {
    let mut session = Session::start();
    for (id, case, offer, way_out) in [
        (1, "fault/swap-in", Resource::Swap, "swapon $d"),
        (
            2,
            "fault/zero-fill:access=write,pages=hugetlb,map=outside,order=ascending",
            Resource::HugePages(8),
            "nr_hugepages",
        ),
    ] {
        match resources::missing(offer) {
            Some(missing) => {
                assert!(missing.contains(way_out), "{missing}");
                assert_eq!(skipped(&mut session, id, case), missing);
            }
            None => eprintln!("not tested: this machine has {offer}"),
        }
    }
}

#[test]
fn an_unusable_scratch_directory_skips_the_case_with_a_hint() {
    // In memory there is nothing to evict to.
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        eprintln!("cannot run here: there is no /dev/shm");
        return;
    }
    let mut session = Session::start_with(shm);
    let missing = skipped(&mut session, 1, "fault/file-major:readahead=off");
    assert!(missing.contains("lies in memory (tmpfs)") && missing.contains("TMPDIR="), "{missing}");
    // But it can be cached.
    match piloted(&mut session, 2, "fault/file-minor:stride=65536") {
        Event::Piloted { .. } => {}
        other => panic!("a file in memory can be mapped: {other:?}"),
    }
}
