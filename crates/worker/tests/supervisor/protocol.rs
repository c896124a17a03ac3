//! The supervisor's protocol: orders, answers and refusals.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use oscost_model::clock::ClockKind;
use oscost_model::hash;
use oscost_model::protocol::{Event, Order, PROTOCOL};
use oscost_model::watch::{ProcessActivity, SystemActivity};
use oscost_model::worker::{BatchPlan, Mode, Sample, Task, WorkerSpec};
use oscost_worker::benchmarks;

use crate::common::{
    ENDLESS, Session, cpu_ticks, default_cases, endless, failure_reason, measuring, plan, spec,
    until, worker,
};

/// Whether a batch's number of ops is within a tenth of the plan's, as the jitter is.
fn is_jittered(n: u64, iterations: u64) -> bool {
    let (n, iterations) = (n as f64, iterations as f64);
    (0.9 * iterations - 1.0..=1.1 * iterations + 1.0).contains(&n)
}

fn samples(event: Event) -> Vec<Sample> {
    match event {
        Event::Sampled { samples, .. } => samples,
        other => panic!("it should bring samples: {other:?}"),
    }
}

/// The pilot's plan for a case on the best clock of this machine.
fn piloted(session: &mut Session, id: u64, case: &str) -> BatchPlan {
    let usable = |kind: &ClockKind| {
        let mut verdicts = session.hello.clocks.iter();
        verdicts.any(|verdict| verdict.kind == *kind && verdict.unusable_reason.is_none())
    };
    let kinds = [ClockKind::Tsc, ClockKind::Vdso, ClockKind::Syscall];
    let clock = kinds.into_iter().find(usable).unwrap();
    session.send(&Order::Calibrate { id, cpu: None, clock });
    let calibration = match session.event() {
        Event::Calibrated { calibration, .. } => calibration,
        other => panic!("the clock should be calibrated: {other:?}"),
    };
    assert_eq!(calibration.kind, clock);
    let mut pilot = spec(case, Task::Pilot { interruptions_per_s: 0.0 });
    pilot.clock = calibration;
    session.measure(id, pilot);
    session.ready(id);
    session.go(id, 1);
    match session.event() {
        Event::Piloted { id: of, plan } if of == id => plan,
        other => panic!("the pilot should bring a plan: {other:?}"),
    }
}

#[test]
fn hello_identifies_the_worker_and_describes_the_machine() {
    let session = Session::start();
    let hello = &session.hello;
    assert_eq!(hello.protocol, PROTOCOL);
    assert_eq!(hello.worker_hash, hash::content(&fs::read(worker()).unwrap()));
    let printed = Command::new(worker()).arg("catalog").output().unwrap().stdout;
    assert_eq!(hello.catalog_hash, hash::content(&printed));
    assert_eq!(hello.build.version, env!("CARGO_PKG_VERSION"));
    assert!(["static-pie", "dynamic"].contains(&hello.build.link.as_str()));
    let kinds: Vec<ClockKind> = hello.clocks.iter().map(|verdict| verdict.kind).collect();
    assert_eq!(kinds, [ClockKind::Tsc, ClockKind::Vdso, ClockKind::Syscall]);
    assert_eq!(hello.clocks[2].unusable_reason, None, "a system call always reads a clock");
    assert!(hello.facts.os.release.is_some(), "every kernel has a release");
    let scratch = session.scratch();
    assert_eq!(scratch.parent(), Some(session.folder()));
    let mode = fs::metadata(&scratch).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700, "the folder is private");
}

#[test]
fn a_short_op_is_batched_with_the_jittered_number_of_ops_of_its_pilot() {
    let mut session = Session::start();
    let plan = piloted(&mut session, 1, "syscall/getppid:via=raw");
    assert_eq!((plan.mode, plan.unroll_factors.as_slice()), (Mode::B, &[1][..]));
    assert_eq!(plan.groups % 2, 1, "the median is one of them");
    let worker = spec("syscall/getppid:via=raw", Task::Measure(plan.clone()));
    let samples = samples(session.measured(2, worker, plan.groups));
    assert_eq!(samples.len(), plan.groups as usize);
    for (at, sample) in samples.iter().enumerate() {
        assert_eq!((sample.arm, sample.round, sample.batch), (0, at as u32, at as u32));
        assert!(
            is_jittered(sample.n, plan.iterations),
            "{} ops, not about {}",
            sample.n,
            plan.iterations
        );
        assert!(sample.ticks > 0, "{sample:?}");
    }
    let different: BTreeSet<u64> = samples.iter().map(|sample| sample.n).collect();
    assert!(different.len() > 1, "the number of ops never changes");
}

#[test]
fn a_tiny_op_is_unrolled_and_each_group_has_a_batch_of_every_unroll_factor() {
    let mut session = Session::start();
    let plan = piloted(&mut session, 1, "procedure/call:args=4,chain=independent");
    assert_eq!((plan.mode, plan.unroll_factors.as_slice()), (Mode::U, &[1, 2, 4, 8][..]));
    let worker = spec("procedure/call:args=4,chain=independent", Task::Measure(plan.clone()));
    let samples = samples(session.measured(2, worker, plan.groups));
    assert_eq!(samples.len(), 4 * plan.groups as usize);
    let mut first_of_a_group = BTreeSet::new();
    for (round, group) in samples.chunks(4).enumerate() {
        assert!(group.iter().all(|sample| sample.round == round as u32), "{group:?}");
        let mut ops: Vec<u64> = group.iter().map(|sample| sample.n).collect();
        first_of_a_group.insert(ops[0] / ops.iter().min().unwrap());
        ops.sort_unstable();
        assert!(
            is_jittered(ops[0], plan.iterations),
            "{} iterations, not about {}",
            ops[0],
            plan.iterations
        );
        assert_eq!(ops, [ops[0], 2 * ops[0], 4 * ops[0], 8 * ops[0]]);
    }
    assert!(first_of_a_group.len() > 1, "the order of the batches never changes");
}

#[test]
fn a_worker_times_batches_at_each_go_and_sends_all_samples_at_stop() {
    let mut session = Session::start();
    session.measure(1, measuring("syscall/getppid:via=raw"));
    session.ready(1);
    for batches in [1, 2, 5] {
        session.go(1, batches);
    }
    session.send(&Order::Stop { id: 1 });
    let rounds: Vec<u32> = samples(session.event()).iter().map(|sample| sample.round).collect();
    assert_eq!(rounds, (0..8).collect::<Vec<_>>());
}

#[test]
fn the_same_seed_gives_the_same_jitter_and_another_seed_another() {
    let mut session = Session::start();
    let mut ops = |id, seed| {
        let mut worker = measuring("syscall/getppid:via=raw");
        (worker.seed, worker.task) = (seed, Task::Measure(plan(Mode::B, 10_000, &[1], 21)));
        let samples = samples(session.measured(id, worker, 21));
        samples.iter().map(|sample| sample.n).collect::<Vec<_>>()
    };
    let first = ops(1, 7);
    assert_eq!(ops(2, 7), first);
    assert_ne!(ops(3, 8), first);
}

#[test]
fn fork_twins_share_the_number_of_ops_of_every_round() {
    let mut session = Session::start();
    for (id, arms, mode, copies) in
        [(1, 2, Mode::B, &[1][..]), (2, 3, Mode::B, &[1]), (3, 2, Mode::U, &[1, 2, 4, 8])]
    {
        let mut worker = spec("syscall/getppid:via=raw", Task::Measure(plan(mode, 500, copies, 9)));
        worker.arms = arms;
        session.measure(id, worker);
        session.ready(id);
        session.go(id, 4);
        session.go(id, 5);
        session.send(&Order::Stop { id });
        let samples = samples(session.event());
        assert_eq!(samples.len(), 9 * usize::from(arms) * copies.len(), "{arms} arms in {mode:?}");
        for round in 0..9 {
            let of = |arm: u8| {
                let mine = samples.iter().filter(|it| it.arm == arm && it.round == round);
                let mut ops: Vec<u64> = mine.map(|sample| sample.n).collect();
                assert_eq!(ops.len(), copies.len(), "arm {arm} in round {round}");
                ops.sort_unstable();
                assert!(is_jittered(ops[0], 500), "{ops:?}");
                ops
            };
            assert!((1..arms).all(|arm| of(arm) == of(0)), "round {round} of {arms} arms");
        }
        assert!(samples.iter().all(|sample| sample.arm < arms && sample.round < 9));
    }
    until("the twins are gone", || session.workers().is_empty());
}

#[test]
fn a_spec_that_cannot_be_measured_is_refused_with_a_reason() {
    let mut session = Session::start();
    type Spoil = fn(&mut WorkerSpec);
    let wrong: [(&str, Spoil); 8] = [
        ("0 arms were requested; 1 to 3 are supported", |worker| worker.arms = 0),
        ("4 arms were requested; 1 to 3 are supported", |worker| worker.arms = 4),
        ("2 workers were requested; this version supports 1", |worker| worker.workers = 2),
        ("pin to CPU 4095: ", |worker| worker.cpu = Some(4_095)),
        ("pin to CPU 4000000000: ", |worker| worker.cpu = Some(4_000_000_000)),
        ("instructions can be counted only under an emulator", |worker| {
            worker.clock.kind = ClockKind::Instructions;
        }),
        ("the task of the order is not to measure", |worker| {
            worker.task = Task::Count { warm_ops: 3, ops: 23 };
        }),
        ("map the sample buffer: ", |worker| {
            worker.task = Task::Measure(plan(Mode::B, 1, &[1; 4_096], u32::MAX));
        }),
    ];
    for (id, (words, spoil)) in (1..).zip(wrong) {
        let mut worker = measuring("syscall/getppid:via=raw");
        spoil(&mut worker);
        session.measure(id, worker);
        let reason = failure_reason(session.event());
        assert!(reason.contains(words), "`{words}` is not in `{reason}`");
    }
    for (id, case) in (100..).zip([
        "syscall/getppid",
        "syscall/getppid:via=magic",
        "syscall/getppid:via=raw,size=1",
        "timer/clock-gettime:via=raw,clock=monotonic",
        "syscall/no-such-thing",
        "no-such/family",
    ]) {
        session.measure(id, measuring(case));
        assert_eq!(
            failure_reason(session.event()),
            format!("`{case}` is not in this worker's catalog")
        );
    }
    session.check_responsive(1_000);
}

#[test]
fn more_groups_than_planned_are_refused() {
    let mut session = Session::start();
    session.measure(1, measuring("syscall/getppid:via=raw"));
    session.ready(1);
    session.go(1, 20);
    session.go(1, 2);
    assert_eq!(failure_reason(session.event()), "22 groups were requested; there is room for 21");
    session.check_responsive(2);
}

#[test]
fn a_case_whose_need_is_not_met_is_skipped_with_the_reason() {
    let mut session = Session::start();
    let case = "procedure/call:args=0,chain=dependent";
    session.measure(1, measuring(case));
    let skipped = session.event();
    let Event::Skipped { id: 1, missing, arm: None } = skipped else { panic!("{skipped:?}") };
    assert_eq!(missing, "a call without arguments cannot depend on the previous result");
    let count = Task::Count { warm_ops: 3, ops: 23 };
    session.send(&Order::Count { id: 2, spec: Box::new(spec(case, count)) });
    let skipped = session.event();
    assert!(matches!(skipped, Event::Skipped { id: 2, .. }), "{skipped:?}");
}

#[test]
fn a_worker_that_is_stopped_before_its_first_go_has_failed() {
    let mut session = Session::start();
    for (id, arms) in [(1, 1), (2, 2)] {
        let mut worker = measuring("syscall/getppid:via=raw");
        worker.arms = arms;
        session.measure(id, worker);
        session.ready(id);
        session.send(&Order::Stop { id });
        match (arms, session.event()) {
            (1, event) => {
                assert_eq!(failure_reason(event), "the worker was stopped before its first `go`")
            }
            (_, event) => assert_eq!(samples(event), []),
        }
    }
    session.measure(3, spec("timer/nothing", Task::Pilot { interruptions_per_s: 0.0 }));
    session.ready(3);
    session.send(&Order::Stop { id: 3 });
    assert_eq!(failure_reason(session.event()), "the pilot was stopped before its first `go`");
}

#[test]
fn an_invalid_order_is_answered_and_the_session_continues() {
    let mut session = Session::start();
    for line in [
        &b""[..],
        b"{}",
        b"garbage",
        b"\xff\xfe\x00\x01",
        b"[1,2,3]",
        br#"{"order":"measure","id":1}"#,
        br#"{"order":"no-such-order","id":1}"#,
        br#"{"order":"stop","id":-1}"#,
        br#"{"order":"stop","id":1,"force":true}"#,
        br#"{"order":"go","id":1,"batches":99999999999}"#,
    ] {
        session.send_bytes(line);
        let event = session.event();
        let Event::Failed { id: 0, at_op: None, reason, .. } = event else { panic!("{event:?}") };
        assert!(reason.starts_with("cannot parse an order: "), "{reason}");
    }
    session.check_responsive(1);
}

#[test]
fn orders_for_unknown_jobs_are_harmless() {
    let mut session = Session::start();
    session.go(99, 1);
    session.send(&Order::Stop { id: 99 });
    session.check_responsive(1);
    // Job 1 has just ended.
    session.go(1, 1);
    session.send(&Order::Stop { id: 1 });
    session.check_responsive(2);
}

#[test]
fn two_jobs_run_at_once_and_get_only_their_own_orders() {
    let mut session = Session::start();
    for id in [1, 2] {
        session.measure(id, measuring("syscall/getppid:via=raw"));
        session.ready(id);
    }
    // A job number in use is refused.
    session.measure(1, measuring("syscall/getppid:via=raw"));
    assert_eq!(failure_reason(session.event()), "job 1 is already running");
    for (id, batches) in [(2, 3), (1, 1), (1, 1), (2, 4)] {
        session.go(id, batches);
    }
    for (id, batches) in [(2, 7), (1, 2)] {
        session.send(&Order::Stop { id });
        let event = session.event();
        assert_eq!(event.id(), Some(id));
        assert_eq!(samples(event).len(), batches);
    }
}

#[test]
fn too_many_jobs_are_refused() {
    let mut session = Session::start();
    for id in 1..=64 {
        session.measure(id, measuring("syscall/getppid:via=raw"));
    }
    let ready: BTreeSet<u64> = (1..=64).filter_map(|_| session.event().id()).collect();
    assert_eq!(ready, (1..=64).collect());
    session.measure(65, measuring("syscall/getppid:via=raw"));
    assert_eq!(failure_reason(session.event()), "64 jobs are already running");
    session.go(64, 1);
    session.send(&Order::Stop { id: 64 });
    assert_eq!(samples(session.event()).len(), 1);
    session.check_responsive(66);
}

#[test]
fn a_worker_writes_nothing_while_it_is_timing() {
    let mut session = Session::start();
    session.measure(1, endless());
    let pid = session.ready(1);
    // The kernel's own count of the worker's writes, where it keeps one.
    let writes = || {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        let line = io.lines().find(|line| line.starts_with("syscw:")).map(str::to_owned)?;
        Some(line)
    };
    let before = writes();
    session.go(1, ENDLESS);
    until("the worker is timing", || cpu_ticks(pid) >= 5);
    session.expect_silence(Duration::from_millis(500));
    assert_eq!(writes(), before, "the worker has written while it was timing");
    assert!(session.workers().contains(&pid), "the worker has ended");
}

#[test]
fn a_probe_covers_the_allowed_cpus_and_leaves_out_the_others() {
    let mut session = Session::start();
    let allowed = session.hello.facts.cpu.allowed_cpus.clone().unwrap();
    let cpus = vec![allowed[0], 4_095];
    session.send(&Order::Probe { id: 1, cpus, spin_ms: 20, clock: ClockKind::Syscall });
    let event = session.event();
    let Event::Probed { id: 1, cpus } = event else { panic!("{event:?}") };
    assert_eq!(cpus.iter().map(|probe| probe.cpu).collect::<Vec<_>>(), [allowed[0]]);
    assert!(cpus[0].spin_ns > 0 && cpus[0].lost_ns <= cpus[0].spin_ns, "{cpus:?}");
}

/// The result of a watch.
fn watched(event: Event) -> SystemActivity {
    match event {
        Event::Watched { activity: watch, .. } => *watch,
        other => panic!("it should say what it saw: {other:?}"),
    }
}

#[test]
fn a_watch_sleeps_until_it_is_stopped_and_excludes_own_processes() {
    let mut session = Session::start();
    let tool = std::process::id();
    session.send(&Order::Watch { id: 1, excluded_pids: vec![tool] });
    let pid = session.ready(1);
    // A probe of this session runs at the same time.
    let allowed = session.hello.facts.cpu.allowed_cpus.clone().unwrap();
    let cpus = allowed.clone();
    session.send(&Order::Probe { id: 2, cpus, spin_ms: 200, clock: ClockKind::Syscall });
    assert_eq!(session.event().id(), Some(2));
    session.expect_silence(Duration::from_millis(20));
    assert!(session.workers().contains(&pid), "the watch has ended by itself");
    session.send(&Order::Stop { id: 1 });
    let watch = watched(session.event());
    let cpus: Vec<u32> = watch.cpus.iter().map(|cpu| cpu.cpu).collect();
    assert_eq!(cpus, allowed);
    assert!(watch.wall_ns >= 200_000_000, "{} ns", watch.wall_ns);
    let ours = [tool, session.pid(), pid];
    for process in &watch.processes {
        assert!(process.pids.iter().all(|pid| !ours.contains(pid)), "{process:?}");
        assert!(!process.name.contains(char::is_control), "{process:?}");
    }
    session.check_responsive(3);
}

#[test]
fn a_watch_names_the_processes_that_use_the_cpu() {
    let mut session = Session::start();
    session.send(&Order::Watch { id: 1, excluded_pids: vec![] });
    session.ready(1);
    // A process of this test, outside the session.
    let mut hog = Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    until("it has used some CPU time", || cpu_ticks(hog.id()) >= 20);
    session.send(&Order::Stop { id: 1 });
    let watch = watched(session.event());
    hog.kill().unwrap();
    hog.wait().unwrap();
    let of_hog = |process: &&ProcessActivity| process.name == "sh" && process.cpu_ns >= 200_000_000;
    assert!(watch.processes.iter().any(|process| of_hog(&process)), "{:?}", watch.processes);
}

#[test]
fn a_watch_that_gets_another_order_ends() {
    let mut session = Session::start();
    session.send(&Order::Watch { id: 1, excluded_pids: vec![] });
    session.ready(1);
    session.go(1, 1);
    assert_eq!(failure_reason(session.event()), "a watch accepts no order but `stop`");
    session.check_responsive(2);
}

#[test]
fn a_clock_that_cannot_be_calibrated_gives_the_reason() {
    let mut session = Session::start();
    let order = |id, cpu, clock| Order::Calibrate { id, cpu, clock };
    session.send(&order(1, Some(4_095), ClockKind::Syscall));
    let reason = failure_reason(session.event());
    assert!(reason.starts_with("pin to CPU 4095: "), "{reason}");
    session.send(&order(2, None, ClockKind::Instructions));
    assert!(failure_reason(session.event()).contains("instructions"));
}

#[test]
fn every_default_case_is_measured_or_skipped_with_a_reason() {
    let mut session = Session::start();
    for (id, case) in (1..).zip(default_cases(&benchmarks::data())) {
        // One op per batch: some works can prepare no more.
        session.measure(id, spec(&case, Task::Measure(plan(Mode::B, 1, &[1], 21))));
        match session.event() {
            Event::Ready { .. } => {
                session.go(id, 3);
                session.send(&Order::Stop { id });
                assert_eq!(samples(session.event()).len(), 3, "{case}");
            }
            Event::Skipped { missing, .. } => assert!(!missing.is_empty(), "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}
