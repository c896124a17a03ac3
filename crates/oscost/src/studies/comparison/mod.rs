//! Joins a study with a run's record, of one target or of two.

pub mod single_target;
pub mod two_targets;
