//! `oscost fleet report`: a fleet with planted slow nodes, in every format, and what it refuses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ab::assert_fits;
use crate::common::Sandbox;
use crate::common::day_series::record;

const NODES: usize = 12;
const VISITS: usize = 3;
/// The slow nodes, by their indices.
const SLOW: [usize; 3] = [3, 7, 9];
/// Their names.
const SLOW_NAMES: [&str; 3] = ["node3", "node7", "node9"];

/// A fleet's folder: nodes alike by a few thousandths, and three of them slow in system calls
/// and with another setting. All costs are multiplied by a factor.
fn fleet(sandbox: &Sandbox, name: &str, factor: f64) -> PathBuf {
    let made = record(sandbox);
    let folder = sandbox.file(name);
    fs::create_dir_all(folder.join("records")).unwrap();
    let names: Vec<String> = (0..NODES).map(|node| format!("node{node}")).collect();
    let plan_id = "0190a0b1-c2d3-7e4f-8a9b-000000000000";
    let task =
        |task: usize| json!({ "node": task / VISITS, "visit": task % VISITS, "begin_s": 0.0 });
    let plan = json!({
        "schema": "oscost.fleet/1", "id": plan_id, "fleet": "night",
        "created": "2026-11-21T08:00:00Z", "tool": "0.1.0", "seed": 1,
        "measurement": {
            "selectors": [], "effort": "quick", "budget_s": null, "treatments": null,
            "sides": "alone", "respects_lock": true
        },
        "launcher": { "kind": "ssh" }, "nodes": names, "visits": VISITS, "apart_s": 0.0,
        "at_once": null, "tasks": (0..NODES * VISITS).map(task).collect::<Vec<_>>()
    });
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    for task in 0..NODES * VISITS {
        let (node, visit) = (task / VISITS, task % VISITS);
        let mut record = made.clone();
        record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-{:06x}{task:06x}", name.len()));
        record["started"] = json!(format!("2026-11-{:02}T{:02}:00:00Z", 20 + visit, node));
        record["fleet"] = json!({
            "fleet": "night", "plan": plan_id, "node": names[node], "visit": visit, "task": task
        });
        let is_slow = SLOW.contains(&node);
        let machine = &mut record["machines"][0];
        machine["cpu"]["model_name"] = json!("Some CPU");
        machine["os"]["release"] = json!("6.1.0");
        machine["memory"]["transparent_huge_pages"] =
            json!(if is_slow { "never" } else { "always" });
        for (at, row) in record["results"].as_array_mut().unwrap().iter_mut().enumerate() {
            let is_call = row["benchmark"].as_str().unwrap().starts_with("syscall/");
            let varied = 1.0 + 0.001 * ((task * 37 + at * 11) % 7) as f64;
            scale(row, factor * varied * if is_slow && is_call { 1.5 } else { 1.0 });
        }
        let path = folder.join("records").join(format!("{task}.json"));
        fs::write(path, record.to_string()).unwrap();
    }
    folder
}

/// Multiplies the figure of a row, with its intervals.
fn scale(row: &mut Value, factor: f64) {
    let estimate = &mut row["estimate"];
    for at in ["/median", "/ci95/0", "/ci95/1", "/between_run_ci95/0", "/between_run_ci95/1"] {
        if let Some(value) = estimate.pointer_mut(at)
            && let Some(number) = value.as_f64()
        {
            *value = json!(number * factor);
        }
    }
}

/// Changes the records of a node.
fn change_records(folder: &Path, node: usize, change: impl Fn(&mut Value)) {
    for task in node * VISITS..(node + 1) * VISITS {
        let file = folder.join(format!("records/{task}.json"));
        let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        change(&mut record);
        fs::write(&file, record.to_string()).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn slow_nodes_are_named_with_their_fact_on_the_screen_and_in_every_format() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    let [html, csv, markdown, parquet, metrics] =
        ["a.html", "a.csv", "a.md", "a.parquet", "a.prom"].map(|name| sandbox.file(name));
    let data_set = sandbox.file("data");
    let mut arguments = vec!["fleet", "report", text(&folder)];
    for file in [&html, &csv, &markdown, &parquet] {
        arguments.extend(["-o", text(file)]);
    }
    arguments.extend(["--openmetrics", text(&metrics), "--data-set", text(&data_set)]);
    let ran = sandbox.oscost(&arguments).exits(0);
    assert_fits(&ran.stdout);
    let shown = flat(&ran.stdout);
    let is_named =
        |text: &str| SLOW_NAMES.iter().any(|node| text.contains(&format!("{node} is 1.")));
    assert!(shown.starts_with("node") && is_named(&shown), "{}", ran.stdout);
    let fact = "`transparent huge pages: never` sets it apart (3 of 3 such nodes are slow, 0 of 9";
    for words in ["times as slow", fact, "a candidate, no proof"] {
        assert!(shown.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
    assert!(fs::read_to_string(&html).unwrap().contains("class=\"map\" id=\"fleet-map\""));
    assert!(is_named(&fs::read_to_string(&markdown).unwrap()));
    assert_eq!(fs::read(&parquet).unwrap()[..4], *b"PAR1");
    assert!(!fs::read_to_string(&metrics).unwrap().is_empty());

    // A data set says the same as the records do.
    let of = |source: &Path| sandbox.oscost(&["fleet", "report", text(source), "--json", "-"]);
    let document = of(&folder).exits(0).json();
    assert_eq!(document["schema"], "oscost.fleet-report/1");
    let first = |document: &Value| document["findings"][0]["node"].as_str().unwrap().to_owned();
    assert!(SLOW_NAMES.contains(&first(&document).as_str()), "{document}");
    assert_eq!(document["nodes"].as_array().unwrap().len(), NODES);
    let again = of(&data_set).exits(0).json();
    assert_eq!(first(&again), first(&document));
    assert_eq!(
        again["cases"].as_array().unwrap().len(),
        document["cases"].as_array().unwrap().len()
    );

    let cases = document["cases"].as_array().unwrap().len();
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let heads = reader.headers().unwrap().clone();
    let at = |name: &str| heads.iter().position(|it| it == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), NODES * cases);
    let is_found = |line: &csv::StringRecord| !line[at("finding")].is_empty();
    let found: BTreeSet<&str> =
        lines.iter().filter(|line| is_found(line)).map(|line| &line[at("node")]).collect();
    assert!(SLOW_NAMES.iter().all(|node| found.contains(node)), "{found:?}");
}

#[test]
fn a_node_whose_visits_are_all_very_noisy_is_found_also_from_a_data_set() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    change_records(&folder, 11, |record| {
        record["conditions"][0]["class"] = json!("very-noisy");
        for row in record["results"].as_array_mut().unwrap() {
            if row["benchmark"].as_str().unwrap().starts_with("syscall/") {
                scale(row, 600.0);
            }
        }
    });
    let data_set = sandbox.file("data");
    let arguments = ["fleet", "report", text(&folder), "--data-set", text(&data_set)];
    let ran = sandbox.oscost(&arguments).exits(0);
    assert_fits(&ran.stdout);
    let shown = flat(&ran.stdout);
    for words in [
        "node11 is disturbed more often than its 11 equals: 3 of its 3 visits are very noisy, 0 of \
         33 of theirs; there it is ",
        " times as slow as its equals in syscall/",
        "? measured, not judged",
    ] {
        assert!(shown.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
    for source in [&folder, &data_set] {
        let ran = sandbox.oscost(&["fleet", "report", text(source), "--json", "-"]).exits(0);
        let document = ran.json();
        assert_eq!(document["disturbed"][0]["node"], "node11");
        assert_eq!(document["disturbed"].as_array().unwrap().len(), 1);
        let not_judged = &document["not_judged"][0];
        assert_eq!(not_judged["not_claimable"], "is very noisy", "{not_judged}");
        assert!(not_judged["farthest_ratio"].as_f64().unwrap() > 300.0, "{not_judged}");
        let findings = document["findings"].as_array().unwrap();
        let is_huge = |it: &Value| {
            it["node"] == "node11"
                && it["scope"]["name"] == "syscall"
                && it["ratio"].as_f64() > Some(300.0)
        };
        assert!(findings.iter().any(is_huge), "{findings:?}");
    }
}

#[test]
fn a_damaged_record_is_named_and_the_report_is_of_the_others() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    fs::write(folder.join("records/0.json"), "{").unwrap();
    let shown = flat(&sandbox.oscost(&["fleet", "report", text(&folder)]).exits(0).stdout);
    assert!(shown.contains("1 record not used") && shown.contains("records/0.json"), "{shown}");
    assert!(shown.contains("2 of 3 visits: node0"), "{shown}");
}

#[test]
fn what_changed_since_another_moment_is_told_by_class() {
    let sandbox = Sandbox::new();
    let [then, now] = [fleet(&sandbox, "june", 1.0), fleet(&sandbox, "august", 1.2)];
    let arguments = ["fleet", "report", text(&now), "--baseline", text(&then), "--json", "-"];
    let document = sandbox.oscost(&arguments).exits(0).json();
    let changes = &document["changes"];
    assert_eq!(changes["common_nodes"], NODES);
    let cases = changes["classes"][0]["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let ratio = case["ratio"].as_f64().unwrap();
        assert!((ratio - 1.2).abs() < 0.02, "{case}");
    }
    let shown = flat(&sandbox.oscost(&arguments[..5]).exits(0).stdout);
    assert!(shown.contains("12 nodes measured at both times"), "{shown}");
}

#[test]
fn another_architecture_is_another_class_and_an_older_kernel_is_not() {
    const OTHERS: [usize; 5] = [0, 1, 2, 4, 5];
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    for node in OTHERS {
        change_records(&folder, node, |record| {
            record["machines"][0]["os"]["arch"] = json!("aarch64");
            record["results"].as_array_mut().unwrap().iter_mut().for_each(|row| scale(row, 3.0));
        });
    }
    change_records(&folder, 8, |record| record["machines"][0]["os"]["release"] = json!("5.10.0"));
    let document =
        sandbox.oscost(&["fleet", "report", text(&folder), "--json", "-"]).exits(0).json();
    let classes = document["classes"].as_array().unwrap().iter();
    let sizes: Vec<u64> = classes.map(|it| it["nodes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [7, 5]);
    // They cost three times as much as the others, and that is their class.
    let is_other = |it: &Value| OTHERS.iter().any(|node| it["node"] == format!("node{node}"));
    assert!(!document["findings"].as_array().unwrap().iter().any(is_other), "{document}");
}

#[test]
fn nodes_that_have_given_up_their_counter_are_no_class_of_their_own() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    for node in 0..NODES {
        // As many as a class needs, of which most are slow.
        let source = if node == 0 || SLOW.contains(&node) { "hpet" } else { "tsc" };
        change_records(&folder, node, |record| {
            record["machines"][0]["scheduling"]["clocksource"] = json!(source);
        });
    }
    let document =
        sandbox.oscost(&["fleet", "report", text(&folder), "--json", "-"]).exits(0).json();
    assert_eq!(document["classes"].as_array().unwrap().len(), 1, "{document}");
    let findings = document["findings"].as_array().unwrap();
    for name in SLOW_NAMES {
        assert!(findings.iter().any(|it| it["node"] == name), "{name}: {document}");
    }
    let facts = findings[0]["facts"].as_array().unwrap();
    assert!(facts.iter().any(|it| it["name"] == "clock source"), "{document}");
}

#[test]
fn nodes_whose_clocks_are_years_apart_are_judged_as_others_are() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    let findings = |source: &Path| {
        let ran = sandbox.oscost(&["fleet", "report", text(source), "--json", "-"]);
        ran.exits(0).json()["findings"].clone()
    };
    let expected = findings(&folder);
    for (node, year) in [(SLOW[0], "2031"), (5, "1971")] {
        change_records(&folder, node, |record| {
            let started = record["started"].as_str().unwrap().replace("2026", year);
            record["started"] = json!(started);
        });
    }
    assert_eq!(findings(&folder), expected);
    let data_set = sandbox.file("data");
    let words = ["fleet", "report", text(&folder), "--data-set", text(&data_set)];
    sandbox.oscost(&words).exits(0);
    for day in ["day=2031-11-20", "day=1971-11-22", "day=2026-11-21"] {
        assert!(data_set.join(day).is_dir(), "{day}");
    }
    let nodes = |findings: &Value| -> BTreeSet<String> {
        let findings = findings.as_array().unwrap().iter();
        findings.map(|it| it["node"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(nodes(&findings(&data_set)), nodes(&expected));
}

#[test]
fn a_source_without_records_and_gauges_on_the_screen_are_refused() {
    let sandbox = Sandbox::new();
    let folder = fleet(&sandbox, "night", 1.0);
    let on_screen = ["fleet", "report", text(&folder), "--openmetrics", "-"];
    sandbox.oscost(&on_screen).exits(2).stderr_contains("name a file");
    fs::remove_dir_all(folder.join("records")).unwrap();
    let empty = sandbox.oscost(&["fleet", "report", text(&folder)]).exits(2);
    empty.stderr_contains("no record of it could be used");
}
