//! The command line from outside: words in, words out, exit codes.

#[path = "../common/mod.rs"]
mod common;

mod golden;

mod interrupts;
mod local;
mod machine;
mod runs;
mod tables;
mod words;
