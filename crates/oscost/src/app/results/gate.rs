//! Whether a comparison passes a gate.

use oscost_model::record::{Comparison, Row};

pub use crate::estimate::comparison::threshold::Threshold;

/// What a gate found.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// No row is significantly slower by more than the threshold.
    Passed(GatePass),
    /// The control, in which nothing differs, shows an effect.
    ControlFailed,
    /// No row of one side could be compared with one of the other.
    NothingCompared,
    /// The threshold applies to none of these many rows.
    NothingJudged {
        /// How many were compared.
        rows: usize,
    },
    /// Some rows are significantly slower by more than the threshold.
    Regressed,
}

/// How many rows a passed gate judged, and with what power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatePass {
    /// Rows that the threshold applies to.
    pub judged: usize,
    /// The judged rows in which a change of that size would have been detected.
    pub powered: usize,
    /// Rows that the threshold does not apply to.
    pub not_judged: usize,
}

impl Gate {
    /// Whether it was passed.
    pub fn is_passed(&self) -> bool {
        matches!(self, Gate::Passed(_))
    }
}

/// Judges the comparisons of a gate. `results` are the rows that they refer to.
pub(crate) fn judge(results: &[Row], comparisons: &[Comparison], threshold: Threshold) -> Gate {
    if comparisons.is_empty() {
        return Gate::NothingCompared;
    }
    let judged = comparisons.iter().filter(|it| threshold.applies_to(it)).count();
    if judged == 0 {
        return Gate::NothingJudged { rows: comparisons.len() };
    }
    if comparisons.iter().any(|it| threshold.is_exceeded(it, &results[it.base as usize])) {
        return Gate::Regressed;
    }
    let powered = comparisons.iter().filter(|it| threshold.would_detect(it)).count();
    Gate::Passed(GatePass { judged, powered, not_judged: comparisons.len() - judged })
}
