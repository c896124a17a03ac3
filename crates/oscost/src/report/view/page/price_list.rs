//! The price list: every figure on one logarithmic scale, with its interval and its floor, coloured
//! by class.

use std::collections::BTreeMap;

use oscost_model::record::Row;
use oscost_model::unit::{Better, Unit};

use crate::report::figures::quantity;
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Label, MAX_LABELS, Order, Point, Series, Shape, Symbol, Vertical,
};
use crate::report::view::document::{Block, Section};
use crate::report::view::page::rows;
use crate::report::view::page::rows::{IndexedRow, Rows};
use crate::report::view::run::row::{CLASSES, family, has};

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

/// The section; `None` if no row has a figure.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let mut panels: BTreeMap<&str, (Unit, Vec<Price<'_>>)> = BTreeMap::new();
    let mut not_drawn = 0;
    for indexed in rows.measured_rows() {
        let (unit, factor) = scale(indexed.row.unit);
        match price(indexed, factor) {
            Some(price) => {
                panels.entry(unit.text()).or_insert((unit, Vec::new())).1.push(price);
            }
            None => not_drawn += 1,
        }
    }
    let mut panels: Vec<(Unit, Vec<Price<'_>>)> = panels.into_values().collect();
    // Time first, and then the unit of most rows.
    panels.sort_by_key(|(unit, prices)| (*unit != Unit::NsPerOp, usize::MAX - prices.len()));
    let charts = panels.iter().map(|(unit, prices)| Block::chart(chart(*unit, prices, rows)));
    let mut blocks: Vec<Block> = charts.collect();
    if not_drawn > 0 {
        blocks.push(Block::Text(format!(
            "{not_drawn} figures are zero or negative, which a logarithmic scale cannot show: they \
             are in the table."
        )));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "price-list".to_owned(),
        title: "The price list".to_owned(),
        blocks,
        ..Section::default()
    })
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
    let ends = estimate.ci95.map_or([median; 2], |ends| ends.map(|end| end * factor));
    let is_bound = has(row, "BELOW_DETECTION") || median <= 0.0;
    // A figure that may be zero is shown as an upper bound: the upper end of its interval.
    let (figure, ends) = if is_bound { (ends[1], [ends[1]; 2]) } else { (median, ends) };
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

fn chart(unit: Unit, prices: &[Price<'_>], rows: &Rows<'_>) -> Chart {
    let orders = vec![by_cost(prices, rows), by_family(prices, rows)];
    let positions: BTreeMap<&str, usize> =
        orders[0].rows.iter().enumerate().map(|(position, id)| (id.as_str(), position)).collect();
    let y = |price: &Price<'_>| {
        positions.get(rows::id(price.index).as_str()).map_or(0.0, |at| *at as f64)
    };
    // An interval that extends to zero is cut off at the edge of the chart.
    let reached = |price: &Price<'_>| {
        let [low, high] = price.ends;
        [low.max(price.figure / 3.0), high, price.figure, price.floor.unwrap_or(price.figure)]
    };
    let exact = prices.iter().filter(|price| !price.is_bound);
    let mut shown: Vec<f64> = exact.flat_map(reached).filter(|it| *it > 0.0).collect();
    if shown.is_empty() {
        shown = prices.iter().map(|price| price.figure).collect();
    }
    let edge = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let floor = |price: &Price<'_>| {
        Some(Point { x: price.floor?, y: y(price), row: rows::id(price.index), ..Point::default() })
    };
    let floors: Vec<Point> = prices.iter().filter_map(floor).collect();
    let mut classes: BTreeMap<(usize, bool), Vec<Point>> = BTreeMap::new();
    for price in prices {
        // A symbol at the edge marks a figure beyond it; its details give the figure.
        let is_beyond = price.is_bound && price.figure < edge;
        let (x, ends) = if is_beyond { (edge, [edge; 2]) } else { (price.figure, price.ends) };
        classes.entry((class(price.row), price.is_bound)).or_default().push(Point {
            x,
            y: y(price),
            interval: Some(ends),
            details: rows::details(&rows.name(price.row), price.row),
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
    let floors = (!floors.is_empty()).then(|| Series {
        name: "floor".to_owned(),
        colour: Colour::Muted,
        shape: Shape::Symbols(Symbol::Stroke),
        points: floors,
    });
    Chart {
        id: format!("price-list-{}", unit.text().replace('/', "-")),
        caption: format!(
            "{}: {} {} on a logarithmic scale, with {}floors. An arrow to the left is a bound: \
             less than that. Select a point for its details.",
            quantity(unit),
            prices.len(),
            if prices.len() == 1 { "row" } else { "rows" },
            if unit == Unit::InstructionsPerOp { "" } else { "95 % intervals and " },
        ),
        x: Axis::over(shown.into_iter(), quantity(unit), unit),
        y: Vertical::Rows(orders),
        series: floors.into_iter().chain(classes.into_iter().map(of_class)).collect(),
        marks: Vec::new(),
        band: None,
    }
}

/// The most expensive on top: the smallest of rates.
fn by_cost(prices: &[Price<'_>], rows: &Rows<'_>) -> Order {
    let mut sorted: Vec<&Price<'_>> = prices.iter().collect();
    sorted.sort_by(|one, other| match one.row.better {
        Better::Lower => other.figure.total_cmp(&one.figure),
        Better::Higher => one.figure.total_cmp(&other.figure),
    });
    let ids = sorted.iter().map(|price| rows::id(price.index)).collect();
    let names = sorted.iter().map(|price| rows.name(price.row)).collect();
    Order::of_rows("by cost", ids, names)
}

/// In the order of the record, which is by family; many rows are labelled by their families alone.
fn by_family(prices: &[Price<'_>], rows: &Rows<'_>) -> Order {
    let ids = prices.iter().map(|price| rows::id(price.index)).collect();
    let names = prices.iter().map(|price| rows.name(price.row)).collect();
    let mut order = Order::of_rows("by family", ids, names);
    if prices.len() > MAX_LABELS {
        let mut first = 0;
        for of_family in prices.chunk_by(|one, other| family(one.row) == family(other.row)) {
            let row = first as f64 + (of_family.len() - 1) as f64 / 2.0;
            order.labels.push(Label { row, text: family(of_family[0].row).to_owned() });
            first += of_family.len();
        }
    }
    order
}
