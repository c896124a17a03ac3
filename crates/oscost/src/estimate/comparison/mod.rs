//! Comparisons of rows: of runs measured at different times, one or several on each side
//! (docs/explanation/METHOD.md, section 11), and of one run in which they were measured side by
//! side ([`interleaved_run`]).
//!
//! `comparability` decides which rows may be compared, `verdict` what follows from their values.

mod alternating_runs;
mod call_differences;
mod comparability;
mod counted_work;
mod drifting_effects;
mod exact_counts;
pub mod interleaved_run;
mod margins;
mod pair_test;
mod paired_rows;
mod pairs;
pub mod programs;
mod rows;
mod run_comparison;
mod separate_runs;
mod start_time;
pub mod threshold;
pub mod verdict;
mod work;
pub mod work_power;

use oscost_model::record::Record;

use self::alternating_runs::AlternatingRuns;
pub use self::comparability::MACHINES_DIFFER;
pub(in crate::estimate) use self::comparability::{other_count, other_op};
pub(in crate::estimate) use self::drifting_effects::effects_drift;
pub use self::rows::is_count;
pub use self::run_comparison::{RunComparison, SkippedComparison, margin_of};
pub use self::separate_runs::EarlierRuns;
use self::separate_runs::compare_separate;
pub use self::verdict::MIN_PAIRS;
pub use self::work::{StoredCase, change_between};

/// Compares the runs of two sides: pairs of neighbours, where they alternated often enough,
/// otherwise each run as one value that varies as `earlier` runs did.
pub fn compare(base: &[Record], new: &[Record], earlier: &EarlierRuns) -> RunComparison {
    if let ([one], [other]) = (base, new) {
        return compare_separate(&[one], &[other], earlier);
    }
    let runs = AlternatingRuns::of(base, new);
    if runs.can_be_paired() { runs.compare() } else { runs.compare_separate(earlier) }
}

#[cfg(test)]
mod tests;
