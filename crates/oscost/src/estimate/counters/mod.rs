//! Counted events: the figures of counting workers, the metrics of a row, why a figure changed, and
//! the core over a run (docs/explanation/METHOD.md, section 17).

pub(super) mod best;
pub(super) mod core;
pub(super) mod decomposition;
mod few_runs;
pub(super) mod origin;
pub(super) mod row;
pub(super) mod run_values;
mod sentence;
pub(super) mod term;
pub(super) mod work_variation;
pub(super) mod worker;

#[cfg(test)]
mod tests;
