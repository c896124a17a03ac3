//! The result of a run: times, usage, output, limits, failures.

use oscost_model::program::{Program, ProgramLimits};
use oscost_model::protocol::Event;
use oscost_model::worker::{Task, WorkerSpec};

use crate::common::{Session, failure_reason};
use crate::programs::{event, event_of, program, ran, sh, trial, words};

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
fn a_peak_no_larger_than_that_of_the_process_that_starts_the_program_is_told_apart() {
    let mut session = Session::start();
    let small = Program { command: vec!["/bin/true".to_owned()], ..Program::default() };
    let small = ran(event(&mut session, 1, small)).usage;
    assert!(small.is_peak_of_starter(), "{small:?}");
    let large = program("dd if=/dev/zero of=/dev/null bs=64M count=1");
    let large = ran(event(&mut session, 2, large)).usage;
    assert!(large.starter_peak_bytes.is_some() && !large.is_peak_of_starter(), "{large:?}");
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
fn an_ordinary_user_runs_programs_too() {
    let mut session = Session::ordinary();
    let script = "mkdir closed; touch closed/in; chmod 0 closed; id -u";
    let result = ran(event(&mut session, 1, program(script)));
    assert_eq!(result.lines, Some(1));
    let reason = failure_reason(event(&mut session, 2, program("(setsid sleep 1000 &)")));
    assert!(reason.ends_with(" left a process running: `sleep`"), "{reason}");
}
