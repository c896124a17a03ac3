//! `oscost fleet simulate` and `oscost fleet collect`: what is there is kept once, and is a run like
//! any other.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::common::Sandbox;

/// The folder of a simulated fleet of five nodes with two visits, and the records of these tasks.
fn simulated(sandbox: &Sandbox, tasks: &str) -> PathBuf {
    let folder = sandbox.file("fleet");
    let words = ["--nodes", "5", "--cases", "6", "--visits", "2", "--tasks", tasks];
    let arguments = [&["fleet", "simulate", folder.to_str().unwrap()], &words[..]].concat();
    let ran = sandbox.oscost(&arguments).exits(0);
    assert!(ran.stdout.contains(" of 10 records of a simulated fleet with "), "{}", ran.stdout);
    assert!(folder.join("TRUTH.json").exists());
    folder
}

#[test]
fn a_fleet_is_collected_as_its_records_come_and_each_is_kept_once() {
    let sandbox = Sandbox::new();
    let folder = simulated(&sandbox, "0-6");
    let collect = ["fleet", "collect", folder.to_str().unwrap()];
    let with_json = [&collect[..], &["--json"]].concat();
    fs::create_dir(folder.join("failures")).unwrap();
    let failure = r#"{"task": 8, "node": "n", "at": "", "why": "no room on the disk", "exit": 4}"#;
    fs::write(folder.join("failures/8.json"), failure).unwrap();
    fs::write(folder.join("records/9.json"), "{}").unwrap();
    let ran = sandbox.oscost(&collect).exits(0);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = "7 of 10 visits of 5 nodes collected for fleet simulated, 7 of them now; 1 node \
                  failed: ";
    assert!(flat.starts_with(answer), "{}", ran.stdout);
    for words in [
        "; 1 record was rejected; 1 visit has no record yet.",
        "failed: no room on the disk",
        "no record yet",
        "its record was rejected",
        "records/9.json",
        "`oscost fleet report simulated` shows",
    ] {
        assert!(flat.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);

    let again = sandbox.oscost(&with_json).exits(0).json();
    assert_eq!(again["schema"], "oscost.fleet-collect/1");
    assert_eq!((again["imported"].as_u64(), again["known"].as_u64()), (Some(0), Some(7)));
    let states: Vec<&str> = again["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["no-record", "failed", "rejected"]);

    simulated(&sandbox, "7-9");
    let whole = sandbox.oscost(&with_json).exits(0).json();
    assert_eq!((whole["imported"].as_u64(), whole["known"].as_u64()), (Some(3), Some(7)));
    assert!(whole["missing"].as_array().unwrap().is_empty());
}

#[test]
fn two_collectors_at_once_keep_each_record_once() {
    let sandbox = Sandbox::new();
    let folder = sandbox.file("fleet");
    let folder = folder.to_str().unwrap();
    let words = ["--nodes", "150", "--cases", "20", "--visits", "2"];
    sandbox.oscost(&[&["fleet", "simulate", folder][..], &words].concat()).exits(0);
    let collect = ["fleet", "collect", folder, "--json"];
    let start = || -> Child {
        let mut command = sandbox.command(&collect);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut imported = 0;
    for collector in [start(), start()] {
        let ended = collector.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {stderr}", ended.status);
        let found: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let count = |key: &str| found[key].as_u64().unwrap();
        assert_eq!(count("imported") + count("known"), 300, "{found}");
        assert_eq!(found["rejected"].as_array().map(Vec::len), Some(0), "{found}");
        imported += count("imported");
    }
    assert_eq!(imported, 300);
    let again = sandbox.oscost(&collect).exits(0).json();
    assert_eq!((again["imported"].as_u64(), again["known"].as_u64()), (Some(0), Some(300)));
}

#[test]
fn a_collected_visit_is_listed_shown_exported_and_deleted_like_any_run() {
    let sandbox = Sandbox::new();
    let folder = simulated(&sandbox, "0-9");
    let collect = ["fleet", "collect", folder.to_str().unwrap(), "--json"];
    sandbox.oscost(&collect).exits(0);
    let listed = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 10);
    assert!(runs.iter().all(|run| run["imported"] == true && run["label"] == "simulated"));
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert!(shown.stdout.contains("simulated"), "{}", shown.stdout);
    let mut exported = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
    assert_eq!(exported["fleet"]["fleet"], "simulated");
    // What is exported is the file that was collected, with all its keys, and a grade.
    for grade in ["trust", "trust_reasons"] {
        assert!(exported.as_object_mut().unwrap().remove(grade).is_some(), "{grade}");
    }
    let task = exported["fleet"]["task"].as_u64().unwrap();
    let file = fs::read(folder.join(format!("records/{task}.json"))).unwrap();
    assert_eq!(exported, serde_json::from_slice::<serde_json::Value>(&file).unwrap());
    sandbox.oscost(&["runs", "delete", "last"]).exits(0);
    let again = sandbox.oscost(&collect).exits(0).json();
    assert_eq!((again["imported"].as_u64(), again["known"].as_u64()), (Some(1), Some(9)));
}

#[test]
fn a_fleet_is_one_line_of_the_list_and_is_deleted_as_a_whole() {
    let sandbox = Sandbox::new();
    let folder = simulated(&sandbox, "0-9");
    sandbox.oscost(&["fleet", "collect", folder.to_str().unwrap()]).exits(0);
    sandbox.fake("measured", &["syscall/getppid", "--quick"]).exits(0);
    let lines = |words: &[&str]| {
        let ran = sandbox.oscost(&[&["runs", "list"][..], words].concat()).exits(0);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        // Without the headings.
        let lines: Vec<String> = ran.stdout.lines().skip(1).map(str::to_owned).collect();
        (lines, ran.stderr)
    };
    let (folded, notes) = lines(&[]);
    assert_eq!(folded.len(), 2, "{folded:?}");
    let is_fleet = |line: &&String| line.contains("simulated: 10 visit");
    assert_eq!(folded.iter().filter(is_fleet).count(), 1, "{folded:?}");
    assert!(notes.contains("`--fleet NAME` lists its visits"), "{notes}");
    assert!(notes.contains("11 runs in "), "{notes}");
    assert_eq!(lines(&["--all"]).0.len(), 11);
    assert_eq!(lines(&["--fleet", "simulated"]).0.len(), 10);
    let json = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["fleet"] == "simulated").count(), 10);
    assert_eq!(runs.iter().filter(|run| run["fleet"].is_null()).count(), 1);
    // The id in the list names the run, and no visit.
    let own = folded.iter().find(|line| !is_fleet(line)).unwrap();
    sandbox.oscost(&["runs", "show", own.split(' ').next().unwrap()]).exits(0);

    for verb in ["list", "delete"] {
        let other = sandbox.oscost(&["runs", verb, "--fleet", "monday"]).exits(2);
        other.stderr_contains("the store has no fleet `monday`");
    }
    sandbox.oscost(&["runs", "delete"]).exits(2);
    sandbox.oscost(&["runs", "delete", "last", "--fleet", "simulated"]).exits(2);
    sandbox
        .oscost(&["runs", "delete", "--fleet", "simulated"])
        .exits(0)
        .no_data()
        .stderr_contains("deleted 10 visits of fleet simulated");
    assert_eq!(lines(&[]).0.len(), 1);
    let again = sandbox.oscost(&["fleet", "collect", folder.to_str().unwrap(), "--json"]);
    assert_eq!(again.exits(0).json()["imported"], 10);
}

#[test]
fn a_folder_without_records_is_not_measured_and_one_of_no_fleet_is_refused() {
    let sandbox = Sandbox::new();
    let folder = simulated(&sandbox, "90-99");
    let ran = sandbox.oscost(&["fleet", "collect", folder.to_str().unwrap()]).exits(3);
    assert!(ran.stdout.starts_with("0 of 10 visits of 5 nodes"), "{}", ran.stdout);
    let other = sandbox.file("other");
    fs::create_dir(&other).unwrap();
    sandbox
        .oscost(&["fleet", "collect", other.to_str().unwrap()])
        .exits(2)
        .stderr_contains("it has no plan.json");
}
