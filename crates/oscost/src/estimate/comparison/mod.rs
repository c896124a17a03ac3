//! Comparisons of rows: of runs measured at different times, one or several on each side
//! (docs/explanation/METHOD.md, section 11), and of one run in which they were measured side by
//! side ([`interleaved_run`]).
//!
//! `comparability` decides which rows may be compared, `verdict` what follows from their values.

mod comparability;
mod exact_counts;
pub mod interleaved_run;
mod reference_drift;
mod rows;
mod run_comparison;
mod several_runs;
mod start_time;
pub mod threshold;
mod two_runs;
pub mod verdict;
mod work;

use oscost_model::record::Record;

pub use self::rows::is_count;
pub use self::run_comparison::{RunComparison, SkippedComparison};
use self::several_runs::compare_several;
use self::two_runs::compare_two;
pub use self::verdict::MIN_PAIRS;

/// Compares two runs; if a side has several runs, pairs of neighbouring runs.
pub fn compare(base: &[Record], new: &[Record]) -> RunComparison {
    match (base, new) {
        ([base], [new]) => compare_two(base, new),
        _ => compare_several(base, new),
    }
}

#[cfg(test)]
mod tests;
