//! Nodes of Slurm: a controller and several nodes on this host. Where they cannot be made, each test
//! prints what is missing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test shows its location; a skipped one prints why"
)]

#[path = "../common/slurm.rs"]
mod cluster;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod common;
#[path = "../common/fleet_folder.rs"]
mod fleet_folder;
mod shared;
#[path = "../common/slurm_fleet.rs"]
mod slurm_fleet;

mod cleanup;
mod cluster_end;
mod errors;
mod fleet_check;
mod fleet_links;
mod fleet_run;
mod nodes;
mod peer;
mod targets;
