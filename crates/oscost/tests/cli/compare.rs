//! `oscost compare`: what it reports of two runs, what it refuses, and its exit statuses.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, has_flag, rows};
use crate::golden::golden;

const ASKED: &[&str] = &["timer/clock-gettime", "syscall/getppid", "--json", "-"];

/// A record of the made-up machine, as a run left it.
fn record(sandbox: &Sandbox) -> Value {
    let measured = sandbox.fake("measured", ASKED);
    measured.exits(0).json()
}

/// The record under another id, begun at another time, as a file.
fn file(sandbox: &Sandbox, record: &Value, number: u32) -> String {
    let mut record = record.clone();
    record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{number:04x}"));
    record["started"] = json!(format!("2026-11-21T08:{number:02}:00Z"));
    let path = sandbox.file(&format!("{number}.json"));
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The record with every figure of a case multiplied by a factor.
fn slowed_record(record: &Value, case: &str, times: f64) -> Value {
    let mut record = record.clone();
    let rows = record["results"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["case"] == case).unwrap();
    let scale = |value: &mut Value| *value = json!(value.as_f64().unwrap() * times);
    scale(&mut row["estimate"]["median"]);
    for repetition in row["repetitions"].as_array_mut().unwrap() {
        scale(&mut repetition["value"]);
    }
    record
}

const SLOWED_CASE: &str = "syscall/getppid:via=libc";

fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(line.is_ascii(), "{line}");
    }
}

#[test]
fn equal_runs_raise_no_alarm_and_a_slower_one_does() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let (same, other) = (file(&sandbox, &base, 1), file(&sandbox, &base, 2));
    let ran = sandbox.oscost(&["compare", &same, &other, "--gate"]).exits(3);
    assert_fits(&ran.stdout);
    golden("compare-same.txt", &ran.stdout);
    ran.stderr_contains(
        "gate: not judged: none of 5 rows compared is significantly slower by more",
    )
    .stderr_contains("in 0 of them a change of 5 % would have been detected");
    let ran = sandbox.oscost(&["compare", &same, &other, "--gate", "70"]).exits(0);
    ran.stderr_contains("gate: passed");
    let gate = ["compare", &same, &other, "--gate", "5", "--gate-coverage", "0"];
    sandbox.oscost(&gate).exits(0).stderr_contains("gate: passed");

    let slowed = file(&sandbox, &slowed_record(&base, SLOWED_CASE, 1.6), 3);
    let ran = sandbox.oscost(&["compare", &same, &slowed, "--gate"]).exits(1);
    assert_fits(&ran.stdout);
    golden("compare-slower.txt", &ran.stdout);
    ran.stderr_contains(&format!("gate: failed: {SLOWED_CASE}: slower, 1.60 times the base"));
    let ran = sandbox.oscost(&["compare", &same, &slowed, "--gate", "100"]).exits(0);
    ran.stderr_contains("gate: passed");
    sandbox.oscost(&["compare", &same, &slowed]).exits(0);
    sandbox.oscost(&["compare", &slowed, &same, "--gate", "--gate-coverage", "20"]).exits(0);
    sandbox.oscost(&["compare", &slowed, &same, "--gate", "--gate-coverage", "30"]).exits(3);
}

#[test]
fn as_json_each_verdict_points_to_its_rows() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let (one, other) =
        (file(&sandbox, &base, 1), file(&sandbox, &slowed_record(&base, SLOWED_CASE, 1.6), 2));
    let found = sandbox.oscost(&["compare", &one, &other, "--json", "-"]).exits(0).json();
    assert_eq!(found["schema"], "oscost.comparison/1");
    assert_eq!(rows(&found).len(), 2 * rows(&base).len());
    let comparisons = found["comparisons"].as_array().unwrap();
    for it in comparisons {
        for side in ["base", "new"] {
            let at = it[side].as_u64().unwrap() as usize;
            assert_eq!(rows(&found)[at]["case"], it["case"]);
        }
        let slower = it["case"] == SLOWED_CASE;
        assert_eq!(it["verdict"], if slower { "slower" } else { "inconclusive" }, "{it}");
        assert_eq!((&it["design"], &it["metric"]), (&json!("stored"), &json!("primary")));
    }
    let target = sandbox.file("comparison.json");
    let ran = sandbox.oscost(&["compare", &one, &other, "--json", target.to_str().unwrap()]);
    assert!(ran.exits(0).stdout.contains("slower"));
    let kept: Value = serde_json::from_str(&fs::read_to_string(target).unwrap()).unwrap();
    assert_eq!(kept, found);
}

#[test]
fn a_run_whose_clock_was_set_back_is_compared_as_any_other() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let mut slowed = slowed_record(&base, SLOWED_CASE, 1.6);
    // It began before its base did, and ended before it began.
    slowed["ended"] = json!("2026-11-21T07:00:00Z");
    let (base, slowed) = (file(&sandbox, &base, 9), file(&sandbox, &slowed, 1));
    let found = sandbox.oscost(&["compare", &base, &slowed, "--json", "-"]).exits(0).json();
    for it in found["comparisons"].as_array().unwrap() {
        let slower = it["case"] == SLOWED_CASE;
        assert_eq!(it["verdict"], if slower { "slower" } else { "inconclusive" }, "{it}");
        assert_eq!(it["span_s"], 480.0, "the distance of their starts");
    }
}

#[test]
fn an_op_that_is_timed_in_another_mode_for_its_cost_alone_is_compared() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let mut other = base.clone();
    let rows = other["results"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["case"] == SLOWED_CASE).unwrap();
    assert_eq!(row["mode"], "B");
    row["mode"] = json!("S");
    let (one, other) = (file(&sandbox, &base, 1), file(&sandbox, &other, 2));
    let found = sandbox.oscost(&["compare", &one, &other, "--json", "-"]).exits(0).json();
    let all = found["comparisons"].as_array().unwrap();
    let it = all.iter().find(|it| it["case"] == SLOWED_CASE).unwrap();
    assert!(has_flag(it, "MODES_DIFFER"), "{it}");
}

#[test]
fn incomparable_runs_are_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let one = file(&sandbox, &base, 1);
    let row = base["results"].as_array().unwrap().iter().position(|row| row["case"] == SLOWED_CASE);
    let row = format!("/results/{}", row.unwrap());
    let at = |path: &str| format!("{row}{path}");
    for (path, value, words) in [
        (at("/rev"), json!(2), "another revision of the benchmark"),
        (at("/mode"), json!("C"), "timed in another mode: B and C"),
        (at("/unit"), json!("B/s"), "another unit: ns/op and B/s"),
        (at("/outcome"), json!("skipped"), "not measured in the new: skipped"),
        (at("/flags"), json!(["BELOW_DETECTION"]), "cannot be distinguished from 0"),
        (at("/case"), json!("syscall/new"), "not measured in the base"),
        (at("/target/text"), json!("ssh:db1"), "another target: `local`"),
        ("/tool/worker/link".to_owned(), json!("dynamic"), "other linkage of the worker: fake"),
    ] {
        let mut other = base.clone();
        *other.pointer_mut(&path).unwrap() = value;
        if path.ends_with("/text") {
            let mut base = base.clone();
            *base.pointer_mut(&path).unwrap() = json!("local");
            let one = file(&sandbox, &base, 3);
            let other = file(&sandbox, &other, 2);
            let ran = sandbox.oscost(&["compare", &one, &other]).exits(0);
            assert!(ran.stdout.contains(words), "{path}: {words}\n{}", ran.stdout);
            continue;
        }
        let other = file(&sandbox, &other, 2);
        let ran = sandbox.oscost(&["compare", &one, &other]).exits(0);
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{path}: {words}\n{}", ran.stdout);
        assert_fits(&ran.stdout);
    }
}

#[test]
fn two_machines_have_ratios_that_no_gate_judges() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let one = file(&sandbox, &base, 1);
    for (path, value, words) in [
        ("/machines/0/cpu/model_name", json!("Z80"), "differ: another CPU: unknown"),
        ("/machines/0/virtualization", json!("xen"), "differ: another machine"),
    ] {
        let mut other = slowed_record(&base, SLOWED_CASE, 4.0);
        *other.pointer_mut(path).unwrap() = value;
        let other = file(&sandbox, &other, 2);
        let ran = sandbox.oscost(&["compare", &one, &other]).exits(0);
        assert_fits(&ran.stdout);
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [words, "MACHINES_DIFFER: two machines, two moments", "`oscost table`"] {
            assert!(flat.contains(words), "{words}:\n{}", ran.stdout);
        }
        let found = sandbox.oscost(&["compare", &one, &other, "--json", "-"]).exits(0).json();
        let all = found["comparisons"].as_array().unwrap();
        assert!(all.iter().any(|it| it["case"] == SLOWED_CASE && it["verdict"] == "slower"));
        for it in all {
            assert!(has_flag(it, "MACHINES_DIFFER") && it["ratio"]["ci95"].is_array(), "{it}");
            assert_ne!(it["verdict"], "equivalent");
        }
        for gate in [&["--gate", "50"][..], &["--gate", "1000", "--gate-coverage", "0"]] {
            let ran = sandbox.oscost(&[&["compare", &one, &other], gate].concat()).exits(3);
            ran.stderr_contains("gate: not judged: the runs are of two machines");
        }
    }
}

#[test]
fn a_gate_is_not_judged_if_nothing_can_be_compared() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let mut other = base.clone();
    other["tool"]["worker"]["link"] = json!("dynamic");
    let (one, other) = (file(&sandbox, &base, 1), file(&sandbox, &other, 2));
    let ran = sandbox.oscost(&["compare", &one, &other, "--gate"]).exits(3);
    ran.stderr_contains("gate: not judged: no row");
}

#[test]
fn several_runs_on_each_side_are_compared_in_alternation() {
    let sandbox = Sandbox::new();
    let base = record(&sandbox);
    let slowed = slowed_record(&base, SLOWED_CASE, 1.1);
    let ask = |order: &str, more: &[&str]| -> Ran {
        let mut sides = [Vec::new(), Vec::new()];
        for (number, letter) in order.chars().enumerate() {
            let drift = 1.0 + 0.001 * (number % 3) as f64;
            let of = if letter == 'a' { &base } else { &slowed };
            let of = slowed_record(of, SLOWED_CASE, drift);
            sides[usize::from(letter == 'b')].push(file(&sandbox, &of, number as u32));
        }
        let [base, new] = sides.map(|side| side.join(","));
        sandbox.oscost(&[&["compare", &base, &new, "--gate"], more].concat())
    };
    let ran = ask(&"abba".repeat(6), &[]).exits(1);
    assert_fits(&ran.stdout);
    golden("compare-turns.txt", &ran.stdout);
    ran.stderr_contains(&format!("gate: failed: {SLOWED_CASE}: slower, 1.10 times"));
    // Six pairs are too few for one discovery among five rows: each run is one value.
    let ran = ask("abbaabbaabba", &["--verbose"]).exits(3);
    assert!(ran.stdout.contains("8 pairs of neighbours"), "{}", ran.stdout);
    // In a row the state of the machine does not cancel out.
    let ran = ask("aaaaaabbbbbb", &[]).exits(3);
    assert!(ran.stdout.contains("0 slower"), "{}", ran.stdout);
    golden("compare-in-a-row.txt", &ran.stdout);
    let ran = ask("abbaabba", &["--verbose"]).exits(3);
    assert!(ran.stdout.contains("Each run is one value;"), "{}", ran.stdout);
}

#[test]
fn earlier_runs_in_the_store_show_how_far_a_case_varies() {
    let sandbox = Sandbox::new();
    for _ in 0..8 {
        sandbox.fake("measured", ASKED).exits(0);
    }
    let detectable = |found: &Value| {
        let all = found["comparisons"].as_array().unwrap();
        let it = all.iter().find(|it| it["case"] == SLOWED_CASE).unwrap();
        it["mde_pct"].as_f64().unwrap()
    };
    let compare = ["compare", "last~1", "last"];
    let known = sandbox.oscost(&[&compare[..], &["--json", "-"]].concat()).exits(0).json();
    let shown = sandbox.oscost(&compare).exits(0);
    let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("by 6 earlier runs of this system"), "{}", shown.stdout);
    // Two records alone, in a home without a store.
    let other = Sandbox::new();
    let run = record(&sandbox);
    let (one, two) = (file(&other, &run, 1), file(&other, &run, 2));
    let unknown = other.oscost(&["compare", &one, &two, "--json", "-"]).exits(0).json();
    // They do not say of which boots they are: what the boots differ by stays unknown.
    assert!(detectable(&known) <= detectable(&unknown), "{known} {unknown}");
    assert!(unknown["notes"].to_string().contains("no earlier runs of this system"), "{unknown}");
}

#[test]
fn earlier_runs_of_a_machine_whose_boot_is_known_are_found() {
    let sandbox = Sandbox::new();
    for _ in 0..4 {
        sandbox.fake("counters", &["syscall/getppid"]).exits(0);
    }
    let shown = sandbox.oscost(&["compare", "last~1", "last"]).exits(0);
    let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("by 2 earlier runs of this system"), "{}", shown.stdout);
}

#[test]
fn runs_are_named_by_id_or_by_file() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    }
    let ran = sandbox.oscost(&["compare", "last~1", "last"]).exits(0);
    assert!(ran.stdout.contains("inconclusive"), "{}", ran.stdout);
    sandbox
        .oscost(&["compare", "last", "last"])
        .exits(2)
        .no_data()
        .stderr_contains("is named twice");
    sandbox
        .oscost(&["compare", "last~2", "last"])
        .exits(2)
        .no_data()
        .stderr_contains("there is no run `last~2`");
    sandbox.oscost(&["compare", "last"]).exits(2).no_data();
    sandbox.oscost(&["compare"]).exits(2).no_data();
    sandbox.oscost(&["compare", "-", "-"]).exits(2).no_data();
    let refused = sandbox.oscost(&["compare", "last~1", "last", "--gate=-5"]);
    refused.exits(2).no_data();
    let garbage = sandbox.file("garbage.json");
    fs::write(&garbage, "{}").unwrap();
    let ran = sandbox.oscost(&["compare", "last", garbage.to_str().unwrap()]).exits(2).no_data();
    ran.stderr_contains("garbage.json").stderr_contains("the file is not a record");
    let ran = sandbox.oscost(&["compare", "last", "./no/such"]).exits(2).no_data();
    ran.stderr_contains("cannot read ./no/such");
}
