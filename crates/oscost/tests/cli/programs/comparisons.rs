//! Programs compared with each other and between targets.

use serde_json::Value;

use super::fake_programs::{compared, fake_program};
use crate::ab::assert_fits;
use crate::common::{Sandbox, has_flag, row};
use crate::golden::golden;

#[test]
fn targets_are_compared_by_each_time_of_a_program() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--quick", "--base", "HERE", "--new", "ph@HERE"];
    let ran = fake_program(&sandbox, &ab, &["sh", "-c", "true"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-command.txt", &ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let of_it = |it: &&Value| it["case"] == "workload/sh";
    let compared: Vec<&Value> = compared(&record).into_iter().filter(of_it).collect();
    let metrics: Vec<&str> = compared.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics[..4], ["primary", "cpu", "user", "system"]);
    assert!(compared.iter().all(|it| it["design"] == "pairs"));
    // The treatment is attached to the system for each trial: no worker of several trials.
    assert!(compared.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8));
    assert!(compared[..4].iter().all(|it| it["added"]["unit"] == "s"));
}

#[test]
fn two_commands_are_compared_as_pairs_until_a_look_finds_a_difference() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE"];
    let ran = fake_program(&sandbox, &ab, &["./old", "9", "--", "./new", "9"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-commands.txt", &ran.stdout);
    assert_eq!(ran.stdout.matches(" trials from ").count(), 2, "how those of each command spread");
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let found = compared(&record);
    let metrics: Vec<&str> = found.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    let all =
        ["primary", "cpu", "user", "system", "peak-memory", "minor-faults", "voluntary-switches"];
    assert_eq!(metrics, all, "those that are 0 in a trial have no ratio");
    for it in &found {
        assert_eq!(has_flag(it, "SECONDARY"), it["metric"] != "cpu", "both compute: {it}");
    }
    for it in &found[..4] {
        let [base, new] = ["base", "new"].map(|side| it[side].as_u64().unwrap() as usize);
        let row = |at: usize| &record["results"][at];
        assert_eq!(row(base)["command"], serde_json::json!(["./old", "9"]));
        assert_eq!(row(new)["command"], serde_json::json!(["./new", "9"]));
        assert_eq!((&it["verdict"], &it["design"]), (&"slower".into(), &"pairs".into()));
        // The first look is after 20 s, and a round of both takes 41 ms.
        assert!((400..=500).contains(&it["pairs"].as_u64().unwrap()), "{it}");
        assert!(has_flag(it, "OUTPUT_DIFFERS"), "{it}");
    }
    // Counts that never differ: not for lack of a difference, but of time.
    assert!(found[4..].iter().all(|it| it["verdict"] == "inconclusive"), "{found:?}");
}

#[test]
fn equal_commands_are_measured_until_they_can_be_called_equivalent() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--json", "-"];
    let command = ["./old", "9", "--", "./old", "9"];
    let record = fake_program(&sandbox, &ab, &command).exits(0).json();
    let found = compared(&record);
    assert!(found.iter().all(|it| it["verdict"] == "equivalent"), "{found:?}");
    assert!(found.iter().all(|it| it["span_s"].as_f64().unwrap() >= 60.0), "{found:?}");
    let names: Vec<&str> = record["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["case"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["workload/old", "workload/old-2"]);
    let gate = [&ab[..], &["--gate", "2"]].concat();
    fake_program(&sandbox, &gate, &command).exits(0).stderr_contains("gate: passed");
    let gate = [&ab[..], &["--quick", "--gate", "2"]].concat();
    let command = ["./old", "9", "--", "./new", "9"];
    fake_program(&sandbox, &gate, &command).exits(1).stderr_contains("gate: failed");
}

#[test]
fn real_commands_take_turns_and_are_read_from_text_and_files() {
    let sandbox = Sandbox::new();
    let input = sandbox.file("input");
    std::fs::write(&input, "x\n".repeat(1000)).unwrap();
    let input = input.to_str().unwrap();
    let counts = sandbox.file("counts");
    let append = format!("sh -c 'echo x >>{}'", counts.display());
    let ab =
        ["ab", "--quick", "--budget", "1", "--stdin", input, "--cleanup", &append, "--json", "-"];
    let texts = ["--base-cmd", "wc -l", "--new-cmd", "sh -c 'wc -l; wc -c </dev/null'"];
    let record = sandbox.oscost(&[&ab[..], &texts].concat()).exits(0).json();
    let found = compared(&record);
    assert!(found.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8), "{found:?}");
    assert!(found.iter().all(|it| has_flag(it, "OUTPUT_DIFFERS")), "{found:?}");
    assert_eq!(found[0]["verdict"], "slower", "it starts two more processes: {}", found[0]);
    let trials: u64 = 2 * found[0]["pairs"].as_u64().unwrap();
    let runs = std::fs::read_to_string(&counts).unwrap().lines().count() as u64;
    assert_eq!(runs, trials + 2 * 6, "warm-ups of each, the first for the caches");
    sandbox.nothing_is_left();
}

#[test]
fn a_command_with_two_dashes_of_its_own_is_one_at_two_targets() {
    let sandbox = Sandbox::new();
    let ab =
        ["ab", "--quick", "--budget", "1", "--base", "local", "--new", "nice=5", "--json", "-"];
    let command = ["--", "sh", "-c", "test $1 = --", "sh", "--"];
    let record = sandbox.oscost(&[&ab[..], &command].concat()).exits(0).json();
    let row = row(&record, "workload/sh");
    assert_eq!(row["command"], serde_json::json!(command[1..]));
    sandbox.nothing_is_left();
}

#[test]
fn one_command_of_several_that_fails_leaves_the_others_compared() {
    let sandbox = Sandbox::new();
    let marker = sandbox.file("runs");
    // Its warm-ups succeed.
    let script = format!("echo x >>{0}; [ $(wc -l <{0}) -lt 9 ]", marker.display());
    let ab = ["ab", "--quick", "--budget", "1", "--json", "-", "--"];
    let commands = ["true", "--", "sh", "-c", &script, "--", "sh", "-c", "sleep 0.002"];
    let ran = sandbox.oscost(&[&ab[..], &commands].concat()).exits(3);
    let record = ran.json();
    let failed = row(&record, "workload/sh");
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert!(failed["reason"].as_str().unwrap().contains("--ignore-failure"), "{failed}");
    let found = compared(&record);
    assert!(found.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8), "{found:?}");
    assert_eq!(found[0]["verdict"], "slower", "{}", found[0]);
    sandbox.nothing_is_left();
}
