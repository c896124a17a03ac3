//! The tracers of an untimed copy of a case or of a program and of a running process, and what they
//! count.

mod call_counter;
mod form_counter;
pub(super) mod form_tracer;
pub(super) mod process_watch;
pub(super) mod tracer;
