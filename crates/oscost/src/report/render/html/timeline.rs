//! Figures of successive runs as a chart.

use std::collections::BTreeMap;

use crate::report::figures::{Style, quantity};
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Mark, Point, Series, Shape, Symbol, Tick, Vertical,
};
use crate::report::view::document::timeline::Timeline;

/// More runs than this have ticks at round numbers.
const MAX_TICKS: usize = 10;

/// The chart: figures with their intervals, the levels between changes, and updates at the bottom.
pub(super) fn chart(timeline: &Timeline) -> Chart {
    let newest = timeline.runs.last().map_or(1.0, |run| run.figure);
    let style = Style::of(newest, timeline.unit);
    let runs: Vec<Point> = timeline
        .runs
        .iter()
        .enumerate()
        .map(|(number, run)| Point {
            x: (number + 1) as f64,
            y: style.scale(run.figure),
            interval: Some(run.interval.unwrap_or([run.figure; 2]).map(|end| style.scale(end))),
            details: run.details.clone(),
            ..Point::default()
        })
        .collect();
    let lows = runs.iter().filter_map(|point| point.interval.map(|[low, _]| low));
    let bottom = lows.fold(f64::INFINITY, f64::min);
    let runs = Series { name: "a run each".to_owned(), points: runs, ..Series::default() };
    let mark =
        |run: usize, ratio: f64| Mark { x: run as f64 + 0.5, text: format!("{ratio:.3} times") };
    let title = format!("{}, in {}", quantity(timeline.unit), style.unit());
    Chart {
        id: timeline.id.clone(),
        caption: timeline.caption.clone(),
        x: Axis {
            ends: Some([0.4, timeline.runs.len() as f64 + 0.6]),
            ticks: ticks(timeline.runs.len()),
            ..Axis::linear("run, the oldest first")
        },
        y: Vertical::Axis(Axis::linear(title)),
        series: [runs]
            .into_iter()
            .chain(levels(timeline, &style))
            .chain(updates(timeline, bottom))
            .collect(),
        marks: timeline.changes.iter().map(|it| mark(it.run, it.ratio)).collect(),
        band: None,
    }
}

/// A tick for each of a few runs, between two of which there is none; empty for many.
fn ticks(runs: usize) -> Vec<Tick> {
    let each = (1..=runs).map(|run| Tick { value: run as f64, name: run.to_string() });
    each.filter(|_| runs <= MAX_TICKS).collect()
}

/// The levels between changes, each from its first run to its last.
fn levels(timeline: &Timeline, style: &Style) -> Vec<Series> {
    let changes = &timeline.changes;
    let line = |first: usize, end: usize, figure: f64| {
        let point = |x: f64| Point { x, y: style.scale(figure), ..Point::default() };
        Series {
            name: String::new(),
            colour: Colour::Palette(1),
            shape: Shape::Line,
            points: vec![point(first as f64 + 0.6), point(end as f64 + 0.4)],
        }
    };
    let starts = [0].into_iter().chain(changes.iter().map(|it| it.run));
    let mut lines: Vec<Series> =
        starts.zip(changes).map(|(first, it)| line(first, it.run, it.from)).collect();
    lines.extend(changes.last().map(|it| line(it.run, timeline.runs.len(), it.to)));
    lines
}

/// The updates at the bottom, a series for each kind.
fn updates(timeline: &Timeline, bottom: f64) -> Vec<Series> {
    let mut kinds: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for update in &timeline.updates {
        kinds.entry(update.kind).or_default().push(Point {
            x: (update.run + 1) as f64,
            y: bottom,
            details: vec![format!("run {}: {}", update.run + 1, update.text)],
            ..Point::default()
        });
    }
    let symbols = [Symbol::TriangleUp, Symbol::Diamond];
    let series = |(number, (kind, points)): (usize, (&str, Vec<Point>))| Series {
        name: format!("{kind} updated"),
        colour: Colour::Palette(2 + number % 4),
        shape: Shape::Symbols(symbols[number % 2]),
        points,
    };
    kinds.into_iter().enumerate().map(series).collect()
}
