//! Rows that are measured under the monitor: it observes the calls that a tracer counts.

use std::io::{Read, Write};
use std::process::Command;

use oscost_model::mark::{BEGIN, END};
use oscost_worker::kernel::process::{self, spawn};
use oscost_worker::kernel::syscall::{getppid, mark};
use serde_json::Value;

use super::{Monitor, MonitorEnd, data, lock_monitor, program_count, wait_for};

/// Cases that differ in what makes their calls: the process itself, its children, programs that
/// these execute; and one without calls.
const CASES: [&str; 5] = [
    "syscall/getppid:via=raw",
    "process/fork-exit:touched_mib=0,peer_cpu=same",
    "process/fork-exec:link=static",
    "process/shell",
    "timer/gettimeofday:via=vdso",
];

#[test]
fn the_monitor_observes_as_many_calls_per_row_as_a_tracer_counts() {
    let Some(_lock) = lock_monitor() else { return };
    let data = data();
    let ran = Command::new(env!("CARGO_BIN_EXE_oscost"))
        .args(["run", "--treat", "ph", "--quick", "--no-store", "--json", "-"])
        .args(CASES)
        .env("XDG_DATA_HOME", data.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    let record: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{errors}"));
    for case in CASES {
        let rows = record["results"].as_array().unwrap();
        let row = rows.iter().find(|row| row["case"] == case).unwrap();
        if row["outcome"] == "skipped" {
            // This case has no requirements of its own, so it is never skipped.
            assert_ne!(case, CASES[0], "{}", row["reason"]);
            println!("{case}: skipped: {}", row["reason"]);
            continue;
        }
        assert_eq!(row["outcome"], "measured", "{case}: {}", row["reason"]);
        let per_op = row["calls"]["per_op"].as_object().unwrap();
        let per_op: f64 = per_op.values().filter_map(Value::as_f64).sum();
        let ops = row["calls"]["counted_ops"].as_f64().unwrap();
        let observed = row["monitor"]["observed_calls"].as_f64().unwrap();
        let is_equal = (observed - per_op * ops).abs() < 1e-6 * observed.max(1.0);
        assert!(is_equal, "{case}: {observed}, {per_op}");
        assert_eq!(row["monitor"]["profile_states"], serde_json::json!(["training"]), "{case}");
    }
    // No profiles were saved.
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
    wait_for("the programs are detached", || program_count() == 0);
}

#[test]
fn processes_that_are_counted_at_the_same_time_are_counted_apart() {
    let Some(_lock) = lock_monitor() else { return };
    let data = data();
    let (mut begun, mut report_begun) = std::io::pipe().unwrap();
    let (mut turn, mut give_turn) = std::io::pipe().unwrap();
    let call = |times: u64| {
        for _ in 0..times {
            let _ = getppid();
        }
    };
    let own = std::process::id();
    let monitor = Monitor::start_at(data.path(), own, &["--fresh", "--quiet"]);
    // The other process begins and ends between the marks of this one, and makes a write, a read
    // and 23 calls; meanwhile this one makes a read, 50 calls, a write and a wait.
    let other = process::fork(|| {
        mark(u64::from(BEGIN));
        let met = report_begun.write_all(&[0]).and_then(|()| turn.read_exact(&mut [0]));
        call(23);
        mark(u64::from(END));
        i32::from(met.is_err())
    });
    let other = other.unwrap();
    mark(u64::from(BEGIN));
    begun.read_exact(&mut [0]).unwrap();
    call(50);
    give_turn.write_all(&[0]).unwrap();
    spawn::reap(other).unwrap();
    mark(u64::from(END));
    let MonitorEnd { report, .. } = monitor.end();
    assert_eq!(report.calls_of_pid(other), Some(2 + 23), "{:?}", report.marked);
    assert_eq!(report.calls_of_pid(own), Some(3 + 50), "{:?}", report.marked);
}
