//! Curves: what the rows of one benchmark that differ in one number alone say together.
//!
//! A break is a place where pieces of a curve do not continue each other (docs/explanation/METHOD.md, section
//! 8). It is named only after a constant that lies inside its interval; where a fixed and a
//! marginal cost account for the same points no worse, there is no break to name.

mod capacity;
mod constants;
mod crossings;
mod number_format;
mod sentences;
mod shape;

use std::collections::BTreeSet;

use oscost_model::crossing::Crossing;
use oscost_model::curve::{self, Curve, CurvePoint, Saturation};
use oscost_model::definition::Definition;
use oscost_model::point::{Point, Value};
use oscost_model::record::{Machine, Row};
use oscost_model::unit::{Better, Unit};

use self::crossings::CurveSide;
use self::shape::{CAPACITY, Shape};
use super::uncertainty::MIN_RELATIVE_SD;
use oscost_stats::interval::Interval;
use oscost_stats::scaling::{
    BIC_MARGIN, RESAMPLES, Scaling, SizeCost, ValueWithInterval, fit_scaling, last_exponent,
};
use oscost_stats::segments::{LogPoint, Segments, penalty, raise_small_uncertainties, segments};

/// With fewer points than these there is nothing to see that the table does not show ...
const MIN_POINTS: usize = 5;
/// ... nor where the largest is not so many times the smallest.
const MIN_SPAN: u64 = 10;
/// The quantile at which the interval of a point ends, in standard deviations.
const INTERVAL_SDS: f64 = 1.96;
/// A rate stays with the largest one while its interval reaches to this share below that.
const SATURATION_MARGIN: f64 = 0.05;
/// Points keep to a law from which they are away by no more than so many of their deviations, as a
/// mean of squares: one is what chance does, and what no law says has to fit in, too.
const MAX_LAW_DEVIATION: f64 = 2.0;
/// So many sizes place a break better ...
const REFINEMENT_SIZES: u32 = 8;
/// ... unless its ends lie closer than this, as a ratio: a half-octave is as narrow as sizes get.
const MIN_BREAK_RATIO: f64 = 1.5;
/// The axis whose numbers are bytes, whatever the op moves.
const BYTES: &str = "size";

/// What the rows of a run say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Those that differ in one number alone.
    pub curves: Vec<Curve>,
    /// Pairs of these that differ in one word alone.
    pub crossings: Vec<Crossing>,
}

/// The curves among the rows of a run, in the order of its rows. All chance comes from `seed`.
pub fn curves(rows: &[(&Definition, &Row)], machine: Option<&Machine>, seed: u64) -> Curves {
    let families = curve_rows(rows);
    let (mut curves, shapes): (Vec<Curve>, Vec<Shape>) =
        families.iter().map(|family| family.curve(machine, seed)).unzip();
    capacity::judge(&mut curves, &shapes);
    let sides: Vec<CurveSide> =
        families.iter().zip(&shapes).map(|(family, shape)| family.crossing_side(shape)).collect();
    Curves { curves, crossings: crossings::crossings(&sides, seed) }
}

/// The rows of one curve.
struct CurveRows<'a> {
    definition: &'a Definition,
    axis: &'a str,
    rest: Point,
    rows: Vec<(u64, &'a Row)>,
}

/// Rows that were asked for and differ in one axis alone, where these are enough for a curve.
fn curve_rows<'a>(rows: &[(&'a Definition, &'a Row)]) -> Vec<CurveRows<'a>> {
    let mut found: Vec<CurveRows<'a>> = Vec::new();
    let beside = |flag: &String| flag == "REFERENCE" || flag == "PRIMITIVE";
    // A law weighs its points by their spread, which counts have none of.
    let counted = |row: &Row| row.unit == Unit::InstructionsPerOp;
    let asked = |row: &Row| !row.flags.iter().any(beside) && !counted(row);
    for &(definition, row) in rows.iter().filter(|(_, row)| asked(row)) {
        let whole = definition.with_implied(&row.point);
        for axis in &definition.axes {
            let axis = axis.name.as_str();
            let Some(&Value::Number(value)) = whole.get(axis) else { continue };
            // A ratio to nothing is none: such a point stands in the table alone.
            if value == 0 {
                continue;
            }
            let others = row.point.iter().filter(|(name, _)| *name != axis);
            let rest =
                others.fold(Point::none(), |rest, (name, value)| rest.with(name, value.clone()));
            let same = |it: &&mut CurveRows<'a>| {
                it.definition.id == definition.id
                    && it.axis == axis
                    && it.rest == rest
                    && it.rows.iter().all(|(_, other)| {
                        other.target.text == row.target.text && other.target.peer == row.target.peer
                    })
            };
            match found.iter_mut().find(same) {
                Some(it) => it.rows.push((value, row)),
                None => found.push(CurveRows { definition, axis, rest, rows: vec![(value, row)] }),
            }
        }
    }
    for it in &mut found {
        it.rows.sort_by_key(|(value, _)| *value);
        it.rows.dedup_by_key(|(value, _)| *value);
    }
    found.retain(|it| {
        let ends = it.rows.first().zip(it.rows.last());
        let wide = |(first, last): (&(u64, &Row), &(u64, &Row))| last.0 / first.0 >= MIN_SPAN;
        it.rows.len() >= MIN_POINTS && ends.is_some_and(wide)
    });
    found
}

impl CurveRows<'_> {
    fn curve(&self, machine: Option<&Machine>, seed: u64) -> (Curve, Shape) {
        let row = self.rows[0].1;
        let points: Vec<CurvePoint> =
            self.rows.iter().map(|(value, row)| point(*value, row)).collect();
        let sizes = self.sizes();
        let in_bytes = self.axis == BYTES || self.axis == self.definition.bytes_axis;
        let pieces = segments(&spots(&sizes));
        // A law is told of sizes of one curve: the same chance for each of them.
        let law = fit_scaling(&sizes, RESAMPLES, seed);
        let holds = law.as_ref().zip(pieces.as_ref()).is_some_and(|(law, pieces)| {
            // No break is explained away by a law that leaves more than it does. Where there is
            // none, a straight line leaves a little less than any law: its slope is free.
            let near = if pieces.breaks.is_empty() { BIC_MARGIN } else { 0.0 };
            law.chi_square + penalty(sizes.len()) <= pieces.cost + near
        });
        // Pieces may do no better and the points still keep to no law.
        let kept = |law: &&Scaling| {
            holds && law.chi_square <= sizes.len() as f64 * MAX_LAW_DEVIATION * MAX_LAW_DEVIATION
        };
        let lawful = law.as_ref().filter(kept).map(|law| (law.law, law.runner_up.is_none()));
        let known = || constants::constants(self.channels(), machine);
        let breaks = pieces.map(|Segments { breaks, .. }| {
            let breaks = breaks.iter().filter(|_| !holds);
            let value = |at: usize| sizes[at].n as u64;
            breaks
                .map(|it| {
                    let at = it.position.exp().round() as u64;
                    let interval = [value(it.last_before), value(it.first_after)];
                    let of = if in_bytes { known() } else { vec![] };
                    let named = constants::constants_in(&of, at, interval);
                    curve::Break {
                        position: at,
                        interval,
                        constants: named,
                        refinement_values: self.refinement_sizes(interval),
                    }
                })
                .collect::<Vec<_>>()
        });
        let scaling = law.map(|law| scaling_record(&law, &sizes, holds));
        let saturation = saturation(&points, row.better);
        let bends = breaks.as_ref().map(|breaks| bend_intervals(breaks, scaling.as_ref(), &points));
        let mut curve = Curve {
            benchmark: self.definition.id.clone(),
            point: self.rest.clone(),
            axis: self.axis.to_owned(),
            item: self.item().to_owned(),
            target: row.target.text.clone(),
            peer: row.target.peer.clone(),
            unit: row.unit,
            better: row.better,
            points,
            breaks,
            saturation,
            scaling,
            capacity: None,
            sentences: Vec::new(),
        };
        let refined = self.rows.iter().any(|(_, row)| row.flags.iter().any(|it| it == "ADDED"));
        curve.sentences = sentences::curve_sentences(&curve, sizes.len(), in_bytes, refined);
        let asked = match self.definition.with_implied(&self.rest).get(CAPACITY) {
            Some(&Value::Number(bytes)) => Some(bytes),
            _ => None,
        };
        let seen = self.channels().find_map(|channel| channel.capacity_bytes);
        (curve, Shape { capacity: seen.or(asked), bends, sizes, law: lawful })
    }

    /// What its axis counts one of.
    fn item(&self) -> &str {
        let of = self.definition.axis(self.axis).map_or("", |axis| axis.item.as_str());
        match of {
            "" if self.axis == BYTES || self.axis == self.definition.bytes_axis => "byte",
            "" => self.axis,
            of => of,
        }
    }

    fn crossing_side<'b>(&'b self, shape: &'b Shape) -> CurveSide<'b> {
        let target = &self.rows[0].1.target;
        CurveSide {
            definition: self.definition,
            axis: self.axis,
            of: self.item(),
            rest: &self.rest,
            target: (&target.text, target.peer.as_deref()),
            sizes: &shape.sizes,
            law: shape.law,
        }
    }

    fn channels(&self) -> impl Iterator<Item = &oscost_model::channel::ChannelObservation> {
        self.rows.iter().filter_map(|(_, row)| row.channel.as_ref())
    }

    /// Sizes inside the interval of a break, in equal ratios, where the axis takes any number.
    fn refinement_sizes(&self, [first, last]: [u64; 2]) -> Vec<u64> {
        let any = self.definition.axis(self.axis).is_some_and(|axis| axis.range.is_some());
        let ratio = last as f64 / first as f64;
        if !any || ratio < MIN_BREAK_RATIO {
            return Vec::new();
        }
        let steps =
            (1..=REFINEMENT_SIZES).map(|at| f64::from(at) / f64::from(REFINEMENT_SIZES + 1));
        let mut sizes: Vec<u64> =
            steps.map(|share| (first as f64 * ratio.powf(share)).round() as u64).collect();
        sizes.retain(|&size| first < size && size < last);
        sizes.dedup();
        sizes
    }

    /// The points that have a logarithm and an interval, as costs in ns: a rate of bytes is the
    /// time of as many bytes as an op moves, other rates are the time of an op.
    fn sizes(&self) -> Vec<SizeCost> {
        let moved = self.axis == self.definition.bytes_axis;
        let cost = |value: u64, figure: f64, unit: Unit| match unit {
            Unit::BytesPerSecond if moved => 1e9 * value as f64 / figure,
            Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => 1e9 / figure,
            Unit::Seconds => 1e9 * figure,
            _ => figure,
        };
        let size = |(value, row): &(u64, &Row)| {
            let estimate = row.estimate.as_ref()?;
            let [low, high] = estimate.ci95?;
            let sound = low > 0.0 && low <= estimate.median && estimate.median <= high;
            let sd = (high / low).ln() / (2.0 * INTERVAL_SDS);
            let cost = |figure: f64| cost(*value, figure, row.unit);
            let figure = cost(estimate.median);
            let values = row.repetitions.iter().filter_map(|repetition| repetition.value);
            (sound && figure.is_finite() && sd.is_finite()).then(|| SizeCost {
                n: *value as f64,
                figure,
                sd: sd.max(MIN_RELATIVE_SD),
                repetitions: values.filter(|value| *value > 0.0).map(cost).collect(),
            })
        };
        let mut sizes: Vec<SizeCost> = self.rows.iter().filter_map(size).collect();
        let steady = raise_small_uncertainties(&spots(&sizes));
        for (size, spot) in sizes.iter_mut().zip(steady) {
            size.sd = spot.sd;
        }
        sizes
    }
}

fn point(value: u64, row: &Row) -> CurvePoint {
    let estimate = row.estimate.as_ref();
    CurvePoint {
        value,
        case: row.case.clone(),
        figure: estimate.map(|estimate| estimate.median).filter(|figure| figure.is_finite()),
        ci95: estimate.and_then(|estimate| estimate.ci95),
    }
}

fn spots(sizes: &[SizeCost]) -> Vec<LogPoint> {
    sizes.iter().map(|it| LogPoint { x: it.n.ln(), y: it.figure.ln(), sd: it.sd }).collect()
}

/// A law as the record tells it.
fn scaling_record(law: &Scaling, sizes: &[SizeCost], holds: bool) -> curve::Scaling {
    let known = |it: ValueWithInterval| {
        let Interval { lo, hi } = it.interval;
        curve::BoundedValue { value: it.value, ci95: [lo, hi] }
    };
    curve::Scaling {
        model: law.law.text().to_owned(),
        alternative_model: law.runner_up.map(|second| second.text().to_owned()),
        fixed_cost: known(law.fixed),
        marginal_cost: law.marginal.map(known),
        crossover: law.crossover.map(known),
        exponent: last_exponent(sizes).map(known),
        fits: holds,
    }
}

/// Where a curve bends: at its breaks, or where its growing part becomes the larger one.
fn bend_intervals(
    breaks: &[curve::Break],
    scaling: Option<&curve::Scaling>,
    points: &[CurvePoint],
) -> Vec<[u64; 2]> {
    let smooth = scaling.filter(|law| law.fits).and_then(|law| law.crossover.as_ref());
    let reaches = |at: f64| points.iter().any(|point| point.value as f64 >= at);
    let smooth = smooth.filter(|it| reaches(it.value));
    let smooth = smooth.map(|it| [it.ci95[0].floor() as u64, it.ci95[1].ceil() as u64]);
    breaks.iter().map(|it| it.interval).chain(smooth).collect()
}

/// The smallest value from which on a rate stays with the largest one: no interval behind it ends
/// more than a twentieth below that. `None` where only the last point does, where a point is
/// missing, and of costs.
fn saturation(points: &[CurvePoint], better: Better) -> Option<Saturation> {
    if better != Better::Higher {
        return None;
    }
    let whole: Vec<(u64, f64, f64)> = points
        .iter()
        .filter(|point| point.figure.is_some())
        .map(|point| Some((point.value, point.figure?, point.ci95?[1])))
        .collect::<Option<_>>()?;
    let largest = whole.iter().map(|it| it.1).fold(f64::NEG_INFINITY, f64::max);
    let stays = |it: &&(u64, f64, f64)| it.2 >= largest * (1.0 - SATURATION_MARGIN);
    let from = whole.iter().rev().take_while(stays).map(|it| it.0);
    let values: BTreeSet<u64> = from.collect();
    let from = *values.first()?;
    (values.len() >= 2 && largest > 0.0).then_some(Saturation { from, figure: largest })
}

#[cfg(test)]
mod tests;
