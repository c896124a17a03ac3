//! `oscost fleet ab`: a treatment on half of the nodes of a simulated fleet.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::Sandbox;
use crate::fleet_folder::{NODES, fleet_folder, node_target, scale_cases};

/// Makes the record that of a node under treatments, which make system calls slower.
fn treat(record: &mut Value, treatments: &str) {
    for row in record["results"].as_array_mut().unwrap() {
        row["target"]["treatments"] = json!([treatments]);
        let host = row["target"]["host"].as_str().unwrap().to_owned();
        row["target"]["text"] = json!(format!("{treatments}@{host}"));
    }
    scale_cases(record, "syscall/", 1.4);
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_half_of_the_nodes_pay_for_a_treatment_is_found_with_its_ratio() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let folder = fleet_folder(&sandbox, &target, |node, record| {
        if node % 2 == 1 {
            treat(record, "nice=5");
        }
    });
    let fleet = text(&folder);
    let ran = sandbox.oscost(&["fleet", "ab", &fleet]).exits(0);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with("nice=5: of "), "{}", ran.stdout);
    assert!(flat.contains("slower, most of all syscall/"), "{}", ran.stdout);
    assert!(flat.contains("8 nodes without, 8 nodes with"), "{}", ran.stdout);
    let found = sandbox.oscost(&["fleet", "ab", &fleet, "--json", "-"]).exits(0).json();
    assert_eq!(found["schema"], "oscost.fleet-ab/1");
    assert_eq!([&found["nodes_of_base"], &found["nodes_of_new"]], [&json!(8), &json!(8)]);
    for case in found["cases"].as_array().unwrap() {
        let is_call = case["case"].as_str().unwrap().starts_with("syscall/");
        assert_eq!(case["verdict"] == "slower", is_call, "{case}");
        assert_eq!((1.3..1.5).contains(&case["ratio"].as_f64().unwrap()), is_call, "{case}");
        assert_eq!(case["nodes"], json!(NODES));
    }
}

#[test]
fn several_treatments_are_told_apart_and_none_is_refused() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let folder = fleet_folder(&sandbox, &target, |node, record| match node % 3 {
        0 => treat(record, "nice=5"),
        1 => treat(record, "nice=10"),
        _ => {}
    });
    let fleet = text(&folder);
    let refused = sandbox.oscost(&["fleet", "ab", &fleet]).exits(2).no_data();
    refused.stderr_contains("`--treatment` chooses one of `nice=10`, `nice=5`");
    sandbox.oscost(&["fleet", "ab", &fleet, "--treatment", "nice=10"]).exits(0);
    let other = sandbox.oscost(&["fleet", "ab", &fleet, "--treatment", "ptrace"]).exits(2);
    other.stderr_contains("no run of the fleet has the treatments `ptrace`");
    let plain = fleet_folder(&sandbox, &target, |_, _| {});
    let refused = sandbox.oscost(&["fleet", "ab", &text(&plain)]).exits(2);
    refused.stderr_contains("no run of the fleet has treatments");
}

#[test]
fn treatments_that_only_noisy_runs_have_are_not_called_absent() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let folder = fleet_folder(&sandbox, &target, |node, record| {
        if node % 2 == 1 {
            treat(record, "nice=5");
            record["conditions"][0]["class"] = json!("very-noisy");
        }
    });
    let ran = sandbox.oscost(&["fleet", "ab", &text(&folder)]).exits(2).no_data();
    let told = "nothing is concluded from any run under `nice=5`, as that of n1, which is very";
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(told), "{}", ran.stderr);
}
