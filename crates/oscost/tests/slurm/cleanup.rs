//! The end of a session, and of a job, however it comes: what was measured is kept, and nothing is
//! left on the node or in the queue.

use std::process::Child;
use std::time::Duration;

use crate::common::treated::kill;
use crate::common::{Ran, until};
use crate::shared::User;

/// A long run on a node, after its first workers.
fn long_run(user: &User, node: &str) -> Child {
    let at = format!("slurm:nodes={node}");
    let run = ["run", "syscall/getppid", "--precision", "0.001", "--json", "-", "--at", &at];
    // It would keep all other tests that measure from the machine.
    let tool = user.start(&[&run[..], &["--no-lock"]].concat());
    until("it is there", || user.supervisor(node).is_some());
    std::thread::sleep(Duration::from_millis(1_500));
    tool
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_ends_the_job() {
    let Some(user) = User::new() else { return };
    let tool = long_run(&user, "n5");
    kill("INT", tool.id());
    let record = Ran::of_child(tool).exits(130).json();
    assert_eq!(record["complete"], false);
    user.nothing_is_left("n5");
}

#[test]
fn a_killed_tool_leaves_nothing() {
    let Some(user) = User::new() else { return };
    let mut tool = long_run(&user, "n6");
    tool.kill().unwrap();
    tool.wait().unwrap();
    user.nothing_is_left("n6");
}

#[test]
fn a_job_that_is_cancelled_is_told_in_slurm_s_words() {
    let Some(user) = User::new() else { return };
    let tool = long_run(&user, "n7");
    let job = user.jobs("n7");
    user.cluster.output("scancel", &[job.trim()]);
    let ran = Ran::of_child(tool).exits(3).stderr_contains("the worker process ");
    let ran = ran.stderr_contains("CANCELLED");
    assert!(!ran.stderr.contains("cpu binding"), "{}", ran.stderr);
    assert_eq!(ran.json()["complete"], false);
    until("its job has ended", || user.jobs("n7").is_empty());
    until("its processes are gone", || user.processes("n7").is_empty());
}

#[test]
fn a_run_in_the_queue_says_so_and_leaves_it_at_ctrl_c() {
    let Some(user) = User::new() else { return };
    let hold = ["--nodes=1", "--nodelist=n8", "--exclusive", "sleep", "600"];
    let mut holder = user.cluster.command("srun").args(hold).spawn().unwrap();
    until("the node is taken", || !user.jobs("n8").is_empty());
    let run = ["run", "syscall/getppid", "--quick", "--no-store", "--at", "slurm:nodes=n8"];
    let refused = user.oscost(&[&run[..], &["--no-wait"]].concat()).exits(3).no_data();
    refused.stderr_contains("no node is free").stderr_contains("squeue");
    assert!(!user.is_pending("n8"), "a job that is not waited for is in the queue");
    let tool = user.start(&run);
    until("it is in the queue", || user.is_pending("n8"));
    // The tool asks srun twice a second.
    std::thread::sleep(Duration::from_secs(2));
    kill("INT", tool.id());
    let ran = Ran::of_child(tool).exits(130).no_data();
    ran.stderr_contains("note: waiting for a node: srun: job ")
        .stderr_contains("queued and waiting for resources; Ctrl-C leaves the queue");
    assert!(!user.is_pending("n8"), "it has left its job in the queue");
    let mut tool = user.start(&run);
    until("it is in the queue again", || user.is_pending("n8"));
    tool.kill().unwrap();
    tool.wait().unwrap();
    until("the job of a killed tool leaves the queue", || !user.is_pending("n8"));
    user.cluster.output("scancel", &["--nodelist=n8"]);
    holder.wait().unwrap();
    user.nothing_is_left("n8");
}
