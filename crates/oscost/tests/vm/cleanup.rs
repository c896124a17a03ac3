//! Unplanned ends: of the tool while its machine runs, and of the machine.

use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Ran, Sandbox, has_flag, row, rows, until};
use crate::machines::{Kernel, events_sent, in_own_namespaces, machines_of, values};

const GETPPID: &str = "syscall/getppid:via=raw";

/// A run whose machine has begun its first round of workers, and the process id of the machine.
fn half_way(sandbox: &Sandbox, target: &str) -> (Child, u32) {
    let arguments =
        ["run", "--thorough", GETPPID, "pipe/round-trip:size=64,peer_cpu=same", "--json"];
    let mut command =
        in_own_namespaces(sandbox, &[&arguments[..], &["-", "--at", target]].concat());
    let tool = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut machine = None;
    until("there is a machine", || {
        machine = machines_of(sandbox, tool.id()).first().copied();
        machine.is_some()
    });
    let machine = machine.unwrap();
    until("a round was begun", || {
        let events = events_sent(machine);
        let of = |kind: &str| events.iter().filter(|it| *it == kind).count();
        // The rehearsal runs one worker per row, in order of the rows.
        of("counted") > 0 && of("sampled") > of("counted") + 1
    });
    (tool, machine)
}

fn send(signal: Signal, pid: u32) {
    assert!(pid > 1);
    kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

#[test]
fn ctrl_c_keeps_what_was_counted_and_ends_the_machine() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let (tool, _) = half_way(&sandbox, &kernel.target(""));
    send(Signal::SIGINT, tool.id());
    let record = Ran::of_child(tool).exits(130).json();
    assert_eq!(record["complete"], false);
    let first = row(&record, GETPPID);
    assert_eq!(first["outcome"], "measured", "{first}");
    assert!((1..9).contains(&values(first).len()), "{first}");
    assert!(rows(&record).iter().all(|row| row["outcome"] != "failed"), "{record}");
    let shown = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(shown, record, "what was counted is kept");
    sandbox.nothing_is_left();
}

#[test]
fn killing_the_tool_ends_its_machine() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["run", GETPPID, "--at", &kernel.target("")];
    let mut command = in_own_namespaces(&sandbox, &arguments);
    let mut tool = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("there is a machine", || !machines_of(&sandbox, tool.id()).is_empty());
    tool.kill().unwrap();
    tool.wait().unwrap();
    sandbox.nothing_is_left();
}

#[test]
fn killing_the_machine_fails_only_the_rows_not_yet_counted() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let (tool, machine) = half_way(&sandbox, &kernel.target(""));
    send(Signal::SIGKILL, machine);
    let message = "the emulator ended with signal: 9 (SIGKILL)";
    let ran = Ran::of_child(tool).exits(3);
    let record = ran.json();
    assert_eq!(record["complete"], false);
    assert_eq!(row(&record, GETPPID)["outcome"], "measured");
    let lost: Vec<_> = rows(&record).iter().filter(|row| row["outcome"] == "failed").collect();
    for row in &lost {
        assert!(row["reason"].as_str().unwrap().contains(message), "{row}");
    }
    // Rows that only lost some of their repetitions have no reason.
    let is_asked = |row: &&Value| !has_flag(row, "REFERENCE") && !has_flag(row, "PRIMITIVE");
    if !lost.into_iter().any(|row| is_asked(&row)) {
        ran.stderr_contains(message);
    }
    sandbox.nothing_is_left();
}
