//! The flags of a row; docs/reference/RECORDS.md explains each.

use oscost_model::journal::WorkerOutcome;
use oscost_model::record::Calls;
use oscost_model::worker::Mode;

use crate::estimate::rows::case::CaseEstimate;
use crate::estimate::rows::row_state::{RowState, RunContext};
use crate::estimate::rows::worker::WorkerValue;
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::{order, robust};

impl RowState {
    /// The flags of a row.
    pub(in crate::estimate) fn flags(
        &self,
        case: Option<&CaseEstimate>,
        values: &[WorkerValue],
        calls: Option<&Calls>,
        shared: RunContext<'_>,
    ) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, applies: bool| {
            if applies {
                flags.push(name.to_owned());
            }
        };
        flag("REFERENCE", self.planned.is_reference && !self.planned.requested);
        flag("PRIMITIVE", !self.planned.is_reference && !self.planned.requested);
        flag("ADDED", self.planned.is_refinement);
        flag("CALLS_UNEXPECTED", calls.is_some_and(|calls| !calls.expected));
        flag("CALLS_UNCOUNTED", self.not_counted.is_some());
        flag("REJECTION_BLIND", self.is_rejection_blind());
        flag("WORKER_LOST", self.has_lost_workers() && self.given_up.is_none());
        let coarse = self.plan.as_ref().is_some_and(|plan| plan.coarse_clock);
        flag("COARSE_CLOCK", coarse && !shared.counts_instructions());
        let Some(case) = case else { return flags };
        let estimate = &case.estimate;
        let median = estimate.median;
        let mode = self.plan.as_ref().map(|plan| plan.mode);
        if shared.counts_instructions() {
            // Flags of noise and of intervals do not apply to a count: it repeats, or it does not.
            flag("NOT_EXACT", !estimate.exact);
            flag("NOT_A_LINE", bends(values, case));
            return flags;
        }
        flag("HALF_ASSUMED", self.is_round_trip_between_machines());
        flag("NOT_CONVERGED", self.converged == Some(false));
        flag("FEW_REPETITIONS", case.interval.is_none());
        if let Some(interval) = case.interval {
            let half = interval.half_width();
            flag("BELOW_DETECTION", interval.contains(0.0));
            flag("SKEWED", is_skewed(&case.values, median, half));
            let all = median_of(values, |value| value.value_all);
            flag("REJECT_MATTERS", all.is_some_and(|all| (all - median).abs() > 2.0 * half));
        }
        flag("NOT_A_LINE", bends(values, case));
        flag("DRIFT", drifts(values, shared.nominal));
        let batches = median_of(values, |value| Some(value.batches as f64)).unwrap_or(1.0);
        let expected = estimate.sd_within.map(|within| within / batches.max(1.0).sqrt());
        let differ =
            estimate.sd.zip(expected).is_some_and(|(between, within)| between > 3.0 * within);
        flag("PROCESSES_DIFFER", differ);
        // On a shared machine a shot this long is seldom undisturbed.
        flag("LONG_SHOTS", mode == Some(Mode::S) && median > 1e6);
        let absolute = matches!(mode, Some(Mode::S | Mode::C | Mode::T));
        flag("UNRELIABLE", shared.very_noisy && absolute);
        flags
    }

    /// Whether half of its figure would be called the one-way time, which is not measured: the
    /// clocks of two machines are not compared.
    fn is_round_trip_between_machines(&self) -> bool {
        self.planned.target.peer.is_some() && self.planned.definition.id.contains("round-trip")
    }

    /// Whether a worker could not count its context switches.
    fn is_rejection_blind(&self) -> bool {
        self.workers.iter().any(|worker| match &worker.outcome {
            WorkerOutcome::Sampled { disturbance, .. } => disturbance.switches_uncounted,
            WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => false,
        })
    }

    fn has_lost_workers(&self) -> bool {
        self.workers.iter().any(|worker| matches!(worker.outcome, WorkerOutcome::Lost { .. }))
    }
}

pub(in crate::estimate) fn median_of(
    values: &[WorkerValue],
    of: impl Fn(&WorkerValue) -> Option<f64>,
) -> Option<f64> {
    order::median(&order::sorted(&values.iter().filter_map(of).collect::<Vec<_>>()))
}

/// Whether the slopes between neighbouring sizes differ by more than the width of the interval, and
/// by more than 3 %.
fn bends(values: &[WorkerValue], case: &CaseEstimate) -> bool {
    const ALLOWED: f64 = 0.03;
    let Some(interval) = case.interval else { return false };
    let most = values.iter().map(|value| value.segments.len()).max().unwrap_or(0);
    let slopes: Vec<f64> = (0..most)
        .filter_map(|at| median_of(values, |value| value.segments.get(at).copied()))
        .collect();
    let sorted = order::sorted(&slopes);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return false };
    high - low > 2.0 * interval.half_width()
        && high - low > ALLOWED * case.estimate.raw_median.abs()
}

/// Whether the half-sample mode is far from the median, as in a skewed or bimodal distribution.
fn is_skewed(values: &[f64], median: f64, half_width: f64) -> bool {
    robust::half_sample_mode(values).is_some_and(|mode| {
        let distance = (mode - median).abs();
        distance > 0.02 * median.abs() && distance > 3.0 * half_width
    })
}

/// Whether workers have not settled when they are timed: the interval of the log ratio of their
/// last third to their first one is beyond 1 %.
fn drifts(values: &[WorkerValue], nominal: Nominal) -> bool {
    const ALLOWED: f64 = 0.01;
    let ratios: Vec<f64> = values
        .iter()
        .filter_map(|value| value.first_and_last_third)
        .filter(|&(first, last)| first > 0.0 && last > 0.0)
        .map(|(first, last)| (last / first).ln())
        .collect();
    median_hs(&order::sorted(&ratios), nominal)
        .is_some_and(|Interval { lo, hi }| lo > ALLOWED || hi < -ALLOWED)
}
