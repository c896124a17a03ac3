//! Between two processes or threads of one machine: pipes, message queues, shared rings, locks and
//! semaphores, and the calls by which one side wakes the other.

pub mod channels;
pub mod context_switch;
pub mod descriptor_passing;
pub mod futex;
pub mod gate;
pub mod pipe;
pub mod pthread;
pub mod shared_ring;
pub mod sysv_semaphores;
