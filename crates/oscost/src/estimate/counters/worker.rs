//! The figures of one worker that counted events.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::{CPI, CountedBatch, CountedSet, CounterEvent, EventCounts, GHZ, INSN};
use oscost_stats::{line, order, robust};

use crate::estimate::worker::{MIN_CLEAN_SHARE, SampleContext, batches};

/// A figure of a counting worker, per op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::estimate) struct CountedFigure {
    /// Without what reading the counters adds.
    pub(in crate::estimate) value: f64,
    /// With it.
    pub(in crate::estimate) raw: f64,
    /// What reading and inheriting the counters add to an op of the shortest batch; `None` for
    /// quotients.
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
    /// The time per op in the first set that has counts, in nanoseconds.
    pub(in crate::estimate) time_ns: Option<f64>,
    /// Its part on a CPU.
    pub(in crate::estimate) running_ns: Option<f64>,
    /// Cycles per instruction of whole batches, loop and counter reads included: it exists for an
    /// op without instructions too.
    pub(in crate::estimate) whole_cpi: Option<f64>,
    /// Why sets have no figures.
    pub(in crate::estimate) void: BTreeSet<String>,
}

/// A quantity of a batch.
#[derive(Clone, Copy)]
struct Quantity<'a> {
    of: &'a dyn Fn(&CountedBatch) -> Option<f64>,
    /// What inheriting the counters adds to an op that creates processes.
    added_per_op: f64,
}

/// How the value of a worker follows from its batches.
#[derive(Clone, Copy)]
enum Centre {
    /// Interrupts only add to it.
    LowerMode,
    Median,
}

/// Reads the counts of a worker whose ops create so many tasks each.
pub(in crate::estimate) fn counted_figures(
    counts: &EventCounts,
    context: SampleContext<'_>,
    tasks_per_op: f64,
) -> CountedFigures {
    let mut found = CountedFigures::default();
    for set in &counts.sets {
        match SetReader::new(set, context, tasks_per_op) {
            Ok(reader) => reader.read_into(&mut found, counts.inherited),
            Err(why) => {
                found.void.insert(why);
            }
        }
    }
    found
}

/// A set whose batches are valid.
struct SetReader<'a> {
    set: &'a CountedSet,
    context: SampleContext<'a>,
    tasks_per_op: f64,
    /// The undisturbed batches, or groups of a slope mode, with their time per op.
    clean: Vec<CleanGroup<'a>>,
}

struct CleanGroup<'a> {
    batches: &'a [CountedBatch],
    time_ns: Option<f64>,
}

impl<'a> SetReader<'a> {
    /// A reader of a set; the error says why it has no figures.
    fn new(
        set: &'a CountedSet,
        context: SampleContext<'a>,
        tasks_per_op: f64,
    ) -> Result<Self, String> {
        if let Some(why) = &set.void {
            return Err(why.clone());
        }
        let all = || set.batches.iter().chain(&set.empty);
        if all().any(|batch| batch.counts.len() != set.events.len()) {
            return Err("a batch does not have a count for each event".to_owned());
        }
        // The worker checks this, too; a scaled count is never used.
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
        let is_clean = |it: &(&[CountedBatch], _)| -> bool {
            let (_, timed): &(_, &crate::estimate::worker::Batch) = it;
            timed.disturbed.is_none()
        };
        let count = groups.len();
        let clean: Vec<CleanGroup<'a>> = groups
            .into_iter()
            .zip(&timed)
            .filter(is_clean)
            .map(|(batches, timed)| CleanGroup { batches, time_ns: timed.value })
            .collect();
        if clean.is_empty() || (clean.len() as f64) < MIN_CLEAN_SHARE * count as f64 {
            return Err(format!(
                "{} of {count} counted batches were disturbed",
                count - clean.len()
            ));
        }
        Ok(Self { set, context, tasks_per_op, clean })
    }

    /// What inheriting the counters adds to an event per op.
    fn added_per_op(&self, index: usize) -> f64 {
        let added = self.set.added_per_process.as_ref().and_then(|added| added.get(index));
        added.map_or(0.0, |added| added * self.tasks_per_op)
    }

    fn read_into(&self, found: &mut CountedFigures, inherited: bool) {
        let of_index =
            |index: usize| move |batch: &CountedBatch| batch.counts.get(index).map(|&it| it as f64);
        for (index, &event) in self.set.events.iter().enumerate() {
            let count = of_index(index);
            let centre = match event {
                // Neither is a count of what an op does: both vary with the core.
                CounterEvent::Cycles | CounterEvent::TaskClock => Centre::Median,
                _ => Centre::LowerMode,
            };
            let quantity = Quantity { of: &count, added_per_op: self.added_per_op(index) };
            let figure = self.figure(quantity, centre);
            found.figures.extend(figure.map(|figure| (event.metric(), figure)));
        }
        let index_of = |event| self.set.events.iter().position(|&it| it == event);
        let user = index_of(CounterEvent::InstructionsUser);
        let kernel = index_of(CounterEvent::InstructionsKernel);
        let both = |batch: &CountedBatch| {
            let count = |index: Option<usize>| match index {
                Some(index) => of_index(index)(batch),
                None => Some(0.0),
            };
            Some(count(user)? + count(kernel)?)
        };
        let added = |index: Option<usize>| index.map_or(0.0, |index| self.added_per_op(index));
        let added_per_op = added(user) + added(kernel);
        let instructions = user.map(|_| Quantity { of: &both, added_per_op });
        if let (Some(instructions), Some(_)) = (instructions, kernel) {
            let figure = self.figure(instructions, Centre::LowerMode);
            found.figures.extend(figure.map(|figure| (INSN, figure)));
        }
        let time_ns = self.median(|group| group.time_ns);
        found.time_ns = found.time_ns.or(time_ns);
        // The time of a task on a CPU is by the counted event, else by its thread's clock, which
        // has no other task's time. An op that does not sleep runs for all of its time.
        let task_clock = index_of(CounterEvent::TaskClock);
        let by_event = |batch: &CountedBatch| of_index(task_clock?)(batch);
        let cpu_ns = |batch: &CountedBatch| Some(batch.sample.cpu_ns? as f64);
        let wall_ns = |batch: &CountedBatch| Some(self.context.clock.ns(batch.sample.ticks as f64));
        let own = |of| Some(Quantity { of, added_per_op: 0.0 });
        let running: Option<Quantity<'_>> = match task_clock {
            Some(index) => Some(Quantity { of: &by_event, added_per_op: self.added_per_op(index) }),
            None if inherited => None,
            None if self.set.batches.iter().all(|it| it.sample.cpu_ns.is_some()) => own(&cpu_ns),
            None if !self.context.switches => own(&wall_ns),
            None => None,
        };
        let running_figure = running.and_then(|running| self.figure(running, Centre::Median));
        found.running_ns = found.running_ns.or(running_figure.map(|it| it.value));
        let Some(index) = index_of(CounterEvent::Cycles) else { return };
        let count = of_index(index);
        let cycles = Quantity { of: &count, added_per_op: self.added_per_op(index) };
        if let Some(instructions) = instructions {
            let cpi = self.quotient(cycles, instructions);
            found.figures.extend(cpi.map(|figure| (CPI, figure)));
            let sum = |quantity: Quantity<'_>| {
                let batches = self.clean.iter().flat_map(|group| group.batches);
                batches.map(quantity.of).sum::<Option<f64>>()
            };
            found.whole_cpi = sum(cycles).zip(sum(instructions)).and_then(quotient);
        }
        let ghz = running.and_then(|running| self.quotient(cycles, running));
        found.figures.extend(ghz.map(|figure| (GHZ, figure)));
    }

    fn median(&self, of: impl Fn(&CleanGroup<'_>) -> Option<f64>) -> Option<f64> {
        order::median(&order::sorted(&self.clean.iter().filter_map(of).collect::<Vec<_>>()))
    }

    /// What a batch without an op shows, the median; 0 without such batches.
    fn empty(&self, of: Quantity<'_>) -> f64 {
        let empty: Vec<f64> = self.set.empty.iter().filter_map(of.of).collect();
        order::median(&order::sorted(&empty)).unwrap_or(0.0)
    }

    /// A quantity per op in a group of batches.
    fn per_op(&self, group: &CleanGroup<'_>, of: Quantity<'_>) -> Option<f64> {
        match group.batches {
            [only] if !self.context.plan.mode.is_slope() => {
                let ops = only.sample.n as f64;
                (ops > 0.0).then_some(((of.of)(only)? - self.empty(of)) / ops - of.added_per_op)
            }
            batches => {
                let points = batches.iter().map(|it| Some((it.sample.n as f64, (of.of)(it)?)));
                let slope = line::slope(points.collect::<Option<Vec<_>>>()?.into_iter());
                slope.map(|slope| slope - of.added_per_op)
            }
        }
    }

    fn shortest<'b>(group: &CleanGroup<'b>) -> Option<&'b CountedBatch> {
        group.batches.iter().filter(|it| it.sample.n > 0).min_by_key(|it| it.sample.n)
    }

    fn figure(&self, of: Quantity<'_>, centre: Centre) -> Option<CountedFigure> {
        let values: Vec<f64> =
            self.clean.iter().filter_map(|group| self.per_op(group, of)).collect();
        let values = order::sorted(&values);
        let centre = match centre {
            Centre::LowerMode => robust::lower_mode,
            Centre::Median => order::median,
        };
        let raw: Vec<f64> = self
            .clean
            .iter()
            .filter_map(|group| {
                let batch = Self::shortest(group)?;
                Some((of.of)(batch)? / batch.sample.n as f64)
            })
            .collect();
        let ops = self.median(|group| Some(Self::shortest(group)?.sample.n as f64))?;
        Some(CountedFigure {
            value: centre(&values)?,
            raw: centre(&order::sorted(&raw))?,
            overhead: Some(self.empty(of) / ops + of.added_per_op),
            batches: values.len(),
            ops,
        })
    }

    /// The quotient of two quantities of the same batches.
    fn quotient(&self, of: Quantity<'_>, by: Quantity<'_>) -> Option<CountedFigure> {
        let values: Vec<f64> = self
            .clean
            .iter()
            .filter_map(|group| quotient((self.per_op(group, of)?, self.per_op(group, by)?)))
            .collect();
        let raw: Vec<f64> = self
            .clean
            .iter()
            .filter_map(|group| {
                let batch = Self::shortest(group)?;
                quotient(((of.of)(batch)?, (by.of)(batch)?))
            })
            .collect();
        Some(CountedFigure {
            value: order::median(&order::sorted(&values))?,
            raw: order::median(&order::sorted(&raw))?,
            overhead: None,
            batches: values.len(),
            ops: self.median(|group| Some(Self::shortest(group)?.sample.n as f64))?,
        })
    }
}

/// `None` unless both are above 0: an op without instructions has no cycles per instruction.
fn quotient((of, by): (f64, f64)) -> Option<f64> {
    (of > 0.0 && by > 0.0).then(|| of / by)
}
