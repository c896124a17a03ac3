//! Each case sends its signals and leaves no child behind.

use oscost_model::case::Case;
use oscost_model::point::Value;

use super::super::tests::{all_points, context};
use super::BENCHES;
use crate::kernel::process::{children, in_own_process, kill};

#[test]
fn every_case_runs_and_leaves_no_member_of_a_group() {
    in_own_process(|| {
        let context = context();
        for bench in BENCHES {
            for point in all_points(&bench.definition()) {
                let case = Case::new(bench.id, point);
                let work = bench.work(&case.point, context);
                let mut work = work.unwrap_or_else(|error| panic!("{case}: {error}"));
                if let Some(reason) = work.unavailable_reason() {
                    eprintln!("{case}: {reason}");
                    continue;
                }
                let members = match case.point.get("members") {
                    Some(&Value::Number(members)) => members as usize,
                    _ => 0,
                };
                assert_eq!(children().len(), members, "{case}");
                for _ in 0..2 {
                    let done = work.prepare(3).and_then(|()| work.run(3, 1));
                    assert_eq!(done.and_then(|()| work.verify()), Ok(()), "{case}");
                }
                drop(work);
                assert_eq!(children(), Vec::<u32>::new(), "{case}");
            }
        }
    });
}

#[test]
fn a_group_that_lost_a_member_is_noticed() {
    in_own_process(|| {
        let bench = BENCHES.iter().find(|bench| bench.id == "signal/group").unwrap();
        let points = all_points(&bench.definition());
        let mut work = bench.work(points.last().unwrap(), context()).unwrap();
        if let Some(reason) = work.unavailable_reason() {
            return eprintln!("{reason}");
        }
        assert_eq!(work.run(1, 1).and_then(|()| work.verify()), Ok(()));
        let lost = children()[3];
        kill(lost);
        while work.verify().is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(work.run(1, 1), Ok(()), "the others are still there");
    });
}
