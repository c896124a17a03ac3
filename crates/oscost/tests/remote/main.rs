//! Other machines: hosts made of network namespaces, each with an sshd of its own. Where they
//! cannot be made, each test says in a line what is lacking.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on shows where it stood, and says what it could not do"
)]

mod hosts;

mod cleanup;
mod errors;
mod peer;
mod targets;
