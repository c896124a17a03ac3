//! Events that are counted around batches: instructions, cycles, misses.
//!
//! Counters are read outside the clock, and the clock outside the op, so that nothing is between two
//! reads of the clock but the op. What reading adds to the counts of a batch is measured in batches
//! without an op. Counts are never scaled: those of counters that had to share the processor, or that
//! contradict themselves, are void with a reason.

mod amortization;
pub mod batches;
mod deferral;
pub mod inheritance;
pub mod kernel_counters;
mod lengthening;
pub mod refusal;
#[cfg(any(test, feature = "sim"))]
pub mod scripted;
pub mod source;
pub mod survey;
pub mod validity;
mod windows;
