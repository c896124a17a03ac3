//! The counted system calls of a program.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use oscost_model::program::{Program, ProgramLimits};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Task, WorkerSpec};

use crate::common::{Session, failure_reason, signal, until, wait_until_gone};
use crate::programs::{companion_running, program, sleepers, trial, words};

#[test]
fn the_calls_of_a_program_are_counted_as_one_op() {
    let mut session = Session::start();
    let count = |session: &mut Session, id: u64, script: &str| {
        let task = Task::Count { warm_ops: 0, ops: 1 };
        let spec = WorkerSpec { task, ..trial(program(script)) };
        session.send(&Order::Count { id, spec: Box::new(spec) });
        let event = session.event();
        wait_until_gone(session, "a counted program");
        event
    };
    let counted = |event: Event| match event {
        Event::Counted { count, .. } => Some(count),
        Event::Failed { reason, .. } if reason.contains("ptrace") => {
            eprintln!("cannot run here: {reason}");
            None
        }
        other => panic!("{other:?}"),
    };
    // The calls of the shell and of its children.
    let Some(one) = counted(count(&mut session, 1, "/bin/true; exit 0")) else { return };
    let Some(two) = counted(count(&mut session, 2, "/bin/true; /bin/true; exit 0")) else { return };
    assert_eq!((one.ops, one.peer.len()), (1, 0));
    assert_eq!((one.own.get("execve"), two.own.get("execve")), (Some(&1), Some(&2)));
    assert_eq!((one.own.get("exit_group"), two.own.get("exit_group")), (Some(&2), Some(&3)));
    let reason = failure_reason(count(&mut session, 3, "exit 7"));
    assert!(reason.contains("exited with status 7"), "{reason}");
    // Leftover processes are not waited for, and a program that hangs is ended by its time limit.
    counted(count(&mut session, 4, "(setsid sleep 1000 &); exit 0"));
    let task = Task::Count { warm_ops: 0, ops: 1 };
    let hangs =
        Program { companion: companion_running("echo 1; sleep 1000"), ..program("sleep 1000") };
    let limits = ProgramLimits { seconds: 1, ..ProgramLimits::default() };
    for (id, program) in [(5, Program { limits, ..hangs.clone() }), (6, hangs)] {
        let spec = WorkerSpec { task: task.clone(), ..trial(program) };
        session.send(&Order::Count { id, spec: Box::new(spec) });
        if id == 5 {
            let event = session.event();
            assert!(matches!(event, Event::TimedOut { after_ms: 1_000, .. }), "{event:?}");
            wait_until_gone(&session, "a count that has timed out");
        }
    }
    until("all of it runs", || sleepers(&session) == 2);
    signal(session.pid(), "KILL");
    assert_eq!(session.ended().signal(), Some(9));
    wait_until_gone(&session, "a count whose supervisor was killed");
}

/// The calls of a script by form; `None`, with a message, where ptrace is refused.
fn forms_of(session: &mut Session, id: u64, script: &str) -> Option<ProgramCalls> {
    let spec = WorkerSpec { task: Task::CountForms, ..trial(program(script)) };
    session.send(&Order::Count { id, spec: Box::new(spec) });
    let event = session.event();
    wait_until_gone(session, "a counted program");
    match event {
        Event::FormsCounted { calls, .. } => Some(*calls),
        Event::Failed { reason, .. } if reason.contains("ptrace") => {
            eprintln!("cannot run here: {reason}");
            None
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_calls_of_a_program_are_counted_by_form_and_size() {
    let mut session = Session::start();
    let script = "dd if=/dev/zero of=/dev/null bs=4096 count=100 2>/dev/null; /bin/true; exit 0";
    let Some(calls) = forms_of(&mut session, 1, script) else { return };
    let of = |form: &str, bytes: Option<u64>| -> u64 {
        let of_form = calls.forms.iter().filter(|it| it.form == form && it.bytes == bytes);
        of_form.map(|it| it.calls).sum()
    };
    let page = Some(4_096);
    assert_eq!((of("read device", page), of("write device", page)), (100, 100), "{calls:?}");
    // The shell, dd and true.
    assert_eq!((calls.execs, calls.forks, calls.exits), (3, 2, 3), "{calls:?}");
    assert_eq!((of("exit_group", None), calls.killed, calls.threads), (3, 0, 0));
    assert!(of("openat ENOENT", None) + of("access ENOENT", None) > 0, "{calls:?}");
    let deep = calls.forms.iter().any(|it| it.form == "openat file" && it.depth > Some(1));
    assert!(deep || calls.unread > 0, "{calls:?}");
    // A process that stops itself waits for SIGCONT under a tracer, too.
    let stops = "sh -c 'kill -STOP $$; exit 0' & p=$!; sleep 0.2; kill -CONT $p; wait $p; exit 0";
    let Some(calls) = forms_of(&mut session, 2, stops) else { return };
    assert!(calls.signals >= 2, "{calls:?}");
    // A process that outlives the program is killed.
    let Some(calls) = forms_of(&mut session, 3, "(setsid sleep 1000 &); exit 0") else { return };
    assert_eq!(calls.killed, 1, "{calls:?}");
    let spec = WorkerSpec { task: Task::CountForms, ..trial(program("exit 7")) };
    session.send(&Order::Count { id: 4, spec: Box::new(spec) });
    let reason = failure_reason(session.event());
    assert!(reason.contains("exited with status 7"), "{reason}");
    let missing = Program { command: words(&["no-such-command"]), ..Program::default() };
    let spec = WorkerSpec { task: Task::CountForms, ..trial(missing) };
    session.send(&Order::Count { id: 5, spec: Box::new(spec) });
    let reason = failure_reason(session.event());
    assert!(reason.contains("cannot be started") || reason.contains("ptrace"), "{reason}");
}

#[test]
fn as_many_calls_are_counted_as_strace_counts() {
    let script = "for i in 1 2 3; do /bin/true; echo $i; done; (exit 0); exit 0";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o", "/dev/fd/2", "sh", "-c", script]);
    // A shell asks where it is if this variable, as in the folder of the session, is of another one.
    if std::env::var_os("PWD").is_some() {
        strace.env("PWD", "/");
    }
    let Ok(traced) = strace.stdin(Stdio::null()).stdout(Stdio::null()).output() else {
        return eprintln!("skipped: there is no strace");
    };
    let text = String::from_utf8_lossy(&traced.stderr).into_owned();
    // `% time, seconds, usecs/call, calls, errors or nothing, name`.
    let line = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let calls = columns.get(3)?.parse::<u64>().ok()?;
        Some(((*columns.last()?).to_owned(), calls))
    };
    let mut expected: BTreeMap<String, u64> = text.lines().filter_map(line).collect();
    expected.remove("total");
    if expected.is_empty() {
        return eprintln!("skipped: strace counts nothing here: {text}");
    }
    let mut session = Session::start();
    let Some(calls) = forms_of(&mut session, 1, script) else { return };
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for form in &calls.forms {
        let name = form.form.split(' ').next().unwrap_or_default();
        *counted.entry(name.to_owned()).or_default() += form.calls;
    }
    for by_schedule in ["exit", "exit_group", "wait4", "read", "rt_sigreturn", "restart_syscall"] {
        // The first two never return; the others depend on who is first, the parent or the child.
        expected.remove(by_schedule);
        counted.remove(by_schedule);
    }
    assert_eq!(counted, expected);
}
