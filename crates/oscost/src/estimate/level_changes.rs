//! Why the level of a series changed, by what the processor counted in the runs of both levels.
//!
//! A run is one value here, the median over its counting workers: how far these agree does not show
//! how far runs do. Counts are compared within a boot and a worker, so of each level only some runs
//! may take part.

use std::collections::BTreeMap;

use oscost_model::counters::{CPI, CounterEvent, GHZ, INSN};
use oscost_model::record::{CountedMedian, CountedRepetition, Decomposition};
use oscost_model::unit::Unit;
use oscost_stats::order;

use super::counters::decomposition::{TimedChange, decomposition};
use super::counters::origin::{CountOrigin, OTHER_TASKS};
use super::counters::term::{Matching, Sides};
use super::history::{CountedRuns, Point, RunCounts, Series};

/// Fewer runs of a level do not show how far they vary.
const MIN_RUNS: usize = 3;

/// Says of each change of a series why the figure changed, where runs of both levels have counts.
pub fn explain_changes(series: &mut Series) {
    // Counts explain a time, not one that is given in cycles.
    if !matches!(series.unit, Unit::NsPerOp | Unit::Seconds) {
        return;
    }
    let (bounds, points) = (series.level_bounds(), &series.points);
    let levels = bounds.windows(2).map(|of| points.get(of[0]..of[1]).unwrap_or(&[]));
    let levels: Vec<Vec<&RunCounts>> = levels.map(counts).collect();
    let changes = series.changes.iter().zip(levels.windows(2));
    let found: Vec<Explanation> =
        changes.map(|(change, levels)| explanation(&levels[0], &levels[1], change.ratio)).collect();
    for (change, found) in series.changes.iter_mut().zip(found) {
        match found {
            Explanation::Found { decomposition, runs } => {
                (change.decomposition, change.counted_runs) = (Some(*decomposition), Some(runs));
            }
            Explanation::Impossible(why) => change.not_decomposed = Some(why.to_owned()),
            Explanation::NothingCounted => {}
        }
    }
}

/// What was counted in the runs of a level.
fn counts(level: &[Point]) -> Vec<&RunCounts> {
    level.iter().filter_map(|it| it.counts.as_ref()).collect()
}

/// What the counts say of a change.
#[derive(Debug)]
enum Explanation {
    Found {
        decomposition: Box<Decomposition>,
        runs: CountedRuns,
    },
    /// They say nothing, for this reason.
    Impossible(&'static str),
    NothingCounted,
}

fn explanation(before: &[&RunCounts], since: &[&RunCounts], ratio: f64) -> Explanation {
    let (Some(last), Some(first)) = (before.last(), since.first()) else {
        return match before.is_empty() && since.is_empty() {
            true => Explanation::NothingCounted,
            false if before.is_empty() => {
                Explanation::Impossible("none of the runs before has counts")
            }
            false => Explanation::Impossible("none of the runs since has counts"),
        };
    };
    let (before, mut since) = (comparable_runs(before), comparable_runs(since));
    let both = before.into_iter().filter_map(|(of, before)| {
        let since = since.remove(&of)?;
        Some(Levels { before, since })
    });
    // Of several boots or workers, that with most runs on its smaller side.
    match both.max_by_key(Levels::smaller_side) {
        None => Explanation::Impossible(difference(last, first)),
        Some(levels) if levels.smaller_side() < MIN_RUNS => Explanation::Impossible(
            "fewer than three runs of one boot and worker on a side have counts",
        ),
        Some(levels) => levels.explanation(ratio),
    }
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

/// The runs that can be compared with others, by what they must have in common.
fn comparable_runs<'a>(runs: &[&'a RunCounts]) -> BTreeMap<Comparable<'a>, Vec<&'a RunCounts>> {
    let mut found: BTreeMap<Comparable<'_>, Vec<&RunCounts>> = BTreeMap::new();
    for &run in runs {
        let RunCounts { worker, boot: Some(boot), medians } = run else { continue };
        let (sees_kernel, inherited) = (medians.insn.is_some(), medians.inherited);
        found.entry(Comparable { worker, boot, sees_kernel, inherited }).or_default().push(run);
    }
    found
}

/// Why no run before a change can be compared with one since, by the two around it.
fn difference(last: &RunCounts, first: &RunCounts) -> &'static str {
    let others = || match last.medians.inherited == first.medians.inherited {
        true => "the kernel's instructions were visible on one side only",
        false => OTHER_TASKS,
    };
    origin(last).difference(origin(first)).unwrap_or_else(others)
}

fn origin(of: &RunCounts) -> CountOrigin<'_> {
    CountOrigin { worker: &of.worker, boot: of.boot.as_deref() }
}

/// Comparable runs of two levels.
struct Levels<'a> {
    before: Vec<&'a RunCounts>,
    since: Vec<&'a RunCounts>,
}

impl Levels<'_> {
    fn smaller_side(&self) -> usize {
        self.before.len().min(self.since.len())
    }

    fn explanation(&self, ratio: f64) -> Explanation {
        let values = |runs: &[&RunCounts]| -> Vec<CountedRepetition> {
            (0..).zip(runs).map(|(number, run)| value(number, run)).collect()
        };
        let (base, new) = (values(&self.before), values(&self.since));
        let sides = Sides { base: &base, new: &new, matching: Matching::Runs };
        let both = counting(&self.before).zip(counting(&self.since));
        let counting = both.filter(|(from, _)| *from > 0.0).map(|(from, to)| to / from);
        match decomposition(sides, TimedChange { log_ratio: ratio.ln(), counting }) {
            Some(found) => Explanation::Found {
                decomposition: Box::new(found),
                runs: CountedRuns { before: base.len(), since: new.len() },
            },
            None => Explanation::Impossible("a side has no instructions above zero"),
        }
    }
}

/// A run in place of a worker.
fn value(number: u32, run: &RunCounts) -> CountedRepetition {
    let it = &run.medians;
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

/// What counting added to the time of an op in runs of a level.
fn counting(runs: &[&RunCounts]) -> Option<f64> {
    let ratios = runs.iter().filter_map(|it| it.medians.counted_time_ratio);
    order::median(&order::sorted(&ratios.collect::<Vec<f64>>()))
}

#[cfg(test)]
mod tests;
