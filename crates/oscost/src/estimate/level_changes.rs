//! Why the level of a series changed, by what the processor counted in the runs of both levels.

use oscost_model::record::{Decomposition, Ratio};
use oscost_model::unit::Unit;

use super::counters::decomposition::{TimedChange, decomposition};
use super::counters::origin::CountOrigin;
use super::counters::run_values::{CountedRun, RunValues};
use super::history::{CountedRuns, Point, RunCounts, Series};

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
    let found = changes.map(|(change, levels)| {
        let ratio = Ratio { value: change.ratio, ci95: change.ci95 };
        explanation(&levels[0], &levels[1], &ratio)
    });
    let found: Vec<Explanation> = found.collect();
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

fn explanation(before: &[&RunCounts], since: &[&RunCounts], ratio: &Ratio) -> Explanation {
    match (before.is_empty(), since.is_empty()) {
        (true, true) => return Explanation::NothingCounted,
        (true, false) => return Explanation::Impossible("none of the runs before has counts"),
        (false, true) => return Explanation::Impossible("none of the runs since has counts"),
        (false, false) => {}
    }
    let values = match RunValues::of(&counted_runs(before), &counted_runs(since)) {
        Ok(values) => values,
        Err(why) => return Explanation::Impossible(why),
    };
    match decomposition(values.sides(), TimedChange::of(ratio, values.counting)) {
        Some(found) => Explanation::Found {
            decomposition: Box::new(found),
            runs: CountedRuns { before: values.base.len(), since: values.new.len() },
        },
        None => Explanation::Impossible("a side has no instructions above zero"),
    }
}

/// The runs of a level.
fn counted_runs<'a>(level: &[&'a RunCounts]) -> Vec<CountedRun<'a>> {
    level.iter().map(|&it| CountedRun { origin: origin(it), medians: &it.medians }).collect()
}

fn origin(of: &RunCounts) -> CountOrigin<'_> {
    CountOrigin { worker: &of.worker, boot: of.boot.as_deref() }
}

#[cfg(test)]
mod tests;
