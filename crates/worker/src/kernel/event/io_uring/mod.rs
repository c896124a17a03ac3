//! io_uring(7): two rings of memory shared with the kernel, and one call that submits and waits.

mod batch;
mod life;
mod poll;
mod ring;
mod shots;
mod timed_wait;

pub use batch::{Batch, FileAccess, TimeoutEnd, Transfer};
pub use life::{set_up_and_close, wait_for_closed_rings};
pub use poll::{PollCompletion, PollMode};
pub use ring::{Ring, RingSetup};
pub use shots::{Accepts, Receives, Shots};
