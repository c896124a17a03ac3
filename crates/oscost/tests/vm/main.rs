//! Machines booted for a run: counts repeat exactly, a failed boot has a reason, and nothing is
//! left behind. Without QEMU or a kernel each test that boots one prints that it is skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test shows its location; a skipped one prints why"
)]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod common;
mod machines;

mod cleanup;
mod errors;
mod hangs;
mod instruction_counts;
mod seccomp;
mod serial;
