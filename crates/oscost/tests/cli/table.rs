//! `oscost table`: machines with planted differences, and what it refuses.

use std::fs;

use serde_json::{Value, json};

use crate::ab::assert_fits;
use crate::common::Sandbox;
use crate::common::day_series::record;
use crate::fleet_folder::{NODES, VISITS, fleet_folder, node_target, scale_cases};

/// The records of so many equal machines, as files; their figures vary by a few thousandths.
fn nodes(sandbox: &Sandbox, count: usize, change: impl Fn(usize, &mut Value)) -> Vec<String> {
    let made = record(sandbox);
    let node = |at: usize| {
        let mut record = made.clone();
        record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{at:04x}"));
        let machine = &mut record["machines"][0];
        machine["cpu"]["model_name"] = json!("Some CPU");
        machine["cpu"]["microcode"] = json!("0x1");
        machine["os"]["release"] = json!("6.1.0");
        machine["memory"]["transparent_huge_pages"] = json!("always");
        machine["counters"]["boot"] = json!(format!("boot{at}"));
        for row in 0..record["results"].as_array().unwrap().len() {
            scale(&mut record, row, 1.0 + 0.001 * ((at * 37 + row * 11) % 21) as f64);
        }
        change(at, &mut record);
        let path = sandbox.file(&format!("node{at}.json"));
        fs::write(&path, record.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (0..count).map(node).collect()
}

/// Multiplies the figure of a row, with its intervals.
fn scale(record: &mut Value, row: usize, factor: f64) {
    let estimate = &mut record["results"][row]["estimate"];
    for at in ["/median", "/ci95/0", "/ci95/1", "/between_run_ci95/0", "/between_run_ci95/1"] {
        if let Some(value) = estimate.pointer_mut(at)
            && let Some(number) = value.as_f64()
        {
            *value = json!(number * factor);
        }
    }
}

/// The fourth of them is slow in system calls, and has another setting.
fn slow_fourth(at: usize, record: &mut Value) {
    if at != 3 {
        return;
    }
    record["machines"][0]["memory"]["transparent_huge_pages"] = json!("never");
    for row in 0..record["results"].as_array().unwrap().len() {
        let is_call = record["results"][row]["benchmark"].as_str().unwrap().starts_with("syscall/");
        scale(record, row, if is_call { 1.5 } else { 1.0 });
    }
}

fn arguments<'a>(files: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let files = files.iter().map(String::as_str);
    ["table"].into_iter().chain(files).chain(more.iter().copied()).collect()
}

#[test]
fn the_machine_that_is_slow_is_named_with_its_family_and_the_fact_that_differs() {
    let sandbox = Sandbox::new();
    let files = nodes(&sandbox, 8, slow_fourth);
    let ran = sandbox.oscost(&arguments(&files, &[])).exits(0);
    assert_fits(&ran.stdout);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(" node3 is 1."), "{}", ran.stdout);
    for words in [
        " times as slow (",
        " in syscall (",
        " as its 7 equals; processor, kernel and microcode are the same, transparent huge pages \
         (`never`, there `always`) are not",
        "two machines, two moments",
        "node0 +6",
    ] {
        assert!(flat.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
    let found = sandbox.oscost(&arguments(&files, &["--json", "-"])).exits(0).json();
    assert_eq!(found["schema"], "oscost.table/1");
    assert_eq!(found["columns"], json!([[0, 1, 2, 4, 5, 6, 7], [3]]));
    let finding = &found["findings"][0];
    assert_eq!((&finding["machines"], &finding["family"]), (&json!([3]), &json!("syscall")));
    let slowness = finding["slowness"].as_f64().unwrap();
    assert!((1.45..1.55).contains(&slowness), "{slowness}");
    // The case that differs most comes first.
    assert!(found["cases"][0]["case"].as_str().unwrap().starts_with("syscall/"), "{found}");
}

#[test]
fn of_equal_machines_none_stands_out_and_the_base_can_be_chosen() {
    let sandbox = Sandbox::new();
    let files = nodes(&sandbox, 8, |_, _| {});
    let ran = sandbox.oscost(&arguments(&files, &[])).exits(0);
    assert!(ran.stdout.contains("No difference stands out among 8 machines"), "{}", ran.stdout);
    let two = nodes(&sandbox, 2, |at, record| {
        record["machines"][0]["cpu"]["model_name"] = json!(format!("CPU {at}"));
    });
    let names = |base: &str| {
        let found = sandbox.oscost(&arguments(&two, &["--base", base, "--json", "-"])).exits(0);
        found.json()["columns"].clone()
    };
    assert_eq!([names("node0"), names("node1")], [json!([[0], [1]]), json!([[1], [0]])]);
    let refused = sandbox.oscost(&arguments(&two, &["--base", "node9"])).exits(2).no_data();
    refused.stderr_contains("no machine of this table is `node9`").stderr_contains("`node1`");
}

#[test]
fn kernels_are_told_apart_by_exact_counts_of_instructions() {
    let sandbox = Sandbox::new();
    let ran = sandbox.oscost(&["table", "@vm-6.1", "@vm-6.12"]).exits(0);
    assert_fits(&ran.stdout);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "vm-6.12 executes more instructions than vm-6.1 in 6 and fewer in 6 of 13 exactly \
                    counted cases: from 0.51 times as many in file/stat:files=100 (3,524 for 6,856) to \
                    1.11 times as many in memory/mprotect:size=65536 (12,597 for 11,322).";
    assert!(flat.contains(sentence), "{}", ran.stdout);
    assert!(!flat.contains("Nothing can be judged"), "{}", ran.stdout);
    let found = sandbox.oscost(&["table", "@vm-6.1", "@vm-6.12", "--json", "-"]).exits(0).json();
    let cases = found["cases"].as_array().unwrap();
    let exact = |case: &&Value| (0..2).all(|column| case["cells"][column]["is_exact"] == true);
    assert_eq!(cases.iter().filter(exact).count(), 13);
    let signal = cases.iter().find(|case| case["case"] == "syscall/signal").unwrap();
    assert_eq!(signal["cells"][0]["is_exact"], false, "its repetitions differ");
}

#[test]
fn several_runs_of_a_machine_are_one_column() {
    let sandbox = Sandbox::new();
    let files = nodes(&sandbox, 3, |at, record| {
        record["machines"][0]["cpu"]["microcode"] = json!(if at == 2 { "0x2" } else { "0x1" });
    });
    let [one, again, other] = &files[..] else { panic!("{files:?}") };
    let (one, again) = (format!("old={one}"), format!("old={again}"));
    let found = sandbox.oscost(&["table", &one, &again, other, "--json", "-"]).exits(0).json();
    assert_eq!(found["machines"].as_array().unwrap().len(), 2);
    assert_eq!(found["machines"][0]["name"], "old");
    assert_eq!(found["machines"][1]["name"], "node2");
    let cell = &found["cases"][0]["cells"][0];
    assert_eq!((&cell["runs"], &cell["machines"]), (&json!(2), &json!(1)));
    assert!(cell["is_between_runs"] == true && cell["ci95"].is_array(), "{cell}");
}

#[test]
fn the_nodes_of_a_fleet_are_machines_each_with_its_visits() {
    let sandbox = Sandbox::new();
    let folder = fleet_folder(&sandbox, &node_target(&sandbox), |node, record| {
        if node == 5 {
            scale_cases(record, "syscall/", 1.5);
        }
    });
    let fleet = folder.to_str().unwrap();
    let of_folder = sandbox.oscost(&["table", "--fleet", fleet, "--json", "-"]).exits(0).json();
    let machines = of_folder["machines"].as_array().unwrap();
    assert_eq!(machines.len(), NODES);
    let own = machines.iter().find(|machine| machine["name"] == "n5").unwrap();
    assert_eq!(own["runs"].as_array().unwrap().len(), VISITS);
    let finding = &of_folder["findings"][0];
    let slow = finding["machines"][0].as_u64().unwrap() as usize;
    assert_eq!((&machines[slow]["name"], &finding["family"]), (&json!("n5"), &json!("syscall")));
    sandbox.oscost(&["fleet", "collect", fleet]).exits(0);
    let stored = sandbox.oscost(&["table", "--fleet", "monday", "--json", "-"]).exits(0).json();
    assert_eq!(stored["machines"].as_array().unwrap().len(), NODES);
    // A run beside them, many, a record of a stranger, and no fleet.
    let files = nodes(&sandbox, 17, |at, record| {
        record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-1c1d2e3f{at:04x}"));
    });
    let beside = arguments(&files[..1], &["--fleet", fleet, "--base", "node0", "--json", "-"]);
    let beside = sandbox.oscost(&beside).exits(0).json();
    assert_eq!(beside["machines"].as_array().unwrap().len(), NODES + 1);
    let many = arguments(&files, &["--fleet", fleet, "--json", "-"]);
    let many = sandbox.oscost(&many).exits(0).json();
    assert_eq!(many["machines"].as_array().unwrap().len(), NODES + files.len());
    assert_eq!(many["left_out"], json!([]));
    fs::write(folder.join("records/0.json"), "{}").unwrap();
    let ran = sandbox.oscost(&["table", "--fleet", fleet]).exits(0);
    assert!(ran.stderr.contains("note: records/0.json is left out: "), "{}", ran.stderr);
    sandbox.oscost(&["table", "--fleet", "tuesday"]).exits(2).stderr_contains("has no fleet");
}

#[test]
fn each_format_is_written_and_text_of_records_is_escaped() {
    let sandbox = Sandbox::new();
    let files = nodes(&sandbox, 2, |at, record| {
        record["machines"][0]["os"]["release"] = json!(format!("6.{at}-<b>bold</b>|x"));
    });
    let named = ["page.html", "table.md", "table.csv", "table.parquet", "table.json"];
    let paths = named.map(|name| sandbox.file(name).to_str().unwrap().to_owned());
    let options: Vec<&str> = paths.iter().flat_map(|path| ["-o", path]).collect();
    sandbox.oscost(&arguments(&files, &options)).exits(0);
    let read = |at: usize| fs::read(&paths[at]).unwrap();
    for text in [read(0), read(1)].map(|bytes| String::from_utf8(bytes).unwrap()) {
        assert!(text.contains("bold") && !text.contains("<b>bold"), "{text}");
    }
    let csv = String::from_utf8(read(2)).unwrap();
    assert!(csv.starts_with("case,family,treatments,machine,machines,runs,unit,median,"), "{csv}");
    assert!(read(3).starts_with(b"PAR1") && read(3).ends_with(b"PAR1"));
    assert!(serde_json::from_slice::<Value>(&read(4)).is_ok());
}

#[test]
fn what_makes_no_table_is_refused_with_the_next_step() {
    let sandbox = Sandbox::new();
    let files = nodes(&sandbox, 1, |_, _| {});
    let refused = |arguments: &[&str], words: &str| {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    };
    refused(&["table"], "<RUN>");
    refused(&["table", &files[0]], "name two runs or more");
    refused(&["table", &files[0], &files[0]], "is named twice");
    refused(&arguments(&vec![files[0].clone(); 65], &[]), "name fewer");
    refused(&["table", &files[0], "./no/such.json"], "cannot read ./no/such.json");
    refused(&["table", &files[0], "@vm-9.9"], "@vm-6.12,");
    refused(&["table", &files[0], "@vm-9.9"], "none in the store");
    refused(&["table", &files[0], "x", "--in", "us"], "it must be ns, cycles, calls or insn");
    refused(&["table", "--list", "last"], "cannot be used with");
    let list = sandbox.oscost(&["table", "--list"]).exits(0);
    assert!(list.stdout.contains('@') || list.stderr.contains("no reference record comes with"));
    let has_commands = |text: &str| text.contains("oscost run ") || text.contains("oscost ab ");
    assert!(!has_commands(&list.stdout), "{}", list.stdout);
    let long = sandbox.oscost(&["table", "--list", "--verbose"]).exits(0);
    assert_eq!(has_commands(&long.stdout), long.stdout.contains('@'), "{}", long.stdout);
}
