//! The end of a cluster of the tests: whatever they have killed, no process of it is left.

use std::fs;

use crate::cluster::{Cluster, Daemon, processes_of};
use crate::common::until;

#[test]
fn a_cluster_whose_daemons_were_killed_leaves_no_process() {
    let Some(mut cluster) = Cluster::of(1) else { return };
    let folder = cluster.folder.clone();
    let has = |program: &str| {
        let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        processes_of(&folder).into_iter().any(|pid| name(pid).trim_end() == program)
    };
    let programs = ["munged", "slurmctld", "slurmd"];
    assert!(programs.into_iter().all(has), "{:?}", processes_of(&folder));
    cluster.output("sbatch", &["--output=/dev/null", "--wrap=exec sleep 600"]);
    until("its job runs", || has("sleep") && has("slurmstepd"));
    cluster.kill(&Daemon::Node("n1".to_owned()));
    cluster.kill(&Daemon::Controller);
    assert!(has("sleep") && has("slurmstepd"), "a job ends with its daemons");
    drop(cluster);
    let left = processes_of(&folder);
    assert!(left.is_empty(), "{left:?}");
    assert!(!folder.exists());
}
