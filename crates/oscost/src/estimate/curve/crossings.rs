//! Curves that differ in one word alone: which is cheaper, from which number on.

use oscost_model::crossing::{AddedCostPerItem, Crossing};
use oscost_model::curve;
use oscost_model::definition::Definition;
use oscost_model::point::{Point, Value};

use super::sentences;
use crate::estimate::uncertainty::{MIN_RELATIVE_SD, PAIR_RESAMPLES};
use oscost_stats::crossing::{
    CurveOrder, LawFits, ResampledValue, Resampling, compare_curves, fitted_slope, secant_slope,
};
use oscost_stats::scaling::{Law, SizeCost, ValueWithInterval};

/// Up to this many curves, all pairs are compared; with more, each is compared with the cheapest.
const MAX_ALL_PAIRS: usize = 5;
/// A curve as those compare_curves it see it.
pub(super) struct CurveSide<'a> {
    pub(super) definition: &'a Definition,
    pub(super) axis: &'a str,
    /// What that axis counts one of.
    pub(super) of: &'a str,
    /// What its rows share, as their cases name it.
    pub(super) rest: &'a Point,
    /// Where it was measured, and where its other end stood.
    pub(super) target: (&'a str, Option<&'a str>),
    /// Its points that have an interval and a logarithm, as costs in ns.
    pub(super) sizes: &'a [SizeCost],
    /// The law that accounts for all of them, and whether no other one does.
    pub(super) law: Option<(Law, bool)>,
}

/// What a side's points are drawn anew for, once for all pairs that it is in.
struct Chances {
    fits: Option<LawFits>,
    line: Option<ResampledValue>,
}

impl CurveSide<'_> {
    /// What it shares with others, if they may differ on one axis.
    fn without(&self, axis: &str) -> Point {
        let whole = self.definition.with_implied(self.rest);
        let others = whole.iter().filter(|(name, _)| *name != axis);
        others.fold(Point::none(), |rest, (name, value)| rest.with(name, value.clone()))
    }

    fn word(&self, axis: &str) -> Option<String> {
        match self.definition.with_implied(self.rest).get(axis) {
            Some(Value::Word(word)) => Some(word.clone()),
            _ => None,
        }
    }

    /// What it costs at a number.
    fn at(&self, n: f64) -> Option<f64> {
        self.sizes.iter().find(|size| size.n == n).map(|size| size.figure)
    }

    /// As unsure as points of a curve are; each side has a chance of its own.
    fn chance(&self, at: usize, seed: u64) -> Resampling {
        Resampling {
            resamples: PAIR_RESAMPLES,
            extra_log_sd: MIN_RELATIVE_SD,
            seed: seed.wrapping_add(1 + at as u64),
        }
    }

    fn chances(&self, at: usize, seed: u64) -> Chances {
        let chance = self.chance(at, seed);
        // A line says what a further one costs where a line is what the points lie on.
        let straight = matches!(self.law, Some((Law::Constant | Law::Linear, true)));
        Chances {
            fits: self.law.map(|(law, _)| LawFits::new(law, self.sizes, chance)),
            line: straight.then(|| fitted_slope(self.sizes, chance)).flatten(),
        }
    }
}

/// The crossings among the curves of a run, in their order.
pub(super) fn crossings(sides: &[CurveSide], seed: u64) -> Vec<Crossing> {
    let mut chances: Vec<Option<Chances>> = sides.iter().map(|_| None).collect();
    let mut found = Vec::new();
    for (between, group) in groups(sides) {
        for (dear, cheap) in pairs(sides, &group) {
            let Some(seen) = compare_curves(sides[dear].sizes, sides[cheap].sizes) else {
                continue;
            };
            for at in [dear, cheap] {
                chances[at].get_or_insert_with(|| sides[at].chances(at, seed));
            }
            let (Some(of_dear), Some(of_cheap)) = (&chances[dear], &chances[cheap]) else {
                continue;
            };
            let pair = Pair { dear: &sides[dear], cheap: &sides[cheap], between: &between };
            let chance = [dear, cheap].map(|at| sides[at].chance(at, seed));
            found.extend(pair.judged(seen, (of_dear, of_cheap), chance));
        }
    }
    found
}

/// Curves that differ on one axis alone, and in words there: the axis, and which they are.
///
/// Of several axes it is the first one on which curves of the benchmark differ: a definition names
/// what does the work before the circumstances, and that a call on which more is asked costs more
/// is no comparison.
fn groups(sides: &[CurveSide]) -> Vec<(String, Vec<usize>)> {
    let mut found: Vec<(String, Vec<usize>)> = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        let family = |other: &&CurveSide| {
            other.definition.id == side.definition.id
                && other.axis == side.axis
                && other.target == side.target
        };
        let apart = |axis: &&str| {
            let of = |it: &CurveSide| Some((it.word(axis)?, it.without(axis)));
            let all: Vec<(String, Point)> = sides.iter().filter(family).filter_map(of).collect();
            all.iter().any(|(word, rest)| all.iter().any(|it| it.0 != *word && it.1 == *rest))
        };
        let axes = side.definition.axes.iter().map(|axis| axis.name.as_str());
        let Some(axis) = axes.into_iter().find(apart) else { continue };
        let same = |group: &(String, Vec<usize>)| {
            let first = &sides[group.1[0]];
            group.0 == axis && family(&first) && first.without(axis) == side.without(axis)
        };
        match found.iter().position(same) {
            Some(group) => found[group].1.push(at),
            None if side.word(axis).is_some() => found.push((axis.to_owned(), vec![at])),
            None => {}
        }
    }
    found
}

/// The pairs of a group, of each the one first that is dearer at the largest number of both.
fn pairs(sides: &[CurveSide], group: &[usize]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = group.to_vec();
    // Whom many are laid compare_curves is the cheapest at the largest number that all of them have.
    let all = |n: f64| group.iter().all(|&at| sides[at].at(n).is_some());
    let shared = sides[group[0]].sizes.iter().map(|size| size.n).filter(|&n| all(n));
    let last = shared.fold(f64::NEG_INFINITY, f64::max);
    order.sort_by(|&one, &other| {
        let of = |at: usize| sides[at].at(last).unwrap_or(f64::INFINITY);
        of(one).total_cmp(&of(other))
    });
    let first = if order.len() > MAX_ALL_PAIRS { 1 } else { order.len() };
    let mut found = Vec::new();
    for (rank, &one) in order.iter().enumerate().take(first) {
        found
            .extend(order[rank + 1..].iter().rev().map(|&other| costlier_first(sides, one, other)));
    }
    found
}

/// Two curves, the one first that is dearer at the largest number that both have.
fn costlier_first(sides: &[CurveSide], one: usize, other: usize) -> (usize, usize) {
    let common_sizes = |size: &&SizeCost| sides[other].at(size.n).is_some();
    let last = sides[one].sizes.iter().rev().find(common_sizes);
    let is_dearer = last.is_some_and(|size| Some(size.figure) > sides[other].at(size.n));
    if is_dearer { (one, other) } else { (other, one) }
}

struct Pair<'a> {
    dear: &'a CurveSide<'a>,
    cheap: &'a CurveSide<'a>,
    between: &'a str,
}

impl Pair<'_> {
    fn judged(
        &self,
        CurveOrder {
            numbers,
            costlier_wins_until: until,
            cheaper_wins_from: from,
            alternates: often,
        }: CurveOrder,
        (of_dear, of_cheap): (&Chances, &Chances),
        [dear_s, cheap_s]: [Resampling; 2],
    ) -> Option<Crossing> {
        let Pair { dear, cheap, between } = self;
        let laws = of_dear.line.as_ref().zip(of_cheap.line.as_ref());
        let more = match laws {
            Some((dear, cheap)) => Some((dear.difference(cheap).estimate(), "laws")),
            None => {
                let dear = secant_slope(dear.sizes, numbers, dear_s);
                let cheap = secant_slope(cheap.sizes, numbers, cheap_s);
                dear.zip(cheap).map(|(dear, cheap)| (dear.difference(&cheap).estimate(), "ends"))
            }
        };
        // Where the laws meet is told where the points agree with it.
        let agrees = |at: &ValueWithInterval| {
            until.is_none_or(|until| until <= at.value) && from.is_some_and(|from| at.value <= from)
        };
        let fits = of_dear.fits.as_ref().zip(of_cheap.fits.as_ref());
        let fits = fits.filter(|_| from.is_some() && !often);
        let at = fits.and_then(|(dear, cheap)| dear.crossover(cheap, numbers)).filter(agrees);
        let whole = |value: f64| value as u64;
        let mut crossing =
            Crossing {
                benchmark: dear.definition.id.clone(),
                point: dear.definition.without_implied(&dear.without(between)),
                axis: dear.axis.to_owned(),
                item: dear.of.to_owned(),
                target: dear.target.0.to_owned(),
                peer: dear.target.1.map(str::to_owned),
                differing_axis: (*between).to_owned(),
                costlier: dear.word(between)?,
                cheaper: cheap.word(between)?,
                range: numbers.map(whole),
                added_cost: more.map(|(ValueWithInterval { value, interval }, by)| {
                    AddedCostPerItem { value, ci95: [interval.lo, interval.hi], by: by.to_owned() }
                }),
                costlier_wins_until: until.map(whole),
                cheaper_wins_from: from.map(whole),
                crossover: at.map(|ValueWithInterval { value, interval }| curve::BoundedValue {
                    value,
                    ci95: [interval.lo, interval.hi],
                }),
                sentence: String::new(),
            };
        crossing.sentence = sentences::crossing_sentence(&crossing, often);
        Some(crossing)
    }
}
