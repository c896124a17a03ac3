//! The supervisor from outside, as the tool drives it: JSON lines in, JSON lines out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shows where it stood")]

#[path = "../common/mod.rs"]
mod common;

mod conversation;
mod counts;
mod ends;
mod program;
