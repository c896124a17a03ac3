//! Fleets by Slurm: four nodes on this host. They share the lock of the machine, so that tasks are
//! told not to ask for it; figures are not looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cluster::{Cluster, Daemon};
use crate::common::{Ran, Sandbox, until};
use crate::slurm_fleet::{FleetOfSlurm, QUICK};

/// A cluster, and the folder of a fleet.
struct Lab {
    // Dropped first: its tasks write to the folder until they have ended.
    cluster: Cluster,
    sandbox: Sandbox,
}

impl Lab {
    fn new() -> Option<Self> {
        Self::configured("")
    }

    /// With further lines of Slurm's configuration.
    fn configured(further: &str) -> Option<Self> {
        Some(Self { cluster: Cluster::configured(4, further)?, sandbox: Sandbox::new() })
    }

    fn folder(&self) -> PathBuf {
        self.sandbox.file("lab")
    }

    fn command(&self, verb: &str, words: &[&str]) -> Command {
        let Self { cluster, sandbox } = self;
        FleetOfSlurm { cluster, sandbox, folder: &self.folder() }.command(verb, words)
    }

    fn fleet(&self, verb: &str, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(verb, words))
    }

    /// The states of all tasks.
    fn states(&self) -> Vec<String> {
        let status = self.fleet("status", &["--json"]).exits(0).json();
        let tasks = status["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["state"].as_str().unwrap().to_owned()).collect()
    }

    fn count(&self, state: &str) -> usize {
        self.states().iter().filter(|it| *it == state).count()
    }

    /// Each record, which is whole, with the node that it names.
    fn nodes_of_records(&self) -> Vec<String> {
        let node = |file: &Path| {
            let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            assert_eq!(record["complete"], true);
            record["fleet"]["node"].as_str().unwrap().to_owned()
        };
        let entries = fs::read_dir(self.folder().join("records")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let whole = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
        let mut nodes: Vec<String> = whole.map(|path| node(&path)).collect();
        nodes.sort();
        nodes
    }

    /// What Slurm says of its jobs.
    fn slurm(&self, program: &str, words: &[&str]) -> String {
        self.cluster.output(program, words)
    }

    /// The first job that was submitted.
    fn job(&self) -> String {
        let text = fs::read_to_string(self.folder().join("jobs.jsonl")).unwrap();
        let line = text.lines().find(|line| !line.is_empty()).unwrap();
        let job: Value = serde_json::from_str(line).unwrap();
        job["job"].as_str().unwrap().to_owned()
    }
}

/// Tasks that run until they are ended: a thorough run of the price list takes many minutes. One of the
/// family `syscall` ends within a minute or two on an idle machine, before Slurm, which looks at time
/// limits twice a minute, ends it.
const LONG: [&str; 5] = ["--slurm", "partition=all,time=10", "--thorough", "--no-lock", "--shared"];

#[test]
fn all_nodes_are_measured_once_by_a_job_that_oscost_does_not_wait_for() {
    let Some(lab) = Lab::new() else { return };
    lab.fleet("run", &QUICK).exits(0).no_data().stderr_contains("4 visits submitted as job ");
    until("all are measured", || lab.count("measured") == 4);
    assert_eq!(lab.nodes_of_records(), ["n1", "n2", "n3", "n4"]);
    let record = fs::read(lab.folder().join("records/0.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["fleet"]["exclusive"], true, "each task has its node alone");
    lab.fleet("run", &["--retry"]).exits(0).stderr_contains("0 visits submitted");
}

#[test]
fn cancelled_tasks_are_told_and_measured_by_a_retry() {
    let Some(lab) = Lab::new() else { return };
    lab.fleet("run", &LONG).exits(0);
    until("all run", || lab.count("running") == 4);
    lab.fleet("cancel", &[]).exits(0).stderr_contains("cancelled ");
    until("none runs", || lab.slurm("squeue", &["--noheader"]).is_empty());
    assert_eq!(lab.count("cancelled"), 4, "{:?}", lab.states());
    assert!(lab.nodes_of_records().is_empty());
    lab.fleet("run", &["--retry", "--nodes", "n[1-2]"]).exits(0).stderr_contains("2 visits");
    lab.fleet("cancel", &[]).exits(0);
}

#[test]
fn a_task_that_exceeds_its_time_or_is_started_again_leaves_a_whole_record_or_none() {
    let Some(lab) = Lab::new() else { return };
    lab.fleet("run", &LONG).exits(0);
    until("all run", || lab.count("running") == 4);
    let job = lab.job();
    lab.slurm("scontrol", &["requeue", &format!("{job}_0")]);
    // A time limit is in whole minutes; an end is not.
    lab.slurm("scontrol", &["update", &format!("JobId={job}_1"), "EndTime=now+2"]);
    until("one has exceeded its time", || {
        let states = lab.states();
        assert!(!states.iter().any(|state| state == "measured"), "a task has ended: {states:?}");
        states.iter().any(|state| state == "timed out")
    });
    until("one waits again, or runs", || {
        let states = lab.states();
        ["waiting", "running"].contains(&states[0].as_str())
    });
    assert!(lab.nodes_of_records().is_empty());
    lab.fleet("cancel", &[]).exits(0);
}

#[test]
fn a_drained_node_waits_and_the_others_are_measured() {
    let Some(lab) = Lab::new() else { return };
    let drained = lab.slurm("scontrol", &["update", "NodeName=n3", "State=DRAIN", "Reason=test"]);
    assert_eq!(drained, "");
    lab.fleet("run", &QUICK).exits(0);
    until("the others are measured", || lab.count("measured") == 3);
    assert_eq!(lab.nodes_of_records(), ["n1", "n2", "n4"]);
    let status = lab.fleet("status", &[]).exits(0).stdout;
    assert!(status.contains("n3") && status.contains("waiting: "), "{status}");
    lab.slurm("scontrol", &["update", "NodeName=n3", "State=RESUME"]);
    until("it is measured when it is back", || lab.count("measured") == 4);
}

#[test]
fn a_node_that_goes_down_in_mid_run_ends_its_own_task_alone() {
    let Some(lab) = Lab::new() else { return };
    lab.fleet("run", &LONG).exits(0);
    until("all run", || lab.count("running") == 4);
    lab.slurm("scontrol", &["update", "NodeName=n3", "State=DOWN", "Reason=test"]);
    // Slurm puts a task of a failed node into its queue again.
    until("one does not run", || lab.count("running") == 3);
    assert!(lab.nodes_of_records().is_empty());
    lab.fleet("cancel", &[]).exits(0);
}

#[test]
fn a_task_whose_node_a_more_important_job_takes_is_preempted_and_measured_by_a_retry() {
    let urgent = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n\
                  PartitionName=urgent Nodes=ALL PriorityTier=9 PreemptMode=OFF State=UP\n";
    let Some(lab) = Lab::configured(urgent) else { return };
    lab.fleet("run", &LONG).exits(0);
    until("all run", || lab.count("running") == 4);
    let on_node = ["--partition=urgent", "--nodelist=n2", "--exclusive", "--time=5"];
    let job = ["--parsable", "--chdir=/", "--output=/dev/null", "--wrap=sleep 300"];
    let job = lab.slurm("sbatch", &[on_node, job].concat());
    assert!(job.trim().parse::<u64>().is_ok(), "{job}");
    until("one is preempted", || lab.count("preempted") == 1);
    let status = lab.fleet("status", &["--json"]).exits(0).json();
    let tasks = status["tasks"].as_array().unwrap();
    let preempted = tasks.iter().find(|task| task["state"] == "preempted").unwrap();
    assert_eq!(preempted["node"], "n2");
    assert_eq!(lab.count("running"), 3, "{:?}", lab.states());
    assert!(lab.nodes_of_records().is_empty());
    // It alone is submitted again, and waits until the other job has ended.
    lab.fleet("run", &["--retry"]).exits(0).stderr_contains("1 visit");
    until("it waits", || lab.count("waiting") == 1);
    lab.slurm("scancel", &[job.trim()]);
    until("it runs", || lab.count("running") == 4);
    lab.fleet("cancel", &[]).exits(0);
}

#[test]
fn a_controller_that_is_killed_and_started_again_loses_no_task() {
    let Some(mut lab) = Lab::new() else { return };
    lab.fleet("run", &QUICK).exits(0);
    lab.cluster.kill(&Daemon::Controller);
    let told = lab.fleet("status", &[]).exits(0);
    assert!(told.stderr.contains("what waits or runs is not known"), "{}", told.stderr);
    lab.cluster.restart(&Daemon::Controller);
    // What the controller had not saved is gone, and a retry submits it again.
    until("all are measured", || {
        lab.fleet("run", &["--retry"]);
        lab.count("measured") == 4
    });
    assert_eq!(lab.nodes_of_records(), ["n1", "n2", "n3", "n4"]);
}

#[test]
fn a_full_disk_leaves_no_part_of_a_record() {
    let Some(lab) = Lab::new() else { return };
    let folder = lab.folder();
    fs::create_dir(&folder).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=64k,mode=0700", "oscost-test"]).arg(&folder);
    if !mount.output().is_ok_and(|ran| ran.status.success()) {
        return eprintln!("cannot run here: a small file system cannot be mounted");
    }
    let filled = lab.fleet("run", &QUICK).exits(0);
    fs::write(folder.join("filler"), vec![0; 256 << 10]).unwrap_err();
    until("none runs", || lab.slurm("squeue", &["--noheader"]).is_empty());
    let states = lab.states();
    let whole = lab.nodes_of_records().len();
    assert!(Command::new("umount").arg(&folder).status().unwrap().success());
    assert!(whole < 4, "{states:?} {}", filled.stderr);
    assert_eq!(states.iter().filter(|it| *it == "measured").count(), whole);
}

#[test]
fn a_killed_submission_is_finished_by_a_retry_and_nothing_is_submitted_twice() {
    let Some(lab) = Lab::new() else { return };
    for wait_ms in [20, 60, 100, 150, 200, 300] {
        let _ = fs::remove_dir_all(lab.folder());
        let mut tool = lab.command("run", &QUICK).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        let _ = tool.kill();
        tool.wait().unwrap();
        if !lab.folder().join("plan.json").exists() {
            continue;
        }
        lab.fleet("run", &["--retry"]).exits(0);
        until("all are measured", || lab.count("measured") == 4);
        assert_eq!(lab.nodes_of_records(), ["n1", "n2", "n3", "n4"]);
        until("none is left", || lab.slurm("squeue", &["--noheader"]).is_empty());
    }
}
