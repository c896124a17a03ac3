//! A chart over two axes.

use std::fmt::Write;

use super::parts::{LANE_PX, Signs, escape, ground, mark_id, pct, reach, tick_names};
use crate::report::render::svg::{Scale, class, title, values};
use crate::report::view::document::chart::{Axis, Chart, Point, Series, Shape, Symbol};

/// Steps of a path in either direction, of which there are this many in its width and its height.
const STEPS: f64 = 9_999.0;
/// Just below the chart.
const EDGE: f64 = 101.0;

pub(super) fn plane(chart: &Chart, vertical: &Axis) -> String {
    let x = Scale::of(&chart.x, values(chart, true), [0.0, 100.0]);
    let y = Scale::of(vertical, values(chart, false), [100.0, 0.0]);
    let ticks = x.ticks(&chart.x);
    let Signs { text: signs, lanes } = Signs::of(chart, &x);
    let signs = match lanes {
        0 => String::new(),
        _ => format!(
            "<svg class=\"x head\" height=\"{}\" aria-hidden=\"true\"><g class=\"s\">{signs}</g></svg>\n",
            LANE_PX * lanes
        ),
    };
    let mut grid = String::new();
    let mut names = String::new();
    for tick in y.ticks(vertical) {
        let at = pct(tick.at);
        let _ = write!(grid, "M0 {:.0}h{STEPS}", steps(tick.at));
        let _ = write!(names, "<text y=\"{at}\">{}</text>", escape(&tick.text));
    }
    for tick in &ticks {
        let _ = write!(grid, "M{:.0} 0v{STEPS}", steps(tick.at));
    }
    let grid = stretched(&format!("<path class=\"g\" d=\"{grid}\"/>"));
    let series: String = chart.series.iter().map(|series| drawn(series, &x, &y)).collect();
    format!(
        "<div class=\"plane\">\n<p>{}</p>\n{signs}<svg class=\"gutter\" aria-hidden=\"true\"><svg x=\"100%\">{names}\
         </svg></svg>\n<svg class=\"x field\" role=\"img\" aria-label=\"{}\">{grid}{}{series}</svg>\n\
         <svg class=\"x foot\" height=\"18\" aria-hidden=\"true\"><g class=\"t\">{}</g></svg>\n\
         <p class=\"e\">{}</p>\n</div>\n",
        escape(&title(vertical)),
        escape(&chart.caption),
        ground(chart, &x, &[]),
        tick_names(&ticks, 13),
        escape(&title(&chart.x))
    )
}

/// The line, the intervals and the symbols of a series. What its axes cannot show is left out.
fn drawn(series: &Series, x: &Scale, y: &Scale) -> String {
    let placed = series
        .points
        .iter()
        .filter_map(|point| Some(([x.position(point.x)?, y.position(point.y)?], point)));
    let placed: Vec<([f64; 2], &Point)> = placed.collect();
    let mut out = format!("<g class=\"{}\">", class(series.colour));
    let line = match series.shape {
        Shape::DottedLine => Some("l o"),
        Shape::Line | Shape::ConnectedSymbols(_) => Some("l"),
        Shape::Symbols(_) | Shape::DenseSymbols | Shape::Boxes | Shape::Bars | Shape::OpenBars => {
            None
        }
    };
    let intervals = placed.iter().filter_map(|([px, _], point)| {
        let [from, to] = reach(y, point.interval?, EDGE)?;
        (from != to).then(|| format!("M{:.0} {:.0}V{:.0}", steps(*px), steps(from), steps(to)))
    });
    let intervals: String = intervals.collect();
    let mut paths = String::new();
    if let Some(class) = line.filter(|_| placed.len() > 1) {
        let corners = path(placed.iter().map(|(at, _)| *at));
        let _ = write!(paths, "<path class=\"{class}\" d=\"{corners}\"/>");
    }
    if !intervals.is_empty() {
        let _ = write!(paths, "<path class=\"w\" d=\"{intervals}\"/>");
    }
    if !paths.is_empty() {
        out += &stretched(&paths);
    }
    let kind = match series.shape {
        Shape::Symbols(kind) | Shape::ConnectedSymbols(kind) => Some(kind),
        Shape::DenseSymbols => Some(Symbol::Circle),
        // Boxes and bars are of rows.
        Shape::Line | Shape::DottedLine | Shape::Boxes | Shape::Bars | Shape::OpenBars => None,
    };
    for ([px, py], point) in &placed {
        if let Some(kind) = kind {
            out += &symbol(&mark_id(kind), [*px, *py], point);
        }
    }
    out + "</g>"
}

/// A position in per cent as steps of a path.
fn steps(at: f64) -> f64 {
    (at / 100.0).clamp(-9.0, 10.0) * STEPS
}

/// Paths in steps, stretched over the chart.
fn stretched(paths: &str) -> String {
    format!("<svg viewBox=\"0 0 {STEPS} {STEPS}\" preserveAspectRatio=\"none\">{paths}</svg>")
}

/// A line through these points: each as its distance from the one before, in whole steps, which takes
/// half of the digits. Rounding errors do not add up.
fn path(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut out = String::new();
    let mut before: Option<[i64; 2]> = None;
    for point in points {
        let [x, y] = point.map(|at| steps(at).round() as i64);
        let [dx, dy] = before.map_or([x, y], |[px, py]| [x - px, y - py]);
        out += if before.is_none() { "M" } else { "l" };
        // A sign separates numbers, too.
        let space = if dy < 0 { "" } else { " " };
        let _ = write!(out, "{dx}{space}{dy}");
        before = Some([x, y]);
    }
    out
}

/// The symbol of a point; on demand a reader sees its row in the table, or its details.
fn symbol(id: &str, [x, y]: [f64; 2], point: &Point) -> String {
    let [x, y] = [x, y].map(pct);
    let row = match point.row.as_str() {
        "" => String::new(),
        row => format!(" data-row=\"{}\"", escape(row)),
    };
    let opening = format!("<use href=\"#{id}\" x=\"{x}\" y=\"{y}\"{row}");
    match &point.details[..] {
        [] => format!("{opening}/>"),
        lines => {
            let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
            format!("{opening}><title>{}</title></use>", lines.join("\n"))
        }
    }
}
