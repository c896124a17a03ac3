//! The pictures of a study's tables: what was published and what was measured, on one scale.

use super::study_run::StudyComparison;
use crate::report::figures::{binary, per_op, short};
use crate::report::text::plain;
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Order, Point, Series as Drawn, Shape, Symbol, Tick, Vertical,
};
use crate::studies::comparison::single_target::{ColumnResult, SingleTargetTable};
use crate::studies::comparison::two_targets::{TwoTargetComparison, TwoTargetTable};
use crate::studies::{PublishedFigure, Series, TableUnit};
use oscost_model::unit::Unit;

/// Values of a curve's axis that are named at most.
const MAX_NAMED: usize = 15;

/// The name of a value in a unit of tables.
fn name(value: f64, unit: TableUnit) -> String {
    match unit {
        TableUnit::Nanoseconds => short(value, Unit::NsPerOp),
        TableUnit::Microseconds => short(value * 1e3, Unit::NsPerOp),
        TableUnit::Milliseconds => short(value * 1e6, Unit::NsPerOp),
        TableUnit::Seconds => short(value, Unit::Seconds),
        TableUnit::MegabytesPerSecond => short(value * 1e6, Unit::BytesPerSecond),
        TableUnit::FramesPerSecond => short(value, Unit::FramesPerSecond),
        TableUnit::OpsPerSecond
        | TableUnit::Cycles
        | TableUnit::Ticks
        | TableUnit::Times
        | TableUnit::PerCent
        | TableUnit::Calls
        | TableUnit::Instructions => {
            // The title of the axis names the unit.
            if value < 1.0 { format!("{value}") } else { per_op(value) }
        }
    }
}

/// The title of an axis whose values [`name`] names: with the unit, unless each name has one.
fn title(unit: TableUnit) -> &'static str {
    match unit {
        TableUnit::Nanoseconds
        | TableUnit::Microseconds
        | TableUnit::Milliseconds
        | TableUnit::Seconds => "time",
        TableUnit::MegabytesPerSecond => "rate",
        other => other.plural(),
    }
}

/// The title of the axis of a curve.
fn title_of_sizes(axis: &str) -> &str {
    match axis {
        "size" => "size, in bytes",
        "fds" => "descriptors",
        "args" => "arguments",
        other => other,
    }
}

/// What was published, as a point: a range has its two ends, and a bound is not a figure.
fn published_point(figure: &PublishedFigure, at: [f64; 2], is_row: bool) -> Option<Point> {
    if figure.is_bound {
        return None;
    }
    let middle = (figure.low * figure.high).sqrt();
    let interval = (figure.low < figure.high).then_some([figure.low, figure.high]);
    let [x, y] = if is_row { [middle, at[1]] } else { [at[0], middle] };
    Some(Point { x, y, interval, ..Point::default() })
}

/// What was measured: by the study's statistic, or by oscost's own estimate where there is none.
fn measured_value(cell: &ColumnResult<'_>) -> Option<f64> {
    cell.by_study_statistic.map(|it| it.value).or_else(|| cell.estimate.map(|it| it.value))
}

/// The values of points along their value axis, with the ends of ranges.
fn reach(series: &[Drawn], value: fn(&Point) -> f64) -> Vec<f64> {
    let points = series.iter().flat_map(|it| &it.points);
    let ends =
        points.flat_map(|it| std::iter::once(value(it)).chain(it.interval.into_iter().flatten()));
    ends.collect()
}

/// The rows of a table that are not points of a curve, then and here; `None` where that shows
/// nothing.
pub(super) fn of_rows(table: &SingleTargetTable<'_>, id: &str) -> Option<Chart> {
    let in_series = |at: usize| table.table.series.iter().any(|it| it.rows().contains(&at));
    let cells = table.rows.iter().enumerate().filter(|(at, _)| !in_series(*at));
    let unit = table.table.figures.first()?.unit;
    let shown: Vec<_> = cells
        .filter_map(|(_, row)| {
            let cell = row.cells.first().filter(|cell| cell.figure.unit == unit)?;
            let here = measured_value(cell).filter(|value| *value > 0.0)?;
            Some((row.row.name.as_str(), cell.published, here))
        })
        .collect();
    let both = shown.iter().filter(|(_, then, _)| then.is_some_and(|it| !it.is_bound)).count();
    if both < 2 {
        return None;
    }
    let mut then = Vec::new();
    let mut here = Vec::new();
    for (at, (_, published, value)) in shown.iter().enumerate() {
        let row = at as f64;
        then.extend(published.and_then(|it| published_point(it, [0.0, row], true)));
        here.push(Point { x: *value, y: row, ..Point::default() });
    }
    let series = vec![then_series(then, "then"), here_series(here)];
    let names = shown.iter().map(|(name, ..)| plain(name)).collect();
    let anchors = vec![String::new(); shown.len()];
    let column = &table.table.figures[0].name;
    let column = if column.is_empty() { String::new() } else { format!(", {column}") };
    Some(Chart {
        id: id.to_owned(),
        caption: plain(&format!(
            "{}: {}{column}, then and here",
            table.table.name, table.table.title
        )),
        x: Axis::over_named(reach(&series, |it| it.x).into_iter(), title(unit), |value| {
            name(value, unit)
        }),
        y: Vertical::Rows(vec![Order::of_rows("as published", anchors, names)]),
        series,
        marks: Vec::new(),
        band: None,
    })
}

fn then_series(points: Vec<Point>, name: &str) -> Drawn {
    let shape = Shape::Symbols(Symbol::OpenDiamond);
    Drawn { name: name.to_owned(), colour: Colour::Palette(1), shape, points }
}

fn here_series(points: Vec<Point>) -> Drawn {
    let shape = Shape::Symbols(Symbol::Circle);
    Drawn { name: "here".to_owned(), colour: Colour::Palette(0), shape, points }
}

/// The curves of a table, those over one axis in one picture.
pub(in crate::report::view) fn of_curves(table: &SingleTargetTable<'_>, id: &str) -> Vec<Chart> {
    let mut axes: Vec<&str> = Vec::new();
    for Series { axis, .. } in &table.table.series {
        if !axes.contains(&axis.as_str()) {
            axes.push(axis);
        }
    }
    let charts = axes.iter().filter_map(|axis| curves_over(table, axis, id));
    charts.collect()
}

fn curves_over(table: &SingleTargetTable<'_>, axis: &str, id: &str) -> Option<Chart> {
    let unit = table.table.figures.last()?.unit;
    let of_axis: Vec<&Series> = table.table.series.iter().filter(|it| it.axis == axis).collect();
    let mut series = Vec::new();
    for (number, curve) in of_axis.iter().enumerate() {
        let (mut then, mut here) = (Vec::new(), Vec::new());
        for (value, row) in curve.values.iter().zip(&table.rows[curve.rows()]) {
            let Some(cell) = row.cells.last() else { continue };
            let x = *value as f64;
            then.extend(cell.published.and_then(|it| published_point(it, [x, 0.0], false)));
            here.extend(measured_value(cell).map(|y| Point { x, y, ..Point::default() }));
        }
        let (label, colour) = (plain(&curve.name), Colour::Palette(number));
        if !then.is_empty() {
            let name = format!("{label}, then");
            series.push(Drawn { colour, ..then_series(then, &name) });
        }
        if !here.is_empty() {
            let shape = Shape::ConnectedSymbols(Symbol::of_series(number));
            series.push(Drawn { name: format!("{label}, here"), colour, shape, points: here });
        }
    }
    if series.iter().all(|it| it.points.len() < 2) {
        return None;
    }
    let mut values: Vec<u64> = of_axis.iter().flat_map(|it| it.values.iter().copied()).collect();
    values.sort_unstable();
    values.dedup();
    let figures = reach(&series, |it| it.y);
    let is_wide = figures.iter().copied().fold(0.0, f64::max)
        > 4.0 * figures.iter().copied().fold(f64::INFINITY, f64::min);
    let y = match is_wide {
        true => Axis::over_named(figures.into_iter(), title(unit), |value| name(value, unit)),
        // From zero on, so that a curve that is nearly flat looks flat.
        false => {
            let top = 1.1 * figures.into_iter().fold(0.0, f64::max);
            Axis { ends: Some([0.0, top]), ..Axis::linear(unit.plural()) }
        }
    };
    Some(Chart {
        id: format!("{id}-{axis}"),
        caption: plain(&format!("{}: {}, by {axis}", table.table.name, table.table.title)),
        x: axis_of(title_of_sizes(axis), &values),
        y: Vertical::Axis(y),
        series,
        marks: Vec::new(),
        band: None,
    })
}

/// The axis of a curve, with its own values as names: logarithmic where they grow by factors.
fn axis_of(title: &str, values: &[u64]) -> Axis {
    let step = values.len().div_ceil(MAX_NAMED).max(1);
    let ticks = values.iter().rev().step_by(step).rev();
    let tick = |value: &u64| Tick { value: *value as f64, name: binary(*value) };
    let is_logarithmic = match values {
        [0, ..] | [] => false,
        [first, .., last] => last / first > 10,
        [_] => false,
    };
    let ticks = ticks.map(tick).collect();
    Axis { ticks, is_logarithmic, ..Axis::linear(plain(title)) }
}

/// The second target over the first in each row, then and here.
pub(super) fn of_ratios(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
    id: &str,
) -> Option<Chart> {
    let (mut then, mut here, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for row in &table.rows {
        let published = [0, 1].map(|side| row.row.published.get(side)?.as_ref()?.single());
        let means = row.statistics.map(|it| it.map(|it| it.mean));
        let ratio = |sides: [Option<f64>; 2]| Some(sides[1]? / sides[0]?).filter(|it| *it > 0.0);
        let [published, measured] = [ratio(published), ratio(means)];
        if published.is_none() && measured.is_none() {
            continue;
        }
        let y = names.len() as f64;
        then.extend(published.map(|x| Point { x, y, ..Point::default() }));
        here.extend(measured.map(|x| Point { x, y, ..Point::default() }));
        names.push(plain(&row.row.name));
    }
    if here.is_empty() || names.len() < 2 {
        return None;
    }
    let [base, new] = comparison.columns.each_ref().map(|column| plain(&column.name));
    let series = vec![then_series(then, "then"), here_series(here)];
    let values: Vec<f64> = reach(&series, |it| it.x);
    let times = |value: f64| format!("{} x", per_op(value));
    Some(Chart {
        id: id.to_owned(),
        caption: plain(&format!("{}: {new} over {base}, then and here", table.table.name)),
        x: Axis::over_named(values.into_iter(), format!("{new} over {base}"), times),
        y: Vertical::Rows(vec![Order::of_rows(
            "as published",
            vec![String::new(); names.len()],
            names,
        )]),
        series,
        marks: Vec::new(),
        band: None,
    })
}

/// The pictures of the table of that name: of a study of one target or of two.
pub(super) fn of_table(joined: &StudyComparison<'_>, name: &str) -> Vec<Chart> {
    match joined {
        StudyComparison::OneTarget(comparison) => {
            let tables = comparison.tables.iter().filter(|it| it.table.name == name);
            tables
                .flat_map(|it| of_rows(it, "rows").into_iter().chain(of_curves(it, "curves")))
                .collect()
        }
        StudyComparison::TwoTargets(comparison) => {
            let tables = comparison.tables.iter().filter(|it| it.table.name == name);
            tables.filter_map(|it| of_ratios(comparison, it, "ratios")).collect()
        }
    }
}
