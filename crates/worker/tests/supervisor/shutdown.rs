//! How jobs and sessions end: every end is reported, and nothing is left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use oscost_model::clock::ClockKind;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::Task;

use crate::common::{
    ENDLESS, Folder, Session, cpu_ticks, endless, failure_reason, measuring, processes_in, signal,
    spec, until, wait_until_gone, worker,
};

/// Starts a worker that times until it is killed; returns its process number.
fn start_timing(session: &mut Session, id: u64, arms: u8) -> u32 {
    let mut worker = endless();
    worker.arms = arms;
    session.measure(id, worker);
    let pid = session.ready(id);
    session.go(id, ENDLESS);
    // Twins time in their own processes; the worker only passes the token.
    let timing_pids = match arms {
        1 => vec![pid],
        _ => session.workers().into_iter().filter(|&other| other != pid).collect(),
    };
    until("the worker is timing", || {
        timing_pids.iter().map(|&pid| cpu_ticks(pid)).sum::<u64>() >= 3
    });
    pid
}

/// Checks that the session's processes and files are gone.
fn check_nothing_left(session: &Session) {
    wait_until_gone(session, "a session that has ended");
    assert_eq!(session.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_worker_has_failed_with_its_signal() {
    let mut session = Session::start();
    for (id, name) in [(1, "KILL"), (2, "TERM"), (3, "ABRT"), (4, "QUIT")] {
        let pid = start_timing(&mut session, id, 1);
        signal(pid, name);
        assert_eq!(failure_reason(session.event()), format!("the worker was killed by SIG{name}"));
    }
    // Also before its first `go`.
    session.measure(5, measuring("syscall/getppid:via=raw"));
    let pid = session.ready(5);
    signal(pid, "KILL");
    assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
    wait_until_gone(&session, "a killed worker");
    session.check_responsive(6);
}

#[test]
fn the_twins_of_a_killed_worker_exit() {
    let mut session = Session::start();
    let pid = start_timing(&mut session, 1, 3);
    assert_eq!(session.workers().len(), 4, "a worker and three arms");
    signal(pid, "KILL");
    assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
    wait_until_gone(&session, "a killed worker");
}

/// Starts a pinned worker of `case`, which has a peer; returns both process numbers. `None`, with a
/// message, if pinning is not possible here.
fn with_peer(session: &mut Session, id: u64, case: &str) -> Option<(u32, u32)> {
    let mut worker = measuring(case);
    worker.cpu = session.hello.facts.cpu.allowed_cpus.as_ref()?.last().copied();
    let mut clocks = session.hello.clocks.iter();
    worker.clock.kind = clocks.find(|clock| clock.unusable_reason.is_none())?.kind;
    session.measure(id, worker);
    let pid = match session.event() {
        Event::Ready { pid, .. } => pid,
        Event::Failed { reason, .. } if reason.starts_with("pin to CPU") => {
            eprintln!("cannot run here: {reason}");
            return None;
        }
        other => panic!("{other:?}"),
    };
    let peer = session.workers().into_iter().find(|&other| other != pid);
    Some((pid, peer.expect("it has no peer")))
}

#[test]
fn the_peer_of_a_killed_worker_exits_and_a_killed_peer_fails_its_worker() {
    let mut session = Session::start();
    for (id, by) in (1..).step_by(2).zip(["pipe", "signal", "futex", "eventfd", "yield"]) {
        let case = format!("switch/{by}:between=processes,peer_cpu=same");
        let Some((pid, _)) = with_peer(&mut session, id, &case) else { return };
        signal(pid, "KILL");
        assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
        wait_until_gone(&session, "a killed worker");
        let Some((_, peer)) = with_peer(&mut session, id + 1, &case) else { return };
        signal(peer, "KILL");
        session.go(id + 1, 21);
        session.send(&Order::Stop { id: id + 1 });
        match session.event() {
            Event::Failed { at_op: Some(0), .. } => {}
            other => panic!("{case} should have failed: {other:?}"),
        }
        wait_until_gone(&session, "a worker without its peer");
    }
}

#[test]
fn peers_exit_when_the_supervisor_is_killed_or_the_tool_exits() {
    let cases = [
        "switch/pipe:between=processes,peer_cpu=same",
        "switch/yield:between=processes,peer_cpu=same",
        "switch/ring:ring=16,footprint=0",
        "switch/quantum:figure=slice",
        "sched/yield:tasks=8",
        "sched/wakeup:wake=futex,busy=1,peer_cpu=same",
    ];
    for case in cases {
        for is_killed in [true, false] {
            let mut session = Session::start();
            if with_peer(&mut session, 1, case).is_none() {
                return;
            }
            session.go(1, ENDLESS);
            if is_killed {
                signal(session.pid(), "KILL");
            } else {
                session.close_input();
            }
            assert_eq!(session.ended().signal(), is_killed.then_some(9), "{case}");
            wait_until_gone(&session, case);
        }
    }
}

#[test]
fn a_killed_twin_fails_its_worker() {
    let mut session = Session::start();
    let pid = start_timing(&mut session, 1, 2);
    let twin = session.workers().into_iter().find(|&other| other != pid).unwrap();
    signal(twin, "KILL");
    let reason = failure_reason(session.event());
    assert!(reason.starts_with("a twin exited: "), "{reason}");
    wait_until_gone(&session, "a twin");
}

#[test]
fn a_stopped_worker_has_timed_out() {
    let mut session = Session::start();
    for (id, arms) in [(1, 1), (2, 2)] {
        let mut worker = measuring("syscall/getppid:via=raw");
        (worker.timeout_ms, worker.arms) = (700, arms);
        session.measure(id, worker);
        let pid = session.ready(id);
        signal(pid, "STOP");
        session.go(id, 21);
        session.send(&Order::Stop { id });
        match session.event() {
            Event::TimedOut { id: of, after_ms: 700, .. } if of == id => {}
            other => panic!("it should have timed out: {other:?}"),
        }
        wait_until_gone(&session, "a worker that has timed out");
    }
    session.check_responsive(3);
}

#[test]
fn a_worker_that_takes_too_long_times_out_even_while_others_write() {
    let mut session = Session::start();
    let mut slow = endless();
    slow.timeout_ms = 500;
    session.measure(1, slow);
    session.ready(1);
    session.go(1, ENDLESS);
    let mut timed_out = false;
    // Many times its timeout.
    for id in 2..3_000 {
        session.measure(id, measuring("timer/nothing"));
        match session.event() {
            Event::TimedOut { id: 1, after_ms: 500, .. } => timed_out = true,
            Event::Ready { .. } => {}
            other => panic!("{other:?}"),
        }
        if timed_out {
            break;
        }
        session.go(id, 1);
        session.send(&Order::Stop { id });
        let event = session.event();
        timed_out = matches!(event, Event::TimedOut { id: 1, .. });
        if timed_out {
            break;
        }
    }
    assert!(timed_out);
}

#[test]
fn the_end_of_input_ends_every_job() {
    for arms in [1, 2] {
        let mut session = Session::start();
        start_timing(&mut session, 1, arms);
        session.measure(2, measuring("syscall/getppid:via=raw"));
        session.ready(2);
        fs::write(session.scratch().join("left-by-a-worker"), "some").unwrap();
        session.close_input();
        assert!(session.ended().success());
        check_nothing_left(&session);
    }
}

#[test]
fn files_of_a_killed_worker_are_removed_with_the_session() {
    let mut session = Session::start();
    let files = |session: &Session| fs::read_dir(session.scratch()).unwrap().count();
    // Its work has a directory of its own, which a killed worker cannot remove.
    session.measure(1, measuring("syscall/open-depth:depth=8"));
    let pid = session.ready(1);
    assert_eq!(files(&session), 1, "the folder is below the supervisor's own");
    signal(pid, "KILL");
    assert!(failure_reason(session.event()).contains("SIGKILL"));
    assert_eq!(files(&session), 1);
    // A worker that exits normally removes its directory.
    session.measured(2, measuring("syscall/getdents"), 1);
    until("the second worker has gone", || files(&session) == 1);
    session.close_input();
    assert!(session.ended().success());
    check_nothing_left(&session);
}

#[test]
fn a_session_that_gets_a_signal_leaves_nothing_behind() {
    // Bit 0 is SIGHUP: nohup(1) has these tests ignore it, and all that they start.
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let mask = own.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let is_hangup_ignored = u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1;
    for (name, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        if name == "HUP" && is_hangup_ignored {
            eprintln!("cannot test SIGHUP here: it is ignored");
            continue;
        }
        let mut session = Session::start();
        start_timing(&mut session, 1, 2);
        signal(session.pid(), name);
        assert_eq!(session.ended().code(), Some(status), "after SIG{name}");
        check_nothing_left(&session);
    }
}

#[test]
fn the_workers_of_a_killed_supervisor_exit() {
    let mut session = Session::start();
    start_timing(&mut session, 1, 2);
    session.measure(2, measuring("syscall/getppid:via=raw"));
    session.ready(2);
    assert_eq!(session.workers().len(), 4);
    signal(session.pid(), "KILL");
    assert_eq!(session.ended().signal(), Some(9));
    wait_until_gone(&session, "a killed supervisor");
}

#[test]
fn a_line_without_newline_ends_the_session() {
    let mut session = Session::start();
    start_timing(&mut session, 1, 1);
    let endless = vec![b'x'; (16 << 20) + (1 << 17)];
    session.try_send(&endless);
    assert_eq!(session.ended().code(), Some(1));
    check_nothing_left(&session);
}

#[test]
fn a_closed_output_ends_the_session() {
    let folder = Folder::new();
    let mut child = Command::new(worker())
        .arg("supervise")
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let order = Order::Calibrate { id: 1, cpu: None, clock: ClockKind::Syscall };
    let mut input = child.stdin.take().unwrap();
    let line = serde_json::to_vec(&order).unwrap();
    // It may have found its output closed before it reads this.
    let _ = std::io::Write::write_all(&mut input, &[line, vec![b'\n']].concat());
    until("the supervisor ends", || child.try_wait().unwrap().is_some());
    assert_eq!(processes_in(folder.path()), Vec::<u32>::new());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a file was left behind");
    drop(input);
}

#[test]
fn a_stack_that_is_too_small_is_refused_with_the_way_out() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -s 64; exec \"$0\" supervise"]).arg(worker());
    let ran = shell.stdin(Stdio::null()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(text.contains("limited to 64 KiB") && text.contains("`ulimit -s 8192`"), "{text}");
    assert_eq!(ran.stdout, b"", "it said hello");
}

#[test]
fn a_machine_without_a_writable_directory_can_be_measured() {
    let folder = Folder::new();
    let mut session = Session::start_with(&folder.path().join("no-such-folder"));
    assert_eq!(session.hello.scratch_directory, None);
    let event = session.measured(1, measuring("syscall/getppid:via=raw"), 5);
    assert!(matches!(event, Event::Sampled { id: 1, .. }), "{event:?}");
}

#[test]
fn twenty_jobs_leave_no_descriptor_process_or_file() {
    let mut session = Session::start();
    let fds = |session: &Session| -> BTreeSet<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", session.pid())).unwrap();
        open.map(|entry| entry.unwrap().path()).collect()
    };
    // One of each kind first, in case one of them opens something permanently.
    for round in 0..2 {
        let before = fds(&session);
        for id in (100 * round + 1)..=(100 * round + 20) {
            job(&mut session, id);
        }
        // Everything ordered before this has been done.
        session.check_responsive(100 * round + 99);
        wait_until_gone(&session, "twenty jobs");
        until("the supervisor has no descriptor of theirs open", || fds(&session) == before);
    }
    let pid = session.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    assert_eq!(children.unwrap_or_default().trim(), "", "a child was not reaped");
    let inside: Vec<_> = fs::read_dir(session.scratch()).unwrap().collect();
    assert!(inside.is_empty(), "{inside:?}");
}

/// Runs one job, whose kind depends on `id`.
fn job(session: &mut Session, id: u64) {
    let getppid = "syscall/getppid:via=raw";
    match id % 5 {
        0 => {
            let spec = spec(getppid, Task::Count { warm_ops: 3, ops: 23 });
            session.send(&Order::Count { id, spec: Box::new(spec) });
        }
        1 => {
            let mut worker = measuring(getppid);
            worker.arms = 2;
            session.measure(id, worker);
            session.ready(id);
            session.go(id, 2);
            session.send(&Order::Stop { id });
        }
        2 => {
            session.measure(id, measuring(getppid));
            let pid = session.ready(id);
            signal(pid, "KILL");
        }
        3 => session.measure(id, measuring("syscall/no-such-thing")),
        _ => session.send(&Order::Calibrate { id, cpu: None, clock: ClockKind::Vdso }),
    }
    assert_eq!(session.event().id(), Some(id));
}
