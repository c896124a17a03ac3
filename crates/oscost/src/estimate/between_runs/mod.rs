//! The interval of a figure between runs: where the long-run figure of its case lies on this machine
//! and kernel (docs/explanation/METHOD.md, section 4). The interval of the run alone says what its
//! repetitions leave open.

mod class_variation;
mod instructions;
mod program_metrics;
mod system_runs;

use std::collections::BTreeMap;

use oscost_model::counters::CORE_CYCLES;
use oscost_model::journal::{CaseVariation, CycleVariation, MetricVariation};
use oscost_model::program::FAMILY;
use oscost_model::record::{Conditions, Levels, Repetition, Row};
use oscost_model::unit::Unit;
use oscost_stats::between_runs::{RunMedian, RunVariation};
use oscost_stats::boots::{variation_by_runs_alone, variation_over_boots};
use oscost_stats::interval::Nominal;
use oscost_stats::levels::two_levels;
use oscost_stats::order;
use oscost_stats::time_course::{TimedValue, deviation_over_time};

pub(in crate::estimate) use self::class_variation::prior;
pub use self::system_runs::{MetricRun, SystemRuns};
use super::core_rate::{cycle_variation, known_cycles, rate_movement, rated_run};

/// The quantile of a normal distribution beyond which one of three values lies in 5 of 100 cases:
/// there are three reference cases.
const Z_OF_THREE: f64 = 2.394;

/// The minimum number of repetitions of a run for an interval.
const MIN_REPETITIONS: usize = 6;

/// A run as one value, by its logarithm; `None` if it has too few repetitions for an interval, or
/// some that are not above 0.
pub(in crate::estimate) fn run_median(row: &Row) -> Option<RunMedian> {
    let values = row.repetitions.iter().filter_map(|it| it.value);
    let logs: Vec<f64> = values.map(f64::ln).collect();
    let is_usable = logs.len() >= MIN_REPETITIONS && logs.iter().all(|it| it.is_finite());
    if is_usable { RunMedian::of(&logs) } else { None }
}

/// Whether such a figure varies between runs: counts of instructions by an emulator do not.
fn can_vary(row: &Row) -> bool {
    row.unit != Unit::InstructionsPerOp
}

/// Whether a row is of a program. They have no class of cost: how far they vary between runs was not
/// measured, and only earlier runs of the same one show it.
fn is_program(row: &Row) -> bool {
    row.primary_metric.is_some()
}

/// Whether it is known by a row's class how far its figure varies between runs.
fn has_class(row: &Row) -> bool {
    can_vary(row) && !is_program(row)
}

/// How far the cases of these rows vary between runs, by earlier runs of their system.
pub fn variations(rows: &[Row], earlier: &SystemRuns) -> Vec<CaseVariation> {
    let variation = |row: &Row| {
        let boots = earlier.boots(row);
        let of_boots: Vec<&[RunMedian]> = boots.iter().map(Vec::as_slice).collect();
        let RunVariation { deviation, degrees_of_freedom } = match is_program(row) {
            true => variation_by_runs_alone(&of_boots)?,
            false => variation_over_boots(&of_boots, prior(row)),
        };
        (!boots.is_empty()).then(|| CaseVariation {
            target: row.target.text.clone(),
            case: row.case.clone(),
            runs: boots.iter().map(Vec::len).sum::<usize>() as u32,
            boots: earlier.boot_count(row).map(|count| count as u32),
            deviation,
            degrees_of_freedom,
            core_cycles: cycle_variation(&earlier.rated_boots(row), prior(row)),
            metrics: match is_program(row) {
                true => program_metrics::variations(row, earlier),
                false => instructions::variation(row, earlier).into_iter().collect(),
            },
        })
    };
    rows.iter().filter(|row| can_vary(row)).filter_map(variation).collect()
}

/// That the earlier runs of all cases are of one boot, in words; `None` if they are of several, if
/// that is not known, or if no case has two. Programs have intervals by such runs all the same.
pub fn note_on_boots(known: &[CaseVariation]) -> Option<String> {
    let is_program = |case: &str| case.split_once('/').is_some_and(|(family, _)| family == FAMILY);
    let known: Vec<&CaseVariation> = known.iter().filter(|it| !is_program(&it.case)).collect();
    let most = known.iter().map(|it| it.runs).max().filter(|&runs| runs >= 2)?;
    known.iter().all(|it| it.boots == Some(1)).then(|| {
        format!(
            "earlier runs are all of one boot (up to {most} of a case), and the next boot may change \
             figures: intervals are as wide as without these runs"
        )
    })
}

/// The variations of cases by target and case.
type KnownVariations<'a> = BTreeMap<(&'a str, &'a str), &'a CaseVariation>;

fn by_case(known: &[CaseVariation]) -> KnownVariations<'_> {
    known.iter().rev().map(|it| ((it.target.as_str(), it.case.as_str()), it)).collect()
}

/// How far a case varies between runs: by earlier runs, or by its class; `None` of a program without
/// earlier runs.
fn variation_of(row: &Row, known: &KnownVariations<'_>) -> Option<RunVariation> {
    let of_case = known.get(&(row.target.text.as_str(), row.case.as_str()));
    match of_case.filter(|_| row.target.peer.is_none()) {
        Some(it) => {
            let CaseVariation { deviation, degrees_of_freedom, .. } = **it;
            Some(RunVariation { deviation, degrees_of_freedom })
        }
        None => has_class(row).then(|| RunVariation::of(&[], prior(row))),
    }
}

/// Flags a machine whose reference cases moved within the run by more than they do from run to run:
/// something was attached, or the machine changed. Of ordinary runs at most 5 % have the flag.
pub(in crate::estimate) fn flag_drift(
    conditions: &mut [Conditions],
    rows: &[Row],
    known: &[CaseVariation],
) {
    let known = &by_case(known);
    for there in conditions {
        let cases = &there.reference_cases;
        let has_moved = cases.before.iter().any(|(case, before)| {
            let is_it = |row: &&Row| row.case == *case && row.target.machine == there.machine;
            // Counts do not drift; a difference between two workers is flagged in their row.
            let row = rows.iter().find(is_it).filter(|row| has_class(row));
            let (Some(after), Some(row)) = (cases.after.get(case), row) else { return false };
            let Some(RunVariation { deviation, .. }) = variation_of(row, known) else {
                return false;
            };
            // A third of the run has a third of its repetitions.
            let error = run_median(row).map_or(0.0, |run| 3f64.sqrt() * run.standard_error);
            let moved = (after / before).ln().abs();
            moved > Z_OF_THREE * 2f64.sqrt() * deviation.hypot(error)
        });
        if has_moved {
            there.flags.insert(0, "REFERENCE_DRIFT".to_owned());
        }
    }
}

/// Adds the intervals between runs to the estimates of a run. Programs without earlier runs, counts of an
/// emulator that differ between repetitions, and figures that may be zero have none.
pub(in crate::estimate) fn set_intervals(
    rows: &mut [Row],
    known: &[CaseVariation],
    conditions: &[Conditions],
) {
    let movements: BTreeMap<&str, Movement> =
        conditions.iter().map(|it| (it.machine.as_str(), Movement::within(it, rows))).collect();
    let cases = &by_case(known);
    rows.iter_mut().for_each(set_interval_of_exact_count);
    for row in rows.iter_mut() {
        let is_it = |it: &&CaseVariation| it.target == row.target.text && it.case == row.case;
        // Earlier runs may have had another peer.
        let known = known.iter().find(is_it).filter(|_| row.target.peer.is_none());
        let metrics: &[MetricVariation] = known.map_or(&[], |it| it.metrics.as_slice());
        match is_program(row) {
            true => program_metrics::set_intervals(row, metrics),
            false => instructions::set_intervals(row, metrics),
        }
    }
    for row in rows.iter_mut().filter(|row| can_vary(row)) {
        let Some(variation) = variation_of(row, cases) else { continue };
        let movement = movements.get(row.target.machine.as_str()).copied().unwrap_or_default();
        let own_movement = movement_of(row, |it| Some(it.value?.ln()));
        let variation = variation.at_least(own_movement.max(movement.time / 2f64.sqrt()));
        let known_cycles = known_cycles(row, known);
        set_interval_of_cycles(row, known_cycles, movement.cycles);
        let is_by_runs_alone = is_program(row);
        let run = run_median(row);
        let levels = levels(row);
        let below_detection = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
        let Some(estimate) = row.estimate.as_mut() else { continue };
        let Some(run) = run.filter(|_| !estimate.exact && !below_detection) else { continue };
        let interval = match is_by_runs_alone {
            true => variation.interval_by_runs_alone(&run, Nominal::FIXED),
            false => variation.interval(&run, Nominal::FIXED),
        };
        let [low, high] = [interval.lo.exp(), interval.hi.exp()];
        // That of a run with outliers on one side is asymmetric: what this run leaves open, further
        // runs leave open too.
        let [own_low, own_high] = estimate.ci95.unwrap_or([low, high]);
        let [mut low, mut high] = [low.min(own_low), high.max(own_high)];
        // The long-run figure may be that of either level.
        if let Some(Levels { low: lower, high: higher, .. }) = levels {
            (low, high) = (low.min(lower), high.max(higher));
        }
        estimate.between_run_ci95 = Some([low, high]);
        estimate.levels = levels;
        if estimate.levels.is_some() {
            row.flags.push("TWO_LEVELS".to_owned());
        }
    }
}

/// Sets that of a count of instructions which is equal in all repetitions: each boot of the emulator is
/// the same, so the next run counts as many. Where repetitions differ, those of the next run differ in
/// the same way: nothing was drawn at random, and their range is no sample of runs.
fn set_interval_of_exact_count(row: &mut Row) {
    let is_counted = row.unit == Unit::InstructionsPerOp;
    if let Some(estimate) = row.estimate.as_mut().filter(|it| it.exact && is_counted) {
        estimate.between_run_ci95 = estimate.ci95;
    }
}

/// Sets the interval between runs of the figure in cycles of a row that follows the core's rate.
fn set_interval_of_cycles(row: &mut Row, known: Option<&CycleVariation>, movement: f64) {
    let variation = match known {
        Some(it) => {
            RunVariation { deviation: it.deviation, degrees_of_freedom: it.degrees_of_freedom }
        }
        None => RunVariation::of(&[], prior(row)),
    };
    let run = rated_run(row);
    let own_movement = movement_of(row, |it| Some(it.value?.ln() + it.core_cycles_per_ns?.ln()));
    let estimate = row.metrics.get_mut(CORE_CYCLES).map(|metric| &mut metric.estimate);
    let (Some(run), Some(estimate)) = (run, estimate) else { return };
    let variation = variation.at_least(own_movement.max(movement / 2f64.sqrt()));
    let interval = variation.interval(&run.cycles, Nominal::FIXED);
    let [low, high] = [interval.lo.exp(), interval.hi.exp()];
    let [own_low, own_high] = estimate.ci95.unwrap_or([low, high]);
    estimate.between_run_ci95 = Some([low.min(own_low), high.max(own_high)]);
}

/// How far a row's repetitions moved while the run lasted, as a standard deviation of these
/// logarithms: other runs differ from this one by at least as much.
fn movement_of(row: &Row, log: impl Fn(&Repetition) -> Option<f64>) -> f64 {
    let timed = |it: &Repetition| Some(TimedValue { at_s: it.at_s, value: log(it)? });
    deviation_over_time(&row.repetitions.iter().filter_map(timed).collect::<Vec<_>>())
}

/// The two levels of a row's repetitions, if they lie around two.
fn levels(row: &Row) -> Option<Levels> {
    let values = row.repetitions.iter().filter_map(|it| it.value);
    let logs: Vec<f64> = values.map(f64::ln).collect();
    // Figures around zero have no logarithms.
    let is_usable = logs.iter().all(|it| it.is_finite());
    let found = two_levels(&order::sorted(is_usable.then_some(&logs[..])?))?;
    Some(Levels {
        low: found.low.exp(),
        low_count: found.low_count as u32,
        high: found.high.exp(),
        high_count: found.high_count as u32,
    })
}

/// How far the reference cases moved from the beginning of a run to its end, as logarithms: the
/// smallest movement, since what they share moves each of them.
#[derive(Clone, Copy, Debug, Default)]
struct Movement {
    /// In time.
    time: f64,
    /// In cycles of the core; in time if the core's rate beside them is not known.
    cycles: f64,
}

impl Movement {
    fn within(conditions: &Conditions, rows: &[Row]) -> Self {
        let cases = &conditions.reference_cases;
        let (mut time, mut cycles) = (f64::INFINITY, f64::INFINITY);
        for (case, before) in &cases.before {
            let moved = cases.after.get(case).map(|after| (after / before).ln());
            let Some(moved) = moved.filter(|it| it.is_finite()) else { continue };
            time = time.min(moved.abs());
            let is_it = |row: &&Row| row.case == *case && row.target.machine == conditions.machine;
            let rate = rows.iter().find(is_it).and_then(rate_movement);
            cycles = rate.map_or(cycles, |rate| cycles.min((moved + rate).abs()));
        }
        let time = if time.is_finite() { time } else { 0.0 };
        Self { time, cycles: if cycles.is_finite() { cycles } else { time } }
    }
}

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod tests;
