//! A chart as an SVG picture: a file of its own, or a part of a page.
//!
//! It has no script and loads nothing. Its colours follow the reader's light or dark scheme, and it
//! has its own background, as the page around it may not follow. Equal charts give equal bytes.

mod axis;
mod bar;
mod frame;
mod sheet;
mod symbol;

use std::fmt::Write;

pub(super) use self::axis::{Scale, TickText};
use self::bar::bar;
use self::frame::Frame;
use self::sheet::{EDGE, GAP, LETTER, MAX_LABEL, ROW_HEIGHT, WIDTH, coordinate};
pub(super) use self::sheet::{class, escape, escape_paragraph};
pub(super) use self::symbol::symbol;
use crate::report::view::document::chart::{Axis, Chart, Point, Series, Shape, Symbol, Vertical};

/// Colours on white and on black: the contrast of each is at least 3 to 1.
const STYLE: &str = "\
.oc{font:12px system-ui,\"DejaVu Sans\",sans-serif}\
.oc .p{fill:#fff}.oc .i{fill:#1c2026}.oc .s{fill:#5b6470}.oc .g{stroke:#d9dde3}.oc .b{fill:#767f8b;fill-opacity:.16}\
.oc .m{stroke:#767f8b}.oc .c0{color:#2f7fd1}.oc .c1{color:#c9541d}.oc .c2{color:#128368}.oc .c3{color:#a94993}\
.oc .c4{color:#946f00}.oc .c5{color:#5b5fc7}.oc .c6{color:#6d747e}.oc .c7{color:#c0392b}\
@media(prefers-color-scheme:dark){.oc .p{fill:#14171c}.oc .i{fill:#e6e9ee}.oc .s{fill:#a2abb8}.oc .g{stroke:#333a44}\
.oc .c0{color:#5fa8f0}.oc .c1{color:#f08a55}.oc .c2{color:#4fc9a8}.oc .c3{color:#d985c6}.oc .c4{color:#d8ac2f}\
.oc .c5{color:#9a9df0}.oc .c6{color:#a2abb8}.oc .c7{color:#ff8a7a}}";

/// The picture of a chart.
pub fn svg(chart: &Chart) -> String {
    let frame = Frame::of(chart);
    let x = Scale::of(&chart.x, values(chart, true), [frame.left, frame.right]);
    let y = match &chart.y {
        Vertical::Axis(axis) => Scale::of(axis, values(chart, false), [frame.bottom, frame.top]),
        Vertical::Rows(_) => Scale::of_rows(frame.top, ROW_HEIGHT),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"oc\" role=\"img\" viewBox=\"0 0 {w} {h}\" \
         width=\"{w}\" height=\"{h}\">\n<title>{caption}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"p\" width=\"{w}\" height=\"{h}\"/>\n",
        w = coordinate(WIDTH),
        h = coordinate(frame.height),
        caption = escape(&chart.caption),
    );
    out += &frame.legend(chart);
    out += &bands_and_grid(chart, &frame, &x, &y);
    for series in &chart.series {
        out += &drawn(series, &x, &y, matches!(chart.y, Vertical::Rows(_)));
    }
    out + "</svg>\n"
}

/// The values along an axis, with the ends of intervals.
pub(super) fn values(chart: &Chart, is_horizontal: bool) -> Vec<f64> {
    let has_rows = matches!(chart.y, Vertical::Rows(_));
    let of_point = |point: &Point| {
        let own = if is_horizontal { point.x } else { point.y };
        let interval = point.interval.filter(|_| is_horizontal == has_rows);
        std::iter::once(own).chain(interval.into_iter().flatten()).collect::<Vec<f64>>()
    };
    let points = chart.series.iter().flat_map(|series| &series.points).flat_map(of_point);
    let bars = chart.series.iter().filter(|series| is_horizontal && series.shape.is_bar());
    let starts = bars.flat_map(|series| &series.points).map(|point| point.start);
    let marks = chart.marks.iter().map(|mark| mark.x).filter(|_| is_horizontal);
    let band = chart.band.into_iter().flatten().filter(|_| is_horizontal);
    points.chain(starts).chain(marks).chain(band).collect()
}

/// What is behind the points: the shaded part, grid lines with their names, marks, axis titles.
fn bands_and_grid(chart: &Chart, frame: &Frame, x: &Scale, y: &Scale) -> String {
    let Frame { left, right, top, bottom, height, .. } = *frame;
    let mut out = String::new();
    if let Some([from, to]) =
        chart.band.and_then(|ends| Some([x.position(ends[0])?, x.position(ends[1])?]))
    {
        let (from, width) = (from.min(to), (to - from).abs());
        let _ = writeln!(
            out,
            "<rect class=\"b\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            coordinate(from),
            coordinate(top),
            coordinate(width),
            coordinate(bottom - top)
        );
    }
    let mut free_from = f64::NEG_INFINITY;
    for TickText { at: value, text } in x.ticks(&chart.x) {
        out += &line("g", [value, top], [value, bottom]);
        let half = LETTER * text.chars().count() as f64 / 2.0;
        // A name that would cover its neighbour's is left out; its line stays.
        if value - half >= free_from {
            out += &words("s", [value, bottom + 16.0], "middle", &text);
            free_from = value + half + GAP;
        }
    }
    match &chart.y {
        Vertical::Axis(axis) => {
            for TickText { at: value, text } in y.ticks(axis) {
                out += &line("g", [left, value], [right, value]);
                out += &words("s", [left - 6.0, value + 4.0], "end", &text);
            }
            out += &vertical_title(left - 6.0, top - 8.0, &title(axis));
        }
        Vertical::Rows(orders) => {
            let rows = orders.first().map(|order| &order.rows[..]).unwrap_or_default();
            for (number, row) in rows.iter().enumerate() {
                let Some(value) = y.position(number as f64) else { continue };
                out += &line("g", [left, value], [right, value]);
                let text = frame::cut(&row.name, MAX_LABEL);
                out += &words("i", [left - 6.0, value + 4.0], "end", &text);
            }
        }
    }
    for mark in &chart.marks {
        let Some(value) = x.position(mark.x) else { continue };
        out += &line("m", [value, top], [value, bottom]);
        let anchor = if value > f64::midpoint(left, right) { "end" } else { "start" };
        let shift = if anchor == "end" { -4.0 } else { 4.0 };
        out += &words("s", [value + shift, top + 12.0], anchor, &mark.text);
    }
    out + &words("s", [right, height - 6.0], "end", &title(&chart.x))
}

/// The title of an axis, with its scale if that is logarithmic.
pub(super) fn title(axis: &Axis) -> String {
    match (axis.title.as_str(), axis.is_logarithmic) {
        (title, true) if !title.is_empty() => format!("{title} (log)"),
        (title, _) => title.to_owned(),
    }
}

/// The title of the vertical axis: it ends at the axis, or begins at the edge if it is longer.
fn vertical_title(end: f64, y: f64, title: &str) -> String {
    match LETTER * title.chars().count() as f64 > end - EDGE {
        true => words("s", [EDGE, y], "start", title),
        false => words("s", [end, y], "end", title),
    }
}

fn line(class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
    format!("<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>\n")
}

fn words(class: &str, [x, y]: [f64; 2], anchor: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(
        "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
        coordinate(x),
        coordinate(y),
        escape(text)
    )
}

/// The line, the intervals and the symbols of a series. What its axis cannot show is left out.
fn drawn(series: &Series, x: &Scale, y: &Scale, has_rows: bool) -> String {
    let mut out = format!("<g class=\"{}\" stroke=\"currentColor\">\n", class(series.colour));
    let spots: Vec<([f64; 2], &Point)> = series
        .points
        .iter()
        .filter_map(|point| Some(([x.position(point.x)?, y.position(point.y)?], point)))
        .collect();
    let dash = match series.shape {
        Shape::DottedLine => Some(" stroke-dasharray=\"3 4\""),
        Shape::Line | Shape::ConnectedSymbols(_) => Some(""),
        Shape::Symbols(_) | Shape::DenseSymbols | Shape::Boxes | Shape::Bars | Shape::OpenBars => {
            None
        }
    };
    if let Some(dash) = dash.filter(|_| spots.len() > 1) {
        let path: Vec<String> = spots
            .iter()
            .map(|([x, y], _)| format!("{} {}", coordinate(*x), coordinate(*y)))
            .collect();
        let path = path.join("L");
        let _ = writeln!(out, "<path fill=\"none\" stroke-width=\"1.6\"{dash} d=\"M{path}\"/>");
    }
    for ([px, py], point) in &spots {
        if series.shape.is_bar() {
            // In a plane nothing says where a bar begins.
            if has_rows {
                out += &bar(series.shape, point, x, *py);
            }
            continue;
        }
        let scale = if has_rows { x } else { y };
        if let Some([low, high]) =
            point.interval.and_then(|it| Some([scale.position(it[0])?, scale.position(it[1])?]))
        {
            let [from, to] = match has_rows {
                true => [[low, *py], [high, *py]],
                false => [[*px, low], [*px, high]],
            };
            // A published range is as wide as its symbol: it is what was given, not an error.
            let _ = writeln!(
                out,
                "<path stroke-width=\"5\" stroke-opacity=\".35\" d=\"M{} {}L{} {}\"/>",
                coordinate(from[0]),
                coordinate(from[1]),
                coordinate(to[0]),
                coordinate(to[1])
            );
        }
        match series.shape {
            Shape::Symbols(kind) | Shape::ConnectedSymbols(kind) => {
                out += &symbol(kind, [*px, *py]);
            }
            Shape::DenseSymbols => {
                out += &symbol(Symbol::Circle, [*px, *py]);
            }
            Shape::Boxes => out += &quantile_box(point, x, *py),
            Shape::Line | Shape::DottedLine | Shape::Bars | Shape::OpenBars => {}
        }
    }
    out + "</g>\n"
}

/// A box of quantiles in a row.
fn quantile_box(point: &Point, x: &Scale, row: f64) -> String {
    let [Some(low), Some(first), Some(middle), Some(third), Some(high)] =
        point.quantiles.map(|value| x.position(value))
    else {
        return String::new();
    };
    let [top, bottom] = [row - 6.0, row + 6.0].map(coordinate);
    let [low, first, middle, third, high] = [low, first, middle, third, high].map(coordinate);
    let row = coordinate(row);
    format!(
        "<path fill=\"none\" d=\"M{low} {row}L{first} {row}M{third} {row}L{high} {row}M{first} \
         {top}L{third} {top}L{third} {bottom}L{first} {bottom}ZM{middle} {top}L{middle} \
         {bottom}\"/>\n"
    )
}

#[cfg(test)]
mod tests;
