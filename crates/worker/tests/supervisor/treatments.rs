//! Workers under treatments, and arms with different treatments.

use std::fs;

use oscost_model::protocol::{Event, Order};
use oscost_model::raw_call::RawCall;
use oscost_model::treatment::{AppliedTreatment, Limit};
use oscost_model::worker::{Mode, Task, WorkerSpec};
use oscost_worker::benchmarks;

use crate::common::{
    Session, default_cases, failure_reason, measuring, plan, spec, wait_until_gone,
};
use crate::treated_worker::{
    EPERM, GETPPID, KILL, Measurement, allow, arms, at_getppid, filter, ready, run_batches, status,
    treated,
};

/// The nice value of a process: field 19 of its `stat`.
fn nice(pid: u32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let behind = stat.rsplit_once(") ").unwrap().1;
    behind.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn a_treatment_applies_to_its_own_arm_only() {
    let mut session = Session::start();
    let applied = [allow(), AppliedTreatment::Nice { increment: 3 }, AppliedTreatment::Ptrace];
    let worker = arms(&session, GETPPID, &[&[], &applied]);
    let Some(coordinator) = ready(&mut session, 1, worker) else { return };
    let of = |key: &str, value: &str| {
        let workers = session.workers();
        let those = workers.into_iter().filter(|&pid| status(pid, key) == value);
        those.collect::<Vec<_>>()
    };
    let [arm] = of("Seccomp", "2")[..] else { panic!("one process has a filter") };
    assert_ne!(arm, coordinator);
    assert_eq!(nice(arm), nice(coordinator) + 3);
    // As root every worker has it.
    assert!(of("NoNewPrivs", "1").contains(&arm));
    let monitor = status(arm, "TracerPid");
    assert_ne!(monitor, "0");
    assert_eq!(of("TracerPid", "0").len(), 3, "the worker, the other arm, the monitor");
    assert_eq!(status(monitor.parse().unwrap(), "PPid"), coordinator.to_string());
    session.go(1, 3);
    session.send(&Order::Stop { id: 1 });
    let Event::Sampled { samples, monitor_wakeups_per_op: wakeups, .. } = session.event() else {
        panic!("no samples")
    };
    assert_eq!(samples.len(), 6);
    assert_eq!(wakeups, [None, Some(2.0)]);
    wait_until_gone(&session, "treated twins");
}

#[test]
fn in_a_worker_of_one_arm_the_measuring_process_is_treated() {
    let mut session = Session::start();
    let worker = treated(&session, GETPPID, &[AppliedTreatment::Ptrace, allow()]);
    let Some(pid) = ready(&mut session, 1, worker) else { return };
    assert_eq!(status(pid, "Seccomp"), "2");
    assert_ne!(status(pid, "TracerPid"), "0");
}

#[test]
fn a_filter_that_kills_fails_the_worker_and_one_that_forbids_skips_it() {
    let mut session = Session::start();
    let kills = treated(&session, GETPPID, &[at_getppid(KILL)]);
    session.measure(1, kills);
    let reason = failure_reason(session.event());
    let killed = "the worker was killed by SIGSYS under seccomp while it tried its op: the filter \
                  forbids `getppid`";
    assert!(reason.starts_with(killed), "{reason}");
    let kills = arms(&session, GETPPID, &[&[], &[at_getppid(KILL)]]);
    session.measure(2, kills);
    match session.event() {
        Event::Failed { reason, arm: Some(1), .. } => {
            assert!(reason.contains("SIGSYS under seccomp"), "{reason}");
        }
        other => panic!("arm 1 should have failed: {other:?}"),
    }
    for (id, worker) in [
        (3, treated(&session, GETPPID, &[at_getppid(EPERM)])),
        (4, arms(&session, GETPPID, &[&[], &[at_getppid(EPERM)]])),
    ] {
        session.measure(id, worker);
        match session.event() {
            Event::Skipped { missing, arm, .. } => {
                assert!(missing.contains("the seccomp filter of the treatment"), "{missing}");
                assert_eq!(arm, (id == 4).then_some(1));
            }
            other => panic!("it should be skipped: {other:?}"),
        }
    }
    wait_until_gone(&session, "workers that a filter has ended");
    session.check_responsive(5);
}

#[test]
fn calls_are_counted_under_a_filter_and_not_under_a_monitor() {
    let mut session = Session::start();
    let task = Task::Count { warm_ops: 3, ops: 23 };
    let mut count = |id: u64, applied: AppliedTreatment| {
        let worker = WorkerSpec { treatments: vec![vec![applied]], ..spec(GETPPID, task.clone()) };
        session.send(&Order::Count { id, spec: Box::new(worker) });
        session.event()
    };
    match count(1, allow()) {
        Event::Counted { count, .. } => assert_eq!(count.own.get("getppid"), Some(&23)),
        Event::Failed { reason, .. } if reason.contains("ptrace is refused") => {
            eprintln!("{reason}")
        }
        other => panic!("{other:?}"),
    }
    assert!(
        failure_reason(count(2, AppliedTreatment::SeccompTrace)).contains("a tracer counts them")
    );
    assert!(failure_reason(count(3, at_getppid(KILL))).contains("killed by SIGSYS"));
}

#[test]
fn an_unprivileged_user_gets_a_reason_that_names_what_a_treatment_needs() {
    let mut session = Session::limited(
        "test $(id -u) = 0 && exec setpriv --reuid=65534 --regid=65534 --clear-groups \
         \"$0\" \"$@\"",
    );
    if status(session.pid(), "Uid").starts_with('0') {
        eprintln!("cannot run here: root cannot switch to another user");
        return;
    }
    for (id, applied, words) in [
        (1, AppliedTreatment::Nice { increment: -5 }, "RLIMIT_NICE"),
        (
            2,
            AppliedTreatment::Cgroup { limits: vec![Limit::Memory { bytes: 1 << 28 }] },
            "run oscost as root",
        ),
    ] {
        session.measure(id, WorkerSpec { treatments: vec![vec![applied]], ..measuring(GETPPID) });
        match session.event() {
            Event::Skipped { missing, .. } => assert!(missing.contains(words), "{missing}"),
            other => panic!("it should be skipped: {other:?}"),
        }
    }
    // Unprivileged treatments work for every user.
    for (id, applied) in [
        (3, vec![allow(), AppliedTreatment::Sud, AppliedTreatment::Nice { increment: 1 }]),
        (4, vec![AppliedTreatment::Ptrace]),
        (5, vec![AppliedTreatment::SeccompNotify]),
    ] {
        let worker = WorkerSpec { treatments: vec![applied], ..measuring(GETPPID) };
        if let Some(Measurement { samples, .. }) = run_batches(&mut session, id, worker) {
            assert_eq!(samples.len(), 3);
        }
    }
}

#[test]
fn ops_are_cooled_one_by_one_where_they_can_be_timed_alone() {
    let mut session = Session::start();
    let cooled = |case: &str, task: Task| {
        let cool = AppliedTreatment::Cool { walk_bytes: 64 << 10 };
        WorkerSpec { treatments: vec![vec![cool]], ..spec(case, task) }
    };
    let alone = || Task::Measure(plan(Mode::C, 1, &[1], 21));
    let measured = run_batches(&mut session, 1, cooled(GETPPID, alone())).unwrap();
    assert!(measured.samples.iter().all(|sample| sample.n == 1), "{:?}", measured.samples);
    assert_eq!(measured.samples.len(), 3);
    session.measure(2, cooled(GETPPID, Task::Measure(plan(Mode::B, 100, &[1], 21))));
    assert!(failure_reason(session.event()).contains("the plan is of mode B"));
    let is_rate = |case: &String| case.starts_with("memory/bandwidth:");
    let rate = default_cases(&benchmarks::data()).into_iter().find(is_rate).unwrap();
    session.measure(3, cooled(&rate, alone()));
    match session.event() {
        Event::Skipped { missing, .. } => assert!(missing.contains("a rate"), "{missing}"),
        other => panic!("it should be skipped: {other:?}"),
    }
}

#[test]
fn raw_calls_are_made_through_a_function_where_there_is_such_a_loop() {
    let mut session = Session::start();
    let [inline, function] = RawCall::ALL.map(|how| [AppliedTreatment::Call { how }]);
    for (id, case) in (1..).zip([GETPPID, "syscall/dup-close", "timer/nothing"]) {
        let worker = arms(&session, case, &[&inline, &function]);
        let Some(Measurement { samples, .. }) = run_batches(&mut session, id, worker) else {
            continue;
        };
        let of = |arm: u8| samples.iter().filter(|sample| sample.arm == arm).count();
        assert_eq!((of(0), of(1)), (3, 3), "{case}");
    }
    let by_library = arms(&session, "syscall/getppid:via=libc", &[&inline, &function]);
    session.measure(9, by_library);
    match session.event() {
        Event::Skipped { missing, .. } => assert!(missing.contains("a function"), "{missing}"),
        other => panic!("it should be skipped: {other:?}"),
    }
}

#[test]
fn a_toggled_worker_reports_each_block_and_jitters_both_arms_alike() {
    let mut session = Session::start();
    let worker = WorkerSpec { toggled: true, ..measuring(GETPPID) };
    session.measure(1, worker.clone());
    session.ready(1);
    for arm in [0, 1, 1, 0] {
        session.send(&Order::Go { id: 1, batches: 3, arm });
        assert_eq!(session.event(), Event::BatchesDone { id: 1 });
    }
    session.send(&Order::Stop { id: 1 });
    let Event::Sampled { samples, monitor_wakeups_per_op: wakeups, .. } = session.event() else {
        panic!("no samples")
    };
    assert_eq!((samples.len(), wakeups.len()), (12, 0));
    let of = |arm: u8| {
        let mine = samples.iter().filter(|sample| sample.arm == arm);
        mine.map(|sample| (sample.round, sample.n)).collect::<Vec<_>>()
    };
    assert_eq!(of(0), of(1));
    assert!((0..6).eq(of(0).iter().map(|&(round, _)| round)));
    let order: Vec<u8> = samples.iter().map(|sample| sample.arm).collect();
    assert_eq!(order, [0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
    // There is room for all groups of both, and no third arm.
    session.measure(2, worker);
    session.ready(2);
    for arm in [0, 1] {
        session.send(&Order::Go { id: 2, batches: 21, arm });
        assert_eq!(session.event(), Event::BatchesDone { id: 2 });
    }
    session.send(&Order::Go { id: 2, batches: 1, arm: 2 });
    assert_eq!(failure_reason(session.event()), "`go` for arm 2: the worker has 2");
}

#[test]
fn every_default_case_gives_samples_of_both_arms() {
    let mut session = Session::start();
    for (id, case) in (1..).zip(default_cases(&benchmarks::data())) {
        let worker = arms(&session, &case, &[&[], &[allow()]]);
        session.measure(id, worker);
        match session.event() {
            Event::Ready { .. } => {
                session.go(id, 3);
                session.send(&Order::Stop { id });
                let Event::Sampled { samples, .. } = session.event() else {
                    panic!("{case} has no samples");
                };
                // Datagrams may be lost, and a batch with them.
                let whole = samples.len() == 6 || case.contains("by=udp");
                assert!(whole && samples.len() <= 6, "{case}: {} samples", samples.len());
            }
            Event::Skipped { arm: Some(_), missing, .. } => assert!(!missing.is_empty(), "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn a_wrapper_that_never_reads_blocks_no_other_job() {
    let mut session = Session::start();
    let wrapper = ["sh", "-c", "exec sleep 1000"].map(str::to_owned).to_vec();
    // More than a pipe holds.
    let filter = filter(&[u64::MAX; 4_096]);
    let mut worker = measuring(GETPPID);
    worker.timeout_ms = 2_000;
    worker.treatments = vec![vec![AppliedTreatment::Wrapper { command: wrapper }, filter]];
    session.measure(1, worker);
    session.check_responsive(2);
    match session.event() {
        Event::TimedOut { id: 1, after_ms: 2_000, .. } => {}
        other => panic!("{other:?}"),
    }
    wait_until_gone(&session, "a wrapper that never read");
}
