//! Since when a figure is another: change points of a series with one value a run.
//!
//! E-divisive with means [Matteson and James 2014]: where two parts of a series are farthest from
//! each other, and how often chance puts two parts as far apart, which shuffled series tell. A t
//! test at the place where t is largest does not tell that: it asks about one place, and was shown
//! the best of many (docs/METHOD.md, section 15).

mod runs;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::comparing::{false_discovery, unpaired};
use super::interval::{Interval, Nominal, median_hs};
use super::order;
pub use runs::Point;
use runs::{bursts, least, logs, together, weights, whitened};

/// Changes are looked for among so many of the newest points: what is older was looked for when it
/// was new, and each point more takes a step of time for each other one. Runs that began within an
/// hour are one point.
pub const WINDOW: usize = 60;
/// The fewest points of which a change can be told from chance at all. However clear it is, chance
/// puts the same points on one side of it in two of as many orders as there are choices: 126 of
/// nine points, four on one side, which is more than one in a hundred, and 252 of ten, five on
/// either.
pub const FEWEST_ASKED: usize = 10;
/// A part has at least so many points: of two nobody can tell which one strayed. No two changes lie
/// closer to each other either, since a part is what lies between them.
pub const FEWEST: usize = 3;
/// Shuffles of a full window that is asked for alone: with 199 the smallest p is 0.005, half of
/// what is accepted.
const SHUFFLES: usize = 199;
/// Shuffles that each series more is worth. Of m series one discovery takes a p of 0.05 / m, which
/// 20 m shuffles barely reach: with twice as many, one lucky shuffle does not cost the discovery.
const SHUFFLES_A_SERIES: usize = 40;
/// Never more: for a discovery among more than a thousand series it takes several that changed.
const MOST_SHUFFLES: usize = 19_999;
/// Of fewer points than this it is always as many: of 12 points that a step parts into 3 and 9, two
/// of 220 orders part them as well.
const FEW: usize = 20;
/// After so many shuffles that part as well there is no need for more [Besag and Clifford 1991]:
/// what is no change seldom takes many.
const ENOUGH: usize = MOST_SHUFFLES / 100 + 1;
/// What chance shows less often than this is a change.
const ACCEPTED: f64 = 0.01;
/// At most this share of the series that are said to have changed may not have, on average.
const MOST_FALSE: f64 = 0.05;

/// The newest points that the fast rule looks at.
pub const NEWEST: usize = 3;
/// The points before them that it holds them against.
pub const BEFORE: usize = 20;

/// A place from which on the figure is another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first run behind it.
    pub first: usize,
    /// The median logarithm from the change before it, or from the window's beginning, up to it.
    pub from: f64,
    /// The same from it on, up to the next one.
    pub to: f64,
    /// The interval of `to - from`; `None` where one of the two parts has fewer than six points.
    pub interval: Option<Interval>,
    /// How often chance parts as far what it was found in: for the first one found the whole
    /// window, for each other one the part of the window that those found before it left around it.
    pub p: f64,
}

/// What was found in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// How often chance parts the whole window as far as its farthest two parts are.
    pub p: f64,
    /// What that is worth among all series that were asked about at once. It is of the series: of
    /// whether it changed at all, and not of each of its changes.
    pub q: f64,
    /// Whether changes would have been found had this series been asked about alone.
    pub missed: bool,
    /// The share of how far a point strays that its neighbour shares, where that is so much that it
    /// was taken out before chance was asked.
    pub together: Option<f64>,
    /// The points that were looked at: fewer than runs where some were made in one go.
    pub points: usize,
}

/// Looks for changes in each of some series, in the order of their runs; the seed decides about the
/// shuffles, and what is found in a series hangs on the others by their number and their p alone.
///
/// `None` where that cannot be asked: fewer than [`FEWEST_ASKED`] points, which do not count as
/// company either, or figures that are no numbers.
pub fn changes(series: &[Vec<Point>], seed: u64) -> Vec<Option<Found>> {
    let mut asked: Vec<Option<Series>> = series.iter().map(|runs| Series::of(runs, seed)).collect();
    let mut splits: Vec<Split> = asked.iter_mut().flatten().map(Series::first).collect();
    let known: Vec<&Series> = asked.iter().flatten().collect();
    let worth =
        |splits: &[Split]| false_discovery(&splits.iter().map(|split| split.p).collect::<Vec<_>>());
    // Shuffled again is only what would be accepted but for its company: then its p is one of more
    // shuffles, and never below what those say, so that nothing is gained by having been asked
    // twice.
    let more = (SHUFFLES_A_SERIES * known.len()).min(MOST_SHUFFLES);
    for (at, q) in worth(&splits).into_iter().enumerate() {
        if more > shuffles(known[at].points.len()) && splits[at].p <= ACCEPTED && q > MOST_FALSE {
            splits[at] = known[at].split(&known[at].whole(), more);
        }
    }
    let q = worth(&splits);
    let mut found = known.iter().zip(&splits).zip(q).map(|((it, split), q)| {
        let alone = if split.p <= ACCEPTED { it.changes(split) } else { Vec::new() };
        let missed = q > MOST_FALSE && !alone.is_empty();
        Found {
            changes: if q <= MOST_FALSE { alone } else { Vec::new() },
            p: split.p,
            q,
            missed,
            together: it.together,
            points: it.points.len(),
        }
    });
    asked.iter().map(|it| it.as_ref().and_then(|_| found.next())).collect()
}

/// Shuffles of some points, as many as take the time of those of a full window. Of few points,
/// orders that part them as well as the best one are just rarer than what is accepted, or just not,
/// and it takes thousands of shuffles to tell which.
fn shuffles(points: usize) -> usize {
    match points {
        0..FEW => MOST_SHUFFLES,
        _ => (SHUFFLES * WINDOW * WINDOW / (points * points)).max(SHUFFLES),
    }
}

/// A point and how much it counts.
#[derive(Clone, Copy)]
struct Item {
    log: f64,
    weight: f64,
    /// The sum of its distances from all points of its part, each by the weights of both.
    far: f64,
}

/// The points that are looked at.
struct Series {
    points: Vec<Point>,
    /// The first run of each.
    runs: Vec<usize>,
    /// What is shuffled: their logarithms, or what those say that their neighbours do not.
    logs: Vec<f64>,
    weights: Vec<f64>,
    together: Option<f64>,
    seed: u64,
}

/// Where a part falls into two.
struct Split {
    /// The first point of the second one.
    at: usize,
    p: f64,
}

impl Series {
    fn of(runs: &[Point], seed: u64) -> Option<Self> {
        let mut all = bursts(runs)?;
        let (runs, points): (Vec<_>, Vec<_>) =
            all.drain(all.len().saturating_sub(WINDOW)..).unzip();
        if points.len() < FEWEST_ASKED {
            return None;
        }
        let (logs, weights) = (logs(&points), weights(&points));
        Some(Self { points, runs, logs, weights, together: None, seed })
    }

    /// Where the whole window falls into two. Where chance would hardly part it so, it is asked
    /// again without what neighbours share, if they share much.
    fn first(&mut self) -> Split {
        let split = self.split(&self.whole(), 0);
        self.together = if split.p <= ACCEPTED { self.together(split.at) } else { None };
        let Some(share) = self.together else { return split };
        self.logs = whitened(&self.logs, share);
        self.split(&self.whole(), 0)
    }

    /// How far neighbours hang together around the levels before and from a place on, since a step
    /// itself makes them seem to. Where either part falls into two as surely, there are three
    /// levels; but no more, or days that differ would each be a level, and nothing would hang
    /// together.
    fn together(&self, at: usize) -> Option<f64> {
        let all = self.points.len();
        let one = together(&self.logs, &[0, at, all])?;
        let parts = [0..at, at..all].into_iter().filter(|part| part.len() >= FEWEST_ASKED);
        let splits = parts.map(|part| self.split(&part, 0)).filter(|it| it.p <= ACCEPTED);
        match splits.min_by(|one, other| one.p.total_cmp(&other.p)) {
            Some(it) => together(&self.logs, &[0, at.min(it.at), at.max(it.at), all]),
            None => Some(one),
        }
    }

    fn whole(&self) -> Range<usize> {
        0..self.points.len()
    }

    /// The strongest place of a part, and how often shuffled parts have one as strong: of as many
    /// shuffles as its points ask for, and of at least so many.
    fn split(&self, part: &Range<usize>, at_least: usize) -> Split {
        let shuffles = shuffles(part.len()).max(at_least);
        let mut items: Vec<Item> = part.clone().map(|at| self.item(at, part)).collect();
        let (at, strength) = strongest(&items);
        let at = part.start + at;
        // All are equal, or so near that only rounding tells them apart.
        if strength <= 0.0 {
            return Split { at, p: 1.0 };
        }
        // By the part alone: what is found in it does not hang on what was looked at before.
        let stream = (part.start as u64) << 32 | part.end as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ stream);
        let (mut asked, mut as_strong) = (0, 0);
        while asked < shuffles && as_strong < ENOUGH {
            shuffle(&mut items, &mut random);
            asked += 1;
            // A sum in another order may differ in its last bits.
            as_strong += usize::from(strongest(&items).1 >= strength * (1.0 - 1e-9));
        }
        Split { at, p: (1 + as_strong) as f64 / (1 + asked) as f64 }
    }

    fn item(&self, at: usize, part: &Range<usize>) -> Item {
        let (log, weight) = (self.logs[at], self.weights[at]);
        let far = part.clone().map(|it| self.weights[it] * (self.logs[it] - log).abs());
        Item { log, weight, far: weight * far.sum::<f64>() }
    }

    /// All changes, from the first one that is sure.
    fn changes(&self, first: &Split) -> Vec<Change> {
        let mut found = vec![(first.at, first.p)];
        let mut parts = vec![0..first.at, first.at..self.points.len()];
        while let Some(part) = parts.pop() {
            if part.len() < FEWEST_ASKED {
                continue;
            }
            let split = self.split(&part, 0);
            if split.p <= ACCEPTED {
                found.push((split.at, split.p));
                parts.extend([part.start..split.at, split.at..part.end]);
            }
        }
        found.sort_by_key(|&(at, _)| at);
        self.large_enough(found)
    }

    /// The changes that are worth mentioning, found from below: the weakest that is not goes first,
    /// and its two parts become one, which may make its neighbours larger or smaller.
    fn large_enough(&self, mut found: Vec<(usize, f64)>) -> Vec<Change> {
        loop {
            let bounds: Vec<usize> = [0]
                .into_iter()
                .chain(found.iter().map(|&(at, _)| at))
                .chain([self.points.len()])
                .collect();
            let around = bounds.windows(3).zip(&found);
            let judged: Vec<(Change, f64)> = around
                .map(|(of, &(_, p))| {
                    let change = self.change([of[0], of[1], of[2]], p);
                    let share = (change.to - change.from).abs() / least(&self.points[of[0]..of[2]]);
                    // What parts two spreads of one level is no change of the level.
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
        let (before, behind) = (sorted(start..at), sorted(at..end));
        let median = |sorted: &[f64]| order::median(sorted).unwrap_or(0.0);
        let interval = unpaired(&before, &behind, [Nominal::FIXED; 2]);
        // Points that hang together say as much as fewer that do not.
        let wider = self.together.map_or(1.0, |share| ((1.0 + share) / (1.0 - share)).sqrt());
        let interval = interval.map(|(middle, it)| Interval {
            lo: middle - wider * (middle - it.lo),
            hi: middle + wider * (it.hi - middle),
        });
        let (from, to) = (median(&before), median(&behind));
        Change { first: self.runs[at], from, to, interval, p }
    }
}

/// Where two parts of a list are farthest from each other, and how far: the largest of
/// `T = XY / (X + Y) * (2 E|x - y| - E|x - x'| - E|y - y'|)`, X and Y what the parts weigh.
///
/// The means are over pairs of different points, as in the paper: with a point paired with itself a
/// part of three is drawn nearer together than it is, and with runs that stray 86 instead of 90 of
/// a hundred steps of 5 % are found where they are.
fn strongest(items: &[Item]) -> (usize, f64) {
    let all = Sums::of(items);
    // Of the first points: what they are by themselves, and their distances from all points.
    let (mut first, mut far) = (Sums::default(), 0.0);
    let mut best = (FEWEST, f64::NEG_INFINITY);
    for (at, item) in items.iter().enumerate() {
        if at >= FEWEST && at + FEWEST <= items.len() {
            let across = far - 2.0 * first.within;
            let rest = Sums {
                weight: all.weight - first.weight,
                squares: all.squares - first.squares,
                within: all.within - first.within - across,
            };
            let both = first.weight * rest.weight;
            let apart = 2.0 * across / both - first.mean() - rest.mean();
            let strength = apart * both / all.weight;
            if strength > best.1 {
                best = (at, strength);
            }
        }
        let before = items[..at].iter().map(|it| it.weight * (it.log - item.log).abs());
        first.within += item.weight * before.sum::<f64>();
        first.weight += item.weight;
        first.squares += item.weight * item.weight;
        far += item.far;
    }
    best
}

/// Some points by themselves.
#[derive(Default)]
struct Sums {
    /// What they weigh.
    weight: f64,
    /// The squares of what each weighs.
    squares: f64,
    /// The distances of all pairs, each by the weights of both.
    within: f64,
}

impl Sums {
    fn of(items: &[Item]) -> Self {
        let mut sums = Self::default();
        for item in items {
            sums.weight += item.weight;
            sums.squares += item.weight * item.weight;
            sums.within += item.far / 2.0;
        }
        sums
    }

    /// The mean distance of two different points.
    fn mean(&self) -> f64 {
        2.0 * self.within / (self.weight * self.weight - self.squares)
    }
}

/// Puts a list into an order that chance decides [Durstenfeld 1964].
fn shuffle(items: &mut [Item], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        // The upper half of a product: of 2^64 numbers it prefers none by more than one.
        let at = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        items.swap(last, at as usize);
    }
}

/// The newest points lie elsewhere than those before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elsewhere {
    /// The first run of the newest points.
    pub first: usize,
    /// The median logarithm of the points before.
    pub from: f64,
    /// The median logarithm of the newest points.
    pub to: f64,
}

/// Whether the newest three points lie elsewhere than the twenty before them: a fast rule, that
/// asks about this place alone and is asked again with each run, so what it says is provisional.
///
/// Their median must be farther than the margin from the interval of the median of those before.
/// That interval knows how sure the twenty are, and not how far three may stray; so their median
/// must also lie beyond each of the twenty: of points that know nothing of each other, two of the
/// last three are the largest two of all 23, or the smallest two, once in 42 times. Where points
/// hang together, one that strays takes the next one along: there all three must lie beyond.
pub fn elsewhere(runs: &[Point]) -> Option<Elsewhere> {
    let mut all = bursts(runs)?;
    let (runs, points): (Vec<_>, Vec<_>) =
        all.drain(all.len().checked_sub(BEFORE + NEWEST)?..).unzip();
    let (before, newest) = points.split_at(BEFORE);
    let (before, newest) = (order::sorted(&logs(before)), order::sorted(&logs(newest)));
    let (from, to) = (order::median(&before)?, order::median(&newest)?);
    let around = median_hs(&before, Nominal::FIXED)?;
    let least = least(&points);
    let (lowest, highest) = match together(&logs(&points), &[0, BEFORE, BEFORE + NEWEST]) {
        Some(_) => (newest[0], newest[NEWEST - 1]),
        None => (to, to),
    };
    let beyond_all = lowest > before[BEFORE - 1] || highest < before[0];
    let beyond_margin = to > around.hi + least || to < around.lo - least;
    (beyond_all && beyond_margin).then_some(Elsewhere { first: runs[BEFORE], from, to })
}
