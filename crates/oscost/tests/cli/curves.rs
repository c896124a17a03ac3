//! Curves on the terminal and in the record, on a fake target with made-up benchmarks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, rows, worker};
use crate::golden::golden;

/// The sizes of study cs736-2019.
const NINE: [u64; 9] = [4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// A benchmark with an axis of sizes, of ways, and of capacities.
fn definition(id: &str, unit: &str) -> Value {
    let axis = |name: &str, points: Value, implied: Value| {
        let within = if name == "by" { Value::Null } else { json!([1, 1 << 30]) };
        let default = if implied.is_null() { points.clone() } else { json!([implied.clone()]) };
        json!({
            "name": name, "sets": "made up", "points": points, "default_points": default,
            "implied": implied, "range": within,
        })
    };
    let read = json!([{ "call": "read", "times": { "exactly": 1 }, "when": {} }]);
    let calls = if unit == "B/s" { json!([]) } else { read };
    json!({
        "id": id, "asks": "?", "op": "nothing", "expected": "none", "unit": unit,
        "calls": calls,
        "floor": [], "needs": [], "in_price_list": false, "switches": false, "bytes_axis": "size", "rev": 1,
        "source": "nowhere",
        "axes": [
            axis("size", json!(NINE), Value::Null),
            axis("by", json!(["pipe", "fifo", "queue"]), Value::Null),
            axis("capacity", json!(["system", 4_096, 65_536, 1_048_576]), json!("system")),
        ],
    })
}

/// A machine with pages of 4 KiB and two caches, and made-up costs.
#[derive(Default)]
struct Scenario {
    costs: BTreeMap<String, f64>,
    channels: BTreeMap<String, Value>,
    skipped: BTreeMap<String, String>,
    more: BTreeMap<&'static str, Value>,
}

impl Scenario {
    /// Costs over some sizes, through a channel that holds so much.
    fn curve(
        mut self,
        case: impl Fn(u64) -> String,
        capacity: u64,
        sizes: &[u64],
        cost: impl Fn(f64) -> f64,
    ) -> Self {
        for &size in sizes {
            self.costs.insert(case(size), cost(size as f64));
            let channel = json!({
                "capacity_bytes": capacity, "pipe_buf_bytes": 4_096, "verified_messages": 1, "unauthorised_connections": 0,
            });
            self.channels.insert(case(size), channel);
        }
        self
    }

    /// Runs the made-up benchmarks there.
    fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> Ran {
        let cache = |level, kib| json!({ "level": level, "kind": "Unified", "size_kib": kib });
        let mut scenario = json!({
            "costs_ns": self.costs, "channels": self.channels, "skipped": self.skipped,
            "between_sd": 0.005,
            "facts": {
                "memory": { "page_bytes": 4_096 }, "caches": [cache(1, 48), cache(2, 1_280)],
            },
        });
        for (key, value) in &self.more {
            scenario[*key] = value.clone();
        }
        let file = sandbox.file("scenario.json");
        fs::write(&file, scenario.to_string()).unwrap();
        let target = format!("fake:{}", file.display());
        let run = [&["run", "--seed", "1", "--at", &target], arguments].concat();
        sandbox.oscost_with(&program(sandbox), &run)
    }
}

/// A program that prints the catalog of the real worker with two benchmarks more, and does no more.
fn program(sandbox: &Sandbox) -> PathBuf {
    let printed = Command::new(worker()).arg("catalog").output().unwrap();
    let mut catalog: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let made = [definition("made/latency", "ns/op"), definition("made/throughput", "B/s")];
    catalog["benchmarks"].as_array_mut().unwrap().extend(made);
    catalog["families"].as_array_mut().unwrap().push(json!({ "name": "made", "about": "up" }));
    let (file, program) = (sandbox.file("catalog.json"), sandbox.file("worker"));
    fs::write(&file, catalog.to_string()).unwrap();
    fs::write(&program, format!("#!/bin/sh\nexec cat '{}'\n", file.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn case(name: &str, by: &str, capacity: Option<u64>) -> impl Fn(u64) -> String {
    let capacity = capacity.map(|bytes| format!(",capacity={bytes}")).unwrap_or_default();
    let (name, by) = (name.to_owned(), by.to_owned());
    move |size| format!("made/{name}:size={size},by={by}{capacity}")
}

/// A cost that grows slowly and is half as much again from a size on.
fn jump(behind: f64) -> impl Fn(f64) -> f64 {
    move |n: f64| 4_000.0 * n.powf(0.05) * if n > behind { 1.5 } else { 1.0 }
}

/// A curve of each kind: one whose break a constant explains, one without a break, one whose break
/// nothing explains; and a rate that saturates.
fn three_kinds() -> Scenario {
    let rate = |n: f64| (0.08f64).max(4_000.0 / n / 16.0);
    Scenario::default()
        .curve(case("latency", "pipe", None), 65_536, &NINE, jump(1_024.0))
        .curve(case("latency", "fifo", None), 65_536, &NINE, |n| 5_000.0 + 0.2 * n)
        .curve(case("latency", "queue", None), 16_384, &NINE, jump(256.0))
        .curve(case("throughput", "pipe", None), 65_536, &NINE, rate)
}

const ASKED: [&str; 2] = ["made/latency", "made/throughput:by=pipe"];

/// Every line fits a terminal and is plain.
fn is_plain(text: &str) {
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn each_curve_is_a_block_with_a_line_per_size_and_its_break() {
    let ran = three_kinds().run(&Sandbox::new(), &ASKED).exits(0);
    is_plain(&ran.stdout);
    golden("curves.txt", &ran.stdout);
}

#[test]
fn the_record_has_each_curve_with_all_points_and_matches_the_schema() {
    let sandbox = Sandbox::new();
    let ran = three_kinds().run(&sandbox, &[&ASKED[..], &["--json", "-"]].concat()).exits(0);
    let record = ran.json();
    let schema = sandbox.oscost(&["schema"]).exits(0).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(&record).map(|it| format!("{}: {it}", it.instance_path)).collect();
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(
        rows(&record)
            .iter()
            .filter(|row| row["case"].as_str().unwrap().starts_with("made/"))
            .count(),
        36
    );
    let curves = record["curves"].as_array().unwrap();
    let of = |benchmark: &str, by: &str| {
        let found =
            curves.iter().find(|it| it["benchmark"] == benchmark && it["point"]["by"] == by);
        found.unwrap_or_else(|| panic!("no curve of {benchmark} by {by}"))
    };
    assert_eq!(curves.len(), 4);
    let named = of("made/latency", "pipe");
    assert_eq!((&named["axis"], &named["point"]), (&json!("size"), &json!({ "by": "pipe" })));
    assert_eq!(named["points"].as_array().unwrap().len(), 9);
    assert_eq!(named["points"][3]["case"], "made/latency:size=256,by=pipe");
    assert_eq!(named["breaks"][0]["interval"], json!([1_024, 4_096]));
    assert_eq!(named["breaks"][0]["constants"], json!(["PIPE_BUF (4Ki)", "a page (4Ki)"]));
    let smooth = of("made/latency", "fifo");
    assert_eq!((&smooth["breaks"], &smooth["scaling"]["model"]), (&json!([]), &json!("N")));
    assert_eq!(smooth["scaling"]["fits"], true);
    assert!(smooth["saturation"].is_null() && smooth["capacity"].is_null());
    let unexplained = of("made/latency", "queue");
    assert_eq!(unexplained["breaks"][0]["constants"], json!([]));
    assert!(of("made/throughput", "pipe")["saturation"]["from"].as_u64().is_some());
    // The store shows the same again, and so does an import of the record.
    let file = sandbox.file("run.json");
    sandbox.oscost(&["runs", "export", "last", file.to_str().unwrap()]).exits(0);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    let other = Sandbox::new();
    other.oscost(&["runs", "import", file.to_str().unwrap()]).exits(0);
    assert_eq!(other.oscost(&["runs", "show", "last"]).exits(0).stdout, shown);
    assert!(shown.contains("\nCurves\n"), "{shown}");
}

/// Sizes by factors of two that go beyond every capacity.
fn nine_sizes() -> Vec<u64> {
    (8..=23).map(|power| 1 << power).collect()
}

fn at_three_capacities(behind: impl Fn(u64) -> f64) -> Ran {
    let sizes = nine_sizes();
    let mut scenario = Scenario::default();
    for capacity in [4_096, 65_536, 1_048_576] {
        let case = case("latency", "pipe", Some(capacity));
        scenario = scenario.curve(case, capacity, &sizes, jump(behind(capacity)));
    }
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let selectors = format!("made/latency:by=pipe,size={},capacity=4Ki|64Ki|1Mi", sizes.join("|"));
    scenario.run(&Sandbox::new(), &[&selectors]).exits(0)
}

#[test]
fn a_capacity_that_a_break_does_not_move_with_is_refuted_in_words() {
    let ran = at_three_capacities(|_| 65_536.0);
    is_plain(&ran.stdout);
    golden("curves-refuted.txt", &ran.stdout);
}

#[test]
fn a_capacity_that_a_break_moves_with_explains_it() {
    let ran = at_three_capacities(|capacity| capacity as f64);
    let words = "the break moves with the capacity, and is explained by it";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
    for name in ["the channel's capacity (4Ki)", "the channel's capacity (64Ki)"] {
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
    }
}

/// A break between two of the nine sizes, in whose interval a page lies.
#[test]
fn eight_more_sizes_distinguish_a_break_at_a_page_from_one_before_it() {
    const BEHIND: f64 = 2_000.0;
    let all: Vec<u64> = NINE.into_iter().chain(1_025..4_096).collect();
    let scenario =
        || Scenario::default().curve(case("latency", "pipe", None), 65_536, &all, jump(BEHIND));
    let selectors = ["made/latency:by=pipe", "--json", "-"];
    let coarse = scenario().run(&Sandbox::new(), &selectors).exits(0).json();
    let of = |record: &Value| record["curves"][0]["breaks"][0].clone();
    assert_eq!(of(&coarse)["interval"], json!([1_024, 4_096]));
    assert_eq!(of(&coarse)["refinement_values"].as_array().unwrap().len(), 8);
    assert_eq!(of(&coarse)["constants"], json!(["PIPE_BUF (4Ki)", "a page (4Ki)"]));

    let sandbox = Sandbox::new();
    let fine = scenario().run(&sandbox, &[&selectors[..], &["--refine"]].concat()).exits(0).json();
    let added = |row: &&Value| row["flags"].as_array().unwrap().contains(&json!("ADDED"));
    let sizes: Vec<u64> = rows(&fine)
        .iter()
        .filter(added)
        .map(|row| row["point"]["size"].as_u64().unwrap())
        .collect();
    assert_eq!(json!(sizes), of(&coarse)["refinement_values"]);
    let ends: Vec<f64> = serde_json::from_value(of(&fine)["interval"].clone()).unwrap();
    assert!(ends[0] <= BEHIND && BEHIND <= ends[1] && ends[1] < 4_096.0, "{ends:?}");
    assert_eq!(of(&fine)["constants"], json!([]), "no page is as small");

    // On the terminal they are in the sentence, not among the requested sizes.
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    is_plain(&shown);
    golden("curves-refined.txt", &shown);
}

#[test]
fn a_size_that_was_not_measured_leaves_a_gap_and_its_reason() {
    let mut scenario = three_kinds();
    scenario.skipped.insert("made/latency:size=64,by=pipe".into(), "no such size".into());
    let ran = scenario.run(&Sandbox::new(), &["made/latency:by=pipe"]).exits(0);
    is_plain(&ran.stdout);
    assert!(ran.stdout.contains("1 of 9 points not measured"), "{}", ran.stdout);
    let why = "made/latency:size=64,by=pipe: skipped: no such size";
    assert!(ran.stdout.contains(why), "{}", ran.stdout);
    assert!(ran.stdout.lines().any(|line| line.trim() == "64        -"), "{}", ran.stdout);
}

#[test]
fn a_reason_of_several_cases_is_shown_once_and_lost_datagrams_are_counted() {
    let mut scenario = three_kinds();
    for size in [64, 256, 1_024] {
        let case = case("latency", "fifo", None)(size);
        scenario.skipped.insert(case, "no such size".into());
    }
    let case = case("latency", "pipe", None)(64);
    scenario.channels.insert(
        case,
        json!({
            "verified_messages": 1, "unauthorised_connections": 0,
            "datagrams": {
                "sent": 100, "arrived": 97, "lost": 3, "late": 1, "duplicate": 0, "reordered": 2,
                "end_markers": 0,
            },
        }),
    );
    let ran = scenario.run(&Sandbox::new(), &["made/latency:by=pipe|fifo"]).exits(0);
    is_plain(&ran.stdout);
    let once = "\n  made/latency:size=64,by=fifo and 2 more: skipped: no such size\n";
    assert!(ran.stdout.contains(once), "{}", ran.stdout);
    let line = ran.stdout.lines().find(|line| line.starts_with("datagrams: ")).unwrap();
    // Each worker saw as many.
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [sent, lost, late, twice, disordered] = numbers[..] else { panic!("{line}") };
    assert_eq!((lost * 100, late * 100, twice, disordered * 100), (3 * sent, sent, 0, 2 * sent));
}

#[test]
fn below_six_repetitions_there_is_no_interval_and_no_break() {
    let mut scenario = three_kinds();
    // Fifteen workers of reference cases, nine of the curve and three of reference cases a round,
    // three rounds.
    scenario.more.insert("interrupted_after_workers", json!(15 + 3 * 12));
    let ran = scenario.run(&Sandbox::new(), &["made/latency:by=pipe"]).exits(130);
    is_plain(&ran.stdout);
    let words = "no search for breaks: that takes 8 points with intervals";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
    assert!(!ran.stdout.contains("] :"), "{}", ran.stdout);
}

#[test]
fn many_curves_share_their_sizes_in_as_many_blocks_as_a_terminal_needs() {
    let scenario = Scenario::default();
    let selectors = "made/latency:by=*,capacity=*,size=4|64|1Ki|4Ki|64Ki|1Mi|4Mi|16Mi";
    let ran = scenario.run(&Sandbox::new(), &[selectors]).exits(0);
    is_plain(&ran.stdout);
    golden("curves-many.txt", &ran.stdout);
}
