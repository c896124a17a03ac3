//! What is around a program: its directory, its variables, commands before and after it, its
//! companion, and its treatments.

use std::fs;
use std::path::PathBuf;

use oscost_model::program::{Program, ProgramLimits, ProgramResult};
use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, WorkerSpec};

use crate::common::{Folder, Session, failure_reason};
use crate::programs::{companion_running, event, event_of, program, ran, sh, trial, words};

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
fn a_name_is_looked_up_in_the_path_of_the_program_and_stays_its_first_argument() {
    let mut session = Session::start();
    let with_path = |path: &str| Program {
        variables: [("PATH".to_owned(), path.to_owned())].into(),
        ..program("echo $0 $PATH")
    };
    let result = ran(event(&mut session, 1, with_path("/no/such/folder:/bin")));
    assert_eq!(result.output.trim_end(), "sh /no/such/folder:/bin");
    let reason = failure_reason(event(&mut session, 2, with_path("/no/such/folder")));
    assert!(reason.contains("cannot be started: No such file or directory"), "{reason}");
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
