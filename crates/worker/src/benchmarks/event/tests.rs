//! Properties of sets and waiters: each reports the ready descriptors and no others, and nothing is
//! left behind.

use std::fs;

use oscost_model::case::Case;
use oscost_model::definition::Requirement;
use oscost_model::point::{Point, Value};

use super::super::tests::{all_points, context};
use super::BENCHES;
use super::set::{Method, Part, ReadySubset, Set, WaitState};
use crate::bench::{Bench, Context, Work};
use crate::kernel::Errno;
use crate::kernel::event::descriptor_set::{DescriptorKind, DescriptorSet};
use crate::kernel::event::io_uring::Ring;
use crate::kernel::event::readiness::READABLE;
use crate::kernel::process::limits;
use crate::kernel::process::{children, in_own_process, kill};

/// Numbers of descriptors that are quickly created.
const FEW: [u64; 3] = [10, 32, 100];

fn value(case: &Case, axis: &str) -> String {
    case.point.get(axis).map(Value::to_string).unwrap_or_default()
}

/// The applicable cases of a benchmark with these numbers of descriptors.
fn cases(id: &str, fds: &[u64]) -> Vec<(&'static Bench, Case)> {
    let bench = BENCHES.iter().find(|bench| bench.id == id).unwrap();
    let definition = bench.definition();
    let no_io_uring = Ring::new(1).is_err();
    let is_defined = |point: &Point| {
        let needs = definition.needs.iter().filter(|need| point.includes(&need.when));
        let requirements: Vec<_> = needs.map(|need| &need.requirement).collect();
        !requirements.iter().any(|requirement| match requirement {
            Requirement::Undefined(_) => true,
            Requirement::IoUring => no_io_uring,
            _ => false,
        })
    };
    let has_few_descriptors = |point: &Point| match point.get("fds") {
        Some(Value::Number(number)) => fds.contains(number),
        _ => true,
    };
    let points = all_points(&definition).into_iter();
    let points = points.filter(|point| has_few_descriptors(point) && is_defined(point));
    points.map(|point| (bench, Case::new(id, point))).collect()
}

/// Its work here, after some ops; `None`, with a message, if this machine lacks something.
fn run_once(bench: &Bench, case: &Case, context: Context, ops: u64) -> Option<Work> {
    let built = bench.work(&case.point, context);
    let mut work = built.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case}: {reason}");
        return None;
    }
    let ops = ops.min(work.max_batch_ops());
    for _ in 0..3 {
        let result = work.prepare(ops).and_then(|()| work.run(ops, 1));
        assert_eq!(result.and_then(|()| work.verify()), Ok(()), "{case}");
    }
    Some(work)
}

/// The children and descriptors of this process.
pub(super) fn open_resources() -> (usize, usize) {
    (children().len(), fs::read_dir("/proc/self/fd").unwrap().count())
}

fn assert_no_leftovers(cases: &[(&Bench, Case)], context: Context, ops: u64) {
    for (bench, case) in cases {
        let before = open_resources();
        drop(run_once(bench, case, context, ops));
        assert_eq!(open_resources(), before, "{case} leaves something behind");
    }
}

#[test]
fn every_method_finds_the_ready_descriptors_at_every_position_without_leaks() {
    in_own_process(|| {
        let context = context();
        let all = cases("event/wait", &[10]);
        assert!(all.len() > 500, "{}", all.len());
        assert_no_leftovers(&all, context, 7);
        // Larger sets, for the plain points only.
        let more: Vec<_> = cases("event/wait", &FEW[1..])
            .into_iter()
            .filter(|(_, case)| value(case, "over").is_empty() && value(case, "highest").is_empty())
            .collect();
        assert_no_leftovers(&more, context, 7);
    });
}

#[test]
fn the_rest_of_the_family_works_at_every_point_without_leaks() {
    in_own_process(|| {
        let context = context();
        for (id, fds, ops) in [
            ("event/caller", &FEW[..2], 7),
            ("event/idle", &[100], 7),
            ("event/wakeup", &FEW[..1], 3),
            ("event/herd", &FEW[..1], 1),
            ("event/register", &[100], 30),
            ("event/lowest-descriptor", &[100, 1_000], 30),
        ] {
            assert_no_leftovers(&cases(id, fds), context, ops);
        }
    });
}

/// A set of ten pipes of which `ready` is expected to be ready, and those in `woken` are.
fn set(method: Method, ready: u64, woken: &[usize]) -> Set {
    let descriptors = DescriptorSet::new(10, DescriptorKind::Pipe, 0..10, None).unwrap();
    let state = WaitState::of(method, &mut descriptors.fds(), 10).unwrap();
    woken.iter().for_each(|&position| descriptors.make_ready(position).unwrap());
    Set { descriptors, state, ready: ReadySubset::of(ready..ready + 1, method) }
}

#[test]
fn an_op_that_reports_a_wrong_or_an_extra_descriptor_fails() {
    use crate::kernel::event::io_uring::PollMode;
    use crate::kernel::event::readiness::CallVariant;
    in_own_process(|| {
        let methods = [
            Method::Select(CallVariant::Plain),
            Method::Poll(CallVariant::WithMask),
            Method::Epoll(READABLE),
            Method::Ring(PollMode::OneShot),
            Method::Ring(PollMode::MultiShot),
        ];
        for method in methods {
            if matches!(method, Method::Ring(_)) && Ring::new(1).is_err() {
                continue;
            }
            let result = |woken: &[usize]| set(method, 4, woken).run(Part::Whole, 1);
            assert_eq!(result(&[4]), Ok(()), "{method:?}");
            for wrong in [&[5][..], &[3, 5], &[4, 5]] {
                let failed = result(wrong).map_err(|error| error.errno);
                assert_eq!(failed, Err(Errno::EPROTO), "{method:?} {wrong:?}");
            }
        }
    });
}

/// The figure of event/herd at a point, 20 times.
fn woken(context: Context, point: &str) -> Option<Vec<i64>> {
    let case = Case::parse(&format!("event/herd:{point}")).unwrap();
    let bench = BENCHES.iter().find(|bench| bench.id == "event/herd").unwrap();
    let mut work = run_once(bench, &case, context, 1)?;
    let mut once = || {
        work.run(1, 1).unwrap();
        work.last_value().unwrap() / 1_000
    };
    Some((0..20).map(|_| once()).collect())
}

#[test]
fn all_of_a_herd_are_woken_and_fewer_of_an_exclusive_one() {
    in_own_process(|| {
        let context = context();
        for method in ["select", "poll", "epoll"] {
            let all =
                woken(context, &format!("method={method},fds=10,peer_cpu=same,waiters=8,herd=all"));
            assert!(all.is_none_or(|all| all.iter().all(|&woken| woken == 8)), "{method}");
        }
        for herd in ["exclusive", "reuseport"] {
            let has_few_descriptors =
                woken(context, &format!("method=epoll,fds=10,peer_cpu=same,waiters=8,herd={herd}"));
            assert!(has_few_descriptors.is_none_or(|has_few_descriptors| {
                has_few_descriptors.iter().all(|&woken| (1..8).contains(&woken))
            }));
        }
        let one = woken(context, "method=epoll,fds=10,peer_cpu=same,waiters=1,herd=all");
        assert!(one.is_none_or(|one| one.iter().all(|&woken| woken == 1)));
    });
}

#[test]
fn a_waiter_sleeps_before_the_event_and_runs_after_it() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases("event/wakeup", &[10]) {
            let Some(mut work) = run_once(bench, &case, context, 1) else { continue };
            for _ in 0..10 {
                work.run(1, 1).unwrap();
                assert!(work.last_value().is_some_and(|ticks| ticks > 0), "{case}");
            }
        }
    });
}

#[test]
fn an_op_whose_waiter_was_killed_fails() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases("event/wakeup", &[10]) {
            if value(&case, "waiters") != "1" || value(&case, "peer_cpu") != "same" {
                continue;
            }
            let Some(mut work) = run_once(bench, &case, context, 1) else { continue };
            children().into_iter().for_each(kill);
            assert!(work.run(1, 1).is_err(), "{case}");
        }
    });
}

#[test]
fn a_set_too_large_for_one_process_is_shared_or_names_the_limit_to_raise() {
    in_own_process(|| {
        let context = context();
        limits::lower_descriptor_limit(700).unwrap();
        let all = |id: &str| cases(id, &[1_000]);
        let mut shared = 0;
        for (bench, case) in all("event/wait") {
            if !value(&case, "over").is_empty() || !value(&case, "highest").is_empty() {
                continue;
            }
            let before = open_resources();
            let in_kernel =
                value(&case, "method").contains('-') || value(&case, "method") == "epoll";
            let mut work = bench.work(&case.point, context).unwrap();
            match work.unavailable_reason() {
                None => {
                    assert!(in_kernel && open_resources().0 > before.0, "{case}");
                    assert_eq!(work.run(7, 1), Ok(()), "{case}");
                    shared += 1;
                }
                Some(words) => {
                    assert!(words.contains("prlimit"), "{case}: {words}");
                    assert!(!in_kernel || value(&case, "ready") == "10pct", "{case}: {words}");
                }
            }
            drop(work);
            assert_eq!(open_resources(), before, "{case}");
        }
        assert!(shared > 0 || Ring::new(1).is_err());
        for (bench, case) in all("event/lowest-descriptor") {
            let work = bench.work(&case.point, context).unwrap();
            assert!(
                work.unavailable_reason().is_some_and(|words| words.contains("ulimit -n")),
                "{case}"
            );
        }
    });
}
