//! Many days of a simulated machine, with a known step.

use std::fs;

use serde_json::{Value, json};

use super::Sandbox;

const ASKED: &[&str] = &["timer/clock-gettime", "syscall/getppid", "--json", "-", "--no-store"];
/// The case with the step.
pub(crate) const CASE: &str = "syscall/getppid:via=libc";
/// The index of the first run after the step.
pub(crate) const STEP: usize = 25;
/// The number of runs of the series.
pub(crate) const RUNS: usize = 40;

/// A record of the simulated machine, as if it had been measured here and quiet.
pub(crate) fn record(sandbox: &Sandbox) -> Value {
    record_of(sandbox, "measured")
}

/// The same of the simulated machine of a scenario.
pub(crate) fn record_of(sandbox: &Sandbox, scenario: &str) -> Value {
    let mut record = sandbox.fake(scenario, ASKED).exits(0).json();
    for row in record["results"].as_array_mut().unwrap() {
        row["target"]["text"] = json!("local");
        row["target"]["host"] = json!("local");
    }
    record["conditions"][0]["class"] = json!("quiet");
    record["machines"][0]["os"]["arch"] = json!("x86_64");
    record["machines"][0]["cpu"]["logical_online"] = json!(2);
    record
}

/// The record of a day: each figure varies by a few thousandths, and the case steps by 6 % with the
/// kernel's update.
pub(crate) fn of_day(record: &Value, day: usize) -> Value {
    let mut record = record.clone();
    let (month, date) = (9 + day / 30, 1 + day % 30);
    record["id"] = json!(format!("0190a{day:03x}-c2d3-7e4f-8a9b-0c1d2e3f4a5b"));
    record["started"] = json!(format!("2026-{month:02}-{date:02}T08:15:00Z"));
    record["ended"] = json!(format!("2026-{month:02}-{date:02}T08:16:00Z"));
    let release = if day < STEP { "6.1.0-22-cloud-amd64" } else { "6.1.0-23-cloud-amd64" };
    record["machines"][0]["os"]["release"] = json!(release);
    for (at, row) in record["results"].as_array_mut().unwrap().iter_mut().enumerate() {
        let wanders = 1.0 + 0.001 * ((day * 37 + at * 11) % 21) as f64 - 0.01;
        let step = if row["case"] == CASE && day >= STEP { 1.06 } else { 1.0 };
        let estimate = &mut row["estimate"];
        for at in ["/median", "/ci95/0", "/ci95/1"] {
            let value = estimate.pointer_mut(at).unwrap();
            *value = json!(value.as_f64().unwrap() * wanders * step);
        }
    }
    record
}

pub(crate) fn import(sandbox: &Sandbox, record: &Value) {
    let path = sandbox.file("record.json");
    fs::write(&path, record.to_string()).unwrap();
    sandbox.oscost(&["runs", "import", path.to_str().unwrap()]).exits(0);
}

/// A store with some days of the simulated machine, each of them changed.
pub(crate) fn changed_days(days: usize, change: impl Fn(usize, &mut Value)) -> Sandbox {
    changed_days_of("measured", days, change)
}

/// The same of the simulated machine of a scenario.
pub(crate) fn changed_days_of(
    scenario: &str,
    days: usize,
    change: impl Fn(usize, &mut Value),
) -> Sandbox {
    let sandbox = Sandbox::new();
    let record = record_of(&sandbox, scenario);
    for day in 0..days {
        let mut of_day = of_day(&record, day);
        change(day, &mut of_day);
        import(&sandbox, &of_day);
    }
    sandbox
}

/// A store with forty days of the simulated machine, and three runs of other machines.
pub(crate) fn forty_days() -> Sandbox {
    let sandbox = Sandbox::new();
    let record = record(&sandbox);
    for day in 0..RUNS {
        import(&sandbox, &of_day(&record, day));
    }
    for (number, path, value) in [
        (0xa00, "/conditions/0/class", json!("very-noisy")),
        (0xa01, "/machines/0/cpu/logical_online", json!(64)),
        (0xa02, "/machines/0/os/release", json!("6.1.0-22-rt-amd64")),
    ] {
        let mut other = of_day(&record, 10);
        other["id"] = json!(format!("0190a{number:03x}-c2d3-7e4f-8a9b-0c1d2e3f4a5b"));
        *other.pointer_mut(path).unwrap() = value;
        import(&sandbox, &other);
    }
    sandbox
}
