//! The estimate of a case: over the values of its workers, never over pooled batches.

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::record::{Estimate, Overhead, Quantiles};
use oscost_model::worker::{BatchPlan, Mode};

use crate::estimate::rows::worker::WorkerValue;
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::{moments, order};

/// The estimate of a case, and what its flags depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseEstimate {
    /// The estimate.
    pub estimate: Estimate,
    /// Its interval; `None` if there are too few values.
    pub interval: Option<Interval>,
    /// The values of its workers, ascending.
    pub values: Vec<f64>,
    /// See [`relative_half_width`].
    pub relative_half_width: Option<f64>,
}

/// Estimates a case from its workers; `None` if none of them has a value.
pub fn estimate(
    workers: &[WorkerValue],
    plan: &BatchPlan,
    nominal: Nominal,
) -> Option<CaseEstimate> {
    let values =
        order::sorted(&workers.iter().filter_map(|worker| worker.value).collect::<Vec<_>>());
    let valid: Vec<&WorkerValue> = workers.iter().filter(|worker| worker.value.is_some()).collect();
    let mut median = order::median(&values)?;
    let mut interval = median_hs(&values, nominal);
    let batches =
        || valid.iter().flat_map(|worker| worker.clean.iter().copied()).collect::<Vec<_>>();
    if is_injected(InjectedFault::PooledBatches) {
        interval = median_hs(&order::sorted(&batches()), nominal);
    }
    if is_injected(InjectedFault::MinimumAsEstimate) {
        median = values[0];
    }
    let median_of = |of: &dyn Fn(&WorkerValue) -> Option<f64>| {
        order::median(&order::sorted(
            &valid.iter().filter_map(|&worker| of(worker)).collect::<Vec<_>>(),
        ))
    };
    let raw_median = median_of(&|worker| worker.raw).unwrap_or(median);
    let clock = median_of(&|worker| worker.clock_ns).filter(|_| plan.mode != Mode::T);
    let relative = relative_half_width(median, raw_median, interval);
    let estimate = Estimate {
        between_run_ci95: None,
        levels: None,
        exact: false,
        median,
        ci95: interval.map(|interval| [interval.lo, interval.hi]),
        raw_median,
        overhead: Overhead {
            clock,
            loop_cost: clock
                .filter(|_| plan.mode.is_slope())
                .map(|clock| raw_median - median - clock),
        },
        mean: values.iter().sum::<f64>() / values.len() as f64,
        sd: moments::standard_deviation(&values),
        sd_within: median_of(&|worker| worker.sd),
        min: values[0],
        p10: order::quantile(&values, 0.1).unwrap_or(values[0]),
        repetitions: values.len() as u32,
        samples: valid.iter().map(|worker| worker.samples as u64).sum(),
        ops_per_sample: median_of(&|worker| Some(worker.ops_per_sample as f64)).unwrap_or(0.0)
            as u64,
        half_width_pct: interval
            .filter(|_| median != 0.0)
            .map(|interval| 100.0 * interval.half_width() / median.abs()),
        converged: false,
        // Quantiles of single ops are unknown if a shot consists of many ops.
        quantiles: (plan.mode.is_single_shot()
            && valid.iter().all(|worker| worker.ops_per_sample <= 1))
        .then(|| quantiles(&batches()))
        .flatten(),
    };
    Some(CaseEstimate { estimate, interval, values, relative_half_width: relative })
}

impl CaseEstimate {
    /// The estimate of an instruction count: exact if at least two workers counted, and all of them
    /// counted the same. It then has no sampling error.
    pub(in crate::estimate) fn with_exact_count(mut self, workers: usize) -> Self {
        let &[first, ref others @ ..] = self.values.as_slice() else { return self };
        let all_agree = others.iter().all(|value| *value == first);
        if others.is_empty() || self.values.len() != workers || !all_agree {
            return self;
        }
        self.interval = Some(Interval { lo: first, hi: first });
        self.relative_half_width = Some(0.0);
        // Not computed, since the mean of equal numbers may be rounded.
        self.estimate = Estimate {
            exact: true,
            median: first,
            ci95: Some([first; 2]),
            mean: first,
            sd: Some(0.0),
            min: first,
            p10: first,
            half_width_pct: Some(0.0),
            converged: true,
            ..self.estimate
        };
        self
    }
}

/// Half the width of an interval as a fraction of the median.
///
/// A median that is smaller than its own uncertainty (an op without a cost) is no scale for a
/// width: the width is then relative to what the clock showed, including the loop. If all values
/// are equal, as with counts, the width is 0 whatever the value is.
pub fn relative_half_width(median: f64, raw: f64, interval: Option<Interval>) -> Option<f64> {
    let half = interval?.half_width();
    if half == 0.0 {
        return Some(0.0);
    }
    let is_within_uncertainty = median.abs() < 2.0 * half;
    let scale = if is_within_uncertainty { raw.abs() } else { median.abs() };
    (scale > 0.0).then(|| half / scale)
}

/// Those quantiles over single shots that their number allows.
fn quantiles(shots: &[f64]) -> Option<Quantiles> {
    let sorted = order::sorted(shots);
    let quantile = |p: f64| {
        order::quantile_reportable(sorted.len(), p).then(|| order::quantile(&sorted, p)).flatten()
    };
    Some(Quantiles {
        of: "op".to_owned(),
        n: sorted.len() as u64,
        p50: order::median(&sorted)?,
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: *sorted.last()?,
    })
}
