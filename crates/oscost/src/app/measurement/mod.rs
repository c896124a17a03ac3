//! Measuring: the header of a run, its journal, and the machines that count instructions.

pub(super) mod counting;
pub(super) mod predictions;
pub(super) mod prices;
pub(super) mod retention;
pub(super) mod run_header;
