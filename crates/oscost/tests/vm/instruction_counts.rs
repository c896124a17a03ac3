//! Instruction counts are the same in every boot, and differences are reported to the instruction.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, has_flag, row, rows};
use crate::machines::{Kernel, in_own_namespaces, values};

const GETPPID: &str = "syscall/getppid:via=raw";
const ROUND_TRIP: &str = "pipe/round-trip:by=pipe,size=64,peer_cpu=same";
const FORK: &str = "process/fork-exit:touched_mib=0,peer_cpu=same";
const FAULT: &str = "fault/protection";

/// The parts of a row that must be the same in every boot.
fn counted(row: &Value) -> [&Value; 6] {
    ["case", "outcome", "repetitions", "estimate", "calls", "flags"].map(|part| &row[part])
}

/// A row without the host's times in its repetitions.
fn timeless(row: &Value) -> Value {
    let mut row = json!(counted(row));
    for repetition in row[2].as_array_mut().unwrap() {
        repetition.as_object_mut().unwrap().remove("at_s");
    }
    row
}

/// The comparisons of a record with the new target of this number.
fn versus(record: &Value, new: usize) -> Vec<&Value> {
    let machine = format!("m{}", new + 1);
    let all = record["comparisons"].as_array().unwrap().iter();
    let at = |it: &Value| &rows(record)[it["new"].as_u64().unwrap() as usize]["target"]["machine"];
    all.filter(|it| *at(it) == machine.as_str()).collect()
}

#[test]
fn two_boots_of_one_kernel_have_identical_counts() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let target = kernel.target("");
    let cases = [GETPPID, ROUND_TRIP, FORK, FAULT];
    let run = || {
        let arguments = [&["run", "--quick", "--at", &target][..], &cases].concat();
        Ran::of(&mut in_own_namespaces(&sandbox, &arguments)).exits(0);
        let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
        (record, sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout)
    };
    let ((one, text), (two, _)) = (run(), run());
    let all = |record: &Value| rows(record).iter().map(timeless).collect::<Vec<_>>();
    assert_eq!(all(&one), all(&two));
    for case in cases {
        let row = row(&one, case);
        assert_eq!((&row["outcome"], &row["unit"]), (&json!("measured"), &json!("insn/op")));
        assert_eq!(row["calls"]["expected"], true, "{case}: {}", row["calls"]);
        assert_eq!(row["estimate"]["exact"], !has_flag(row, "NOT_EXACT"), "{row}");
        assert_eq!(values(row).len(), 2);
    }
    let getppid = row(&one, GETPPID);
    assert_eq!(getppid["estimate"]["exact"], true, "{getppid}");
    assert_eq!(getppid["calls"]["per_op"]["getppid"], 1.0);
    // A call takes some hundred instructions, a whole number of them.
    let value = values(getppid)[0];
    assert!((50.0..2_000.0).contains(&value) && value.fract() == 0.0, "{value}");

    let machine = &one["machines"][0];
    let vm = &machine["vm"];
    assert_eq!((&vm["kernel"], &vm["mem_mib"]), (&json!(kernel.file), &json!(256)));
    assert_eq!((&vm["accel"], &vm["cpu"]), (&json!("tcg"), &json!("max")));
    assert!(vm["emulator"].as_str().unwrap().starts_with("QEMU ") && vm["append"].is_null());
    assert!(vm["image"].as_str().unwrap().len() >= 32, "{vm}");
    assert_eq!(machine["clock"]["source"], "instructions");
    assert!(machine["os"]["cmdline"].as_str().unwrap().contains("console=ttyS0"), "{machine}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("one instruction a tick") && flat.contains(" insn "), "{text}");
    let is_time = |word: &str| ["ns", "us", "ms", "s"].contains(&word.trim_end_matches([',', ':']));
    assert!(!flat.split(' ').any(is_time), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80) && text.is_ascii(), "{text}");

    // Stored runs are compared to the instruction, and so is the gate's threshold.
    let gate = |base: &str, new: &str, threshold: &str| {
        sandbox.oscost(&["compare", base, new, "--gate", threshold])
    };
    gate("last~1", "last", "0insn").exits(0).stderr_contains("gate: passed");
    let slowed = sandbox.file("slowed.json");
    fs::write(&slowed, slowed_record(&two, GETPPID, 7.0).to_string()).unwrap();
    let slowed = slowed.to_str().unwrap();
    gate("last~1", slowed, "0insn")
        .exits(1)
        .stderr_contains(&format!("gate: failed: {GETPPID}: slower"));
    gate("last~1", slowed, "6insn").exits(1);
    gate("last~1", slowed, "7insn").exits(0).stderr_contains("gate: passed");
    gate("last~1", slowed, "1000insn").exits(0).stderr_contains("gate: passed");
    sandbox.nothing_is_left();
}

/// A copy of the record as another run, in which a case takes `more` instructions more.
fn slowed_record(record: &Value, case: &str, more: f64) -> Value {
    let mut record = record.clone();
    record["id"] = json!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f0001");
    let rows = record["results"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["case"] == case).unwrap();
    let add = |value: &mut Value| *value = json!(value.as_f64().unwrap() + more);
    add(&mut row["estimate"]["median"]);
    row["estimate"]["ci95"].as_array_mut().unwrap().iter_mut().for_each(add);
    for repetition in row["repetitions"].as_array_mut().unwrap() {
        add(&mut repetition["value"]);
    }
    record
}

#[test]
#[ignore = "three boots, half a minute of two CPUs: make test-live"]
fn a_kernel_against_itself_is_equal_and_without_its_mitigations_never_slower() {
    let Some(kernel) = Kernel::of_all() else { return };
    let sandbox = Sandbox::new();
    let (same, off) = (kernel.target(""), kernel.target(",append=mitigations=off"));
    let targets = ["ab", "--quick", "--base", &same, "--new", &same, "--new", &off];
    let arguments = [GETPPID, ROUND_TRIP, FORK, FAULT, "--gate", "0insn"];
    let ran = &[&targets[..], &arguments, &["--json", "-"]].concat();
    let ran = Ran::of(&mut in_own_namespaces(&sandbox, ran));
    let ran = ran.exits(0).stderr_contains("gate: passed");
    let record = ran.json();
    assert_eq!(record["machines"].as_array().unwrap().len(), 3);
    assert_eq!(record["machines"][2]["vm"]["append"], "mitigations=off");
    for it in record["comparisons"].as_array().unwrap() {
        assert_eq!((&it["design"], &it["control"]), (&json!("boots"), &json!(false)));
    }
    for it in versus(&record, 0) {
        let of = |side: &str| &rows(&record)[it[side].as_u64().unwrap() as usize];
        assert_eq!(values(of("base")), values(of("new")), "two boots differ: {it}");
        // Whether or not they repeat within a boot.
        assert_eq!(
            (&it["verdict"], &it["added"]["ci95"]),
            (&json!("equivalent"), &json!([0.0, 0.0]))
        );
    }
    let without = versus(&record, 1);
    let of = |case: &str| without.iter().find(|it| it["case"] == case).unwrap();
    assert_eq!(of(GETPPID)["verdict"], "equivalent", "{}", of(GETPPID));
    // Writing to a pipe and waiting for it uses indirect calls, which retpolines make longer.
    let pipe = &of(ROUND_TRIP)["added"]["ci95"];
    assert!(pipe[1].as_f64().unwrap() < 0.0, "{}", of(ROUND_TRIP));
    for it in &without {
        assert_ne!(it["verdict"], "slower", "{it}");
    }
    sandbox.nothing_is_left();
}
