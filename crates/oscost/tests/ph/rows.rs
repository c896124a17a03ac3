//! Rows that are measured under the monitor: what it saw of their ops is what a tracer counted.

use std::process::Command;

use serde_json::Value;

use super::{alone, attached, data, wait_for};

/// Cases that differ in who makes their calls: the process itself, its children, what those
/// execute, and nobody.
const CASES: [&str; 5] = [
    "syscall/getppid:via=raw",
    "process/fork-exit:touched_mib=0,peer_cpu=same",
    "process/fork-exec:link=static",
    "process/shell",
    "timer/gettimeofday:via=vdso",
];

#[test]
fn of_every_row_as_many_calls_are_seen_as_a_tracer_counts() {
    let Some(_alone) = alone() else { return };
    let data = data();
    let ran = Command::new(env!("CARGO_BIN_EXE_oscost"))
        .args(["run", "--treat", "ph", "--quick", "--no-store", "--json", "-"])
        .args(CASES)
        .env("XDG_DATA_HOME", data.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let record: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{said}"));
    for case in CASES {
        let rows = record["results"].as_array().unwrap();
        let row = rows.iter().find(|row| row["case"] == case).unwrap();
        if row["outcome"] == "skipped" {
            // What needs nothing but the kernel and the monitor is there, or the monitor is not.
            assert_ne!(case, CASES[0], "{}", row["reason"]);
            println!("{case}: skipped: {}", row["reason"]);
            continue;
        }
        assert_eq!(row["outcome"], "measured", "{case}: {}", row["reason"]);
        let per_op = row["calls"]["per_op"].as_object().unwrap();
        let per_op: f64 = per_op.values().filter_map(Value::as_f64).sum();
        let ops = row["calls"]["counted_ops"].as_f64().unwrap();
        let seen = row["monitor"]["observed_calls"].as_f64().unwrap();
        assert!((seen - per_op * ops).abs() < 1e-6 * seen.max(1.0), "{case}: {seen}, {per_op}");
        assert_eq!(row["monitor"]["profile_states"], serde_json::json!(["training"]), "{case}");
    }
    // Nothing was learnt for the user, and nothing is left.
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
    wait_for("no program is attached", || attached() == 0);
}
