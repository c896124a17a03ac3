//! Further metrics of a row: the kernel's accounting of its workers per op, throughput, and the
//! latencies of requests.

use std::collections::BTreeMap;

use oscost_model::batch::{CHILD_MINOR_FAULTS, MINOR_FAULTS};
use oscost_model::channel::Requests;
use oscost_model::record::{Estimate, Metric, Overhead};
use oscost_model::unit::Unit;
use oscost_model::worker::Usage;

use crate::estimate::rows::case::CaseEstimate;
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::{moments, order};

/// The name of the metric that shows how often an op waits.
pub(in crate::estimate) const VOLUNTARY_SWITCHES: &str = "voluntary-switches";

/// Name, unit and count of a metric.
type UsageMetric = (&'static str, Unit, fn(&Usage) -> u64);

const METRICS: [UsageMetric; 6] = [
    ("user", Unit::NsPerOp, |usage| usage.user_ns),
    ("system", Unit::NsPerOp, |usage| usage.system_ns),
    (MINOR_FAULTS, Unit::TimesPerOp, |usage| usage.minor_faults),
    ("major-faults", Unit::TimesPerOp, |usage| usage.major_faults),
    (VOLUNTARY_SWITCHES, Unit::TimesPerOp, |usage| usage.voluntary_switches),
    ("involuntary-switches", Unit::TimesPerOp, |usage| usage.involuntary_switches),
];

/// The metrics of a row, from the accounting of its workers; none if no worker has any.
///
/// The figure is pooled, sum over sum: the kernel splits CPU time into user and system time by what
/// its ticks interrupt, and a worker lives for a tick or two. A median over workers would be all of
/// the time or none of it.
pub(in crate::estimate) fn metrics(accounts: &[Usage]) -> BTreeMap<String, Metric> {
    let accounts: Vec<&Usage> = accounts.iter().filter(|account| account.ops > 0).collect();
    if accounts.is_empty() {
        return BTreeMap::new();
    }
    let metric = |&(name, unit, of): &UsageMetric| {
        let estimate = pooled(&accounts, of);
        (name.to_owned(), Metric { unit, better: unit.better(), estimate })
    };
    // Most ops create no process.
    let of_children: UsageMetric =
        (CHILD_MINOR_FAULTS, Unit::TimesPerOp, |usage| usage.child_minor_faults);
    let has_children = accounts.iter().any(|account| account.child_minor_faults > 0);
    METRICS.iter().chain(has_children.then_some(&of_children)).map(metric).collect()
}

/// The name of the metric for bytes per second.
pub(in crate::estimate) const THROUGHPUT: &str = "throughput";

/// Bytes per second of a row whose ops transfer this many bytes: the inverse of its figures. `None`
/// if a value may be 0.
pub(in crate::estimate) fn throughput(
    case: &CaseEstimate,
    unit: Unit,
    bytes: u64,
) -> Option<Metric> {
    let CaseEstimate { estimate, values, .. } = case;
    let lowest = estimate.ci95.map_or(estimate.median, |[low, _]| low).min(*values.first()?);
    if unit != Unit::NsPerOp || lowest <= 0.0 {
        return None;
    }
    let rate = |ns: f64| bytes as f64 * 1e9 / ns;
    let rates: Vec<f64> = values.iter().rev().map(|&ns| rate(ns)).collect();
    let unit = Unit::BytesPerSecond;
    let estimate = Estimate {
        median: rate(estimate.median),
        ci95: estimate.ci95.map(|[low, high]| [rate(high), rate(low)]),
        raw_median: rate(estimate.raw_median),
        overhead: Overhead { clock: None, loop_cost: None },
        mean: rates.iter().sum::<f64>() / rates.len() as f64,
        sd: moments::standard_deviation(&rates),
        sd_within: None,
        min: rates[0],
        p10: order::quantile(&rates, 0.1).unwrap_or(rates[0]),
        quantiles: None,
        ..estimate.clone()
    };
    Some(Metric { unit, better: unit.better(), estimate })
}

/// The name of the metric for the median duration of a request.
pub const REQUEST_P50: &str = "request-p50";
/// The same for the 99th percentile.
pub const REQUEST_P99: &str = "request-p99";

/// The durations of requests: the median over workers of their medians, and of their 99th
/// percentiles.
pub(in crate::estimate) fn requests(
    workers: &[Requests],
    nominal: Nominal,
) -> BTreeMap<String, Metric> {
    let of = |name: &str, quantile: fn(&Requests) -> Option<u64>| {
        let values = workers.iter().map(|worker| quantile(worker).map(|ns| ns as f64));
        let values = values.collect::<Option<Vec<f64>>>()?;
        let samples = workers.iter().map(|worker| worker.answered).sum::<u64>();
        let estimate = Estimate { samples, ..estimate_values(&values, nominal)? };
        let unit = Unit::NsPerOp;
        Some((name.to_owned(), Metric { unit, better: unit.better(), estimate }))
    };
    let p50 = of(REQUEST_P50, |requests| requests.p50_ns);
    p50.into_iter().chain(of(REQUEST_P99, |requests| requests.p99_ns)).collect()
}

/// The estimate of values that nothing was subtracted from; `None` if there are none.
pub fn estimate_values(values: &[f64], nominal: Nominal) -> Option<Estimate> {
    let values = order::sorted(values);
    let median = order::median(&values)?;
    let interval = median_hs(&values, nominal);
    Some(Estimate {
        between_run_ci95: None,
        levels: None,
        exact: false,
        median,
        ci95: interval.map(|interval| [interval.lo, interval.hi]),
        raw_median: median,
        overhead: Overhead { clock: None, loop_cost: None },
        mean: values.iter().sum::<f64>() / values.len() as f64,
        sd: moments::standard_deviation(&values),
        sd_within: None,
        min: values[0],
        p10: order::quantile(&values, 0.1).unwrap_or(values[0]),
        repetitions: values.len() as u32,
        samples: values.len() as u64,
        ops_per_sample: 1,
        half_width_pct: interval
            .filter(|_| median != 0.0)
            .map(|interval| 100.0 * interval.half_width() / median.abs()),
        converged: false,
        quantiles: None,
    })
}

fn pooled(accounts: &[&Usage], of: fn(&Usage) -> u64) -> Estimate {
    let sum = |of: &dyn Fn(&Usage) -> u64| accounts.iter().map(|it| of(it)).sum::<u64>() as f64;
    let figure = sum(&of) / sum(&|usage| usage.ops);
    let each: Vec<f64> =
        accounts.iter().map(|account| of(account) as f64 / account.ops as f64).collect();
    let values = order::sorted(&each);
    let ops: Vec<f64> = accounts.iter().map(|account| account.ops as f64).collect();
    Estimate {
        between_run_ci95: None,
        levels: None,
        exact: false,
        median: figure,
        ci95: None,
        raw_median: figure,
        overhead: Overhead { clock: None, loop_cost: None },
        mean: each.iter().sum::<f64>() / each.len() as f64,
        sd: moments::standard_deviation(&each),
        sd_within: None,
        min: values[0],
        p10: order::quantile(&values, 0.1).unwrap_or(values[0]),
        repetitions: each.len() as u32,
        samples: each.len() as u64,
        ops_per_sample: order::median(&order::sorted(&ops)).unwrap_or(0.0) as u64,
        half_width_pct: None,
        converged: false,
        quantiles: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_pooled_since_a_worker_has_all_of_one_or_none() {
        let worker = |user_ns, system_ns, voluntary_switches| Usage {
            ops: 10_000,
            user_ns,
            system_ns,
            voluntary_switches,
            ..Usage::default()
        };
        let found =
            metrics(&[worker(4_000_000, 0, 1), worker(0, 4_000_000, 0), worker(0, 4_000_000, 0)]);
        let figure = |name: &str| found[name].estimate.median;
        assert!((figure("user") - 400.0 / 3.0).abs() < 1e-9);
        assert!((figure("system") - 800.0 / 3.0).abs() < 1e-9);
        assert!((figure(VOLUNTARY_SWITCHES) - 1.0 / 30_000.0).abs() < 1e-12);
        assert_eq!(found["major-faults"].estimate.median, 0.0);
        assert!(!found.contains_key(CHILD_MINOR_FAULTS), "it creates no process");
        let parent = Usage { ops: 100, child_minor_faults: 1_200, ..Usage::default() };
        let found = metrics(&[parent, Usage { child_minor_faults: 1_000, ..parent }]);
        assert_eq!(found[CHILD_MINOR_FAULTS].estimate.median, 11.0);
        assert_eq!(found["user"].estimate.ci95, None);
        assert_eq!(
            (found["user"].unit, found["minor-faults"].unit),
            (Unit::NsPerOp, Unit::TimesPerOp)
        );
    }

    #[test]
    fn a_throughput_is_the_cost_of_the_bytes_the_other_way_round() {
        let mut case = CaseEstimate {
            estimate: pooled(&[&Usage { ops: 1, user_ns: 2_000, ..Usage::default() }], |it| {
                it.user_ns
            }),
            interval: None,
            values: vec![1_000.0, 2_000.0, 4_000.0],
            relative_half_width: None,
        };
        case.estimate.ci95 = Some([1_000.0, 4_000.0]);
        let found = throughput(&case, Unit::NsPerOp, 4_096).unwrap();
        assert_eq!(found.unit, Unit::BytesPerSecond);
        let of = found.estimate;
        assert_eq!((of.median, of.ci95), (2.048e9, Some([1.024e9, 4.096e9])));
        assert_eq!((of.min, of.mean), (1.024e9, (1.024e9 + 2.048e9 + 4.096e9) / 3.0));
        // A cost that may be nothing gives no rate, and a rate has none.
        case.estimate.ci95 = Some([-1.0, 4_000.0]);
        assert_eq!(throughput(&case, Unit::NsPerOp, 4_096), None);
        case.estimate.ci95 = None;
        assert_eq!(throughput(&case, Unit::BytesPerSecond, 4_096), None);
    }

    #[test]
    fn a_quantile_of_requests_is_the_middle_one_of_those_of_the_workers() {
        let worker = |p50, p99| Requests {
            answered: 200,
            p50_ns: Some(p50),
            p99_ns: p99,
            max_ns: 9_000,
            other_clients: 0,
        };
        let three = [worker(10, Some(90)), worker(30, Some(70)), worker(20, Some(80))];
        let found = requests(&three, Nominal::FIXED);
        let figures: Vec<(&str, f64, u64)> = found
            .iter()
            .map(|(name, it)| (name.as_str(), it.estimate.median, it.estimate.samples))
            .collect();
        assert_eq!(figures, [(REQUEST_P50, 20.0, 600), (REQUEST_P99, 80.0, 600)]);
        // Where a worker had too few for a percentile, the row has none.
        let found = requests(&[worker(10, None), worker(20, Some(30))], Nominal::FIXED);
        assert_eq!(found.len(), 1);
        assert!(requests(&[], Nominal::FIXED).is_empty());
    }

    #[test]
    fn what_no_worker_knows_is_no_metric() {
        assert_eq!(metrics(&[]), BTreeMap::new());
        assert_eq!(metrics(&[Usage::default()]), BTreeMap::new());
    }
}
