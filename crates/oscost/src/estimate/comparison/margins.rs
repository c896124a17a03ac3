//! The smallest differences that are worth reporting, however certain they are.
//!
//! They depend on the metric alone: on how well it can be known, not on how or where it was
//! compared. A gate fails by verdicts, and so has the same ones.

use oscost_model::counters::is_work;
use oscost_model::program::{CPU, REAL};

/// Of other figures, such as the time of an op.
pub(super) const MIN_EFFECT: f64 = 0.01;
/// Of CPU time, to which a competitor for the CPU does not add.
const MIN_CPU_EFFECT: f64 = 0.003;
/// Wall time also has the waits, and what others do to them.
const MIN_REAL_EFFECT: f64 = 0.005;
/// Of instructions, which vary neither with the load of the machine nor with the clock.
pub(super) const MIN_WORK_EFFECT: f64 = 0.001;

/// The smallest difference of a metric that is worth reporting, as a share.
pub(super) fn of_metric(metric: &str) -> f64 {
    match metric {
        CPU => MIN_CPU_EFFECT,
        REAL => MIN_REAL_EFFECT,
        _ if is_work(metric) => MIN_WORK_EFFECT,
        _ => MIN_EFFECT,
    }
}

/// The same of the figure of a benchmark: at least two steps of the clock in a batch, if it is
/// known which part of a batch a step is.
pub(super) fn of_batches(step_per_batch: Option<f64>) -> f64 {
    step_per_batch.map_or(MIN_EFFECT, |step| (2.0 * step).max(MIN_EFFECT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_those_of_the_metric() {
        let margins = [CPU, REAL, "insn", "insn_user", "user", "speed"].map(of_metric);
        assert_eq!(margins, [0.003, 0.005, 0.001, 0.001, 0.01, 0.01]);
    }

    #[test]
    fn a_difference_of_two_steps_of_the_clock_is_none() {
        let margins = [None, Some(0.0), Some(0.004), Some(0.02)].map(of_batches);
        assert_eq!(margins, [0.01, 0.01, 0.01, 0.04]);
    }
}
