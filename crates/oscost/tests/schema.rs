//! The record is a contract: runs and bills write what `oscost schema` prints and
//! docs/reference/RECORDS.md describes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[expect(dead_code, reason = "the command line's tests use the rest")]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use oscost_model::counters::CounterEvent;
use serde_json::{Map, Value};

use common::{Sandbox, scenario_file};

fn schema() -> Value {
    Sandbox::new().oscost(&["schema"]).exits(0).json()
}

fn bill_schema() -> Value {
    Sandbox::new().oscost(&["schema", "bill"]).exits(0).json()
}

/// The violations of the schema by a record.
fn faults(validator: &Validator, record: &Value) -> Vec<String> {
    let errors = validator.iter_errors(record).take(5);
    errors.map(|error| format!("{}: {error}", error.instance_path)).collect()
}

/// Checks the records of runs with every outcome, with these options.
fn check_records(options: &[&str]) {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let sandbox = Sandbox::new();
    let arguments = ["timer", "procedure", "syscall", "--json", "-"];
    for (scenario, code) in [
        ("measured", 0),
        ("counters", 0),
        ("user-counters", 0),
        ("all-outcomes", 0),
        ("skipped", 0),
        ("very-noisy", 0),
        ("interrupted", 130),
        ("interrupted-early", 130),
        ("interrupted-before-rounds", 130),
    ] {
        let record = sandbox.fake(scenario, &[&arguments, options].concat()).exits(code).json();
        let faults_found = faults(&validator, &record);
        assert!(faults_found.is_empty(), "{scenario} {options:?}: {faults_found:#?}");
        let kept = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
        assert_eq!(faults(&validator, &kept), Vec::<String>::new(), "{scenario}, exported");
    }
}

#[test]
fn records_match_the_schema() {
    check_records(&[]);
}

#[test]
fn records_of_quick_runs_with_samples_match_the_schema() {
    check_records(&["--samples", "--quick"]);
}

#[test]
fn records_of_thorough_runs_match_the_schema() {
    check_records(&["--thorough", "--label", "a"]);
}

#[test]
fn the_record_of_a_real_run_matches_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let sandbox = Sandbox::new();
    let selectors =
        ["syscall", "timer/wait:us=100", "timer/ftime", "procedure/call:args=0,chain=*"];
    let ran =
        sandbox.oscost(&[&["run", "--quick", "--samples", "--json", "-"], &selectors[..]].concat());
    // Rows that this machine cannot measure are in the record, too.
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let record = ran.json();
    assert_eq!(faults(&validator, &record), Vec::<String>::new());
    let outcomes: BTreeSet<&str> =
        common::rows(&record).iter().filter_map(|row| row["outcome"].as_str()).collect();
    assert!(outcomes.contains("measured") && outcomes.contains("skipped"), "{outcomes:?}");
    sandbox.nothing_is_left();
}

/// Calls `visit` for the schema of every object of the record, with its name.
fn each_object<'a>(
    schema: &'a Value,
    name: &str,
    visit: &mut dyn FnMut(&str, &'a Map<String, Value>),
) {
    if let Value::Object(map) = schema {
        if let Some(Value::Object(_)) = map.get("properties") {
            visit(name, map);
        }
        for (key, inside) in map {
            each_object(inside, &format!("{name}/{key}"), visit);
        }
    } else if let Value::Array(items) = schema {
        items.iter().for_each(|item| each_object(item, name, visit));
    }
}

#[test]
fn every_key_of_every_object_is_required() {
    let (schema, bill_schema) = (schema(), bill_schema());
    let mut objects = 0;
    let mut check = |name: &str, object: &Map<String, Value>| {
        objects += 1;
        let keys: BTreeSet<&str> =
            object["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required = object.get("required").and_then(Value::as_array);
        let required: BTreeSet<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(keys, required, "{name}");
    };
    each_object(&schema, "record", &mut check);
    each_object(&bill_schema, "bill", &mut check);
    assert!(objects > 30, "the schemas have {objects} objects");
}

#[test]
fn every_key_is_described() {
    let check = |name: &str, object: &Map<String, Value>| {
        for (key, property) in object["properties"].as_object().unwrap() {
            let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{name}: `{key}` is not described");
        }
    };
    each_object(&schema(), "record", &mut |name, object| check(name, object));
    each_object(&bill_schema(), "bill", &mut |name, object| check(name, object));
}

#[test]
fn bills_match_their_schema() {
    let validator = jsonschema::validator_for(&bill_schema()).unwrap();
    let sandbox = Sandbox::new();
    sandbox.fake("measured", &["--quick", "syscall/getuid", "directory/open"]).exits(0);
    let target = format!("fake:{}", scenario_file("measured").display());
    let fake = ["bill", "--at", &target, "--trials", "6", "--json", "-", "--", "cat", "x"];
    // A real command, of which every outcome of counting is valid: also a refusal.
    let real = ["bill", "--trials", "6", "--prices", "last", "--json", "-", "--", "true"];
    // The second one measures runs of its own, of which the last has no prices.
    for arguments in [&real[..], &fake] {
        let bill = sandbox.oscost(arguments).exits(0).json();
        assert_eq!(faults(&validator, &bill), Vec::<String>::new(), "{arguments:?}");
        let kept = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
        assert_eq!(kept, bill, "{arguments:?}, exported");
    }
    sandbox.nothing_is_left();
}

#[test]
fn a_bill_without_a_key_or_with_a_value_of_another_type_is_invalid() {
    let validator = jsonschema::validator_for(&bill_schema()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/bill-1.json");
    let bill: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    // As this oscost writes it: the file may lack keys that were added since.
    let read: oscost_model::bill::Bill = serde_json::from_value(bill).unwrap();
    let bill = serde_json::to_value(read).unwrap();
    assert_eq!(faults(&validator, &bill), Vec::<String>::new());
    for (path, key) in [("", "items"), ("", "label"), ("/items/0", "amount"), ("/trials", "system")]
    {
        let mut changed = bill.clone();
        changed.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(key);
        assert!(!validator.is_valid(&changed), "`{path}/{key}` may be missing");
    }
    for (path, wrong) in [
        ("/items", Value::Null),
        ("/items/0/times", Value::from("often")),
        ("/items/0/amount/ns", Value::from("much")),
        ("/charged/ci95", Value::from(vec![1.0])),
        ("/counted/runs", Value::from(-1)),
        ("/program", Value::from("find")),
    ] {
        let mut changed = bill.clone();
        *changed.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&changed), "{path} may have any type");
    }
}

/// A value with at most two items of each list: the first, and the last, which may be of another
/// kind.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, inside)| (key.clone(), shortened(inside))).collect(),
        ),
        Value::Array(items) => {
            let last = items.len().saturating_sub(1);
            BTreeSet::from([0, last])
                .into_iter()
                .filter_map(|index| items.get(index))
                .map(shortened)
                .collect()
        }
        other => other.clone(),
    }
}

/// Every object inside a value, as the path to it.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.push(path.to_owned());
            for (key, inside) in map {
                objects(
                    inside,
                    &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| objects(item, &format!("{path}/{index}"), found));
        }
        _ => {}
    }
}

#[test]
fn a_record_without_one_of_its_keys_is_invalid() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let arguments = ["timer", "procedure", "syscall", "--quick", "--samples", "--json", "-"];
    let record = shortened(&Sandbox::new().fake("all-outcomes", &arguments).exits(0).json());
    assert!(validator.is_valid(&record));
    let mut paths = Vec::new();
    objects(&record, "", &mut paths);
    // Maps from names to figures may lack any name.
    let is_map = |path: &str| {
        [
            "/point",
            "/per_op",
            "/peer_per_op",
            "/rejected",
            "/mitigations",
            "/metrics",
            "/multiples",
            "/before",
            "/after",
        ]
        .iter()
        .any(|map| path.ends_with(map))
    };
    let mut removed = 0;
    for path in paths.iter().filter(|path| !is_map(path)) {
        let keys: Vec<String> =
            record.pointer(path).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut changed = record.clone();
            changed.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(&key);
            assert!(!validator.is_valid(&changed), "`{path}/{key}` may be missing");
            removed += 1;
        }
    }
    assert!(removed > 100, "only {removed} keys were removed");
}

#[test]
fn a_record_with_a_value_of_another_type_is_invalid() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let record = Sandbox::new().fake("measured", &["syscall", "--json", "-"]).exits(0).json();
    assert!(validator.is_valid(&record));
    for (path, wrong) in [
        ("/complete", Value::from("yes")),
        ("/results", Value::Null),
        ("/results/0/outcome", Value::from("splendid")),
        ("/results/0/unit", Value::from("parsecs")),
        ("/results/0/estimate/median", Value::from("much")),
        ("/results/0/estimate/ci95", Value::from(vec![1.0])),
        ("/results/0/repetitions/0/round", Value::from(-1)),
        ("/results/0/mode", Value::from("X")),
    ] {
        let mut changed = record.clone();
        *changed.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&changed), "{path} may have any type");
    }
    // Readers ignore keys that they do not know.
    let mut newer = record;
    newer["a_new_key"] = Value::from(1);
    assert_eq!(faults(&validator, &newer), Vec::<String>::new());
}

#[test]
fn the_keys_of_the_design_are_in_the_schema() {
    let schema = schema();
    let keys = |of: &str| -> BTreeSet<String> {
        let object = match of {
            "Record" => &schema,
            name => &schema["$defs"][name],
        };
        object["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for (of, wanted) in [
        (
            "Record",
            "schema id started ended complete label command tool settings machines conditions \
             results comparisons",
        ),
        ("Tool", "version commit rustc worker"),
        ("WorkerProgram", "hash link libc catalog"),
        ("Settings", "seed profile precision_pct nominal budget_s"),
        (
            "Machine",
            "id cpu caches memory disks network os limits virtualization mitigations clock advice",
        ),
        ("Clock", "source ticks_per_ns q_ns c_in_ns c_tot_ns"),
        ("Conditions", "machine class reference_cases lambda_per_s steal_pct tracers"),
        (
            "Row",
            "case benchmark rev point target outcome reason mode unit better estimate metrics \
             repetitions calls floor expected class multiples disturbed flags",
        ),
        ("TargetInfo", "text host treatments machine cpu peer"),
        (
            "Estimate",
            "exact median ci95 raw_median overhead mean sd sd_within min p10 repetitions samples \
             ops_per_sample half_width_pct converged quantiles",
        ),
        ("Overhead", "clock loop"),
        ("Repetition", "round at_s arm value batches rejected lost_pct"),
        (
            "Calls",
            "per_op peer_per_op counted_ops by expected vdso instructions_per_op tasks_per_op \
             faults_per_op bytes_per_op",
        ),
        ("Floor", "value of"),
        (
            "Comparison",
            "case metric base new design pairs span_s ratio added p q verdict mde_pct control flags",
        ),
    ] {
        let present = keys(of);
        for key in wanted.split_whitespace() {
            assert!(present.contains(key), "{of} has no `{key}`: {present:?}");
        }
    }
}

/// The text between backticks, outside of code blocks.
fn code_spans(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("```").step_by(2);
    prose.flat_map(|text| text.split('`').skip(1).step_by(2))
}

#[test]
fn the_page_of_the_record_has_every_key_of_the_schema_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/RECORDS.md");
    let page = fs::read_to_string(path).unwrap();
    let is_sign = |it: char| !it.is_ascii_alphanumeric() && it != '_';
    let words = |span: &'static str| span.split(is_sign);
    let page: &'static str = page.leak();
    let named: BTreeSet<&str> = code_spans(page).flat_map(words).collect();
    let schema = schema();
    let mut keys = BTreeSet::new();
    each_object(&schema, "record", &mut |_, object| {
        keys.extend(object["properties"].as_object().unwrap().keys().map(String::as_str));
    });
    let missing: Vec<&&str> = keys.difference(&named).collect();
    assert!(missing.is_empty(), "keys that RECORDS.md does not have: {missing:?}");

    let (described, _) = page.split_once("\n## Flags\n").unwrap();
    let is_key =
        |word: &&str| word.contains('_') && !word.contains(|it: char| it.is_ascii_uppercase());
    let described: BTreeSet<&str> = code_spans(described).flat_map(words).filter(is_key).collect();
    // The names of metrics are keys of a map, which the schema does not list.
    keys.extend(CounterEvent::ALL.iter().map(|event| event.metric()));
    let unknown: Vec<&&str> = described.difference(&keys).collect();
    assert!(unknown.is_empty(), "keys of RECORDS.md that no record has: {unknown:?}");
}

#[test]
fn the_page_of_the_record_has_every_key_of_a_bill_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/RECORDS.md");
    let page = fs::read_to_string(path).unwrap();
    let is_sign = |it: char| !it.is_ascii_alphanumeric() && it != '_';
    let words_of = |text: &str| -> BTreeSet<String> {
        code_spans(text).flat_map(|span| span.split(is_sign)).map(str::to_owned).collect()
    };
    let schema = bill_schema();
    let mut keys = BTreeSet::new();
    each_object(&schema, "bill", &mut |_, object| {
        keys.extend(object["properties"].as_object().unwrap().keys().cloned());
    });
    let named = words_of(&page);
    let missing: Vec<&String> = keys.difference(&named).collect();
    assert!(missing.is_empty(), "keys of bills that RECORDS.md does not have: {missing:?}");

    let (_, section) = page.split_once("\n## The bill\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let is_key =
        |word: &&String| word.contains('_') && !word.contains(|it: char| it.is_ascii_uppercase());
    let described = words_of(section);
    let unknown: Vec<&String> =
        described.iter().filter(is_key).filter(|word| !keys.contains(*word)).collect();
    assert!(unknown.is_empty(), "keys of RECORDS.md that no bill has: {unknown:?}");
}
