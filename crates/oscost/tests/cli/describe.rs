//! `oscost machine` and `oscost doctor`: made-up machines on a fake target, and this one.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::common::{Ran, Sandbox, scenario_file, worker};
use crate::golden::golden;

/// A verb on a fake target.
fn fake(verb: &str, scenario: &str, more: &[&str]) -> Ran {
    let target = format!("fake:{}", scenario_file(scenario).display());
    Sandbox::new().oscost(&[&[verb, "--at", &target], more].concat())
}

/// The text fits a terminal of 80 columns without colours, and steers none.
fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(line.len() <= 80 && line.is_ascii(), "{} columns: {line}", line.len());
        assert!(!line.contains(char::is_control) && line.trim_end() == line, "{line:?}");
    }
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
}

/// The names of the rows of `oscost machine`, under the titles of their groups.
fn rows(text: &str) -> Vec<String> {
    let mut title = String::new();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ") {
            None => title = line.to_owned(),
            Some(row) if row.starts_with(' ') => {}
            Some(row) => rows.push(format!("{title}/{}", row.get(..19).unwrap_or(row).trim())),
        }
    }
    rows
}

#[test]
fn a_machine_that_reports_everything_is_described_in_full() {
    let text = fake("machine", "bad-machine", &[]).exits(0).stdout;
    assert_fits(&text);
    golden("machine-full.txt", &text);
    // No kernel reports how a disk is built, and this machine has no balloon.
    let hidden = ["heads and discs", "seek times", "free page reporting"];
    for line in text.lines().filter(|line| line.contains("not visible")) {
        assert!(hidden.iter().any(|row| line.contains(row)), "{line}");
    }
}

#[test]
fn a_machine_that_reports_nothing_has_every_row_with_a_reason() {
    let text = fake("machine", "measured", &[]).exits(0).stdout;
    assert_fits(&text);
    golden("machine-unknown.txt", &text);
    let full: BTreeSet<String> =
        rows(&fake("machine", "bad-machine", &[]).exits(0).stdout).into_iter().collect();
    let unknown: BTreeSet<String> = rows(&text).into_iter().collect();
    // Devices that are not there have no rows of their own, and flaws no names.
    let common = |row: &&String| {
        !["Disk", "Network", "CPU vulnerabilities"].iter().any(|group| row.starts_with(group))
    };
    let missing: Vec<&String> = full.difference(&unknown).filter(common).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(unknown.len() > 50, "{unknown:?}");
}

#[test]
fn every_row_of_the_study_is_there() {
    // Table 1 of study cse221-2014, row by row.
    let text = fake("machine", "bad-machine", &[]).exits(0).stdout;
    let rows = rows(&text);
    for row in [
        "Processor/model",
        "Processor/instruction set",
        "Processor/cycle time",
        "Caches/L1 data",
        "Caches/L1 instruction",
        "Caches/L2",
        "Processor/bus clock (FSB)",
        "Disk sda/model",
        "Disk sda/capacity",
        "Disk sda/cache",
        "Disk sda/rotation",
        "Disk sda/heads and discs",
        "Disk sda/seek times",
        "Disk sda/rotational latency",
        "Disk sda/transfer rate",
        "Memory/capacity",
        "Memory/channels",
        "Memory/frequency",
        "Memory/width",
        "Network cards (physical, 2 identical)/model",
        "Network cards (physical, 2 identical)/link speed",
        "System/distribution",
        "System/kernel",
    ] {
        assert!(rows.iter().any(|it| it == row), "`{row}` is not among {rows:#?}");
    }
}

#[test]
fn a_machine_as_json_is_its_facts() {
    let json = fake("machine", "bad-machine", &["--json"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.machine/1");
    assert_eq!(json["cpu"]["model_name"], "Processor 3000");
    assert_eq!(json["memory"]["channels"], 2);
    assert_eq!(json["disks"][0]["rpm"], 5400);
    assert_eq!(json["program"]["link"], "fake");
    assert_eq!(json["rates"]["ticks_per_ns"], 1.0);
    assert_eq!(json["clocks"].as_array().map(Vec::len), Some(3));
    let unknown = fake("machine", "measured", &["--json"]).exits(0).json();
    let keys = |json: &Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&unknown), keys(&json), "a key is always there");
    assert_eq!(unknown["memory"]["modules"], Value::Null);
}

#[test]
fn the_doctor_lists_all_findings_worst_first() {
    let text = fake("doctor", "bad-machine", &["--verbose"]).exits(0).stdout;
    assert_fits(&text);
    golden("doctor-bad.txt", &text);
    let weights: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(". [")?.1.split(']').next()).collect();
    let target = |weight: &&str| {
        let order = ["invalidates", "biases", "noise", "limitation", "note"];
        order.iter().position(|it| it == weight).unwrap()
    };
    assert!(weights.len() > 15 && weights.is_sorted_by_key(target), "{weights:?}");
    assert!(text.trim_end().lines().rev().take(6).any(|line| line.starts_with("verdict: ")));
    let last = text.trim_end().rsplit("\n\n").next().unwrap().replace('\n', " ");
    assert!(last.starts_with("most CPU time went to ") && last.contains("`rustc`"), "{last}");
    // Notes alone are left out.
    let short = fake("doctor", "bad-machine", &[]).exits(0).stdout;
    assert_fits(&short);
    assert!(!short.contains(". [note]") && short.contains(" notes for comparisons"), "{short}");
    let count = |text: &str| text.matches("\n  effect ").count();
    assert_eq!(count(&text), weights.len());
    let notes = weights.iter().filter(|weight| **weight == "note").count();
    assert_eq!(count(&short), weights.len() - notes);
}

#[test]
fn the_doctor_finds_nothing_wrong_with_a_quiet_machine() {
    let text = fake("doctor", "quiet-machine", &[]).exits(0).stdout;
    assert_fits(&text);
    golden("doctor-quiet.txt", &text);
    assert!(text.contains("verdict: quiet: 0.1 % of the time on CPU 3 was lost; findings: none"));
}

#[test]
fn the_doctor_lists_what_it_cannot_observe() {
    let text = fake("doctor", "measured", &[]).exits(0).stdout;
    assert_fits(&text);
    assert!(text.contains("not visible: "), "{text}");
    assert!(text.contains("verdict: quiet: 0.0 %"), "{text}");
}

#[test]
fn the_findings_of_the_doctor_are_the_same_as_json() {
    let text = fake("doctor", "bad-machine", &["--verbose"]).exits(0).stdout;
    let json = fake("doctor", "bad-machine", &["--json"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.doctor/1");
    assert_eq!(json["class"], "very-noisy");
    assert_eq!(json["cpu"], 3);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" \\ ", " ");
    let findings = json["findings"].as_array().unwrap();
    let mut rules = BTreeSet::new();
    for finding in findings {
        for key in ["condition", "effect", "fix", "command"] {
            if let Some(words) = finding[key].as_str() {
                assert!(flat.contains(words), "`{words}` is not in:\n{text}");
            }
        }
        assert!(rules.insert(finding["rule"].as_str().unwrap()), "{finding}");
    }
    for subject in json["ok"].as_array().unwrap() {
        assert!(!rules.contains(subject.as_str().unwrap().replace(' ', "-").as_str()), "{subject}");
    }
    assert_eq!(json["activity"]["processes"][0]["name"], "rustc");
    assert_eq!(json["probe"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["uncountable_reason"], "ptrace: EPERM");
}

#[test]
fn an_interrupted_doctor_exits_130() {
    fake("doctor", "interrupted-at-once", &[]).exits(130).no_data();
}

#[test]
fn other_hosts_and_treatments_are_refused_with_a_hint() {
    for verb in ["machine", "doctor"] {
        for (target, words) in [
            ("vm:0.0-none", "0.0-none"),
            ("nice=5", "cannot treat with `nice=5`"),
            ("nowhere", "`nowhere`"),
        ] {
            let ran = Sandbox::new().oscost(&[verb, "--at", target]).exits(2).no_data();
            ran.stderr_contains(words).stderr_contains("hint:");
        }
    }
}

/// What identifies this machine: its name, and the addresses of its cards.
fn identity() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cards = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut found: Vec<String> = cards
        .map(|card| read(&card.path().join("address").to_string_lossy()))
        .filter(|address| !address.starts_with("00:00:00"))
        .collect();
    found.extend([read("/proc/sys/kernel/random/boot_id"), read("/etc/machine-id")]);
    for name in ["product_serial", "board_serial", "product_uuid"] {
        found.push(read(&format!("/sys/class/dmi/id/{name}")));
    }
    // Short names are parts of other words.
    found.into_iter().filter(|text| text.len() > 8).collect()
}

#[test]
fn this_machine_is_described_without_what_identifies_it() {
    let sandbox = Sandbox::new();
    let text = sandbox.oscost(&["machine"]).exits(0).stdout;
    assert_fits(&text);
    let json = sandbox.oscost(&["machine", "--json"]).exits(0);
    assert_eq!(json.json()["schema"], "oscost.machine/1");
    for private in identity() {
        assert!(!text.contains(&private) && !json.stdout.contains(&private), "{private}");
    }
    for group in ["Processor", "Caches", "Memory", "System", "Limits", "Security and tracing"] {
        assert!(text.lines().any(|line| line == group), "no `{group}` in:\n{text}");
    }
    sandbox.nothing_is_left();
}

#[test]
fn this_machine_is_examined_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    // Workers of other tests have the usual name, and may be seen.
    const NAME: &str = "its-own-worker";
    let own_worker = sandbox.file(NAME);
    fs::copy(worker(), &own_worker).unwrap();
    let json = sandbox.oscost_with(&own_worker, &["doctor", "--json"]).exits(0).json();
    let class = json["class"].as_str().unwrap();
    assert!(["quiet", "noisy", "very-noisy"].contains(&class), "{class}");
    let cpus = json["probe"].as_array().unwrap();
    assert!(!cpus.is_empty() && cpus.iter().any(|probe| probe["cpu"] == json["cpu"]));
    let activity = &json["activity"];
    assert!(activity["wall_ns"].as_u64().unwrap() >= cpus[0]["spin_ns"].as_u64().unwrap());
    // The list of busy processes contains neither the tool nor its workers.
    let names = activity["processes"].as_array().unwrap().iter().map(|it| it["name"].as_str());
    assert!(!names.flatten().any(|name| name == NAME), "{activity}");
    sandbox.nothing_is_left();
    let text = sandbox.oscost(&["doctor"]).exits(0).stdout;
    assert_fits(&text);
    sandbox.nothing_is_left();
}

#[test]
fn an_ordinary_user_sees_all_that_is_readable() {
    let sandbox = Sandbox::new();
    let text = Ran::of(&mut sandbox.ordinary(&["machine"])).exits(0).stdout;
    assert_fits(&text);
    assert!(text.contains("  user                not root\n"), "{text}");
    let json = Ran::of(&mut sandbox.ordinary(&["doctor", "--json"])).exits(0).json();
    assert!(json["class"].is_string(), "{json}");
    assert_eq!(json["activity"]["audit"], Value::Null, "only root may ask");
    let commands =
        json["findings"].as_array().unwrap().iter().filter_map(|it| it["command"].as_str());
    for command in commands.filter(|command| command.contains("tee ")) {
        assert!(command.contains("sudo tee "), "{command}");
    }
    sandbox.nothing_is_left();
}

#[test]
fn the_conditions_of_this_machine_are_judged_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    let text = sandbox.oscost(&["doctor", "--self"]).exits(0).stdout;
    assert_fits(&text);
    assert!(text.starts_with("Everything that oscost needs is here"), "{text}");
    let json = sandbox.oscost(&["doctor", "--self", "--json"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.self-check/1");
    assert_eq!(json["can_measure"], true);
    for condition in json["conditions"].as_array().unwrap() {
        let subject = condition["subject"].as_str().unwrap();
        assert!(text.lines().any(|line| line.starts_with(subject)), "no `{subject}` in:\n{text}");
        let is_limited = condition["state"] == "limits";
        for part in ["cost", "remedy"] {
            assert_eq!(condition[part].is_string(), is_limited, "{condition}");
        }
    }
    sandbox.nothing_is_left();
}

#[test]
fn a_machine_without_a_worker_is_judged_and_cannot_measure() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["doctor", "--self"]);
    let text = Ran::of(command.env("OSCOST_WORKER", "/no/such/worker")).exits(3).stdout;
    assert_fits(&text);
    assert!(text.starts_with("Nothing can be measured here: worker"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("tried /no/such/worker") && words.contains("make build"), "{text}");
    // Of another machine nothing could be said.
    sandbox.oscost(&["doctor", "--self", "--at", "ssh:nowhere"]).exits(2).no_data();
}
