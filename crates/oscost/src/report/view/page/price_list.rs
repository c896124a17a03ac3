//! The price list: every figure on one scale of ratios, with its interval and its floor, coloured by class.

use std::collections::BTreeMap;

use oscost_model::record::Row;
use oscost_model::unit::Unit;
use plotly::Scatter;
use plotly::common::{HoverInfo, Line as Stroke, Marker, MarkerSymbol, Mode};
use plotly::layout::HoverMode;

use crate::report::figures::quantity;
use crate::report::view::chart::{
    Along, COLOURS, Chart, GREY, MOST_NAMES, Order, Plot, Points, layout, lines_axis, ratios, safe,
    symbol, titled, told,
};
use crate::report::view::document::{Block, Section};
use crate::report::view::page::rows;
use crate::report::view::page::rows::{CLASSES, Rows};
use crate::report::view::row::{family, has};

/// A figure that has a place on a scale of ratios.
struct Spot<'a> {
    at: usize,
    row: &'a Row,
    figure: f64,
    ends: [f64; 2],
    /// Where it has a place there, too.
    floor: Option<f64>,
    /// Whether it is an upper bound only.
    is_bound: bool,
}

/// The section; nothing where no row has a figure.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let mut panels: BTreeMap<&str, (Unit, Vec<Spot<'_>>)> = BTreeMap::new();
    let mut unplaced = 0;
    for (at, row) in rows.measured() {
        let (unit, factor) = scale(row.unit);
        match spot(at, row, factor) {
            Some(spot) => {
                panels.entry(unit.text()).or_insert((unit, Vec::new())).1.push(spot);
            }
            None => unplaced += 1,
        }
    }
    let mut panels: Vec<(Unit, Vec<Spot<'_>>)> = panels.into_values().collect();
    // Time first, and then what most rows are counted in.
    panels.sort_by_key(|(unit, spots)| (*unit != Unit::NsPerOp, usize::MAX - spots.len()));
    let mut parts: Vec<Block> =
        panels.into_iter().map(|(unit, spots)| Block::chart(chart(unit, spots, rows))).collect();
    if unplaced > 0 {
        parts.push(Block::Text(format!(
            "{unplaced} figures are nothing or less, and so have no place on a scale of ratios: \
             they stand in the table."
        )));
    }
    (!parts.is_empty()).then(|| Section {
        id: "bill".to_owned(),
        title: "The price list".to_owned(),
        blocks: parts,
        ..Section::default()
    })
}

/// The unit that a panel is in, and what makes it of a row's.
fn scale(unit: Unit) -> (Unit, f64) {
    match unit {
        Unit::Seconds => (Unit::NsPerOp, 1e9),
        unit => (unit, 1.0),
    }
}

fn spot(at: usize, row: &Row, factor: f64) -> Option<Spot<'_>> {
    let estimate = row.estimate.as_ref()?;
    let median = estimate.median * factor;
    let ends = estimate.ci95.map_or([median; 2], |ends| ends.map(|end| end * factor));
    let is_bound = has(row, "BELOW_DETECTION") || median <= 0.0;
    // Of what may be nothing there is an upper bound: its interval's end.
    let (figure, ends) = if is_bound { (ends[1], [ends[1]; 2]) } else { (median, ends) };
    let floor = row.floor.as_ref().and_then(|floor| floor.value).map(|floor| floor * factor);
    let floor = floor.filter(|floor| *floor > 0.0 && floor.is_finite());
    let is_placed = figure > 0.0 && figure.is_finite() && ends.iter().all(|end| end.is_finite());
    is_placed.then_some(Spot { at, row, figure, ends, floor, is_bound })
}

/// What is drawn of a class: its name, and its place among colours and signs.
fn class(row: &Row) -> (usize, &'static str) {
    let known = CLASSES.iter().position(|class| Some(*class) == row.class.as_deref());
    known.map_or((CLASSES.len(), "not classed"), |at| (at, CLASSES[at]))
}

fn chart(unit: Unit, spots: Vec<Spot<'_>>, rows: &Rows<'_>) -> Chart {
    let lines = spots.len();
    let orders = vec![by_cost(&spots, rows), by_family(&spots, rows)];
    let first = &orders[0];
    let targets: BTreeMap<&str, f64> =
        first.rows.iter().zip(0..).map(|(id, at)| (id.as_str(), -f64::from(at))).collect();
    let y = |spot: &Spot<'_>| targets.get(rows::id(spot.at).as_str()).copied().unwrap_or(0.0);
    // What is drawn at its place: an interval that reaches down to nothing goes off the edge.
    let reached = |spot: &Spot<'_>| {
        let [low, high] = spot.ends;
        [low.max(spot.figure / 3.0), high, spot.figure, spot.floor.unwrap_or(spot.figure)]
    };
    let told_apart = spots.iter().filter(|spot| !spot.is_bound);
    let mut shown: Vec<f64> = told_apart.flat_map(reached).filter(|it| *it > 0.0).collect();
    if shown.is_empty() {
        shown = spots.iter().map(|spot| spot.figure).collect();
    }
    let edge = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let mut plot = Plot::default();
    let floors: Vec<(&Spot<'_>, f64)> =
        spots.iter().filter_map(|spot| Some((spot, spot.floor?))).collect();
    if !floors.is_empty() {
        let marker = Marker::new()
            .color(GREY)
            .symbol(MarkerSymbol::LineNSOpen)
            .size(9)
            .line(Stroke::new().color(GREY).width(2.0));
        let trace = Scatter::new(
            floors.iter().map(|(_, floor)| *floor).collect(),
            floors.iter().map(|(spot, _)| y(spot)).collect(),
        )
        .name("floor")
        .mode(Mode::Markers)
        .marker(marker)
        .hover_info(HoverInfo::Skip)
        .custom_data(floors.iter().map(|(spot, _)| rows::id(spot.at)).collect::<Vec<_>>());
        plot.add_trace(trace);
    }
    let mut classes: BTreeMap<(usize, &str, bool), Points> = BTreeMap::new();
    for spot in &spots {
        let (at, name) = class(spot.row);
        let points = classes.entry((at, name, spot.is_bound)).or_default();
        // An arrow at the edge says that the figure lies beyond it; which it is, its words do.
        let is_beyond = spot.is_bound && spot.figure < edge;
        points.x.push(if is_beyond { edge } else { spot.figure });
        points.y.push(y(spot));
        points.ends.push(if is_beyond { [edge; 2] } else { spot.ends });
        points.told.push(told(&rows::told(&rows.name(spot.row), spot.row)));
        points.rows.push(rows::id(spot.at));
    }
    for ((at, name, is_bound), mut points) in classes {
        points.name = if is_bound { format!("{name}, less than") } else { name.to_owned() };
        let symbol = if is_bound { MarkerSymbol::TriangleLeftOpen } else { symbol(at) };
        let colour = if at == CLASSES.len() { GREY } else { COLOURS[at] };
        plot.add_trace(points.trace((colour, symbol), Along::X, Mode::Markers));
    }
    let below = titled(ratios(shown.iter().copied(), unit), quantity(unit));
    let layout =
        layout(Some(lines)).x_axis(below).y_axis(lines_axis(first)).hover_mode(HoverMode::Closest);
    plot.set_layout(layout);
    Chart {
        id: format!("bill-{}", unit.text().replace('/', "-")),
        caption: format!(
            "{}: {lines} {} on a scale of ratios, with {}floors. An arrow to the left is a bound: \
             less than that. Press a point for what it is.",
            quantity(unit),
            if lines == 1 { "row" } else { "rows" },
            if unit == Unit::InstructionsPerOp { "" } else { "95 % intervals and " },
        ),
        plot,
        lines: Some(lines),
        orders,
    }
}

/// The dearest on top; of rates that is the smallest.
fn by_cost(spots: &[Spot<'_>], rows: &Rows<'_>) -> Order {
    use oscost_model::unit::Better;
    let mut sorted: Vec<&Spot<'_>> = spots.iter().collect();
    sorted.sort_by(|one, other| match one.row.better {
        Better::Lower => other.figure.total_cmp(&one.figure),
        Better::Higher => one.figure.total_cmp(&other.figure),
    });
    let name = |(at, spot): (usize, &&Spot<'_>)| (at as f64, safe(&rows.name(spot.row)));
    let names = match sorted.len() {
        few if few <= MOST_NAMES => sorted.iter().enumerate().map(name).collect(),
        _ => Vec::new(),
    };
    let ids = sorted.iter().map(|spot| rows::id(spot.at)).collect();
    Order { name: "by cost", rows: ids, names }
}

/// As the record has them, which is by family; where they are too many to be named, families are.
fn by_family(spots: &[Spot<'_>], rows: &Rows<'_>) -> Order {
    let ids = spots.iter().map(|spot| rows::id(spot.at)).collect();
    let mut names: Vec<(f64, String)> = Vec::new();
    if spots.len() <= MOST_NAMES {
        let all = spots.iter().enumerate();
        names.extend(all.map(|(at, spot)| (at as f64, safe(&rows.name(spot.row)))));
    } else {
        let mut from = 0;
        for chunk in spots.chunk_by(|one, other| family(one.row) == family(other.row)) {
            let middle = from as f64 + (chunk.len() - 1) as f64 / 2.0;
            names.push((middle, safe(family(chunk[0].row))));
            from += chunk.len();
        }
    }
    Order { name: "by family", rows: ids, names }
}
