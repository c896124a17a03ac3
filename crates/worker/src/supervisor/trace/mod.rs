//! The tracers of an untimed copy of a case or of a program, and what they count.

mod call_classes;
mod call_counter;
mod call_form;
mod form_counter;
pub(super) mod form_tracer;
pub(super) mod tracer;
