//! How figures depend on the core's rate, which each worker measures, and what they are in cycles of
//! the core (docs/explanation/METHOD.md, section 11).

use oscost_model::counters::CORE_CYCLES;
use oscost_model::journal::{CaseVariation, CycleVariation};
use oscost_model::record::{CoreRate, Estimate, Metric, Repetition, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;
use oscost_stats::between_runs::{Prior, RunMedian, RunVariation};
use oscost_stats::boots::variation_over_boots;
use oscost_stats::core_rate::{CoreDependence, PeriodRegression, RatedCost, RatedRun};
use oscost_stats::interval::Nominal;
use oscost_stats::{moments, order};

use super::rows::metrics::estimate_values;

/// The minimum number of repetitions of a run for an interval.
const MIN_REPETITIONS: usize = 6;

/// The repetitions of a row with the core's rate beside each; `None` if a repetition has none, if they
/// are too few for an interval, or if the figure is no time per op above zero. What an op returns
/// instead of a time of its own (mode F) has nothing to do with the core.
pub(in crate::estimate) fn rated_costs(row: &Row) -> Option<Vec<RatedCost>> {
    let is_time = row.unit == Unit::NsPerOp
        && row.outcome == RowOutcome::Measured
        && row.primary_metric.is_none()
        && row.mode != Some(Mode::F)
        && row.flags.iter().all(|flag| flag != "BELOW_DETECTION");
    let rated = |it: &Repetition| {
        Some(RatedCost { cost: it.value?.ln(), rate: it.core_cycles_per_ns?.ln() })
    };
    let valued = row.repetitions.iter().filter(|it| it.value.is_some());
    let costs = valued.map(rated).collect::<Option<Vec<RatedCost>>>().filter(|_| is_time)?;
    let is_finite = |it: &RatedCost| it.cost.is_finite() && it.rate.is_finite();
    (costs.len() >= MIN_REPETITIONS && costs.iter().all(is_finite)).then_some(costs)
}

/// A row as one value in time and in cycles; `None` as for [`rated_costs`].
pub(in crate::estimate) fn rated_run(row: &Row) -> Option<RatedRun> {
    let costs = rated_costs(row)?;
    let median =
        |log: fn(&RatedCost) -> f64| RunMedian::of(&costs.iter().map(log).collect::<Vec<f64>>());
    Some(RatedRun { time: median(|it| it.cost)?, cycles: median(|it| it.cost + it.rate)? })
}

/// The figure of a row in cycles of the core, whether it follows the core or not; `None` as for
/// `rated_costs`.
pub fn cycles_estimate(row: &Row, nominal: Nominal) -> Option<Estimate> {
    let cycles: Vec<f64> = rated_costs(row)?.iter().map(|it| (it.cost + it.rate).exp()).collect();
    estimate_values(&cycles, nominal)
}

/// The metric of a row that follows the core.
pub(in crate::estimate) fn cycles_metric(row: &Row, nominal: Nominal) -> Option<Metric> {
    let (unit, estimate) = (Unit::CyclesPerOp, cycles_estimate(row, nominal)?);
    Some(Metric { unit, better: unit.better(), estimate })
}

/// How far the cycles of a case vary between the runs of these boots, and how its time depends on
/// the core's rate; `None` below two runs.
pub(in crate::estimate) fn cycle_variation(
    boots: &[Vec<RatedRun>],
    prior: Prior,
) -> Option<CycleVariation> {
    let costs: Vec<RatedCost> = boots.iter().flatten().map(RatedRun::rated_cost).collect();
    let rates: Vec<f64> = costs.iter().map(|it| it.rate).collect();
    let rate_deviation = moments::standard_deviation(&rates)?;
    let cycles: Vec<Vec<RunMedian>> =
        boots.iter().map(|runs| runs.iter().map(|it| it.cycles).collect()).collect();
    let of_boots: Vec<&[RunMedian]> = cycles.iter().map(Vec::as_slice).collect();
    let RunVariation { deviation, degrees_of_freedom } = variation_over_boots(&of_boots, prior);
    let PeriodRegression { periods, products, costs, degrees_of_freedom: of_sums } =
        PeriodRegression::of(&[&costs]);
    Some(CycleVariation {
        deviation,
        degrees_of_freedom,
        rate_deviation,
        sums: [periods, products, costs],
        sums_degrees_of_freedom: of_sums,
    })
}

/// The regression over earlier runs.
fn earlier_regression(known: &CycleVariation) -> PeriodRegression {
    let CycleVariation { sums: [periods, products, costs], sums_degrees_of_freedom, .. } = *known;
    PeriodRegression { periods, products, costs, degrees_of_freedom: sums_degrees_of_freedom }
}

/// What earlier runs show of the cycles of a row.
pub(in crate::estimate) fn known_cycles<'a>(
    row: &Row,
    known: &'a [CaseVariation],
) -> Option<&'a CycleVariation> {
    let is_it = |it: &&CaseVariation| it.target == row.target.text && it.case == row.case;
    // Earlier runs may have had another peer.
    known.iter().find(is_it).filter(|_| row.target.peer.is_none())?.core_cycles.as_ref()
}

/// Sets how the figures of a run depend on the core's rate, by its workers and by earlier runs, and
/// adds those that follow it in cycles.
pub(in crate::estimate) fn set_core_rates(
    rows: &mut [Row],
    known: &[CaseVariation],
    nominal: Nominal,
) {
    for row in rows {
        let Some(costs) = rated_costs(row) else { continue };
        let workers = PeriodRegression::of(&[&costs]);
        let runs = known_cycles(row, known).map(earlier_regression).unwrap_or_default();
        let found = CoreDependence::of(&[workers, runs]);
        let rates: Vec<f64> = costs.iter().map(|it| it.rate).collect();
        let Some(rate) = order::median(&order::sorted(&rates)) else { continue };
        row.core_rate = Some(CoreRate {
            cycles_per_ns: rate.exp(),
            slope: found.slope,
            slope_ci95: [found.interval.lo, found.interval.hi],
            follows: found.follows(),
        });
        if let Some(metric) = cycles_metric(row, nominal).filter(|_| found.follows()) {
            row.metrics.insert(CORE_CYCLES.to_owned(), metric);
        }
    }
}

/// Whether a row follows the core's rate.
pub(in crate::estimate) fn follows(row: &Row) -> bool {
    row.core_rate.as_ref().is_some_and(|it| it.follows)
}

/// How much the core's rate differs from the first third of a row's repetitions to the last, as a
/// logarithm.
pub(in crate::estimate) fn rate_movement(row: &Row) -> Option<f64> {
    let costs = rated_costs(row)?;
    let third = costs.len() / 3;
    let median = |of: &[RatedCost]| {
        order::median(&order::sorted(&of.iter().map(|it| it.rate).collect::<Vec<f64>>()))
    };
    Some(median(&costs[costs.len() - third..])? - median(&costs[..third])?)
}

/// The core's rate beside the repetitions of a row, as a logarithm: the median.
pub(in crate::estimate) fn rate_level(row: &Row) -> Option<f64> {
    let rates: Vec<f64> = rated_costs(row)?.iter().map(|it| it.rate).collect();
    order::median(&order::sorted(&rates))
}

/// How far the core's rate varies from one run to another, as a logarithm: by earlier runs, and at
/// least as far as between the workers of this one.
pub(in crate::estimate) fn rate_deviation(row: &Row, known: &[CaseVariation]) -> f64 {
    let rates = rated_costs(row).unwrap_or_default();
    let rates: Vec<f64> = rates.iter().map(|it| it.rate).collect();
    let own = moments::standard_deviation(&rates).unwrap_or(0.0);
    known_cycles(row, known).map_or(own, |it| it.rate_deviation.max(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::made_up_rows::{rated_row, row};

    /// A row whose workers ran at these rates; its time follows them by this exponent.
    fn at_rates(rates: &[f64], slope: f64) -> Row {
        rated_row("syscall/read", 360.0, rates, slope)
    }

    /// What runs at half to all of a core's rate show.
    fn known(slope: f64) -> CaseVariation {
        let run = |at: u32| {
            let rate = (1.5 + 0.2 * f64::from(at * 3 % 8)).ln();
            let median = |value| RunMedian { value, standard_error: 0.001, count: 6 };
            let time = 360f64.ln() - slope * rate + 0.01 * f64::from(at % 3);
            RatedRun { time: median(time), cycles: median(time + rate) }
        };
        let runs: Vec<Vec<RatedRun>> = (0..12).map(|at| vec![run(at)]).collect();
        let prior = Prior { deviation: 0.05, degrees_of_freedom: 4.0 };
        CaseVariation {
            target: "local".to_owned(),
            case: "syscall/read".to_owned(),
            runs: 12,
            boots: Some(12),
            deviation: 0.2,
            degrees_of_freedom: 15.0,
            core_cycles: cycle_variation(&runs, prior),
            metrics: Vec::new(),
        }
    }

    fn set(mut row: Row, known: &[CaseVariation]) -> Row {
        set_core_rates(std::slice::from_mut(&mut row), known, Nominal::FIXED);
        row
    }

    #[test]
    fn a_row_whose_time_follows_the_core_is_given_in_cycles_too() {
        let changing = [3.0, 1.5, 2.0, 2.9, 1.6, 2.4, 1.8, 2.7, 2.2, 3.0];
        let core = set(at_rates(&changing, 1.0), &[]);
        let found = core.core_rate.as_ref().unwrap();
        assert!(found.follows && (found.slope - 1.0).abs() < 0.05, "{found:?}");
        assert!((2.2..2.4).contains(&found.cycles_per_ns), "{found:?}");
        let metric = &core.metrics[CORE_CYCLES];
        assert_eq!(metric.unit, Unit::CyclesPerOp);
        assert!((metric.estimate.median / 360.0 - 1.0).abs() < 0.01, "{metric:?}");
        let memory = set(at_rates(&changing, 0.0), &[]);
        assert!(!follows(&memory) && memory.metrics.is_empty(), "{memory:?}");
    }

    #[test]
    fn where_the_rate_kept_still_in_the_run_earlier_runs_decide() {
        let steady = || at_rates(&[3.0; 10], 1.0);
        let alone = set(steady(), &[]);
        assert!(!follows(&alone), "one rate shows nothing");
        assert_eq!(alone.core_rate.as_ref().unwrap().slope, 0.5);
        assert!(follows(&set(steady(), &[known(1.0)])));
        assert!(!follows(&set(steady(), &[known(0.0)])));
        let mut remote = steady();
        remote.target.peer = Some("m1".to_owned());
        assert!(!follows(&set(remote, &[known(1.0)])), "it may have had another peer");
    }

    #[test]
    fn rows_without_a_rate_or_a_time_have_no_dependence() {
        assert_eq!(set(row("syscall/read", 100.0), &[known(1.0)]).core_rate, None);
        let mut partly = at_rates(&[3.0; 10], 1.0);
        partly.repetitions[4].core_cycles_per_ns = None;
        assert_eq!(set(partly, &[known(1.0)]).core_rate, None);
        let counted = Row { unit: Unit::InstructionsPerOp, ..at_rates(&[3.0; 10], 1.0) };
        assert_eq!(set(counted, &[known(1.0)]).core_rate, None);
        let mut zero = at_rates(&[3.0; 10], 1.0);
        zero.repetitions[0].core_cycles_per_ns = Some(0.0);
        assert_eq!(set(zero, &[known(1.0)]).core_rate, None);
    }

    #[test]
    fn the_rate_varies_between_runs_by_at_least_what_it_does_between_workers() {
        let steady = at_rates(&[3.0; 10], 1.0);
        let of_runs = rate_deviation(&steady, &[known(1.0)]);
        assert!((0.15..0.35).contains(&of_runs), "{of_runs}");
        assert!(rate_deviation(&steady, &[]) < 1e-9);
        let changing = at_rates(&[3.0, 1.0, 3.0, 1.0, 3.0, 1.0], 1.0);
        assert!(rate_deviation(&changing, &[known(1.0)]) > 0.5);
        let slowing = at_rates(&[3.0, 3.0, 2.0, 2.0, 1.5, 1.5], 1.0);
        assert!((rate_movement(&slowing).unwrap() + 2f64.ln()).abs() < 1e-12);
    }
}
