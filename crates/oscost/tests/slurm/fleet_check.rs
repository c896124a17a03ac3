//! The prolog of the examples with a real controller: it drains a slow node, and no other.

use std::path::Path;

use crate::common::{Ran, tool};
use crate::fleet_folder::{fleet_folder, node_target, scale_cases};
use crate::shared::User;

/// The node of this test.
const NODE: &str = "n13";

/// Runs the prolog as slurmd would on the node, whose system calls have this factor to those of the
/// fleet.
fn prolog(user: &User, factor: f64) {
    let target = node_target(&user.sandbox);
    let fleet = fleet_folder(&user.sandbox, &target, |_, record| {
        scale_cases(record, "syscall/", 1.0 / factor);
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/slurm-prolog.sh");
    let tool_environment = user.tool(&[]);
    let mut command = user.cluster.command("/bin/sh");
    command.arg(script).args(["--at", &target]);
    let variables = tool_environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command
        .envs(variables)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("OSCOST", tool())
        .env("OSCOST_FLEET", fleet)
        .env("SLURMD_NODENAME", NODE);
    Ran::of(&mut command).exits(0);
}

#[test]
fn the_prolog_drains_a_slow_node_with_the_reason() {
    let Some(user) = User::new() else { return };
    let state = || user.cluster.output("scontrol", &["--oneliner", "show", "node", NODE]);
    prolog(&user, 1.0);
    assert!(!state().contains("DRAIN"), "{}", state());
    prolog(&user, 1.7);
    let reason = format!("Reason=oscost: {NODE} is slow: syscall/");
    assert!(state().contains("+DRAIN") && state().contains(&reason), "{}", state());
}
