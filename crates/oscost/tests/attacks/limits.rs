//! Limits of resources, signals that are ignored or blocked, namespaces, and machines without
//! /proc, /dev/null, a home or a temporary folder.

use std::time::{Duration, Instant};

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox, rows, scenario_file};
use crate::line::{Line, Needs};
use crate::oracles::{check_database, check_end, store_of};

/// Without /proc; `"$0"` and `"$@"` as before.
const WITHOUT_PROC: &str = r#"exec unshare --mount sh -c \
    'umount -l /proc && exec "$0" "$@"' "$0" "$@""#;

/// A program of another user that waits in the current folder for a tool that knows neither /proc
/// nor the path by which it was started.
const WORKER_IN_CURRENT_FOLDER: &str = r#"cd "$FILES"
    printf '#!/bin/sh\n: > "%s/executed"\n' "$FILES" > oscost-worker
    chmod 755 oscost-worker
    unset OSCOST_WORKER
    exec unshare --mount bash -c \
        'umount -l /proc && tool=$0 && exec -a oscost "$tool" "$@"' "$0" "$@""#;

const RUN: &[&str] = &["run", "--seed", "1", "--at", "FAKE", "syscall/getppid"];
/// A measurement of this machine.
const MEASURE: &[&str] = &["run", "--quick", "--no-lock", "syscall/getppid:via=raw"];

const LINES: &[Line] = &[
    Line {
        name: "without /proc: the list of benchmarks",
        needs: Needs::Mounts,
        script: WITHOUT_PROC,
        arguments: &["list"],
        ..Line::DEFAULT
    },
    Line {
        name: "without /proc: a run that measures nothing",
        needs: Needs::Mounts,
        script: WITHOUT_PROC,
        arguments: RUN,
        ..Line::DEFAULT
    },
    Line {
        name: "without /proc: a measurement",
        effort: Effort::Long,
        needs: Needs::Mounts,
        script: WITHOUT_PROC,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "without /proc: the list of treatments",
        effort: Effort::Long,
        needs: Needs::Mounts,
        script: WITHOUT_PROC,
        arguments: &["treat", "list"],
        check: |_, ran| assert!(ran.stdout.contains("antagonist"), "{}", ran.stdout),
        ..Line::DEFAULT
    },
    Line {
        name: "without /proc: the state of pH",
        needs: Needs::Mounts,
        script: WITHOUT_PROC,
        arguments: &["ph", "status"],
        check: |_, ran| assert!(ran.stdout.contains("mount -t proc"), "{}", ran.stdout),
        ..Line::DEFAULT
    },
    Line {
        name: "without /proc: a worker in the current folder",
        needs: Needs::Mounts,
        script: WORKER_IN_CURRENT_FOLDER,
        arguments: &["list"],
        statuses: &[3],
        stderr: &["cannot find the program `oscost-worker`", "hint:"],
        check: |sandbox, _| assert!(!sandbox.file("executed").exists(), "it was executed"),
        ..Line::DEFAULT
    },
    Line {
        name: "without /dev/null",
        needs: Needs::Mounts,
        script: r#"exec unshare --mount sh -c \
            'mount -t tmpfs none /dev && exec "$0" "$@"' "$0" "$@""#,
        arguments: &["list"],
        statuses: &[3],
        stderr: &["/dev/null cannot be opened", "hint: `mknod"],
        ..Line::DEFAULT
    },
    Line {
        name: "a stack of 64 KiB: the list",
        script: r#"ulimit -s 64; exec "$0" "$@""#,
        arguments: &["list"],
        check: |_, ran| assert!(!ran.stdout.is_empty()),
        ..Line::DEFAULT
    },
    Line {
        name: "a stack of 64 KiB: the help",
        script: r#"ulimit -s 64; exec "$0" "$@""#,
        arguments: &["run", "--help"],
        check: |_, ran| assert!(!ran.stdout.is_empty()),
        ..Line::DEFAULT
    },
    Line {
        name: "a stack of 64 KiB: a run",
        script: r#"ulimit -s 64; exec "$0" "$@""#,
        arguments: RUN,
        ..Line::DEFAULT
    },
    Line {
        name: "three descriptors",
        script: r#"ulimit -n 3; exec "$0" "$@""#,
        arguments: RUN,
        // Not even the dynamic linker can open a library: its status is 127.
        statuses: &[0, 2, 3, 127],
        ..Line::DEFAULT
    },
    Line {
        name: "six descriptors",
        script: r#"ulimit -n 6; exec "$0" "$@""#,
        arguments: RUN,
        statuses: &[0, 2, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "twelve descriptors",
        script: r#"ulimit -n 12; exec "$0" "$@""#,
        arguments: RUN,
        statuses: &[0, 2, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "twelve descriptors: a measurement",
        effort: Effort::Long,
        script: r#"ulimit -n 12; exec "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "forty descriptors: a measurement",
        effort: Effort::Long,
        script: r#"ulimit -n 40; exec "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "no queued signal: a measurement",
        effort: Effort::Long,
        script: r#"exec prlimit --sigpending=0 "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "no message queue and no priority: a measurement",
        effort: Effort::Long,
        script: r#"exec prlimit --msgqueue=0 --nice=0 --rtprio=0 --rttime=1000 "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "no file of a crash: a measurement",
        effort: Effort::Long,
        script: r#"exec prlimit --core=0 --locks=0 "$0" "$@""#,
        arguments: MEASURE,
        ..Line::DEFAULT
    },
    Line {
        name: "one process: a measurement",
        effort: Effort::Long,
        script: r#"ulimit -u 1; exec "$0" "$@""#,
        arguments: MEASURE,
        // Root has no such limit.
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "no temporary folder",
        effort: Effort::Long,
        script: r#"export TMPDIR=/nonexistent; exec "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "a temporary folder that cannot be written",
        effort: Effort::Long,
        script: r#"export TMPDIR=/proc; exec "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "a home that is no folder",
        script: r#"unset XDG_DATA_HOME; export HOME=/dev/null; exec "$0" "$@""#,
        arguments: RUN,
        stderr: &["note: this run is not kept"],
        ..Line::DEFAULT
    },
    Line {
        name: "neither a home nor a data folder",
        script: r#"unset XDG_DATA_HOME HOME; exec "$0" "$@""#,
        arguments: &["runs", "show", "last"],
        statuses: &[2],
        stderr: &["cannot find the store", "hint: set HOME, or XDG_DATA_HOME"],
        ..Line::DEFAULT
    },
    Line {
        name: "no locked memory: a measurement",
        effort: Effort::Long,
        script: r#"ulimit -l 0; exec "$0" "$@""#,
        arguments: MEASURE,
        ..Line::DEFAULT
    },
    Line {
        name: "every signal ignored at the start: the list",
        script: r#"exec env --ignore-signal "$0" "$@""#,
        arguments: &["list"],
        check: |_, ran| assert!(!ran.stdout.is_empty()),
        ..Line::DEFAULT
    },
    Line {
        name: "every signal ignored at the start: a measurement",
        effort: Effort::Long,
        script: r#"exec env --ignore-signal "$0" "$@""#,
        arguments: MEASURE,
        ..Line::DEFAULT
    },
    Line {
        name: "every signal ignored at the start: a treated command's status",
        script: r#"exec env --ignore-signal "$0" "$@""#,
        arguments: &["treat", "seccomp=allow", "--", "sh", "-c", "exit 7"],
        statuses: &[7],
        ..Line::DEFAULT
    },
    Line {
        name: "every signal blocked at the start: a run",
        script: r#"exec env --block-signal "$0" "$@""#,
        arguments: RUN,
        ..Line::DEFAULT
    },
    Line {
        name: "every signal blocked at the start: a measurement",
        effort: Effort::Long,
        script: r#"exec env --block-signal "$0" "$@""#,
        arguments: MEASURE,
        ..Line::DEFAULT
    },
    Line {
        name: "a namespace of users without ids",
        needs: Needs::Users,
        script: r#"exec unshare --user "$0" "$@""#,
        arguments: RUN,
        ..Line::DEFAULT
    },
    Line {
        name: "root of a namespace of users",
        needs: Needs::Users,
        script: r#"exec unshare --user --map-root-user "$0" "$@""#,
        arguments: RUN,
        ..Line::DEFAULT
    },
    Line {
        name: "a namespace of processes with the /proc of another one: a measurement",
        effort: Effort::Long,
        needs: Needs::Processes,
        script: r#"exec unshare --pid --fork "$0" "$@""#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
    Line {
        name: "no PATH, no home, no store",
        script: r#"exec env -i "OSCOST_WORKER=$OSCOST_WORKER" "$0" "$@""#,
        arguments: RUN,
        stderr: &["note: this run is not kept"],
        ..Line::DEFAULT
    },
    Line {
        name: "asleep: stopped for five seconds",
        effort: Effort::Long,
        // Clocks go on while processes stand; those of a suspended machine are faked in `clocks.rs`.
        script: r#""$0" "$@" & tool=$!
            sleep 1; stopped=$(pgrep -P $tool); kill -STOP $tool $stopped
            sleep 5; kill -CONT $tool $stopped
            wait $tool"#,
        arguments: MEASURE,
        statuses: &[0, 3],
        ..Line::DEFAULT
    },
];

/// A limit that the kernel enforces by ending the process, or by refusing memory, which no program
/// survives: the store does.
fn fatal_limit(sandbox: &Sandbox, limit: &str) -> Outcome {
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let before = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    let target = format!("fake:{}", scenario_file("measured").display());
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    let ran = Ran::of(&mut sandbox.command_in_shell(&script, &["run", "--at", &target]));
    assert_ne!(ran.code, Some(101), "{}", ran.stderr);
    check_database(&store_of(sandbox));
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    let oldest = list.lines().last().and_then(|line| line.split_whitespace().next());
    let shown = sandbox.oscost(&["runs", "show", oldest.unwrap()]).exits(0).stdout;
    assert_eq!(shown, before);
    let end = ran.code.map_or("ended by the kernel".to_owned(), |code| format!("status {code}"));
    Outcome::Withstood(end)
}

/// A measurement that the limit of CPU time ends (SIGXCPU, then SIGKILL).
fn no_cpu_time(sandbox: &Sandbox) -> Outcome {
    let script = "ulimit -t 1; exec \"$0\" \"$@\"";
    let arguments = ["run", "--no-lock", "--precision", "0.001", "--budget", "20", "syscall"];
    let ran = Ran::of(&mut sandbox.command_in_shell(script, &arguments));
    assert!(!matches!(ran.code, Some(101 | 134)), "{:?}: {}", ran.code, ran.stderr);
    withstood()
}

/// Every case of every benchmark and workload, in a second: what has begun is finished, the reference
/// cases are measured before and after, and each program runs once. Before there was a limit it took
/// 20 to 44 s.
fn a_second_is_a_limit_for_all_rows(sandbox: &Sandbox) -> Outcome {
    const BOUND: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    let ran = sandbox.oscost(&["run", "**", "--budget", "1", "--no-lock", "--json", "-"]);
    let taken = begun.elapsed();
    check_end(&ran);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?}\n{}", ran.code, ran.stderr);
    assert!(taken < BOUND, "{taken:?}");
    let rows = rows(&ran.json()).len();
    assert!(rows > 300, "{rows} rows are not all");
    Outcome::Withstood(format!("{rows} rows, {:.1} s", taken.as_secs_f64()))
}

#[test]
fn a_machine_that_lacks_something_is_named_and_nothing_is_lost() {
    let fatal = [
        ("40 MB of address space", "ulimit -v 40000"),
        ("400 MB of address space", "ulimit -v 400000"),
    ];
    let fatal = fatal.map(|(name, limit)| {
        Attack::in_sandbox(name, Effort::Short, move |sandbox| fatal_limit(sandbox, limit))
    });
    let cpu = Attack::in_sandbox("a second of CPU time", Effort::Long, no_cpu_time);
    let budget = Attack::in_sandbox(
        "a budget of a second for all benchmarks",
        Effort::Long,
        a_second_is_a_limit_for_all_rows,
    );
    make("limits", LINES.iter().map(|line| line.attack()).chain(fatal).chain([cpu, budget]));
}
