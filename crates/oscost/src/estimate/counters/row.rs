//! The counters of a row: its metrics, how they were counted, and each worker's figures.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::clock::Calibration;
use oscost_model::counters::{CPI, CountedSet, CounterEvent, CounterRead, GHZ, INSN, TreeCounts};
use oscost_model::journal::CountingOutcome;
use oscost_model::record::{CountedRepetition, Estimate, Metric, Overhead, RowCounters};
use oscost_model::unit::Unit;
use oscost_stats::interval::Nominal;
use oscost_stats::{moments, order};

use super::worker::{
    CountedFigure, CountedFigures, CountedOps, counted_figures, has_amortized_work,
};
use crate::estimate::rows::metrics::estimate_values;
use crate::estimate::rows::row_state::{CountingEntry, RowState};

/// The instructions of a row repeat if they vary by no more than this between its workers.
const MAX_REPEATING_SD_PCT: f64 = 0.2;

/// A worker that counted, and its figures.
pub(in crate::estimate) struct EvaluatedCounting<'a> {
    pub(in crate::estimate) entry: &'a CountingEntry,
    pub(in crate::estimate) figures: CountedFigures,
    read_by: Option<CounterRead>,
    inherited: bool,
}

impl EvaluatedCounting<'_> {
    /// Its figures as the record has them; `None` if it has none.
    pub(in crate::estimate) fn repetition(&self) -> Option<CountedRepetition> {
        let CountedFigures { figures, time_ns, running_ns, .. } = &self.figures;
        let named = figures.iter().map(|(&name, figure)| (name.to_owned(), figure.value));
        (!figures.is_empty()).then(|| CountedRepetition {
            round: self.entry.round,
            at_s: self.entry.at_s,
            figures: named.collect(),
            time_ns: *time_ns,
            running_ns: *running_ns,
        })
    }
}

impl CountingEntry {
    /// Whether this worker saw that one op does work for many. Its batches may show it to one worker and
    /// not to the next, and the figures of all of them are to be of one kind: means.
    fn has_amortized_work(&self) -> bool {
        matches!(&self.outcome, CountingOutcome::Batches(counts) if has_amortized_work(counts))
    }
}

impl RowState {
    /// Its workers that counted events.
    pub(in crate::estimate) fn evaluated_countings(
        &self,
        clock: Option<&Calibration>,
    ) -> Vec<EvaluatedCounting<'_>> {
        let amortized = self.countings.iter().any(CountingEntry::has_amortized_work);
        let evaluated = |entry| self.evaluated_counting(entry, clock, amortized);
        self.countings.iter().map(evaluated).collect()
    }

    /// The tasks that an op creates; 0 if they could not be counted.
    fn tasks_per_op(&self) -> f64 {
        let count = self.count.as_ref().filter(|count| count.ops > 0);
        count.and_then(|count| Some(count.tasks? as f64 / count.ops as f64)).unwrap_or(0.0)
    }

    fn evaluated_counting<'a>(
        &'a self,
        entry: &'a CountingEntry,
        clock: Option<&Calibration>,
        amortized: bool,
    ) -> EvaluatedCounting<'a> {
        let bare = EvaluatedCounting {
            entry,
            figures: CountedFigures::default(),
            read_by: None,
            inherited: false,
        };
        match &entry.outcome {
            CountingOutcome::Batches(counts) => {
                let Some((plan, clock)) = self.plan.as_ref().zip(clock) else { return bare };
                let context = self.sample_context(plan, clock);
                let tasks_per_op = self.tasks_per_op();
                let ops = CountedOps { context, tasks_per_op, amortized };
                let figures = counted_figures(counts, ops);
                let read_by = Some(counts.read_by);
                EvaluatedCounting { figures, read_by, inherited: counts.inherited, ..bare }
            }
            CountingOutcome::Tree(counts) => {
                EvaluatedCounting { figures: tree_figures(counts), inherited: true, ..bare }
            }
            CountingOutcome::Lost { reason, .. } => {
                let void = BTreeSet::from([reason.clone()]);
                EvaluatedCounting {
                    figures: CountedFigures { void, ..CountedFigures::default() },
                    ..bare
                }
            }
        }
    }
}

/// The figures of a program's process tree, per run.
fn tree_figures(counts: &TreeCounts) -> CountedFigures {
    let mut found = CountedFigures::default();
    found.void.extend(counts.void.clone());
    if counts.void.is_some() {
        return found;
    }
    if counts.counts.len() > CountedSet::MAX_EVENTS {
        let events = counts.counts.len();
        found.void.insert(format!("the tree has counts of {events} events, more than there are"));
        return found;
    }
    let count = |event: CounterEvent| {
        let total = counts.counts.iter().find(|total| total.event == event)?;
        Some(total.count as f64)
    };
    let mut add = |name, value: Option<f64>| {
        let figure =
            |value| CountedFigure { value, raw: value, overhead: None, batches: 1, ops: 1.0 };
        found.figures.extend(value.map(|value| (name, figure(value))));
    };
    for event in CounterEvent::ALL {
        add(event.metric(), count(event));
    }
    let user = count(CounterEvent::InstructionsUser);
    let kernel = count(CounterEvent::InstructionsKernel);
    let together = count(CounterEvent::Instructions).filter(|_| counts.kernel);
    let both = together.or_else(|| user.zip(kernel).map(|(user, kernel)| user + kernel));
    add(INSN, both);
    let cycles = count(CounterEvent::Cycles);
    let quotient = |by: Option<f64>| {
        cycles.zip(by).filter(|&(of, by)| of > 0.0 && by > 0.0).map(|(of, by)| of / by)
    };
    // Cycles of both modes are those of the instructions of both, and of the time in both.
    add(CPI, quotient(if counts.kernel { both } else { user }));
    add(GHZ, quotient(count(CounterEvent::TaskClock)).filter(|_| counts.kernel));
    found.time_ns = counts.real_ns.map(|ns| ns as f64);
    // A program may create processes, whose end is in no count.
    found.running_ns = None;
    found
}

/// The unit of a metric that was counted.
fn unit(metric: &str) -> Unit {
    let of = |event: CounterEvent| event.metric() == metric;
    match CounterEvent::ALL.into_iter().find(|&event| of(event)) {
        Some(CounterEvent::InstructionsUser | CounterEvent::InstructionsKernel) => {
            Unit::InstructionsPerOp
        }
        Some(CounterEvent::Cycles | CounterEvent::StalledCycles) => Unit::CyclesPerOp,
        Some(CounterEvent::TaskClock) => Unit::NsPerOp,
        Some(_) => Unit::TimesPerOp,
        None if metric == CPI => Unit::CyclesPerInstruction,
        None if metric == GHZ => Unit::Gigahertz,
        None => Unit::InstructionsPerOp,
    }
}

/// The metrics of a row that were counted.
pub(in crate::estimate) fn metrics(
    countings: &[EvaluatedCounting<'_>],
    nominal: Nominal,
) -> BTreeMap<String, Metric> {
    let names: BTreeSet<&str> =
        countings.iter().flat_map(|counting| counting.figures.figures.keys().copied()).collect();
    let metric = |name: &str| {
        let figures =
            countings.iter().filter_map(|counting| counting.figures.figures.get(name).copied());
        let figures: Vec<CountedFigure> = figures.collect();
        let unit = unit(name);
        let estimate = estimate(&figures, nominal)?;
        Some((name.to_owned(), Metric { unit, better: unit.better(), estimate }))
    };
    names.into_iter().filter_map(metric).collect()
}

fn estimate(figures: &[CountedFigure], nominal: Nominal) -> Option<Estimate> {
    let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    let median = |of: &dyn Fn(&CountedFigure) -> Option<f64>| {
        let values: Vec<f64> = figures.iter().filter_map(of).collect();
        order::median(&order::sorted(&values))
    };
    let bare = estimate_values(&values, nominal)?;
    Some(Estimate {
        raw_median: median(&|it| Some(it.raw)).unwrap_or(bare.median),
        overhead: Overhead { clock: median(&|it| it.overhead), loop_cost: None },
        samples: figures.iter().map(|it| it.batches as u64).sum(),
        ops_per_sample: median(&|it| Some(it.ops)).unwrap_or(1.0) as u64,
        ..bare
    })
}

/// How the events of a row were counted; `None` if no worker was to count any. `timed_ns` is the
/// row's figure, if that is a time.
pub(in crate::estimate) fn summary(
    countings: &[EvaluatedCounting<'_>],
    timed_ns: Option<f64>,
) -> Option<RowCounters> {
    let repetitions: Vec<CountedRepetition> =
        countings.iter().filter_map(EvaluatedCounting::repetition).collect();
    let median = |of: &dyn Fn(&CountedRepetition) -> Option<f64>| {
        let values: Vec<f64> = repetitions.iter().filter_map(of).collect();
        order::median(&order::sorted(&values))
    };
    let work: Vec<f64> = repetitions.iter().filter_map(work).collect();
    let insn_sd_pct = deviation_pct(&work);
    let time_ns = median(&|it| it.time_ns);
    let running_ns = median(&|it| it.running_ns);
    let void: BTreeSet<&String> = countings.iter().flat_map(|it| &it.figures.void).collect();
    (!countings.is_empty()).then(|| RowCounters {
        workers: repetitions.len() as u32,
        read_by: countings.iter().find_map(|it| it.read_by).map(|it| it.text().to_owned()),
        kernel: repetitions.iter().any(|it| it.figures.contains_key(INSN)),
        inherited: countings.iter().any(|it| it.inherited),
        insn_sd_pct,
        repeats: is_repeating(&work),
        counted_time_ratio: time_ns
            .zip(timed_ns.filter(|&it| it > 0.0))
            .map(|(counted, timed)| counted / timed),
        running_ns,
        waiting_ns: median(&waiting_ns),
        short_by: short_by(countings),
        amortized: countings.iter().any(|it| it.figures.amortized),
        over_ticks: countings.iter().any(|it| it.figures.spans_ticks),
        void: void.into_iter().cloned().collect(),
        repetitions: repetitions.clone(),
    })
}

/// By which factor counted batches are too short, the median over the workers that have figures; `None`
/// if they are long enough.
fn short_by(countings: &[EvaluatedCounting<'_>]) -> Option<f64> {
    let figures = countings.iter().map(|it| &it.figures).filter(|it| !it.figures.is_empty());
    let factors: Vec<f64> = figures.map(|it| it.short_by.unwrap_or(1) as f64).collect();
    order::median(&order::sorted(&factors)).filter(|&factor| factor > 1.0)
}

/// The standard deviation of some numbers of instructions, in per cent of their median.
fn deviation_pct(work: &[f64]) -> Option<f64> {
    let centre = order::median(&order::sorted(work)).filter(|&it| it > 0.0);
    centre.zip(moments::standard_deviation(work)).map(|(centre, sd)| 100.0 * sd / centre)
}

/// Whether some numbers of instructions of one op are the same, as far as that of an op which repeats
/// is; `None` below two.
pub(in crate::estimate) fn is_repeating(work: &[f64]) -> Option<bool> {
    deviation_pct(work).map(|sd| sd <= MAX_REPEATING_SD_PCT)
}

/// The instructions of a worker: in both modes where the kernel's are known.
pub(in crate::estimate) fn work(it: &CountedRepetition) -> Option<f64> {
    let of = |metric: &str| it.figures.get(metric).copied();
    of(INSN).or_else(|| of(CounterEvent::InstructionsUser.metric()))
}

/// The time per op that no counted task was on a CPU.
pub(in crate::estimate) fn waiting_ns(it: &CountedRepetition) -> Option<f64> {
    Some(it.time_ns? - it.running_ns?)
}
