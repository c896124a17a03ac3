//! The supervisor from outside, as the tool drives it: JSON lines in, JSON lines out.

#[path = "../common/mod.rs"]
mod common;

mod conversation;
mod counts;
mod ends;
mod program;
