//! Where output goes: names of standard output, links, private files, full devices, closed pipes
//! and descriptors.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox, scenario_file, until};
use crate::line::{Line, Needs};

/// The file that an attack is to write has a record, and /dev/stdout is what it was.
fn check_record(sandbox: &Sandbox, _: &Ran) {
    let text = fs::read_to_string(sandbox.file("out.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert!(record["schema"] == "oscost.run/1" && text.contains("getppid"), "{text}");
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink(), "a link of the machine");
}

/// It was kept, too.
fn check_kept(sandbox: &Sandbox, _: &Ran) {
    assert!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout.contains("getppid"));
}

const RUN: &[&str] = &["run", "--seed", "1", "--at", "FAKE", "syscall/getppid"];
/// A comparison whose effect is below its gate, and one whose effect is above.
const GATE: &[&str] = &["ab", "--base", "FAKE", "--new", "sud@FAKE", "--gate", "5"];
const FAILING_GATE: &[&str] = &["ab", "--base", "TREATED", "--new", "sud@TREATED", "--gate", "5"];
/// It ends twice with the same status, in which it ends then.
const WITHOUT_STDERR: &str = r#"set -- "$@" --quick --seed 1 syscall/getppid:via=raw
    "$0" "$@" 2> /dev/full; full=$?
    "$0" "$@" 2>&-; closed=$?
    [ $full = $closed ] && exit $full; exit 99"#;
const TO_FILE: Line = Line { has_run: true, check: check_record, ..Line::DEFAULT };
const KEPT: Line = Line { arguments: RUN, check: check_kept, ..Line::DEFAULT };

const LINES: &[Line] = &[
    Line {
        name: "a record to /dev/stdout, which is a file",
        script: r#"exec "$0" "$@" > "$FILES/out.json""#,
        arguments: &["report", "last", "--json", "/dev/stdout"],
        ..TO_FILE
    },
    Line {
        name: "an export to /dev/stdout, which is a file",
        script: r#"exec "$0" "$@" > "$FILES/out.json""#,
        arguments: &["runs", "export", "last", "/dev/stdout"],
        ..TO_FILE
    },
    Line {
        name: "a record to a descriptor, which is a file",
        script: r#"exec "$0" "$@" 3> "$FILES/out.json""#,
        arguments: &["report", "last", "--json", "/dev/fd/3"],
        ..TO_FILE
    },
    Line {
        name: "a record through a link",
        script: r#"ln -s target.json "$FILES/out.json"; exec "$0" "$@""#,
        arguments: &["report", "last", "--json", "FILES/out.json"],
        check: |sandbox, ran| {
            assert!(sandbox.file("out.json").is_symlink());
            check_record(sandbox, ran);
        },
        ..TO_FILE
    },
    Line {
        name: "a record to a private file",
        script: r#"(umask 077; : > "$FILES/out.json"); exec "$0" "$@""#,
        arguments: &["report", "last", "--json", "FILES/out.json"],
        check: |sandbox, ran| {
            let mode = sandbox.file("out.json").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            check_record(sandbox, ran);
        },
        ..TO_FILE
    },
    Line {
        name: "a record to a file of another user",
        needs: Needs::Mounts,
        script: r#"echo older > "$FILES/out.json"; chown 12345:54321 "$FILES/out.json"
            exec "$0" "$@""#,
        arguments: &["report", "last", "--json", "FILES/out.json"],
        check: |sandbox, ran| {
            let metadata = sandbox.file("out.json").metadata().unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (12_345, 54_321));
            check_record(sandbox, ran);
        },
        ..TO_FILE
    },
    Line {
        // As a container has it: another file cannot take its place.
        name: "a record to a file that is mounted",
        needs: Needs::Mounts,
        script: r#"echo older > "$FILES/out.json"; exec unshare --mount sh -c \
            'mount --bind "$FILES/out.json" "$FILES/out.json" && exec "$0" "$@"' "$0" "$@""#,
        arguments: &["report", "last", "--json", "FILES/out.json"],
        ..TO_FILE
    },
    Line {
        name: "a record to a folder that does not exist",
        arguments: &["report", "last", "--json", "FILES/folder/"],
        has_run: true,
        statuses: &[2],
        stderr: &["its name ends in a slash", "hint: name another file"],
        check: |_, ran| assert!(ran.stdout.is_empty(), "{}", ran.stdout),
        ..Line::DEFAULT
    },
    Line {
        name: "profiles to /dev/stdout, which is a file",
        script: r#"exec "$0" "$@" > "$FILES/out.txt""#,
        arguments: &["ph", "save", "/dev/stdout"],
        check: |sandbox, _| {
            assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
            assert!(!fs::read(sandbox.file("out.txt")).unwrap().is_empty());
        },
        ..Line::DEFAULT
    },
    Line {
        name: "a gate that passes, whose standard error is lost",
        script: WITHOUT_STDERR,
        arguments: GATE,
        ..Line::DEFAULT
    },
    Line {
        name: "a gate that fails, whose standard error is lost",
        script: WITHOUT_STDERR,
        arguments: FAILING_GATE,
        statuses: &[1],
        ..Line::DEFAULT
    },
    Line {
        name: "a record to a file whose name has 255 bytes",
        script: r#"name=$(printf %0250d 0).json; "$0" "$@" --json "$FILES/$name" &&
            mv "$FILES/$name" "$FILES/out.json""#,
        arguments: &["report", "last"],
        ..TO_FILE
    },
    Line {
        name: "a record to a new file in /dev/shm",
        needs: Needs::Mounts,
        script: r#"exec unshare --mount sh -c 'mount -t tmpfs none /dev/shm && "$0" "$@" &&
            mv /dev/shm/out.json "$FILES/out.json"' "$0" "$@""#,
        arguments: &["report", "last", "--json", "/dev/shm/out.json"],
        ..TO_FILE
    },
    Line {
        name: "a record to a file that /dev/shm has already",
        needs: Needs::Mounts,
        script: r#"exec unshare --mount sh -c 'mount -t tmpfs none /dev/shm &&
            echo older > /dev/shm/out.json && "$0" "$@" &&
            mv /dev/shm/out.json "$FILES/out.json"' "$0" "$@""#,
        arguments: &["report", "last", "--json", "/dev/shm/out.json"],
        ..TO_FILE
    },
    Line {
        name: "a run to a new file in /dev",
        arguments: &["run", "--at", "FAKE", "syscall/getppid", "--json", "/dev/oscost-attack.json"],
        statuses: &[2],
        stderr: &["nothing is created in /dev and /proc", "hint: name another file"],
        check: |_, ran| assert!(ran.stdout.is_empty(), "it has measured: {}", ran.stdout),
        ..Line::DEFAULT
    },
    Line { name: "descriptor 0 closed", script: r#"exec "$0" "$@" <&-"#, ..KEPT },
    Line { name: "descriptor 1 closed", script: r#"exec "$0" "$@" >&-"#, ..KEPT },
    Line { name: "descriptor 2 closed", script: r#"exec "$0" "$@" 2>&-"#, ..KEPT },
    Line { name: "descriptors 0 and 1 closed", script: r#"exec "$0" "$@" <&- >&-"#, ..KEPT },
    Line { name: "descriptors 0 and 2 closed", script: r#"exec "$0" "$@" <&- 2>&-"#, ..KEPT },
    Line { name: "descriptors 1 and 2 closed", script: r#"exec "$0" "$@" >&- 2>&-"#, ..KEPT },
    Line { name: "descriptors 0, 1, 2 closed", script: r#"exec "$0" "$@" <&- >&- 2>&-"#, ..KEPT },
    Line { name: "no descriptor closed", ..KEPT },
    Line {
        name: "a file for output where descriptors 0, 1, 2 are closed",
        script: r#"exec "$0" "$@" <&- >&- 2>&-"#,
        arguments: &["report", "last", "--json", "FILES/out.json"],
        ..TO_FILE
    },
    Line {
        name: "a treated command where descriptors 0, 1, 2 are closed",
        script: r#"exec "$0" "$@" <&- >&- 2>&-"#,
        arguments: &["treat", "nice=1", "--", "true"],
        ..Line::DEFAULT
    },
];

fn a_closed_pipe_ends_as_by_its_signal_and_is_no_error(sandbox: &Sandbox) -> Outcome {
    let scenario = format!("fake:{}", scenario_file("measured").display());
    for arguments in [
        &["schema"][..],
        &["list"],
        &["man"],
        &["completions", "bash"],
        &["run", "--at", &scenario],
        &["machine", "--at", &scenario],
        &["doctor", "--at", &scenario, "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(arguments);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(command); // It holds an end of the pipe as well.
        let ran = Ran::of_child(child);
        assert_eq!(ran.code, Some(141), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("error"), "{arguments:?}: {}", ran.stderr);
    }
    // What was measured is kept first.
    assert!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout.contains("getppid"));
    withstood()
}

fn a_lost_standard_error_changes_no_status(sandbox: &Sandbox) -> Outcome {
    let scenario = format!("fake:{}", scenario_file("measured").display());
    let run = ["run", "--at", &scenario];
    for (arguments, status) in [(&run[..], 0), (&["runs", "delete", "last"], 0), (&["oops"], 2)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.command(arguments);
        let child = command.stdout(Stdio::null()).stderr(full).spawn().unwrap();
        assert_eq!(Ran::of_child(child).code, Some(status), "{arguments:?}");
    }
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let child = sandbox.command(&run).stdout(Stdio::null()).stderr(closed).spawn().unwrap();
    Ran::of_child(child).exits(0);
    withstood()
}

fn a_full_disk_at_stdout_is_an_error(sandbox: &Sandbox) -> Outcome {
    let scenario = format!("fake:{}", scenario_file("measured").display());
    for arguments in [
        &["schema"][..],
        &["list"],
        &["machine", "--at", &scenario],
        &["doctor", "--at", &scenario],
        &["run", "--at", &scenario, "syscall"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.command(arguments);
        let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ran = Ran::of_child(child);
        assert_eq!(ran.code, Some(4), "{arguments:?}: {}", ran.stderr);
        ran.stderr_contains("error: cannot write to standard output")
            .stderr_contains("No space left on device");
    }
    // What was measured is not lost with the table.
    assert!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout.contains("getppid"));
    withstood()
}

fn a_pipe_that_nobody_reads_does_not_hold_up_the_end(sandbox: &Sandbox) -> Outcome {
    let pipe = sandbox.file("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let scenario = format!("fake:{}", scenario_file("measured").display());
    let arguments = ["run", "--at", &scenario, "syscall/getppid", "--json", pipe.to_str().unwrap()];
    let mut command = sandbox.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the run is kept", || sandbox.oscost(&["runs", "show", "last"]).code == Some(0));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let ran = Ran::of_child(child).exits(143);
    ran.stderr_contains("no program reads it").stderr_contains("hint: start the program");
    withstood()
}

#[test]
fn output_goes_where_it_is_named_and_its_loss_harms_nothing() {
    let short = |name: &str, attempt: fn(&Sandbox) -> Outcome| {
        Attack::in_sandbox(name, Effort::Short, attempt)
    };
    make(
        "outputs",
        LINES.iter().map(|line| line.attack()).chain([
            short("a closed standard output", a_closed_pipe_ends_as_by_its_signal_and_is_no_error),
            short("a closed or full standard error", a_lost_standard_error_changes_no_status),
            short("a full standard output", a_full_disk_at_stdout_is_an_error),
            short(
                "a named pipe that nobody reads, and SIGTERM",
                a_pipe_that_nobody_reads_does_not_hold_up_the_end,
            ),
        ]),
    );
}
