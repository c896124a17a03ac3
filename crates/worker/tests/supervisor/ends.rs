//! How jobs and sessions end: whatever happens, it is said, and nothing is left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use oscost_model::clock::ClockKind;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::Task;

use crate::common::{
    ENDLESS, Folder, Session, cpu_ticks, endless, measuring, none_stands, signal, spec,
    standing_below, until, why, worker,
};

/// Starts a worker that times until it is ended; hands back its process.
fn timing(session: &mut Session, id: u64, arms: u8) -> u32 {
    let mut worker = endless();
    worker.arms = arms;
    session.measure(id, worker);
    let pid = session.ready(id);
    session.go(id, ENDLESS);
    // Twins time in processes of their own; the worker only hands them the token.
    let whose = match arms {
        1 => vec![pid],
        _ => session.workers().into_iter().filter(|&other| other != pid).collect(),
    };
    until("the worker is timing", || whose.iter().map(|&pid| cpu_ticks(pid)).sum::<u64>() >= 3);
    pid
}

/// The session's processes and files are gone.
fn nothing_is_left(session: &Session) {
    none_stands(session, "a session that has ended");
    assert_eq!(session.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_worker_has_failed_with_its_signal() {
    let mut session = Session::start();
    for (id, name) in [(1, "KILL"), (2, "TERM"), (3, "ABRT"), (4, "QUIT")] {
        let pid = timing(&mut session, id, 1);
        signal(pid, name);
        assert_eq!(why(session.event()), format!("the worker was killed by SIG{name}"));
    }
    // Before it is told to go, too.
    session.measure(5, measuring("syscall/getppid:via=raw"));
    let pid = session.ready(5);
    signal(pid, "KILL");
    assert_eq!(why(session.event()), "the worker was killed by SIGKILL");
    none_stands(&session, "a killed worker");
    session.still_answers(6);
}

#[test]
fn a_killed_worker_takes_its_twins_along() {
    let mut session = Session::start();
    let pid = timing(&mut session, 1, 3);
    assert_eq!(session.workers().len(), 4, "a worker and three arms");
    signal(pid, "KILL");
    assert_eq!(why(session.event()), "the worker was killed by SIGKILL");
    none_stands(&session, "a killed worker");
}

/// Starts a worker of `case`, pinned, with a process beside it; hands back both. None, and a word
/// about it, where this machine does not let a worker be pinned.
fn with_peer(session: &mut Session, id: u64, case: &str) -> Option<(u32, u32)> {
    let mut worker = measuring(case);
    worker.cpu = session.hello.facts.cpu.allowed_cpus.as_ref()?.last().copied();
    let mut clocks = session.hello.clocks.iter();
    worker.clock.kind = clocks.find(|clock| clock.unusable_reason.is_none())?.kind;
    session.measure(id, worker);
    let pid = match session.event() {
        Event::Ready { pid, .. } => pid,
        Event::Failed { reason: why, .. } if why.starts_with("pin to CPU") => {
            eprintln!("cannot run here: {why}");
            return None;
        }
        other => panic!("{other:?}"),
    };
    let peer = session.workers().into_iter().find(|&other| other != pid);
    Some((pid, peer.expect("it has no peer")))
}

#[test]
fn a_killed_worker_takes_its_peer_along_and_a_killed_peer_fails_its_worker() {
    let mut session = Session::start();
    for (id, by) in (1..).step_by(2).zip(["pipe", "signal", "futex", "eventfd", "yield"]) {
        let case = format!("switch/{by}:between=processes,peer_cpu=same");
        let Some((pid, _)) = with_peer(&mut session, id, &case) else { return };
        signal(pid, "KILL");
        assert_eq!(why(session.event()), "the worker was killed by SIGKILL");
        none_stands(&session, "a killed worker");
        let Some((_, peer)) = with_peer(&mut session, id + 1, &case) else { return };
        signal(peer, "KILL");
        session.go(id + 1, 21);
        session.send(&Order::Stop { id: id + 1 });
        match session.event() {
            Event::Failed { at_op: Some(0), .. } => {}
            other => panic!("{case} should have failed: {other:?}"),
        }
        none_stands(&session, "a worker without its peer");
    }
}

#[test]
fn peers_end_with_a_killed_supervisor_and_with_the_end_of_the_tool() {
    let cases = [
        "switch/pipe:between=processes,peer_cpu=same",
        "switch/yield:between=processes,peer_cpu=same",
        "switch/ring:ring=16,footprint=0",
        "switch/quantum:figure=slice",
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
            none_stands(&session, case);
        }
    }
}

#[test]
fn a_killed_twin_is_the_end_of_its_worker() {
    let mut session = Session::start();
    let pid = timing(&mut session, 1, 2);
    let twin = session.workers().into_iter().find(|&other| other != pid).unwrap();
    signal(twin, "KILL");
    let why = why(session.event());
    assert!(why.starts_with("a twin exited: "), "{why}");
    none_stands(&session, "a twin");
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
        none_stands(&session, "a worker that has timed out");
    }
    session.still_answers(3);
}

#[test]
fn a_worker_that_takes_too_long_has_timed_out_even_while_others_speak() {
    let mut session = Session::start();
    let mut slow = endless();
    slow.timeout_ms = 500;
    session.measure(1, slow);
    session.ready(1);
    session.go(1, ENDLESS);
    let mut timed_out = false;
    // Many times as long as its time.
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
fn the_end_of_the_input_is_the_end_of_everything() {
    for arms in [1, 2] {
        let mut session = Session::start();
        timing(&mut session, 1, arms);
        session.measure(2, measuring("syscall/getppid:via=raw"));
        session.ready(2);
        fs::write(session.scratch().join("left-by-a-worker"), "some").unwrap();
        session.close_input();
        assert!(session.ended().success());
        nothing_is_left(&session);
    }
}

#[test]
fn what_a_killed_worker_has_made_goes_with_the_session() {
    let mut session = Session::start();
    let files = |session: &Session| fs::read_dir(session.scratch()).unwrap().count();
    // Its work has a folder of its own, which no worker removes that is killed.
    session.measure(1, measuring("syscall/open-depth:depth=8"));
    let pid = session.ready(1);
    assert_eq!(files(&session), 1, "the folder is below the supervisor's own");
    signal(pid, "KILL");
    assert!(why(session.event()).contains("SIGKILL"));
    assert_eq!(files(&session), 1);
    // One that ends by itself takes its folder along.
    session.measured(2, measuring("syscall/getdents"), 1);
    until("the second worker has gone", || files(&session) == 1);
    session.close_input();
    assert!(session.ended().success());
    nothing_is_left(&session);
}

#[test]
fn a_session_that_is_asked_to_end_leaves_nothing_behind() {
    for name in ["TERM", "INT", "HUP"] {
        let mut session = Session::start();
        timing(&mut session, 1, 2);
        signal(session.pid(), name);
        assert!(session.ended().success(), "after SIG{name}");
        nothing_is_left(&session);
    }
}

#[test]
fn the_workers_of_a_killed_supervisor_end_with_it() {
    let mut session = Session::start();
    timing(&mut session, 1, 2);
    session.measure(2, measuring("syscall/getppid:via=raw"));
    session.ready(2);
    assert_eq!(session.workers().len(), 4);
    signal(session.pid(), "KILL");
    assert_eq!(session.ended().signal(), Some(9));
    none_stands(&session, "a killed supervisor");
}

#[test]
fn a_line_without_an_end_ends_the_session() {
    let mut session = Session::start();
    timing(&mut session, 1, 1);
    let endless = vec![b'x'; (16 << 20) + (1 << 17)];
    session.try_send(&endless);
    assert_eq!(session.ended().code(), Some(1));
    nothing_is_left(&session);
}

#[test]
fn a_tool_that_no_longer_listens_ends_the_session() {
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
    // It may have met the end of its output before it reads this.
    let _ = std::io::Write::write_all(&mut input, &[line, vec![b'\n']].concat());
    until("the supervisor ends", || child.try_wait().unwrap().is_some());
    assert_eq!(standing_below(folder.path()), Vec::<u32>::new());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a file was left behind");
    drop(input);
}

#[test]
fn a_machine_without_room_for_a_folder_is_measured_all_the_same() {
    let folder = Folder::new();
    let mut session = Session::start_with(&folder.path().join("no-such-folder"));
    assert_eq!(session.hello.scratch_directory, None);
    let event = session.measured(1, measuring("syscall/getppid:via=raw"), 5);
    assert!(matches!(event, Event::Sampled { id: 1, .. }), "{event:?}");
}

#[test]
fn twenty_jobs_leave_no_descriptor_no_process_and_no_file() {
    let mut session = Session::start();
    let fds = |session: &Session| -> BTreeSet<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", session.pid())).unwrap();
        open.map(|entry| entry.unwrap().path()).collect()
    };
    // One of each kind first, should any of them open something for good.
    for round in 0..2 {
        let before = fds(&session);
        for id in (100 * round + 1)..=(100 * round + 20) {
            job(&mut session, id);
        }
        // Everything said before this has been done.
        session.still_answers(100 * round + 99);
        none_stands(&session, "twenty jobs");
        until("the supervisor holds no descriptor of theirs", || fds(&session) == before);
    }
    let pid = session.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    assert_eq!(children.unwrap_or_default().trim(), "", "a child was not reaped");
    let inside: Vec<_> = fs::read_dir(session.scratch()).unwrap().collect();
    assert!(inside.is_empty(), "{inside:?}");
}

/// One job of some kind, from its first word to its last.
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
