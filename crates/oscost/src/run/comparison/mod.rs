//! Measurements side by side: fork twins, toggled workers, pairs of workers, and controls.
//!
//! A pair keeps everything fixed but what is compared: the CPU, the time, the number of ops in a
//! batch. The pairs of a row are in different rounds, which are spread over more than a minute,
//! since the state of the machine drifts.

mod alternation;
mod arms;
mod batch_plan;
mod orders;
mod pair_rounds;
mod plan;

pub(super) use plan::MIN_PAIR_SPAN;
pub use plan::{ComparisonPlan, PairCount, RoundLimit};
