//! Several nodes of Slurm in one target, with a program in the place of srun(1) that starts each task
//! here. Slurm itself is in tests/slurm.

use std::process::Command;

use serde_json::Value;

use crate::common::{Ran, Sandbox};

/// A task on the node that is named. There is no `n2`.
const SRUN: &str = r#"#!/bin/sh
for word; do
    case $word in --nodelist=*) SLURMD_NODENAME=${word#*=} ;; esac
done
if [ "$SLURMD_NODENAME" = n2 ]; then
    echo 'srun: error: Unable to allocate resources: Invalid node name specified' >&2
    exit 1
fi
export SLURMD_NODENAME
exec /bin/sh -c "$word"
"#;

/// A user with this srun.
struct User {
    sandbox: Sandbox,
}

impl User {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        // By another process: a file open for writing here is inherited for a moment by the children
        // of other tests, and then cannot be executed (ETXTBSY).
        let written = Command::new("sh")
            .args(["-c", r#"printf %s "$2" > "$1"; chmod 755 "$1""#, "sh"])
            .args([sandbox.file("srun").as_os_str(), SRUN.as_ref()])
            .status();
        assert!(written.unwrap().success());
        Self { sandbox }
    }

    fn oscost(&self, arguments: &[&str]) -> Ran {
        let mut command = self.sandbox.command(arguments);
        let folder = self.sandbox.folder("files");
        Ran::of(command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())))
    }
}

#[test]
fn nodes_are_described_in_turn_and_one_that_cannot_be_had_is_named() {
    let user = User::new();
    let at = ["--at", "slurm:nodes=n[1-3],exclusive"];
    let ran = user.oscost(&[&["machine", "--json"][..], &at].concat()).exits(3);
    let documents = serde_json::Deserializer::from_str(&ran.stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let of: Vec<&str> = documents.iter().map(|it| it["at"].as_str().unwrap()).collect();
    assert_eq!(of, ["slurm:nodes=n1,exclusive", "slurm:nodes=n3,exclusive"]);
    assert!(documents.iter().all(|it| it["os"]["release"].is_string()));
    let ran = ran.stderr_contains("`slurm:nodes=n3,exclusive` is node n3");
    let ran = ran.stderr_contains("error: cannot describe node n2\n");
    ran.stderr_contains("there is no such node").stderr_contains("note: left out: n2\n");
    let text = user.oscost(&[&["machine"][..], &at].concat()).exits(3).stdout;
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("Node ")).collect();
    assert_eq!(titles, ["Node n1", "Node n3"]);
    assert!(text.starts_with("Node n1\n") && text.contains("\n\nNode n3\n"), "{text}");
    // One node has the form that every machine has.
    let one = user.oscost(&["machine", "--json", "--at", "slurm:nodes=n[1]"]).exits(0).json();
    assert_eq!(one.get("at"), None);
    user.sandbox.nothing_is_left();
}

#[test]
fn nodes_are_measured_in_turn_and_shown_side_by_side() {
    let user = User::new();
    let page = user.sandbox.file("nodes.html");
    let page = page.to_str().unwrap();
    let run = ["run", "syscall/getppid:via=raw", "--quick", "--json", "-", "-o", page];
    // The node that cannot be had is the reason of the status, whatever the figures are.
    let ran = user.oscost(&[&run[..], &["--at", "slurm:nodes=n[1-3]"]].concat()).exits(3);
    let names = |table: &Value| -> Vec<String> {
        let machines = table["machines"].as_array().unwrap().iter();
        machines.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&ran.json()), ["n1", "n3"]);
    let shown = std::fs::read_to_string(page).unwrap();
    // Equal nodes are one column, by the name of the first and their number.
    assert!(shown.contains("n1") && (shown.contains("2 machines") || shown.contains("n3")));
    let ran = ran.stderr_contains("error: cannot measure node n2\n");
    let ran = ran.stderr_contains("node 3 of 3: n3\n").stderr_contains("note: left out: n2\n");
    // The command that was told shows the same again.
    let (_, told) = ran.stderr.split_once("kept: `oscost ").unwrap();
    let words: Vec<&str> = told.split('`').next().unwrap().split_whitespace().collect();
    assert_eq!(words.len(), 3, "{words:?}");
    let again = user.oscost(&[&words[..], &["--json", "-"]].concat()).exits(0).json();
    assert_eq!(names(&again), ["n1", "n3"]);
    let record = user.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(record["results"][0]["target"]["host"], "slurm:nodes=n3");
    user.sandbox.nothing_is_left();
}
