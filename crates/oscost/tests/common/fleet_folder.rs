//! A fleet's folder with records of a simulated machine.

use std::fs;
use std::path::PathBuf;

use oscost_model::seed::Seed;
use serde_json::{Value, json};

use crate::common::Sandbox;

/// The nodes of the fleet, each with [`VISITS`] visits.
pub(crate) const NODES: usize = 16;
/// The visits of each node.
pub(crate) const VISITS: usize = 3;

const ASKED: [&str; 5] =
    ["timer/clock-gettime", "syscall/getppid", "procedure/call", "syscall/open-close", "--quick"];

/// A scenario of a machine with a known class, as the target of a fake host.
pub(crate) fn node_target(sandbox: &Sandbox) -> String {
    let measured = fs::read_to_string(crate::common::scenario_file("measured")).unwrap();
    let mut scenario: Value = serde_json::from_str(&measured).unwrap();
    scenario["facts"] = json!({
        "cpu": {"model_name": "Some CPU", "logical_online": 2},
        "os": {"arch": "x86_64", "release": "6.1.0"},
    });
    let path = sandbox.file("node.json");
    fs::write(&path, scenario.to_string()).unwrap();
    format!("fake:{}", path.display())
}

/// What figures vary by between visits, as a standard deviation.
const BETWEEN_VISITS: f64 = 0.01;

/// A normal deviate, by the sum of twelve uniform ones.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}

/// A folder of a fleet whose records are those of the target. The figures of each visit vary as normal
/// ones do: a check of one visit that is to be wrong once in 30,000 finds little where they have heavier
/// tails. `change` may change the record of a node.
pub(crate) fn fleet_folder(
    sandbox: &Sandbox,
    target: &str,
    change: impl Fn(usize, &mut Value),
) -> PathBuf {
    const PLAN: &str = "0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5b";
    let run = ["run", "--no-store", "--seed", "1", "--json", "-", "--at", target];
    let made = sandbox.oscost(&[&run[..], &ASKED[..]].concat()).exits(0).json();
    let folder = sandbox.file("fleet");
    fs::create_dir_all(folder.join("records")).unwrap();
    let mut tasks = Vec::new();
    let mut seed = Seed::new(33);
    for visit in 0..VISITS {
        for node in 0..NODES {
            let task = tasks.len();
            tasks.push(json!({"node": node, "visit": visit, "begin_s": 0.0}));
            let mut record = made.clone();
            record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{task:04x}"));
            record["started"] = json!(format!("2026-11-{:02}T08:{node:02}:00.000Z", 20 + visit));
            record["conditions"][0]["class"] = json!("quiet");
            record["fleet"] = json!({
                "fleet": "monday",
                "plan": PLAN,
                "node": format!("n{node}"),
                "visit": visit,
                "task": task,
            });
            for row in 0..record["results"].as_array().unwrap().len() {
                scale(&mut record, row, 1.0 + BETWEEN_VISITS * normal(&mut seed));
            }
            change(node, &mut record);
            fs::write(folder.join(format!("records/{task}.json")), record.to_string()).unwrap();
        }
    }
    let plan = json!({
        "schema": "oscost.fleet/1",
        "id": PLAN,
        "fleet": "monday",
        "created": "2026-11-20T08:00:00.000Z",
        "tool": "0.1.0",
        "seed": 1,
        "measurement": {
            "selectors": [],
            "effort": "quick",
            "budget_s": null,
            "treatments": null,
            "sides": "alone",
            "respects_lock": true,
        },
        "launcher": {"kind": "ssh"},
        "nodes": (0..NODES).map(|node| format!("n{node}")).collect::<Vec<_>>(),
        "visits": VISITS,
        "apart_s": 0.0,
        "at_once": null,
        "tasks": tasks,
    });
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    folder
}

/// Multiplies the figure of a row, with its intervals.
pub(crate) fn scale(record: &mut Value, row: usize, factor: f64) {
    let estimate = &mut record["results"][row]["estimate"];
    for at in ["/median", "/ci95/0", "/ci95/1", "/between_run_ci95/0", "/between_run_ci95/1"] {
        if let Some(value) = estimate.pointer_mut(at)
            && let Some(number) = value.as_f64()
        {
            *value = json!(number * factor);
        }
    }
}

/// Multiplies the figures of the rows whose case begins like this.
pub(crate) fn scale_cases(record: &mut Value, prefix: &str, factor: f64) {
    for row in 0..record["results"].as_array().unwrap().len() {
        if record["results"][row]["case"].as_str().unwrap().starts_with(prefix) {
            scale(record, row, factor);
        }
    }
}
