//! Curves: rows of one benchmark that differ in one number alone.
//!
//! At a break, the segments of a curve do not continue each other (docs/explanation/METHOD.md,
//! section 8). It is explained only by a constant inside its interval; if a fixed and a marginal
//! cost fit the same points as well, there is no break.

mod capacity;
mod constants;
mod crossings;
mod number_format;
mod sentences;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::crossing::Crossing;
use oscost_model::curve::{self, Curve, CurvePoint, Saturation};
use oscost_model::definition::Definition;
use oscost_model::point::{Point, Value};
use oscost_model::record::{Machine, Row};
use oscost_model::unit::{Better, Unit};

pub(crate) use self::number_format::time;

use self::crossings::CurveSide;
use self::shape::{CAPACITY, CurveLaw, Shape};
use super::uncertainty::MIN_RELATIVE_SD;
use oscost_stats::interval::Interval;
use oscost_stats::scaling::{
    BIC_MARGIN, RESAMPLES, Scaling, SizeCost, ValueWithInterval, fit_scaling, last_exponent,
};
use oscost_stats::segments::{LogPoint, Segments, penalty, raise_small_uncertainties, segments};

/// A curve of fewer points shows nothing that the table does not show ...
const MIN_POINTS: usize = 5;
/// ... and so does one whose largest number is less than this many times its smallest.
const MIN_SPAN: u64 = 10;
/// The quantile at which the interval of a point ends, in standard deviations.
const INTERVAL_SDS: f64 = 1.96;
/// A rate is saturated while its interval reaches to this share below the largest rate.
const SATURATION_MARGIN: f64 = 0.05;
/// Points follow a law if the root mean square of their distances from it is at most this many
/// standard deviations: noise alone gives one, and no law is exact.
const MAX_LAW_DEVIATION: f64 = 2.0;
/// This many sizes locate a break better ...
const REFINEMENT_SIZES: u32 = 8;
/// ... unless the ratio of its ends is less than this: half an octave is as narrow as sizes get.
const MIN_BREAK_RATIO: f64 = 1.5;
/// The axis whose numbers are bytes, whatever the op transfers.
const BYTES: &str = "size";

/// The curves of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The curves.
    pub curves: Vec<Curve>,
    /// The crossings of pairs of curves that differ in one word.
    pub crossings: Vec<Crossing>,
}

/// A row of a run, and the definition of its benchmark.
#[derive(Clone, Copy, Debug)]
pub struct DefinedRow<'a> {
    /// The definition.
    pub definition: &'a Definition,
    /// The row.
    pub row: &'a Row,
}

/// The curves of the rows of a run, in the order of the rows. `seed` determines all resampling.
pub fn curves(rows: &[DefinedRow<'_>], machine: Option<&Machine>, seed: u64) -> Curves {
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

/// What the rows of a curve share.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CurveKey<'a> {
    benchmark: &'a str,
    axis: &'a str,
    rest: Point,
    target: &'a str,
    peer: Option<&'a str>,
}

/// Requested rows that differ on one axis alone, if there are enough for a curve.
fn curve_rows<'a>(rows: &[DefinedRow<'a>]) -> Vec<CurveRows<'a>> {
    let mut found: Vec<CurveRows<'a>> = Vec::new();
    let mut known: BTreeMap<CurveKey<'_>, usize> = BTreeMap::new();
    let is_unrequested = |flag: &String| flag == "REFERENCE" || flag == "PRIMITIVE";
    // A law weighs points by their spread, and counts have none.
    let is_count = |row: &Row| row.unit == Unit::InstructionsPerOp;
    let is_point = |row: &Row| !row.flags.iter().any(is_unrequested) && !is_count(row);
    for &DefinedRow { definition, row } in rows.iter().filter(|it| is_point(it.row)) {
        let whole = definition.with_implied(&row.point);
        for axis in &definition.axes {
            let axis = axis.name.as_str();
            let Some(&Value::Number(value)) = whole.get(axis) else { continue };
            // 0 has no logarithm: such a point is in the table alone.
            if value == 0 {
                continue;
            }
            let others = row.point.iter().filter(|(name, _)| *name != axis);
            let rest =
                others.fold(Point::none(), |rest, (name, value)| rest.with(name, value.clone()));
            let key = CurveKey {
                benchmark: &definition.id,
                axis,
                rest: rest.clone(),
                target: &row.target.text,
                peer: row.target.peer.as_deref(),
            };
            let number = *known.entry(key).or_insert(found.len());
            match found.get_mut(number) {
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
        let pieces = segments(&log_points(&sizes));
        let law = fit_scaling(&sizes, RESAMPLES, seed);
        let law_holds = law.as_ref().zip(pieces.as_ref()).is_some_and(|(law, pieces)| {
            // A law must fit as well as the segments. Without breaks, it may fit slightly worse:
            // the slope of a segment is a free parameter.
            let tolerance = if pieces.breaks.is_empty() { BIC_MARGIN } else { 0.0 };
            law.chi_square + penalty(sizes.len()) <= pieces.cost + tolerance
        });
        // Even if segments fit no better, the points may not follow the law.
        let is_followed = |law: &&Scaling| {
            law_holds
                && law.chi_square <= sizes.len() as f64 * MAX_LAW_DEVIATION * MAX_LAW_DEVIATION
        };
        let followed_law = law
            .as_ref()
            .filter(is_followed)
            .map(|law| CurveLaw { law: law.law, is_only_one: law.runner_up.is_none() });
        let constants = || constants::constants(self.channels(), machine);
        let breaks = pieces.map(|Segments { breaks, .. }| {
            let breaks = breaks.iter().filter(|_| !law_holds);
            let value = |at: usize| sizes[at].n as u64;
            breaks
                .map(|it| {
                    let at = it.position.exp().round() as u64;
                    let interval = [value(it.last_before), value(it.first_after)];
                    let constants = if in_bytes { constants() } else { vec![] };
                    curve::Break {
                        position: at,
                        interval,
                        constants: constants::constants_in(&constants, at, interval),
                        refinement_values: self.refinement_sizes(interval),
                    }
                })
                .collect::<Vec<_>>()
        });
        let scaling = law.map(|law| scaling_record(&law, &sizes, law_holds));
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
        let requested = match self.definition.with_implied(&self.rest).get(CAPACITY) {
            Some(&Value::Number(bytes)) => Some(bytes),
            _ => None,
        };
        let reported = self.channels().find_map(|channel| channel.capacity_bytes);
        let capacity = reported.or(requested);
        (curve, Shape { capacity, bends, sizes, law: followed_law })
    }

    /// What its axis counts.
    fn item(&self) -> &str {
        let item = self.definition.axis(self.axis).map_or("", |axis| axis.item.as_str());
        match item {
            "" if self.axis == BYTES || self.axis == self.definition.bytes_axis => "byte",
            "" => self.axis,
            item => item,
        }
    }

    fn crossing_side<'b>(&'b self, shape: &'b Shape) -> CurveSide<'b> {
        let Row { target, command, .. } = self.rows[0].1;
        CurveSide {
            definition: self.definition,
            axis: self.axis,
            item: self.item(),
            rest: &self.rest,
            target: &target.text,
            peer: target.peer.as_deref(),
            is_command: command.is_some(),
            sizes: &shape.sizes,
            law: shape.law,
        }
    }

    fn channels(&self) -> impl Iterator<Item = &oscost_model::channel::ChannelObservation> {
        self.rows.iter().filter_map(|(_, row)| row.channel.as_ref())
    }

    /// Sizes inside the interval of a break, in equal ratios, if the axis takes any number.
    fn refinement_sizes(&self, [first, last]: [u64; 2]) -> Vec<u64> {
        let takes_any = self.definition.axis(self.axis).is_some_and(|axis| axis.range.is_some());
        let ratio = last as f64 / first as f64;
        if !takes_any || ratio < MIN_BREAK_RATIO {
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

    /// The points with a logarithm and an interval, as costs in ns: a rate of bytes becomes the
    /// time for the bytes that an op transfers, other rates the time of an op.
    fn sizes(&self) -> Vec<SizeCost> {
        let is_transfer_size = self.axis == self.definition.bytes_axis;
        let cost = |value: u64, figure: f64, unit: Unit| match unit {
            Unit::BytesPerSecond if is_transfer_size => 1e9 * value as f64 / figure,
            Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => 1e9 / figure,
            Unit::Seconds => 1e9 * figure,
            _ => figure,
        };
        let size = |(value, row): &(u64, &Row)| {
            let estimate = row.estimate.as_ref()?;
            let [low, high] = estimate.ci95?;
            let is_valid = low > 0.0 && low <= estimate.median && estimate.median <= high;
            let sd = (high / low).ln() / (2.0 * INTERVAL_SDS);
            let cost = |figure: f64| cost(*value, figure, row.unit);
            let figure = cost(estimate.median);
            let values = row.repetitions.iter().filter_map(|repetition| repetition.value);
            (is_valid && figure.is_finite() && sd.is_finite()).then(|| SizeCost {
                n: *value as f64,
                figure,
                sd: sd.max(MIN_RELATIVE_SD),
                repetitions: values.filter(|value| *value > 0.0).map(cost).collect(),
            })
        };
        let mut sizes: Vec<SizeCost> = self.rows.iter().filter_map(size).collect();
        let points = raise_small_uncertainties(&log_points(&sizes));
        for (size, point) in sizes.iter_mut().zip(points) {
            size.sd = point.sd;
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

fn log_points(sizes: &[SizeCost]) -> Vec<LogPoint> {
    sizes.iter().map(|it| LogPoint { x: it.n.ln(), y: it.figure.ln(), sd: it.sd }).collect()
}

/// A law in the record.
fn scaling_record(law: &Scaling, sizes: &[SizeCost], holds: bool) -> curve::Scaling {
    let bounded = |it: ValueWithInterval| {
        let Interval { lo, hi } = it.interval;
        curve::BoundedValue { value: it.value, ci95: [lo, hi] }
    };
    curve::Scaling {
        model: law.law.text().to_owned(),
        alternative_model: law.runner_up.map(|second| second.text().to_owned()),
        fixed_cost: bounded(law.fixed),
        marginal_cost: law.marginal.map(bounded),
        crossover: law.crossover.map(bounded),
        exponent: last_exponent(sizes).map(bounded),
        fits: holds,
    }
}

/// Where a curve bends: at its breaks, or where the growing part of its cost exceeds the fixed one.
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

/// The smallest value from which on a rate is saturated: all intervals from there on reach to a
/// twentieth below the largest rate. `None` if only the last point is, if an interval is missing,
/// and for costs.
fn saturation(points: &[CurvePoint], better: Better) -> Option<Saturation> {
    if better != Better::Higher {
        return None;
    }
    let measured = points.iter().filter(|point| point.figure.is_some());
    let largest = measured.clone().filter_map(|it| it.figure).fold(f64::NEG_INFINITY, f64::max);
    let upper_ends: Vec<(u64, f64)> =
        measured.map(|it| Some((it.value, it.ci95?[1]))).collect::<Option<_>>()?;
    let is_saturated = |it: &&(u64, f64)| it.1 >= largest * (1.0 - SATURATION_MARGIN);
    let values: BTreeSet<u64> =
        upper_ends.iter().rev().take_while(is_saturated).map(|it| it.0).collect();
    let from = *values.first()?;
    (values.len() >= 2 && largest > 0.0).then_some(Saturation { from, figure: largest })
}

#[cfg(test)]
mod tests;
