//! Unplanned ends of the tool, of a supervisor and of a connection. What was measured is kept, and
//! neither machine has leftovers.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::hosts::{Hosts, Ran, address, row, until};

const ROUND_TRIP: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";

fn kill(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.unwrap().success(), "kill {signal} {pid}");
}

/// A long run between host 1 and host 2, of which the peer has served the first workers.
fn long_run(hosts: &Hosts) -> Child {
    let peer = format!("ssh:{}", address(2));
    let arguments = ["run", ROUND_TRIP, "--precision", "0.001", "--json", "-", "--peer", &peer];
    let mut tool = hosts.tool(1, &arguments);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut served = std::collections::BTreeSet::new();
    until("some workers were served", || {
        served.extend(hosts.listeners(2));
        served.len() > 6
    });
    tool
}

/// The sshd process that serves the session on a machine.
fn session(hosts: &Hosts, host: usize) -> u32 {
    let listed = Command::new("pgrep").args(["-P", &hosts.sshd(host).to_string()]).output();
    String::from_utf8(listed.unwrap().stdout)
        .unwrap()
        .trim()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_killed_peer_fails_its_rows_but_not_the_run() {
    let Some(hosts) = Hosts::some(2) else { return };
    for by_session in [false, true] {
        let tool = long_run(&hosts);
        kill("-9", if by_session { session(&hosts, 2) } else { hosts.supervisor(2).unwrap() });
        let record = Ran::of_child(tool).exits(3).json();
        assert_eq!(record["complete"], false);
        let lost = row(&record, ROUND_TRIP);
        assert_eq!(lost["outcome"], "failed");
        let reason = lost["reason"].as_str().unwrap();
        assert!(reason.contains("lost the peer"), "{reason}");
        assert_eq!(row(&record, "timer/nothing")["outcome"], "measured");
        let shown = hosts.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
        assert_eq!(shown, record, "what was measured is kept");
        hosts.nothing_is_left();
    }
}

#[test]
fn a_killed_tool_leaves_nothing_on_either_machine() {
    let Some(hosts) = Hosts::some(2) else { return };
    let mut tool = long_run(&hosts);
    // `ip netns exec` and its shell have executed the tool: it has the same process id.
    tool.kill().unwrap();
    tool.wait().unwrap();
    hosts.nothing_is_left();
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_ends_both_sides() {
    let Some(hosts) = Hosts::some(2) else { return };
    let tool = long_run(&hosts);
    kill("-INT", tool.id());
    let record = Ran::of_child(tool).exits(130).json();
    assert_eq!(record["complete"], false);
    hosts.nothing_is_left();
}

#[test]
fn results_measured_before_the_machine_disappears_are_kept() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    let arguments = ["run", "syscall/getppid", "--precision", "0.001", "--json", "-", "--at", &at];
    let mut tool = hosts.tool(1, &arguments);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is there", || hosts.supervisor(2).is_some());
    std::thread::sleep(Duration::from_millis(1_500));
    kill("-9", session(&hosts, 2));
    let ran = Ran::of_child(tool).exits(3).stderr_contains(&["the worker process "]);
    assert_eq!(ran.json()["complete"], false);
    hosts.nothing_is_left();
}

#[test]
fn an_interrupted_copy_leaves_nothing() {
    let Some(hosts) = Hosts::some(2) else { return };
    // An ssh that passes on the beginning of its input and then exits.
    let ssh = std::fs::read_to_string(hosts.file("ssh")).unwrap();
    let cut = ssh.replace("exec ssh", "head -c 100000 | ssh");
    std::fs::write(hosts.file("ssh"), cut).unwrap();
    let at = format!("ssh:{}", address(2));
    let ran = hosts.oscost(&["run", "syscall/getppid", "--quick", "--at", &at]).exits(3);
    ran.stderr_contains(&["cannot reach `ssh:"]);
    hosts.nothing_is_left();
}
