//! Curves: figures over a size or a number, with their intervals, the laws that they follow, and the
//! places where they bend, by name.

use oscost_model::curve::{Curve, CurvePoint, Scaling};
use oscost_model::record::Record;
use oscost_model::unit::Unit;
use plotly::Scatter;
use plotly::common::{DashType, HoverInfo, Line as Stroke, Mode};
use plotly::layout::{AxisType, HoverMode};

use crate::report::figures::Style;
use crate::report::figures::quantity;
use crate::report::view::chart::{
    Along, COLOURS, Chart, Plot, Points, axis, layout, ratios, safe, symbol, titled, told, upright,
};
use crate::report::view::curves::CurveGroup;
use crate::report::view::page::rows;
use oscost_stats::scaling::Law;

/// Steps in which a law is drawn.
const STEPS: u32 = 60;

/// The chart of a block; nothing where it has nothing that a scale of ratios could show.
pub(super) fn chart(at: usize, block: &CurveGroup<'_>, record: &Record) -> Option<Chart> {
    let mut plot = Plot::default();
    let mut shown: Vec<f64> = Vec::new();
    let mut knees: Vec<(u64, String)> = Vec::new();
    for (which, &curve) in block.curves.iter().enumerate() {
        let points = points(curve, block, record);
        if points.x.is_empty() {
            continue;
        }
        shown.extend(points.y.iter().chain(points.ends.iter().flatten()));
        let colour = COLOURS[which % COLOURS.len()];
        let name = points.name.clone();
        plot.add_trace(points.trace((colour, symbol(which)), Along::Y, Mode::LinesMarkers));
        if let Some((x, y)) = law(curve) {
            let stroke = Stroke::new().color(colour).dash(DashType::Dot).width(1.5);
            let trace = Scatter::new(x, y)
                .name(safe(&format!("{name}: its law")))
                .mode(Mode::Lines)
                .hover_info(HoverInfo::Skip)
                .line(stroke);
            plot.add_trace(trace);
        }
        // A scale of ratios has no 0.
        for it in curve.breaks.iter().flatten().filter(|it| it.position > 0) {
            let named = match &it.constants[..] {
                [] => "bends, unexplained".to_owned(),
                some => some.join(", "),
            };
            match knees.iter_mut().find(|(at, _)| *at == it.position) {
                Some((_, names)) if !names.contains(&named) => {
                    names.push_str(&format!("; {named}"))
                }
                Some(_) => {}
                None => knees.push((it.position, named)),
            }
        }
    }
    if shown.is_empty() {
        return None;
    }
    let values = block.curves.iter().flat_map(|curve| &curve.points).map(|point| point.value);
    let ends = (values.clone().filter(|value| *value > 0).min(), values.max());
    let middle = ends.0.zip(ends.1).map_or(0.0, |(low, high)| (low as f64 * high as f64).sqrt());
    let line = |(at, words): &(u64, String)| upright(*at as f64, words, true, *at as f64 > middle);
    let (shapes, notes) = knees.iter().map(line).unzip();
    let Curve { axis: of_axis, item: of, unit, .. } = block.curves[0];
    let by = if of_axis == of { of_axis.clone() } else { format!("{of_axis} (in {of}s)") };
    let beside = titled(ratios(shown.iter().copied(), *unit), quantity(*unit));
    let below = titled(axis().type_(AxisType::Log), &by);
    let layout = layout(None)
        .x_axis(below)
        .y_axis(beside)
        .shapes(shapes)
        .annotations(notes)
        .hover_mode(HoverMode::Closest);
    plot.set_layout(layout);
    Some(Chart {
        id: format!("curve-{at}"),
        caption: format!("{}, both on scales of ratios, with 95 % intervals", block.title),
        plot,
        lines: None,
        orders: Vec::new(),
    })
}

/// The points of a curve that a scale of ratios can show.
fn points(curve: &Curve, block: &CurveGroup<'_>, record: &Record) -> Points {
    let name = block.labels(curve).join(", ");
    let name = if name.is_empty() { curve.benchmark.clone() } else { name };
    let mut points = Points { name: name.clone(), ..Points::default() };
    let of_curve = |point: &CurvePoint| {
        record.results.iter().position(|row| {
            row.case == point.case
                && row.target.text == curve.target
                && row.target.peer == curve.peer
        })
    };
    for point in &curve.points {
        let Some(figure) = point.figure.filter(|it| *it > 0.0 && it.is_finite()) else { continue };
        if point.value == 0 {
            continue;
        }
        points.x.push(point.value as f64);
        points.y.push(figure);
        points.ends.push(point.ci95.unwrap_or([figure; 2]));
        let row = of_curve(point);
        points.told.push(match row {
            Some(at) => told(&rows::told(&point.case, &record.results[at])),
            None => told(&[point.case.clone(), Style::of(figure, curve.unit).with_unit(figure)]),
        });
        points.rows.push(row.map(rows::id).unwrap_or_default());
    }
    points
}

/// The law of a curve, in steps between its ends; nothing where it follows none.
fn law(curve: &Curve) -> Option<(Vec<f64>, Vec<f64>)> {
    let scaling = curve.scaling.as_ref().filter(|it| it.holds)?;
    let law = Law::ALL.into_iter().find(|law| law.text() == scaling.model)?;
    let (first, last) = (curve.points.first()?.value.max(1), curve.points.last()?.value);
    if last <= first {
        return None;
    }
    let step = (last as f64 / first as f64).powf(1.0 / f64::from(STEPS));
    let at = (0..=STEPS).map(|which| first as f64 * step.powi(which as i32));
    let figures = at.map(|n| (n, figure(curve, scaling, law, n)));
    Some(figures.filter(|(_, figure)| *figure > 0.0 && figure.is_finite()).unzip())
}

/// The figure of a curve's law at a size: its costs are in ns, of a rate too.
fn figure(curve: &Curve, scaling: &Scaling, law: Law, n: f64) -> f64 {
    let ns = scaling.a.value + scaling.b.as_ref().map_or(0.0, |b| b.value * law.value_at(n));
    match curve.unit {
        Unit::Seconds => ns / 1e9,
        Unit::BytesPerSecond if curve.item == "byte" => 1e9 * n / ns,
        Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => 1e9 / ns,
        _ => ns,
    }
}
