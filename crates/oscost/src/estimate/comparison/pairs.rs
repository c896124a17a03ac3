//! Pairs of values that were measured side by side.

use oscost_model::journal::Phase;

/// One pair: when it was measured, its ratio, and the added cost of the new side in the case's
/// unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) at_s: f64,
    pub(super) ratio: f64,
    pub(super) added: f64,
    pub(super) ties: u32,
    /// The core's rate beside both sides; `None` if it is not known.
    pub(super) cycles_per_ns: Option<f64>,
}

/// The round of a phase; rehearsals and reference cases have none.
pub(super) fn round_of(phase: Phase) -> Option<u32> {
    match phase {
        Phase::Round(round) => Some(round),
        Phase::Before | Phase::Rehearsal(_) | Phase::After | Phase::StudyMethod { .. } => None,
    }
}

/// The time from the first pair to the last, in seconds.
pub(super) fn span_s(pairs: &[Pair]) -> f64 {
    match pairs {
        [first, .., last] => last.at_s - first.at_s,
        _ => 0.0,
    }
}
