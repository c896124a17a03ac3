//! `oscost fleet links` between nodes of Slurm. They are this machine, which has one lock.

use serde_json::json;

use crate::shared::User;

const ROUND_TRIP: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";

#[test]
fn two_nodes_have_a_link_in_both_directions() {
    let Some(user) = User::new() else { return };
    let links = ["fleet", "links", ROUND_TRIP, "--slurm", "", "--nodes", "n[14-15]"];
    let options = ["--repeat", "2", "--no-lock", "--json", "-"];
    let network = user.measure(&[&links[..], &options].concat()).json();
    assert_eq!((&network["nodes"], &network["complete"]), (&json!(["n14", "n15"]), &json!(true)));
    let link = &network["cases"][0]["links"][0];
    assert_eq!(link["pair"], json!([0, 1]));
    assert_eq!(link["values"].as_array().unwrap().len(), 2, "{link}");
    ["n14", "n15"].into_iter().for_each(|node| user.nothing_is_left(node));
}
