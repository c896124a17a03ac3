//! Fleets: the check of a node, the network between nodes, and what a treatment costs on many.

pub mod check;
pub mod links;
pub mod sides;

mod ratio_texts;
