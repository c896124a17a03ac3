//! Runs that are cut short, killed, and in each other's way: nothing measured is lost, and nothing
//! is left behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Ran, Sandbox, row, rows, until};

/// More than a test has time for.
const LONG: &[&str] =
    &["run", "--precision", "0.001", "--budget", "600", "syscall", "procedure/call:args=*,chain=*"];

fn signal(pid: u32, signal: Signal) {
    assert!(pid > 1, "{pid} is not a process of the test");
    kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

/// Starts a run that a test cuts short, and waits until some rounds of it are done.
fn long_run(sandbox: &Sandbox, more: &[&str]) -> RunningTool {
    let mut command = sandbox.command(&[LONG, more].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = RunningTool(Some(child));
    until("some repetitions are kept", || {
        let ended = running.child().try_wait().unwrap();
        assert!(ended.is_none(), "the run has ended by itself");
        repetitions(sandbox).is_some_and(|repetitions| repetitions >= 3)
    });
    running
}

/// The newest run in the store, during the run or afterwards.
fn kept(sandbox: &Sandbox) -> Option<Value> {
    let ran = sandbox.oscost(&["runs", "show", "last", "--json", "-"]);
    (ran.code == Some(0)).then(|| ran.json())
}

/// Repetitions of a reference case so far.
fn repetitions(sandbox: &Sandbox) -> Option<usize> {
    let record = kept(sandbox)?;
    let row = rows(&record).iter().find(|row| row["case"] == "syscall/getppid:via=raw")?;
    row["repetitions"].as_array().map(Vec::len)
}

/// A run in progress; it ends with its test.
struct RunningTool(Option<Child>);

impl RunningTool {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    fn pid(&mut self) -> u32 {
        self.child().id()
    }

    /// Waits for its end.
    fn ended(mut self) -> Ran {
        Ran::of_child(self.0.take().unwrap())
    }

    /// Its children: the supervisor.
    fn supervisor(&mut self) -> u32 {
        let pid = self.pid();
        let found = children(pid);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }
}

impl Drop for RunningTool {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn ctrl_c_keeps_and_prints_what_there_is() {
    for name in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = Sandbox::new();
        let mut running = long_run(&sandbox, &["--json", "-"]);
        signal(running.pid(), name);
        let ran = running.ended().exits(130);
        let record = ran.json();
        assert_eq!(record["complete"], false);
        assert!(record["ended"].is_string());
        let getppid = row(&record, "syscall/getppid:via=raw");
        assert!(getppid["repetitions"].as_array().unwrap().len() >= 3, "{getppid}");
        assert_eq!(kept(&sandbox).unwrap(), record);
        sandbox.nothing_is_left();
    }
}

#[test]
fn one_request_to_stop_may_come_as_several_signals() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &["--json", "-"]);
    // As timeout(1) does it: the child, and then its group.
    for name in [Signal::SIGTERM, Signal::SIGTERM, Signal::SIGHUP] {
        signal(running.pid(), name);
    }
    assert_eq!(running.ended().exits(130).json()["complete"], false);
    sandbox.nothing_is_left();
}

#[test]
fn a_run_by_nohup_survives_its_terminal() {
    let sandbox = Sandbox::new();
    let plain = sandbox.command(LONG);
    let mut command = Command::new("env");
    command.arg("--ignore-signal=HUP").arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = RunningTool(Some(command.spawn().unwrap()));
    let more_than = |count| repetitions(&sandbox).is_some_and(|done| done > count);
    until("some repetitions are kept", || more_than(2));
    signal(running.pid(), Signal::SIGHUP);
    let before = repetitions(&sandbox).unwrap();
    until("it goes on", || {
        assert!(running.child().try_wait().unwrap().is_none(), "SIGHUP has ended it");
        more_than(before + 2)
    });
    signal(running.pid(), Signal::SIGINT);
    running.ended().exits(130);
    sandbox.nothing_is_left();
}

#[test]
fn a_run_without_the_lock_measures_beside_another() {
    let sandbox = Sandbox::new();
    let mut first = long_run(&sandbox, &[]);
    let quick = ["run", "--quick", "--no-store", "--no-lock", "timer/nothing"];
    let ran = sandbox.oscost(&quick);
    assert!(!ran.stderr.contains("waiting for"), "{}", ran.stderr);
    // Beside another run it may have too few undisturbed batches.
    assert!(ran.stdout.contains("nothing"), "{}", ran.stdout);
    assert!(first.child().try_wait().unwrap().is_none(), "the first has ended");
    sandbox.oscost(&["run", "--no-lock", "--no-wait"]).exits(2);
    signal(first.pid(), Signal::SIGINT);
    first.ended().exits(130);
    sandbox.nothing_is_left();
}

#[test]
fn a_stuck_tool_ends_at_the_second_signal() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &["--html", "-"]);
    // The page is not read, and a pipe does not hold it.
    until("one of several signals has ended it", || {
        signal(running.pid(), Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(400));
        running.child().try_wait().unwrap().is_some()
    });
    let ran = running.ended().exits(130);
    assert!(ran.stdout.len() < 100_000, "it wrote all {} bytes", ran.stdout.len());
    sandbox.nothing_is_left();
}

#[test]
fn an_interrupted_table_is_marked_as_such() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &[]);
    signal(running.pid(), Signal::SIGINT);
    let ran = running.ended().exits(130);
    assert!(ran.stdout.contains("the run was cut short"), "{}", ran.stdout);
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_killed_tool_loses_no_finished_worker_and_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &[]);
    let before = repetitions(&sandbox).unwrap();
    signal(running.pid(), Signal::SIGKILL);
    let ran = running.ended();
    assert_eq!((ran.code, ran.stdout.as_str()), (None, ""));
    sandbox.nothing_is_left();
    let record = kept(&sandbox).unwrap();
    assert_eq!(record["complete"], false);
    assert!(record["ended"].is_null(), "it never ended by itself");
    assert!(repetitions(&sandbox).unwrap() >= before);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.contains("getppid") && shown.contains("cut short"), "{shown}");
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    assert!(list.contains("(cut short)"), "{list}");
    // The machine is free again, and so is the store.
    let next = sandbox.oscost(&["run", "--quick", "timer/nothing"]);
    assert!(!next.stderr.contains("not kept"), "{}", next.stderr);
}

#[test]
fn a_killed_supervisor_ends_the_run_and_what_was_measured_is_shown() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &[]);
    signal(running.supervisor(), Signal::SIGKILL);
    let ran =
        running.ended().exits(3).stderr_contains("the supervisor ended").stderr_contains("SIGKILL");
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_killed_worker_is_a_failed_row_with_its_signal() {
    let sandbox = Sandbox::new();
    // Reference cases alone, which go on to the end of the run.
    let reference_cases = [
        "timer/nothing",
        "timer/clock-gettime:clock=monotonic,via=libc",
        "syscall/getppid:via=raw",
    ];
    let options = ["run", "--precision", "0.001", "--json", "-"];
    let mut command = sandbox.command(&[&options[..], &reference_cases].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = RunningTool(Some(child));
    // At least one of its rows continues, so that there is always a worker to kill.
    until("some repetitions are kept", || repetitions(&sandbox).is_some_and(|it| it >= 2));
    let supervisor = running.supervisor();
    // The parts of their floors are measured with them, unrequested.
    let is_hit = |row: &&Value| {
        row["outcome"] == "failed"
            && reference_cases.iter().any(|&reference_case| row["case"] == reference_case)
    };
    let failed = |record: &Value| rows(record).iter().any(|row| is_hit(&row));
    until("a worker was hit", || {
        // A worker lives for some milliseconds, and a look into the store takes longer: a row must
        // be hit twice before it has all its repetitions.
        for worker in (0..200).flat_map(|_| children(supervisor)) {
            // It may have ended by itself.
            let _ = kill(Pid::from_raw(worker.cast_signed()), Signal::SIGKILL);
        }
        running.child().try_wait().unwrap().is_some()
            || kept(&sandbox).is_some_and(|it| failed(&it))
    });
    let ran = running.ended().exits(3);
    let record = ran.json();
    assert_eq!(record["complete"], true, "the others went on to their end");
    let hit = rows(&record).iter().find(is_hit).unwrap();
    assert_eq!(hit["reason"], "the worker was killed by SIGKILL");
    assert!(hit["estimate"].is_null(), "a failed row has no figure");
    let workers = hit["repetitions"].as_array().unwrap();
    assert_eq!(workers.last().unwrap()["reason"], "the worker was killed by SIGKILL");
    assert!(workers.len() >= 2, "what it measured before stays");
    sandbox.nothing_is_left();
}

#[test]
fn a_second_run_fails_or_waits_and_names_the_first() {
    let sandbox = Sandbox::new();
    let mut first = long_run(&sandbox, &["--label", "first"]);
    let pid = first.pid();
    let quick = ["run", "--quick", "timer/nothing"];
    let ran = sandbox.oscost(&[&quick[..], &["--no-wait"]].concat()).exits(3).no_data();
    ran.stderr_contains(&format!("cannot measure: process {pid} ("))
        .stderr_contains("is measuring on this machine");

    // A stopped one is named with the way to continue it.
    signal(pid, Signal::SIGSTOP);
    until("it is stopped", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.starts_with(" T")
    });
    let ran = sandbox.oscost(&["doctor", "--no-wait"]).exits(3).no_data();
    ran.stderr_contains(&format!("(stopped: `kill -CONT {pid}` continues it)"))
        .stderr_contains("`--no-lock` measures beside it");
    signal(pid, Signal::SIGCONT);

    let ran = sandbox.oscost(&["doctor", "--no-wait"]).exits(3).no_data();
    ran.stderr_contains(&format!("cannot measure: process {pid} ("))
        .stderr_contains("is measuring on this machine");
    // Whatever needs no spin is shown without waiting; the rest has a reason why it is missing.
    let ran = sandbox.oscost(&["machine", "--json"]).exits(0);
    let rates = &ran.json()["rates"];
    assert_eq!(rates["core_cycles_per_ns"], Value::Null);
    let why = rates["not_measured"].as_str().unwrap();
    assert!(
        why.starts_with(&format!("process {pid} (")) && why.contains("try again later"),
        "{why}"
    );

    let mut command = sandbox.command(&quick);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut second = RunningTool(Some(child));
    let mut lines = BufReader::new(second.child().stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with(&format!("waiting for process {pid} (")), "{line}");

    // A waiting run can be interrupted.
    let mut command = sandbox.command(&quick);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut third = RunningTool(Some(child));
    let mut others = BufReader::new(third.child().stderr.take().unwrap());
    let mut line = String::new();
    others.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for process "), "{line}");
    signal(third.pid(), Signal::SIGINT);
    assert_eq!(third.ended().exits(130).stdout, "");

    assert!(second.child().try_wait().unwrap().is_none(), "it measures together with the first");
    signal(pid, Signal::SIGINT);
    first.ended().exits(130);
    // Another test may lock the machine first: the run then continues to wait, and ends in either
    // case.
    let ran = second.ended();
    assert!(ran.stdout.contains("nothing"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}
