//! The figure of a case on a machine, by one of its runs or by several.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use oscost_model::counters::CORE_CYCLES;
use oscost_model::record::{Estimate, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_stats::between_runs::{RunMean, RunMedian, RunVariation, long_run_mean, run_mean};
use oscost_stats::interval::{Interval, Nominal};
use oscost_stats::{moments, order};

use super::content::TableUnit;
use super::counts::{LineCounts, uncounted};
use super::join::JoinedRow;
use crate::estimate::between_runs::prior;
use crate::estimate::core_rate::cycles_estimate;

/// Half the width of a normal interval of 95 %, in standard deviations.
pub(super) const Z_95: f64 = 1.960;

/// Beyond these bounds a value of a foreign record is not the cost of anything.
const PLAUSIBLE: RangeInclusive<f64> = 1e-20..=1e20;

/// What the keys of a row's multiples begin with that count calls of an empty function.
const FUNCTION_CALL: &str = "procedure/call:";

/// The figure of a case on a machine; all values are logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MachineFigure {
    pub(super) log: f64,
    /// The ends of its interval.
    pub(super) interval: Option<[f64; 2]>,
    /// Whether the interval contains the variation between runs.
    pub(super) is_between_runs: bool,
    pub(super) runs: u32,
    /// Whether something may be concluded from it: not from a very noisy run.
    pub(super) is_claimable: bool,
    /// The count itself, where all repetitions of all runs gave the same; `None` of anything else.
    pub(super) exact_count: Option<f64>,
}

impl MachineFigure {
    /// The standard error that its interval stands for; `None` of an interval within a run, which
    /// says nothing of how far another run of the machine may lie.
    pub(super) fn standard_error(&self) -> Option<f64> {
        self.error_of_runs().filter(|_| self.is_between_runs)
    }

    /// The same of any interval.
    fn error_of_runs(&self) -> Option<f64> {
        let [low, high] = self.interval?;
        Some((self.log - low).max(high - self.log) / Z_95)
    }
}

/// The count of machines that all counted the same; `None` if they did not, and of anything else.
pub(super) fn exact_count(figures: &[MachineFigure]) -> Option<f64> {
    let first = figures.first()?.exact_count;
    first.filter(|_| figures.iter().all(|it| it.exact_count == first))
}

/// Machines as one: the logarithm of the median over them, and how far one of them may lie from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PooledFigure {
    pub(super) log: f64,
    /// `None` if a figure has no interval between runs.
    pub(super) error: Option<f64>,
    /// The same of intervals that say nothing of other runs; `None` if a figure has none at all.
    pub(super) error_of_runs: Option<f64>,
}

/// These machines as one; `None` without any. Their number does not reduce the error: it is that of
/// one machine of this kind.
pub(super) fn pooled(figures: &[MachineFigure]) -> Option<PooledFigure> {
    let logs: Vec<f64> = figures.iter().map(|it| it.log).collect();
    let log = order::median(&order::sorted(&logs))?;
    let spread = moments::standard_deviation(&logs).unwrap_or(0.0);
    let error = |of: fn(&MachineFigure) -> Option<f64>| {
        let errors = figures.iter().map(of).collect::<Option<Vec<f64>>>()?;
        Some(order::median(&order::sorted(&errors))?.max(spread))
    };
    let error_of_runs = error(MachineFigure::error_of_runs);
    Some(PooledFigure { log, error: error(MachineFigure::standard_error), error_of_runs })
}

/// The figure of a case by these rows of one machine, a run each; the error says why there is none.
/// Runs that nothing may be concluded from are left out if there are others. `counts` are those of
/// the line in instructions, if it has any.
pub(super) fn machine_figure(
    rows: &[JoinedRow<'_>],
    unit: TableUnit,
    counts: Option<LineCounts>,
) -> Result<MachineFigure, String> {
    let mut first_reason = None;
    let mut found = Vec::new();
    for &it in rows {
        match RunFigure::of(it, unit, counts) {
            Ok(figure) => found.push(figure),
            Err(why) => {
                first_reason.get_or_insert(why);
            }
        }
    }
    let is_claimable = found.iter().any(|it| it.is_claimable);
    found.retain(|it| it.is_claimable == is_claimable);
    match &found[..] {
        [] => Err(first_reason.unwrap_or_else(|| "not measured".to_owned())),
        [only] => Ok(MachineFigure {
            log: only.log,
            interval: only.between_runs.or(only.within_run),
            // An exact count is no sample, and has no error to judge a difference by.
            is_between_runs: only.between_runs.is_some() && only.exact_count.is_none(),
            runs: 1,
            is_claimable,
            exact_count: only.exact_count,
        }),
        several => Ok(of_several(several, is_claimable)),
    }
}

/// The figure of a case in a run; all values are logarithms.
struct RunFigure<'a> {
    of: JoinedRow<'a>,
    log: f64,
    within_run: Option<[f64; 2]>,
    between_runs: Option<[f64; 2]>,
    is_claimable: bool,
    exact_count: Option<f64>,
    /// Whether the processor counted it.
    is_counted: bool,
}

/// The same as the record has it.
struct RawFigure {
    value: f64,
    within_run: Option<[f64; 2]>,
    between_runs: Option<[f64; 2]>,
}

impl RawFigure {
    fn of(estimate: &Estimate) -> Self {
        let (within_run, between_runs) = (estimate.ci95, estimate.between_run_ci95);
        Self { value: estimate.median, within_run, between_runs }
    }
}

impl<'a> RunFigure<'a> {
    fn of(of: JoinedRow<'a>, unit: TableUnit, counts: Option<LineCounts>) -> Result<Self, String> {
        let JoinedRow { run, row } = of;
        if row.outcome != RowOutcome::Measured {
            let why = row.reason.as_deref().unwrap_or("no reason given");
            return Err(format!("{}: {why}", row.outcome.text()));
        }
        if unit == TableUnit::Instructions && !is_emulated(row) {
            return Self::counted(of, counts);
        }
        if has_flag(row, "BELOW_DETECTION") {
            return Err("its figure cannot be told from 0".to_owned());
        }
        let found = match unit {
            TableUnit::Own | TableUnit::Instructions => in_own_unit(row).ok_or("it has no figure"),
            TableUnit::Cycles => in_cycles(row).ok_or("its record has no rate of the core"),
            TableUnit::Calls => in_calls(of).ok_or("no function call was measured beside it"),
        };
        let RawFigure { value, within_run, between_runs } = found?;
        if !PLAUSIBLE.contains(&value) {
            return Err("its figure is not above 0".to_owned());
        }
        let logs = |ends: Option<[f64; 2]>| {
            let ends = ends.filter(|ends| ends.iter().all(|end| PLAUSIBLE.contains(end)));
            ends.map(|ends| ends.map(f64::ln))
        };
        let conditions = run.conditions.iter().find(|it| it.machine == row.target.machine);
        let is_noisy = conditions.is_some_and(|it| it.not_claimable_reason().is_some());
        Ok(Self {
            of,
            log: value.ln(),
            within_run: logs(within_run),
            between_runs: logs(between_runs),
            is_claimable: !is_noisy && !has_flag(row, "UNRELIABLE"),
            exact_count: Some(value)
                .filter(|_| !matches!(unit, TableUnit::Cycles | TableUnit::Calls))
                .filter(|_| is_exact_count(row)),
            is_counted: false,
        })
    }

    /// The instructions that the processor counted. Neither the load of the machine nor a bound on
    /// the time of the op says anything of them; work that varies does.
    fn counted(of: JoinedRow<'a>, counts: Option<LineCounts>) -> Result<Self, String> {
        let work = counts.ok_or_else(|| uncounted(of)).and_then(|counts| counts.work(of))?;
        let is_plausible = |log: &f64| PLAUSIBLE.contains(&log.exp());
        if !is_plausible(&work.value) {
            return Err("its counts are not plausible".to_owned());
        }
        let varies = of.row.counters.as_ref().is_some_and(|it| it.repeats == Some(false));
        let ends = work.interval.map(|Interval { lo, hi }| [lo, hi]);
        Ok(Self {
            of,
            log: work.value,
            within_run: ends.filter(|ends| ends.iter().all(is_plausible)),
            between_runs: None,
            is_claimable: !varies,
            exact_count: None,
            is_counted: true,
        })
    }

    /// The run as one value; `None` if it has too few repetitions for an interval.
    fn median(&self) -> Option<RunMedian> {
        let [lo, hi] = self.within_run?;
        Some(RunMedian::from_interval(self.log, Interval { lo, hi }))
    }
}

fn has_flag(row: &Row, flag: &str) -> bool {
    row.flags.iter().any(|it| it == flag)
}

/// Whether the figure of a row is a number of instructions, which an emulator counted.
pub(super) fn is_emulated(row: &Row) -> bool {
    row.unit == Unit::InstructionsPerOp && row.primary_metric.is_none()
}

/// Whether all repetitions of a row counted the same number of instructions.
fn is_exact_count(row: &Row) -> bool {
    row.estimate.as_ref().is_some_and(|it| it.exact) && is_emulated(row)
}

/// The figure as the record has it. An emulator counts the same instructions in every boot, so what
/// one run leaves open of them is all that another one may change.
fn in_own_unit(row: &Row) -> Option<RawFigure> {
    let mut figure = RawFigure::of(row.estimate.as_ref()?);
    if is_emulated(row) {
        figure.between_runs = figure.between_runs.or(figure.within_run);
    }
    Some(figure)
}

/// The figure in cycles of the core, with the interval between runs where the row follows the core.
fn in_cycles(row: &Row) -> Option<RawFigure> {
    if row.unit == Unit::CyclesPerOp {
        return row.estimate.as_ref().map(RawFigure::of);
    }
    match row.metrics.get(CORE_CYCLES) {
        Some(metric) => Some(RawFigure::of(&metric.estimate)),
        None => Some(RawFigure::of(&cycles_estimate(row, Nominal::FIXED)?)),
    }
}

/// The figure as a multiple of that of an empty function in the same run; what both leave open.
fn in_calls(of: JoinedRow<'_>) -> Option<RawFigure> {
    let JoinedRow { run, row } = of;
    let is_function = |(case, _): &(&String, &f64)| case.starts_with(FUNCTION_CALL);
    let (case, &value) = row.multiples.iter().find(is_function)?;
    let figure = row.estimate.as_ref()?;
    let is_function = |it: &&Row| it.case == *case && it.target.machine == row.target.machine;
    let function = run.results.iter().find(is_function).and_then(|it| it.estimate.as_ref());
    // The function itself is one call of it, exactly.
    let is_itself = row.case == *case;
    let within = |of: fn(&Estimate) -> Option<[f64; 2]>| {
        if is_itself {
            return Some([value; 2]);
        }
        let ([low, high], base) = (of(figure)?, function?);
        let [base_low, base_high] = of(base)?;
        let below = (figure.median / low).ln().hypot((base_high / base.median).ln());
        let above = (high / figure.median).ln().hypot((base.median / base_low).ln());
        Some([value * (-below).exp(), value * above.exp()])
    };
    let between_runs = within(|it| it.between_run_ci95);
    Some(RawFigure { value, within_run: within(|it| it.ci95), between_runs })
}

/// Several runs of one machine: their long-run figure, with the variation between runs.
fn of_several(runs: &[RunFigure<'_>], is_claimable: bool) -> MachineFigure {
    let first = runs.first().and_then(|it| it.exact_count);
    let exact_count = first.filter(|_| runs.iter().all(|it| it.exact_count == first));
    let logs: Vec<f64> = runs.iter().map(|it| it.log).collect();
    let medians: Option<Vec<RunMedian>> = runs.iter().map(RunFigure::median).collect();
    // Counts of one boot say nothing of the next one.
    let are_counted = runs.iter().any(|it| it.is_counted);
    let found = medians.and_then(|medians| match are_counted {
        true => run_mean(&medians, Nominal::FIXED),
        false => long_run(runs[0].of.row, &medians, boots(runs)),
    });
    MachineFigure {
        log: moments::mean(&logs).unwrap_or(0.0),
        interval: found.map(|it| [it.interval.lo, it.interval.hi]),
        is_between_runs: found.is_some() && (!are_counted || boots(runs) == runs.len()),
        runs: runs.len() as u32,
        is_claimable,
        exact_count,
    }
}

/// The mean of these runs. How far counts and programs vary between runs is known by these runs
/// alone; of others, runs that agree by chance do not vary less than cases of their class.
fn long_run(row: &Row, runs: &[RunMedian], boots: usize) -> Option<RunMean> {
    if row.primary_metric.is_some() || row.unit == Unit::InstructionsPerOp {
        return run_mean(runs, Nominal::FIXED);
    }
    let prior = prior(row);
    let variation = RunVariation::of(runs, prior).at_least(prior.deviation);
    long_run_mean(runs, variation, boots, Nominal::FIXED)
}

/// How many boots the runs are of, as far as they are known.
fn boots(runs: &[RunFigure<'_>]) -> usize {
    let boot = |it: &RunFigure<'_>| {
        let JoinedRow { run, row } = it.of;
        let machine = run.machines.iter().find(|machine| machine.id == row.target.machine)?;
        machine.counters.boot.clone()
    };
    runs.iter().filter_map(boot).collect::<BTreeSet<String>>().len().max(1)
}
