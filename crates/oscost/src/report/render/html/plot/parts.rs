//! What charts of rows and of planes have in common: positions, symbols, ticks and marks.

use std::fmt::Write;

use crate::report::render::svg::{Scale, TickText, escape as without_markup};
use crate::report::view::document::chart::{Chart, Symbol};

/// All symbols, in the order of their ids.
pub(super) const SYMBOLS: [Symbol; 13] = [
    Symbol::Circle,
    Symbol::Diamond,
    Symbol::Square,
    Symbol::TriangleUp,
    Symbol::TriangleDown,
    Symbol::TriangleLeft,
    Symbol::TriangleRight,
    Symbol::Cross,
    Symbol::OpenCircle,
    Symbol::OpenDiamond,
    Symbol::OpenSquare,
    Symbol::OpenTriangleLeft,
    Symbol::Stroke,
];

/// The height of a line of names above a chart.
pub(super) const LANE_PX: usize = 15;
/// The width for which names are placed in lanes: that of a chart on a phone is smaller, and there
/// a name may touch its neighbour.
const WIDTH_PX: f64 = 420.0;
/// The width of a letter at most, on average.
pub(super) const LETTER_PX: f64 = 6.2;
/// Beyond this distance from the chart, in per cent of it, nothing is drawn more precisely.
const FAR: f64 = 1_000.0;

/// Text without what HTML gives a meaning, also inside quotes of either kind.
pub(super) fn escape(text: &str) -> String {
    without_markup(text).replace('\'', "&#39;")
}

/// The id of a symbol.
pub(super) fn mark_id(kind: Symbol) -> String {
    let number = SYMBOLS.iter().position(|it| *it == kind).unwrap_or(0);
    format!("y{number}")
}

/// A position in per cent, with two decimals.
pub(super) fn pct(position: f64) -> String {
    let text = format!("{:.2}", position.clamp(-FAR, 100.0 + FAR));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}%", if text == "-0" { "0" } else { text })
}

/// The ends of an interval; one that reaches to what a logarithmic scale cannot show is cut off at the
/// edge. `None` if no end can be shown.
pub(super) fn reach(scale: &Scale, [low, high]: [f64; 2], edge: f64) -> Option<[f64; 2]> {
    let low = scale.position(low).or_else(|| (low <= 0.0).then_some(edge))?;
    Some([low, scale.position(high)?])
}

/// The names of ticks along the horizontal axis; every second has a class of its own, which a narrow
/// screen omits.
pub(super) fn tick_names(ticks: &[TickText], y: usize) -> String {
    let mut out = String::new();
    let is_crowded = ticks.len() > 5;
    for (number, TickText { at, text }) in ticks.iter().enumerate() {
        let odd = if is_crowded && number % 2 == 1 { " class=\"odd\"" } else { "" };
        let _ = write!(out, "<text{odd} x=\"{}\" y=\"{y}\">{}</text>", pct(*at), escape(text));
    }
    out
}

/// A line from top to bottom.
pub(super) fn vertical_line(class: &str, at: f64) -> String {
    let x = pct(at);
    format!("<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"100%\"/>")
}

/// The grid, the shaded part and the marks of a chart, from the back to the front.
pub(super) fn ground(chart: &Chart, x: &Scale, ticks: &[TickText]) -> String {
    let mut out = String::new();
    if let Some([from, to]) =
        chart.band.and_then(|ends| Some([x.position(ends[0])?, x.position(ends[1])?]))
    {
        let (from, width) = (pct(from.min(to)), pct((to - from).abs()));
        let _ = write!(
            out,
            "<rect class=\"b\" x=\"{from}\" y=\"0\" width=\"{width}\" height=\"100%\"/>"
        );
    }
    out.extend(ticks.iter().map(|tick| vertical_line("g", tick.at)));
    let marks = chart.marks.iter().filter_map(|mark| x.position(mark.x));
    out.extend(marks.map(|at| vertical_line("m", at)));
    out
}

/// The names of marks, in as many lanes as keep them apart.
pub(super) struct Signs {
    /// The names as markup; the first lane is at the top.
    pub(super) text: String,
    /// The number of lanes.
    pub(super) lanes: usize,
}

impl Signs {
    pub(super) fn of(chart: &Chart, x: &Scale) -> Self {
        let named = chart.marks.iter().filter(|mark| !mark.text.is_empty());
        let mut placed: Vec<(f64, &str)> =
            named.filter_map(|mark| Some((x.position(mark.x)?, mark.text.as_str()))).collect();
        placed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // Where the last name of each lane ends, in per cent.
        let mut ends: Vec<f64> = Vec::new();
        let mut text = String::new();
        for (at, name) in placed {
            let width = 100.0 * (LETTER_PX * name.chars().count() as f64 + 10.0) / WIDTH_PX;
            let is_left = at > 66.0;
            let [from, to] = if is_left { [at - width, at] } else { [at, at + width] };
            let free = ends.iter().position(|end| *end <= from);
            let lane = free.unwrap_or(ends.len());
            match ends.get_mut(lane) {
                Some(end) => *end = to,
                None => ends.push(to),
            }
            let (anchor, shift) = if is_left { (" class=\"e\"", -4) } else { ("", 4) };
            let _ = write!(
                text,
                "<text{anchor} x=\"{}\" dx=\"{shift}\" y=\"{}\">{}</text>",
                pct(at),
                LANE_PX * (lane + 1) - 4,
                escape(name)
            );
        }
        Self { text, lanes: ends.len() }
    }
}
