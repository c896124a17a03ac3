//! Several nodes in one target: each in its turn, by a job of its own. All are this machine, which has
//! one lock: a session has given it back before the next one asks for it.

use std::time::Duration;

use serde_json::Value;

use crate::common::treated::kill;
use crate::common::{Ran, until};
use crate::shared::User;

const CASE: &str = "syscall/getppid:via=raw";

/// How often a run is tried until its figures are undisturbed.
const ATTEMPTS: u32 = 5;

/// The names of the machines of a table.
fn machines(table: &Value) -> Vec<&str> {
    let machines = table["machines"].as_array().unwrap().iter();
    machines.map(|machine| machine["name"].as_str().unwrap()).collect()
}

#[test]
fn nodes_are_described_examined_and_measured_in_turn() {
    let Some(user) = User::new() else { return };
    let at = ["--at", "slurm:partition=all,nodes=n[16-17]"];
    let targets = ["slurm:partition=all,nodes=n16", "slurm:partition=all,nodes=n17"];
    for verb in ["machine", "doctor"] {
        let ran = user.oscost(&[&[verb, "--json"][..], &at].concat()).exits(0);
        let documents = serde_json::Deserializer::from_str(&ran.stdout).into_iter::<Value>();
        let documents: Vec<Value> = documents.map(Result::unwrap).collect();
        let of: Vec<&str> = documents.iter().map(|it| it["at"].as_str().unwrap()).collect();
        assert_eq!(of, targets, "{verb}");
    }
    let text = user.oscost(&[&["machine"][..], &at].concat()).exits(0).stdout;
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("Node ")).collect();
    assert_eq!(titles, ["Node n16", "Node n17"]);

    // A row that is too disturbed is status 3.
    let run = [&["run", CASE, "--quick", "--json", "-"][..], &at].concat();
    let mut ran = user.oscost(&run);
    for _ in 1..ATTEMPTS {
        if ran.code == Some(0) {
            break;
        }
        ran = user.oscost(&run);
    }
    let ran = ran
        .exits(0)
        .stderr_contains("node 2 of 2: n17")
        .stderr_contains("kept: `oscost table n16=");
    let table = ran.json();
    assert_eq!(machines(&table), ["n16", "n17"]);
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.iter().any(|it| it["case"] == CASE), "{table}");
    // Each run has the target of its node, and can be put beside the other again.
    let (_, kept) = ran.stderr.split_once("kept: `oscost ").unwrap();
    let words: Vec<&str> = kept.split('`').next().unwrap().split_whitespace().collect();
    let again = user.oscost(&[&words[..], &["--json", "-"]].concat()).exits(0).json();
    assert_eq!(machines(&again), ["n16", "n17"]);
    for (word, target) in words[1..].iter().zip(targets) {
        let (_, id) = word.split_once('=').unwrap();
        let record = user.oscost(&["runs", "show", id, "--json", "-"]).exits(0).json();
        assert_eq!(record["results"][0]["target"]["host"], target);
    }
    ["n16", "n17"].into_iter().for_each(|node| user.nothing_is_left(node));
}

#[test]
fn ctrl_c_ends_the_job_of_the_node_whose_turn_it_is_and_no_other_begins() {
    let Some(user) = User::new() else { return };
    let at = "slurm:nodes=n[18-19]";
    let run = ["run", CASE, "--precision", "0.001", "--no-lock", "--json", "-", "--at", at];
    let tool = user.start(&run);
    until("it is at the first node", || user.supervisor("n18").is_some());
    std::thread::sleep(Duration::from_millis(1_500));
    kill("INT", tool.id());
    let ran = Ran::of_child(tool).exits(130);
    assert_eq!(machines(&ran.json()), ["n18"]);
    assert!(!ran.stderr.contains("node 2 of 2"), "{}", ran.stderr);
    ["n18", "n19"].into_iter().for_each(|node| user.nothing_is_left(node));
}

#[test]
fn nodes_that_cannot_be_had_are_named_with_the_reason() {
    let Some(user) = User::new() else { return };
    let down = ["update", "nodename=n20", "state=down", "reason=a broken fan"];
    user.cluster.output("scontrol", &down);
    let ran = user.oscost(&["run", CASE, "--quick", "--no-store", "--at", "slurm:nodes=n[20-21]"]);
    let ran = ran.exits(3).no_data().stderr_contains("note: left out: n20, n21");
    ran.stderr_contains("error: cannot measure node n20")
        .stderr_contains("the node is not in service")
        .stderr_contains("error: cannot measure node n21")
        .stderr_contains("there is no such node");
    assert!(!user.is_pending("n20"), "it has left its job in the queue");
    user.nothing_is_left("n20");
}
