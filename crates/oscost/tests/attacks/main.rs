//! Attacks from outside: on a machine's disks, limits, signals and descriptors, by untrusted
//! records, kernels, emulators and command lines. Each has a name and an outcome
//! (docs/explanation/ATTACKS.md).
//!
//! `make test` makes the short ones; `make attacks` makes all of them, one at a time, and prints
//! the list.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an attack that gets through shows its location; the list of attacks is printed"
)]

#[path = "../common/slurm.rs"]
mod cluster;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod common;
#[path = "../remote/hosts.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod hosts;
#[path = "../common/large_run.rs"]
mod large_run;
#[path = "../vm/machines.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod machines;
#[path = "../common/slurm_fleet.rs"]
mod slurm_fleet;

// For the hosts, whose other tests have no such helpers.
use common::ended;

mod attack;
mod line;
mod oracles;
mod page;
mod resources;

mod clocks;
mod command_line;
mod disks;
mod emulators;
mod families;
mod fleets;
mod kills;
mod limits;
mod logins;
mod names;
mod outputs;
mod records;
mod repetition;
mod signals;
mod texts;
mod treatments;
mod users;
