//! Runs that are cut short, killed, and in each other's way: nothing measured is lost, and nothing
//! is left behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
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
    RunningTool::with_repetitions(child, sandbox, 3)
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
    /// A run, once so many repetitions are kept.
    fn with_repetitions(child: Child, sandbox: &Sandbox, wanted: usize) -> Self {
        let mut running = Self(Some(child));
        until("some repetitions are kept", || {
            let ended = running.child().try_wait().unwrap();
            assert!(ended.is_none(), "the run has ended by itself");
            repetitions(sandbox).is_some_and(|repetitions| repetitions >= wanted)
        });
        running
    }

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

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
        .collect::<Vec<_>>()
        .join(" ");
    lists.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Whether this process and those that it starts ignore SIGHUP, as under nohup(1).
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1
}

#[test]
fn a_signal_keeps_and_prints_what_there_is_and_is_told_by_the_exit_status() {
    for (name, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        if name == Signal::SIGHUP && is_hangup_ignored() {
            eprintln!("cannot test SIGHUP here: what the tests are started by has them ignore it");
            continue;
        }
        let sandbox = Sandbox::new();
        let mut running = long_run(&sandbox, &["--json", "-"]);
        signal(running.pid(), name);
        let ran = running.ended().exits(status);
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
    assert_eq!(running.ended().exits(143).json()["complete"], false);
    sandbox.nothing_is_left();
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let sandbox = Sandbox::new();
    // As nohup(1) starts a program.
    let mut command = sandbox.command_in_shell("trap '' HUP; exec \"$0\" \"$@\"", LONG);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = RunningTool::with_repetitions(child, &sandbox, 3);
    let before = repetitions(&sandbox).unwrap();
    signal(running.pid(), Signal::SIGHUP);
    let supervisor = running.supervisor();
    signal(supervisor, Signal::SIGHUP);
    until("the run goes on", || {
        assert!(running.child().try_wait().unwrap().is_none(), "it ended");
        repetitions(&sandbox).is_some_and(|repetitions| repetitions > before + 1)
    });
    signal(running.pid(), Signal::SIGTERM);
    running.ended().exits(143);
    sandbox.nothing_is_left();
}

#[test]
fn a_run_whose_store_is_deleted_is_kept_in_a_new_one() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &["--json", "-"]);
    std::fs::remove_dir_all(sandbox.folder("data").join("oscost")).unwrap();
    // The run makes the new one: asking for it here would.
    let store = sandbox.folder("data").join("oscost/store.db");
    until("there is a new store", || store.exists());
    until("the run is in it", || repetitions(&sandbox).is_some_and(|repetitions| repetitions >= 3));
    signal(running.pid(), Signal::SIGINT);
    let ran = running.ended().exits(130);
    assert_eq!(kept(&sandbox).unwrap(), ran.json());
    ran.stderr_contains("was deleted or replaced during this run").stderr_contains("kept as ");
    sandbox.nothing_is_left();
}

#[test]
fn a_run_that_is_lost_with_its_store_is_told_as_such() {
    let sandbox = Sandbox::new();
    let data = sandbox.folder("data");
    let arguments = ["run", "--precision", "0.001", "--budget", "5", "syscall/getppid:via=raw"];
    let mut command = sandbox.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let running = RunningTool::with_repetitions(child, &sandbox, 1);
    // Where there is a file, no folder can be made.
    std::fs::rename(data.join("oscost"), data.join("gone")).unwrap();
    std::fs::write(data.join("oscost"), "").unwrap();
    let ran = running.ended().exits(0).stderr_contains("this run is not kept: the store ");
    assert!(!ran.stderr.contains("kept as"), "{}", ran.stderr);
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
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
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("the run was cut short"), "{}", ran.stdout);
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
    let ran = running.ended().exits(3).stderr_contains("the worker process was ended by SIGKILL");
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_supervisor_that_is_asked_to_end_is_told_as_such() {
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, &[]);
    signal(running.supervisor(), Signal::SIGTERM);
    let ran = running.ended().exits(3).stderr_contains("the worker process was ended by SIGTERM");
    let ran = ran.stderr_contains("hint: ");
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
    // What could not be measured afterwards either is refused at once.
    for verb in [&["run"][..], &["ab", "--new", "nice=5"]] {
        let ran = sandbox.oscost(&[verb, &["--quick", "timer/nothing", "--cpu", "4095"]].concat());
        ran.exits(2).no_data().stderr_contains("cannot measure on CPU 4095");
    }

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
