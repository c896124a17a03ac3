//! Workers under treatments, and arms with different treatments.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::{AppliedTreatment, Limit};
use oscost_model::worker::{Mode, Sample, Task, WorkerSpec};
use oscost_worker::benchmarks;

use crate::common::{
    ENDLESS, Session, cpu_ticks, default_cases, endless, failure_reason, measuring, plan, signal,
    spec, until, wait_until_gone,
};

const GETPPID: &str = "syscall/getppid:via=raw";

/// An instruction of classic BPF.
const fn instruction(code: u64, jt: u64, jf: u64, k: u32) -> u64 {
    code << 48 | jt << 40 | jf << 32 | k as u64
}

const LOAD: u64 = 0x20;
const IF_EQUAL: u64 = 0x15;
const RETURN: u64 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;

fn filter(program: &[u64]) -> AppliedTreatment {
    AppliedTreatment::Seccomp { program: program.to_vec() }
}

fn allow() -> AppliedTreatment {
    filter(&[instruction(RETURN, 0, 0, ALLOW)])
}

/// A filter that returns `what` for getppid(2) and allows everything else.
fn at_getppid(what: u32) -> AppliedTreatment {
    #[cfg(target_arch = "x86_64")]
    const NUMBER: u32 = 110;
    #[cfg(target_arch = "aarch64")]
    const NUMBER: u32 = 173;
    filter(&[
        instruction(LOAD, 0, 0, 0),
        instruction(IF_EQUAL, 0, 1, NUMBER),
        instruction(RETURN, 0, 0, what),
        instruction(RETURN, 0, 0, ALLOW),
    ])
}

const KILL: u32 = 0x8000_0000;
const EPERM: u32 = 0x0005_0001;

/// This worker, pinned, so that its monitors share its CPU.
fn pinned(session: &Session, worker: WorkerSpec) -> WorkerSpec {
    let cpus = session.hello.facts.cpu.allowed_cpus.as_ref();
    WorkerSpec { cpu: cpus.and_then(|cpus| cpus.last().copied()), ..worker }
}

/// A worker of `case` under these treatments.
fn treated(session: &Session, case: &str, applied: &[AppliedTreatment]) -> WorkerSpec {
    WorkerSpec { treatments: vec![applied.to_vec()], ..pinned(session, measuring(case)) }
}

/// A worker of `case` with an arm for each of these.
fn arms(session: &Session, case: &str, treatments: &[&[AppliedTreatment]]) -> WorkerSpec {
    arms_with_batches(1, session, case, treatments)
}

/// The same with batches of this many iterations.
fn arms_with_batches(
    iterations: u64,
    session: &Session,
    case: &str,
    treatments: &[&[AppliedTreatment]],
) -> WorkerSpec {
    WorkerSpec {
        arms: treatments.len() as u8,
        treatments: treatments.iter().map(|applied| applied.to_vec()).collect(),
        ..pinned(session, spec(case, Task::Measure(plan(Mode::B, iterations, &[1], 21))))
    }
}

/// Starts a worker and waits until it is ready; `None`, with a message, if the machine lacks
/// something.
fn ready(session: &mut Session, id: u64, worker: WorkerSpec) -> Option<u32> {
    session.measure(id, worker);
    match session.event() {
        Event::Ready { pid, .. } => Some(pid),
        Event::Skipped { missing, .. } => {
            eprintln!("cannot run here: {missing}");
            None
        }
        other => panic!("{other:?}"),
    }
}

/// Runs a worker of this spec; returns its samples, and how often its monitors woke.
fn run_batches(
    session: &mut Session,
    id: u64,
    worker: WorkerSpec,
) -> Option<(Vec<Sample>, Vec<Option<f64>>)> {
    ready(session, id, worker)?;
    session.go(id, 3);
    session.send(&Order::Stop { id });
    match session.event() {
        Event::Sampled { samples, monitor_wakeups_per_op: wakeups, .. } => Some((samples, wakeups)),
        other => panic!("it should have samples: {other:?}"),
    }
}

/// A line of a process's status (proc(5)).
fn status(pid: u32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key}:")));
    line.unwrap_or_default().trim().to_owned()
}

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
    assert_eq!(of("NoNewPrivs", "1"), [arm]);
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
fn a_monitor_wakes_as_often_as_its_kind_implies_and_never_without_a_system_call() {
    let mut session = Session::start();
    let kinds = [
        (AppliedTreatment::Ptrace, 2.0),
        (AppliedTreatment::SeccompTrace, 1.0),
        (AppliedTreatment::SeccompNotify, 1.0),
    ];
    let clock = "timer/clock-gettime:clock=monotonic,via=vdso";
    let procedure = "procedure/call:args=4,chain=independent";
    for (at, (monitor, stops)) in (0..).zip(kinds) {
        for (id, (case, stops)) in
            [(GETPPID, stops), (clock, 0.0), (procedure, 0.0)].iter().enumerate()
        {
            let id = 10 * at + id as u64;
            let worker = treated(&session, case, std::slice::from_ref(&monitor));
            let Some((_, wakeups)) = run_batches(&mut session, id, worker) else { continue };
            assert_eq!(wakeups, [Some(*stops)], "{case} under {monitor:?}");
        }
    }
    let worker = treated(
        &session,
        GETPPID,
        &[AppliedTreatment::Sud, AppliedTreatment::Nice { increment: 1 }],
    );
    let Some((samples, wakeups)) = run_batches(&mut session, 90, worker) else { return };
    assert_eq!((samples.len(), wakeups), (3, vec![None]));
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
    let why = failure_reason(session.event());
    assert_eq!(
        why,
        "the worker was killed by SIGSYS under seccomp: a filter forbids a call that it makes"
    );
    let kills = arms(&session, GETPPID, &[&[], &[at_getppid(KILL)]]);
    session.measure(2, kills);
    match session.event() {
        Event::Failed { reason: why, arm: Some(1), .. } => {
            assert!(why.contains("SIGSYS under seccomp"), "{why}");
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
        Event::Failed { reason: why, .. } if why.contains("ptrace is refused") => {
            eprintln!("{why}")
        }
        other => panic!("{other:?}"),
    }
    assert!(
        failure_reason(count(2, AppliedTreatment::SeccompTrace)).contains("a tracer counts them")
    );
    assert!(failure_reason(count(3, at_getppid(KILL))).contains("killed by SIGSYS"));
}

/// Control groups that are named after a session.
fn groups(session: &Session) -> Vec<PathBuf> {
    let mark = session.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let root = Path::new("/sys/fs/cgroup");
    let folders = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders: Vec<PathBuf> = folders.chain([root.to_owned()]).collect();
    let below = |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let all = folders.iter().flat_map(below).map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&mark))
    };
    let mut found: Vec<PathBuf> = all.filter(ours).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn a_control_group_contains_its_process_and_is_removed_however_that_ends() {
    let limited = [AppliedTreatment::Cgroup {
        limits: vec![Limit::Cpu { percent: 90 }, Limit::Pids { max: 50 }],
    }];
    for end in ["stop", "killed worker", "killed job", "end of input"] {
        let mut session = Session::start();
        let worker = WorkerSpec { treatments: vec![limited.to_vec()], ..endless() };
        let Some(pid) = ready(&mut session, 1, worker) else { return };
        let made = groups(&session);
        assert!(!made.is_empty());
        for group in &made {
            let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            assert_eq!(inside.trim(), pid.to_string(), "{}", group.display());
        }
        session.go(1, 5);
        match end {
            "stop" => {
                session.send(&Order::Stop { id: 1 });
                assert!(matches!(session.event(), Event::Sampled { .. }));
            }
            "killed worker" => {
                session.go(1, ENDLESS - 5);
                signal(pid, "KILL");
                let why = failure_reason(session.event());
                assert_eq!(why, "the worker was killed by SIGKILL under cgroup");
            }
            "killed job" => {
                session.go(1, ENDLESS - 5);
                signal(status(pid, "PPid").parse().unwrap(), "KILL");
                assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
            }
            _ => {
                session.close_input();
                assert!(session.ended().success());
            }
        }
        until(&format!("the group is gone after: {end}"), || groups(&session).is_empty());
    }
    // In two arms at once, and without limits.
    let mut session = Session::start();
    let alone = [AppliedTreatment::Cgroup { limits: Vec::new() }];
    let worker = arms(&session, GETPPID, &[&alone, &alone]);
    let Some((samples, _)) = run_batches(&mut session, 2, worker) else { return };
    assert_eq!(samples.len(), 6);
    until("both groups are gone", || groups(&session).is_empty());
}

#[test]
fn the_next_session_removes_the_groups_of_a_killed_one() {
    let mut first = Session::start();
    let group = vec![AppliedTreatment::Cgroup { limits: Vec::new() }];
    let worker = WorkerSpec { treatments: vec![group], ..endless() };
    let Some(pid) = ready(&mut first, 1, worker) else { return };
    // It is timing, and does not notice the end of its input.
    first.go(1, ENDLESS);
    until("it is timing", || cpu_ticks(pid) >= 3);
    signal(first.pid(), "KILL");
    assert_eq!(first.ended().signal(), Some(9));
    wait_until_gone(&first, "a killed supervisor");
    assert!(!groups(&first).is_empty());
    let _next = Session::start_with(first.folder());
    assert_eq!(groups(&first), Vec::<PathBuf>::new());
}

#[test]
fn monitors_and_arms_exit_however_the_worker_ends() {
    let monitors = [
        vec![AppliedTreatment::Ptrace],
        vec![AppliedTreatment::SeccompNotify],
        vec![AppliedTreatment::Ptrace, AppliedTreatment::SeccompNotify],
    ];
    for monitor in &monitors {
        for end in ["measured", "monitor", "peer", "worker", "supervisor", "input"] {
            let mut session = Session::start();
            // With a peer, which is treated, too.
            let case = "pipe/round-trip:by=pipe,size=4,peer_cpu=same";
            let mut worker = arms(&session, case, &[monitor, &[]]);
            worker.task = Task::Measure(plan(Mode::B, 10, &[1], ENDLESS));
            let Some(coordinator) = ready(&mut session, 1, worker) else { return };
            session.go(1, ENDLESS);
            let workers = session.workers();
            let child_of = |parent: u32| {
                let is_child = |pid: &&u32| status(**pid, "PPid") == parent.to_string();
                workers.iter().find(is_child).copied()
            };
            let line = |from: u32| {
                let all: Vec<u32> =
                    std::iter::successors(Some(from), |&pid| child_of(pid)).collect();
                all
            };
            let arms =
                workers.iter().filter(|&&pid| status(pid, "PPid") == coordinator.to_string());
            let treated = arms.map(|&pid| line(pid)).max_by_key(Vec::len).unwrap();
            // Monitors, the measured process, its peer.
            assert_eq!(treated.len(), monitor.len() + 2, "{monitor:?}: {treated:?}");
            match end {
                "measured" => signal(treated[treated.len() - 2], "KILL"),
                "monitor" => signal(treated[0], "KILL"),
                "peer" => signal(treated[treated.len() - 1], "KILL"),
                "worker" => signal(coordinator, "KILL"),
                "supervisor" => signal(session.pid(), "KILL"),
                _ => session.close_input(),
            }
            match end {
                "measured" | "monitor" | "worker" => {
                    let why = failure_reason(session.event());
                    assert!(why.contains("SIGKILL"), "{end} of {monitor:?}: {why}");
                }
                "peer" => {
                    let event = session.event();
                    assert!(matches!(event, Event::Failed { arm: Some(0), .. }), "{event:?}");
                }
                _ => assert_eq!(session.ended().success(), end == "input"),
            }
            wait_until_gone(&session, &format!("{monitor:?} after the end of the {end}"));
        }
    }
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
        if let Some((samples, _)) = run_batches(&mut session, id, worker) {
            assert_eq!(samples.len(), 3);
        }
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
fn peers_and_children_are_monitored_like_their_arm() {
    let mut session = Session::start();
    let cases = [
        "pipe/round-trip:by=pipe,size=4,peer_cpu=same",
        "process/fork-exit:touched_mib=0,peer_cpu=same",
        "thread/create-join:via=raw,peer_cpu=same",
        "file/read:via=read,size=4096,cache=warm,file_mib=8",
        "event/wait:method=poll,fds=10,ready=one",
    ];
    for (at, monitor) in (0..).zip([
        AppliedTreatment::Ptrace,
        AppliedTreatment::SeccompTrace,
        AppliedTreatment::SeccompNotify,
    ]) {
        for (id, case) in (10 * at..).zip(cases) {
            // A peer's last two stops may come after the caller's last: negligible in many
            // iterations.
            let treatments = [&[][..], std::slice::from_ref(&monitor), &[allow()]];
            let worker = arms_with_batches(16, &session, case, &treatments);
            let Some((samples, wakeups)) = run_batches(&mut session, id, worker) else { continue };
            assert_eq!(samples.len(), 9, "{case}");
            let &[None, Some(stops), None] = &wakeups[..] else { panic!("{case}: {wakeups:?}") };
            // A round trip is two writes and two reads, of which the peer makes half.
            let calls = match () {
                () if case.starts_with("pipe") => 4.0,
                () if case.starts_with("process") => 3.0,
                () if case.starts_with("thread") => 2.0,
                () => 1.0,
            };
            let each = if monitor == AppliedTreatment::Ptrace { 1.9 } else { 0.9 };
            assert!(stops >= calls * each, "{case} under {monitor:?}: {stops}");
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
