//! Properties of the demonstration programs: each answers yes or no, and leaves nothing behind.

use oscost_model::case::Case;

use super::super::super::tests::{all_points, context};
use super::super::tests::open_resources;
use super::{COUNTS, NESTED, QUIRKS};
use crate::kernel::event::io_uring::Ring;
use crate::kernel::process::in_own_process;

/// The answers of a program, three times.
fn answers(quirk: &str) -> Option<Vec<i64>> {
    let counts = quirk == "nesting-depth" || quirk == "spurious-wake-ups";
    let bench = if counts { &COUNTS } else { &QUIRKS };
    let case = Case::parse(&format!("{}:quirk={quirk}", bench.id)).unwrap();
    if quirk.starts_with("io-uring") && Ring::new(1).is_err() {
        return None;
    }
    let mut work = bench.work(&case.point, context()).unwrap();
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case}: {reason}");
        return None;
    }
    let mut once = || {
        work.run(1, 1).unwrap();
        work.last_value().unwrap() / 1_000
    };
    Some((0..3).map(|_| once()).collect())
}

#[test]
fn every_complaint_gets_an_answer_without_leaks() {
    in_own_process(|| {
        let both = [QUIRKS, COUNTS].map(|bench| all_points(&bench.definition()));
        for point in both.into_iter().flatten() {
            let quirk = point.get("quirk").unwrap().to_string();
            let before = open_resources();
            let values = answers(&quirk);
            assert_eq!(open_resources(), before, "{quirk} leaves something behind");
            let Some(values) = values else { continue };
            let counts = quirk == "nesting-depth" || quirk == "spurious-wake-ups";
            let max = if counts { 16 } else { 1 };
            assert!(values.iter().all(|it| (0..=max).contains(it)), "{quirk}: {values:?}");
        }
    });
}

#[test]
fn behaviour_documented_for_every_linux_is_observed() {
    in_own_process(|| {
        // epoll(7) and epoll_ctl(2): true for every kernel that has them.
        for quirk in [
            "dup-reports",
            "cannot-remove",
            "other-file",
            "dropped-on-close",
            "guess-add-or-mod",
            "call-per-change",
            "nested",
        ] {
            assert_eq!(answers(quirk), Some(vec![1; 3]), "{quirk}");
        }
        let depth = answers("nesting-depth").unwrap();
        assert!(depth.iter().all(|&depth| depth >= 2), "{depth:?}");
    });
}

#[test]
fn nested_sets_report_at_every_depth_and_are_released() {
    in_own_process(|| {
        for point in all_points(&NESTED.definition()) {
            let before = open_resources();
            let mut work = NESTED.work(&point, context()).unwrap();
            assert_eq!(work.run(5, 1), Ok(()), "{point}");
            drop(work);
            assert_eq!(open_resources(), before, "{point}");
        }
    });
}
