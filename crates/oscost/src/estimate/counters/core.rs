//! The core over a run, by the workers that counted its cycles.

use oscost_model::clock::Calibration;
use oscost_model::counters::{EventCounts, GHZ};
use oscost_model::record::{CoreConditions, CoreFigure};
use oscost_model::unit::Unit;
use oscost_model::worker::BatchPlan;
use oscost_stats::order;

use super::row::EvaluatedCounting;
use super::worker::{CountedFigures, CountedOps, counted_figures};
use crate::estimate::rows::row_state::RowState;
use crate::estimate::rows::worker::SampleContext;

/// A worker is worse than the best by more than this factor if something shares the core, or if its
/// clock is lower; caches and layout alone make less.
const WORSE: f64 = 1.1;
/// Fewer workers show nothing over a run.
const MIN_WORKERS: usize = 3;

/// The case whose loop runs in user mode alone.
const LOOP: &str = "timer/nothing";
/// The null system call.
const KERNEL_OP: &str = "syscall/getppid:via=raw";

/// Which end of values is the best.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    Lowest,
    Highest,
}

/// The core over some workers that counted the null system call, each with batches of this plan.
pub fn core_of_counts(
    counts: &[EventCounts],
    plan: &BatchPlan,
    clock: &Calibration,
) -> Option<CoreConditions> {
    let (unit, switches, major_faults) = (Unit::NsPerOp, false, false);
    let context = SampleContext { plan, clock, unit, switches, major_faults };
    let figures: Vec<CountedFigures> = counts
        .iter()
        .map(|counts| {
            counted_figures(counts, CountedOps { context, tasks_per_op: 0.0, amortized: false })
        })
        .collect();
    let cpi = figures.iter().filter_map(|it| it.whole_cpi).collect();
    let ghz = figures.iter().filter_map(|it| it.figures.get(GHZ)).map(|it| it.value).collect();
    let core = CoreConditions {
        ghz: core_figure(ghz, Best::Highest, None),
        cpi_of_loop: None,
        cpi_of_kernel_op: core_figure(cpi, Best::Lowest, Some(KERNEL_OP)),
    };
    (core.ghz.is_some() || core.cpi_of_kernel_op.is_some()).then_some(core)
}

/// The core over the run; `None` if no cycles were counted.
pub(in crate::estimate) fn core_conditions(
    rows: &[&RowState],
    clock: Option<&Calibration>,
) -> Option<CoreConditions> {
    let cpi_of = |case: &str| {
        let row = rows.iter().find(|row| row.planned.case.to_string() == case)?;
        let countings = row.evaluated_countings(clock);
        let values = countings.iter().filter_map(|it| it.figures.whole_cpi);
        core_figure(values.collect(), Best::Lowest, Some(case))
    };
    let rate = |counting: &EvaluatedCounting<'_>| {
        counting.figures.figures.get(GHZ).map(|figure| figure.value)
    };
    let references = rows.iter().filter(|row| row.planned.is_reference);
    let rates = references.flat_map(|row| {
        row.evaluated_countings(clock).iter().filter_map(rate).collect::<Vec<f64>>()
    });
    let core = CoreConditions {
        ghz: core_figure(rates.collect(), Best::Highest, None),
        cpi_of_loop: cpi_of(LOOP),
        cpi_of_kernel_op: cpi_of(KERNEL_OP),
    };
    let is_empty =
        core.ghz.is_none() && core.cpi_of_loop.is_none() && core.cpi_of_kernel_op.is_none();
    (!is_empty).then_some(core)
}

fn core_figure(values: Vec<f64>, best: Best, case: Option<&str>) -> Option<CoreFigure> {
    if values.len() < MIN_WORKERS {
        return None;
    }
    let sorted = order::sorted(&values);
    let value = match best {
        Best::Lowest => *sorted.first()?,
        Best::Highest => *sorted.last()?,
    };
    // Each value as a multiple of the best, above 1 if it is worse.
    let multiple = |of: f64| match best {
        Best::Lowest => of / value,
        Best::Highest => value / of,
    };
    let worse: Vec<f64> = sorted.iter().map(|&it| multiple(it)).filter(|&it| it > WORSE).collect();
    Some(CoreFigure {
        case: case.map(str::to_owned),
        workers: sorted.len() as u32,
        best: value,
        median: order::median(&sorted)?,
        worse_pct: 100.0 * worse.len() as f64 / sorted.len() as f64,
        worse_by: order::median(&order::sorted(&worse)),
    })
}
