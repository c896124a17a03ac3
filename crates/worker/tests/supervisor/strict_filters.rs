//! Workers under filters that forbid what a worker does besides its ops.

use oscost_model::call_names::Arch;
use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;

use crate::common::{Session, failure_reason, wait_until_gone};
use crate::treated_worker::{EPERM, GETPPID, KILL, allow_only, arms, at_call, filter, treated};

/// What a worker cannot do without, besides the calls of its ops: memory, its orders and answers,
/// and its end.
const REQUIRED: &[&str] =
    &["brk", "close", "exit_group", "getpid", "mmap", "munmap", "read", "write"];

/// What it can do without: its record then lacks a figure or a property, and nothing else.
const OPTIONAL: &[&str] = &[
    "clock_gettime",
    "fstat",
    "getrusage",
    "lseek",
    "madvise",
    "mlock",
    "openat",
    "pread64",
    "rseq",
    "sched_getaffinity",
    "sched_setaffinity",
    "statx",
];

const fn native() -> Arch {
    match cfg!(target_arch = "x86_64") {
        true => Arch::X86_64,
        false => Arch::Aarch64,
    }
}

/// The number of a call; `None` where the architecture has none of this name.
fn number(name: &str) -> Option<u32> {
    native().calls().find(|&(_, known)| known == name).map(|(number, _)| number)
}

/// Measures one group of batches under a filter; the last event.
fn measured_under(session: &mut Session, id: u64, filter: AppliedTreatment) -> Event {
    let worker = treated(session, GETPPID, &[filter]);
    session.measure(id, worker);
    match session.event() {
        Event::Ready { .. } => {}
        other => return other,
    }
    session.go(id, 1);
    session.send(&Order::Stop { id });
    session.event()
}

/// The call that a reason says is forbidden.
fn forbidden(reason: &str) -> &str {
    let after = reason.split_once("the filter forbids `").map(|(_, rest)| rest);
    after.and_then(|rest| rest.split_once('`')).map_or_else(|| panic!("{reason}"), |it| it.0)
}

#[test]
fn every_call_that_a_filter_kills_for_is_named_until_all_are_allowed() {
    let mut session = Session::start();
    let mut allowed: Vec<String> = Vec::new();
    for id in 1.. {
        let numbers: Vec<u32> = allowed.iter().filter_map(|name| number(name)).collect();
        match measured_under(&mut session, id, allow_only(&numbers, KILL)) {
            Event::Sampled { samples, .. } => {
                assert_eq!(samples.len(), 1);
                break;
            }
            Event::Failed { reason, .. } => {
                let call = forbidden(&reason);
                assert!(reason.contains("killed by SIGSYS under seccomp while it "), "{reason}");
                assert!(!allowed.iter().any(|name| name == call), "{call} is allowed: {reason}");
                let known =
                    call == "getppid" || REQUIRED.contains(&call) || OPTIONAL.contains(&call);
                assert!(known, "a call that no table has: {reason}");
                allowed.push(call.to_owned());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(allowed.iter().any(|name| name == "getppid"), "{allowed:?}");
    wait_until_gone(&session, "workers under strict filters");
}

#[test]
fn the_stage_in_which_a_filter_kills_is_named() {
    let mut session = Session::start();
    for (id, call, stage) in [
        (1, "getppid", "tried its op"),
        (2, "mlock", "prepared its counters and its samples"),
        (3, "read", "reported that it was ready"),
    ] {
        let kills = filter(&at_call(number(call).unwrap(), KILL));
        let reason = failure_reason(measured_under(&mut session, id, kills));
        let expected = format!("while it {stage}: the filter forbids `{call}`");
        assert!(reason.contains(&expected), "{reason}");
    }
    // In an arm of several, too.
    let kills = filter(&at_call(number("getppid").unwrap(), KILL));
    let worker = arms(&session, GETPPID, &[&[], &[kills]]);
    session.measure(4, worker);
    let Event::Failed { reason, arm: Some(1), .. } = session.event() else {
        panic!("arm 1 should have failed");
    };
    assert_eq!(forbidden(&reason), "getppid");
    wait_until_gone(&session, "workers that a filter has killed");
}

#[test]
fn a_worker_measures_without_any_call_that_it_can_do_without() {
    let mut session = Session::start();
    let forbids = |name: &&&str| number(name).is_some();
    for (id, name) in (1..).zip(OPTIONAL.iter().filter(forbids)) {
        let refuses = filter(&at_call(number(name).unwrap(), EPERM));
        match measured_under(&mut session, id, refuses) {
            Event::Sampled { samples, .. } => assert_eq!(samples.len(), 1, "{name}"),
            other => panic!("without {name}: {other:?}"),
        }
    }
    // Without all of them at once, and everything else.
    let allowed: Vec<u32> =
        REQUIRED.iter().chain(&["getppid"]).filter_map(|name| number(name)).collect();
    match measured_under(&mut session, 100, allow_only(&allowed, EPERM)) {
        Event::Sampled { samples, .. } => assert_eq!(samples.len(), 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_call_that_it_needs_a_worker_ends_with_a_reason() {
    let mut session = Session::start();
    for (id, name) in (1..).zip(REQUIRED.iter().filter(|name| **name != "exit_group")) {
        let refuses = filter(&at_call(number(name).unwrap(), EPERM));
        match measured_under(&mut session, id, refuses) {
            Event::Sampled { .. } => {}
            Event::Failed { reason, .. } | Event::Skipped { missing: reason, .. } => {
                assert!(!reason.is_empty(), "{name}");
            }
            other => panic!("without {name}: {other:?}"),
        }
    }
    session.check_responsive(100);
    wait_until_gone(&session, "workers without a call that they need");
}
