//! The runs of a series as points: which of them are one, what each counts, and how far neighbours
//! hang together.

use std::time::{Duration, SystemTime};

use super::super::comparing::lag_one;
use super::super::order;

/// A run's value in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The logarithm of the figure.
    pub log: f64,
    /// Half of the figure's interval, as a share of the figure; `None` where it has none.
    pub unsure: Option<f64>,
    /// When the run began; `None` where nobody knows.
    pub began: Option<SystemTime>,
}

/// Runs that began within this time of the first of them are one point. The state of a machine
/// outlasts a run: ten runs in a row say once what a day is like, and not ten times.
const BURST: Duration = Duration::from_secs(3_600);

/// The points of some runs, each with the first of its runs: the median of those made in one go,
/// and a run by itself where it does not tell when it began. `None` where a figure is no number.
pub(super) fn bursts(runs: &[Point]) -> Option<Vec<(usize, Point)>> {
    if !runs.iter().all(|run| run.log.is_finite()) {
        return None;
    }
    let mut points = Vec::new();
    let mut first = 0;
    while first < runs.len() {
        let with_first = |run: &&Point| match (runs[first].began, run.began) {
            (Some(first), Some(it)) => it.duration_since(first).is_ok_and(|after| after < BURST),
            _ => false,
        };
        let more = runs[first + 1..].iter().take_while(with_first).count();
        let burst = &runs[first..=first + more];
        let log = order::median(&order::sorted(&logs(burst)))?;
        points.push((first, Point { log, unsure: usually_unsure(burst), ..runs[first] }));
        first += burst.len();
    }
    Some(points)
}

/// A change of less is not worth mentioning, however sure.
const MARGIN: f64 = 0.02;

/// What a change among some points must be at least to be worth mentioning, as a logarithm: 2 %, or
/// twice what one of them is usually unsure by.
pub(super) fn least(points: &[Point]) -> f64 {
    MARGIN.max(2.0 * usually_unsure(points).unwrap_or(0.0)).ln_1p()
}

/// What a point is unsure by, where what it says of that can be so.
fn unsure(point: &Point) -> Option<f64> {
    point.unsure.filter(|it| it.is_finite() && *it >= 0.0)
}

/// What half of those points that tell it are unsure by, at most.
fn usually_unsure(points: &[Point]) -> Option<f64> {
    let told: Vec<f64> = points.iter().filter_map(unsure).collect();
    order::median(&order::sorted(&told))
}

pub(super) fn logs(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.log).collect()
}

/// No point counts less than this: see [`weights`].
const LEAST_WEIGHT: f64 = 0.25;

/// How much each point counts: the inverse square of what it is unsure by, relative to what points
/// usually are, from a quarter to 1. It is a mass: distances of points are averaged by the product
/// of theirs, and a part weighs what its points weigh together. Where points are shuffled their
/// weights go along, so that p stays that of chance.
///
/// No point counts more than the usual one. An interval of a dozen repetitions is itself unsure by
/// a third, and runs differ by more than their intervals say: a run that claims to be ten times
/// surer than the others would count a hundredfold, and be a part by itself. One that does not tell
/// counts as the usual one.
///
/// And none counts less than a quarter of it. A figure that gets dearer often gets less sure as
/// well: all that is new would count for nothing, and its change would never be found. Nor may a
/// part weigh so little that nothing but rounding is left of it.
pub(super) fn weights(points: &[Point]) -> Vec<f64> {
    let usual = usually_unsure(points).unwrap_or(0.0);
    let weight = |point: &Point| match unsure(point) {
        Some(unsure) if unsure > usual && usual > 0.0 => (usual / unsure).powi(2),
        _ => 1.0,
    };
    points.iter().map(|point| weight(point).max(LEAST_WEIGHT)).collect()
}

/// Neighbours hang together where the autocorrelation of what they stray by is more than this. A
/// full window of points that do not seems to have so much once in seven times, and loses little.
const TOGETHER: f64 = 0.1;
/// No more than this is taken out: of points that are nearly each the one before, nothing is left.
const MOST_TAKEN: f64 = 0.9;

/// The share of what a point strays by that its neighbour strays by as well, around the medians of
/// some levels, which lie between bounds; `None` where it is too little to matter.
///
/// A level that is taken from the points themselves takes (1 + 3 share) / n of it away [Kendall
/// 1954], and each further one as much again.
pub(super) fn together(logs: &[f64], bounds: &[usize]) -> Option<f64> {
    let mut strays = Vec::with_capacity(logs.len());
    for of in bounds.windows(2) {
        let part = &logs[of[0]..of[1]];
        let level = order::median(&order::sorted(part))?;
        strays.extend(part.iter().map(|log| log - level));
    }
    let share = lag_one(&strays).filter(|it| *it > TOGETHER)?;
    let (points, levels) = (logs.len() as f64, (bounds.len() - 1) as f64);
    Some(((points * share + levels) / (points - 3.0 * levels)).min(MOST_TAKEN))
}

/// What each point says that the one before it did not: of points of which each keeps a share of
/// how far its neighbour strayed, the strays of their own.
pub(super) fn whitened(logs: &[f64], share: f64) -> Vec<f64> {
    let middle = order::median(&order::sorted(logs)).unwrap_or(0.0);
    // The first has no neighbour and strays by as much as all do, which is more.
    let first = logs
        .first()
        .map(|log| (1.0 - share) * middle + (1.0 - share * share).sqrt() * (log - middle));
    first.into_iter().chain(logs.windows(2).map(|two| two[1] - share * two[0])).collect()
}
