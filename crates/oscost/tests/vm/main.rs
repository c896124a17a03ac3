//! Machines that are booted for a run: what is counted there repeats itself, what cannot be booted
//! says why, and nothing is left of any of them. Where there is no QEMU, or no kernel, each test
//! that boots one says so in a line.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on shows where it stood, and says what it could not do"
)]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "machines take a part of what the command line takes")]
mod common;
mod machines;

mod cleanup;
mod errors;
mod hangs;
mod instruction_counts;
mod seccomp;
mod serial;
