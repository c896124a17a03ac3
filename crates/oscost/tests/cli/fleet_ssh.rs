//! `oscost fleet run --ssh`: its queue, on fake hosts, and on hosts whose ssh is a script.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::treated::kill;
use crate::common::{Ran, Sandbox, scenario_file, until};

/// A sandbox whose working folder has hosts.
struct Hosts(Sandbox);

impl Hosts {
    /// Hosts with these names; those that end in `.json` are fake.
    fn new(names: &[&str]) -> Self {
        let hosts = Self(Sandbox::new());
        let mut list = String::new();
        for name in names {
            if name.ends_with(".json") {
                hosts.set_up(name);
                list += "fake:";
            }
            list += &format!("{name}\n");
        }
        fs::write(hosts.0.file("hosts.txt"), list).unwrap();
        hosts
    }

    /// Makes a fake host that works.
    fn set_up(&self, name: &str) {
        fs::copy(scenario_file("measured"), self.0.file(name)).unwrap();
    }

    /// Makes fake hosts that know treatments.
    fn treated(names: &[&str]) -> Self {
        let hosts = Self::new(names);
        for name in names {
            fs::copy(scenario_file("treated"), hosts.0.file(name)).unwrap();
        }
        hosts
    }

    /// A script in the place of ssh.
    fn ssh(&self, script: &str) {
        let file = self.0.file("ssh");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let files = self.0.folder("files");
        let mut command = self.0.command(&[&["fleet"][..], words].concat());
        command.current_dir(&files).env("OSCOST_SSH", files.join("ssh"));
        command
    }

    fn fleet(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    fn record(&self, task: u32) -> PathBuf {
        self.0.file("lab").join(format!("records/{task}.json"))
    }
}

const RUN: [&str; 8] =
    ["run", "lab", "syscall/getppid", "--ssh", "hosts.txt", "--quick", "--apart", "0s"];

#[test]
fn every_host_is_measured_and_its_record_names_its_visit() {
    let hosts = Hosts::new(&["a.json", "b.json", "c.json"]);
    hosts.fleet(&[&RUN[..], &["--repeat", "2"]].concat()).exits(0).no_data();
    let mut visits = Vec::new();
    for task in 0..6 {
        let record: Value = serde_json::from_slice(&fs::read(hosts.record(task)).unwrap()).unwrap();
        assert_eq!(record["complete"], true);
        assert_eq!(record["fleet"]["task"], task);
        assert_eq!(record["fleet"]["fleet"], "lab");
        visits.push(format!("{} {}", record["fleet"]["node"], record["fleet"]["visit"]));
    }
    visits.sort();
    visits.dedup();
    assert_eq!(visits.len(), 6, "{visits:?}");
    let left = fs::read_dir(hosts.0.file("lab/records")).unwrap().count();
    assert_eq!(left, 6, "no temporary file is left");
    assert_eq!(hosts.0.oscost(&["runs", "list"]).exits(0).stdout, "no runs are kept\n");
    let status = hosts.fleet(&["status", "lab"]).exits(0).stdout;
    assert_eq!(status, "lab: 6 visits of 3 nodes: 6 measured\n");
    let json = hosts.fleet(&["status", "lab", "--json"]).exits(0).json();
    assert_eq!(json["counts"]["measured"], 6);
    assert_eq!(json["tasks"].as_array().unwrap().len(), 6);
}

#[test]
fn a_host_that_fails_is_told_and_only_it_is_measured_again() {
    let hosts = Hosts::new(&["a.json", "b.json"]);
    fs::write(hosts.0.file("b.json"), "{").unwrap();
    let ran = hosts.fleet(&RUN).exits(3);
    assert!(ran.stderr.contains("node fake:b.json was not measured: see "), "{}", ran.stderr);
    let status = hosts.fleet(&["status", "lab"]).exits(0).stdout;
    assert!(status.starts_with("lab: 2 visits of 2 nodes: 1 failed, 1 measured\n"), "{status}");
    assert!(status.contains("failed: cannot read the scenario b.json"), "{status}");
    let inodes = |hosts: &Hosts| -> Vec<u64> {
        let records = (0..2).map(|task| hosts.record(task));
        records.filter_map(|file| Some(file.metadata().ok()?.ino())).collect()
    };
    let before = inodes(&hosts);
    assert_eq!(before.len(), 1);
    hosts.set_up("b.json");
    hosts.fleet(&["run", "lab", "--retry"]).exits(0);
    assert!(inodes(&hosts).contains(&before[0]), "what was measured is not measured again");
    assert_eq!(inodes(&hosts).len(), 2);
    hosts.fleet(&["cancel", "lab"]).exits(2).stderr_contains("it has no jobs");
}

#[test]
fn at_most_as_many_as_allowed_are_measured_at_once_and_none_twice() {
    let hosts = Hosts::new(&["n1", "n2", "n3", "n4", "n5"]);
    hosts.ssh("echo begin >> sessions; sleep 0.5; echo end >> sessions; exit 255");
    hosts.fleet(&[&RUN[..], &["--at-once", "2"]].concat()).exits(3);
    let text = fs::read_to_string(hosts.0.file("sessions")).unwrap();
    let (mut now, mut most) = (0, 0);
    for line in text.lines() {
        now += if line == "begin" { 1 } else { -1 };
        most = most.max(now);
    }
    assert_eq!(text.matches("begin").count(), 5);
    assert_eq!(most, 2, "{text}");
    let failures = fs::read_dir(hosts.0.file("lab/failures")).unwrap().count();
    assert_eq!(failures, 5);
}

#[test]
fn ctrl_c_keeps_what_is_measured_and_leaves_nothing_behind() {
    let hosts = Hosts::new(&["a.json", "slow"]);
    hosts.ssh("exec sleep 600");
    let tool = hosts.command(&RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measured = || (0..2).filter(|&task| hosts.record(task).exists()).count() == 1;
    until("the host that works is measured", measured);
    // Two queues would measure a host twice.
    hosts.fleet(&["run", "lab", "--retry"]).exits(3).stderr_contains("another oscost does");
    kill("INT", tool.id());
    Ran::of_child(tool).exits(130);
    hosts.0.nothing_is_left();
    assert!(measured());
    let status = hosts.fleet(&["status", "lab"]).exits(0).stdout;
    assert!(status.contains("1 failed, 1 measured"), "{status}");
    assert!(status.contains("a signal ended it"), "{status}");
}

#[test]
fn a_killed_queue_is_finished_by_the_next() {
    let hosts = Hosts::new(&["a.json", "b.json", "slow"]);
    hosts.ssh("exec sleep 600");
    let mut tool = hosts.command(&RUN).stderr(Stdio::null()).spawn().unwrap();
    let measured = || (0..3).filter(|&task| hosts.record(task).exists()).count();
    until("the hosts that work are measured", || measured() == 2);
    tool.kill().unwrap();
    tool.wait().unwrap();
    // Its visit outlives it, and has the task: it is not measured twice at once.
    let again = hosts.fleet(&["run", "lab", "--retry"]).exits(3);
    assert!(again.stderr.contains("node slow is still running task "), "{}", again.stderr);
    assert!(again.stderr.contains("0 failed, 1 still running"), "{}", again.stderr);
    for pid in hosts.0.processes() {
        // One may have ended with another.
        let _ = signal::kill(Pid::from_raw(pid.cast_signed()), Signal::SIGTERM);
    }
    hosts.0.nothing_is_left();
    hosts.ssh("exit 255");
    hosts.fleet(&["run", "lab", "--retry"]).exits(3);
    let status = hosts.fleet(&["status", "lab"]).exits(0).stdout;
    assert!(status.contains("1 failed, 2 measured"), "{status}");
}

#[test]
fn what_a_treatment_costs_is_measured_on_both_sides_of_each_node() {
    let hosts = Hosts::treated(&["a.json", "b.json", "c.json"]);
    hosts.fleet(&[&RUN[..], &["--treatment", "sud"]].concat()).exits(0);
    for task in 0..3 {
        let record: Value = serde_json::from_slice(&fs::read(hosts.record(task)).unwrap()).unwrap();
        let treated = |it: &Value| it["control"] == false && it["metric"] == "primary";
        let comparisons = record["comparisons"].as_array().unwrap();
        assert!(comparisons.iter().any(treated), "{record}");
        assert_eq!(record["fleet"]["task"], task);
    }
    let found = hosts.fleet(&["ab", "lab", "--json", "-"]).exits(0).json();
    assert_eq!(found["schema"], "oscost.fleet-ab/1");
    assert_eq!(found["treatments"], "sud");
    let cases = found["cases"].as_array().unwrap();
    assert!(!cases.is_empty(), "{found}");
    for case in cases {
        assert!(case["case"].as_str().unwrap().starts_with("syscall/getppid"), "{case}");
        assert_eq!(case["nodes"], 3);
        // 38 ns on 122 to 124 ns.
        assert!((1.2..1.4).contains(&case["ratio"].as_f64().unwrap()), "{case}");
    }
}

#[test]
fn half_of_the_nodes_are_treated_by_lot() {
    let hosts = Hosts::treated(&["a.json", "b.json", "c.json", "d.json"]);
    let split = ["--treatment", "sud", "--sides", "split", "--seed", "7"];
    hosts.fleet(&[&RUN[..], &split].concat()).exits(0);
    let is_treated = |task: u32| {
        let record: Value = serde_json::from_slice(&fs::read(hosts.record(task)).unwrap()).unwrap();
        assert!(record["comparisons"].as_array().is_none_or(Vec::is_empty), "{record}");
        let rows = record["results"].as_array().unwrap();
        rows.iter().any(|row| row["target"]["treatments"] == serde_json::json!(["sud"]))
    };
    assert_eq!((0..4).filter(|&task| is_treated(task)).count(), 2);
    let found = hosts.fleet(&["ab", "lab", "--json", "-"]).exits(0).json();
    assert_eq!([&found["nodes_of_base"], &found["nodes_of_new"]], [2, 2]);
}

#[test]
fn sides_without_a_treatment_and_treatments_that_are_none_are_refused() {
    let hosts = Hosts::treated(&["a.json"]);
    for (words, refusal) in [
        ("--sides split", "--treatment"),
        ("--treatment sudd", "sudd"),
        ("--treatment local", "`local` is not a treatment"),
        ("--treatment sud@ssh:db1", "names a host"),
        ("--treatment sud --sides split", "there is one node"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        hosts.fleet(&[&RUN[..], &words[..]].concat()).exits(2).stderr_contains(refusal);
    }
    fs::write(hosts.0.file("hosts.txt"), "db1\n").unwrap();
    let programs = [&RUN[..], &["--treatment", "cmd=nice"]].concat();
    hosts.fleet(&programs).exits(2).stderr_contains("starts programs of this machine only");
    assert!(!hosts.0.file("lab").exists());
}

#[test]
fn hosts_that_are_no_hosts_are_refused_before_anything_is_made() {
    let hosts = Hosts::new(&["a.json"]);
    for (list, words) in [
        ("-oProxyCommand=x\n", "line 1: `-oProxyCommand=x` is not a host"),
        ("# none\n", "names no host"),
        ("n1\nn1\n", "node `n1` is there twice"),
    ] {
        fs::write(hosts.0.file("hosts.txt"), list).unwrap();
        hosts.fleet(&RUN).exits(2).stderr_contains(words);
        assert!(!hosts.0.file("lab").exists());
    }
}
