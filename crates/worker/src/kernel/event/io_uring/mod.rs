//! io_uring(7): two rings of memory shared with the kernel, and one call that submits and waits.

mod poll;
mod ring;
mod timed_wait;

pub use poll::{PollCompletion, PollMode};
pub use ring::Ring;
