//! The exit statuses of all subcommands: a line for each way to end.
//!
//! Statuses that take more than a line are tested beside their subject: signals (129, 130, 143) in
//! `machine.rs`, fetched kernels in `kernels.rs`, monitors in `tests/ph`, killed commands in
//! `treat.rs`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, scenario_file};

/// A command line and its status. Words are separated by spaces; those in capitals stand for files
/// and targets of the test.
struct Line {
    status: i32,
    words: &'static str,
}

const fn exits(status: i32, words: &'static str) -> Line {
    Line { status, words }
}

const LINES: &[Line] = &[
    exits(0, "run --at MEASURED syscall/getppid"),
    exits(2, "run no/such"),
    exits(2, "run --at nowhere:x syscall/getppid"),
    exits(2, "run --workload NO_FILE"),
    exits(0, "run --at ALL_OUTCOMES"),
    exits(0, "run --at ALL_OUTCOMES timer/clock-gettime syscall"),
    exits(0, "run --at ALL_OUTCOMES */getppid"),
    exits(3, "run --at ALL_OUTCOMES syscall syscall/getppid"),
    exits(3, "run --at ALL_OUTCOMES getppid:via=*"),
    exits(3, "run --at ALL_OUTCOMES syscall/open-close:via=raw timer"),
    exits(3, "run --at ssh:db1 syscall/getppid"),
    exits(4, "run --at MEASURED syscall/getppid --json /dev/full"),
    exits(126, "run --quick -- /etc/passwd"),
    exits(127, "run --quick -- no-such-command"),
    exits(130, "run --at INTERRUPTED syscall/getppid syscall/open-close"),
    exits(0, "ab --quick --seed 1 --base TREATED --new sud@TREATED syscall/getppid:via=raw"),
    exits(
        1,
        "ab --quick --seed 1 --base TREATED --new sud@TREATED --gate 20 syscall/getppid:via=raw",
    ),
    exits(2, "ab --new no-such-treatment syscall/getppid"),
    exits(3, "ab --quick --base TREATED --new ftrace@TREATED syscall/getppid:via=raw"),
    exits(3, "ab --base ssh:db1 --new nice=1@ssh:db1 syscall/getppid"),
    exits(
        4,
        "ab --quick --base TREATED --new sud@TREATED syscall/getppid:via=raw --json /dev/full",
    ),
    exits(126, "ab --quick -- true -- /etc/passwd"),
    exits(127, "ab --quick -- true -- no-such-command"),
    exits(0, "bill --at MEASURED --trials 6 --prices last -- true"),
    exits(2, "bill --at ssh:db1 --workload find"),
    exits(2, "bill --at vm:6.12 -- true"),
    exits(3, "bill --at ssh:db1 -- true"),
    exits(2, "bill"),
    exits(2, "bill last last"),
    exits(2, "bill no-such-bill last"),
    exits(2, "bill last last -- true"),
    exits(2, "bill --trials 6 --prices no-such-run -- true"),
    exits(4, "bill --at MEASURED --trials 6 --prices last --json /dev/full -- true"),
    exits(126, "bill -- /etc/passwd"),
    exits(127, "bill -- no-such-command"),
    exits(0, "compare SAME OTHER"),
    exits(1, "compare SAME SLOWED --gate"),
    exits(2, "compare SAME no-such-run"),
    exits(2, "compare SAME DAMAGED"),
    exits(3, "compare SAME OTHER --gate"),
    exits(4, "compare SAME OTHER --json /dev/full"),
    exits(0, "table SAME OTHER"),
    exits(0, "table --list"),
    exits(2, "table SAME"),
    exits(2, "table SAME no-such-run"),
    exits(2, "table SAME DAMAGED"),
    exits(4, "table SAME OTHER --json /dev/full"),
    exits(2, "fleet run NO_FILE"),
    exits(2, "fleet run NO_FILE --ssh NO_FILE"),
    exits(2, "fleet run NO_FILE --retry"),
    exits(2, "fleet visit NO_FILE --task 0"),
    exits(2, "fleet status NO_FILE"),
    exits(2, "fleet cancel NO_FILE"),
    exits(2, "fleet check"),
    exits(2, "fleet check --against no-such-fleet"),
    exits(2, "fleet links --ssh NO_FILE"),
    exits(3, "fleet links --ssh HOSTS socket/round-trip:by=tcp,size=64,peer_cpu=other"),
    exits(2, "fleet ab no-such-fleet"),
    exits(2, "fleet report no-such-fleet"),
    exits(2, "fleet report NO_FILE"),
    exits(0, "history"),
    exits(2, "history no/such"),
    exits(0, "list"),
    exits(2, "list no/such"),
    exits(0, "explain getppid"),
    exits(2, "explain no-such-word"),
    exits(0, "runs list"),
    exits(2, "runs list --no-such-option"),
    exits(0, "runs show last"),
    exits(2, "runs show no-such-run"),
    exits(4, "runs show last --json /dev/full"),
    exits(0, "runs export last -"),
    exits(2, "runs export no-such-run -"),
    exits(4, "runs export last /dev/full"),
    exits(0, "runs import SAME"),
    exits(2, "runs import NO_FILE"),
    exits(2, "runs import DAMAGED"),
    exits(0, "runs prune"),
    exits(2, "runs prune --no-such-option"),
    exits(0, "report last --csv -"),
    exits(2, "report no-such-run --csv -"),
    exits(4, "report last --csv /dev/full"),
    exits(0, "machine --at MEASURED"),
    exits(2, "machine --at nowhere:x"),
    exits(3, "machine --at ssh:db1"),
    exits(0, "doctor --at MEASURED"),
    exits(2, "doctor --at nowhere:x"),
    exits(3, "doctor --at ssh:db1"),
    exits(0, "workload list"),
    exits(0, "workload list --json"),
    exits(2, "workload list --no-such-option"),
    exits(2, "workload prepare no-such-workload"),
    exits(0, "workload delete kernel-build"),
    exits(2, "workload delete no-such-workload"),
    exits(0, "kernels list"),
    exits(2, "kernels list --no-such-option"),
    exits(2, "kernels fetch ../x"),
    exits(2, "kernels delete no-such-kernel"),
    exits(0, "study list"),
    exits(0, "study list --json"),
    exits(2, "study list --no-such-option"),
    exits(0, "study show ph-2000"),
    exits(2, "study show no-such-study"),
    exits(0, "study claims"),
    exits(2, "study claims --no-such-option"),
    exits(0, "study across"),
    exits(2, "study across no-such-study"),
    exits(0, "study book BOOK"),
    exits(2, "study book"),
    exits(0, "treat -- true"),
    exits(1, "treat -- false"),
    exits(2, "treat no-such-treatment -- true"),
    exits(125, "treat clocksource=sundial -- true"),
    exits(126, "treat -- /etc/passwd"),
    exits(127, "treat -- no-such-command"),
    exits(0, "treat list"),
    exits(0, "predict syscall/getppid:via=raw 120 ns"),
    exits(2, "predict no/such 120 ns"),
    exits(0, "predict list"),
    exits(0, "predict list --json"),
    exits(2, "predict list --no-such-option"),
    exits(0, "predict check"),
    exits(2, "predict check no-such-run"),
    exits(0, "predict delete all"),
    exits(2, "predict delete no-such-number"),
    exits(2, "ph train --window=10"),
    exits(2, "ph watch --window=10"),
    exits(0, "ph status"),
    exits(2, "ph status --no-such-option"),
    exits(0, "ph profiles list"),
    exits(2, "ph profiles list --no-such-option"),
    exits(2, "ph profiles show no-such-program"),
    exits(0, "ph profiles delete --gone"),
    exits(2, "ph profiles delete"),
    exits(0, "ph save -"),
    exits(2, "ph save"),
    exits(2, "ph load NO_FILE"),
    exits(2, "ph load DAMAGED"),
    exits(0, "schema"),
    exits(0, "schema bill"),
    exits(2, "schema no-such-kind"),
    exits(2, "schema no-such-argument"),
    exits(0, "completions bash"),
    exits(2, "completions no-such-shell"),
    exits(0, "man"),
    exits(2, "man no-such-verb"),
    exits(0, "--help"),
    exits(0, "-h"),
    exits(0, "run --help"),
    exits(0, "runs list --help"),
    exits(0, "--version"),
    exits(0, "help"),
    exits(0, "help fleet run"),
    // The last ones: they change what others read.
    exits(0, "fleet simulate FLEET --nodes 4 --cases 4 --visits 1"),
    exits(2, "fleet simulate FLEET --nodes 0"),
    exits(2, "fleet simulate FLEET --nodes 5"),
    exits(0, "fleet collect FLEET"),
    exits(2, "fleet collect NO_FILE"),
    exits(2, "runs delete no-such-run"),
    exits(0, "runs delete last"),
];

/// Subcommands whose success takes the network, a download, a profile, a fleet or root.
const NO_SUCCESS_HERE: &[&str] = &[
    "fleet run",
    "fleet visit",
    "fleet status",
    "fleet cancel",
    "fleet check",
    "fleet links",
    "fleet ab",
    "kernels fetch",
    "kernels delete",
    "workload prepare",
    "ph train",
    "ph watch",
    "ph profiles show",
    "ph load",
    "fleet report",
];

/// The files of the table; the last three do not exist.
const FILES: [&str; 8] =
    ["SAME", "OTHER", "SLOWED", "DAMAGED", "HOSTS", "NO_FILE", "BOOK", "FLEET"];

/// Commands whose output is that of the user's program.
const RUNS_A_PROGRAM: &str = "treat -- ";

/// A sandbox with the files of the table, and a run in its store.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    let asked = ["timer/clock-gettime", "syscall/getppid", "--json", "-"];
    let record = sandbox.fake("measured", &asked).exits(0).json();
    let with_id = |number: u32, record: &Value| {
        let mut record = record.clone();
        record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{number:04x}"));
        record["started"] = json!(format!("2026-11-21T08:{number:02}:00Z"));
        record
    };
    let mut slowed = with_id(3, &record);
    for row in slowed["results"].as_array_mut().unwrap() {
        if row["case"] != "syscall/getppid:via=libc" {
            continue;
        }
        let slow_down = |value: &mut Value| *value = json!(value.as_f64().unwrap() * 1.6);
        slow_down(&mut row["estimate"]["median"]);
        row["repetitions"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|one| slow_down(&mut one["value"]));
    }
    for (name, record) in
        [("SAME", with_id(1, &record)), ("OTHER", with_id(2, &record)), ("SLOWED", slowed)]
    {
        fs::write(sandbox.file(name), record.to_string()).unwrap();
    }
    fs::write(sandbox.file("HOSTS"), "db1\ndb2\n").unwrap();
    fs::write(sandbox.file("DAMAGED"), "{\"schema\": \"oscost.run/1\", ").unwrap();
    sandbox
}

/// The arguments of a line.
fn arguments(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let target = |name: &str| format!("fake:{}", scenario_file(name).display());
    let scenarios = [
        ("MEASURED", "measured"),
        ("ALL_OUTCOMES", "all-outcomes"),
        ("INTERRUPTED", "interrupted"),
        ("TREATED", "treated"),
    ];
    let argument = |word: &str| {
        let host = word.rsplit_once('@').map_or(word, |(_, host)| host);
        let scenario = scenarios.iter().find(|(name, _)| *name == host);
        match (scenario, FILES.contains(&word)) {
            (Some((_, scenario)), _) => word.replace(host, &target(scenario)),
            (None, true) => sandbox.file(word).to_str().unwrap().to_owned(),
            (None, false) => word.to_owned(),
        }
    };
    words.split(' ').map(argument).collect()
}

/// Runs a line with this standard output.
fn ran(sandbox: &Sandbox, words: &str, stdout: Stdio) -> Ran {
    let arguments = arguments(sandbox, words);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&arguments);
    let command = command.env("OSCOST_SSH", "/no/such/ssh").stdout(stdout).stderr(Stdio::piped());
    Ran::of_child(command.spawn().unwrap())
}

#[test]
fn every_subcommand_ends_with_the_status_of_its_line() {
    let sandbox = prepared();
    let mut wrong = Vec::new();
    for Line { status, words } in LINES {
        let ended = ran(&sandbox, words, Stdio::piped());
        let mut problems = Vec::new();
        if ended.code != Some(*status) {
            problems.push(format!("status {:?}, not {status}", ended.code));
        }
        // An error is never a success, and is told where the user is at fault.
        if *status == 0 && ended.stderr.contains("error: ") {
            problems.push("success with an error".to_owned());
        }
        if *status == 2 && !ended.stderr.contains("error: ") {
            problems.push("no error on standard error".to_owned());
        }
        for problem in problems {
            wrong.push(format!("{words}: {problem}\n{}", ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_subcommand_tells_that_its_standard_output_is_closed_or_full() {
    let sandbox = prepared();
    let mut wrong = Vec::new();
    let writes =
        LINES.iter().filter(|line| line.status == 0 && !line.words.starts_with(RUNS_A_PROGRAM));
    for Line { words, .. } in writes {
        // Nothing is left to be deleted, or told, the second time.
        if words.starts_with("ph profiles delete")
            || ran(&sandbox, words, Stdio::piped()).stdout.is_empty()
        {
            continue;
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let full = File::options().write(true).open("/dev/full").unwrap();
        for (stdout, status) in [(OwnedFd::from(writer), 141), (OwnedFd::from(full), 4)] {
            let ended = ran(&sandbox, words, Stdio::from(stdout));
            if ended.code != Some(status) {
                wrong.push(format!("{words}: {:?}, not {status}\n{}", ended.code, ended.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_subcommand_and_every_status_of_a_line() {
    fn collect(command: &clap::Command, name: &str, found: &mut Vec<String>) {
        let verbs: Vec<_> = command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
        if verbs.is_empty() {
            found.push(name.to_owned());
        }
        for verb in verbs {
            collect(verb, format!("{name} {}", verb.get_name()).trim_start(), found);
        }
    }
    let mut verbs = Vec::new();
    collect(&oscost::cli::command(), "", &mut verbs);
    let has = |verb: &str, status: i32| {
        let is_of = |words: &str| words == verb || words.starts_with(&format!("{verb} "));
        LINES.iter().any(|line| line.status == status && is_of(line.words))
    };
    for verb in &verbs {
        assert!(has(verb, 2), "no line of `{verb}` exits with 2");
        let succeeds = !NO_SUCCESS_HERE.contains(&verb.as_str());
        assert_eq!(has(verb, 0), succeeds, "lines of `{verb}` that exit with 0");
    }
    // Those that are measured, and not only read.
    for verb in ["run", "ab", "machine", "doctor"] {
        assert!(has(verb, 3), "no line of `{verb}` exits with 3");
    }
    let statuses: BTreeSet<i32> = LINES.iter().map(|line| line.status).collect();
    assert_eq!(statuses, BTreeSet::from([0, 1, 2, 3, 4, 125, 126, 127, 130]));
}
