//! The figures of one worker that counted events.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::{
    CPI, CountedBatch, CountedSet, CounterEvent, CounterRead, EventCounts, GHZ, INSN,
};
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::worker::Mode;
use oscost_stats::{line, moments, order, robust};

use crate::estimate::rows::worker::{Batch, MIN_CLEAN_SHARE, PREEMPTED, SampleContext, batches};

/// A figure of a counting worker, per op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::estimate) struct CountedFigure {
    /// Without what reading the counters adds.
    pub(in crate::estimate) value: f64,
    /// With it.
    pub(in crate::estimate) raw: f64,
    /// What reading adds to an op of the shortest batch; `None` for quotients.
    pub(in crate::estimate) overhead: Option<f64>,
    /// Batches (in modes U and T: groups) that it is from.
    pub(in crate::estimate) batches: usize,
    /// Ops of a batch, the median.
    pub(in crate::estimate) ops: f64,
}

/// The figures of a counting worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::estimate) struct CountedFigures {
    /// By the names of the metrics.
    pub(in crate::estimate) figures: BTreeMap<&'static str, CountedFigure>,
    /// The time per op in the first set that has counts, in nanoseconds; `None` for ops that take
    /// their own time, which is that of a part of what is counted.
    pub(in crate::estimate) time_ns: Option<f64>,
    /// Its part on a CPU; `None` for ops that create tasks, whose end is in no counter.
    pub(in crate::estimate) running_ns: Option<f64>,
    /// Cycles per instruction of whole batches, loop and counter reads included: it exists for an
    /// op without instructions too.
    pub(in crate::estimate) whole_cpi: Option<f64>,
    /// By which factor the batches of a set are too short for what counting adds; `None` if they are
    /// not.
    pub(in crate::estimate) short_by: Option<u64>,
    /// Whether one op does work for many, so that the figures are means.
    pub(in crate::estimate) amortized: bool,
    /// Whether batches of a set are together over many ticks of the kernel.
    pub(in crate::estimate) spans_ticks: bool,
    /// Why sets have no figures.
    pub(in crate::estimate) void: BTreeSet<String>,
}

impl CountedFigures {
    /// Adds what an injected fault makes of a set without counts.
    fn add_zeros(&mut self, set: &CountedSet) {
        let zero = CountedFigure { value: 0.0, raw: 0.0, overhead: None, batches: 0, ops: 1.0 };
        let names = set.events.iter().map(|event| event.metric()).chain([INSN]);
        self.figures.extend(names.map(|name| (name, zero)));
    }
}

/// The sum of the counts of some events.
struct Quantity {
    /// Their positions in the set.
    events: Vec<usize>,
    /// What inheriting the counters adds to an op.
    added: f64,
}

impl Quantity {
    /// The sum in a batch.
    fn of(&self, batch: &CountedBatch) -> Option<f64> {
        let count = |&event: &usize| batch.counts.get(event).map(|&it| it as f64);
        self.events.iter().map(count).sum()
    }
}

/// What is known of the ops beside their counts.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct CountedOps<'a> {
    pub(in crate::estimate) context: SampleContext<'a>,
    /// The tasks that an op creates, as its calls were counted.
    pub(in crate::estimate) tasks_per_op: f64,
    /// Whether a worker of the row saw that one op does work for many.
    pub(in crate::estimate) amortized: bool,
}

/// Whether a set shows that one op does work for many. One without instructions does not show it, and has
/// its part of that work as well.
pub(in crate::estimate) fn has_amortized_work(counts: &EventCounts) -> bool {
    counts.sets.iter().any(|set| set.amortized)
}

/// Reads the counts of a worker.
pub(in crate::estimate) fn counted_figures(
    counts: &EventCounts,
    ops: CountedOps<'_>,
) -> CountedFigures {
    let amortized = ops.amortized || has_amortized_work(counts);
    let spans_ticks = counts.sets.iter().any(|set| set.spans_ticks);
    let mut found = CountedFigures { amortized, spans_ticks, ..CountedFigures::default() };
    let centre = if amortized { Centre::Mean } else { Centre::Median };
    for set in &counts.sets {
        match SetReader::new(set, ops, centre) {
            Ok(reader) => {
                reader.read_into(&mut found, counts);
                found.short_by = found.short_by.max(set.short_by);
            }
            Err(why) => {
                if is_injected(InjectedFault::LostCountsAreZero) {
                    found.add_zeros(set);
                }
                found.void.insert(why);
            }
        }
    }
    if counts.times_itself {
        found.time_ns = None;
    }
    // The kernel ends the counters of a task before it takes down its memory and files
    // (perf_event_exit_task in do_exit, since Linux 6.16 and in stable kernels): that part of an exit
    // is in no count, and would look like waiting.
    if ops.tasks_per_op > 0.0 {
        found.running_ns = None;
    }
    found
}

/// The figure of some batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Centre {
    Median,
    /// Of work that one op does for many: half of the batches may have one part of it more than the
    /// others.
    Mean,
}

impl Centre {
    fn of(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Centre::Median => median(values),
            Centre::Mean => moments::mean(&values.collect::<Vec<f64>>()),
        }
    }
}

/// A set whose batches are valid.
struct SetReader<'a> {
    set: &'a CountedSet,
    centre: Centre,
    context: SampleContext<'a>,
    tasks_per_op: f64,
    /// The undisturbed batches, or groups of a slope mode, with their time per op.
    clean: Vec<CleanGroup<'a>>,
}

struct CleanGroup<'a> {
    batches: &'a [CountedBatch],
    time_ns: Option<f64>,
    /// Whether another task had the CPU in between: then its time is not that of its ops.
    is_preempted: bool,
}

impl<'a> SetReader<'a> {
    /// A reader of a set; the error says why it has no figures.
    fn new(set: &'a CountedSet, ops: CountedOps<'a>, centre: Centre) -> Result<Self, String> {
        let CountedOps { context, tasks_per_op, .. } = ops;
        if let Some(why) = &set.void {
            return Err(why.clone());
        }
        if let Some(why) = set.contradiction() {
            return Err(why);
        }
        let all = || set.batches.iter().chain(&set.empty);
        // The worker checks these, too; a scaled count is never used.
        if all().any(|batch| batch.counting_ns > batch.enabled_ns) {
            return Err("the events were counted for longer than they were enabled".to_owned());
        }
        if all().any(|batch| batch.counting_ns < batch.enabled_ns) {
            return Err("the events were multiplexed: they counted only part of the time".into());
        }
        let samples: Vec<_> = set.batches.iter().map(|batch| &batch.sample).collect();
        let timed = batches(&samples, context);
        let groups: Vec<&[CountedBatch]> = match context.plan.mode.is_slope() {
            true => {
                set.batches.chunk_by(|one, other| one.sample.round == other.sample.round).collect()
            }
            false => set.batches.chunks(1).collect(),
        };
        // Over many ticks the task loses its CPU to those by which the kernel does what it has deferred,
        // and that work is in the same batches: counts are the task's own, and all of them are its work.
        let is_undisturbed = |timed: &Batch| match timed.disturbed {
            Some(by) => set.spans_ticks && by == PREEMPTED,
            None => true,
        };
        let count = groups.len();
        let clean: Vec<CleanGroup<'a>> = groups
            .into_iter()
            .zip(&timed)
            .filter(|it| is_undisturbed(it.1))
            .map(|(batches, timed)| CleanGroup {
                batches,
                time_ns: timed.value,
                is_preempted: timed.disturbed.is_some(),
            })
            .collect();
        if clean.is_empty() || (clean.len() as f64) < MIN_CLEAN_SHARE * count as f64 {
            return Err(format!(
                "{} of {count} counted batches were disturbed",
                count - clean.len()
            ));
        }
        Ok(Self { set, centre, context, tasks_per_op, clean })
    }

    fn read_into(&self, found: &mut CountedFigures, counts: &EventCounts) {
        // After a system call the caches and the branch predictor are not those of a cold op, nor of
        // one of a few nanoseconds: such ops have counts of work, and no figures of the core.
        let is_core_disturbed = counts.read_by == CounterRead::Read
            && matches!(self.context.plan.mode, Mode::C | Mode::U);
        let position =
            |event: CounterEvent| self.set.events.iter().position(|&known| known == event);
        let user = position(CounterEvent::InstructionsUser);
        let kernel = position(CounterEvent::InstructionsKernel);
        // Counted without the kernel's part they are not those of both modes.
        let both = position(CounterEvent::Instructions).filter(|_| counts.kernel);
        let work: Vec<usize> = match both {
            Some(index) => vec![index],
            None => user.into_iter().chain(kernel).collect(),
        };
        let has_work = both.is_some() || user.is_some();
        // Interrupts only add instructions: the batches without one are those of the lower mode, and
        // all figures are those of the same batches, so that they belong together. So does work that
        // one op does for many: there is no mode without it.
        let core = match has_work && self.centre == Centre::Median {
            true => self.without_interrupts(&self.sum(&work)),
            false => self.clean.iter().collect(),
        };
        let named = self.set.events.iter().enumerate();
        for (index, &event) in named.filter(|(_, event)| **event != CounterEvent::Instructions) {
            let is_work = work.contains(&index) || event.is_software();
            if is_work || !is_core_disturbed {
                let figure = self.figure(&self.sum(&[index]), &core);
                found.figures.extend(figure.map(|figure| (event.metric(), figure)));
            }
        }
        let is_of_both = both.is_some() || (user.is_some() && kernel.is_some());
        let insn = || self.figure(&self.sum(&work), &core);
        if let Some(figure) = is_of_both.then(insn).flatten() {
            // Of two sets the first has the cycles, too, and all figures are to belong together.
            found.figures.entry(INSN).or_insert(figure);
        }
        let task_clock = position(CounterEvent::TaskClock).map(|index| self.sum(&[index]));
        let time_of = |group: &&CleanGroup<'_>| self.time_ns(group, task_clock.as_ref());
        let time_ns = self.centre.of(core.iter().filter_map(time_of));
        found.time_ns = found.time_ns.or(time_ns);
        // The time of a task on a CPU is by the counted event, which has no other task's time. An op
        // that does not sleep runs for all of its time.
        let running = match &task_clock {
            Some(clock) => self.figure(clock, &core).map(|figure| figure.value),
            None if !self.context.switches && !counts.inherited => time_ns,
            None => None,
        };
        found.running_ns = found.running_ns.or(running);
        let Some(cycles) = position(CounterEvent::Cycles).filter(|_| !is_core_disturbed) else {
            return;
        };
        let cycles = self.sum(&[cycles]);
        // Cycles of both modes are those of the instructions of both, and of the time in both.
        let is_complete = counts.kernel == is_of_both;
        if let Some(cycles) = self.figure(&cycles, &core).filter(|_| is_complete) {
            let per = |by: f64, raw: f64| {
                let value = quotient((cycles.value, by))?;
                let raw = quotient((cycles.raw, raw)).unwrap_or(value);
                Some(CountedFigure { value, raw, overhead: None, ..cycles })
            };
            if has_work {
                let cpi = insn().and_then(|insn| per(insn.value, insn.raw));
                found.figures.extend(cpi.map(|figure| (CPI, figure)));
            }
            let ghz = running.filter(|_| counts.kernel).and_then(|running| per(running, running));
            found.figures.extend(ghz.map(|figure| (GHZ, figure)));
        }
        if has_work && is_complete {
            let total = |quantity: &Quantity| {
                let batches = self.clean.iter().flat_map(|group| group.batches);
                batches.map(|batch| quantity.of(batch)).sum::<Option<f64>>()
            };
            found.whole_cpi = total(&cycles).zip(total(&self.sum(&work))).and_then(quotient);
        }
    }

    /// The sum of the counts of some events, by their positions in the set.
    fn sum(&self, events: &[usize]) -> Quantity {
        let of_process = self.set.added_per_process.as_deref().unwrap_or_default();
        let of_event = |&event: &usize| of_process.get(event).copied().unwrap_or(0.0);
        let added = self.tasks_per_op * events.iter().map(of_event).sum::<f64>();
        Quantity { events: events.to_vec(), added }
    }

    /// The groups whose instructions per op are those of the lower mode. With few groups, or where a
    /// group is one op, which may take another path, there is no mode, and all of them are.
    fn without_interrupts(&self, work: &Quantity) -> Vec<&CleanGroup<'a>> {
        /// Fewer values have no mode.
        const MIN_GROUPS: usize = 5;
        /// An interrupt is a larger share of any batch.
        const SAME: f64 = 0.002;
        let all = || self.clean.iter().collect();
        if self.clean.len() < MIN_GROUPS || self.context.plan.mode.is_single_shot() {
            return all();
        }
        let each: Vec<Option<f64>> =
            self.clean.iter().map(|group| self.per_op(group, work)).collect();
        let known: Vec<f64> = each.iter().copied().flatten().collect();
        let Some(mode) = robust::lower_mode(&order::sorted(&known)) else { return all() };
        let is_same = |value: &Option<f64>| {
            value.is_some_and(|value| (value - mode).abs() <= SAME * mode.abs())
        };
        self.clean.iter().zip(&each).filter(|(_, value)| is_same(value)).map(|it| it.0).collect()
    }

    /// The time per op of a group. Where others had the CPU in between it is the time on the CPU, since
    /// only batches of ops that do not sleep are called preempted; `None` if that was not counted.
    fn time_ns(&self, group: &CleanGroup<'_>, task_clock: Option<&Quantity>) -> Option<f64> {
        match group.is_preempted {
            true => self.per_op(group, task_clock?),
            false => group.time_ns,
        }
    }

    /// What a batch without an op shows, the median; 0 without such batches.
    fn empty(&self, quantity: &Quantity) -> f64 {
        median(self.set.empty.iter().filter_map(|batch| quantity.of(batch))).unwrap_or(0.0)
    }

    /// A quantity per op in a group of batches, without what reading and inheriting add.
    fn per_op(&self, group: &CleanGroup<'_>, quantity: &Quantity) -> Option<f64> {
        let with_inheritance = match group.batches {
            [only] if !self.context.plan.mode.is_slope() => {
                let ops = only.sample.n as f64;
                (ops > 0.0).then_some((quantity.of(only)? - self.empty(quantity)) / ops)
            }
            batches => {
                let points = batches.iter().map(|it| Some((it.sample.n as f64, quantity.of(it)?)));
                line::slope(points.collect::<Option<Vec<_>>>()?.into_iter())
            }
        };
        with_inheritance.map(|value| value - quantity.added)
    }

    fn shortest<'b>(group: &CleanGroup<'b>) -> Option<&'b CountedBatch> {
        group.batches.iter().filter(|it| it.sample.n > 0).min_by_key(|it| it.sample.n)
    }

    /// The median, or the mean, over these groups.
    fn figure(&self, quantity: &Quantity, groups: &[&CleanGroup<'_>]) -> Option<CountedFigure> {
        let values: Vec<f64> =
            groups.iter().filter_map(|group| self.per_op(group, quantity)).collect();
        let raw = groups.iter().filter_map(|group| {
            let batch = Self::shortest(group)?;
            Some(quantity.of(batch)? / batch.sample.n as f64)
        });
        let ops =
            median(groups.iter().filter_map(|group| Some(Self::shortest(group)?.sample.n as f64)))?;
        Some(CountedFigure {
            value: self.centre.of(values.iter().copied())?,
            raw: self.centre.of(raw)?,
            overhead: Some(self.empty(quantity) / ops + quantity.added),
            batches: values.len(),
            ops,
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    order::median(&order::sorted(&values.collect::<Vec<_>>()))
}

/// `None` unless both are above 0: an op without instructions has no cycles per instruction.
fn quotient((of, by): (f64, f64)) -> Option<f64> {
    (of > 0.0 && by > 0.0).then(|| of / by)
}
