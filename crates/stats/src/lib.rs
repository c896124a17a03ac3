//! Statistics of measured costs: pure functions of numbers and a seed.
//!
//! The crate answers the questions that a benchmark asks of its repetitions: the median and its
//! interval, how many repetitions are enough, the slope and the law of a curve, whether two lists
//! differ, and since when a series has changed. It does no input or output and keeps no state, so
//! it can be used by other programs. It does not know where a number comes from.
//!
//! Conventions:
//!
//! * Results are in the unit of the values, unless the documentation of a function says otherwise.
//! * Values are finite: a measurement that failed is not a number, and is left out by the caller.
//! * `None` means that the question cannot be answered, for example with too few values. Values are
//!   never repaired, clamped or dropped.
//! * Functions that take `sorted` need ascending values, see [`order::sorted`].
//! * Functions with a `seed` are deterministic: equal arguments give equal results.
//!
//! ```
//! use oscost_stats::interval::{Nominal, median_hs};
//! use oscost_stats::order;
//!
//! let ns = order::sorted(&[41.2, 40.9, 43.0, 41.1, 41.0, 41.3]);
//! assert_eq!(order::median(&ns), Some(41.150000000000006));
//! let interval = median_hs(&ns, Nominal::FIXED).unwrap();
//! assert!(interval.contains(41.15));
//! ```
//!
//! Tests compare every function with published or exactly known values. The method is described in
//! docs/explanation/METHOD.md, sections 3, 4, 8, 11 and 15, and in docs/explanation/FLEET.md.
//!
//! The binomial tails behind [`interval::median_hs`] and [`comparison::sign_test`] are computed
//! here instead of by `statrs`: each needs the whole sequence of cumulated terms once, in a few
//! additions and multiplications, and figures in existing records must stay equal to the last
//! digit.

pub mod between_runs;
pub mod bisquare;
pub mod boots;
pub mod change;
pub mod comparison;
pub mod contingency;
pub mod core_rate;
pub mod crossing;
pub mod groups;
pub mod interval;
pub mod levels;
pub mod line;
pub mod moments;
pub mod order;
pub mod outlier;
pub mod paired_power;
pub mod partial_pooling;
pub mod random;
pub mod repeats;
pub mod robust;
pub mod scaling;
pub mod segments;
pub mod signed_rank;
pub mod stopping;
pub mod student;
pub mod tick_share;
pub mod time_course;
pub mod trimmed;
pub mod two_samples;
pub mod two_way;
pub mod variances;
