//! `--at slurm:`: what works locally works on a node.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::common::{Ran, row, rows};
use crate::shared::User;

const CASE: &str = "syscall/getppid:via=raw";

#[test]
fn a_run_on_a_node_has_the_form_of_a_local_one_and_the_worker_is_copied_once() {
    let Some(user) = User::new() else { return };
    let at = "slurm:partition=all,nodes=n[1]";
    let run = ["run", CASE, "--quick", "--json", "-", "--at", at];
    let ran = user.measure(&run).stderr_contains("is node n1");
    let record = ran.json();
    let measured = row(&record, CASE);
    assert_eq!(measured["outcome"], "measured", "{measured}");
    assert_eq!(measured["target"]["text"], at);
    assert_eq!(measured["target"]["host"], at);
    assert_eq!(measured["target"]["machine"], "m0");
    assert_eq!(measured["calls"]["per_op"]["getppid"], 1.0, "calls are counted there as well");
    assert_eq!(record["machines"].as_array().unwrap().len(), 1);
    assert!(record["machines"][0]["os"]["release"].is_string());

    let cache = user.sandbox.file(".cache/oscost");
    let workers = || {
        let entries = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>()
    };
    let copied = workers();
    assert_eq!(copied.len(), 1);
    user.nothing_is_left("n1");
    user.measure(&run);
    assert_eq!(workers(), copied, "it was copied again");
    user.nothing_is_left("n1");
}

#[test]
fn machine_doctor_and_explain_work_on_a_node() {
    let Some(user) = User::new() else { return };
    let at = ["--at", "slurm:nodes=n2,exclusive"];
    let machine = user.oscost(&[&["machine", "--json"][..], &at].concat()).exits(0).json();
    assert!(machine["os"]["release"].is_string(), "{machine}");
    let doctor = user.oscost(&[&["doctor", "--json"][..], &at].concat()).exits(0).json();
    assert!(doctor["class"].is_string(), "{doctor}");
    let explained = user.oscost(&[&["explain", "syscall/getppid"][..], &at].concat()).exits(0);
    // Another run may be measuring, and then nothing is counted.
    let output = explained.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        output.contains("1 kernel entry per op") || output.contains("measuring on that machine"),
        "{output}"
    );
    user.nothing_is_left("n2");
}

#[test]
fn in_an_allocation_the_session_is_a_step_of_it() {
    let Some(user) = User::new() else { return };
    let tool = user.tool(&["machine", "--json", "--at", "slurm:"]);
    let mut salloc = Command::new("salloc");
    salloc.args(["--quiet", "--nodes=1", "--nodelist=n12"]).arg(tool.get_program());
    salloc.args(tool.get_args()).env_clear().stdin(Stdio::null());
    salloc.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(&mut salloc).exits(0).stderr_contains("`slurm:` is node n12");
    assert!(ran.json()["os"]["release"].is_string());
    user.nothing_is_left("n12");
}

#[test]
fn two_targets_on_one_node_are_compared() {
    let Some(user) = User::new() else { return };
    let (base, new) = ("slurm:nodes=n3", "nice=5@slurm:nodes=n3");
    let ab = ["ab", "--base", base, "--new", new, CASE, "--quick", "--json", "-"];
    let record = user.measure(&ab).json();
    for target in [base, new] {
        let is_it =
            |row: &&serde_json::Value| row["case"] == CASE && row["target"]["text"] == target;
        let row = rows(&record).iter().find(is_it).unwrap();
        assert_eq!(row["outcome"], "measured", "{row}");
    }
    user.nothing_is_left("n3");
}
