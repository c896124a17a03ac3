//! Waiting for descriptors: poll, select, epoll, io_uring, timeouts, and large sets of descriptors
//! to wait for.

pub mod descriptor_kind;
pub mod descriptor_range;
pub mod descriptor_set;
pub mod descriptor_table;
pub mod io_uring;
pub mod poll;
pub mod process_state;
pub mod readiness;
pub mod timeout;
