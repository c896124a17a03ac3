//! The answer of each kind of report: what was found in sentences, how far to trust it, and what to
//! do next.
//!
//! Sentences are made by rules from the figures, intervals and verdicts that the tables show: they
//! round these, and never say something else. A figure that should not be used is never quoted without
//! its flag.

pub(in crate::report::view) mod acts;
pub(in crate::report::view) mod bill;
pub(in crate::report::view) mod comparison;
mod empty_comparison;
pub(in crate::report::view) mod history;
pub(in crate::report::view) mod priority;
pub(in crate::report::view) mod quote;
pub(in crate::report::view) mod run;
pub mod since;
mod steady;
pub(in crate::report::view) mod study;
pub(in crate::report) mod trust;

#[cfg(test)]
mod tests;
