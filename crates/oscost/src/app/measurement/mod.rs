//! Measuring: the header of a run, its journal, the machines that count instructions, and what the
//! rows that failed mean.

mod base_levels;
pub(super) mod counting;
mod failed_rows;
pub(super) mod predictions;
pub(super) mod price_run;
pub(super) mod prices;
pub(super) mod retention;
pub(super) mod run_header;
