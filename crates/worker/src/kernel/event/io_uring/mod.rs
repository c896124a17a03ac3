//! io_uring(7): two rings of memory shared with the kernel, and one call that submits and waits.

mod poll;
mod ring;
mod timed;

pub use poll::{Done, Shots};
pub use ring::Ring;
