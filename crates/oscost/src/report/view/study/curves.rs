//! The curves of a study's figure: tables of their points, and plots.

use oscost_model::unit::Unit;

use crate::report::figures::{DIGITS, at_least, decimals_for};
use crate::report::text::plain;
use crate::report::view::document::{
    Block, Cell, Column, LogPlot, PlotLine, PlotPoint, Table, TableRow,
};
use crate::report::view::run::Plots;
use crate::report::view::study::rows::estimate_text;
use crate::studies::comparison::single_target::{SingleTargetRow, SingleTargetTable};
use crate::studies::figures::unit::UnitKind;
use crate::studies::{ClockRates, Series};

/// The curves, those over the same axis in one table and one plot.
pub(super) fn curves(table: &SingleTargetTable<'_>, rates: ClockRates, plots: Plots) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut axes: Vec<&str> = Vec::new();
    for Series { axis, .. } in &table.table.series {
        if axes.contains(&axis.as_str()) {
            continue;
        }
        axes.push(axis);
        let of_axis: Vec<&Series> =
            table.table.series.iter().filter(|it| it.axis == *axis).collect();
        blocks.push(Block::Table(points(table, axis, &of_axis)));
        if plots != Plots::None {
            blocks.extend(plot(table, axis, &of_axis, rates).map(Block::LogPlot));
        }
    }
    blocks
}

/// The points of curves over one axis: a row for each value, a column for each curve.
fn points(table: &SingleTargetTable<'_>, axis: &str, curves: &[&Series]) -> Table {
    let mut values: Vec<u64> = curves.iter().flat_map(|it| it.values.iter().copied()).collect();
    values.sort_unstable();
    values.dedup();
    let parts = Parts::of(table, curves);
    let row = |value: &u64| {
        let points = curves.iter().map(|series| point(table, series, *value, parts));
        let value = Cell::number(value.to_string(), Some(*value as f64));
        TableRow::of(std::iter::once(value).chain(points).collect())
    };
    let column = |name: &str| Column::number(&plain(name), &plain(name).replace(' ', "_"));
    let names = curves.iter().map(|series| series.name.as_str());
    Table {
        caption: parts.legend(table),
        columns: std::iter::once(axis).chain(names).map(column).collect(),
        rows: values.iter().map(row).collect(),
        ..Table::default()
    }
}

/// What a cell of the points holds before oscost's own figure; `-` stands for a part that one point
/// does not have.
#[derive(Clone, Copy)]
struct Parts {
    published: bool,
    by_study_method: bool,
}

impl Parts {
    fn of(table: &SingleTargetTable<'_>, curves: &[&Series]) -> Self {
        let rows = || curves.iter().flat_map(|series| &table.rows[series.rows()]);
        Self {
            published: rows().any(|row| row.cells.iter().any(|cell| cell.published.is_some())),
            by_study_method: rows().any(|row| row.row.study_method.is_some()),
        }
    }

    fn legend(self, table: &SingleTargetTable<'_>) -> String {
        let parts = [
            self.published.then_some("then"),
            self.by_study_method.then_some("here by the study's method"),
            Some("oscost's median"),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        let unit = table.table.figures.last().map_or("", |figure| figure.unit.text());
        format!("{}, in {unit}", parts.join(" | "))
    }
}

/// A point of a curve: what was published, and what was measured. Of a table with several columns
/// it is the last one.
fn point(table: &SingleTargetTable<'_>, series: &Series, value: u64, parts: Parts) -> Cell {
    let at = series.values.iter().position(|it| *it == value);
    let Some(row) = at.and_then(|at| table.rows.get(series.first + at)) else {
        return Cell::number("", None);
    };
    let dash = || "-".to_owned();
    let published = row.cells.iter().find_map(|cell| cell.published);
    let then = parts.published.then(|| published.map_or_else(dash, |then| plain(&then.text)));
    let measured = row.cells.iter().rev().find_map(|cell| Some((cell, cell.estimate?)));
    let here = measured.and_then(|(cell, _)| cell.by_study_statistic.filter(|it| it.by.is_some()));
    let here = here.map(|here| at_least(here.value, decimals_for(here.value, DIGITS)));
    let here = parts.by_study_method.then(|| here.unwrap_or_else(dash));
    let text = |own: String| {
        let all = [then.clone(), here.clone(), Some(own)];
        all.into_iter().flatten().collect::<Vec<_>>().join(" | ")
    };
    let Some((_, estimate)) = measured else { return Cell::number(text(dash()), None) };
    let own = estimate_text(estimate);
    Cell::number(text(own.full), Some(estimate.value)).or_short(text(own.short))
}

/// The plot of some curves.
fn plot(
    table: &SingleTargetTable<'_>,
    axis: &str,
    curves: &[&Series],
    rates: ClockRates,
) -> Option<LogPlot> {
    // The table's last column is drawn, in the base unit of its kind.
    let figure = table.table.figures.last()?;
    let unit = match figure.unit.kind() {
        UnitKind::Time => Unit::NsPerOp,
        UnitKind::Rate => Unit::BytesPerSecond,
        UnitKind::Frames => Unit::FramesPerSecond,
        UnitKind::Ops => Unit::OpsPerSecond,
        UnitKind::Instructions => Unit::InstructionsPerOp,
        UnitKind::Plain => Unit::TimesPerOp,
    };
    let size = figure.unit.size(rates).unwrap_or(1.0);
    let lines: Vec<PlotLine> = curves
        .iter()
        .map(|series| {
            let rows = series.values.iter().zip(&table.rows[series.rows()]);
            let points = rows.filter_map(|(value, row)| {
                let drawn = row.cells.last()?.estimate?.value * size;
                (*value > 0 && drawn > 0.0).then_some(PlotPoint { x: *value, y: drawn })
            });
            PlotLine { label: plain(&series.name), points: points.collect() }
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let lines: Vec<PlotLine> = lines.into_iter().chain(bands(table, curves, size)).collect();
    (!lines.is_empty()).then(|| LogPlot { lines, by: axis.to_owned(), unit })
}

/// The ranges that were published of some curves, each as the lines of its two ends. Curves that
/// differ in their placement alone have the same.
fn bands(table: &SingleTargetTable<'_>, curves: &[&Series], size: f64) -> Vec<PlotLine> {
    // Published figures of a series are those of the first column, and the last is drawn.
    if table.table.figures.len() > 1 {
        return Vec::new();
    }
    let mut named: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for series in curves {
        if named.contains(&series.published_name()) {
            continue;
        }
        named.push(series.published_name());
        let rows = || series.values.iter().zip(&table.rows[series.rows()]);
        let published = |row: &SingleTargetRow<'_>| {
            let figure = row.cells.iter().find_map(|cell| cell.published)?;
            (!figure.is_bound && figure.low > 0.0).then_some([figure.low, figure.high])
        };
        for (end, name) in ["from", "to"].into_iter().enumerate() {
            let points = rows().filter_map(|(value, row)| {
                let (x, y) = (*value, published(row)?[end] * size);
                (x > 0).then_some(PlotPoint { x, y })
            });
            let label = format!("then, {name}: {}", plain(series.published_name()));
            lines.push(PlotLine { label, points: points.collect() });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}
