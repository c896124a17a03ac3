//! Fleets: what was collected, which nodes are not like the others, the check of a node, the network
//! between nodes, what a treatment costs on many, and the figures for a board.

pub mod check;
pub mod collect;
pub mod links;
pub mod open_metrics;
pub mod report;
pub mod sides;

mod ratio_texts;
mod revision_text;
