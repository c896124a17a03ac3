//! Figures: as published and predicted, with their units and formulas, and as a run has them by
//! round and by a study's statistic.

pub(super) mod between_runs;
pub mod bound;
pub mod counted_cycles;
pub mod formula;
pub mod prediction;
pub mod published_figure;
pub(super) mod rounds;
pub(super) mod statistic_variation;
pub mod study_statistic;
pub mod unit;
