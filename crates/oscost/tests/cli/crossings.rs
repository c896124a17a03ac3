//! Which of two curves is cheaper, the picture of both, the steps of a wait and the answer to study
//! cs161-syscalls: at a place that is made up, of a family that is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, worker};
use crate::golden::golden;

const NUMBERS: [u64; 10] = [10, 18, 32, 56, 100, 180, 320, 560, 1_000, 1_800];
const METHODS: [&str; 4] = ["select", "poll", "epoll", "io-uring-poll"];

/// A benchmark of many descriptors with those axes of the real one that a test needs.
fn definition(name: &str, numbers: &[u64], more: &[Value]) -> Value {
    let axis = |name: &str, points: &Value, default: &Value, implied: Value| {
        let (within, of) = match name {
            "fds" => (json!([1, 1_000_000]), "descriptor"),
            _ => (Value::Null, ""),
        };
        json!({
            "name": name, "sets": "made up", "points": points, "default_points": default, "implied": implied,
            "range": within, "item": of,
        })
    };
    let mut axes = vec![
        axis("method", &json!(METHODS), &json!(METHODS), Value::Null),
        axis("fds", &json!(numbers), &json!(numbers), Value::Null),
    ];
    for one in more {
        axes.push(axis(one[0].as_str().unwrap(), &one[1], &one[2], one[3].clone()));
    }
    json!({
        "id": format!("event/{name}"), "asks": "?", "op": "nothing", "expected": "none",
        "unit": "ns/op", "calls": [], "floor": [], "needs": [], "in_price_list": false,
        "switches": false, "rev": 1, "source": "nowhere", "axes": axes,
    })
}

/// A program that prints the catalog of the real worker with a family `event` that is made up, and
/// does no more.
fn program(sandbox: &Sandbox) -> PathBuf {
    let printed = Command::new(worker()).arg("catalog").output().unwrap();
    let mut catalog: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let is_event = |value: &Value| value.as_str().is_some_and(|id| id.starts_with("event"));
    let benchmarks = catalog["benchmarks"].as_array_mut().unwrap();
    benchmarks.retain(|it| !is_event(&it["id"]));
    let ready = json!(["ready", ["none", "one"], ["one"], null]);
    let target = json!(["position", ["first", "middle", "last"], ["middle"], "middle"]);
    let peer = json!(["peer_cpu", ["same"], ["same"], null]);
    let waiters = json!(["waiters", [1], [1], null]);
    benchmarks.extend([
        definition("wait", &NUMBERS, &[ready.clone(), target]),
        definition("caller", &[100, 1_000], &[ready]),
        definition("wakeup", &[100, 1_000], &[peer, waiters]),
    ]);
    let families = catalog["families"].as_array_mut().unwrap();
    families.retain(|it| !is_event(&it["name"]));
    families.push(json!({ "name": "event", "about": "made up" }));
    let (file, program) = (sandbox.file("catalog.json"), sandbox.file("worker"));
    fs::write(&file, catalog.to_string()).unwrap();
    fs::write(&program, format!("#!/bin/sh\nexec cat '{}'\n", file.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// A fixed cost and one for each descriptor.
type Cost = (f64, f64);

/// Costs by method of one benchmark.
fn costs(into: &mut BTreeMap<String, f64>, name: &str, rest: &str, of: [Cost; 4]) {
    for (method, (fixed, each)) in METHODS.iter().zip(of) {
        for number in NUMBERS {
            let case = format!("event/{name}:method={method},fds={number}{rest}");
            into.insert(case, fixed + each * number as f64);
        }
    }
}

/// A target on which select and poll have a cost per descriptor, and the others none.
fn scenario() -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let ready = [(310.0, 9.0), (400.0, 21.0), (900.0, 0.0), (903.0, 0.0)];
    costs(&mut all, "wait", ",ready=one", ready);
    let first = [(310.0, 8.2), (400.0, 16.0), (900.0, 0.0), (903.0, 0.0)];
    costs(&mut all, "wait", ",ready=one,position=first", first);
    let last = [(310.0, 9.8), (400.0, 26.0), (900.0, 0.0), (903.0, 0.0)];
    costs(&mut all, "wait", ",ready=one,position=last", last);
    let none = [(250.0, 8.2), (300.0, 14.0), (100.0, 0.0), (90.0, 0.0)];
    costs(&mut all, "wait", ",ready=none", none);
    let caller = [(5.0, 0.12), (3.0, 0.6), (1.0, 0.0), (1.0, 0.0)];
    costs(&mut all, "caller", ",ready=one", caller);
    let woken = [(2_000.0, 12.0), (2_100.0, 17.2), (2_000.0, 0.0), (2_500.0, 0.0)];
    costs(&mut all, "wakeup", ",peer_cpu=same,waiters=1", woken);
    all
}

fn run(sandbox: &Sandbox, costs: &BTreeMap<String, f64>, sd: f64, arguments: &[&str]) -> Ran {
    let scenario = json!({ "costs_ns": costs, "between_sd": sd });
    let file = sandbox.file("scenario.json");
    fs::write(&file, scenario.to_string()).unwrap();
    let target = format!("fake:{}", file.display());
    let run = [&["run", "--seed", "1", "--at", &target], arguments].concat();
    sandbox.oscost_with(&program(sandbox), &run).exits(0)
}

fn is_plain(text: &str) {
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(text.is_ascii(), "{text}");
}

/// The output of a run, in one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_family_with_linear_select_and_poll_gets_its_verdicts_its_picture_and_the_answer() {
    let ran = run(&Sandbox::new(), &scenario(), 0.005, &["event"]);
    is_plain(&ran.stdout);
    golden("crossings.txt", &ran.stdout);
}

#[test]
fn the_steps_of_a_wait_are_slopes_and_differences_of_slopes() {
    let selectors = [
        "event/wait:ready=*,position=middle",
        "event/wait:ready=one,position=first|last",
        "event/caller",
        "event/wakeup",
        "--no-plot",
    ];
    let ran = run(&Sandbox::new(), &scenario(), 0.001, &selectors);
    is_plain(&ran.stdout);
    golden("steps.txt", &ran.stdout);
}

#[test]
fn the_record_has_the_slopes_of_each_step_and_none_of_a_single_one() {
    let selectors = [
        "event/wait:ready=*,position=middle",
        "event/wait:ready=one,position=first|last",
        "event/caller",
        "event/wakeup",
        "--json",
        "-",
    ];
    let sandbox = Sandbox::new();
    let record = run(&sandbox, &scenario(), 0.002, &selectors).json();
    let steps = record["steps"].as_array().unwrap();
    let methods: Vec<&str> = steps.iter().map(|it| it["method"].as_str().unwrap()).collect();
    assert_eq!(methods, METHODS);
    assert!(steps.iter().all(|it| it["between"] == json!([100, 1_000])), "{steps:#?}");
    let keys = ["check", "caller", "wait_queues", "wakeup", "wakeup_beyond_check"];
    for (method, truths) in [
        ("select", [8.2, 0.12, 1.6, 12.0, 3.8]),
        ("poll", [14.0, 0.6, 10.0, 17.2, 3.2]),
        ("epoll", [0.0; 5]),
        ("io-uring-poll", [0.0; 5]),
    ] {
        let of = steps.iter().find(|it| it["method"] == method).unwrap();
        for (key, truth) in keys.iter().zip(truths) {
            let [low, high] = [0, 1].map(|at| of[key]["ci95"][at].as_f64().unwrap());
            assert!(low <= truth && truth <= high, "{method}, {key}: {truth} is not in {of:#}");
        }
    }
    let alone = run(&sandbox, &scenario(), 0.002, &["event/wait", "--json", "-"]).json();
    assert_eq!(alone["steps"], json!([]));
}

#[test]
fn the_record_has_each_pair_and_the_sentences_come_from_it_alone() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, &scenario(), 0.005, &["event/wait", "--json", "-"]);
    let record = ran.json();
    let schema = sandbox.oscost(&["schema"]).exits(0).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(&record).map(|it| format!("{}: {it}", it.instance_path)).collect();
    assert_eq!(faults, Vec::<String>::new());
    let pairs = record["crossings"].as_array().unwrap();
    assert_eq!(pairs.len(), 6, "each of four with each");
    let of = |costlier: &str, cheaper: &str| {
        let found = pairs.iter().find(|it| it["costlier"] == costlier && it["cheaper"] == cheaper);
        found.unwrap_or_else(|| panic!("no pair of {costlier} and {cheaper}"))
    };
    let poll = of("poll", "epoll");
    assert_eq!((&poll["axis"], &poll["item"]), (&json!("fds"), &json!("descriptor")));
    assert_eq!(
        (&poll["differing_axis"], &poll["point"]),
        (&json!("method"), &json!({ "ready": "one" }))
    );
    assert_eq!(
        (&poll["costlier_wins_until"], &poll["cheaper_wins_from"]),
        (&json!(18), &json!(32))
    );
    let within = |value: &Value, truth: f64| {
        let [low, high] = [0, 1].map(|at| value["ci95"][at].as_f64().unwrap());
        assert!(low <= truth && truth <= high, "{truth} is not in {value}");
        assert!((value["value"].as_f64().unwrap() / truth - 1.0).abs() < 0.05, "{value}");
    };
    within(&poll["added_cost"], 21.0);
    within(&poll["crossover"], 500.0 / 21.0);
    assert_eq!(poll["added_cost"]["by"], "laws");
    let all = of("poll", "select");
    assert_eq!(
        (&all["costlier_wins_until"], &all["cheaper_wins_from"]),
        (&Value::Null, &json!(10))
    );
    // A difference of a third of a per cent is not significant, whichever measured cost is larger.
    let tie =
        pairs.iter().find(|it| it["costlier"] != "select" && it["costlier"] != "poll").unwrap();
    assert_eq!(
        (&tie["costlier_wins_until"], &tie["cheaper_wins_from"], &tie["crossover"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    // The store shows the same again, and so does an import of the record.
    let file = sandbox.file("run.json");
    sandbox.oscost(&["runs", "export", "last", file.to_str().unwrap()]).exits(0);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    let other = Sandbox::new();
    other.oscost(&["runs", "import", file.to_str().unwrap()]).exits(0);
    assert_eq!(other.oscost(&["runs", "show", "last"]).exits(0).stdout, shown);
    let words = flat(all["sentence"].as_str().unwrap());
    assert!(flat(&shown).contains(poll["sentence"].as_str().unwrap()), "{shown}\n{words}");
}

#[test]
fn nothing_is_claimed_about_equal_curves_with_noise() {
    let mut equal = BTreeMap::new();
    costs(&mut equal, "wait", ",ready=one", [(400.0, 21.0); 4]);
    let ran = run(&Sandbox::new(), &equal, 0.02, &["event/wait", "--quick", "--json", "-"]);
    for pair in ran.json()["crossings"].as_array().unwrap() {
        let claimed =
            [&pair["costlier_wins_until"], &pair["cheaper_wins_from"], &pair["crossover"]];
        assert_eq!(claimed, [&Value::Null; 3], "{pair:#}");
        assert!(
            pair["sentence"].as_str().unwrap().contains("show neither which is cheaper"),
            "{pair:#}"
        );
    }
    let ran = run(&Sandbox::new(), &equal, 0.02, &["event/wait", "--quick"]);
    let shown = flat(&ran.stdout);
    assert!(
        shown.contains("cannot be distinguished, either by which is cheaper"),
        "{}",
        ran.stdout
    );
    assert!(shown.contains("each further descriptor costs"), "{}", ran.stdout);
    assert!(!shown.contains("It matters") && !shown.contains("worse than"), "{}", ran.stdout);
}

#[test]
fn curves_are_drawn_if_they_are_few_or_requested() {
    let sandbox = Sandbox::new();
    let costs = scenario();
    let drawn = |ran: &Ran| ran.stdout.contains("both on logarithmic scales");
    assert!(drawn(&run(&sandbox, &costs, 0.0, &["event/wait", "--quick"])));
    assert!(!drawn(&run(&sandbox, &costs, 0.0, &["event/wait", "--quick", "--no-plot"])));
    assert!(!drawn(&sandbox.oscost(&["runs", "show", "last", "--no-plot"]).exits(0)));
    assert!(drawn(&sandbox.oscost(&["runs", "show", "last", "--plot"]).exits(0)));
    let both = run(&sandbox, &costs, 0.0, &["event/caller", "--quick"]);
    assert!(!drawn(&both), "two numbers are no curve");
    sandbox.oscost(&["run", "--plot", "--no-plot"]).exits(2);
}
