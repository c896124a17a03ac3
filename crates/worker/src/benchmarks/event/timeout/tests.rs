//! Properties of timeouts: each call is made, the figures are in range, and nothing is left behind.

use oscost_model::case::Case;

use super::super::super::tests::context;
use super::super::tests::open_resources;
use super::{CALL_COUNT, EARLY, ERROR};
use crate::bench::Bench;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::process::in_own_process;

/// The figures of some ops of a case; empty if this kernel lacks the call.
fn values(bench: &Bench, point: &str, ops: usize) -> Vec<i64> {
    let case = Case::parse(&format!("{}:{point}", bench.id)).unwrap();
    if point.contains("io-uring") && Ring::new(1).is_err() {
        return Vec::new();
    }
    let mut work = bench.work(&case.point, context()).unwrap();
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case}: {reason}");
        return Vec::new();
    }
    let mut once = || {
        work.run(1, 1).unwrap();
        work.last_value().unwrap()
    };
    (0..ops).map(|_| once()).collect()
}

const METHODS: [&str; 7] =
    ["select", "pselect", "poll", "ppoll", "epoll", "epoll-pwait2", "io-uring"];

#[test]
fn every_call_waits_without_leaks() {
    in_own_process(|| {
        let before = open_resources();
        for method in METHODS {
            for excess in values(&ERROR, &format!("method={method},us=100"), 5) {
                assert!(excess > -100_000_000, "{method}: it did not wait");
            }
            for share in values(&EARLY, &format!("method={method},us=100"), 3) {
                assert!((0..=1_000).contains(&share) && share % 200 == 0, "{method}: {share}");
            }
        }
        assert_eq!(open_resources(), before);
    });
}

#[test]
fn a_few_calls_suffice_unless_the_remaining_time_is_rounded_down() {
    in_own_process(|| {
        // Part of the millisecond always remains when the first call is made.
        for method in ["poll", "epoll"] {
            let calls = values(&CALL_COUNT, &format!("method={method},us=1000,rounding=down"), 9);
            assert!(calls.iter().any(|&calls| calls > 9_000), "{method}: {calls:?}");
        }
        for method in METHODS {
            for calls in values(&CALL_COUNT, &format!("method={method},us=1000"), 5) {
                assert!((1_000..=9_000).contains(&calls), "{method}: {calls}");
            }
        }
    });
}

#[test]
fn a_closed_ring_does_not_interrupt_a_wait() {
    in_own_process(|| {
        for _ in 0..30 {
            if Ring::new(1).is_err() {
                return;
            }
            let case = Case::parse("event/timeout-turns:method=epoll,us=100").unwrap();
            let mut work = CALL_COUNT.work(&case.point, context()).unwrap();
            work.run(3, 1).unwrap();
        }
    });
}
