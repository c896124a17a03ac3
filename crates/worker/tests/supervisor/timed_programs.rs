//! Timed programs whose output is not read: which system calls are between the two readings of the
//! clock, and that limits, orders and standard error are seen although nothing is polled.

use std::fs;
use std::process::{Command, Stdio};

use oscost_model::program::{Program, ProgramLimits};
use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::WorkerSpec;

use crate::common::{Folder, Session, failure_reason, until, wait_until_gone};
use crate::programs::{event, event_of, program, ran, sleepers, trial};

/// A program whose standard output goes to /dev/null.
fn unread(script: &str) -> Program {
    Program { captures_output: false, ..program(script) }
}

/// A line of strace: the process and what it did.
fn traced(line: &str) -> Option<(u32, &str)> {
    let (pid, act) = line.trim_start().split_once(' ')?;
    Some((pid.parse().ok()?, act.trim_start()))
}

/// The calls of the process that started a program, from the one that created it up to the wait for
/// it.
fn calls_around(log: &str, program: &str) -> Vec<String> {
    let lines: Vec<(u32, &str)> = log.lines().filter_map(traced).collect();
    let executes = format!("execve(\"{program}\"");
    let started = lines.iter().find(|(_, act)| act.starts_with(&executes)).expect("its exec");
    let created = format!("= {}", started.0);
    let is_creation = |act: &str| ["clone", "vfork"].iter().any(|name| act.starts_with(name));
    let (starter, _) = *lines
        .iter()
        .find(|(_, act)| {
            act.ends_with(&created) && (act.contains("clone") || act.contains("vfork"))
        })
        .expect("its creation");
    let own = lines.iter().filter(|(pid, _)| *pid == starter).map(|(_, act)| *act);
    // A resumed call has begun before; signals and exits are no calls.
    let begun: Vec<&str> =
        own.filter(|act| act.starts_with(|letter: char| letter.is_ascii_alphabetic())).collect();
    let waits = format!("wait4({},", started.0);
    let last = begun.iter().position(|act| act.starts_with(&waits)).expect("its wait");
    let first = begun[..last].iter().rposition(|&act| is_creation(act)).expect("its creation");
    let name = |act: &&str| act.split('(').next().unwrap_or_default().to_owned();
    begun[first..=last].iter().map(name).collect()
}

#[test]
fn nothing_but_its_creation_and_one_wait_is_between_two_readings_of_the_clock() {
    let mut trace = Command::new("strace");
    trace.args(["-f", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    if !trace.status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: strace(1) traces nothing here");
    }
    let folder = Folder::new();
    let log = folder.path().join("log");
    let command = ["strace", "-f", "-o", log.to_str().unwrap()].map(str::to_owned).to_vec();
    let mut session = Session::start();
    let executable = "/bin/true";
    let silent = Program { command: vec![executable.to_owned()], ..Program::default() };
    let wrapper = AppliedTreatment::Wrapper { command };
    let spec = WorkerSpec { treatments: vec![vec![wrapper]], ..trial(silent) };
    ran(event_of(&mut session, 1, spec));
    let calls = calls_around(&fs::read_to_string(log).unwrap(), executable);
    // The C library restores the signal mask and frees the stack of the child; musl reads from a pipe
    // whether the exec has failed.
    let of_spawn: &[&str] = match cfg!(target_env = "musl") {
        true => &["rt_sigprocmask", "close", "read"],
        false => &["rt_sigprocmask", "munmap"],
    };
    let others: Vec<&String> =
        calls.iter().skip(1).filter(|call| !of_spawn.contains(&call.as_str())).collect();
    assert_eq!(others, ["wait4"], "{calls:?}");
}

#[test]
fn a_program_that_is_waited_for_alone_is_stopped_at_its_limits() {
    let mut session = Session::start();
    let short = ProgramLimits { seconds: 1, ..ProgramLimits::default() };
    let hangs = Program { limits: short, ..unread("echo so far >&2; sleep 1000 & sleep 1000") };
    match event(&mut session, 1, hangs) {
        Event::TimedOut { after_ms: 1_000, reason: Some(reason), .. } => {
            assert!(reason.ends_with("exceeded its time limit of 1 s; last output: so far"));
        }
        other => panic!("{other:?}"),
    }
    let output_mib = ProgramLimits { output_mib: 1, ..ProgramLimits::default() };
    for (id, script) in [(2, "yes >&2"), (3, "yes >&2 & setsid yes >&2 & wait")] {
        let flood = Program { limits: output_mib, ..unread(script) };
        let reason = failure_reason(event(&mut session, id, flood));
        assert_eq!(reason, format!("`sh -c {script}` exceeded its output limit of 1 MiB"));
    }
    // A file that it may not exceed, and memory for it that is no limit of the worker's.
    let limits = ProgramLimits { file_mib: Some(1), memory_mib: Some(100), ..output_mib };
    let script = "seq 100000 >&2; exec dd if=/dev/zero of=big bs=1M count=2";
    let reason = failure_reason(event(&mut session, 4, Program { limits, ..unread(script) }));
    assert!(reason.contains("SIGXFSZ: a file exceeded its limit of 1 MiB"), "{reason}");
}

#[test]
fn standard_error_is_a_pipe_that_is_read_while_the_program_runs() {
    let mut session = Session::start();
    // More than a pipe holds; and each opening of /dev/stderr appends.
    let script = "seq 100000 >&2; echo again >/dev/stderr; echo last >&2; echo not read";
    let result = ran(event(&mut session, 1, unread(script)));
    assert_eq!(result.lines, None);
    assert!(result.output.ends_with("99999\n100000\nagain\nlast\n"), "{}", result.output);
    // It is closed, or held open by a process that exits soon.
    let closes = ran(event(&mut session, 2, unread("exec 2>&-; sleep 0.01")));
    assert_eq!(closes.output, "");
    let script = "(sleep 0.01; echo late >&2) & echo early >&2; exit 0";
    assert_eq!(ran(event(&mut session, 3, unread(script))).output, "early\nlate\n");
    let script = "(setsid yes >&2 &); exit 0";
    let reason = failure_reason(event(&mut session, 4, unread(script)));
    assert!(
        reason.ends_with(" left a process running: `yes`") || reason.contains("output limit"),
        "{reason}"
    );
}

#[test]
fn the_wait_for_a_program_ends_with_an_order_and_with_the_session() {
    for end in ["stop", "input"] {
        let mut session = Session::start();
        session.measure(1, trial(unread("sleep 1000 & exec sleep 1000")));
        until("it runs", || sleepers(&session) == 2);
        if end == "stop" {
            session.send(&Order::Stop { id: 1 });
            let reason = failure_reason(session.event());
            assert!(reason.contains("was stopped before it had exited"), "{reason}");
        } else {
            session.close_input();
            assert!(session.ended().success());
        }
        wait_until_gone(&session, &format!("a trial after the end: {end}"));
    }
}
