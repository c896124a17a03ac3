//! Figures of runs for histories, and predictions.

mod counts;
pub(in crate::store) mod figures;
mod insert;
mod metrics;
pub(in crate::store) mod predictions;
pub(in crate::store) mod summary;
