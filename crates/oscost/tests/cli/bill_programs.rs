//! `oscost bill` of programs and processes that are hard to count: what is said of them.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bill::{counted_by, with_prices};
use crate::common::{PATIENCE, Ran, Sandbox, tool};

/// The last bill in words, without the breaks of its lines.
fn last_in_words(sandbox: &Sandbox) -> String {
    let shown = sandbox.oscost(&["report", "last"]).exits(0).stdout;
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cautions(record: &Value) -> String {
    record["cautions"].to_string()
}

#[test]
fn a_task_that_outlives_the_program_is_told_and_killed() {
    let sandbox = with_prices();
    for counter in ["ptrace", "ebpf"] {
        let script = "sleep 1000 & exit 0";
        let Some(record) = counted_by(&sandbox, counter, script) else { continue };
        assert_eq!(record["counted"]["calls"]["killed"], 1, "{counter}: {record}");
        let words = last_in_words(&sandbox);
        assert!(words.contains("1 task outlived it"), "{counter}: {words}");
    }
}

#[test]
fn a_program_that_traces_itself_is_told_where_a_tracer_counts_it() {
    let sandbox = with_prices();
    // The number of no process: nothing is traced.
    let call = "import ctypes; ctypes.CDLL(None).ptrace(16, 0x7ffffff0, 0, 0)";
    let mut python = Command::new("python3");
    if !python.args(["-c", call]).output().is_ok_and(|it| it.status.success()) {
        return eprintln!("not tested: there is no python3 with ctypes");
    }
    let script = format!("exec python3 -c '{call}'");
    if let Some(record) = counted_by(&sandbox, "ptrace", &script) {
        assert!(cautions(&record).contains("it traces processes itself (1 x ptrace)"), "{record}");
        assert!(last_in_words(&sandbox).contains("it traces processes itself"));
    }
    if let Some(record) = counted_by(&sandbox, "ebpf", &script) {
        assert_eq!(record["cautions"], serde_json::json!([]), "nothing stops it");
    }
}

#[test]
fn a_set_user_id_program_is_told_where_a_tracer_counts_it() {
    let sandbox = with_prices();
    // Some systems have one program of many names: it needs its own. It is copied by another process,
    // since a file that is open for writing here cannot be executed while others are started.
    let file = sandbox.file("true");
    let copied = Command::new("cp").arg("/bin/true").arg(&file).status().unwrap();
    let set = Command::new("chmod").arg("4755").arg(&file).status().unwrap();
    assert!(copied.success() && set.success());
    let bill = |counter: &str| {
        let options = ["bill", "--trials", "6", "--prices", "last", "--json", "-", "--counter"];
        let command = [counter, "--", file.to_str().unwrap()];
        sandbox.oscost(&[&options[..], &command].concat())
    };
    let record = bill("ptrace").exits(0).json();
    if record["counted"].is_null() {
        return eprintln!("not tested: {}", record["not_counted"]);
    }
    assert!(cautions(&record).contains("its file is set-user-ID"), "{record}");
}

#[test]
fn where_ptrace_is_forbidden_untouched_trials_are_all_there_is() {
    let sandbox = with_prices();
    let profile = sandbox.file("no-ptrace.json");
    let rules = r#"{"defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": ["ptrace"], "action": "SCMP_ACT_ERRNO"}]}"#;
    fs::write(&profile, rules).unwrap();
    let treatment = format!("seccomp={}", profile.display());
    let oscost = tool();
    let bill = ["bill", "--counter", "ptrace", "--trials", "6", "--prices", "last", "--json", "-"];
    let under_filter = ["treat", treatment.as_str(), "--", oscost.to_str().unwrap()];
    let words = [&under_filter[..], &bill, &["--", "true"]].concat();
    let record = sandbox.oscost(&words).exits(0).json();
    let why = record["not_counted"].as_str().unwrap();
    assert!(why.contains("ptrace is refused"), "{why}");
    for key in ["counted", "charged", "difference"] {
        assert!(record[key].is_null(), "{key}");
    }
    assert_eq!(record["trials"]["real"]["repetitions"], 6);
    let words = last_in_words(&sandbox);
    assert!(words.contains("missing: calls, forks, execs and signals were not counted"), "{words}");
    assert!(words.contains("its calls were not counted"), "{words}");
}

#[test]
fn forms_without_room_are_one_item_and_no_call_is_lost() {
    let sandbox = with_prices();
    // Each request of ioctl(2) is a form. There are places for some three thousand: a thousand of each
    // CPU, so that the runs would differ on several ones.
    let calls = "import fcntl, os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for request in range(5000):
    try:
        fcntl.ioctl(0, 0x77000000 + request)
    except OSError:
        pass";
    if !Command::new("python3").args(["-c", calls]).output().is_ok_and(|it| it.status.success()) {
        return eprintln!("not tested: there is no python3");
    }
    let script = format!("exec python3 -c '{calls}'");
    let Some(record) = counted_by(&sandbox, "ebpf", &script) else { return };
    let forms = record["counted"]["calls"]["forms"].as_array().unwrap();
    let sum = |is_one: &dyn Fn(&str) -> bool| -> u64 {
        let of_name = forms.iter().filter(|it| is_one(it["form"].as_str().unwrap()));
        of_name.map(|it| it["calls"].as_u64().unwrap()).sum()
    };
    let (named, others) = (sum(&|form| form.starts_with("ioctl ")), sum(&|form| form == "other"));
    // Each is the median of three runs, whose first calls may have been on another CPU.
    assert!(others > 1_000 && named + others > 4_500, "{named} and {others}");
}

/// A shell that ends when its input does.
fn waiting_shell() -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r line"]).stdin(Stdio::piped()).spawn().unwrap()
}

/// A tracer's watch of a process for ten minutes, which has begun or has failed.
fn traced_watch(sandbox: &Sandbox, pid: &str) -> Child {
    let options = ["bill", "--pid", pid, "--for", "10m", "--prices", "last", "--json", "-"];
    let mut command = sandbox.command(&[&options[..], &["--counter", "ptrace"]].concat());
    let mut watcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_traced = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        !status.contains("\nTracerPid:\t0\n")
    };
    while !is_traced() && watcher.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Until the first look at its times.
    std::thread::sleep(Duration::from_secs(1));
    watcher
}

#[test]
fn an_interrupted_watch_of_a_tracer_has_a_bill_until_then_and_the_process_goes_on() {
    let sandbox = with_prices();
    let mut shell = waiting_shell();
    let pid = shell.id().to_string();
    let mut watcher = traced_watch(&sandbox, &pid);
    if watcher.try_wait().unwrap().is_none() {
        kill(Pid::from_raw(watcher.id().cast_signed()), Signal::SIGINT).unwrap();
    }
    let ran = Ran::of_child(watcher);
    assert!(shell.try_wait().unwrap().is_none(), "it was ended");
    drop(shell.stdin.take());
    shell.wait().unwrap();
    sandbox.nothing_is_left();
    if ran.code == Some(3) {
        assert!(ran.stderr.contains("ptrace of process"), "{}", ran.stderr);
        return eprintln!("not tested: {}", ran.stderr);
    }
    let record = ran.exits(130).json();
    assert_eq!(record["watched"]["ended"], false, "{record}");
    assert!(record["watched"]["seconds"].as_f64().unwrap() < PATIENCE.as_secs_f64(), "{record}");
    assert!(cautions(&record).contains("its watch was interrupted, after "), "{record}");
}

#[test]
fn a_process_that_ends_while_it_is_watched_has_a_bill_until_then() {
    let sandbox = with_prices();
    let mut shell = waiting_shell();
    let pid = shell.id().to_string();
    let watcher = traced_watch(&sandbox, &pid);
    drop(shell.stdin.take());
    let ran = Ran::of_child(watcher);
    shell.wait().unwrap();
    sandbox.nothing_is_left();
    if ran.code == Some(3) {
        assert!(ran.stderr.contains("ptrace of process"), "{}", ran.stderr);
        return eprintln!("not tested: {}", ran.stderr);
    }
    let watched = ran.exits(0).json()["watched"].clone();
    assert_eq!(watched["ended"], true, "{watched}");
    assert!(watched["seconds"].as_f64().unwrap() < PATIENCE.as_secs_f64(), "{watched}");
    assert!(last_in_words(&sandbox).contains(", until it ended"));
}

#[test]
fn a_process_of_another_user_is_refused_with_the_next_step() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("not tested: only root can be another user");
    }
    let sandbox = Sandbox::new();
    let mut shell = waiting_shell();
    let pid = shell.id().to_string();
    let ran = Ran::of(&mut sandbox.ordinary(&["bill", "--pid", &pid, "--for", "100ms"]));
    drop(shell.stdin.take());
    shell.wait().unwrap();
    let ran = ran.exits(2).no_data();
    // /proc may be mounted so that users do not see processes of others.
    if !ran.stderr.contains("or it is hidden") {
        ran.stderr_contains("it belongs to user 0").stderr_contains("sudo oscost bill --pid");
    }
}
