//! The tracer of an untimed copy of a case, and what it counts.

mod call_counter;
pub(super) mod tracer;
