//! Nodes that cannot be had: the message has the words of Slurm and the next step.

use crate::common::Ran;
use crate::shared::User;

/// A run that is refused.
fn refused(user: &User, options: &str, code: i32, words: &[&str]) {
    let at = format!("slurm:{options}");
    let run = ["run", "syscall/getppid", "--quick", "--no-store", "--no-wait", "--at", &at];
    let mut ran = user.oscost(&run).exits(code).no_data().stderr_contains("hint: ");
    for words in words {
        ran = ran.stderr_contains(words);
    }
}

#[test]
fn slurm_s_refusals_are_told_in_its_words() {
    let Some(user) = User::new() else { return };
    let words = ["no such partition", "invalid partition specified: nowhere", "sinfo --summarize"];
    refused(&user, "partition=nowhere", 3, &words);
    refused(&user, "nodes=zz9", 3, &["no such node", "Invalid node name", "sinfo --Node"]);
    let words = ["no node has these features", "Invalid feature specification"];
    refused(&user, "constraint=gold", 3, &words);
    let words = ["Slurm refuses the job", "reservation is invalid", "scontrol show reservations"];
    refused(&user, "reservation=mine", 3, &words);
    user.sandbox.nothing_is_left();
}

#[test]
fn a_node_that_is_down_is_not_waited_for() {
    let Some(user) = User::new() else { return };
    let down = ["update", "nodename=n4", "state=down", "reason=a broken fan"];
    user.cluster.output("scontrol", &down);
    let run = ["run", "syscall/getppid", "--quick", "--no-store", "--at", "slurm:nodes=n4"];
    let ran = user.oscost(&run).exits(3).no_data();
    ran.stderr_contains("cannot reach `slurm:nodes=n4`: the node is not in service")
        .stderr_contains("down, drained or reserved")
        .stderr_contains("sinfo --list-reasons");
    user.nothing_is_left("n4");
    assert!(!user.is_pending("n4"), "it has left its job in the queue");
}

#[test]
fn a_wrong_request_is_refused_before_slurm_is_asked() {
    let Some(user) = User::new() else { return };
    refused(&user, "partiton=all", 2, &["`partiton` is unknown", "the nearest is `partition`"]);
    refused(&user, "x=1", 2, &["`x` is unknown", "the options are `partition`, `nodes`"]);
    let words = ["cannot measure 100000 nodes in turn", "oscost fleet run"];
    refused(&user, "nodes=n[1-100000]", 2, &words);
    refused(&user, "nodes=n[1-2,1]", 2, &["cannot measure node n1 twice"]);
    refused(&user, "nodes=n1;true", 2, &["is not a value of `nodes`"]);
    refused(&user, "exclusive=no", 2, &["`exclusive` takes no value"]);
}

#[test]
fn without_srun_or_a_controller_the_next_step_is_told() {
    let Some(user) = User::new() else { return };
    let run = ["run", "syscall/getppid", "--quick", "--no-store", "--at", "slurm:"];
    let ran = Ran::of(user.tool(&run).env("PATH", "/nonexistent"));
    ran.exits(3)
        .stderr_contains("cannot reach `slurm:`: `srun` cannot be started")
        .stderr_contains("a login node");
    // Nothing listens on the port.
    let text = std::fs::read_to_string(user.cluster.configuration()).unwrap();
    let is_port = |line: &&str| line.starts_with("SlurmctldPort=");
    let port = text.lines().find(is_port).unwrap();
    let other = user.sandbox.file("slurm.conf");
    std::fs::write(&other, text.replace(port, "SlurmctldPort=1")).unwrap();
    let ran = Ran::of(user.tool(&run).env("SLURM_CONF", &other));
    ran.exits(3)
        .stderr_contains("no controller of Slurm answers")
        .stderr_contains("Unable to contact slurm controller")
        .stderr_contains("SLURM_CONF");
}
