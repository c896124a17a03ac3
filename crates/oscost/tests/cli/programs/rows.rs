//! A command as a row: its figures, its input and its export.

use serde_json::Value;

use super::fake_programs::fake_program;
use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox, row};
use crate::golden::golden;

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
    assert!(row["program"].is_null(), "its file is on no machine: {}", row["program"]);
    // As many as fit into ten seconds.
    assert_eq!(row["repetitions"].as_array().unwrap().len(), 20);
    for metric in ["cpu", "user", "system", "peak-memory", "minor-faults", "voluntary-switches"] {
        assert!(row["metrics"][metric]["estimate"]["ci95"].is_array(), "{metric}");
    }
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
    let shell = std::fs::canonicalize(command[0]).unwrap();
    assert_eq!(row["program"]["path"], shell.to_str().unwrap());
    assert_eq!(row["program"]["bytes"], std::fs::metadata(&shell).unwrap().len());
    assert_eq!(row["program"]["sha256"].as_str().unwrap().len(), 64);
    sandbox.nothing_is_left();
}

#[test]
fn a_pipe_is_read_once_and_given_to_each_trial() {
    let sandbox = Sandbox::new();
    let piped = |script: &str, arguments: &[&str]| {
        let script = format!("{script} | exec \"$0\" \"$@\"");
        Ran::of(&mut sandbox.command_in_shell(&script, arguments))
    };
    let check = ["--", "sh", "-c", "test $(wc -l) = 1000"];
    for stdin in ["-", "/dev/stdin"] {
        let run = [&["run", "--quick", "--stdin", stdin, "--json", "-"], &check[..]].concat();
        let record = piped("seq 1000", &run).exits(0).json();
        let found = row(&record, "workload/sh");
        assert!(found["repetitions"].as_array().unwrap().len() >= 3, "{found}");
    }
    let refused = |script: &str, stdin: &str| {
        let run = [&["run", "--quick", "--stdin", stdin], &check[..]].concat();
        piped(script, &run).exits(2)
    };
    refused("head -c 70000000 /dev/zero", "-").stderr_contains("more than 64 MiB");
    let pipe = sandbox.file("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(":", pipe.to_str().unwrap()).stderr_contains("--stdin - <PIPE");
    sandbox.nothing_is_left();
}

#[test]
fn programs_are_exported_as_hyperfine_does() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hyperfine.json");
    let export = ["--export-hyperfine", file.to_str().unwrap()];
    let run = [&["run", "--seed", "1", "--at", "HERE", "--quick"], &export[..]].concat();
    fake_program(&sandbox, &run, &["gzip", "-kf9", "FILE"]).exits(0);
    let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let result = &read["results"][0];
    assert_eq!(result["command"], "gzip -kf9 FILE");
    let times = result["times"].as_array().unwrap();
    let seconds = |value: &Value| value.as_f64().unwrap();
    let mean = times.iter().map(seconds).sum::<f64>() / times.len() as f64;
    assert!((mean / seconds(&result["mean"]) - 1.0).abs() < 1e-9, "{result}");
    assert_eq!(result["exit_codes"].as_array().unwrap().len(), times.len());
    assert!(seconds(&result["min"]) <= seconds(&result["median"]), "{result}");
    assert!((seconds(&result["user"]) / 0.6 / mean - 1.0).abs() < 0.01, "{result}");
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
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(3);
    assert!(ran.stdout.contains("did 1234.5 a second"), "{}", ran.stdout);
    // A file that is none is refused with its line.
    std::fs::write(path, MINE.replace("\ntrials = 6", "\ntrails = 6")).unwrap();
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(2);
    assert!(ran.stderr.contains("line 4") && ran.stderr.contains("trails"), "{}", ran.stderr);
}
