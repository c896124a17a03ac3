//! No process of a run outlives it.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use oscost_model::program::Program;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::WorkerSpec;

use crate::common::{Folder, Session, failure_reason, signal, until, wait_until_gone};
use crate::programs::{
    companion_running, event, event_of, in_scratch, program, ran, sleepers, trial, words,
};

#[test]
fn a_program_that_leaves_processes_behind_has_failed_and_they_are_killed() {
    let mut session = Session::start();
    let reason = failure_reason(event(
        &mut session,
        1,
        program("(setsid sleep 1000 &); sleep 1000 & sleep 0.1"),
    ));
    assert!(reason.ends_with(" left 2 processes running: `sleep`, `sleep`"), "{reason}");
    let reason =
        failure_reason(event(&mut session, 2, program("setsid sh -c 'sleep 1000 & wait' &")));
    assert!(reason.contains(" left 2 processes running: `sh`, `sleep`"), "{reason}");
    let daemon = Program { may_leave_processes: true, ..program("sleep 1000 & echo begun") };
    assert_eq!(ran(event(&mut session, 4, daemon)).output, "begun\n");
    assert_eq!(sleepers(&session), 0, "the daemon is killed");
    // A background process that exits soon is no failure, and its usage counts.
    let busy = "(i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo done) & exit 0";
    let result = ran(event(&mut session, 3, program(busy)));
    assert_eq!(result.output, "done\n");
    assert!(result.usage.user_ns + result.usage.system_ns > 0, "{result:?}");
}

#[test]
fn a_program_run_leaves_no_process_if_any_of_its_processes_is_killed() {
    // Daemons of the companion and of the program: in sessions of their own, reparented.
    let script = "(setsid sh -c 'sleep 1000 & sleep 1000' &); echo > up; sleep 1000";
    let folder = Folder::new();
    let done = folder.path().join("done");
    let daemons = Program {
        companion: companion_running("echo 1; setsid sleep 1000 & sleep 1000"),
        after: vec![words(&["touch", done.to_str().unwrap()])],
        ..program(script)
    };
    for end in ["stop", "input", "worker", "treated worker", "supervisor", "term"] {
        let mut session = Session::start();
        session.measure(1, trial(daemons.clone()));
        until("all of them run", || sleepers(&session) == 5);
        let child_of = |pid: u32| -> Vec<u32> {
            let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
        };
        let worker = child_of(session.pid())[0];
        let exe = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
        let treated = child_of(worker).into_iter().find(|&pid| exe(pid) == exe(worker)).unwrap();
        match end {
            "stop" => session.send(&Order::Stop { id: 1 }),
            "input" => session.close_input(),
            "worker" => signal(worker, "KILL"),
            "treated worker" => signal(treated, "KILL"),
            "term" => signal(session.pid(), "TERM"),
            _ => signal(session.pid(), "KILL"),
        }
        match end {
            "stop" => assert!(
                failure_reason(session.event()).contains("was stopped before it had exited")
            ),
            "worker" | "treated worker" => {
                assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
            }
            "supervisor" => assert_eq!(session.ended().signal(), Some(9)),
            "term" => assert_eq!(session.ended().code(), Some(143)),
            _ => assert!(session.ended().success()),
        }
        wait_until_gone(&session, &format!("a trial after the end: {end}"));
        if !["input", "term"].contains(&end) {
            until("its folder is gone", || in_scratch(&session).is_empty());
        }
        // Except if the worker itself was killed.
        assert_eq!(fs::remove_file(&done).is_ok(), end != "worker", "{end}");
    }
}

#[test]
fn a_program_run_whose_worker_hangs_times_out_and_leaves_nothing() {
    let mut session = Session::start();
    let spec =
        WorkerSpec { timeout_ms: 700, ..trial(program("(setsid sleep 1000 &); sleep 1000")) };
    match event_of(&mut session, 1, spec) {
        Event::TimedOut { after_ms: 700, reason: None, .. } => {}
        other => panic!("{other:?}"),
    }
    session.check_responsive(2);
}
