//! Each case does what it says, by counts, and leaves no task behind.

use std::fs;

use oscost_model::case::Case;
use oscost_model::point::{Point, Value};

use super::super::tests::{all_points, context};
use super::BENCHES;
use crate::bench::{Bench, Context, Work};
use crate::kernel::cpu::affinity::allowed_cpus;
use crate::kernel::process::{children, in_own_process, kill};

fn bench(id: &str) -> &'static Bench {
    BENCHES.iter().find(|bench| bench.id == id).unwrap()
}

/// Its work here; `None`, with a message, if this machine lacks something.
fn built(bench: &Bench, point: &Point, context: Context) -> Option<Work> {
    let case = Case::new(bench.id, point.clone());
    let work = bench.work(point, context);
    let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case} cannot run here: {reason}");
        return None;
    }
    Some(work)
}

fn number(point: &Point, axis: &str) -> u64 {
    match point.get(axis) {
        Some(&Value::Number(number)) => number,
        other => panic!("{axis} is {other:?}"),
    }
}

#[test]
fn every_case_runs_and_leaves_no_task_behind_and_the_cpu_as_it_was() {
    in_own_process(|| {
        let threads = || fs::read_dir("/proc/self/task").unwrap().count();
        // It pins this process, once: afterwards no other CPU would be found.
        let context = context();
        let before = (allowed_cpus(0).unwrap(), threads());
        for bench in BENCHES {
            for point in all_points(&bench.definition()) {
                let Some(mut work) = built(bench, &point, context) else { continue };
                for _ in 0..2 {
                    let done = work.prepare(2).and_then(|()| work.run(2, 1));
                    let done = done.and_then(|()| work.verify());
                    assert_eq!(done, Ok(()), "{}:{point}", bench.id);
                }
                drop(work);
                assert_eq!((allowed_cpus(0).unwrap(), threads()), before, "{}:{point}", bench.id);
                assert_eq!(children(), Vec::<u32>::new(), "{}:{point}", bench.id);
            }
        }
    });
}

#[test]
fn the_yields_of_all_tasks_are_counted() {
    in_own_process(|| {
        let (bench, context) = (bench("sched/yield"), context());
        for point in all_points(&bench.definition()) {
            let Some(mut work) = built(bench, &point, context) else { continue };
            assert_eq!(children().len() as u64, number(&point, "tasks") - 1);
            work.prepare(500).unwrap();
            work.run(500, 1).unwrap();
            let yields = work.actual_ops().unwrap();
            work.verify().unwrap();
            assert!(yields > 500, "{point}: only {yields}, so that no other task has run");
            assert_eq!(work.run(5, 1), Ok(()));
            // The others sleep between batches.
            assert_eq!((work.actual_ops(), work.verify().is_err()), (Some(5), true), "{point}");
        }
    });
}

#[test]
fn a_round_has_the_messages_of_all_groups_and_may_be_shortened() {
    in_own_process(|| {
        let (bench, context) = (bench("sched/messaging"), context());
        for point in all_points(&bench.definition()) {
            let Some(mut work) = built(bench, &point, context) else { continue };
            let groups = number(&point, "groups");
            assert_eq!(work.op_count(), 500 * groups, "{point}");
            for (limit, messages) in [(1, 25 * groups), (100, 100), (u64::MAX, 500 * groups)] {
                work.limit_op_count(limit);
                assert_eq!((work.op_count(), work.run(2, 1)), (messages, Ok(())), "{point}");
            }
        }
    });
}

#[test]
fn a_task_that_dies_ends_the_measurement() {
    in_own_process(|| {
        let context = context();
        for (id, is_it) in [
            ("sched/messaging", "groups=1,via=pipe,between=processes"),
            ("sched/wakeup", "wake=futex,busy=0,peer_cpu=same"),
        ] {
            let bench = bench(id);
            let points = all_points(&bench.definition());
            let point = points.iter().find(|point| point.to_string() == is_it).unwrap();
            let Some(mut work) = built(bench, point, context) else { continue };
            kill(children()[0]);
            let done = work.prepare(1).and_then(|()| work.run(1, 1));
            assert!(done.is_err(), "{id}: {done:?}");
        }
    });
}
