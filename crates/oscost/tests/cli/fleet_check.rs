//! `oscost fleet check`, and the prolog of Slurm that drains a node by its exit status.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, tool};
use crate::fleet_folder::{fleet_folder, node_target, scale_cases};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The fleet of the target, with this factor on its system calls: with 0.6 the node is slow.
fn folder(sandbox: &Sandbox, target: &str, factor: f64) -> String {
    text(&fleet_folder(sandbox, target, |_, record| scale_cases(record, "syscall/", factor)))
}

#[test]
fn a_node_like_its_equals_is_healthy() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let fleet = folder(&sandbox, &target, 1.0);
    let arguments = ["fleet", "check", "n7", "--against", &fleet, "--at", &target];
    let ran = sandbox.oscost(&arguments).exits(0);
    assert!(ran.stdout.starts_with("n7 is healthy: none of "), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let quiet = sandbox.oscost(&[&arguments[..], &["--quiet"]].concat()).exits(0);
    assert_eq!((quiet.stdout.lines().count(), quiet.stderr.as_str()), (1, ""));
}

#[test]
fn a_slow_node_fails_with_the_case_and_its_ratio() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let fleet = folder(&sandbox, &target, 0.6);
    let arguments = ["fleet", "check", "n7", "--against", &fleet, "--at", &target, "--json", "-"];
    let found = sandbox.oscost(&arguments).exits(1).json();
    assert_eq!(
        (&found["schema"], &found["verdict"]),
        (&json!("oscost.fleet-check/1"), &json!("slow"))
    );
    assert!(found["sentence"].as_str().unwrap().starts_with("n7 is slow: syscall/"), "{found}");
    for case in found["cases"].as_array().unwrap() {
        let is_slow = case["case"].as_str().unwrap().starts_with("syscall/");
        let ratio = case["ratio"].as_f64().unwrap();
        assert_eq!(case["judgement"] == "slower, twice", is_slow, "{case}");
        assert_eq!((1.5..1.9).contains(&ratio), is_slow, "{case}");
    }
}

#[test]
fn a_malformed_file_of_the_fleet_is_an_error_with_the_next_step() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let fleet = folder(&sandbox, &target, 1.0);
    let data_set = text(&sandbox.file("data"));
    sandbox.oscost(&["fleet", "report", &fleet, "--data-set", &data_set]).exits(0);
    let mut part = sandbox.file("data");
    while part.is_dir() {
        part = fs::read_dir(&part).unwrap().next().unwrap().unwrap().path();
    }
    let whole = fs::read(&part).unwrap();
    let file = sandbox.file("changed.parquet");
    let name = text(&file);
    let check = || sandbox.oscost(&["fleet", "check", "n7", "--against", &name, "--at", &target]);
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    check().exits(3).no_data().stderr_contains("cannot read the data set ");
    // Whatever the reader makes of it: no panic, and no abort.
    for at in (0..whole.len()).step_by(whole.len() / 6) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&file, &bytes).unwrap();
        let ran = check();
        assert!(!ran.stderr.contains("panicked"), "byte {at}: {}", ran.stderr);
        let is_told = ran.stderr.contains("  hint: `oscost fleet report ");
        let is_read = !ran.stderr.contains("cannot read the data set ");
        assert!(is_read || is_told, "byte {at}: {}", ran.stderr);
    }
}

#[test]
fn another_class_is_not_judged_and_the_known_one_is_named() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let folder = fleet_folder(&sandbox, &target, |_, record| {
        record["machines"][0]["cpu"]["model_name"] = json!("Other CPU");
    });
    let fleet = text(&folder);
    let arguments = ["fleet", "check", "n7", "--against", &fleet, "--at", &target];
    let ran = sandbox.oscost(&arguments).exits(3);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "n7 was not judged: the fleet has no four nodes of its class";
    assert!(flat.starts_with(expected) && flat.contains("Other CPU"), "{}", ran.stdout);
    assert!(
        flat.contains("the class of the machine at fake:"),
        "its own class is told: {}",
        ran.stdout
    );
}

#[test]
fn a_fact_that_its_class_does_not_have_is_told() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let folder = fleet_folder(&sandbox, &target, |_, record| {
        record["machines"][0]["os"]["release"] = json!("6.1.9");
    });
    let fleet = text(&folder);
    let arguments = ["fleet", "check", "--against", &fleet, "--at", &target, "--json", "-"];
    let found = sandbox.oscost(&arguments).exits(0).json();
    let facts: Vec<&Value> = found["unusual_facts"].as_array().unwrap().iter().collect();
    let [only] = &facts[..] else { panic!("{found}") };
    assert_eq!(only["name"], "kernel");
    assert!(only["own"].as_str().unwrap().contains("6.1.0"), "{only}");
    assert!(only["usual"].as_str().unwrap().contains("6.1.9"), "{only}");
}

#[test]
fn a_node_that_has_given_up_its_counter_is_judged_and_its_clock_source_is_told() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let scenario = PathBuf::from(target.strip_prefix("fake:").unwrap());
    let mut node: Value = serde_json::from_slice(&fs::read(&scenario).unwrap()).unwrap();
    node["facts"]["scheduling"] = json!({"clocksource": "hpet"});
    fs::write(&scenario, node.to_string()).unwrap();
    let folder = fleet_folder(&sandbox, &target, |_, record| {
        record["machines"][0]["scheduling"]["clocksource"] = json!("tsc");
        scale_cases(record, "syscall/", 0.6);
    });
    let fleet = text(&folder);
    let arguments = ["fleet", "check", "--against", &fleet, "--at", &target, "--json", "-"];
    let found = sandbox.oscost(&arguments).exits(1).json();
    assert_eq!(found["verdict"], "slow", "{found}");
    let expected = json!([{"name": "clock source", "own": "hpet", "usual": "tsc"}]);
    assert_eq!(found["unusual_facts"], expected);
}

/// A program of Slurm that writes its arguments into a file instead.
fn fake_scontrol(sandbox: &Sandbox) -> PathBuf {
    let program = sandbox.file("bin/scontrol");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{}'\n", asked(sandbox).display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// The file with the arguments of all calls of that program.
fn asked(sandbox: &Sandbox) -> PathBuf {
    sandbox.file("asked")
}

/// Runs the prolog of the examples as slurmd would.
fn prolog(sandbox: &Sandbox, fleet: &str, target: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/slurm-prolog.sh");
    let bin = fake_scontrol(sandbox);
    let tool_environment = sandbox.command(&[]);
    let mut command = Command::new("/bin/sh");
    command.arg(script).args(["--at", target]).env_clear();
    let variables = tool_environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command
        .envs(variables)
        .env("PATH", format!("{}:/usr/bin:/bin", bin.parent().unwrap().display()))
        .env("OSCOST", tool())
        .env("OSCOST_FLEET", fleet)
        .env("SLURMD_NODENAME", "n7");
    Ran::of(&mut command)
}

#[test]
fn the_prolog_drains_a_slow_node_and_no_other() {
    for (factor, drains) in [(0.6, true), (1.0, false)] {
        let sandbox = Sandbox::new();
        let target = node_target(&sandbox);
        let fleet = folder(&sandbox, &target, factor);
        prolog(&sandbox, &fleet, &target).exits(0);
        let asked = fs::read_to_string(asked(&sandbox)).unwrap_or_default();
        match drains {
            true => {
                let words: Vec<&str> = asked.lines().collect();
                assert_eq!(words[..3], ["update", "NodeName=n7", "State=DRAIN"]);
                assert!(words[3].starts_with("Reason=oscost: n7 is slow: syscall/"), "{asked}");
                assert_eq!(words.len(), 4, "{asked}");
            }
            false => assert_eq!(asked, ""),
        }
    }
}

#[test]
fn the_prolog_does_not_drain_a_node_that_was_not_judged() {
    let sandbox = Sandbox::new();
    let target = node_target(&sandbox);
    let absent = text(&sandbox.file("absent"));
    let ran = prolog(&sandbox, &absent, &target).exits(0);
    assert!(ran.stderr.contains("was not judged"), "{}", ran.stderr);
    assert!(!asked(&sandbox).exists());
}
