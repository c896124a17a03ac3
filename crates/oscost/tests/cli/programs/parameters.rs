//! Commands with parameters, and their values.

use serde_json::Value;

use super::fake_programs::{compared, fake_program};
use crate::ab::assert_fits;
use crate::common::{Sandbox, has_flag, row};
use crate::golden::golden;

#[test]
fn a_parameter_stands_for_its_values_in_the_words_of_a_command() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--param", "n=1000,2000,4000"];
    let ran = fake_program(&sandbox, &ab, &["./sort", "{n}"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-parameter.txt", &ran.stdout);
    let run = ["run", "--at", "HERE", "--param", "n=1000,2000,4000", "--json", "-"];
    let record = fake_program(&sandbox, &run, &["./sort", "{n}"]).exits(0).json();
    for (n, seconds) in [(1000, 0.05), (2000, 0.11), (4000, 0.24)] {
        let row = row(&record, &format!("workload/sort:n={n}"));
        assert_eq!(row["command"], serde_json::json!(["./sort", n.to_string()]));
        let median = row["estimate"]["median"].as_f64().unwrap();
        assert!((median / seconds - 1.0).abs() < 0.01, "{n}: {median}");
    }
}

/// The value of the parameter `n` in each trial of a row, by round.
fn drawn_values(row: &Value) -> Vec<(u64, i64)> {
    let trials = row["repetitions"].as_array().unwrap().iter();
    let value =
        |it: &Value| (it["round"].as_u64().unwrap(), it["parameters"]["n"].as_i64().unwrap());
    trials.map(value).collect()
}

#[test]
fn a_sampled_parameter_has_a_random_value_in_each_round_which_all_commands_share() {
    let sandbox = Sandbox::new();
    let sampled = ["--seed", "1", "--quick", "--param-sample", "n=1..3", "--json", "-"];
    let ab = [&["ab", "--base", "HERE"], &sampled[..]].concat();
    let command = ["./pick", "{n}", "--", "./draw", "{n}"];
    let record = fake_program(&sandbox, &ab, &command).exits(0).json();
    let (base, new) = (row(&record, "workload/pick"), row(&record, "workload/draw"));
    assert_eq!(base["command"], serde_json::json!(["./pick", "{n}"]));
    let range = serde_json::json!([{ "name": "n", "low": 1, "high": 3 }]);
    assert_eq!((&base["sampled_parameters"], &new["sampled_parameters"]), (&range, &range));
    assert_eq!(drawn_values(base), drawn_values(new));
    for n in 1..=3 {
        assert!(drawn_values(base).iter().any(|it| it.1 == n), "{:?}", drawn_values(base));
    }
    for trial in base["repetitions"].as_array().unwrap() {
        let seconds = 0.01 * trial["parameters"]["n"].as_f64().unwrap();
        let ratio = trial["value"].as_f64().unwrap() / seconds;
        assert!((ratio - 1.0).abs() < 0.02, "{trial}");
    }
    let found = compared(&record);
    let ratio = found[0]["ratio"]["value"].as_f64().unwrap();
    assert!((ratio - 1.05).abs() < 0.01, "{}", found[0]);
    assert!(has_flag(found[0], "OUTPUT_DIFFERS"), "both warm-ups had 2: {}", found[0]);
    let again = fake_program(&sandbox, &ab, &command).exits(0).json();
    assert_eq!(drawn_values(row(&again, "workload/pick")), drawn_values(base), "from the seed");
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "`{n}` is 1..3: a random value in each round; in warm-ups the middle, 2";
    assert!(flat.contains(words), "{shown}");
    // Trials that have a worker each, and those of a command alone.
    let at_targets = [&["ab", "--base", "HERE", "--new", "ph@HERE"], &sampled[..]].concat();
    let record = fake_program(&sandbox, &at_targets, &["./pick", "{n}"]).exits(0).json();
    let rows = record["results"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.filter(|it| it["case"] == "workload/pick").collect();
    assert_eq!(drawn_values(rows[0]), drawn_values(rows[1]));
    let run = [&["run", "--at", "HERE"], &sampled[..]].concat();
    let ran = fake_program(&sandbox, &run, &["./pick", "{n}"]).exits(0);
    let values = drawn_values(row(&ran.json(), "workload/pick"));
    assert!(values.iter().any(|it| it.1 != values[0].1), "{values:?}");
}

#[test]
fn helpers_and_the_input_of_real_commands_have_the_values_of_their_round() {
    let sandbox = Sandbox::new();
    for n in ["1", "2"] {
        std::fs::write(sandbox.file(&format!("input-{n}")), "x\n").unwrap();
    }
    let input = sandbox.file("input-{n}");
    let log = sandbox.file("log");
    let append = format!("sh -c 'echo {{n}} >>{}'", log.display());
    let ab = ["ab", "--quick", "--budget", "1", "--param-sample", "n=1..2", "--json", "-"];
    let options = ["--stdin", input.to_str().unwrap(), "--cleanup", &append];
    let commands = ["--", "sh", "-c", "test $1 -ge 1", "sh", "{n}", "--", "wc", "-l"];
    let ran = sandbox.oscost(&[&ab[..], &options, &commands].concat()).exits(0);
    let record = ran.json();
    let (base, new) = (row(&record, "workload/sh"), row(&record, "workload/wc"));
    assert_eq!(drawn_values(base), drawn_values(new));
    let log = std::fs::read_to_string(&log).unwrap();
    let runs = |n: &str| log.lines().filter(|line| *line == n).count();
    let trials = |n: i64| 2 * drawn_values(base).iter().filter(|it| it.1 == n).count();
    assert_eq!(runs("1") + runs("2"), log.lines().count(), "{log}");
    assert!(runs("2") >= trials(2), "{log}");
    // The middle, rounded down.
    assert!(runs("1") >= trials(1) + 2 * 6, "warm-ups of each, the first for the caches: {log}");
    sandbox.nothing_is_left();
}

#[test]
fn five_values_of_a_parameter_are_curves_of_both_commands_and_show_where_they_cross() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--param", "n=10,50,100,500,1000"];
    let command = ["./scan", "{n}", "--", "./index", "{n}"];
    let ran = fake_program(&sandbox, &ab, &command).exits(0);
    assert_fits(&ran.stdout);
    let (_, shown) = ran.stdout.split_once("workload/scan and workload/index by n").unwrap();
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("command scan index"), "{shown}");
    assert!(flat.contains("workload/scan is cheaper at 50, workload/index from 100 on"), "{shown}");
    // The ratios at each value, below each other.
    assert!(flat.contains("n new base ratio"), "{shown}");
    for (n, verdict) in [(10, "slower"), (50, "slower"), (100, "faster"), (1_000, "faster")] {
        let is_it = |line: &&str| {
            line.trim_start().starts_with(&format!("{n} ")) && line.contains(" index ")
        };
        let line = shown.lines().find(is_it).unwrap_or_else(|| panic!("{n}: {shown}"));
        assert!(line.ends_with(verdict), "{line}");
    }
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let [scan, index] = [0, 1].map(|at| &record["curves"][at]);
    assert_eq!(scan["benchmark"], "workload/scan");
    assert_eq!(index["benchmark"], "workload/index");
    let crossing = &record["crossings"][0];
    assert_eq!(crossing["differing_axis"], "benchmark");
    assert_eq!(crossing["costlier"], "workload/scan");
    assert_eq!(crossing["cheaper_wins_from"], 100);
    // One command has one curve, and nothing to cross.
    let ran = fake_program(&sandbox, &ab, &["./scan", "{n}"]).exits(0);
    assert!(ran.stdout.contains("workload/scan by n"), "{}", ran.stdout);
}

#[test]
fn parameters_are_exported_as_hyperfine_does() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hyperfine.json");
    let results = |options: &[&str], command: &[&str]| -> Value {
        let run = ["run", "--seed", "1", "--at", "HERE", "--quick"];
        let export = ["--export-hyperfine", file.to_str().unwrap()];
        fake_program(&sandbox, &[&run[..], &export, options].concat(), command).exits(0);
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap()
    };
    let read =
        results(&["--param", "n=1000,2000", "--param", "how=a"], &["./sort", "{n}", "{how}"]);
    for (at, n) in ["1000", "2000"].into_iter().enumerate() {
        let result = &read["results"][at];
        assert_eq!(result["parameters"], serde_json::json!({ "n": n, "how": "a" }), "{result}");
        assert_eq!(result["command"], format!("./sort {n} a"));
    }
    // A value of each trial is none of a result's, and a command without parameters has no such
    // key.
    let sampled = results(&["--param-sample", "n=1..3"], &["./pick", "{n}"]);
    assert!(sampled["results"][0]["times"].is_array(), "{sampled}");
    assert!(sampled["results"][0].get("parameters").is_none(), "{sampled}");
    let plain = results(&[], &["gzip", "-kf9", "FILE"]);
    assert!(plain["results"][0].get("parameters").is_none(), "{plain}");
}
