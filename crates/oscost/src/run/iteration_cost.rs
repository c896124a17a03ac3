//! The cost of an iteration, by which the time of further workers is planned.

use std::time::Duration;

use oscost_model::clock::Calibration;
use oscost_model::worker::{BatchPlan, Mode, Sample};

/// The time around a window: reading the kernel's accounting before and after, and preparation.
pub(super) const WINDOW_OVERHEAD_NS: f64 = 5e3;
/// The time of an eviction before a cold shot, if no worker has measured it.
const EVICTION_NS: f64 = 5e6;

/// The cost of an iteration in a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IterationCost {
    /// One iteration of the loop, in nanoseconds.
    pub(super) ns: f64,
    /// Ops per iteration.
    pub(super) ops: u64,
    /// A window with its overhead, at most, in nanoseconds.
    pub(super) window_ns: f64,
}

impl IterationCost {
    /// The cost found by a pilot, for a row whose time was up before its first worker.
    pub(super) fn from_pilot(plan: &BatchPlan) -> Self {
        let copies = plan.unroll_factors.iter().copied().max().unwrap_or(1).max(1);
        let turn_ns = plan.batch_ns / (plan.iterations.max(1) as f64 * f64::from(copies));
        let around_ns = if plan.mode == Mode::C { EVICTION_NS } else { WINDOW_OVERHEAD_NS };
        Self { ns: turn_ns, ops: 1, window_ns: plan.batch_ns + around_ns }
    }

    /// The cost shown by samples; `None` if there are none.
    pub(super) fn from_samples(
        samples: &[Sample],
        plan: &BatchPlan,
        clock: &Calibration,
        took: Duration,
    ) -> Option<Self> {
        let ops: f64 = samples.iter().map(|sample| sample.n as f64).sum();
        let ticks: f64 = samples.iter().map(|sample| sample.ticks as f64).sum();
        // The plan of a fake host may have none.
        let copies: u32 = plan.unroll_factors.iter().sum::<u32>().max(1);
        let each_copy = samples.len() as f64 / plan.unroll_factors.len().max(1) as f64;
        let turns = plan.iterations as f64 * f64::from(copies) * each_copy;
        if ops <= 0.0 || turns <= 0.0 {
            return None;
        }
        Some(Self {
            ns: (clock.ns(ticks) / turns).max(0.0),
            // Iterations vary by at most a tenth around those of the plan.
            ops: ((ops / turns).round() as u64).max(1),
            window_ns: took.as_nanos() as f64 / samples.len() as f64,
        })
    }
}
