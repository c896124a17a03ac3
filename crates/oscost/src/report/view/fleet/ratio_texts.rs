//! Ratios as they are read in reports of fleets.

use crate::report::figures::times;

/// A ratio: two decimals, and fewer of a large one.
pub(super) fn factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.2}") } else { times(ratio) }
}

/// The ends of an interval in a sentence.
pub(super) fn from_to([low, high]: [f64; 2]) -> String {
    format!("{} to {}", factor(low), factor(high))
}
