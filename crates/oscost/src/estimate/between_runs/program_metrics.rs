//! The further metrics of a program between runs: how far they vary is shown by its earlier runs alone, as
//! of its own figure.

use oscost_model::journal::MetricVariation;
use oscost_model::program::PEAK_MEMORY;
use oscost_model::record::{Estimate, Metric, Row};
use oscost_stats::between_runs::{RunMedian, RunVariation};
use oscost_stats::boots::variation_by_runs_alone;
use oscost_stats::interval::{Interval, Nominal};

use super::system_runs::{MetricRun, SystemRuns};

/// The minimum number of earlier runs.
const MIN_RUNS: usize = 3;

/// How far the metrics of a program vary between runs, by earlier runs of its system.
pub(super) fn variations(row: &Row, earlier: &SystemRuns) -> Vec<MetricVariation> {
    let further = row.metrics.iter().filter(|(name, _)| is_further(row, name));
    let of_metric = |(name, metric): (&String, &Metric)| {
        let boots = earlier.metric_boots(row, name);
        let RunVariation { deviation, degrees_of_freedom } = variation(&metric.estimate, &boots)?;
        let runs = boots.iter().map(Vec::len).sum::<usize>() as u32;
        Some(MetricVariation { metric: name.clone(), runs, deviation, degrees_of_freedom })
    };
    further.filter_map(of_metric).collect()
}

/// Whether a metric is neither the row's own figure nor a bound.
fn is_further(row: &Row, name: &str) -> bool {
    let is_bound = row.flags.iter().any(|flag| flag == "MEMORY_BOUND");
    row.primary_metric.as_deref() != Some(name) && !(is_bound && name == PEAK_MEMORY)
}

/// The variation of a metric by its earlier runs, those of a boot in one item. A count that was the same
/// in all trials of each of them does not vary, also if it is 0; where this run has another one, that is
/// no longer known, and nothing else is. `None`, too, if some figures may be 0.
fn variation(own: &Estimate, boots: &[Vec<MetricRun>]) -> Option<RunVariation> {
    let runs: Vec<&MetricRun> = boots.iter().flatten().collect();
    let first = runs.first()?.median;
    if runs.len() >= MIN_RUNS && runs.iter().all(|it| it.interval == [first; 2]) {
        let is_another = own.ci95 == Some([own.median; 2]) && own.median != first;
        let degrees_of_freedom = (runs.len() - 1) as f64;
        return (!is_another).then_some(RunVariation { deviation: 0.0, degrees_of_freedom });
    }
    let logs = |runs: &Vec<MetricRun>| {
        runs.iter().map(|it| logarithm(it.median, it.interval)).collect::<Option<Vec<RunMedian>>>()
    };
    let boots = boots.iter().map(logs).collect::<Option<Vec<Vec<RunMedian>>>>()?;
    variation_by_runs_alone(&boots.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Adds the intervals between runs to the metrics of a program.
pub(super) fn set_intervals(row: &mut Row, known: &[MetricVariation]) {
    for it in known {
        if let Some(metric) = row.metrics.get_mut(&it.metric) {
            metric.estimate.between_run_ci95 = interval(&metric.estimate, it);
        }
    }
}

/// Where the long-run figure of a metric lies. One that never varied, neither between runs nor in this
/// one, is exact. At least the interval of the run.
fn interval(of: &Estimate, known: &MetricVariation) -> Option<[f64; 2]> {
    let own = of.ci95?;
    let MetricVariation { deviation, degrees_of_freedom, .. } = *known;
    if deviation == 0.0 && own == [of.median; 2] {
        return Some(own);
    }
    let run = logarithm(of.median, own)?;
    let variation = RunVariation { deviation, degrees_of_freedom };
    let found = variation.interval_by_runs_alone(&run, Nominal::FIXED);
    Some([found.lo.exp().min(own[0]), found.hi.exp().max(own[1])])
}

/// A figure by its logarithm; `None` if it may be 0.
fn logarithm(median: f64, [low, high]: [f64; 2]) -> Option<RunMedian> {
    let interval = Interval { lo: low.ln(), hi: high.ln() };
    let is_usable = low > 0.0 && low <= median && median <= high;
    is_usable.then(|| RunMedian::from_interval(median.ln(), interval))
}

#[cfg(test)]
mod tests {
    use oscost_model::seed::Seed;
    use oscost_model::unit::Unit;

    use super::*;
    use crate::estimate::made_up_rows::row;
    use crate::estimate::rows::metrics::estimate_values;

    const FAULTS: &str = "minor-faults";

    fn estimate(trials: &[f64]) -> Estimate {
        estimate_values(trials, Nominal::FIXED).unwrap()
    }

    fn metric_run(trials: &[f64]) -> MetricRun {
        let Estimate { median, ci95, .. } = estimate(trials);
        MetricRun { median, interval: ci95.unwrap() }
    }

    /// The interval of a program's faults after these earlier runs, each of a boot of its own.
    fn between_runs(own: &[f64], earlier: &[MetricRun]) -> Option<[f64; 2]> {
        let mut program = row("syscall/read", 100.0);
        program.primary_metric = Some("real".to_owned());
        let unit = Unit::TimesPerOp;
        let metric = Metric { unit, better: unit.better(), estimate: estimate(own) };
        program.metrics.insert(FAULTS.to_owned(), metric);
        let mut runs = SystemRuns::default();
        for (at, &run) in earlier.iter().enumerate() {
            let boot = format!("boot {at}");
            let time = RunMedian { value: 0.0, standard_error: 0.0, count: 6 };
            let metrics = [(FAULTS.to_owned(), run)].into_iter().collect();
            runs.insert_program("local", "syscall/read", Some(&boot), time, metrics);
        }
        let known = variations(&program, &runs);
        set_intervals(&mut program, &known);
        program.metrics[FAULTS].estimate.between_run_ci95
    }

    #[test]
    fn a_count_that_never_varied_is_exact_and_one_that_did_is_not() {
        let [sixty, none] = [60.0, 0.0].map(|count| metric_run(&[count; 10]));
        assert_eq!(between_runs(&[60.0; 10], &[sixty; 3]), Some([60.0; 2]));
        assert_eq!(between_runs(&[0.0; 10], &[none; 3]), Some([0.0; 2]));
        assert_eq!(between_runs(&[60.0; 10], &[sixty; 2]), None, "too few");
        assert_eq!(between_runs(&[61.0; 10], &[sixty; 3]), None, "it varies, by an unknown amount");
        assert_eq!(between_runs(&[0.0; 10], &[none, none, sixty]), None, "0 has no logarithm");
        let other = metric_run(&[62.0; 10]);
        let [low, high] = between_runs(&[60.0; 10], &[sixty, sixty, other]).unwrap();
        assert!(low < 58.0 && 62.0 < high, "{low} {high}");
        let mixed = [60.0, 60.0, 60.0, 61.0, 60.0, 61.0, 60.0, 60.0, 61.0, 61.0];
        let [low, high] = between_runs(&mixed, &[sixty; 3]).unwrap();
        assert!(low <= 60.0 && 61.0 <= high, "{low} {high}");
    }

    #[test]
    fn an_interval_between_runs_holds_the_long_run_figure_of_a_metric() {
        const CASES: u32 = 1_000;
        const TRUE_COUNT: f64 = 1_000.0;
        let mut seed = Seed::new(28);
        // The sum of twelve uniform deviates is nearly normal.
        let mut normal = || (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        for earlier in [3, 5, 20] {
            let (mut held, mut held_by_run) = (0, 0);
            for _ in 0..CASES {
                let mut run = || -> Vec<f64> {
                    let of_run = 0.02 * normal();
                    let trial = |_| TRUE_COUNT * (of_run + 0.01 * normal()).exp();
                    (0..10).map(trial).collect()
                };
                let runs: Vec<MetricRun> = (0..earlier).map(|_| metric_run(&run())).collect();
                let own = run();
                let [low, high] = between_runs(&own, &runs).unwrap();
                held += u32::from(low <= TRUE_COUNT && TRUE_COUNT <= high);
                let [low, high] = metric_run(&own).interval;
                held_by_run += u32::from(low <= TRUE_COUNT && TRUE_COUNT <= high);
            }
            let share = |count: u32| f64::from(count) / f64::from(CASES);
            assert!((0.93..=1.0).contains(&share(held)), "{earlier}: {}", share(held));
            // The control: what the trials of one run leave open.
            assert!(share(held_by_run) < 0.6, "{earlier}: {}", share(held_by_run));
        }
    }
}
