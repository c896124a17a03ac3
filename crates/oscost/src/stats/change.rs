//! Since when a figure is another: change points of a series with one value a run.
//!
//! E-divisive with means [Matteson and James 2014]: where two parts of a series are farthest from
//! each other, and how often chance puts two parts as far apart, which shuffled series tell. A
//! t test at the place where t is largest does not tell that: it asks about one place, and was shown
//! the best of many (docs/METHOD.md, section 15).

#[cfg(test)]
mod tests;

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::comparing::{false_discovery, unpaired};
use super::interval::{Interval, Nominal, median_hs};
use super::order;

/// Changes are looked for among so many of the newest points: what is older was looked for when it
/// was new, and each point more takes a step of time for each other one.
pub const WINDOW: usize = 60;
/// A part has at least so many points: of two nobody can tell which one strayed. No two changes lie
/// closer to each other either, since a part is what lies between them.
pub const FEWEST: usize = 3;
/// Shuffles of a series that is asked for alone: with 199 the smallest p is 0.005, half of what is
/// accepted.
const SHUFFLES: usize = 199;
/// Shuffles that each series more is worth. Of m series one discovery takes a p of 0.05 / m, which
/// 20 m shuffles barely reach: with twice as many, one lucky shuffle does not cost the discovery.
const SHUFFLES_A_SERIES: usize = 40;
/// Never more: for a discovery among more than a thousand series it takes several that changed.
const MOST_SHUFFLES: usize = 19_999;
/// What chance shows less often than this is a change.
const ACCEPTED: f64 = 0.01;
/// At most this share of the series that are said to have changed may not have, on average.
const MOST_FALSE: f64 = 0.05;
/// A change of less is not worth mentioning, however sure.
const MARGIN: f64 = 0.02;

/// The newest points that the fast rule looks at.
pub const NEWEST: usize = 3;
/// The points before them that it holds them against.
pub const BEFORE: usize = 20;

/// A run's value in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The logarithm of the figure.
    pub log: f64,
    /// Half of the figure's interval, as a share of the figure; `None` where it has none.
    pub unsure: Option<f64>,
}

/// A place from which on the figure is another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first point behind it.
    pub first: usize,
    /// The median logarithm from the change before it, or from the window's beginning, up to it.
    pub from: f64,
    /// The same from it on, up to the next one.
    pub to: f64,
    /// The interval of `to - from`; `None` where one of the two parts has fewer than six points.
    pub interval: Option<Interval>,
    /// How often chance parts the points around it as far.
    pub p: f64,
}

/// What was found in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// How often chance parts the whole window as far as its farthest two parts are.
    pub p: f64,
    /// What that is worth among all series that were asked about at once.
    pub q: f64,
}

/// Looks for changes in each of some series, in the order of their runs; the seed decides about the
/// shuffles, and what is found in a series hangs on the others by their number and their p alone.
///
/// `None` where that cannot be asked: fewer than two parts' points, or numbers that are none.
pub fn changes(series: &[Vec<Point>], seed: u64) -> Vec<Option<Found>> {
    let asked: Vec<Option<Series>> = series.iter().map(|points| Series::of(points, seed)).collect();
    let known: Vec<&Series> = asked.iter().flatten().collect();
    let mut splits: Vec<Split> = known.iter().map(|it| it.split(&it.whole(), SHUFFLES)).collect();
    let worth =
        |splits: &[Split]| false_discovery(&splits.iter().map(|split| split.p).collect::<Vec<_>>());
    // Shuffled again is only what would be accepted but for its company: then its p is one of more
    // shuffles, and never below what those say, so that nothing is gained by having been asked twice.
    let more = (SHUFFLES_A_SERIES * known.len()).clamp(SHUFFLES, MOST_SHUFFLES);
    for (at, q) in worth(&splits).into_iter().enumerate() {
        if more > SHUFFLES && splits[at].p <= ACCEPTED && q > MOST_FALSE {
            splits[at] = known[at].split(&known[at].whole(), more);
        }
    }
    let q = worth(&splits);
    let mut found = known.iter().zip(&splits).zip(q).map(|((it, split), q)| Found {
        changes: match split.p <= ACCEPTED && q <= MOST_FALSE {
            true => it.changes(split),
            false => Vec::new(),
        },
        p: split.p,
        q,
    });
    asked.iter().map(|it| it.as_ref().and_then(|_| found.next())).collect()
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
struct Series<'a> {
    points: &'a [Point],
    /// How many older points there are.
    older: usize,
    weights: Vec<f64>,
    seed: u64,
}

/// Where a part falls into two.
struct Split {
    /// The first point of the second one.
    at: usize,
    p: f64,
}

impl<'a> Series<'a> {
    fn of(points: &'a [Point], seed: u64) -> Option<Self> {
        let older = points.len().saturating_sub(WINDOW);
        let points = &points[older..];
        let sound = |point: &Point| {
            let unsure = point.unsure.is_none_or(|it| it.is_finite() && it >= 0.0);
            point.log.is_finite() && unsure
        };
        let usable = points.len() >= 2 * FEWEST && points.iter().all(sound);
        usable.then(|| Self { points, older, weights: weights(points), seed })
    }

    fn whole(&self) -> Range<usize> {
        0..self.points.len()
    }

    /// The strongest place of a part, and how often shuffled parts have one as strong.
    fn split(&self, part: &Range<usize>, shuffles: usize) -> Split {
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
        let as_strong = (0..shuffles).filter(|_| {
            shuffle(&mut items, &mut random);
            // A sum in another order may differ in its last bits.
            strongest(&items).1 >= strength * (1.0 - 1e-9)
        });
        Split { at, p: (1 + as_strong.count()) as f64 / (1 + shuffles) as f64 }
    }

    fn item(&self, at: usize, part: &Range<usize>) -> Item {
        let (log, weight) = (self.points[at].log, self.weights[at]);
        let far = part.clone().map(|it| self.weights[it] * (self.points[it].log - log).abs());
        Item { log, weight, far: weight * far.sum::<f64>() }
    }

    /// All changes, from the first one that is sure.
    fn changes(&self, first: &Split) -> Vec<Change> {
        let mut found = vec![(first.at, first.p)];
        let mut parts = vec![0..first.at, first.at..self.points.len()];
        while let Some(part) = parts.pop() {
            if part.len() < 2 * FEWEST {
                continue;
            }
            let split = self.split(&part, SHUFFLES);
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
                    let share = (change.to - change.from).abs() / self.least(of[0]..of[2]);
                    (change, share)
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
        let interval = unpaired(&before, &behind, [Nominal::FIXED; 2]).map(|(_, it)| it);
        let (from, to) = (median(&before), median(&behind));
        Change { first: self.older + at, from, to, interval, p }
    }

    /// What a change within a part must be at least, as a logarithm.
    fn least(&self, part: Range<usize>) -> f64 {
        least(&self.points[part])
    }
}

/// What a change among some points must be at least to be worth mentioning, as a logarithm: 2 %, or
/// twice what one of them is usually unsure by.
fn least(points: &[Point]) -> f64 {
    MARGIN.max(2.0 * usually_unsure(points).unwrap_or(0.0)).ln_1p()
}

/// What half of those points that tell it are unsure by, at most.
fn usually_unsure(points: &[Point]) -> Option<f64> {
    let told: Vec<f64> = points.iter().filter_map(|point| point.unsure).collect();
    order::median(&order::sorted(&told))
}

fn logs(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.log).collect()
}

/// How much each point counts, at most 1: the inverse square of what it is unsure by, relative to
/// what points usually are. It is a mass: distances of points are averaged by the product of theirs,
/// and a part weighs what its points weigh together. Where points are shuffled their weights go
/// along, so that p stays that of chance.
///
/// No point counts more than the usual one. An interval of a dozen repetitions is itself unsure by a
/// third, and runs differ by more than their intervals say: a run that claims to be ten times surer
/// than the others would count a hundredfold, and be a part by itself. One that does not tell counts
/// as the usual one.
fn weights(points: &[Point]) -> Vec<f64> {
    let usual = usually_unsure(points).unwrap_or(0.0);
    let weight = |point: &Point| match point.unsure {
        Some(unsure) if unsure > usual && usual > 0.0 => (usual / unsure).powi(2),
        _ => 1.0,
    };
    points.iter().map(weight).collect()
}

/// Where two parts of a list are farthest from each other, and how far: the largest of
/// `T = XY / (X + Y) * (2 E|x - y| - E|x - x'| - E|y - y'|)`, X and Y what the parts weigh.
///
/// The means are over pairs of different points, as in the paper: with a point paired with itself a
/// part of three is drawn nearer together than it is, and with runs that stray 86 instead of 90 of a
/// hundred steps of 5 % are found where they are.
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
    /// The median logarithm of the points before.
    pub from: f64,
    /// The median logarithm of the newest points.
    pub to: f64,
}

/// Whether the newest three points lie elsewhere than the twenty before them: a fast rule, that asks
/// about this place alone and is asked again with each run, so what it says is provisional.
///
/// Their median must be farther than the margin from the interval of the median of those before. That
/// interval knows how sure the twenty are, and not how far three may stray; so their median must also
/// lie beyond each of the twenty: of points that know nothing of each other, two of the last three are
/// the largest two of all 23, or the smallest two, once in 42 times.
pub fn elsewhere(points: &[Point]) -> Option<Elsewhere> {
    let points = &points[points.len().checked_sub(BEFORE + NEWEST)?..];
    if !points.iter().all(|point| point.log.is_finite()) {
        return None;
    }
    let (before, newest) = points.split_at(BEFORE);
    let (before, newest) = (order::sorted(&logs(before)), order::sorted(&logs(newest)));
    let (from, to) = (order::median(&before)?, order::median(&newest)?);
    let around = median_hs(&before, Nominal::FIXED)?;
    let least = least(points);
    let beyond_all = to > before[BEFORE - 1] || to < before[0];
    let beyond_margin = to > around.hi + least || to < around.lo - least;
    (beyond_all && beyond_margin).then_some(Elsewhere { from, to })
}
