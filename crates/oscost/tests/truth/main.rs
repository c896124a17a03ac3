//! The method on known truth: each test is a row of docs/explanation/METHOD.md, section 10, on numbers that are
//! drawn, or on a machine that is made up behind the session that the real run speaks to.
//!
//! One program: these tests compute and measure nothing, so they keep all CPUs busy side by side.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it found"
)]

mod classes;
mod comparison;
mod comparison_checks;
mod coverage;
mod crossings;
mod curves;
#[cfg(feature = "fault-injection")]
mod fault_injection;
mod shapes;
mod side_by_side;
mod sim;
mod simulator;
mod study_method;
