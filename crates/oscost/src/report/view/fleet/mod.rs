//! Fleets: what was collected, and the figures for a board.

pub mod collect;
pub mod open_metrics;
