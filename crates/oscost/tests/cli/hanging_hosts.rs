//! Sessions that hang after their hello: the tool ends within its time limit, says why and what to
//! do, and leaves nothing. A script stands in for ssh.

use std::path::PathBuf;
use std::process::Command;

use oscost_model::fault_injection::ANSWER_LIMIT_MS;

use crate::common::{Ran, Sandbox};

/// A login whose supervisor sends its hello, and then reads orders and answers none. At the end of
/// its input it goes on, until it is asked to end.
const SILENT: &str = r#"#!/bin/sh
trap 'kill $! 2> /dev/null; exit' TERM
for command; do :; done
key=${command#*k=}
echo "oscost-${key%% *} run Linux $(uname -m)"
"$OSCOST_WORKER" supervise < /dev/null
cat > /dev/null
sleep 1000 & wait
"#;

/// A file with this script. Another process writes it: a file open for writing here is inherited
/// for a moment by the children of other tests, and then cannot be executed (ETXTBSY).
fn ssh(sandbox: &Sandbox, script: &str) -> PathBuf {
    let path = sandbox.file("ssh");
    let written = Command::new("sh")
        .args(["-c", r#"printf %s "$2" > "$1"; chmod 755 "$1""#, "sh"])
        .args([path.as_os_str(), script.as_ref()])
        .status();
    assert!(written.unwrap().success());
    path
}

#[test]
fn a_session_that_hangs_after_its_hello_is_an_error_with_a_next_step() {
    let sandbox = Sandbox::new();
    let ssh = ssh(&sandbox, SILENT);
    let reached = "error: cannot reach `ssh:db1`: its supervisor did not answer within 20s";
    let used = "error: cannot use the supervisor: it did not answer within ";
    for (words, error) in [
        // Its first order reserves the machine ...
        ("machine --at ssh:db1", reached),
        ("run --quick --at ssh:db1 syscall/getppid:via=raw", reached),
        // ... or else measures.
        ("run --quick --no-lock --at ssh:db1 syscall/getppid:via=raw", used),
    ] {
        let mut command = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        let ran = Ran::of(command.env("OSCOST_SSH", &ssh).env(ANSWER_LIMIT_MS, "50"));
        let ran = ran.exits(3).no_data().stderr_contains(error).stderr_contains("\n  hint: ");
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
        sandbox.nothing_is_left();
    }
}
