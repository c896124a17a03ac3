//! Fleets: which nodes are not like the others, and the figures for a board.

pub mod open_metrics;
pub mod report;
