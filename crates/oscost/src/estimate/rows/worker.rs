//! The value of one worker: the median of its clean batches.

use std::collections::BTreeMap;

use oscost_model::clock::Calibration;
use oscost_model::definition::Definition;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode, Sample};

use crate::estimate::clock_rate::counts_instructions;
use oscost_stats::{line, moments, order};

/// What disturbed a batch in which the kernel gave the CPU to another task.
pub(in crate::estimate) const PREEMPTED: &str = "preempted";

/// A worker needs this share of its batches ...
pub(in crate::estimate) const MIN_CLEAN_SHARE: f64 = 0.6;
/// ... and this many of them; with fewer it has no value, and another worker is started. Only plans of
/// long passes over a file, each a mean of its many reads, have fewer batches: all must be clean.
const MIN_CLEAN_BATCHES: usize = 5;

/// The result of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerValue {
    /// The median over clean batches, in the case's unit; `None` if too few were clean.
    pub value: Option<f64>,
    /// The median over all batches, including rejected ones.
    pub value_all: Option<f64>,
    /// The median of what the clock showed per op, before anything was subtracted, in the unit.
    pub raw: Option<f64>,
    /// What the clock adds to an op of the shortest batch, in nanoseconds.
    pub clock_ns: Option<f64>,
    /// Standard deviation over clean batches.
    pub sd: Option<f64>,
    /// Clean batches (mode U and T: groups).
    pub batches: usize,
    /// Rejected batches, by what disturbed them.
    pub rejected: BTreeMap<String, u32>,
    /// Samples in the clean batches.
    pub samples: usize,
    /// The median number of ops in a sample.
    pub ops_per_sample: u64,
    /// In mode U and T the slopes between neighbouring sizes, the median of each: if they differ,
    /// the points are not on a line, and one slope does not describe them.
    pub segments: Vec<f64>,
    /// The medians of its first and its last third.
    pub first_and_last_third: Option<(f64, f64)>,
    /// The values of its clean batches, in the case's unit; in mode S and C these are ops.
    pub clean: Vec<f64>,
}

/// What is needed to read the samples of a case.
#[derive(Clone, Copy, Debug)]
pub struct SampleContext<'a> {
    /// How its ops were timed.
    pub plan: &'a BatchPlan,
    /// The clock.
    pub clock: &'a Calibration,
    /// The unit of its figures.
    pub unit: Unit,
    /// Whether the op itself switches, so that switches are not a disturbance.
    pub switches: bool,
    /// Whether the op itself waits for a disk, so that major faults are not a disturbance.
    pub major_faults: bool,
}

impl<'a> SampleContext<'a> {
    /// The context for a definition.
    pub fn new(definition: &Definition, plan: &'a BatchPlan, clock: &'a Calibration) -> Self {
        let switches = definition.sleeps(Some(plan.mode));
        // A warm op that waits for a disk was not warm.
        let major_faults = definition.major_faults && switches;
        Self { plan, clock, unit: definition.unit, switches, major_faults }
    }
}

/// One batch, or in mode U and T one group of batches.
pub(in crate::estimate) struct Batch {
    round: u32,
    /// In mode U and T, the slopes between neighbouring sizes.
    segments: Vec<f64>,
    /// Nanoseconds per op, or in mode T per byte.
    pub(in crate::estimate) value: Option<f64>,
    raw: f64,
    /// What disturbed it.
    pub(in crate::estimate) disturbed: Option<&'static str>,
}

/// The result of one arm of a worker.
pub fn worker_value(samples: &[Sample], arm: u8, context: SampleContext<'_>) -> WorkerValue {
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == arm).collect();
    let batches = batches(&samples, context);
    let values = |keep: &dyn Fn(&Batch) -> bool| -> Vec<f64> {
        batches.iter().filter(|batch| keep(batch)).filter_map(|batch| batch.value).collect()
    };
    let mut clean = values(&|batch| batch.disturbed.is_none());
    if is_injected(InjectedFault::OutlierRemoval) {
        clean = without_outliers(clean);
    }
    let all = values(&|_| true);
    let mut rejected = BTreeMap::new();
    for by in batches.iter().filter_map(|batch| batch.disturbed) {
        *rejected.entry(by.to_owned()).or_default() += 1;
    }
    let enough = clean.len() >= MIN_CLEAN_BATCHES.min(context.plan.groups as usize)
        && clean.len() as f64 >= MIN_CLEAN_SHARE * batches.len() as f64;
    let unit = |ns: f64| in_unit(ns, context.unit);
    let undisturbed = || batches.iter().filter(|batch| batch.disturbed.is_none());
    let raw: Vec<f64> = undisturbed().map(|batch| batch.raw).collect();
    let segments = (0..context.plan.unroll_factors.len().saturating_sub(1))
        .filter(|_| context.plan.mode.is_slope())
        .filter_map(|index| {
            let slopes: Vec<f64> =
                undisturbed().filter_map(|batch| batch.segments.get(index).copied()).collect();
            unit(median(&slopes)?)
        });
    let counts: Vec<f64> = samples.iter().map(|sample| sample.n as f64).collect();
    let shortest = samples.iter().map(|sample| sample.n).min().filter(|&n| n > 0);
    let per_batch =
        if context.plan.mode.is_slope() { context.plan.unroll_factors.len() } else { 1 };
    WorkerValue {
        value: median(&clean).filter(|_| enough).map(clamped_if_injected).and_then(unit),
        value_all: median(&all).and_then(unit),
        raw: median(&raw).and_then(unit),
        clock_ns: shortest
            .filter(|_| context.plan.mode != Mode::F)
            .map(|n| context.clock.ns(context.clock.inside_ticks) / n as f64),
        sd: moments::standard_deviation(
            &clean.iter().copied().filter_map(unit).collect::<Vec<_>>(),
        ),
        batches: clean.len(),
        rejected,
        samples: clean.len() * per_batch,
        ops_per_sample: median(&counts).unwrap_or(0.0) as u64,
        segments: segments.collect(),
        first_and_last_third: thirds(&clean).and_then(|(first, last)| unit(first).zip(unit(last))),
        clean: clean.iter().copied().filter_map(unit).collect(),
    }
}

/// The clean batches of an arm by round, in the case's unit.
pub(in crate::estimate) fn by_round(
    samples: &[Sample],
    arm: u8,
    context: SampleContext<'_>,
) -> BTreeMap<u32, f64> {
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == arm).collect();
    let clean = batches(&samples, context).into_iter().filter(|batch| batch.disturbed.is_none());
    clean.filter_map(|batch| Some((batch.round, in_unit(batch.value?, context.unit)?))).collect()
}

/// The value itself; only an injected fault clamps it.
fn clamped_if_injected(ns: f64) -> f64 {
    if is_injected(InjectedFault::ClampAtZero) { ns.max(0.0) } else { ns }
}

/// The values within Tukey's fences: only an injected fault rejects by value.
fn without_outliers(values: Vec<f64>) -> Vec<f64> {
    let sorted = order::sorted(&values);
    let quartile = |p| order::quantile(&sorted, p).unwrap_or(0.0);
    let (low, high) = (quartile(0.25), quartile(0.75));
    let fence = 1.5 * (high - low);
    values.into_iter().filter(|&value| value >= low - fence && value <= high + fence).collect()
}

/// Nanoseconds per op (in mode T per byte) in a case's unit. `None` for the rate of a time that is
/// not positive, never infinity or a clamped figure.
pub(in crate::estimate) fn in_unit(ns: f64, unit: Unit) -> Option<f64> {
    match unit {
        Unit::NsPerOp
        | Unit::InstructionsPerOp
        | Unit::CyclesPerOp
        | Unit::CyclesPerInstruction
        | Unit::TicksPerCycle => Some(ns),
        // These are not timed: the op returns them.
        Unit::TimesPerOp | Unit::YesOrNo | Unit::Bytes | Unit::Gigahertz => Some(ns),
        Unit::Seconds => Some(ns * 1e-9),
        Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => {
            (ns > 0.0).then(|| 1e9 / ns)
        }
    }
}

/// Reads each batch by itself, or each group of a slope mode as one.
pub(in crate::estimate) fn batches(samples: &[&Sample], context: SampleContext<'_>) -> Vec<Batch> {
    let is_returned = context.plan.mode == Mode::F;
    let ns = |sample: &Sample, subtract: f64| match is_returned {
        true => sample.ticks as f64 / 1_000.0,
        false => context.clock.ns(sample.ticks as f64 - subtract) / sample.n.max(1) as f64,
    };
    if !context.plan.mode.is_slope() {
        let subtract =
            if context.plan.mode.is_single_shot() { context.clock.inside_ticks } else { 0.0 };
        return samples
            .iter()
            .map(|sample| Batch {
                round: sample.round,
                segments: Vec::new(),
                value: Some(ns(sample, subtract)),
                raw: ns(sample, 0.0),
                disturbed: disturbance(sample, context),
            })
            .collect();
    }
    samples
        .chunk_by(|one, other| one.round == other.round)
        .map(|group| {
            let slope = if counts_instructions(context.clock) {
                line::slope_of_counts(group.iter().map(|sample| (sample.n, sample.ticks)))
            } else {
                line::slope(group.iter().map(|sample| (sample.n as f64, sample.ticks as f64)))
            };
            let shortest = group.iter().min_by_key(|sample| sample.n);
            let mut ascending: Vec<&Sample> = group.to_vec();
            ascending.sort_by_key(|sample| sample.n);
            let segments = ascending.windows(2).map(|pair| {
                let ticks = (pair[1].ticks - pair[0].ticks) as f64;
                context.clock.ns(ticks) / (pair[1].n - pair[0].n) as f64
            });
            Batch {
                round: group[0].round,
                segments: segments.collect(),
                value: slope.map(|ticks| context.clock.ns(ticks)),
                raw: shortest.map_or(f64::NAN, |sample| ns(sample, 0.0)),
                disturbed: group.iter().find_map(|sample| disturbance(sample, context)),
            }
        })
        .filter(|batch| batch.raw.is_finite())
        .collect()
}

/// What disturbed a batch, judged by its covariates and never by its time.
fn disturbance(sample: &Sample, context: SampleContext<'_>) -> Option<&'static str> {
    /// Wall time without CPU time and without a switch was most likely stolen by a hypervisor.
    const LOST_SHARE: f64 = 0.02;
    /// Below this, context the CPU time is part of the difference.
    const LOST_NS: f64 = 5_000.0;
    if sample.migrated {
        return Some("migrated");
    }
    if sample.major_faults > 0 && !context.major_faults {
        return Some("major-fault");
    }
    if context.switches {
        return None;
    }
    if sample.involuntary_switches > 0 {
        return Some(PREEMPTED);
    }
    if context.plan.mode == Mode::S && !counts_instructions(context.clock) {
        let wall = context.clock.ns(sample.ticks as f64);
        let lost = sample.cpu_ns.map_or(0.0, |cpu_ns| wall - cpu_ns as f64);
        if lost > LOST_NS && lost > LOST_SHARE * wall {
            return Some("lost-time");
        }
    }
    None
}

fn median(values: &[f64]) -> Option<f64> {
    order::median(&order::sorted(values))
}

fn thirds(values: &[f64]) -> Option<(f64, f64)> {
    let third = values.len() / 3;
    if third == 0 {
        return None;
    }
    median(&values[..third]).zip(median(&values[values.len() - third..]))
}

#[cfg(test)]
mod tests;
