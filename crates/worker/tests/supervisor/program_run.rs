//! Programs as subjects: the result of a run, its failures, and that it leaves no processes or files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use oscost_model::program::{CompanionProgram, Program, ProgramLimits, ProgramResult};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::common::{Folder, Session, failure_reason, measuring, signal, until, wait_until_gone};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A command that runs a shell script.
fn sh(script: &str) -> Vec<String> {
    words(&["sh", "-c", script])
}

/// A program whose output is read.
pub(crate) fn program(script: &str) -> Program {
    Program { command: sh(script), captures_output: true, ..Program::default() }
}

pub(crate) fn trial(program: Program) -> WorkerSpec {
    let subject = Subject::Program(Box::new(program));
    let task = Task::Run { warm_up: false, counted: Vec::new() };
    WorkerSpec { subject, task, timeout_ms: 60_000, ..measuring("syscall/getppid:via=raw") }
}

/// The answer for a run of this program. Afterwards only the supervisor must be left, and its
/// directory must be empty.
pub(crate) fn event(session: &mut Session, id: u64, program: Program) -> Event {
    event_of(session, id, trial(program))
}

pub(crate) fn event_of(session: &mut Session, id: u64, spec: WorkerSpec) -> Event {
    session.measure(id, spec);
    let event = session.event();
    assert_eq!(event.id(), Some(id));
    wait_until_gone(session, "a trial");
    let says_it_itself = !matches!(event, Event::TimedOut { reason: None, .. });
    assert!(!says_it_itself || in_scratch(session).is_empty(), "after {event:?}");
    until("its folder is gone", || in_scratch(session).is_empty());
    event
}

fn in_scratch(session: &Session) -> Vec<PathBuf> {
    let entries = fs::read_dir(session.scratch()).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

pub(crate) fn ran(event: Event) -> ProgramResult {
    match event {
        Event::ProgramExited { result: ran, .. } => *ran,
        other => panic!("it should have run: {other:?}"),
    }
}

#[test]
fn a_successful_program_reports_its_time_usage_and_output() {
    let mut session = Session::start();
    // Partly in a child process, which the shell waits for.
    let script = "echo one; echo two >&2; (dd if=/dev/zero bs=1M count=64 2>&-) | cat >/dev/null; \
                  printf three";
    let result = ran(event(&mut session, 1, program(script)));
    assert!(result.real_ns > 0);
    assert!(result.usage.user_ns + result.usage.system_ns > 0, "{result:?}");
    assert!(result.usage.peak_bytes > 4096 && result.usage.minor_faults > 0, "{result:?}");
    assert!(result.usage.voluntary_switches > 0, "{result:?}");
    assert_eq!(result.lines, Some(2), "of standard output alone, the last without its end");
    let mut lines: Vec<&str> = result.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.concat().len(), "onetwothree".len(), "{result:?}");
    // Output is read only if that is requested, or in an untimed run.
    let silent = Program { captures_output: false, ..program("echo one; echo two >&2") };
    let result = ran(event(&mut session, 2, silent.clone()));
    assert_eq!((result.lines, result.output.as_str()), (None, "two\n"));
    let warming =
        WorkerSpec { task: Task::Run { warm_up: true, counted: Vec::new() }, ..trial(silent) };
    assert_eq!(ran(event_of(&mut session, 3, warming)).lines, Some(1));
}

#[test]
fn the_end_of_long_output_is_kept_and_all_its_lines_are_counted() {
    let mut session = Session::start();
    let result = ran(event(&mut session, 1, program("seq 200000")));
    assert_eq!(result.lines, Some(200_000));
    assert!(result.output.ends_with("199999\n200000\n"));
    // Complete lines only: half a number is another number.
    let numbers: Vec<u32> = result.output.lines().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{}", result.output);
    assert_eq!(numbers.len(), (16 << 10) / "200000\n".len(), "{}", numbers[0]);
}

#[test]
fn binary_output_is_read_and_printed_safely() {
    let mut session = Session::start();
    let result = ran(event(&mut session, 1, program(r"printf 'a\377\000b\n'")));
    assert_eq!(result.output, "a\u{FFFD}\0b\n");
    let reason =
        failure_reason(event(&mut session, 2, program(r"printf 'a\377\033[1mb\n'; exit 1")));
    assert!(reason.ends_with("exited with status 1: a\u{FFFD}\\u{1b}[1mb"), "{reason}");
}

#[test]
fn a_failed_program_is_reported_with_its_last_output() {
    let mut session = Session::start();
    let reason =
        failure_reason(event(&mut session, 1, program("seq 9; echo it is broken >&2; exit 2")));
    assert!(
        reason.starts_with("`sh -c seq 9; echo it is broken >&2; exit 2` exited with status 2: ")
    );
    assert!(reason.contains("it is broken") && !reason.contains("1;"), "{reason}");
    let reason = failure_reason(event(&mut session, 2, program("kill -SEGV $$")));
    assert_eq!(reason, "`sh -c kill -SEGV $$` was killed by SIGSEGV");
    for (id, command) in
        (3..).zip([words(&["no-such-program"]), words(&["./not-here-either"]), vec![]])
    {
        let reason =
            failure_reason(event(&mut session, id, Program { command, ..Program::default() }));
        assert!(reason.contains("cannot be started: No such file or directory"), "{reason}");
    }
    // Its own success statuses are no failures.
    let well = Program { ok_statuses: vec![0, 3], ..program("exit 3") };
    ran(event(&mut session, 6, well.clone()));
    let reason = failure_reason(event(&mut session, 7, Program { command: sh("exit 4"), ..well }));
    assert_eq!(reason, "`sh -c exit 4` exited with status 4");
    session.check_responsive(8);
}

#[test]
fn a_program_that_exceeds_a_limit_is_killed_and_the_limit_is_named() {
    let mut session = Session::start();
    let short = ProgramLimits { seconds: 1, ..ProgramLimits::default() };
    let hangs = Program { limits: short, ..program("echo so far; sleep 1000 & sleep 1000") };
    match event(&mut session, 1, hangs) {
        Event::TimedOut { after_ms: 1_000, reason: Some(reason), .. } => assert_eq!(
            reason,
            "`sh -c echo so far; sleep 1000 & sleep 1000` exceeded its time limit of 1 s; last \
             output: so far"
        ),
        other => panic!("{other:?}"),
    }
    let output_mib = ProgramLimits { output_mib: 1, ..ProgramLimits::default() };
    for (id, script) in [(2, "yes"), (3, "yes >&2 & setsid yes & wait")] {
        let reason = failure_reason(event(
            &mut session,
            id,
            Program { limits: output_mib, ..program(script) },
        ));
        assert_eq!(reason, format!("`sh -c {script}` exceeded its output limit of 1 MiB"));
    }
    let file_mib = ProgramLimits { file_mib: Some(1), ..ProgramLimits::default() };
    let script = "exec dd if=/dev/zero of=big bs=1M count=2";
    let reason =
        failure_reason(event(&mut session, 4, Program { limits: file_mib, ..program(script) }));
    assert!(reason.contains("SIGXFSZ: a file exceeded its limit of 1 MiB"), "{reason}");
    let memory_mib = ProgramLimits { memory_mib: Some(100), ..ProgramLimits::default() };
    let script = "exec dd if=/dev/zero of=/dev/null bs=200M count=1";
    let reason =
        failure_reason(event(&mut session, 5, Program { limits: memory_mib, ..program(script) }));
    assert!(reason.contains("exited with status 1"), "{reason}");
}

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
    // A background process that exits soon is no failure, and its usage counts.
    let busy = "(i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo done) & exit 0";
    let result = ran(event(&mut session, 3, program(busy)));
    assert_eq!(result.output, "done\n");
    assert!(result.usage.user_ns + result.usage.system_ns > 0, "{result:?}");
}

#[test]
fn a_program_runs_in_a_private_directory_that_is_removed() {
    let mut session = Session::start();
    let script = "touch here $TMPDIR/there; mkdir closed; touch closed/in; chmod 0 closed; ls; \
                  stat -c %a . .. $TMPDIR; pwd; echo $TMPDIR";
    let result = ran(event(&mut session, 1, program(script)));
    let lines: Vec<&str> = result.output.lines().collect();
    assert_eq!(lines[..5], ["closed", "here", "700", "700", "700"]);
    let scratch = session.scratch();
    assert!(lines[5..].iter().all(|folder| PathBuf::from(folder).starts_with(&scratch)));
    assert_ne!(lines[5], lines[6]);
    // A given working directory is kept.
    let folder = Folder::new();
    let given = Some(folder.path().to_str().unwrap().to_owned());
    let result = ran(event(
        &mut session,
        2,
        Program { working_directory: given, ..program("pwd; touch kept") },
    ));
    assert_eq!(result.output.trim_end(), folder.path().to_str().unwrap());
    assert!(folder.path().join("kept").exists());
    let nowhere = Some("/no/such/folder".to_owned());
    let reason = failure_reason(event(
        &mut session,
        3,
        Program { working_directory: nowhere, ..program("pwd") },
    ));
    assert!(reason.contains("No such file or directory"), "{reason}");
}

#[test]
fn commands_before_and_after_run_in_order_and_must_succeed() {
    let mut session = Session::start();
    let folder = Folder::new();
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let step = |word: &str| sh(&format!("printf '{word}-'$NOTE' ' >> log; test {word} != bad"));
    let with = |before: &[&str], script: &str, after: &[&str]| Program {
        before: before.iter().map(|word| step(word)).collect(),
        after: after.iter().map(|word| step(word)).collect(),
        working_directory: folder.path().to_str().map(str::to_owned),
        variables: [("NOTE".to_owned(), "x".to_owned())].into(),
        ..program(script)
    };
    let result = ran(event(&mut session, 1, with(&["a", "b"], "cat log", &["c", "d"])));
    assert_eq!((result.output.as_str(), log().as_str()), ("a-x b-x ", "a-x b-x c-x d-x "));
    // The first failure ends the run; the commands after it run nevertheless.
    for (id, before, script, after, expected, logged) in [
        (
            2,
            &["bad", "b"][..],
            "printf run >> log",
            &["c"][..],
            "command before it: `sh",
            "bad-x c-x ",
        ),
        (3, &["a"], "printf 'run ' >> log; exit 1", &["c"], "`sh -c printf 'run '", "a-x run c-x "),
        (
            4,
            &["a"],
            "printf 'run ' >> log",
            &["bad", "c"],
            "command after it: `sh",
            "a-x run bad-x ",
        ),
        (5, &["a"], "printf 'run ' >> log; exit 9", &["bad"], "`sh -c printf", "a-x run bad-x "),
    ] {
        fs::remove_file(folder.path().join("log")).unwrap();
        let reason = failure_reason(event(&mut session, id, with(before, script, after)));
        assert!(
            reason.starts_with(expected) && reason.contains(" exited with status "),
            "{id}: {reason}"
        );
        assert_eq!(log(), logged, "{id}");
    }
    // A command that hangs is ended by the time limit of the run.
    let hangs = Program {
        before: vec![words(&["sleep", "1000"])],
        limits: ProgramLimits { seconds: 1, ..ProgramLimits::default() },
        ..with(&[], "true", &["c"])
    };
    match event(&mut session, 6, hangs) {
        Event::TimedOut { after_ms: 1_000, reason: Some(reason), .. } => {
            assert_eq!(reason, "command before it: `sleep 1000` exceeded its time limit of 1 s");
        }
        other => panic!("{other:?}"),
    }
    assert!(log().ends_with("c-x "));
    // A daemon may be started before it and run until it has exited.
    let daemon = Program { before: vec![sh("setsid sleep 1000 &")], ..program("true") };
    ran(event(&mut session, 7, daemon));
}

#[test]
fn an_invalid_variable_is_refused() {
    let mut session = Session::start();
    for (id, name, value) in [(1, "", "x"), (2, "a=b", "x"), (3, "a", "x\0y")] {
        let variables = [(name.to_owned(), value.to_owned())].into();
        let reason =
            failure_reason(event(&mut session, id, Program { variables, ..program("true") }));
        assert_eq!(reason, format!("cannot set the variable `{name}` to this value"));
    }
}

/// A companion that runs this script.
fn companion_running(script: &str) -> Option<CompanionProgram> {
    let (variable, prefix) = ("ADDRESS".to_owned(), "at ".to_owned());
    Some(CompanionProgram { command: sh(script), variable, prefix })
}

#[test]
fn a_companion_passes_its_first_line_to_the_program_and_is_ended_with_it() {
    let mut session = Session::start();
    // It keeps writing, more than a pipe holds, and leaves a background process.
    let script = "echo note >&2; echo port 7; seq 100000; seq 100000 >&2; echo > ready; \
                  setsid sleep 1000 & sleep 1000";
    let reader = "while ! [ -e ready ]; do sleep 0.01; done; echo $ADDRESS";
    let result = ran(event(
        &mut session,
        1,
        Program { companion: companion_running(script), ..program(reader) },
    ));
    assert_eq!(result.output, "at port 7\n");
    // A successful exit before the program's end is no failure; any other exit is.
    let until_gone = "while ! [ -e gone ]; do sleep 0.01; done; sleep 0.1";
    let ends =
        Program { companion: companion_running("echo 1; echo > gone"), ..program(until_gone) };
    ran(event(&mut session, 2, ends.clone()));
    let fails = Program { companion: companion_running("echo 1; echo > gone; exit 5"), ..ends };
    let reason = failure_reason(event(&mut session, 3, fails));
    assert!(reason.starts_with("companion: `sh -c echo 1; "), "{reason}");
    assert!(reason.contains(" exited with status 5"), "{reason}");
    // It must write a line.
    for (id, script, what) in [
        (4, "echo no room >&2; exit 6", "exited with status 6: no room"),
        (5, "true", "exited without writing a line"),
    ] {
        let result = Program { companion: companion_running(script), ..program("true") };
        let reason = failure_reason(event(&mut session, id, result));
        assert_eq!(reason, format!("companion: `sh -c {script}` {what}"));
    }
    let silent = Program {
        companion: companion_running("sleep 1000"),
        limits: ProgramLimits { seconds: 1, ..ProgramLimits::default() },
        ..program("true")
    };
    let event = event(&mut session, 6, silent);
    assert!(matches!(event, Event::TimedOut { after_ms: 1_000, .. }), "{event:?}");
}

/// How many processes of the session run sleep(1).
pub(crate) fn sleepers(session: &Session) -> usize {
    let comm = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    session.workers().iter().filter(|pid| comm(pid).trim_end() == "sleep").count()
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

/// A run of a program with this treatment.
fn treated(script: &str, applied: AppliedTreatment) -> WorkerSpec {
    WorkerSpec { treatments: vec![vec![applied]], ..trial(program(script)) }
}

#[test]
fn a_program_is_treated_and_its_companion_is_not() {
    let mut session = Session::start();
    /// A filter that allows everything: one instruction of classic BPF.
    const ALLOW: u64 = 0x06 << 48 | 0x7FFF_0000;
    let lines = "grep -E '^(Seccomp|TracerPid):' /proc/self/status | tr '\\t\\n' '  '";
    let own = |result: &ProgramResult| {
        result.output.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let filter = AppliedTreatment::Seccomp { program: vec![ALLOW] };
    for (id, applied) in
        [(1, filter), (2, AppliedTreatment::Ptrace), (3, AppliedTreatment::Nice { increment: 5 })]
    {
        let mut spec = treated(&format!("{lines}; nice"), applied.clone());
        let Subject::Program(program) = &mut spec.subject else { panic!("a program") };
        program.before = vec![sh("nice > before; grep Seccomp: /proc/self/status >> before")];
        program.command = sh(&format!("{lines}; nice; cat before"));
        match event_of(&mut session, id, spec) {
            Event::Skipped { missing, .. } => eprintln!("cannot run here: {missing}"),
            event => {
                let result = own(&ran(event));
                let [_, tracer, _, filters, nice, untreated, _, none] = &result[..] else {
                    panic!("{result:?}")
                };
                assert_eq!(tracer != "0", applied == AppliedTreatment::Ptrace, "{result:?}");
                let is_filtered = matches!(applied, AppliedTreatment::Seccomp { .. });
                assert_eq!(filters == "2", is_filtered || none == "2", "{result:?}");
                let nicer: i32 = nice.parse::<i32>().unwrap() - untreated.parse::<i32>().unwrap();
                assert_eq!(
                    nicer == 5,
                    matches!(applied, AppliedTreatment::Nice { .. }),
                    "{result:?}"
                );
            }
        }
    }
    let variable =
        AppliedTreatment::Env { name: "GLIBC_TUNABLES".to_owned(), value: "a=b".to_owned() };
    let result = ran(event_of(&mut session, 4, treated("echo $GLIBC_TUNABLES $HOME", variable)));
    let home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(result.output.trim_end(), format!("a=b {home}").trim_end(), "as its user has it");
    let by = AppliedTreatment::Wrapper { command: words(&["env", "WRAPPED=yes"]) };
    assert_eq!(ran(event_of(&mut session, 5, treated("echo $WRAPPED", by))).output, "yes\n");
    match event_of(&mut session, 6, treated("true", AppliedTreatment::Sud)) {
        Event::Skipped { missing, .. } => assert!(missing.contains("execve(2)"), "{missing}"),
        other => panic!("{other:?}"),
    }
    let cpu = session.hello.facts.cpu.allowed_cpus.as_ref().and_then(|cpus| cpus.last().copied());
    let pinned = WorkerSpec { cpu, ..trial(program("nproc")) };
    assert_eq!(ran(event_of(&mut session, 7, pinned)).output, "1\n");
}

#[test]
fn an_ordinary_user_runs_programs_too() {
    let mut session = Session::ordinary();
    let script = "mkdir closed; touch closed/in; chmod 0 closed; id -u";
    let result = ran(event(&mut session, 1, program(script)));
    assert_eq!(result.lines, Some(1));
    let reason = failure_reason(event(&mut session, 2, program("(setsid sleep 1000 &)")));
    assert!(reason.ends_with(" left a process running: `sleep`"), "{reason}");
}

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
