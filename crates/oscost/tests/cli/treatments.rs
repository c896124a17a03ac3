//! `oscost run --treat`: treatments of all rows, and the rows when a treatment cannot be applied.

use std::fs;

use crate::common::{Ran, Sandbox, row, rows};
use crate::golden::golden;

const ROWS: &[&str] = &["syscall/getppid", "syscall/open-close", "--quick"];

#[test]
fn the_foot_of_a_table_names_the_treatments_of_its_figures() {
    let treated = ["--treat", "seccomp=docker+nice=5+ebpf=empty"];
    let ran = Sandbox::new().fake("measured", &[ROWS, &treated].concat()).exits(0);
    golden("treated.txt", &ran.stdout);
}

#[test]
fn every_row_of_the_record_has_the_treatments_in_order() {
    let treated = ["--treat", "seccomp=docker+nice=5", "--json", "-"];
    let record = Sandbox::new().fake("measured", &[ROWS, &treated].concat()).exits(0).json();
    assert!(rows(&record).len() > 3, "reference cases, too");
    for row in rows(&record) {
        let target = &row["target"];
        assert_eq!(target["treatments"], serde_json::json!(["seccomp=docker", "nice=5"]));
        let text = target["text"].as_str().unwrap();
        assert!(text.starts_with("seccomp=docker+nice=5@fake:"), "{text}");
        assert!(target["host"].as_str().unwrap().starts_with("fake:"), "{target}");
    }
}

/// A run on a fake target of this scenario, under an attached treatment.
fn attached(scenario: &str) -> Ran {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    fs::write(&file, scenario).unwrap();
    let target = format!("ebpf=count+antagonist=cpu@fake:{}", file.display());
    sandbox.oscost(&[&["run", "--seed", "1", "--json", "-", "--at", &target], ROWS].concat())
}

#[test]
fn all_rows_are_skipped_if_a_treatment_cannot_be_attached() {
    let ran = attached(r#"{"attach_error": "BPF is for root: run it with sudo"}"#).exits(3);
    for row in rows(&ran.json()) {
        assert_eq!(row["outcome"], "skipped", "{row}");
        assert_eq!(row["reason"], "BPF is for root: run it with sudo");
    }
}

#[test]
fn rows_are_not_measured_further_when_a_treatment_is_detached() {
    let ran = attached(r#"{"detached_after_workers": 25}"#).exits(3);
    let record = ran.json();
    for row in rows(&record) {
        assert_eq!(row["outcome"], "failed", "{row}");
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.starts_with("an attached treatment ended early: "), "{reason}");
    }
}

/// A run on a fake target of this scenario, under the monitor pH.
fn monitored(scenario: &str, arguments: &[&str]) -> Ran {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    fs::write(&file, scenario).unwrap();
    let target = format!("ph@fake:{}", file.display());
    sandbox.oscost(&[&["run", "--seed", "1", "--at", &target], ROWS, arguments].concat())
}

#[test]
fn a_row_under_ph_reports_its_calls_and_the_state_of_its_profile() {
    let record = monitored(r#"{"monitor_profile": "normal"}"#, &["--json", "-"]).exits(0).json();
    let getppid = row(&record, "syscall/getppid:via=raw");
    assert_eq!(getppid["monitor"]["profile_states"], serde_json::json!(["normal"]));
    assert_eq!(getppid["monitor"]["observed_calls"], 23, "a call in each of 23 ops");
    let table = monitored("{}", &[]).exits(0).stdout;
    assert!(table.contains("pH reported each call of the counted ops ("), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("was training; no anomaly."), "{words}");
}

#[test]
fn a_row_is_void_if_ph_missed_a_call() {
    let missed = r#"{"missed_calls": {"syscall/getppid:via=libc": 1}}"#;
    let record = monitored(missed, &["--json", "-"]).exits(3).json();
    let libc = row(&record, "syscall/getppid:via=libc");
    assert_eq!(libc["outcome"], "failed");
    let reason = libc["reason"].as_str().unwrap();
    assert_eq!(reason, "void: the monitor observed 22 calls in the counted ops, which made 23");
    assert_eq!(row(&record, "syscall/getppid:via=raw")["outcome"], "measured");
}

#[test]
fn nothing_is_compared_once_no_row_that_was_asked_for_is_left() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    let case = "syscall/getppid:via=libc";
    fs::write(&file, format!(r#"{{"missed_calls": {{"{case}": 1}}}}"#)).unwrap();
    let base = format!("fake:{}", file.display());
    let new = format!("ph@{base}");
    let targets = ["ab", "--seed", "1", "--base", &base, "--new", &new];
    let ran = sandbox.oscost(&[&targets[..], &[case, "--quick", "--json", "-"]].concat());
    let record = ran.exits(3).json();
    let under_ph = rows(&record).iter().filter(|row| row["target"]["treatments"][0] == "ph");
    let mut references = 0;
    for row in under_ph {
        let reason = row["reason"].as_str().unwrap();
        if row["case"] == case {
            assert!(reason.starts_with("void: the monitor observed 22 calls"), "{reason}");
        } else {
            assert_eq!(row["outcome"], "skipped", "{row}");
            assert_eq!(reason, "no row that was asked for could be compared");
            references += 1;
        }
    }
    assert_eq!(references, 3);
}

#[test]
fn treatments_that_make_no_sense_are_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let profile = sandbox.file("x.json");
    fs::write(&profile, "{\n  \"defaultAction\": \"SCMP_ACT_ALOW\"\n}").unwrap();
    let seccomp = format!("seccomp={}", profile.display());
    for (arguments, words) in [
        (&["--treat", "nice=50"][..], &["cannot treat with `nice=50`", "-20 to 19", "nice=N"][..]),
        (&["--treat", "secomp=allow"], &["did you mean seccomp?", "oscost treat list"]),
        (&["--treat", "nice=5@ssh:db1"], &["`@ssh:db1`", "%40"]),
        (&["--treat", "nice=5", "--at", "sud@local"], &["not in both"]),
        (&["--treat", "cmd=strace", "--at", "ssh:db1"], &["cannot treat with `cmd` at `ssh:db1`"]),
        (&["--at", "cmd=strace@ssh:db1"], &["cannot treat with `cmd` at `ssh:db1`"]),
        (&["--treat", ""], &["empty"]),
        (
            &["--treat", &seccomp],
            &["x.json: line 2: `SCMP_ACT_ALOW` is not a known action", "ALLOW?"],
        ),
    ] {
        let ran = sandbox.oscost(&[&["run", "--no-store"], arguments].concat()).exits(2).no_data();
        for words in words {
            assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
        }
    }
}

/// The row of one real case under these treatments, and how the run of it ended.
fn real(treatments: &str) -> (serde_json::Value, Ran) {
    let sandbox = Sandbox::new();
    let arguments = ["run", "--quick", "--no-store", "--json", "-", "syscall/getppid:via=raw"];
    let ran = sandbox.oscost(&[&arguments, &["--treat", treatments][..]].concat());
    let row = row(&ran.json(), "syscall/getppid:via=raw").clone();
    sandbox.nothing_is_left();
    (row, ran)
}

#[test]
fn a_wrapper_starts_the_workers_and_variables_are_in_their_environment() {
    // The wrapper is a shell script of the test and has the environment of the worker.
    let wrapper = r#"cmd=sh -c '[ "$OSCOST_TEST" = "a b" ] && exec "$0" "$%40"'"#;
    let (with, ran) = real(&format!("env=OSCOST_TEST=a b+{wrapper}"));
    ran.exits(0);
    assert_eq!(with["outcome"], "measured", "{}", with["reason"]);
    let (without, ran) = real(wrapper);
    ran.exits(3);
    assert_eq!(without["outcome"], "failed");
    let reason = without["reason"].as_str().unwrap();
    assert!(reason.contains("exited without an answer, with status 1"), "{reason}");
}

#[test]
fn a_missing_wrapper_is_a_failed_row_that_names_it() {
    let (row, ran) = real("cmd=/nowhere/at/all -x");
    ran.exits(3);
    assert_eq!(row["outcome"], "failed");
    let reason = row["reason"].as_str().unwrap();
    assert!(reason.contains("cannot start a worker by `/nowhere/at/all`"), "{reason}");
}

#[test]
fn a_worker_is_measured_under_strace_if_installed() {
    if !["/usr/bin/strace", "/bin/strace"].iter().any(|path| fs::exists(path).unwrap()) {
        eprintln!("cannot wrap here: there is no strace");
        return;
    }
    let (row, ran) = real("cmd=strace -f -o /dev/null");
    match row["outcome"].as_str() {
        Some("measured") => drop(ran.exits(0)),
        // Where ptrace is refused.
        outcome => eprintln!("strace measured nothing here: {outcome:?}, {}", row["reason"]),
    }
    assert!(row["outcome"] == "measured" || row["reason"].is_string(), "{row}");
}
