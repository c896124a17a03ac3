//! Counts of several runs, each a value: the median over its counting workers. How far these agree does
//! not show how far runs do.
//!
//! Counts are compared within a boot and a worker, so of each side only some runs may take part.

use std::collections::BTreeMap;

use oscost_model::counters::{CPI, CounterEvent, GHZ, INSN};
use oscost_model::record::{CountedMedian, CountedMedians, CountedRepetition};
use oscost_stats::order;

use super::origin::{CountOrigin, OTHER_TASKS};
use super::term::{Matching, Sides};

/// Fewer runs of a side do not show how far they vary.
const MIN_RUNS: usize = 3;

/// What was counted of a case in a run.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct CountedRun<'a> {
    pub(in crate::estimate) origin: CountOrigin<'a>,
    pub(in crate::estimate) medians: &'a CountedMedians,
}

/// What the counts of two runs must have in common to be compared.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Comparable<'a> {
    worker: &'a str,
    boot: &'a str,
    /// Whether the kernel's instructions are among them.
    sees_kernel: bool,
    inherited: bool,
}

/// Runs of two sides that can be compared.
struct ComparableSides<'a> {
    base: Vec<CountedRun<'a>>,
    new: Vec<CountedRun<'a>>,
}

impl ComparableSides<'_> {
    fn smaller(&self) -> usize {
        self.base.len().min(self.new.len())
    }
}

/// The runs of two sides that can be compared, a value each.
pub(in crate::estimate) struct RunValues {
    pub(in crate::estimate) base: Vec<CountedRepetition>,
    pub(in crate::estimate) new: Vec<CountedRepetition>,
    /// What counting added to the time of an op, new over base; `None` if unknown.
    pub(in crate::estimate) counting: Option<f64>,
}

impl RunValues {
    /// The values of these runs; the error says why none of them can be compared. Of several boots or
    /// workers, those with most runs on their smaller side take part.
    pub(in crate::estimate) fn of(
        base: &[CountedRun<'_>],
        new: &[CountedRun<'_>],
    ) -> Result<Self, &'static str> {
        let (Some(last), Some(first)) = (base.last(), new.first()) else {
            return Err("none of the runs of a side has counts");
        };
        let mut of_new = comparable_runs(new);
        let both = comparable_runs(base).into_iter().filter_map(|(of, base)| {
            let new = of_new.remove(&of)?;
            Some(ComparableSides { base, new })
        });
        match both.max_by_key(ComparableSides::smaller) {
            None => Err(difference(last, first)),
            Some(sides) if sides.smaller() < MIN_RUNS => {
                Err("fewer than three runs of one boot and worker on a side have counts")
            }
            Some(ComparableSides { base, new }) => Ok(Self::of_comparable(&base, &new)),
        }
    }

    fn of_comparable(base: &[CountedRun<'_>], new: &[CountedRun<'_>]) -> Self {
        let values = |runs: &[CountedRun<'_>]| -> Vec<CountedRepetition> {
            (0..).zip(runs).map(|(number, run)| value(number, run.medians)).collect()
        };
        let both = counting(base).zip(counting(new));
        Self {
            base: values(base),
            new: values(new),
            counting: both.filter(|(from, _)| *from > 0.0).map(|(from, to)| to / from),
        }
    }

    /// Both sides.
    pub(in crate::estimate) fn sides(&self) -> Sides<'_> {
        Sides { base: &self.base, new: &self.new, matching: Matching::Runs, variation: None }
    }
}

/// The runs that can be compared with others, by what they must have in common.
fn comparable_runs<'a>(runs: &[CountedRun<'a>]) -> BTreeMap<Comparable<'a>, Vec<CountedRun<'a>>> {
    let mut found: BTreeMap<Comparable<'a>, Vec<CountedRun<'a>>> = BTreeMap::new();
    for &run in runs {
        let CountOrigin { worker, boot: Some(boot) } = run.origin else { continue };
        let (sees_kernel, inherited) = (run.medians.insn.is_some(), run.medians.inherited);
        found.entry(Comparable { worker, boot, sees_kernel, inherited }).or_default().push(run);
    }
    found
}

/// Why no run of the base can be compared with one of the other side, by the last and the first.
fn difference(last: &CountedRun<'_>, first: &CountedRun<'_>) -> &'static str {
    let others = || match last.medians.inherited == first.medians.inherited {
        true => "the kernel's instructions were visible on one side only",
        false => OTHER_TASKS,
    };
    last.origin.difference(first.origin).unwrap_or_else(others)
}

/// A run in place of a worker.
fn value(number: u32, it: &CountedMedians) -> CountedRepetition {
    let figure = |name: &str, of: Option<CountedMedian>| Some((name.to_owned(), of?.median));
    let figures = [
        figure(INSN, it.insn),
        figure(CounterEvent::InstructionsUser.metric(), it.insn_user),
        figure(CounterEvent::InstructionsKernel.metric(), it.insn_kernel),
        figure(CPI, it.cpi),
        figure(GHZ, it.ghz),
    ];
    CountedRepetition {
        round: number,
        at_s: 0.0,
        figures: figures.into_iter().flatten().collect(),
        time_ns: it.time_ns,
        running_ns: it.running_ns,
    }
}

/// What counting added to the time of an op in runs of a side.
fn counting(runs: &[CountedRun<'_>]) -> Option<f64> {
    let ratios = runs.iter().filter_map(|it| it.medians.counted_time_ratio);
    order::median(&order::sorted(&ratios.collect::<Vec<f64>>()))
}
