//! Between two processes of one machine: pipes, message queues, shared rings, and the calls by
//! which one side wakes the other.

pub mod channels;
pub mod context_switch;
pub mod pipe;
pub mod shared_ring;
