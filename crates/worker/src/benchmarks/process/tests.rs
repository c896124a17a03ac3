//! Properties of parents with much of one thing, and of calls about processes.

use oscost_model::case::Case;

use super::super::tests::{all_points, context};
use super::{BENCHES, cpu_time, fork_libraries, parents, queries};
use crate::bench::{Bench, Work};
use crate::kernel::cpu::affinity;
use crate::kernel::memory::region::kernel_page_bytes;
use crate::kernel::process::usage;
use crate::kernel::process::{children, in_own_process, kill};

/// The work of a case, or a message that says what this machine lacks.
fn work(bench: &Bench, case: &Case) -> Option<Work> {
    let work = bench.work(&case.point, context());
    let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case}: {reason}");
        return None;
    }
    Some(work)
}

#[test]
fn a_parent_with_much_of_one_thing_forks_at_every_point_and_keeps_no_child() {
    in_own_process(|| {
        for bench in [
            parents::FORK_DESCRIPTORS,
            parents::FORK_MAPPINGS,
            fork_libraries::FORK_LIBRARIES,
            parents::FORK_THREADS,
            parents::CLONE_SHARED,
        ] {
            for point in all_points(&bench.definition()) {
                let case = Case::new(bench.id, point);
                let Some(mut work) = work(&bench, &case) else { continue };
                assert_eq!(work.run(3, 1), Ok(()), "{case}");
                drop(work);
                assert_eq!(children(), Vec::<u32>::new(), "{case}");
            }
        }
    });
}

#[test]
fn a_child_exits_with_memory_of_its_own_and_with_pages_of_a_file() {
    in_own_process(|| {
        let bench = BENCHES.iter().find(|it| it.id == "process/exit-resident").unwrap();
        for backing in ["anonymous", "file"] {
            let case = format!("process/exit-resident:touched_mib=1,backing={backing}");
            let case = Case::parse(&case).unwrap();
            let Some(mut work) = work(bench, &case) else { continue };
            assert_eq!(work.run(2, 1), Ok(()), "{case}");
            drop(work);
            assert_eq!(children(), Vec::<u32>::new(), "{case}");
        }
    });
}

#[test]
fn the_faults_of_children_are_known_once_they_were_waited_for() {
    in_own_process(|| {
        let bench = BENCHES.iter().find(|it| it.id == "process/exit-resident").unwrap();
        let case = Case::parse("process/exit-resident:touched_mib=1").unwrap();
        let Some(mut work) = work(bench, &case) else { return };
        let before = usage::thread_with_children().unwrap();
        assert_eq!(work.run(2, 1), Ok(()));
        let charged = usage::thread_with_children().unwrap().since(before);
        let pages = (1 << 20) / kernel_page_bytes() as u64;
        assert!(charged.child_minor_faults >= 2 * pages, "{charged:?}");
        assert!(charged.minor_faults < 2 * pages, "{charged:?}");
    });
}

#[test]
fn a_child_that_has_ended_is_noticed_before_the_next_batch_of_waits() {
    in_own_process(|| {
        let case = Case::parse("process/wait-many:children=10").unwrap();
        let Some(mut work) = work(&queries::WAIT_MANY, &case) else { return };
        assert_eq!(work.prepare(5), Ok(()));
        assert_eq!(work.run(5, 1), Ok(()));
        let all = children();
        assert_eq!(all.len(), 10, "{all:?}");
        kill(all[3]);
        let mut prepared = work.prepare(1);
        for _ in 0..1_000 {
            if prepared.is_err() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            prepared = work.prepare(1);
        }
        assert!(prepared.is_err(), "nine of ten children run");
        drop(work);
        assert_eq!(children(), Vec::<u32>::new());
    });
}

#[test]
fn a_parent_stays_on_its_cpu_wherever_its_children_run() {
    in_own_process(|| {
        let bench = cpu_time::FORK_CPU_TIME;
        for point in all_points(&bench.definition()) {
            let case = Case::new(bench.id, point);
            let Some(mut work) = work(&bench, &case) else { continue };
            let before = affinity::allowed_cpus(0);
            for _ in 0..5 {
                assert_eq!(work.run(1, 1), Ok(()), "{case}");
                assert!(work.last_value().is_some_and(|figure| figure > 0), "{case}");
            }
            assert_eq!(affinity::allowed_cpus(0), before, "{case}");
            drop(work);
            assert_eq!(children(), Vec::<u32>::new(), "{case}");
        }
    });
}

#[test]
fn the_benchmarks_of_all_files_are_in_the_list() {
    let ids: Vec<&str> = BENCHES.iter().map(|bench| bench.id).collect();
    for id in [
        "process/fork-threads",
        "process/fork-libraries",
        "process/exec-environment",
        "process/proc-read",
    ] {
        assert!(ids.contains(&id), "{id}");
    }
}
