//! Two nodes: the workers on one, the peers of their cases on the other. Both are this machine, which
//! has one lock.

use crate::common::row;
use crate::shared::User;

const ROUND_TRIP: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";

fn between<'a>(at: &'a str, peer: &'a str) -> Vec<&'a str> {
    let run = ["run", ROUND_TRIP, "--quick", "--no-lock", "--json", "-"];
    [&run[..], &["--at", at, "--peer", peer]].concat()
}

#[test]
fn the_peer_is_another_node_or_this_machine() {
    let Some(user) = User::new() else { return };
    let nodes = ["slurm:nodes=n9,exclusive", "slurm:nodes=n10"];
    for [at, peer] in [nodes, ["local", nodes[0]], [nodes[0], "local"]] {
        let record = user.measure(&between(at, peer)).json();
        let measured = row(&record, ROUND_TRIP);
        assert_eq!(measured["outcome"], "measured", "{at} {peer}: {}", measured["reason"]);
        assert_eq!(measured["target"]["machine"], "m0");
        assert_eq!(measured["target"]["peer"], "m1");
        assert_eq!(record["machines"][1]["id"], "m1");
    }
    ["n9", "n10"].into_iter().for_each(|node| user.nothing_is_left(node));
}

#[test]
fn a_peer_on_the_node_of_the_workers_or_of_another_kind_is_refused() {
    let Some(user) = User::new() else { return };
    let ran = user.oscost(&between("slurm:nodes=n11", "slurm:nodes=n11")).exits(3).no_data();
    ran.stderr_contains("it is on node n11, where the workers are").stderr_contains("nodes=NAME");
    let ran = user.oscost(&between("slurm:", "vm:6.12")).exits(2).no_data();
    ran.stderr_contains("cannot have the peer of `slurm:` at `vm:6.12`");
}
