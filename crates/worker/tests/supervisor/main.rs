//! The supervisor from outside, as the tool drives it: JSON lines in, JSON lines out.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on shows where it stood, and says what it could not do"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/work.rs"]
mod work;

mod attached;
mod channels;
mod code;
mod conversation;
mod counts;
mod ends;
mod far;
mod files;
mod makers;
mod pages;
mod program;
mod treated;
mod trial;
