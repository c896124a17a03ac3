//! A chart of rows: a list of names, each with its own line of the chart; the axis is on top of it and
//! stays in sight.

use std::fmt::Write;

use super::parts::{LANE_PX, LETTER_PX, Signs, escape, ground, mark_id, pct, reach, tick_names};
use crate::report::render::html::case_name::case_name;
use crate::report::render::svg::{Scale, class, title, values};
use crate::report::view::document::chart::{Chart, ChartRow, Order, Point, Series, Shape, Symbol};

/// The height of the names of ticks.
const TICKS_PX: usize = 17;
/// Steps of the horizontal axis of a path, of which there are this many in its width.
const STEPS: f64 = 9_999.0;
/// The least width of a chart: that on a small phone.
const NARROW_PX: f64 = 280.0;
/// The least width of a chart in a window from which the style sheet calls it wide.
const WIDE_PX: f64 = 600.0;
/// Between a point and its figure; the style sheet shifts the figure by as much.
const GAP_PX: f64 = 9.0;
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
        id => format!("<small>{}</small>", case_name(id)),
    };
    let name = case_name(&row.name);
    let name = match row.anchor.as_str() {
        "" => format!("<span>{name}{id}</span>"),
        anchor => format!("<a href=\"#{}\">{name}{id}</a>", escape(anchor)),
    };
    format!("<li>{name}{}\n", content.markup(x))
}

impl Content<'_> {
    /// The picture of the row.
    fn markup(&self, x: &Scale) -> String {
        let mut title = String::new();
        let mut out = String::new();
        let details = self.points.iter().map(|(_, point)| &point.details);
        if let Some(lines) = details.filter(|lines| !lines.is_empty()).max_by_key(|it| it.len()) {
            let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
            let _ = write!(title, "<title>{}</title>", lines.join("\n"));
        }
        let series = self.points.chunk_by(|(one, _), (other, _)| std::ptr::eq(*one, *other));
        let mut stretched = String::new();
        for of_series in series {
            let series = of_series[0].0;
            let points = of_series.iter().map(|(_, point)| *point);
            let colour = class(series.colour);
            match series.shape {
                Shape::Symbols(kind) | Shape::ConnectedSymbols(kind) => {
                    let drawn: String = points.map(|point| symbol(kind, point, x)).collect();
                    if !drawn.is_empty() {
                        let _ = write!(out, "<g class=\"{colour}\">{drawn}</g>");
                    }
                }
                Shape::DenseSymbols => stretched += &path("d", colour, &dots(points, x)),
                Shape::Boxes => {
                    let boxes: String = points.filter_map(|it| box_of(it, x)).collect();
                    stretched += &path("q", colour, &boxes);
                }
                Shape::Bars | Shape::OpenBars => {
                    let kind = if series.shape == Shape::Bars { "f" } else { "q" };
                    let drawn: String = points.map(|point| bar(kind, point, x)).collect();
                    if !drawn.is_empty() {
                        let _ = write!(out, "<g class=\"{colour}\">{drawn}</g>");
                    }
                }
                // Nothing connects rows.
                Shape::Line | Shape::DottedLine => {}
            }
        }
        let figures = self.figures(x);
        let kind = figures.class();
        let figures = figures.markup;
        if stretched.is_empty() {
            return format!("<svg{kind}>{title}{out}{figures}</svg>");
        }
        let stretch = format!("viewBox=\"0 0 {STEPS} 2\" preserveAspectRatio=\"none\"");
        match out.is_empty() && figures.is_empty() {
            true => format!("<svg {stretch}>{title}{stretched}</svg>"),
            false => {
                format!("<svg{kind}>{title}{out}<svg {stretch}>{stretched}</svg>{figures}</svg>")
            }
        }
    }

    /// The figures, each beside its own point.
    fn figures(&self, x: &Scale) -> Figures {
        let extents: Vec<Option<[f64; 2]>> =
            self.points.iter().map(|(series, point)| extent(series.shape, point, x)).collect();
        let mut figures = Figures::default();
        for (number, ((_, point), own)) in self.points.iter().zip(&extents).enumerate() {
            // What the scale cannot show is left out, with its figure.
            let Some(own) = own.filter(|_| !point.figure.is_empty()) else { continue };
            let others = extents.iter().enumerate().filter(|(other, _)| *other != number);
            let others: Vec<[f64; 2]> = others.filter_map(|(_, extent)| *extent).collect();
            let place =
                |chart_px| LabelPosition::beside(own, &others, width(&point.figure, chart_px));
            let [narrow, wide] = [NARROW_PX, WIDE_PX].map(place);
            let is_one_for_both = !narrow.is_above || narrow == wide;
            if is_one_for_both {
                figures.write(&narrow, None, &point.figure);
            } else {
                figures.write(&narrow, Some("n"), &point.figure);
                figures.write(&wide, Some("v"), &point.figure);
            }
            figures.is_one_above_in_narrow |= narrow.is_above;
            figures.is_one_above_in_wide |= narrow.is_above && wide.is_above;
        }
        figures
    }
}

/// The figures of a row.
#[derive(Default)]
struct Figures {
    markup: String,
    /// Whether one is above its point in a narrow chart, for which the row has two lines there.
    is_one_above_in_narrow: bool,
    is_one_above_in_wide: bool,
}

impl Figures {
    /// Writes a figure; `shown` is the style sheet's class of one that only narrow or only wide charts
    /// show.
    fn write(&mut self, position: &LabelPosition, shown: Option<&str>, figure: &str) {
        let classes: Vec<&str> = position.classes().chain(shown).collect();
        let class = match classes.is_empty() {
            true => String::new(),
            false => format!(" class=\"{}\"", classes.join(" ")),
        };
        let (at, text) = (pct(position.at), escape(figure));
        let _ = write!(self.markup, "<text{class} x=\"{at}\">{text}</text>");
    }

    /// The attribute of the style sheet's class of the row.
    fn class(&self) -> &'static str {
        match (self.is_one_above_in_narrow, self.is_one_above_in_wide) {
            (_, true) => " class=\"two\"",
            (true, false) => " class=\"two n\"",
            (false, false) => "",
        }
    }
}

/// Where a figure is written.
#[derive(PartialEq)]
struct LabelPosition {
    /// In per cent of the chart's width.
    at: f64,
    /// Whether it ends there; else it begins there.
    is_end: bool,
    /// Whether it is above the point.
    is_above: bool,
}

impl LabelPosition {
    /// Beside what is drawn of a point: on the right if neither another mark nor the edge is in the way,
    /// else on the left, else above it: up to its right end, from its left end, or up to the edge.
    fn beside(own: [f64; 2], others: &[[f64; 2]], width: f64) -> Self {
        let [low, high] = own.map(|end| end.clamp(0.0, 100.0));
        let is_free = |from: f64, to: f64| {
            let is_apart = |[low, high]: &[f64; 2]| *high <= from || *low >= to;
            from >= 0.0 && to <= 100.0 && others.iter().all(is_apart)
        };
        if is_free(high, high + width) {
            Self { at: high, is_end: false, is_above: false }
        } else if is_free(low - width, low) {
            Self { at: low, is_end: true, is_above: false }
        } else if high >= width {
            Self { at: high, is_end: true, is_above: true }
        } else if low + width <= 100.0 {
            Self { at: low, is_end: false, is_above: true }
        } else {
            Self { at: 100.0, is_end: true, is_above: true }
        }
    }

    /// The classes of the style sheet: none of a figure that begins right of its point.
    fn classes(&self) -> impl Iterator<Item = &'static str> + use<> {
        let classes = [(self.is_end, "e"), (self.is_above, "a")];
        classes.into_iter().filter_map(|(is_so, class)| is_so.then_some(class))
    }
}

/// The width of a figure with the gap to its point, in per cent of a chart of the least width of its
/// kind: a wider one has more room.
fn width(figure: &str, chart_px: f64) -> f64 {
    100.0 * (LETTER_PX * figure.chars().count() as f64 + GAP_PX) / chart_px
}

/// The ends of all that is drawn of a point; `None` of one that the scale cannot show.
fn extent(shape: Shape, point: &Point, x: &Scale) -> Option<[f64; 2]> {
    let start = x.position(point.start).filter(|_| shape.is_bar());
    let interval = point.interval.and_then(|ends| reach(x, ends, EDGE));
    let at = x.position(point.x)?;
    let ends = start.into_iter().chain(interval.into_iter().flatten());
    Some(ends.fold([at, at], |[low, high], end| [low.min(end), high.max(end)]))
}

/// A point with its interval. The style sheet puts both in the middle of the row's height.
fn symbol(kind: Symbol, point: &Point, x: &Scale) -> String {
    let mut out = String::new();
    let Some(at) = x.position(point.x) else { return out };
    let interval = point.interval.and_then(|ends| reach(x, ends, EDGE));
    if let Some([from, to]) = interval.filter(|[from, to]| from != to) {
        let _ = write!(out, "<line x1=\"{}\" x2=\"{}\"/>", pct(from), pct(to));
    }
    let _ = write!(out, "<use href=\"#{}\" x=\"{}\"/>", mark_id(kind), pct(at));
    out
}

/// A bar between its start and its value, with the interval of the value. The style sheet puts both in
/// the middle of the row's height.
fn bar(kind: &str, point: &Point, x: &Scale) -> String {
    let mut out = String::new();
    let Some((from, to)) = x.position(point.start).zip(x.position(point.x)) else { return out };
    let (left, width) = (pct(from.min(to)), pct((to - from).abs()));
    let _ = write!(
        out,
        "<rect class=\"{kind}\" x=\"{left}\" y=\"-6\" width=\"{width}\" height=\"12\"/>"
    );
    let interval = point.interval.and_then(|ends| reach(x, ends, EDGE));
    if let Some([low, high]) = interval.filter(|[low, high]| low != high) {
        let _ = write!(out, "<line class=\"h\" x1=\"{}\" x2=\"{}\"/>", pct(low), pct(high));
    }
    out
}

/// A path that is stretched to the width of the chart.
fn path(kind: &str, colour: &str, path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("<path class=\"{kind} {colour}\" d=\"{path}\"/>"),
    }
}

/// A place along the horizontal axis, in steps.
fn step(at: f64) -> i64 {
    ((at / 100.0).clamp(-9.0, 10.0) * STEPS).round() as i64
}

/// A box of quantiles, and the lines to its outermost ones.
fn box_of(point: &Point, x: &Scale) -> Option<String> {
    let [low, first, middle, third, high] =
        point.quantiles.map(|value| x.position(value).map(step));
    let (low, first, middle, third, high) = (low?, first?, middle?, third?, high?);
    Some(format!(
        "M{low} 1H{first}M{third} 1H{high}M{first} .4H{third}V1.6H{first}zM{middle} .4V1.6"
    ))
}

/// Points that may cover each other: lines without length, whose ends are round, from the left.
fn dots<'a>(points: impl Iterator<Item = &'a Point>, x: &Scale) -> String {
    let mut at: Vec<i64> = points.filter_map(|point| x.position(point.x)).map(step).collect();
    at.sort_unstable();
    let Some(&first) = at.first() else { return String::new() };
    let others = at.windows(2).map(|pair| format!("m{} 0h0", pair[1] - pair[0]));
    format!("M{first} 1h0{}", others.collect::<String>())
}
