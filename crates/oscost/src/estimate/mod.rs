//! From samples to estimates, classes and comparisons.
//!
//! Purpose: the value of a worker, the estimate of a case, its flags, the class of a run, and the
//! record as a pure function of the journal. It must not know where samples come from, or how a
//! record is stored or shown.

mod assembler;
pub mod between_runs;
mod clock_rate;
pub mod comparison;
mod conditions;
pub mod core_rate;
pub mod counted_medians;
mod counters;
mod curve;
mod half_round_trip;
pub mod history;
pub mod level_changes;
pub mod machine_table;
#[cfg(test)]
mod made_up_rows;
#[cfg(test)]
mod made_up_series;
mod rows;
mod steps;
mod uncertainty;

pub use assembler::Assembler;
pub use counters::best::{BestFigure, BestOfRows, RunningParts};
pub use counters::core::core_of_counts;
pub(crate) use curve::time as time_in_three_digits;
pub use curve::{Curves, curves};
pub use half_round_trip::half_round_trips;
pub use rows::case::{CaseEstimate, estimate, relative_half_width};
pub use rows::class::{Class, Classification, CostNs, Evidence, classify};
pub use rows::metrics::{REQUEST_P50, REQUEST_P99, estimate_values};
pub use rows::row_state::ENDED_BEFORE_FIRST_REPETITION;
pub use rows::worker::{SampleContext, WorkerValue, worker_value};
pub use steps::wait_steps;
