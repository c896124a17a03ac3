//! Change points of a series with one value per run.
//!
//! E-divisive with means (Matteson and James 2014): the split of a series into the two parts that
//! are farthest apart, with a permutation test of how often chance separates two parts as far. A t
//! test at the position of the largest t is not valid, since it ignores the search over all
//! positions (docs/explanation/METHOD.md, section 15).

mod runs;
mod split;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::comparison::{Difference, benjamini_hochberg, median_difference};
use super::interval::{Interval, Nominal, median_hs};
use super::order;
pub use runs::RunValue;
use runs::{logs, merge_bursts, min_log_change, prewhiten, residual_autocorrelation, weights};
pub use split::MIN_SEGMENT_POINTS;
use split::{Item, StrongestSplit, shuffle, strongest_split};

/// The number of newest points that are searched. Older ones were searched when they were new, and
/// the time grows with the square of the points. Runs that started within an hour are one point.
pub const WINDOW_POINTS: usize = 60;
/// The minimum number of points for a significant change. With nine points the clearest change has
/// p = 2/126, since there are 126 ways to choose four of them; with ten it is 2/252, below 1 %.
pub const MIN_POINTS: usize = 10;
/// Permutations of a full window of a single series: with 199 the smallest p is 0.005, half of
/// [`MAX_P`].
const SHUFFLES: usize = 199;
/// Additional permutations per series. One discovery among m series needs p = 0.05 / m, which 20 m
/// permutations barely reach; with twice as many, one exceedance does not prevent it.
const SHUFFLES_PER_SERIES: usize = 40;
/// The maximum number of permutations; among more than a thousand series a discovery needs several
/// that changed.
const MAX_SHUFFLES: usize = 19_999;
/// Below this number of points the maximum number of permutations is used: for 12 points with a
/// step after 3, 2 of 220 orders separate them as well.
const FEW_POINTS: usize = 20;
/// After this many exceedances the test stops early (Besag and Clifford 1991).
const MAX_EXCEEDANCES: usize = MAX_SHUFFLES / 100 + 1;
/// The maximum p value of a change.
const MAX_P: f64 = 0.01;
/// The maximum expected share of false discoveries among the changed series.
const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// The number of newest points that the fast rule tests.
pub const NEWEST_POINTS: usize = 3;
/// The number of points before them that they are compared with.
pub const PRECEDING_POINTS: usize = 20;

/// A change of the level of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The index of the first run after it.
    pub first: usize,
    /// The median logarithm before it, since the previous change or the start of the window.
    pub from: f64,
    /// The median logarithm after it, up to the next change.
    pub to: f64,
    /// The interval of `to - from`; `None` if one of the two segments has fewer than six points.
    pub interval: Option<Interval>,
    /// The p value of the permutation test in the part of the window that was split here.
    pub p: f64,
}

/// The changes of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesChanges {
    /// The changes, in order; empty if the series is not a discovery.
    pub changes: Vec<Change>,
    /// The p value of the first split of the whole window.
    pub p: f64,
    /// The p value adjusted for the false discovery rate over all series. It refers to the series
    /// as a whole, not to each of its changes.
    pub q: f64,
    /// Whether the series has significant changes that the correction over all series rejected.
    pub rejected_by_correction: bool,
    /// The lag-one autocorrelation, if it was large enough to be removed before the test.
    pub autocorrelation: Option<f64>,
    /// The number of points: fewer than runs if some started within an hour of each other.
    pub points: usize,
}

/// Finds the changes of several series, each in the order of its runs. The seed determines the
/// permutations. A series affects the others only by the correction for multiple series.
///
/// `None` for a series with fewer than [`MIN_POINTS`] points or with values that are not finite; it
/// is not counted in the correction.
pub fn changes(series: &[Vec<RunValue>], seed: u64) -> Vec<Option<SeriesChanges>> {
    let mut all: Vec<Option<Series>> = series.iter().map(|runs| Series::of(runs, seed)).collect();
    let mut splits: Vec<Split> = all.iter_mut().flatten().map(Series::first).collect();
    let testable: Vec<&Series> = all.iter().flatten().collect();
    let q_values = |splits: &[Split]| {
        benjamini_hochberg(&splits.iter().map(|split| split.p).collect::<Vec<_>>())
    };
    // A series that only the correction rejects is tested again with more permutations. The new p
    // replaces the old one, so repeating the test gives no advantage.
    let more = (SHUFFLES_PER_SERIES * testable.len()).min(MAX_SHUFFLES);
    for (at, q) in q_values(&splits).into_iter().enumerate() {
        if more > shuffle_count(testable[at].points.len())
            && splits[at].p <= MAX_P
            && q > MAX_FALSE_DISCOVERY_RATE
        {
            splits[at] = testable[at].split(&testable[at].whole(), more);
        }
    }
    let q = q_values(&splits);
    let mut found = testable.iter().zip(&splits).zip(q).map(|((it, split), q)| {
        let changes = if split.p <= MAX_P { it.changes(split) } else { Vec::new() };
        let is_rejected = q > MAX_FALSE_DISCOVERY_RATE && !changes.is_empty();
        SeriesChanges {
            changes: if q <= MAX_FALSE_DISCOVERY_RATE { changes } else { Vec::new() },
            p: split.p,
            q,
            rejected_by_correction: is_rejected,
            autocorrelation: it.autocorrelation,
            points: it.points.len(),
        }
    });
    all.iter().map(|it| it.as_ref().and_then(|_| found.next())).collect()
}

/// The number of permutations for a number of points, in about constant time. With few points, the
/// p value of the clearest split is close to [`MAX_P`], and needs thousands of permutations.
fn shuffle_count(points: usize) -> usize {
    match points {
        0..FEW_POINTS => MAX_SHUFFLES,
        _ => (SHUFFLES * WINDOW_POINTS * WINDOW_POINTS / (points * points)).max(SHUFFLES),
    }
}

/// A series of points.
struct Series {
    points: Vec<RunValue>,
    /// The first run of each point.
    runs: Vec<usize>,
    /// The values that are permuted: logarithms, prewhitened if they are autocorrelated.
    logs: Vec<f64>,
    weights: Vec<f64>,
    autocorrelation: Option<f64>,
    seed: u64,
}

/// The best split of a part into two.
#[derive(Clone, Copy)]
struct Split {
    /// The first point of the second part.
    at: usize,
    p: f64,
}

impl Series {
    fn of(runs: &[RunValue], seed: u64) -> Option<Self> {
        let mut all = merge_bursts(runs)?;
        let window = all.split_off(all.len().saturating_sub(WINDOW_POINTS));
        let (runs, points): (Vec<usize>, Vec<RunValue>) =
            window.into_iter().map(|it| (it.first_run, it.value)).unzip();
        if points.len() < MIN_POINTS {
            return None;
        }
        let (logs, weights) = (logs(&points), weights(&points));
        Some(Self { points, runs, logs, weights, autocorrelation: None, seed })
    }

    /// The best split of the whole window. A significant split is tested again after removing
    /// autocorrelation, if there is much.
    fn first(&mut self) -> Split {
        let split = self.split(&self.whole(), 0);
        self.autocorrelation =
            if split.p <= MAX_P { self.autocorrelation_around(split.at) } else { None };
        let Some(share) = self.autocorrelation else { return split };
        self.logs = prewhiten(&self.logs, share);
        self.split(&self.whole(), 0)
    }

    /// The autocorrelation around the levels before and after a split, since a step itself causes
    /// autocorrelation. If one of the parts has a significant split too, there are three levels;
    /// more levels would absorb the autocorrelation.
    fn autocorrelation_around(&self, at: usize) -> Option<f64> {
        let all = self.points.len();
        let one = residual_autocorrelation(&self.logs, &[0, at, all])?;
        let parts = [0..at, at..all].into_iter().filter(|part| part.len() >= MIN_POINTS);
        let splits = parts.map(|part| self.split(&part, 0)).filter(|it| it.p <= MAX_P);
        match splits.min_by(|one, other| one.p.total_cmp(&other.p)) {
            Some(it) => {
                residual_autocorrelation(&self.logs, &[0, at.min(it.at), at.max(it.at), all])
            }
            None => Some(one),
        }
    }

    fn whole(&self) -> Range<usize> {
        0..self.points.len()
    }

    /// The strongest split of a part, and its p value by at least `min_shuffles` permutations.
    fn split(&self, part: &Range<usize>, min_shuffles: usize) -> Split {
        let shuffles = shuffle_count(part.len()).max(min_shuffles);
        let mut items: Vec<Item> = part.clone().map(|at| self.item(at, part)).collect();
        let StrongestSplit { at, strength } = strongest_split(&items);
        let at = part.start + at;
        // All values are equal up to rounding.
        if strength <= 0.0 {
            return Split { at, p: 1.0 };
        }
        // The random stream depends on the part only, not on the order of tests.
        let stream = (part.start as u64) << 32 | part.end as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ stream);
        let (mut done, mut exceedances) = (0, 0);
        while done < shuffles && exceedances < MAX_EXCEEDANCES {
            shuffle(&mut items, &mut random);
            done += 1;
            // The tolerance covers rounding in another order of summation.
            exceedances += usize::from(strongest_split(&items).strength >= strength * (1.0 - 1e-9));
        }
        Split { at, p: (1 + exceedances) as f64 / (1 + done) as f64 }
    }

    fn item(&self, at: usize, part: &Range<usize>) -> Item {
        let (log, weight) = (self.logs[at], self.weights[at]);
        let distances = part.clone().map(|it| self.weights[it] * (self.logs[it] - log).abs());
        Item { log, weight, distance_sum: weight * distances.sum::<f64>() }
    }

    /// All changes, by repeated splitting after the first split.
    fn changes(&self, first: &Split) -> Vec<Change> {
        let mut found = vec![*first];
        let mut parts = vec![0..first.at, first.at..self.points.len()];
        while let Some(part) = parts.pop() {
            if part.len() < MIN_POINTS {
                continue;
            }
            let split = self.split(&part, 0);
            if split.p <= MAX_P {
                parts.extend([part.start..split.at, split.at..part.end]);
                found.push(split);
            }
        }
        found.sort_by_key(|split| split.at);
        self.large_enough(found)
    }

    /// Removes changes that are too small to report, the weakest first, since merging two segments
    /// affects the adjacent changes.
    fn large_enough(&self, mut found: Vec<Split>) -> Vec<Change> {
        loop {
            let bounds: Vec<usize> = [0]
                .into_iter()
                .chain(found.iter().map(|split| split.at))
                .chain([self.points.len()])
                .collect();
            let around = bounds.windows(3).zip(&found);
            let judged: Vec<(Change, f64)> = around
                .map(|(of, split)| {
                    let change = self.change([of[0], of[1], of[2]], split.p);
                    let share = (change.to - change.from).abs()
                        / min_log_change(&self.points[of[0]..of[2]]);
                    // A change of the spread alone is not a change of the level.
                    let level = !change.interval.is_some_and(|it| it.contains(0.0));
                    (change, if level { share } else { 0.0 })
                })
                .collect();
            let weakest = judged.iter().enumerate().filter(|(_, (_, share))| *share < 1.0);
            let weakest = weakest.min_by(|(_, one), (_, other)| one.1.total_cmp(&other.1));
            match weakest.map(|(at, _)| at) {
                Some(at) => drop(found.remove(at)),
                None => return judged.into_iter().map(|(change, _)| change).collect(),
            }
        }
    }

    fn change(&self, [start, at, end]: [usize; 3], p: f64) -> Change {
        let sorted = |part: Range<usize>| order::sorted(&logs(&self.points[part]));
        let (before, after) = (sorted(start..at), sorted(at..end));
        let median = |sorted: &[f64]| order::median(sorted).unwrap_or(0.0);
        let interval = median_difference(&before, &after, [Nominal::FIXED; 2]);
        // Autocorrelated points carry as much information as fewer independent ones.
        let wider =
            self.autocorrelation.map_or(1.0, |share| ((1.0 + share) / (1.0 - share)).sqrt());
        let interval = interval.map(|Difference { value, interval }| Interval {
            lo: value - wider * (value - interval.lo),
            hi: value + wider * (interval.hi - value),
        });
        let (from, to) = (median(&before), median(&after));
        Change { first: self.runs[at], from, to, interval, p }
    }
}

/// A shift of the newest points against those before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecentShift {
    /// The first run of the newest points.
    pub first: usize,
    /// The median logarithm of the points before.
    pub from: f64,
    /// The median logarithm of the newest points.
    pub to: f64,
}

/// Whether the newest three points differ from the twenty before them: a fast rule for the end of
/// the series only, which is repeated with each run, so its result is provisional. `None` if they
/// do not differ, or with fewer than 23 points.
///
/// The median of the three must be outside the interval of the median of the twenty by more than
/// the margin. It must also be beyond each of the twenty: for independent points this happens by
/// chance once in 42 times. If the points are autocorrelated, all three must be beyond.
pub fn recent_shift(runs: &[RunValue]) -> Option<RecentShift> {
    let mut all = merge_bursts(runs)?;
    let window = all.split_off(all.len().checked_sub(PRECEDING_POINTS + NEWEST_POINTS)?);
    let first = window[PRECEDING_POINTS].first_run;
    let points: Vec<RunValue> = window.into_iter().map(|it| it.value).collect();
    let (before, newest) = points.split_at(PRECEDING_POINTS);
    let (before, newest) = (order::sorted(&logs(before)), order::sorted(&logs(newest)));
    let (from, to) = (order::median(&before)?, order::median(&newest)?);
    let around = median_hs(&before, Nominal::FIXED)?;
    let margin = min_log_change(&points);
    let (lowest, highest) = match residual_autocorrelation(
        &logs(&points),
        &[0, PRECEDING_POINTS, PRECEDING_POINTS + NEWEST_POINTS],
    ) {
        Some(_) => (newest[0], newest[NEWEST_POINTS - 1]),
        None => (to, to),
    };
    let beyond_all = lowest > before[PRECEDING_POINTS - 1] || highest < before[0];
    let beyond_margin = to > around.hi + margin || to < around.lo - margin;
    (beyond_all && beyond_margin).then_some(RecentShift { first, from, to })
}
