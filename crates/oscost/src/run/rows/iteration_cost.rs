//! The cost of an iteration, by which the time of further workers is planned.

use std::time::Duration;

use oscost_model::clock::Calibration;
use oscost_model::worker::{BatchPlan, Mode, Sample};

/// The time to start and end a worker.
pub(crate) const WORKER_START_NS: f64 = 5e6;
/// The time around a window: reading the kernel's accounting before and after, and preparation.
pub(super) const WINDOW_OVERHEAD_NS: f64 = 5e3;
/// The time of an eviction before a cold shot, if no worker has measured it.
const EVICTION_NS: f64 = 5e6;

/// The time around a window of this mode, as it is planned.
pub(crate) fn window_overhead_ns(mode: Mode) -> f64 {
    if mode == Mode::C { EVICTION_NS } else { WINDOW_OVERHEAD_NS }
}

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
        let unroll_factor = plan.unroll_factors.iter().copied().max().unwrap_or(1).max(1);
        let ns = plan.batch_ns / (plan.iterations.max(1) as f64 * f64::from(unroll_factor));
        Self { ns, ops: 1, window_ns: plan.batch_ns + window_overhead_ns(plan.mode) }
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
        let all_factors: u32 = plan.unroll_factors.iter().sum::<u32>().max(1);
        let groups = samples.len() as f64 / plan.unroll_factors.len().max(1) as f64;
        let iterations = plan.iterations as f64 * f64::from(all_factors) * groups;
        if ops <= 0.0 || iterations <= 0.0 {
            return None;
        }
        Some(Self {
            ns: (clock.ns(ticks) / iterations).max(0.0),
            // Iterations vary by at most a tenth around those of the plan.
            ops: ((ops / iterations).round() as u64).max(1),
            window_ns: took.as_nanos() as f64 / samples.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::clock::ClockKind;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    #[test]
    fn samples_show_the_cost_of_an_iteration_and_its_ops() {
        let clock = Calibration {
            kind: ClockKind::Tsc,
            ticks_per_ns: 2.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        let cost_of = |mode, iterations: u64, unroll_factors: &[u32], samples: &[(u64, i64)]| {
            let plan =
                BatchPlan { unroll_factors: unroll_factors.to_vec(), ..pilot(mode, iterations) };
            let sample = |&(n, ticks): &(u64, i64)| Sample { n, ticks, ..Sample::default() };
            let samples: Vec<Sample> = samples.iter().map(sample).collect();
            IterationCost::from_samples(&samples, &plan, &clock, Duration::from_millis(1))
        };
        let batches = cost_of(Mode::B, 100, &[1], &[(95 * 8, 20_000), (105 * 8, 20_000)]).unwrap();
        assert_eq!(batches, IterationCost { ns: 100.0, ops: 8, window_ns: 5e5 });
        let unrolled = cost_of(Mode::U, 10, &[1, 2], &[(10, 100), (20, 200)]).unwrap();
        assert_eq!((unrolled.ns, unrolled.ops), (5.0, 1));
        let unnamed = cost_of(Mode::B, 10, &[], &[(10, 200)]).unwrap();
        assert_eq!((unnamed.ns, unnamed.ops), (10.0, 1));
        assert_eq!(cost_of(Mode::S, 1, &[1], &[]), None);
    }

    #[test]
    fn a_row_without_workers_is_planned_with_its_pilot() {
        let unrolled = BatchPlan { unroll_factors: vec![1, 2, 4, 8], ..pilot(Mode::U, 625) };
        assert_eq!(IterationCost::from_pilot(&unrolled).ns, 10.0);
        let batched = IterationCost::from_pilot(&pilot(Mode::B, 500));
        assert_eq!((batched.ns, batched.ops), (100.0, 1));
        let cold = IterationCost::from_pilot(&pilot(Mode::C, 1));
        assert!(cold.window_ns > EVICTION_NS, "{cold:?}");
    }
}
