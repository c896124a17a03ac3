//! Comparisons: of two targets in one run, and of separate runs.

pub mod ab;
pub mod compare;
mod counts;
pub(in crate::report::view) mod forest;
pub(super) mod pair;
mod parameter_ratios;
mod separate_medians;
pub(in crate::report::view) mod texts;
pub(in crate::report::view) mod verdicts;
pub mod work;
