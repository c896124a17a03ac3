//! Crossings of curves that differ in one word, or in the command: which is cheaper, and from which
//! number on.

use oscost_model::crossing::{AddedCostPerItem, BENCHMARK, Crossing};
use oscost_model::curve;
use oscost_model::definition::Definition;
use oscost_model::point::{Point, Value};

use super::sentences;
use super::shape::CurveLaw;
use crate::estimate::uncertainty::{MIN_RELATIVE_SD, PAIR_RESAMPLES};
use oscost_stats::crossing::{
    CurveOrder, LawFits, ResampledValue, Resampling, compare_curves, fitted_slope, secant_slope,
};
use oscost_stats::scaling::{Law, SizeCost, ValueWithInterval};

/// Up to this many curves, all pairs are compared; with more, each is compared with the cheapest.
const MAX_ALL_PAIRS: usize = 5;
/// A curve in a comparison with others.
pub(super) struct CurveSide<'a> {
    pub(super) definition: &'a Definition,
    pub(super) axis: &'a str,
    /// What that axis counts.
    pub(super) item: &'a str,
    /// What its rows have in common, as their cases name it.
    pub(super) rest: &'a Point,
    /// Where it was measured.
    pub(super) target: &'a str,
    /// The machine of a remote peer.
    pub(super) peer: Option<&'a str>,
    /// Whether it is of a command of the command line.
    pub(super) is_command: bool,
    /// Its points with an interval and a logarithm, as costs in ns.
    pub(super) sizes: &'a [SizeCost],
    /// The law that fits all of them.
    pub(super) law: Option<CurveLaw>,
}

/// A curve's resampled fits, computed once for all pairs that it is in.
struct ResampledCurve {
    fits: Option<LawFits>,
    slope: Option<ResampledValue>,
}

impl CurveSide<'_> {
    /// Its point without this axis.
    fn without(&self, axis: &str) -> Point {
        let whole = self.definition.with_implied(self.rest);
        let others = whole.iter().filter(|(name, _)| *name != axis);
        others.fold(Point::none(), |rest, (name, value)| rest.with(name, value.clone()))
    }

    /// Its point without what it differs in from others.
    fn without_difference(&self, between: &Difference) -> Point {
        match between {
            Difference::Axis(axis) => self.without(axis),
            Difference::Command => self.definition.with_implied(self.rest),
        }
    }

    /// Its name among curves with that difference.
    fn name(&self, between: &Difference) -> Option<String> {
        match between {
            Difference::Axis(axis) => self.word(axis),
            Difference::Command => Some(self.definition.id.clone()),
        }
    }

    fn word(&self, axis: &str) -> Option<String> {
        match self.definition.with_implied(self.rest).get(axis) {
            Some(Value::Word(word)) => Some(word.clone()),
            _ => None,
        }
    }

    /// Its cost at a number.
    fn cost(&self, n: f64) -> Option<f64> {
        self.sizes.iter().find(|size| size.n == n).map(|size| size.figure)
    }

    /// The resampling of the curve with this index; each curve has its own seed.
    fn resampling(index: usize, seed: u64) -> Resampling {
        Resampling {
            resamples: PAIR_RESAMPLES,
            extra_log_sd: MIN_RELATIVE_SD,
            seed: seed.wrapping_add(1 + index as u64),
        }
    }

    fn resampled(&self, resampling: Resampling) -> ResampledCurve {
        // The slope of a line is the cost of a further item only if the points are on a line.
        let is_line = self
            .law
            .is_some_and(|it| it.is_only_one && matches!(it.law, Law::Constant | Law::Linear));
        ResampledCurve {
            fits: self.law.map(|it| LawFits::new(it.law, self.sizes, resampling)),
            slope: is_line.then(|| fitted_slope(self.sizes, resampling)).flatten(),
        }
    }
}

/// The crossings of the curves of a run, in the order of the curves.
pub(super) fn crossings(sides: &[CurveSide], seed: u64) -> Vec<Crossing> {
    let mut resampled: Vec<Option<ResampledCurve>> = sides.iter().map(|_| None).collect();
    let mut found = Vec::new();
    for group in groups(sides).into_iter().chain(command_groups(sides)) {
        for (costlier, cheaper) in pairs(sides, &group.curves) {
            let Some(order) = compare_curves(sides[costlier].sizes, sides[cheaper].sizes) else {
                continue;
            };
            for index in [costlier, cheaper] {
                resampled[index].get_or_insert_with(|| {
                    sides[index].resampled(CurveSide::resampling(index, seed))
                });
            }
            let in_pair = |index: usize| {
                let resampled = resampled[index].as_ref()?;
                let resampling = CurveSide::resampling(index, seed);
                Some(CurveInPair { side: &sides[index], resampled, resampling })
            };
            let Some((costlier, cheaper)) = in_pair(costlier).zip(in_pair(cheaper)) else {
                continue;
            };
            found.extend(crossing(&costlier, &cheaper, &group.between, &order));
        }
    }
    found
}

/// What curves differ in.
#[derive(PartialEq, Eq)]
enum Difference {
    /// The words of an axis.
    Axis(String),
    /// The command.
    Command,
}

/// Curves that differ in one thing alone.
struct CurveGroup {
    between: Difference,
    /// Their indices.
    curves: Vec<usize>,
}

/// The groups of curves that are compared.
///
/// If curves of a benchmark differ on several axes, the first one counts: a definition names the
/// mechanism before the circumstances, and that an op with more work costs more is not a
/// comparison.
fn groups(sides: &[CurveSide]) -> Vec<CurveGroup> {
    let mut found: Vec<CurveGroup> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        let family = |other: &&CurveSide| {
            other.definition.id == side.definition.id
                && other.axis == side.axis
                && other.target == side.target
                && other.peer == side.peer
        };
        let differs = |axis: &&str| {
            let word_and_rest = |it: &CurveSide| Some((it.word(axis)?, it.without(axis)));
            let all: Vec<(String, Point)> =
                sides.iter().filter(family).filter_map(word_and_rest).collect();
            all.iter().any(|(word, rest)| all.iter().any(|it| it.0 != *word && it.1 == *rest))
        };
        let axes = side.definition.axes.iter().map(|axis| axis.name.as_str());
        let Some(axis) = axes.into_iter().find(differs) else { continue };
        let between = Difference::Axis(axis.to_owned());
        let same = |group: &CurveGroup| {
            let first = &sides[group.curves[0]];
            group.between == between && family(&first) && first.without(axis) == side.without(axis)
        };
        match found.iter().position(same) {
            Some(group) => found[group].curves.push(index),
            None if side.word(axis).is_some() => {
                found.push(CurveGroup { between, curves: vec![index] });
            }
            None => {}
        }
    }
    found
}

/// The curves of commands of the command line, those over one parameter with the same values of all
/// others together.
fn command_groups(sides: &[CurveSide]) -> Vec<CurveGroup> {
    let mut found: Vec<CurveGroup> = Vec::new();
    for (index, side) in sides.iter().enumerate().filter(|(_, side)| side.is_command) {
        let same = |group: &&mut CurveGroup| {
            let first = &sides[group.curves[0]];
            first.axis == side.axis
                && first.rest == side.rest
                && first.target == side.target
                && first.peer == side.peer
        };
        match found.iter_mut().find(same) {
            Some(group) => group.curves.push(index),
            None => found.push(CurveGroup { between: Difference::Command, curves: vec![index] }),
        }
    }
    found.retain(|group| group.curves.len() > 1);
    found
}

/// The pairs of a group, each with the curve first that is costlier at the largest common number.
fn pairs(sides: &[CurveSide], group: &[usize]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = group.to_vec();
    // Many curves are compared with the cheapest one at the largest number that all of them have.
    let all = |n: f64| group.iter().all(|&index| sides[index].cost(n).is_some());
    let shared = sides[group[0]].sizes.iter().map(|size| size.n).filter(|&n| all(n));
    let last = shared.fold(f64::NEG_INFINITY, f64::max);
    order.sort_by(|&one, &other| {
        let cost = |index: usize| sides[index].cost(last).unwrap_or(f64::INFINITY);
        cost(one).total_cmp(&cost(other))
    });
    let first = if order.len() > MAX_ALL_PAIRS { 1 } else { order.len() };
    let mut found = Vec::new();
    for (rank, &one) in order.iter().enumerate().take(first) {
        found
            .extend(order[rank + 1..].iter().rev().map(|&other| costlier_first(sides, one, other)));
    }
    found
}

/// Two curves, the one first that is costlier at the largest common number.
fn costlier_first(sides: &[CurveSide], one: usize, other: usize) -> (usize, usize) {
    let common_sizes = |size: &&SizeCost| sides[other].cost(size.n).is_some();
    let last = sides[one].sizes.iter().rev().find(common_sizes);
    let is_costlier = last.is_some_and(|size| Some(size.figure) > sides[other].cost(size.n));
    if is_costlier { (one, other) } else { (other, one) }
}

/// A curve of a pair.
struct CurveInPair<'a> {
    side: &'a CurveSide<'a>,
    resampled: &'a ResampledCurve,
    resampling: Resampling,
}

/// The crossing of two curves that differ in `between`.
fn crossing(
    costlier: &CurveInPair<'_>,
    cheaper: &CurveInPair<'_>,
    between: &Difference,
    order: &CurveOrder,
) -> Option<Crossing> {
    let CurveOrder { numbers, costlier_wins_until: until, cheaper_wins_from: from, alternates } =
        *order;
    let slopes = costlier.resampled.slope.as_ref().zip(cheaper.resampled.slope.as_ref());
    let added_cost = match slopes {
        Some((costlier, cheaper)) => Some((costlier.difference(cheaper).estimate(), "laws")),
        None => {
            let slope = |it: &CurveInPair<'_>| secant_slope(it.side.sizes, numbers, it.resampling);
            let slopes = slope(costlier).zip(slope(cheaper));
            slopes.map(|(costlier, cheaper)| (costlier.difference(&cheaper).estimate(), "ends"))
        }
    };
    // The crossover of the laws is reported only if the points agree with it.
    let agrees = |at: &ValueWithInterval| {
        until.is_none_or(|until| until <= at.value) && from.is_some_and(|from| at.value <= from)
    };
    let fits = costlier.resampled.fits.as_ref().zip(cheaper.resampled.fits.as_ref());
    let fits = fits.filter(|_| from.is_some() && !alternates);
    let crossover =
        fits.and_then(|(costlier, cheaper)| costlier.crossover(cheaper, numbers)).filter(agrees);
    let whole = |value: f64| value as u64;
    let CurveSide { definition, axis, item, target, peer, .. } = *costlier.side;
    let mut crossing = Crossing {
        benchmark: definition.id.clone(),
        point: definition.without_implied(&costlier.side.without_difference(between)),
        axis: axis.to_owned(),
        item: item.to_owned(),
        target: target.to_owned(),
        peer: peer.map(str::to_owned),
        differing_axis: match between {
            Difference::Axis(axis) => axis.clone(),
            Difference::Command => BENCHMARK.to_owned(),
        },
        costlier: costlier.side.name(between)?,
        cheaper: cheaper.side.name(between)?,
        range: numbers.map(whole),
        added_cost: added_cost.map(|(ValueWithInterval { value, interval }, by)| {
            AddedCostPerItem { value, ci95: [interval.lo, interval.hi], by: by.to_owned() }
        }),
        costlier_wins_until: until.map(whole),
        cheaper_wins_from: from.map(whole),
        crossover: crossover.map(|ValueWithInterval { value, interval }| curve::BoundedValue {
            value,
            ci95: [interval.lo, interval.hi],
        }),
        sentence: String::new(),
    };
    crossing.sentence = sentences::crossing_sentence(&crossing, alternates);
    Some(crossing)
}
