//! The price list: every cost on one logarithmic scale, with its interval and its floor, coloured by
//! class; and apart from it what is no cost: resolutions of clocks, and rates.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::definition::Catalog;
use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::unit::{Better, Unit};

use crate::report::figures::quantity;
use crate::report::view::comparison::forest::short_names;
use crate::report::view::document::chart::{
    Axis, Chart, ChartRow, Colour, Mark, Order, Point, RowGroup, Series, Shape, Symbol, Vertical,
};
use crate::report::view::document::{Block, Section};
use crate::report::view::known_acts::{LINES, Line};
use crate::report::view::page::names;
use crate::report::view::page::rows;
use crate::report::view::page::rows::{IndexedRow, Rows};
use crate::report::view::run::row::{CLASSES, family, figure, has};

/// What is in nanoseconds without being the cost of an op.
const RESOLUTIONS: [&str; 3] = ["timer/resolution", "timer/quantum", "timer/precision"];

/// A scale goes down to the lower ends of intervals, but for one that reaches to so much less than its
/// figure.
const MAX_REACH: f64 = 10.0;

/// A figure that a logarithmic scale can show.
struct Price<'a> {
    /// The index of its row in the record.
    index: usize,
    row: &'a Row,
    figure: f64,
    ends: [f64; 2],
    /// Its floor, if the scale can show it.
    floor: Option<f64>,
    /// Whether the figure is only an upper bound.
    is_bound: bool,
}

/// What the figures of a chart are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cost,
    Resolution,
    /// A rate, a number of times, or the answer to a question.
    Other,
}

impl Kind {
    fn of(row: &Row) -> Self {
        match row.unit {
            _ if RESOLUTIONS.contains(&row.benchmark.as_str()) => Self::Resolution,
            Unit::NsPerOp | Unit::Seconds | Unit::InstructionsPerOp | Unit::CyclesPerOp => {
                Self::Cost
            }
            _ => Self::Other,
        }
    }
}

/// The sections of a run's figures.
#[derive(Default)]
pub(super) struct PriceList {
    /// The costs.
    pub(super) costs: Option<Section>,
    /// What is measured, and is no cost.
    pub(super) others: Option<Section>,
}

/// Figures of one kind in one unit.
struct Panel<'a> {
    kind: Kind,
    unit: Unit,
    prices: Vec<Price<'a>>,
}

impl PriceList {
    pub(super) fn of(rows: &Rows<'_>, record: &Record, catalog: Option<&Catalog>) -> Self {
        let compared = compared_rows(record);
        let mut panels: BTreeMap<(Kind, &str), Panel<'_>> = BTreeMap::new();
        let (mut left_out, mut compared_above) = ([0, 0], 0);
        // Rows of a family are neighbours.
        let measured = rows.by_family().into_iter().flat_map(|(_, members)| members);
        for indexed in measured {
            if compared.contains(&indexed.index) {
                compared_above += 1;
                continue;
            }
            let kind = Kind::of(indexed.row);
            let (unit, factor) = scale(indexed.row.unit);
            match price(indexed, factor) {
                Some(price) => {
                    let panel = Panel { kind, unit, prices: Vec::new() };
                    panels.entry((kind, unit.text())).or_insert(panel).prices.push(price);
                }
                None => left_out[usize::from(kind != Kind::Cost)] += 1,
            }
        }
        let mut panels: Vec<Panel<'_>> = panels.into_values().collect();
        // Time first, and then the unit of most rows.
        panels.sort_by_key(|it| (it.unit != Unit::NsPerOp, usize::MAX - it.prices.len()));
        let draw = |is_cost: bool| {
            let panels = panels.iter().filter(move |it| (it.kind == Kind::Cost) == is_cost);
            let charts = panels.map(|it| Block::chart(it.chart(rows, record, catalog)));
            charts.collect::<Vec<Block>>()
        };
        let [mut costs, mut others] = [true, false].map(draw);
        for (blocks, count) in [&mut costs, &mut others].into_iter().zip(left_out) {
            blocks.extend((count > 0).then(|| Block::Text(not_drawn(count))));
        }
        if compared_above > 0 && !costs.is_empty() {
            costs.push(Block::Text(format!(
                "{compared_above} figures of what the base was compared with are not drawn here: the \
                 comparison shows by what they differ, and the table has them."
            )));
        }
        let section = |id: &str, title: &str, blocks: Vec<Block>| {
            let (id, title) = (id.to_owned(), title.to_owned());
            (!blocks.is_empty()).then(|| Section { id, title, blocks, ..Section::default() })
        };
        Self {
            costs: section("price-list", "The price list", costs),
            others: section("no-costs", "Resolutions and rates", others),
        }
    }
}

fn not_drawn(count: usize) -> String {
    format!(
        "{count} figures are zero or negative, which a logarithmic scale cannot show: they are in \
         the table."
    )
}

/// The rows that are compared with another and are no base themselves, by their indices. They would
/// nearly cover their bases.
fn compared_rows(record: &Record) -> BTreeSet<usize> {
    let bases: BTreeSet<u32> = record.comparisons.iter().map(|it| it.base).collect();
    let compared = record.comparisons.iter().map(|it| it.new).filter(|new| !bases.contains(new));
    compared.map(|new| new as usize).collect()
}

/// The unit of the panel for a unit, and the factor between them.
fn scale(unit: Unit) -> (Unit, f64) {
    match unit {
        Unit::Seconds => (Unit::NsPerOp, 1e9),
        unit => (unit, 1.0),
    }
}

fn price(IndexedRow { index, row }: IndexedRow<'_>, factor: f64) -> Option<Price<'_>> {
    let estimate = row.estimate.as_ref()?;
    let median = estimate.median * factor;
    let scaled =
        |ends: Option<[f64; 2]>| ends.map_or([median; 2], |ends| ends.map(|end| end * factor));
    // The interval that the table shows first.
    let ends = scaled(estimate.between_run_ci95.or(estimate.ci95));
    let is_bound = has(row, "BELOW_DETECTION") || median <= 0.0;
    // A figure that may be zero is shown as an upper bound: the upper end of the run's own interval.
    let bound = scaled(estimate.ci95)[1];
    let (figure, ends) = if is_bound { (bound, [bound; 2]) } else { (median, ends) };
    let floor = row.floor.as_ref().and_then(|floor| floor.value).map(|floor| floor * factor);
    let floor = floor.filter(|floor| *floor > 0.0 && floor.is_finite());
    let can_be_drawn = figure > 0.0 && figure.is_finite() && ends.iter().all(|end| end.is_finite());
    can_be_drawn.then_some(Price { index, row, figure, ends, floor, is_bound })
}

/// The number of a row's class among the classes; that of unclassified rows follows them.
fn class(row: &Row) -> usize {
    let known = CLASSES.iter().position(|class| Some(*class) == row.class.as_deref());
    known.unwrap_or(CLASSES.len())
}

impl Panel<'_> {
    fn chart(&self, rows: &Rows<'_>, record: &Record, catalog: Option<&Catalog>) -> Chart {
        let Self { kind, unit, prices } = self;
        let (kind, unit) = (*kind, *unit);
        let marks = if kind == Kind::Cost { acts(record, unit) } else { Vec::new() };
        // An interval that extends to zero is cut off at the edge of the chart.
        let reached = |price: &Price<'_>| {
            let [low, high] = price.ends;
            [
                low.max(price.figure / MAX_REACH),
                high,
                price.figure,
                price.floor.unwrap_or(price.figure),
            ]
        };
        let exact = prices.iter().filter(|price| !price.is_bound);
        let mut reach: Vec<f64> = exact.flat_map(reached).filter(|it| *it > 0.0).collect();
        if reach.is_empty() {
            reach = prices.iter().map(|price| price.figure).collect();
        }
        let edge = reach.iter().copied().fold(f64::INFINITY, f64::min);
        reach.extend(marks.iter().map(|mark| mark.x));
        let id = if kind == Kind::Cost { "price-list" } else { "no-costs" };
        let is_resolution = if kind == Kind::Resolution { "-resolution" } else { "" };
        let what = if kind == Kind::Resolution { "resolution" } else { quantity(unit) };
        let series = [self.floors()].into_iter().flatten().chain(self.classes(edge));
        Chart {
            id: format!("{id}-{}{is_resolution}", unit.text().replace('/', "-")),
            caption: self.caption(what, &marks),
            x: Axis::over(reach.into_iter(), what, unit),
            y: Vertical::Rows(self.orders(rows, catalog)),
            series: series.collect(),
            marks,
            band: None,
        }
    }

    fn caption(&self, what: &str, marks: &[Mark]) -> String {
        let rows = match self.prices.len() {
            1 => "1 row".to_owned(),
            several => format!("{several} rows"),
        };
        let mut parts = vec![format!("{what}: {rows} on a logarithmic scale")];
        if self.unit != Unit::InstructionsPerOp {
            parts.push("bars are 95 % intervals, hidden where a mark is wider".to_owned());
        }
        if self.prices.iter().any(|price| price.is_bound) {
            parts.push("an arrow to the left says less than that".to_owned());
        }
        if !marks.is_empty() {
            parts.push("dashed lines are acts to compare with".to_owned());
        }
        format!("{}.", parts.join("; "))
    }

    /// The floors; `None` if no row has one.
    fn floors(&self) -> Option<Series> {
        let floor = |(y, price): (usize, &Price<'_>)| {
            let row = rows::id(price.index);
            Some(Point { x: price.floor?, y: y as f64, row, ..Point::default() })
        };
        let points: Vec<Point> = self.prices.iter().enumerate().filter_map(floor).collect();
        (!points.is_empty()).then(|| Series {
            name: "floor".to_owned(),
            colour: Colour::Muted,
            shape: Shape::Symbols(Symbol::Stroke),
            points,
        })
    }

    /// The figures by class, those that are bounds apart.
    fn classes(&self, edge: f64) -> Vec<Series> {
        let mut classes: BTreeMap<(usize, bool), Vec<Point>> = BTreeMap::new();
        for (y, price) in self.prices.iter().enumerate() {
            // A symbol at the edge marks a figure beyond it; the figure is beside it.
            let is_beyond = price.is_bound && price.figure < edge;
            let (x, ends) = if is_beyond { (edge, [edge; 2]) } else { (price.figure, price.ends) };
            classes.entry((class(price.row), price.is_bound)).or_default().push(Point {
                x,
                y: y as f64,
                interval: Some(ends),
                figure: figure(price.row).map(|figure| figure.text).unwrap_or_default(),
                row: rows::id(price.index),
                ..Point::default()
            });
        }
        let of_class = |((number, is_bound), points): ((usize, bool), Vec<Point>)| {
            let name = CLASSES.get(number).copied().unwrap_or("unclassified");
            let bound = if is_bound { ", less than" } else { "" };
            let known = number < CLASSES.len();
            let symbol = match is_bound {
                true => Symbol::OpenTriangleLeft,
                false => Symbol::of_series(number),
            };
            Series {
                name: format!("{name}{bound}"),
                colour: if known { Colour::Palette(number) } else { Colour::Muted },
                shape: Shape::Symbols(symbol),
                points,
            }
        };
        classes.into_iter().map(of_class).collect()
    }

    /// The rows with their names; where several have one name, with the axes in which they differ.
    fn named_rows(&self, rows: &Rows<'_>, catalog: Option<&Catalog>) -> Vec<ChartRow> {
        let name = |price: &Price<'_>| names::of_benchmark(&price.row.benchmark, catalog);
        let names: Vec<String> = self.prices.iter().map(name).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &names {
            *counts.entry(name).or_default() += 1;
        }
        let cases: Vec<&str> = self.prices.iter().map(|price| price.row.case.as_str()).collect();
        let row = |((price, name), short): ((&Price<'_>, &String), String)| {
            let is_shared = counts.get(name.as_str()).is_some_and(|count| *count > 1);
            let name = match short.split_once(':').filter(|_| is_shared) {
                Some((_, axes)) => format!("{name}, {axes}"),
                None => name.clone(),
            };
            ChartRow { anchor: rows::id(price.index), name, id: rows.name(price.row) }
        };
        self.prices.iter().zip(&names).zip(short_names(&cases)).map(row).collect()
    }

    /// By family, in the order of the record; and by cost, the most expensive on top: the smallest of
    /// rates.
    fn orders(&self, rows: &Rows<'_>, catalog: Option<&Catalog>) -> Vec<Order> {
        let all = self.named_rows(rows, catalog);
        let mut groups: Vec<RowGroup> = Vec::new();
        let mut first = 0;
        for of_family in self.prices.chunk_by(|one, other| family(one.row) == family(other.row)) {
            groups.push(RowGroup { first, title: names::of_family(family(of_family[0].row)) });
            first += of_family.len();
        }
        let mut sorted: Vec<(&Price<'_>, &ChartRow)> = self.prices.iter().zip(&all).collect();
        sorted.sort_by(|(one, _), (other, _)| match one.row.better {
            Better::Lower => other.figure.total_cmp(&one.figure),
            Better::Higher => one.figure.total_cmp(&other.figure),
        });
        let by_cost = sorted.into_iter().map(|(_, row)| row.clone()).collect();
        vec![
            Order { name: "by family", rows: all, groups },
            Order { name: "by cost", rows: by_cost, groups: Vec::new() },
        ]
    }
}

/// The acts to compare with that the run has measured, asked for or not.
fn acts(record: &Record, unit: Unit) -> Vec<Mark> {
    let cost = |row: &Row| {
        let (row_unit, factor) = scale(row.unit);
        let is_usable = row.outcome == RowOutcome::Measured && !has(row, "BELOW_DETECTION");
        let median = row.estimate.as_ref().filter(|_| is_usable && row_unit == unit)?.median;
        Some(median * factor).filter(|it| *it > 0.0 && it.is_finite())
    };
    let mark = |line: &Line| {
        let x = line.acts.iter().find_map(|act| {
            let case = act.beginning();
            let mut rows = record.results.iter().filter(|row| row.case.starts_with(&case));
            rows.find_map(cost)
        })?;
        Some(Mark { x, text: line.name.to_owned() })
    };
    LINES.iter().filter_map(mark).collect()
}
