//! Counters that lie, from a real worker to the record. A clock of the kernel stands in for each
//! event of the processor, so that these tests run with and without counters of the processor.

use std::path::PathBuf;

use oscost_model::fault_injection::{COUNTER_FAULT, CounterFault, STAND_IN};
use serde_json::Value;

use crate::common::{Ran, Sandbox, row, tool};
use crate::local::measured;

const RAW: &str = "syscall/getppid:via=raw";

/// The worker that is built with the tests, and with their features; `None`, with a message, if the
/// tests of this package alone are built.
fn test_worker() -> Option<PathBuf> {
    let worker = tool().with_file_name("oscost-worker");
    if !worker.exists() {
        eprintln!("not tested: {} is not built", worker.display());
        return None;
    }
    Some(worker)
}

/// The record of a run on counters that the survey finds to have one fault, and each worker another;
/// `None`, with a message, if the worker injects none, or if the kernel lets it count nothing.
fn record(survey: CounterFault, worker: CounterFault) -> Option<Value> {
    let sandbox = Sandbox::new();
    let treatment = format!("env={COUNTER_FAULT}={}", worker.name());
    let arguments = ["run", "--quick", "--seed", "1", "--treat", &treatment, "--json", "-", RAW];
    let program = test_worker()?;
    let record = measured(|| {
        let mut command = sandbox.command(&arguments);
        Ran::of(command.env("OSCOST_WORKER", &program).env(COUNTER_FAULT, survey.name()))
    });
    let counters = &record["machines"][0]["counters"];
    if counters["pmus"] != serde_json::json!([STAND_IN]) {
        eprintln!("not tested: the worker was built without the feature fault-injection");
        return None;
    }
    let events = counters["events"].as_array().unwrap();
    let clock = events.iter().find(|probe| probe["event"] == "task-clock").unwrap();
    if clock["refused"].is_string() {
        eprintln!("not tested: task-clock: {}", clock["refused"]);
        return None;
    }
    Some(record)
}

#[test]
fn what_honest_counters_count_is_in_the_record() {
    let Some(record) = record(CounterFault::Honest, CounterFault::Honest) else { return };
    let found = row(&record, RAW);
    let counters = &found["counters"];
    assert_eq!(counters["read_by"], "read", "{counters}");
    // A busy machine may disturb the batches of a worker, and the loop that one checks them by.
    let void: Vec<&str> =
        counters["void"].as_array().unwrap().iter().map(|why| why.as_str().unwrap()).collect();
    let (wrong, disturbed): (Vec<&str>, Vec<&str>) =
        void.iter().partition(|why| why.contains(" was counted as "));
    assert!(wrong.len() <= 1, "{counters}");
    assert!(disturbed.iter().all(|why| why.ends_with("were disturbed")), "{counters}");
    if counters["workers"] == 0 {
        return eprintln!("not tested: this machine is too busy to count anything");
    }
    let insn = found["metrics"]["insn_user"]["estimate"]["median"].as_f64();
    assert!(insn > Some(0.0), "{}", found["metrics"]);
}

#[test]
fn what_lying_counters_count_is_in_no_figure_and_the_record_says_how_they_lie() {
    // Each takes a run; the worker's own tests have the others.
    for (fault, reason) in [
        (CounterFault::Zero, "the counter of instructions:u stood still"),
        (CounterFault::Multiplexed, "the counters were multiplexed"),
        (CounterFault::Untimed, "the kernel says that they were enabled for 0 ns"),
    ] {
        let Some(record) = record(CounterFault::Honest, fault) else { return };
        let found = row(&record, RAW);
        assert_eq!(found["outcome"], "measured", "{fault:?}: {}", found["reason"]);
        let void = found["counters"]["void"].to_string();
        assert!(void.contains(reason), "{fault:?}: {void}");
        for metric in ["insn", "insn_user", "insn_kernel", "cycles", "cpi", "ghz"] {
            assert!(found["metrics"][metric].is_null(), "{fault:?}: {}", found["metrics"]);
        }
    }
}

#[test]
fn counters_that_lie_from_the_start_are_not_used_and_the_machine_says_why() {
    let Some(record) = record(CounterFault::Halved, CounterFault::Halved) else { return };
    let said = record["machines"][0]["counters"]["distrusted"].as_str().unwrap();
    assert!(said.starts_with("a loop of 999999 instructions"), "{said}");
    let found = row(&record, RAW);
    assert_eq!((&found["outcome"], &found["counters"]), (&"measured".into(), &Value::Null));
}
