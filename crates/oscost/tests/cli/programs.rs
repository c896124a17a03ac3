//! Whole programs: the user's own, files of workloads, and those that come with oscost.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox, row, scenario_file};
use crate::golden::golden;

/// A run on a fake host, with the results of its scenario.
fn fake_program(sandbox: &Sandbox, verb: &[&str], command: &[&str]) -> Ran {
    let file = scenario_file("programs");
    let host = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let verb: Vec<String> = verb.iter().map(|word| word.replace("HERE", &host)).collect();
    let verb: Vec<&str> = verb.iter().map(String::as_str).collect();
    let dashes: &[&str] = if command.is_empty() { &[] } else { &["--"] };
    let all = [&verb, dashes, command].concat();
    Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap()))
}

#[test]
fn a_command_is_a_row_with_its_times_and_is_shown_again() {
    let sandbox = Sandbox::new();
    let run = ["run", "--seed", "1", "--at", "HERE"];
    let ran = fake_program(&sandbox, &run, &["gzip", "-kf9", "FILE"]).exits(0);
    assert_fits(&ran.stdout);
    golden("run-command.txt", &ran.stdout);
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let row = row(&record, "workload/gzip");
    assert_eq!((&row["unit"], &row["primary_metric"]), (&"s".into(), &"real".into()));
    assert_eq!(row["estimate"]["median"], row["metrics"]["real"]["estimate"]["median"]);
    assert_eq!(row["repetitions"].as_array().unwrap().len(), 10);
    for metric in ["user", "system", "peak-memory", "minor-faults", "voluntary-switches"] {
        assert!(row["metrics"][metric]["estimate"]["ci95"].is_array(), "{metric}");
    }
}

#[test]
fn targets_are_compared_by_each_time_of_a_program() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--quick", "--base", "HERE", "--new", "ph@HERE"];
    let ran = fake_program(&sandbox, &ab, &["sh", "-c", "true"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-command.txt", &ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let of_it = |it: &&Value| it["case"] == "workload/sh";
    let compared: Vec<&Value> =
        record["comparisons"].as_array().unwrap().iter().filter(of_it).collect();
    let metrics: Vec<&str> = compared.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["primary", "user", "system"]);
    assert!(compared.iter().all(|it| it["design"] == "pairs" && it["pairs"] == 3));
    assert!(compared.iter().all(|it| it["added"]["unit"] == "s"));
}

#[test]
fn a_program_that_fails_misses_something_or_takes_too_long_is_reported() {
    let sandbox = Sandbox::new();
    let run = ["run", "--at", "HERE", "--quick"];
    for (command, outcome, words) in [
        ("broken", "failed", "exited with status 2: no such option"),
        ("absent", "skipped", "is not installed"),
        ("slow", "timed-out", "600000 ms"),
    ] {
        let code = i32::from(outcome != "skipped");
        let ran = fake_program(&sandbox, &run, &[command]).exits(code);
        assert!(ran.stdout.contains("Not measured\n"), "{}", ran.stdout);
        assert!(ran.stdout.contains(outcome), "{}", ran.stdout);
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{}", ran.stdout);
    }
}

/// A file of the user's.
const MINE: &str = r#"
command = ["report", "--fast"]
output = "read"
trials = 6
min-trials = 6
quick-trials = 6
primary = "speed"

[[figure]]
name = "speed"
unit = "op/s"
pattern = 'did ([0-9.]+) a second'
"#;

#[test]
fn a_figure_is_read_from_what_a_program_writes() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("mine.toml");
    std::fs::write(&path, MINE).unwrap();
    let path = path.to_str().unwrap();
    let run = ["run", "--at", "HERE", "--workload", path, "--json", "-"];
    let record = fake_program(&sandbox, &run, &[]).exits(0).json();
    let found = row(&record, "workload/mine");
    assert_eq!((&found["unit"], &found["estimate"]["median"]), (&"op/s".into(), &1234.5.into()));
    assert!(found["metrics"]["real"]["estimate"]["median"].is_number());
    // A missing figure is reported with the output.
    std::fs::write(path, MINE.replace("did (", "made (")).unwrap();
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(1);
    assert!(ran.stdout.contains("did 1234.5 a second"), "{}", ran.stdout);
    // A file that is none is refused with its line.
    std::fs::write(path, MINE.replace("\ntrials = 6", "\ntrails = 6")).unwrap();
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(2);
    assert!(ran.stderr.contains("line 4") && ran.stderr.contains("trails"), "{}", ran.stderr);
}

#[test]
fn a_real_command_is_run_and_its_times_add_up() {
    let sandbox = Sandbox::new();
    let command = ["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];
    let run = ["run", "--quick", "--json", "-", "--"];
    let record = sandbox.oscost(&[&run[..], &command].concat()).exits(0).json();
    let row = row(&record, "workload/sh");
    let median = |metric: &str| row["metrics"][metric]["estimate"]["median"].as_f64().unwrap();
    assert!(median("user") + median("system") <= 1.1 * median("real") + 0.004, "{row}");
    assert!(median("peak-memory") > 100_000.0 && median("minor-faults") > 10.0, "{row}");
    sandbox.nothing_is_left();
}

#[test]
fn a_failing_command_is_reported_with_its_output_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mark = format!("{}", 1_000_000 + std::process::id());
    let script = format!("sleep {mark} & echo it broke >&2; exit 3");
    let ran = sandbox.oscost(&["run", "--quick", "--", "/bin/sh", "-c", &script]).exits(1);
    assert!(ran.stdout.contains("it broke") && ran.stdout.contains("status 3"), "{}", ran.stdout);
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words == format!("sleep\0{mark}\0").into_bytes()
    });
    assert_eq!(left.count(), 0);
    sandbox.nothing_is_left();
}

/// Programs by these names, each a script of a shell, in a folder that is the whole path.
fn prepare_all(sandbox: &Sandbox, programs: &[(&str, &str)]) -> Ran {
    let folder = sandbox.folder("path");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in programs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    Ran::of(sandbox.command(&["workload", "prepare", "--all"]).env("PATH", folder))
}

#[test]
fn all_workloads_are_prepared_by_one_command_as_far_as_the_machine_allows() {
    let sandbox = Sandbox::new();
    let tools = [("sh", ""), ("tar", ""), ("gzip", "")];
    // A preparation that fails does not hide what came of the others.
    let broken = [&tools[..], &[("awk", "echo no space; exit 3")]].concat();
    let ran = prepare_all(&sandbox, &broken).exits(1).no_data();
    let ran = ran.stderr_contains("no space").stderr_contains("workload/tar: not prepared: ");
    let ran = ran.stderr_contains("ended with exit status: 3");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    ran.stderr_contains("workload/cs161: ready, needs no preparation");
    // What the machine lacks is named with the packages that have it, and is no failure.
    let works = [("awk", "/bin/mkdir -p tree/19 && : > tree/19/49")];
    let ran = prepare_all(&sandbox, &works).exits(0).no_data();
    let ran = ran.stderr_contains("workload/tar: prepared in ");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    let ran = ran.stderr_contains("hint: sudo apt-get install --no-install-recommends ");
    ran.stderr_contains(", then oscost workload prepare --all");
    prepare_all(&sandbox, &[]).exits(0).stderr_contains("workload/tar: already prepared, in ");
    let usage = |words: &[&str]| sandbox.oscost(&[&["workload", "prepare"], words].concat());
    usage(&["--all", "tar"]).exits(2).stderr_contains("cannot be used with");
    usage(&[]).exits(2).stderr_contains("<NAME>");
}

#[test]
fn the_programs_of_studies_run_check_themselves_and_leave_nothing() {
    let sandbox = Sandbox::new();
    let cases = [
        "workload/cs161:call=none",
        "workload/cs161:call=time",
        "workload/cs161:call=sbrk",
        "workload/cs161-kept-pid",
        "workload/cse221:act=loop",
        "workload/cse221-call:args=7",
        "workload/output:via=fwrite,size=8",
    ];
    let run = ["run", "--quick", "--calls", "--json", "-"];
    let record = sandbox.oscost(&[&run[..], &cases].concat()).exits(0).json();
    for case in cases {
        let row = row(&record, case);
        assert_eq!((&row["outcome"], &row["unit"]), (&"measured".into(), &"ns/op".into()), "{row}");
    }
    let calls = |case: &str| row(&record, case)["calls"]["per_op"].clone();
    // A dynamic program maps its libraries; its million calls are no system calls.
    for case in &cases[..4] {
        let calls = calls(case);
        assert!(calls["mmap"].as_f64().unwrap() >= 4.0, "{case}: {calls}");
        let sum: f64 = calls.as_object().unwrap().values().map(|it| it.as_f64().unwrap()).sum();
        assert!((10.0..200.0).contains(&sum), "{case}: {calls}");
    }
    // Once by the library that keeps it, once by the check of the program.
    assert_eq!(calls("workload/cs161-kept-pid")["getpid"], 2.0);
    // Of 500,000 records of 8 bytes, a buffer of some KiB at a time.
    let writes = calls("workload/output:via=fwrite,size=8")["write"].as_f64().unwrap();
    assert!((4.0..=4_000.0).contains(&writes), "{writes}");
    sandbox.nothing_is_left();
}
