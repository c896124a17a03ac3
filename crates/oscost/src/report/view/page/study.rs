//! A run in the form of its study: the published and the measured figures, as tables and charts; the
//! study's claims; and the expectations.

use oscost_model::record::Record;

use crate::report::figures::times;
use crate::report::text::plain;
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Mark, Order, Point, Series, Shape, Symbol, Vertical,
};
use crate::report::view::document::{Block, Section, Table};
use crate::report::view::study::book::picture;
use crate::report::view::study::claims::{self, CLAIMS, CONDITIONS, list_of_conditions};
use crate::report::view::study::machine::{self, MACHINES};
use crate::report::view::study::notes::{expectations, notes, statements};
use crate::report::view::study::rows::{ColumnText, table_of_rows};
use crate::report::view::study::{ab as two_targets, run as single_target};
use crate::studies::comparison::single_target::{SingleTargetComparison, SingleTargetTable};
use crate::studies::comparison::two_targets::{TwoTargetComparison, TwoTargetTable};
use crate::studies::machine::condition;

/// A run joined with its study, of one target or of two.
#[derive(Debug)]
pub enum StudyComparison<'a> {
    /// Of one target.
    One(Box<SingleTargetComparison<'a>>),
    /// Of two targets that are compared.
    Two(Box<TwoTargetComparison<'a>>),
}

/// The section.
pub(super) fn section(of: &StudyComparison<'_>, record: &Record) -> Section {
    let (study, heading, judged) = match of {
        StudyComparison::One(it) => (it.study, single_target::heading(it), &it.claims),
        StudyComparison::Two(it) => (it.study, two_targets::heading(it), &it.claims),
    };
    let mut blocks: Vec<Block> = Block::list(heading).into_iter().collect();
    // What the study found comes first, and whether it is so here.
    if let Some(claims) = claims::table(study, judged) {
        let claims = Table { caption: "Claims".to_owned(), ..claims };
        blocks.extend([Block::Heading(CLAIMS.to_owned()), Block::Table(claims)]);
    }
    match of {
        StudyComparison::One(it) => {
            // A table without a figure of this machine has nothing to compare.
            let (measured, others): (Vec<_>, Vec<_>) =
                it.tables.iter().enumerate().partition(|(_, table)| has_figures(table));
            let tables = measured.into_iter().chain(others);
            blocks.extend(tables.flat_map(|(at, table)| one(at, table, it.clock_step_ns)));
        }
        StudyComparison::Two(it) => {
            blocks.extend(it.tables.iter().enumerate().flat_map(|(at, table)| two(at, it, table)))
        }
    }
    let conditions = condition::judge_all(&study.conditions, record);
    if let Some(machines) = machine::table(study, record) {
        blocks.extend([Block::Heading(MACHINES.to_owned()), Block::Table(machines)]);
    }
    if let Some(conditions) = list_of_conditions(&conditions) {
        blocks.extend([Block::Heading(CONDITIONS.to_owned()), conditions]);
    }
    Section {
        id: "study".to_owned(),
        title: format!("Then and now: {}", plain(&study.id)),
        blocks,
        ..Section::default()
    }
}

/// Whether a row of a table was measured here.
fn has_figures(table: &SingleTargetTable<'_>) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    cells.any(|cell| cell.by_study_statistic.is_some() || cell.estimate.is_some())
}

/// A table of a study of one target.
fn one(at: usize, table: &SingleTargetTable<'_>, clock_step_ns: Option<f64>) -> Vec<Block> {
    let name = Block::Heading(plain(&table.table.name));
    let mut blocks = vec![name, Block::Text(single_target::title(table))];
    blocks.extend(then_and_now(at, table).map(Block::chart));
    let rows = table_of_rows(table, |_| true);
    blocks.extend(rows.map(|rows| Block::Table(interactive(at, &table.table.title, rows))));
    let curves = picture::of_curves(table, &format!("curves-then-{at}"));
    blocks.extend(curves.into_iter().map(Block::chart));
    blocks.extend(statements(table.table));
    blocks.extend(expectations(table));
    blocks.extend(notes(table, clock_step_ns));
    blocks
}

/// A study's table as a reader may sort, filter and copy it.
fn interactive(at: usize, title: &str, table: Table) -> Table {
    Table { id: format!("study-{at}"), caption: plain(title), interactive: true, ..table }
}

/// Whether a logarithmic scale can show a value.
fn is_usable(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A row of a chart: what was published, and what was measured here.
struct PublishedAndMeasured {
    name: String,
    then: Option<f64>,
    /// The range that was published.
    range: Option<[f64; 2]>,
    now: Option<f64>,
    /// The interval of what was measured.
    interval: Option<[f64; 2]>,
    details: Vec<String>,
}

/// The figures of a table's rows, then and now, in the table's own unit.
fn then_and_now(at: usize, table: &SingleTargetTable<'_>) -> Option<Chart> {
    let unit = table.table.unit;
    let mut rows = Vec::new();
    for row in &table.rows {
        // Rows of another unit cannot be drawn on this scale.
        let Some(cell) = row.cells.iter().find(|cell| cell.figure.unit == unit) else { continue };
        let range = cell.published.filter(|it| !it.is_bound).map(|it| [it.low, it.high]);
        let range = range.filter(|ends| ends.iter().all(|end| is_usable(*end)));
        // On a logarithmic scale this is the middle of a range.
        let then = range.map(|[low, high]| (low * high).sqrt());
        let own = cell.estimate.filter(|own| is_usable(own.value));
        let text = ColumnText::of(cell, table);
        rows.push(PublishedAndMeasured {
            name: row.row.name.clone(),
            then,
            range,
            now: own.map(|own| own.value),
            interval: own.and_then(|own| own.interval).map(|it| [it.lo, it.hi]),
            details: vec![
                row.row.name.clone(),
                format!("then {} {}", text.then, unit.text()),
                format!("here {} {}", text.estimate.full, unit.text()),
                format!("then/here {}", text.ratio),
            ],
        });
    }
    let caption = format!("{}: then and now, on a logarithmic scale", plain(&table.table.name));
    let axis = |values: &mut dyn Iterator<Item = f64>| {
        Axis::over_named(values, unit.text(), |value| format!("{} {}", times(value), unit.text()))
    };
    chart_of(format!("then-{at}"), caption, "here, oscost's median", rows, axis)
}

/// A chart of rows with two points each, the published and the measured figure; `None` if no row has
/// either.
fn chart_of(
    id: String,
    caption: String,
    now: &str,
    mut rows: Vec<PublishedAndMeasured>,
    axis: impl Fn(&mut dyn Iterator<Item = f64>) -> Axis,
) -> Option<Chart> {
    rows.retain(|row| row.then.is_some() || row.now.is_some());
    if rows.is_empty() {
        return None;
    }
    let point =
        |number: usize, row: &PublishedAndMeasured, x: f64, interval: Option<[f64; 2]>| Point {
            x,
            y: number as f64,
            interval: Some(interval.unwrap_or([x; 2])),
            details: row.details.clone(),
            ..Point::default()
        };
    let numbered = || rows.iter().enumerate();
    let then =
        numbered().filter_map(|(number, row)| Some(point(number, row, row.then?, row.range)));
    let here =
        numbered().filter_map(|(number, row)| Some(point(number, row, row.now?, row.interval)));
    let series = [
        Series {
            name: "then".to_owned(),
            colour: Colour::Muted,
            shape: Shape::Symbols(Symbol::OpenDiamond),
            points: then.collect(),
        },
        Series { name: now.to_owned(), points: here.collect(), ..Series::default() },
    ];
    let ids = rows.iter().map(|_| String::new()).collect();
    let names = rows.iter().map(|row| row.name.clone()).collect();
    Some(Chart {
        id,
        caption,
        x: axis(&mut rows.iter().flat_map(|row| {
            [row.then, row.now].into_iter().flatten().chain(row.range.into_iter().flatten())
        })),
        y: Vertical::Rows(vec![Order::of_rows("as printed", ids, names)]),
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        marks: Vec::new(),
        band: None,
    })
}

/// A table of a study that compares two targets.
fn two(at: usize, comparison: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> Vec<Block> {
    let title = two_targets::title(comparison, table);
    let mut blocks = vec![Block::Heading(plain(&table.table.name)), Block::Text(title)];
    blocks.extend(ratios_then_and_now(at, table).map(Block::chart));
    let by_study = two_targets::by_study_statistic(comparison, table);
    blocks.push(Block::Table(interactive(at, &table.table.title, by_study)));
    let by_medians = two_targets::by_medians(comparison, table);
    let caption = two_targets::median_heading(comparison, table);
    blocks.push(Block::Table(Table { caption, ..by_medians }));
    blocks.extend(two_targets::notes(comparison, table));
    blocks
}

/// The ratio of the second column to the first, as published and as measured.
fn ratios_then_and_now(at: usize, table: &TwoTargetTable<'_>) -> Option<Chart> {
    let mut rows = Vec::new();
    for row in &table.rows {
        let printed = |side: usize| row.row.published.get(side)?.as_ref()?.single();
        let ratio = printed(1).zip(printed(0)).map(|(new, base)| new / base);
        let ratio = ratio.filter(|it| is_usable(*it));
        let here = row.comparison.map(|it| &it.ratio).filter(|it| is_usable(it.value));
        let text = |when: &str, value: Option<f64>| {
            value.map(|value| format!("{when} {} times as much", times(value)))
        };
        let name = row.row.name.clone();
        let now = here.map(|it| it.value);
        let details = [Some(name.clone()), text("then", ratio), text("here", now)];
        rows.push(PublishedAndMeasured {
            name,
            then: ratio,
            range: None,
            now,
            interval: here.and_then(|it| it.ci95),
            details: details.into_iter().flatten().collect(),
        });
    }
    let caption = format!("{}: the ratios, then and now", plain(&table.table.name));
    let axis = |values: &mut dyn Iterator<Item = f64>| {
        Axis::over_named(values.chain([1.0]), "times as much", times)
    };
    let mut chart = chart_of(format!("then-{at}"), caption, "here", rows, axis)?;
    chart.marks.push(Mark { x: 1.0, text: String::new() });
    Some(chart)
}
