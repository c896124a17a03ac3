//! A chart of rows: a list of names, each with its own line of the chart; the axis is on top of it and
//! stays in sight.

use std::fmt::Write;

use super::parts::{LANE_PX, Signs, escape, ground, mark_id, pct, reach, tick_names};
use crate::report::render::svg::{Scale, class, title, values};
use crate::report::view::document::chart::{Chart, ChartRow, Order, Point, Series, Shape};

/// The height of the names of ticks.
const TICKS_PX: usize = 17;
/// Steps of the horizontal axis of a path, of which there are this many in its width.
const STEPS: f64 = 9_999.0;
/// Just outside the chart.
const EDGE: f64 = -1.0;

/// The chart in its first order.
pub(super) fn rows(chart: &Chart, orders: &[Order]) -> String {
    let Some(order) = orders.first() else { return String::new() };
    let x = Scale::of(&chart.x, values(chart, true), [0.0, 100.0]);
    let ticks = x.ticks(&chart.x);
    let Signs { text: signs, lanes } = Signs::of(chart, &x);
    let height = TICKS_PX + LANE_PX * lanes;
    let mut out = format!(
        "<div class=\"rows\">\n<div class=\"top\"><p>{}</p><svg class=\"x\" height=\"{height}\" \
         aria-hidden=\"true\"><g class=\"s\">{signs}</g><g class=\"t\">{}</g></svg></div>\n\
         <div class=\"back\"><svg class=\"x\" aria-hidden=\"true\">{}</svg></div>\n",
        escape(&title(&chart.x)),
        tick_names(&ticks, height - 4),
        ground(chart, &x, &ticks)
    );
    let contents = contents(chart, order.rows.len());
    let mut groups = order.groups.iter().peekable();
    if groups.peek().is_none_or(|group| group.first > 0) {
        out += "<ol>\n";
    }
    for (number, (row, content)) in order.rows.iter().zip(&contents).enumerate() {
        if let Some(group) = groups.next_if(|group| group.first == number) {
            let end = if number > 0 { "</ol>\n" } else { "" };
            let _ = write!(out, "{end}<h3>{}</h3>\n<ol>\n", escape(&group.title));
        }
        out += &line(row, content, &x);
    }
    out + "</ol>\n</div>\n"
}

/// What is drawn in a row, from the back to the front.
#[derive(Clone, Default)]
struct Content<'a> {
    points: Vec<(&'a Series, &'a Point)>,
}

/// What is drawn in each row.
fn contents(chart: &Chart, rows: usize) -> Vec<Content<'_>> {
    let mut contents = vec![Content::default(); rows];
    for series in &chart.series {
        for point in &series.points {
            if let Some(content) = contents.get_mut(point.y as usize) {
                content.points.push((series, point));
            }
        }
    }
    contents
}

/// A row: its name, which is a link to its row in the table if there is one, and its line of the
/// chart.
fn line(row: &ChartRow, content: &Content<'_>, x: &Scale) -> String {
    let id = match row.id.as_str() {
        "" => String::new(),
        id => format!("<small>{}</small>", escape(id)),
    };
    let name = escape(&row.name);
    let name = match row.anchor.as_str() {
        "" => format!("<span>{name}{id}</span>"),
        anchor => format!("<a href=\"#{}\">{name}{id}</a>", escape(anchor)),
    };
    format!("<li>{name}<svg class=\"x\">{}</svg></li>\n", content.markup(x))
}

impl Content<'_> {
    fn markup(&self, x: &Scale) -> String {
        let mut out = String::new();
        let details = self.points.iter().map(|(_, point)| &point.details);
        if let Some(lines) = details.filter(|lines| !lines.is_empty()).max_by_key(|it| it.len()) {
            let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
            let _ = write!(out, "<title>{}</title>", lines.join("\n"));
        }
        for of_series in self.points.chunk_by(|(one, _), (other, _)| std::ptr::eq(*one, *other)) {
            let series = of_series[0].0;
            let points = of_series.iter().map(|(_, point)| *point);
            let drawn: String = match series.shape {
                Shape::DenseSymbols => dots(points, x),
                _ => points.map(|point| symbol(series.shape, point, x)).collect(),
            };
            if !drawn.is_empty() {
                let _ = write!(out, "<g class=\"{}\">{drawn}</g>", class(series.colour));
            }
        }
        out + &self.figures(x)
    }

    /// The figures, beside everything that is drawn in the row.
    fn figures(&self, x: &Scale) -> String {
        let ends = self.points.iter().flat_map(|(_, point)| {
            let interval = point.interval.and_then(|ends| reach(x, ends, EDGE));
            x.position(point.x).into_iter().chain(interval.into_iter().flatten())
        });
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
            (low.min(end), high.max(end))
        });
        let figures = self.points.iter().map(|(_, point)| point.figure.as_str());
        let mut out = String::new();
        for figure in figures.filter(|figure| !figure.is_empty()) {
            // On the right if there is room, or else on the left; in a row without room over its line.
            let (class, at, shift) = match (high <= 72.0, low >= 28.0) {
                (true, _) => ("", high, 9),
                (false, true) => (" class=\"e\"", low, -9),
                (false, false) => (" class=\"e\"", 100.0, -2),
            };
            let _ = write!(
                out,
                "<text{class} x=\"{}\" y=\"50%\" dx=\"{shift}\" dy=\"4\">{}</text>",
                pct(at),
                escape(figure)
            );
        }
        out
    }
}

/// A point with its interval, or a box.
fn symbol(shape: Shape, point: &Point, x: &Scale) -> String {
    let mut out = String::new();
    match shape {
        Shape::Symbols(kind) | Shape::ConnectedSymbols(kind) => {
            let Some(at) = x.position(point.x) else { return out };
            let interval = point.interval.and_then(|ends| reach(x, ends, EDGE));
            if let Some([from, to]) = interval.filter(|[from, to]| from != to) {
                out += &across("w", from, to);
            }
            let _ = write!(out, "<use href=\"#{}\" x=\"{}\" y=\"50%\"/>", mark_id(kind), pct(at));
        }
        Shape::Boxes => {
            let [Some(low), Some(first), Some(middle), Some(third), Some(high)] =
                point.quantiles.map(|value| x.position(value))
            else {
                return out;
            };
            out += &across("q", low, first);
            out += &across("q", third, high);
            let _ = write!(
                out,
                "<rect class=\"q\" x=\"{}\" y=\"20%\" width=\"{}\" height=\"60%\"/>",
                pct(first),
                pct(third - first)
            );
            let middle = pct(middle);
            let _ = write!(
                out,
                "<line class=\"q\" x1=\"{middle}\" x2=\"{middle}\" y1=\"20%\" y2=\"80%\"/>"
            );
        }
        // Nothing connects rows.
        Shape::DenseSymbols | Shape::Line | Shape::DottedLine => {}
    }
    out
}

fn across(class: &str, from: f64, to: f64) -> String {
    let [from, to] = [from, to].map(pct);
    format!("<line class=\"{class}\" x1=\"{from}\" x2=\"{to}\" y1=\"50%\" y2=\"50%\"/>")
}

/// Points that may cover each other, as one path: lines without length, whose ends are round.
fn dots<'a>(points: impl Iterator<Item = &'a Point>, x: &Scale) -> String {
    let at = points.filter_map(|point| x.position(point.x));
    let dot = |at: f64| format!("M{:.0} 1h0", (at / 100.0).clamp(-9.0, 10.0) * STEPS);
    let path: String = at.map(dot).collect();
    match path.is_empty() {
        true => path,
        false => format!(
            "<svg viewBox=\"0 0 {STEPS} 2\" preserveAspectRatio=\"none\"><path class=\"d\" \
             d=\"{path}\"/></svg>"
        ),
    }
}
