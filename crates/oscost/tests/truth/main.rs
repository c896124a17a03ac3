//! Tests of the method with known true values: each is a row of docs/explanation/METHOD.md, section
//! 10, on random numbers, or on a simulated machine behind the session of a real run.
//!
//! They are one program and run in parallel on all CPUs, since they compute and measure nothing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and prints its results"
)]

mod classes;
mod commands;
mod comparison;
mod comparison_checks;
mod core_rate;
mod coverage;
mod crossings;
mod curves;
#[cfg(feature = "fault-injection")]
mod fault_injection;
mod shapes;
mod share;
mod side_by_side;
mod sim;
mod simulator;
mod study_method;
