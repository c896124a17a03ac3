//! Curves on a page: figures over a size or a number, with their intervals, the laws fitted to them,
//! and their breaks with the probable causes.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::curve::{Curve, CurvePoint, Scaling};
use oscost_model::record::{Record, Row};
use oscost_model::unit::Unit;
use oscost_stats::scaling::Law;

use crate::report::figures::{Style, binary, quantity};
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Mark, Point, Series, Shape, Symbol, Tick, Vertical,
};
use crate::report::view::page::rows;
use crate::report::view::page::rows::IndexedRow;
use crate::report::view::run::curves::CurveGroup;

/// The number of line segments of a drawn law.
const LAW_STEPS: u32 = 60;
/// The number of names on the axis of sizes at most.
const MAX_NAMED: usize = 9;

/// The rows of a record as the points of curves name them: found once for all points.
pub(super) struct RowsOfPoints<'a>(BTreeMap<PlacedCase<'a>, IndexedRow<'a>>);

/// A case, and where it was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlacedCase<'a> {
    case: &'a str,
    target: &'a str,
    peer: Option<&'a str>,
}

impl<'a> RowsOfPoints<'a> {
    /// Those of a record; of several with the same case at the same place the first.
    pub(super) fn of(record: &'a Record) -> Self {
        let placed = |(index, row): (usize, &'a Row)| {
            let (case, target) = (row.case.as_str(), row.target.text.as_str());
            let place = PlacedCase { case, target, peer: row.target.peer.as_deref() };
            (place, IndexedRow { index, row })
        };
        Self(record.results.iter().enumerate().rev().map(placed).collect())
    }

    fn of_point(&self, curve: &Curve, point: &CurvePoint) -> Option<IndexedRow<'a>> {
        let peer = curve.peer.as_deref();
        self.0.get(&PlacedCase { case: &point.case, target: &curve.target, peer }).copied()
    }
}

/// The breaks of a group's curves at one position.
struct BreakMark {
    position: u64,
    causes: Vec<String>,
}

impl BreakMark {
    fn into_mark(self) -> Mark {
        Mark { x: self.position as f64, text: self.causes.join("; ") }
    }
}

/// The chart of a group; `None` if it has no point that a logarithmic scale can show.
pub(super) fn chart(
    number: usize,
    group: &CurveGroup<'_>,
    rows: &RowsOfPoints<'_>,
) -> Option<Chart> {
    let mut series = Vec::new();
    let mut marks: Vec<BreakMark> = Vec::new();
    let mut known_marks: BTreeMap<u64, usize> = BTreeMap::new();
    for (number, &curve) in group.curves.iter().enumerate() {
        let points = points(curve, rows);
        if points.is_empty() {
            continue;
        }
        let name = group.labels(curve).join(", ");
        let name = if name.is_empty() { curve.benchmark.clone() } else { name };
        let colour = Colour::Palette(number);
        let law = law(curve).map(|points| Series {
            name: format!("{name}: fitted law"),
            colour,
            shape: Shape::DottedLine,
            points,
        });
        let shape = Shape::ConnectedSymbols(Symbol::of_series(number));
        series.push(Series { name, colour, shape, points });
        series.extend(law);
        // A logarithmic scale has no 0.
        for it in curve.breaks.iter().flatten().filter(|it| it.position > 0) {
            let cause = match &it.constants[..] {
                [] => "unexplained break".to_owned(),
                some => some.join(", "),
            };
            let at = *known_marks.entry(it.position).or_insert(marks.len());
            if at == marks.len() {
                marks.push(BreakMark { position: it.position, causes: Vec::new() });
            }
            let causes = &mut marks[at].causes;
            if !causes.iter().any(|known| known.contains(&cause)) {
                causes.push(cause);
            }
        }
    }
    if series.is_empty() {
        return None;
    }
    let values: Vec<f64> = series
        .iter()
        .filter(|series| series.shape != Shape::DottedLine)
        .flat_map(|series| &series.points)
        .flat_map(|point| point.interval.into_iter().flatten().chain([point.y]))
        .collect();
    let Curve { axis, item, unit, .. } = group.curves[0];
    let by = if axis == item { axis.clone() } else { format!("{axis} (in {item}s)") };
    Some(Chart {
        id: format!("curve-{number}"),
        caption: format!("{}, both axes logarithmic, with 95 % intervals", group.title),
        x: Axis { ticks: ticks(&group.curves), ..Axis::logarithmic(by) },
        y: Vertical::Axis(Axis::over(values.into_iter(), quantity(*unit), *unit)),
        series,
        marks: marks.into_iter().map(BreakMark::into_mark).collect(),
        band: None,
    })
}

/// The sizes of curves as names of their axis, the largest among them.
fn ticks(curves: &[&Curve]) -> Vec<Tick> {
    let values = curves.iter().flat_map(|curve| &curve.points).map(|point| point.value);
    // A logarithmic scale has no 0.
    let values: BTreeSet<u64> = values.filter(|value| *value > 0).collect();
    let step = values.len().div_ceil(MAX_NAMED).max(1);
    let tick = |value: &u64| Tick { value: *value as f64, name: binary(*value) };
    let mut ticks: Vec<Tick> = values.iter().rev().step_by(step).map(tick).collect();
    ticks.reverse();
    ticks
}

/// The points of a curve that a logarithmic scale can show.
fn points(curve: &Curve, rows: &RowsOfPoints<'_>) -> Vec<Point> {
    let point = |point: &CurvePoint| {
        let figure = point.figure.filter(|it| *it > 0.0 && it.is_finite() && point.value > 0)?;
        let row = rows.of_point(curve, point);
        // The row in the table has the details.
        let details = match row {
            Some(_) => Vec::new(),
            None => vec![point.case.clone(), Style::of(figure, curve.unit).with_unit(figure)],
        };
        Some(Point {
            x: point.value as f64,
            y: figure,
            interval: Some(point.ci95.unwrap_or([figure; 2])),
            details,
            row: row.map(|it| rows::id(it.index)).unwrap_or_default(),
            ..Point::default()
        })
    };
    curve.points.iter().filter_map(point).collect()
}

/// Points of the law of a curve between its ends; `None` if no law fits.
fn law(curve: &Curve) -> Option<Vec<Point>> {
    let scaling = curve.scaling.as_ref().filter(|it| it.fits)?;
    let law = Law::ALL.into_iter().find(|law| law.text() == scaling.model)?;
    let (first, last) = (curve.points.first()?.value.max(1), curve.points.last()?.value);
    if last <= first {
        return None;
    }
    let step = (last as f64 / first as f64).powf(1.0 / f64::from(LAW_STEPS));
    let at = (0..=LAW_STEPS).map(|number| first as f64 * step.powi(number as i32));
    let points = at.map(|x| Point { x, y: figure(curve, scaling, law, x), ..Point::default() });
    Some(points.filter(|point| point.y > 0.0 && point.y.is_finite()).collect())
}

/// The value of a curve's law at a size. The law's costs are in ns, also if the unit is a rate.
fn figure(curve: &Curve, scaling: &Scaling, law: Law, n: f64) -> f64 {
    let ns = scaling.fixed_cost.value
        + scaling.marginal_cost.as_ref().map_or(0.0, |b| b.value * law.value_at(n));
    match curve.unit {
        Unit::Seconds => ns / 1e9,
        Unit::BytesPerSecond if curve.item == "byte" => 1e9 * n / ns,
        Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => 1e9 / ns,
        _ => ns,
    }
}
