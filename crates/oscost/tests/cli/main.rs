//! The command line from outside: words in, words out, exit codes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shows where it stood")]

#[path = "../common/mod.rs"]
mod common;

mod golden;

mod interrupts;
mod local;
mod machine;
mod runs;
mod tables;
mod words;
