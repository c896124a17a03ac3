//! The value of one worker: the median of its clean batches.

use std::collections::BTreeMap;

use oscost_model::clock::Calibration;
use oscost_model::definition::Definition;
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode, Sample};

use super::clock_rate::counts_instructions;
use oscost_stats::{line, moments, order};

/// A worker needs this share of its batches ...
const MIN_CLEAN_SHARE: f64 = 0.6;
/// ... and this many of them; with fewer it has no value, and a fresh worker is asked.
const MIN_CLEAN_BATCHES: usize = 5;

/// What one worker says of its case.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerValue {
    /// The median over clean batches, in the case's unit; `None` when too few were clean.
    pub value: Option<f64>,
    /// The median over all batches, rejected ones too.
    pub value_all: Option<f64>,
    /// The median of what the clock showed per op, before anything was taken out, in the unit.
    pub raw: Option<f64>,
    /// What the clock adds to an op of the shortest batch, in nanoseconds.
    pub clock_ns: Option<f64>,
    /// Standard deviation over clean batches.
    pub sd: Option<f64>,
    /// Clean batches (mode U and T: groups).
    pub batches: usize,
    /// Rejected ones, by what disturbed them.
    pub rejected: BTreeMap<String, u32>,
    /// Samples in the clean batches.
    pub samples: usize,
    /// Ops in a sample, the median.
    pub ops_per_sample: u64,
    /// In mode U and T the slopes between neighbouring sizes, the median of each: where they differ,
    /// the points lie on no line, and one slope does not say it all.
    pub segments: Vec<f64>,
    /// The medians of its first and its last third.
    pub first_and_last_third: Option<(f64, f64)>,
    /// The values of its clean batches, in the case's unit; in mode S and C these are ops.
    pub clean: Vec<f64>,
}

/// How the samples of a case are to be read.
#[derive(Clone, Copy, Debug)]
pub struct SampleContext<'a> {
    /// How its ops were timed.
    pub plan: &'a BatchPlan,
    /// What is known of the clock.
    pub clock: &'a Calibration,
    /// What its figures are counted in.
    pub unit: Unit,
    /// Whether the op switches by itself, so that switches are no disturbance.
    pub switches: bool,
    /// Whether the op waits for a disk by itself, so that major faults are no disturbance.
    pub major_faults: bool,
}

impl<'a> SampleContext<'a> {
    /// As the definition of the case says.
    pub fn new(definition: &Definition, plan: &'a BatchPlan, clock: &'a Calibration) -> Self {
        let switches = definition.sleeps(Some(plan.mode));
        // Where an op that is wanted warm waits for a disk, it was not warm.
        let major_faults = definition.major_faults && switches;
        Self { plan, clock, unit: definition.unit, switches, major_faults }
    }
}

/// One batch, or in mode U and T one group of batches: a value and what disturbed it.
struct Batch {
    round: u32,
    /// In mode U and T, the slopes between neighbouring sizes.
    segments: Vec<f64>,
    value: Option<f64>,
    raw: f64,
    disturbed: Option<&'static str>,
}

/// What one arm of a worker says of its case.
pub fn worker_value(samples: &[Sample], arm: u8, how: SampleContext<'_>) -> WorkerValue {
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == arm).collect();
    let batches = batches(&samples, how);
    let of = |keep: &dyn Fn(&Batch) -> bool| -> Vec<f64> {
        batches.iter().filter(|batch| keep(batch)).filter_map(|batch| batch.value).collect()
    };
    let mut clean = of(&|batch| batch.disturbed.is_none());
    if is_injected(InjectedFault::OutlierRemoval) {
        clean = without_outliers(clean);
    }
    let all = of(&|_| true);
    let mut rejected = BTreeMap::new();
    for by in batches.iter().filter_map(|batch| batch.disturbed) {
        *rejected.entry(by.to_owned()).or_default() += 1;
    }
    let enough = clean.len() >= MIN_CLEAN_BATCHES
        && clean.len() as f64 >= MIN_CLEAN_SHARE * batches.len() as f64;
    let unit = |ns: f64| in_unit(ns, how.unit);
    let undisturbed = || batches.iter().filter(|batch| batch.disturbed.is_none());
    let raw: Vec<f64> = undisturbed().map(|batch| batch.raw).collect();
    let segments = (0..how.plan.unroll_factors.len().saturating_sub(1))
        .filter(|_| how.plan.mode.is_slope())
        .filter_map(|at| {
            let slopes: Vec<f64> =
                undisturbed().filter_map(|batch| batch.segments.get(at).copied()).collect();
            unit(median(&slopes)?)
        });
    let counts: Vec<f64> = samples.iter().map(|sample| sample.n as f64).collect();
    let shortest = samples.iter().map(|sample| sample.n).min().filter(|&n| n > 0);
    let per_batch = if how.plan.mode.is_slope() { how.plan.unroll_factors.len() } else { 1 };
    WorkerValue {
        value: median(&clean).filter(|_| enough).map(without_check).and_then(unit),
        value_all: median(&all).and_then(unit),
        raw: median(&raw).and_then(unit),
        clock_ns: shortest
            .filter(|_| how.plan.mode != Mode::F)
            .map(|n| how.clock.ns(how.clock.inside_ticks) / n as f64),
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

/// The clean batches of an arm by the rounds that they are of, in the case's unit.
pub(super) fn by_round(samples: &[Sample], arm: u8, how: SampleContext<'_>) -> BTreeMap<u32, f64> {
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.arm == arm).collect();
    let clean = batches(&samples, how).into_iter().filter(|batch| batch.disturbed.is_none());
    clean.filter_map(|batch| Some((batch.round, in_unit(batch.value?, how.unit)?))).collect()
}

/// A value as it is; only a sinner clamps it.
fn without_check(ns: f64) -> f64 {
    if is_injected(InjectedFault::ClampAtZero) { ns.max(0.0) } else { ns }
}

/// What Tukey's fences leave: only a sinner deletes by value.
fn without_outliers(values: Vec<f64>) -> Vec<f64> {
    let sorted = order::sorted(&values);
    let quartile = |p| order::quantile(&sorted, p).unwrap_or(0.0);
    let (low, high) = (quartile(0.25), quartile(0.75));
    let fence = 1.5 * (high - low);
    values.into_iter().filter(|&value| value >= low - fence && value <= high + fence).collect()
}

/// Nanoseconds per op (in mode T per byte) in a case's unit. A rate of a time that is not positive
/// is no rate: `None`, never infinity and never a clamped figure.
pub(super) fn in_unit(ns: f64, unit: Unit) -> Option<f64> {
    match unit {
        Unit::NsPerOp | Unit::InstructionsPerOp | Unit::TicksPerCycle => Some(ns),
        // Times are counted, never timed: an op that brings them has found them itself.
        Unit::TimesPerOp | Unit::YesOrNo | Unit::Bytes => Some(ns),
        Unit::Seconds => Some(ns * 1e-9),
        Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => {
            (ns > 0.0).then(|| 1e9 / ns)
        }
    }
}

/// Reads each batch by itself, or each group of a slope mode as one.
fn batches(samples: &[&Sample], how: SampleContext<'_>) -> Vec<Batch> {
    let found = how.plan.mode == Mode::F;
    let ns = |sample: &Sample, subtract: f64| match found {
        true => sample.ticks as f64 / 1_000.0,
        false => how.clock.ns(sample.ticks as f64 - subtract) / sample.n.max(1) as f64,
    };
    if !how.plan.mode.is_slope() {
        let subtract = if how.plan.mode.is_single_shot() { how.clock.inside_ticks } else { 0.0 };
        return samples
            .iter()
            .map(|sample| Batch {
                round: sample.round,
                segments: Vec::new(),
                value: Some(ns(sample, subtract)),
                raw: ns(sample, 0.0),
                disturbed: disturbance(sample, how),
            })
            .collect();
    }
    samples
        .chunk_by(|one, other| one.round == other.round)
        .map(|group| {
            let slope = if counts_instructions(how.clock) {
                line::slope_of_counts(group.iter().map(|sample| (sample.n, sample.ticks)))
            } else {
                line::slope(group.iter().map(|sample| (sample.n as f64, sample.ticks as f64)))
            };
            let shortest = group.iter().min_by_key(|sample| sample.n);
            let mut ascending: Vec<&Sample> = group.to_vec();
            ascending.sort_by_key(|sample| sample.n);
            let segments = ascending.windows(2).map(|pair| {
                let ticks = (pair[1].ticks - pair[0].ticks) as f64;
                how.clock.ns(ticks) / (pair[1].n - pair[0].n) as f64
            });
            Batch {
                round: group[0].round,
                segments: segments.collect(),
                value: slope.map(|ticks| how.clock.ns(ticks)),
                raw: shortest.map_or(f64::NAN, |sample| ns(sample, 0.0)),
                disturbed: group.iter().find_map(|sample| disturbance(sample, how)),
            }
        })
        .filter(|batch| batch.raw.is_finite())
        .collect()
}

/// What disturbed a batch, by its covariates alone and never by its time.
fn disturbance(sample: &Sample, how: SampleContext<'_>) -> Option<&'static str> {
    /// Wall time without CPU time that no switch explains: stolen by a hypervisor, most likely.
    const LOST_SHARE: f64 = 0.02;
    /// Below this the account's own reads are part of the difference.
    const LOST_NS: f64 = 5_000.0;
    if sample.migrated {
        return Some("migrated");
    }
    if sample.major_faults > 0 && !how.major_faults {
        return Some("major-fault");
    }
    if how.switches {
        return None;
    }
    if sample.involuntary_switches > 0 {
        return Some("preempted");
    }
    if how.plan.mode == Mode::S && !counts_instructions(how.clock) {
        let wall = how.clock.ns(sample.ticks as f64);
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
mod tests {
    use oscost_model::clock::ClockKind;

    use super::*;

    const CLOCK: Calibration = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 2.0,
        quantum_ticks: 1.0,
        inside_ticks: 40.0,
        pair_ticks: 80.0,
    };

    fn plan(mode: Mode, copies: &[u32]) -> BatchPlan {
        let copies = copies.to_vec();
        BatchPlan {
            mode,
            iterations: 100,
            unroll_factors: copies,
            groups: 21,
            batch_ns: 50_000.0,
            coarse_clock: false,
        }
    }

    fn how(plan: &BatchPlan) -> SampleContext<'_> {
        let unit = Unit::NsPerOp;
        SampleContext { plan, clock: &CLOCK, unit, switches: false, major_faults: false }
    }

    fn sample(round: u32, n: u64, ticks: i64) -> Sample {
        Sample { round, batch: round, n, ticks, cpu_ns: None, ..Sample::default() }
    }

    #[test]
    fn a_batch_is_its_ticks_over_its_ops_and_nothing_is_subtracted() {
        let plan = plan(Mode::B, &[1]);
        let samples: Vec<Sample> = (0..7).map(|round| sample(round, 100, 20_000)).collect();
        let value = worker_value(&samples, 0, how(&plan));
        assert_eq!(value.value, Some(100.0));
        assert_eq!(value.raw, Some(100.0));
        assert_eq!(value.clock_ns, Some(0.2));
    }

    #[test]
    fn a_slope_takes_out_loop_and_clock() {
        let plan = plan(Mode::U, &[1, 2, 4, 8]);
        // 40 ticks of clock, half a tick a turn, 3 ticks an op.
        let samples: Vec<Sample> = (0..5)
            .flat_map(|round| {
                [1u64, 2, 4, 8].map(|copies| sample(round, 100 * copies, 90 + 300 * copies as i64))
            })
            .collect();
        let value = worker_value(&samples, 0, how(&plan));
        assert_eq!(value.value, Some(1.5));
        assert_eq!(value.raw, Some(1.95));
        assert_eq!((value.batches, value.samples), (5, 20));
    }

    #[test]
    fn a_single_shot_may_come_out_negative_and_stays_so() {
        let plan = plan(Mode::S, &[1]);
        let samples: Vec<Sample> = (0..5).map(|round| sample(round, 1, 30)).collect();
        assert_eq!(worker_value(&samples, 0, how(&plan)).value, Some(-5.0));
    }

    #[test]
    fn only_covariates_reject_and_both_figures_are_kept() {
        let plan = plan(Mode::B, &[1]);
        let mut samples: Vec<Sample> = (0..9).map(|round| sample(round, 100, 20_000)).collect();
        samples[0].ticks = 9_000_000; // Slow, but undisturbed: it stays.
        for slow in &mut samples[6..9] {
            slow.involuntary_switches = 1;
            slow.ticks = 40_000;
        }
        let value = worker_value(&samples, 0, how(&plan));
        assert_eq!(value.rejected, BTreeMap::from([("preempted".to_owned(), 3)]));
        assert_eq!((value.batches, value.value), (6, Some(100.0)));
        assert!(value.sd.unwrap() > 1_000.0);
    }

    #[test]
    fn a_worker_with_too_few_clean_batches_has_no_value() {
        let plan = plan(Mode::B, &[1]);
        let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 100, 20_000)).collect();
        for hit in &mut samples[..9] {
            hit.involuntary_switches = 1;
        }
        let value = worker_value(&samples, 0, how(&plan));
        assert_eq!((value.value, value.value_all), (None, Some(100.0)));
    }

    #[test]
    fn an_op_that_switches_by_itself_is_not_rejected_for_it() {
        let plan = plan(Mode::B, &[1]);
        let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 100, 20_000)).collect();
        for hit in &mut samples {
            hit.involuntary_switches = 1;
        }
        let reading = SampleContext { switches: true, ..how(&plan) };
        assert_eq!(worker_value(&samples, 0, reading).value, Some(100.0));
    }

    #[test]
    fn a_major_fault_is_disturbance_unless_it_is_the_subject() {
        let plan = plan(Mode::C, &[1]);
        let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 1, 2_040)).collect();
        for waited in &mut samples {
            waited.major_faults = 1;
        }
        let disturbed = worker_value(&samples, 0, how(&plan));
        assert_eq!((disturbed.value, disturbed.rejected["major-fault"]), (None, 21));
        let reading = SampleContext { major_faults: true, ..how(&plan) };
        assert_eq!(worker_value(&samples, 0, reading).value, Some(1_000.0));
    }

    #[test]
    fn throughput_is_the_inverse_of_the_slope() {
        let plan = plan(Mode::T, &[1, 2]);
        let samples: Vec<Sample> = (0..5)
            .flat_map(|round| [sample(round, 1_000, 2_500), sample(round, 2_000, 4_500)])
            .collect();
        let reading = SampleContext { unit: Unit::BytesPerSecond, ..how(&plan) };
        assert_eq!(worker_value(&samples, 0, reading).value, Some(1e9));
    }
}
