//! Other machines: hosts made of network namespaces, each with its own sshd. Where they cannot be
//! made, each test prints what is missing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test shows its location; a skipped one prints why"
)]

#[path = "../common/ended.rs"]
mod ended;
mod hosts;

mod cleanup;
mod errors;
mod links;
mod peer;
mod targets;
