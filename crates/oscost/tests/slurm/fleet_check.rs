//! The prolog of the examples with a real controller: it drains the slow node, and no other.

use std::path::Path;

use crate::cluster::Cluster;
use crate::common::{Ran, Sandbox, tool};
use crate::fleet_folder::{fleet_folder, node_target, scale_cases};

/// Runs the prolog as slurmd would on a node.
fn prolog(cluster: &Cluster, sandbox: &Sandbox, node: &str, words: [&str; 2]) {
    let [fleet, target] = words;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/slurm-prolog.sh");
    let tool_environment = sandbox.command(&[]);
    let mut command = cluster.command("/bin/sh");
    command.arg(script).args(["--at", target]);
    let variables = tool_environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command
        .envs(variables)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("OSCOST", tool())
        .env("OSCOST_FLEET", fleet)
        .env("SLURMD_NODENAME", node);
    Ran::of(&mut command).exits(0);
}

#[test]
fn the_prolog_drains_the_slow_node_alone() {
    let Some(cluster) = Cluster::of(2) else { return };
    let state = |node: &str| cluster.output("scontrol", &["--oneliner", "show", "node", node]);
    for (node, factor, drains) in [("n1", 1.0, false), ("n2", 0.6, true)] {
        let sandbox = Sandbox::new();
        let target = node_target(&sandbox);
        let folder = fleet_folder(&sandbox, &target, |_, record| {
            scale_cases(record, "syscall/", factor);
        });
        prolog(&cluster, &sandbox, node, [folder.to_str().unwrap(), &target]);
        let state = state(node);
        assert_eq!(state.contains("+DRAIN"), drains, "{state}");
        let reason = format!("Reason=oscost: {node} is slow: syscall/");
        assert_eq!(state.contains(&reason), drains, "{state}");
    }
}
