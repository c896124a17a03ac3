//! Figures of runs for histories, and predictions.

pub(in crate::store) mod figures;
pub(in crate::store) mod predictions;
pub(in crate::store) mod summary;
