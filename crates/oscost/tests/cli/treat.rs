//! `oscost treat`: any command under treatments, its end, and that nothing of them stays.

use std::fs;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::Stdio;

use oscost::treatments::KINDS;
use oscost_model::protocol::LOCK_NAME;

use crate::common::treated::{kill, sleeper};
use crate::common::{Ran, Sandbox, end_of, rows, until};

const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0";

/// Of each way to treat a process, one.
const APPLIED: [&str; 8] = [
    "nice=1",
    "env=OSCOST_TEST=1",
    "seccomp=allow",
    "seccomp-trace",
    "seccomp-notify",
    "ptrace",
    "seccomp=allow+ptrace+nice=1",
    "antagonist=syscalls",
];

/// Runs the tool with this standard input.
fn run_with_input(sandbox: &Sandbox, arguments: &[&str], words: &str) -> Ran {
    let mut command = sandbox.command(arguments);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
    Ran::of_child(child)
}

#[test]
fn a_command_keeps_the_streams_folder_environment_and_status_of_its_user() {
    let script = "cat; pwd; echo $HOME$OSCOST_TEST >&2; exit 7";
    let sandbox = Sandbox::new();
    let plain = run_with_input(&sandbox, &["treat", "--", "sh", "-c", script], "a word").exits(7);
    let here = std::env::current_dir().unwrap();
    assert_eq!(plain.stdout, format!("a word{}\n", here.display()));
    for treatment in APPLIED {
        let ran =
            run_with_input(&sandbox, &["treat", treatment, "--", "sh", "-c", script], "a word");
        if ran.code == Some(125) {
            eprintln!("cannot run here: {}", ran.stderr);
            continue;
        }
        let ran = ran.exits(7);
        assert_eq!(ran.stdout, plain.stdout, "{treatment}");
        let variable = if treatment.starts_with("env") { "1" } else { "" };
        // A note that another process is measuring may precede its message.
        let words = format!("{}{variable}", sandbox.folder("files").display());
        assert_eq!(ran.stderr.lines().last(), Some(&*words), "{treatment}: {}", ran.stderr);
    }
    sandbox.nothing_is_left();
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    let sandbox = Sandbox::new();
    for treatment in [&[][..], &["nice=1"], &["seccomp=allow"]] {
        let treat = |command: &[&str]| {
            sandbox.oscost(&[&["treat"], treatment, &["--"], command].concat()).no_data()
        };
        treat(&["true"]).exits(0);
        treat(&["no-such-command"])
            .exits(127)
            .stderr_contains("cannot run `no-such-command`: No such file")
            .stderr_contains("  hint: give its path, or install it");
        treat(&["/etc/passwd"])
            .exits(126)
            .stderr_contains("cannot run `/etc/passwd`: Permission denied")
            .stderr_contains("  hint: `chmod +x`");
    }
    let ran = sandbox.oscost(&["treat", "seccomp=allow", "--", "sh", "-c", "kill -TERM $$"]);
    ran.exits(128 + 15).stderr_contains("`sh` was killed by SIGTERM");
    sandbox.nothing_is_left();
}

/// A profile that kills a program for uname(2).
fn without_uname(sandbox: &Sandbox) -> PathBuf {
    let profile = sandbox.file("no-uname.json");
    let rules = r#"{"defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": ["uname"], "action": "SCMP_ACT_KILL_PROCESS"}]}"#;
    fs::write(&profile, rules).unwrap();
    profile
}

#[test]
fn a_filter_that_kills_its_program_is_named() {
    let sandbox = Sandbox::new();
    let treatment = format!("seccomp={}", without_uname(&sandbox).display());
    let ran = sandbox.oscost(&["treat", &treatment, "--", "uname"]).exits(128 + 31).no_data();
    ran.stderr_contains("`uname` was killed by SIGSYS: its seccomp filter forbids")
        .stderr_contains("hint:");
    sandbox.oscost(&["treat", &treatment, "--", "true"]).exits(0);
}

#[test]
fn a_measured_program_that_a_filter_kills_says_where_the_call_is_found() {
    let sandbox = Sandbox::new();
    let treatment = format!("seccomp={}", without_uname(&sandbox).display());
    let arguments = ["run", "--quick", "--treat", &treatment, "--json", "-", "--", "uname"];
    let record = sandbox.oscost(&arguments).exits(3).json();
    let reasons: Vec<&str> =
        rows(&record).iter().filter_map(|row| row["reason"].as_str()).collect();
    let words = "`uname` was killed by SIGSYS: a seccomp filter forbids a call that it made; the \
                 kernel's log has its number";
    assert!(reasons.iter().any(|reason| reason.contains(words)), "{reasons:?}");
}

#[test]
fn docker_s_shape_lets_an_ordinary_command_run() {
    let sandbox = Sandbox::new();
    let ran = sandbox.oscost(&["treat", "seccomp=docker", "--", "ls", "/"]).exits(0);
    assert!(ran.stdout.contains("proc"), "{}", ran.stdout);
}

#[test]
fn impossible_treatments_are_refused_before_anything_is_run() {
    let sandbox = Sandbox::new();
    for (arguments, words) in [
        (&["treat", "secomp=allow", "--", "echo", "x"][..], "did you mean seccomp?"),
        (&["treat", "seccomp=dokcer", "--", "echo", "x"], "seccomp"),
        (&["treat", "ebpf", "--", "echo", "x"], "it needs a value"),
        (&["treat", "sud", "--", "echo", "x"], "execve(2) switches it off"),
        (&["treat", "cool=1M", "--", "echo", "x"], "the walk is between ops of a benchmark"),
        (&["treat", "call=function", "--", "echo", "x"], "makes its calls as it was compiled"),
        (&["treat", "ptrace@ssh:host", "--", "echo", "x"], "cannot treat a command at `ssh:host`"),
        (&["treat", "ptrace"], "no command is named"),
        (&["treat"], "no command is named"),
        (&["treat", "--json", "--", "echo", "x"], "cannot use `--json` with a command"),
    ] {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    }
}

#[test]
fn a_treatment_that_does_not_work_here_has_a_hint() {
    let sandbox = Sandbox::new();
    let treat = ["treat", "clocksource=sundial", "--", "echo", "x"];
    sandbox
        .oscost(&treat)
        .exits(125)
        .no_data()
        .stderr_contains("no clock source `sundial`; it has");
    let treat = ["treat", "ebpf=empty", "--", "echo", "x"];
    Ran::of(&mut sandbox.ordinary(&treat)).exits(125).no_data().stderr_contains("CAP_BPF");
    // The treatments before it have been undone.
    let treat = ["treat", "antagonist=cpu+clocksource=sundial", "--", "echo", "x"];
    sandbox.oscost(&treat).exits(125).no_data();
    sandbox.nothing_is_left();
}

#[test]
fn a_wrapper_starts_the_command_and_later_treatments_apply_inside_it() {
    let sandbox = Sandbox::new();
    let treat =
        ["treat", "nice=2+cmd=env W=w+seccomp=allow+env=V=v", "--", "sh", "-c", "nice; echo $W$V"];
    // The tests may run with a nice value already.
    let own = sandbox.oscost(&["treat", "nice=0", "--", "nice"]).exits(0).stdout;
    let nicer = own.trim().parse::<i32>().unwrap() + 2;
    assert_eq!(sandbox.oscost(&treat).exits(0).stdout, format!("{nicer}\nwv\n"));
}

#[test]
fn the_clock_source_is_restored_whichever_process_is_killed() {
    let read = |file: &str| {
        let text = fs::read_to_string(format!("{CLOCKS}/{file}")).unwrap_or_default();
        text.trim_end().to_owned()
    };
    let was = read("current_clocksource");
    let available = read("available_clocksource");
    let Some(other) = available.split(' ').find(|&name| name != was && !name.is_empty()) else {
        return eprintln!("cannot run here: there is one clock source");
    };
    let sandbox = Sandbox::new();
    for kills_cleanup in [false, true] {
        let Some(mut child) = sleeper(&sandbox, &format!("clocksource={other}")) else { return };
        assert_eq!(read("current_clocksource"), other);
        if kills_cleanup {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
            // The cleanup process is started first.
            let cleanup = children.unwrap().split(' ').next().unwrap().parse().unwrap();
            kill("KILL", cleanup);
            kill("TERM", child.id());
        } else {
            kill("KILL", child.id());
        }
        end_of(&mut child);
        until("the clock source is what it was", || read("current_clocksource") == was);
        sandbox.nothing_is_left();
    }
}

#[test]
fn the_list_shows_which_treatments_work_here_and_why_others_do_not() {
    let sandbox = Sandbox::new();
    let ran = Ran::of(&mut sandbox.ordinary(&["treat", "list"])).exits(0);
    assert!(ran.stdout.is_ascii() && ran.stdout.lines().all(|line| line.len() <= 80));
    let rows = |ran: &Ran| ran.json()["treatments"].as_array().unwrap().clone();
    let json = Ran::of(&mut sandbox.ordinary(&["treat", "list", "--json"])).exits(0);
    assert_eq!(json.json()["schema"], "oscost.treatments/1");
    let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    let listed = rows(&json);
    assert_eq!(listed.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let here = |name: &str| listed.iter().find(|row| row["name"] == name).unwrap()["here"].clone();
    assert_eq!([here("trained"), here("respond")], [here("ph"), here("ph")], "both modify it");
    assert!(!json.stdout.contains("Usage: "), "what a parser prints explains nothing");
    for row in &listed {
        let (name, here) = (row["name"].as_str().unwrap(), row["here"].as_str().unwrap());
        assert!(ran.stdout.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
        assert_eq!(row["reason"].is_string(), here != "yes", "{row}");
        if name == "ebpf" && here == "no" {
            assert!(row["reason"].as_str().unwrap().contains("CAP_BPF"), "{row}");
        }
        if ["env", "cmd", "nice"].contains(&name) {
            assert_eq!(here, "yes", "{row}");
        }
    }
    sandbox.nothing_is_left();
}

#[test]
fn treatments_that_would_disturb_a_run_are_not_tried_meanwhile() {
    let address = SocketAddr::from_abstract_name(LOCK_NAME).unwrap();
    let mut name = None;
    // Other tests measure.
    until("the machine is ours", || {
        name = UnixListener::bind_addr(&address).ok();
        name.is_some()
    });
    let sandbox = Sandbox::new();
    let quick = ["run", "--quick", "--no-store", "--no-wait", "timer/nothing"];
    // This process is not oscost: it is named, and ignored, by other tests as well, which may hold the
    // other part of the lock for their run.
    let named = format!("other runs off this machine: process {} (", std::process::id());
    let mut beside = None;
    until("this process is all that holds the lock", || {
        let alone = sandbox.oscost(&["treat", "antagonist=cpu", "--", "true"]).exits(0);
        let ran = sandbox.oscost(&quick);
        let is_alone = !alone.stderr.contains("is measuring") && ran.stderr.contains(&named);
        beside = is_alone.then_some(ran);
        is_alone
    });
    // By its command name it is one.
    fs::write("/proc/self/comm", "oscost").unwrap();
    let listed = sandbox.oscost(&["treat", "list", "--json"]).exits(0).json();
    let noted = sandbox.oscost(&["treat", "antagonist=cpu", "--", "true"]).exits(0);
    let refused = sandbox.oscost(&quick).exits(3);
    drop(name);
    beside.unwrap().stderr_contains(" (not oscost) holds its lock, and is ignored");
    refused.stderr_contains(&format!("cannot measure: process {} (", std::process::id()));
    noted.stderr_contains(&format!("note: process {} (", std::process::id()));
    for row in listed["treatments"].as_array().unwrap() {
        if row["study_method"] == "attached" {
            assert_eq!(row["here"], "not-tried");
            assert!(row["reason"].as_str().unwrap().ends_with(") is measuring"), "{row}");
        }
    }
}

#[test]
fn each_treatment_is_explained_with_its_comparison_and_source() {
    let sandbox = Sandbox::new();
    for kind in KINDS {
        let text = sandbox.oscost(&["explain", kind.name]).exits(0).stdout;
        assert!(text.starts_with(kind.name), "{text}");
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{text}");
        for title in ["What it costs", "How it is compared", "Source"] {
            assert!(text.contains(&format!("\n{title}\n  ")), "{}: {title}", kind.name);
        }
        assert_eq!(text.contains("\nNeeds\n"), !kind.needs.is_empty(), "{}", kind.name);
    }
}
