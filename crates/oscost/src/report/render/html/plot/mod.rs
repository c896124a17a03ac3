//! A chart as a part of the page: markup and SVG that need no script.
//!
//! Positions along the horizontal axis are per cent of its width, so that a chart fills the window of
//! its reader, of a phone too; names and figures keep the size of text. The page's script sorts rows,
//! and zooms by two variables of the style sheet.

mod parts;
mod plane;
mod rows;

use std::collections::BTreeMap;

use self::parts::{escape, mark_id};
use super::prose::prose;
use super::words::Words;
use crate::report::render::svg::{class, symbol};
use crate::report::view::document::chart::{Chart, Order, Series, Shape, Symbol, Vertical};

/// The symbols of points, which all charts of a page refer to.
pub(super) fn symbols() -> String {
    let one = |(number, kind): (usize, &Symbol)| {
        format!("<g id=\"y{number}\">{}</g>", symbol(*kind, [0.0, 0.0]).trim_end())
    };
    let all: String = parts::SYMBOLS.iter().enumerate().map(one).collect();
    format!("<svg class=\"unseen\" aria-hidden=\"true\"><defs>{all}</defs></svg>")
}

/// The chart with its caption and its legend.
pub(super) fn figure(chart: &Chart, words: &Words) -> String {
    let content = match &chart.y {
        Vertical::Rows(orders) => rows::rows(chart, orders),
        Vertical::Axis(axis) => plane::plane(chart, axis),
    };
    let id = escape(&chart.id);
    let caption = prose(&chart.caption);
    let (orders, legend) = (orders(chart), legend(chart, words));
    format!(
        "<figure class=\"chart\" id=\"{id}\" aria-labelledby=\"{id}-caption\">\n<figcaption \
         id=\"{id}-caption\">{caption}</figcaption>\n{orders}{legend}\
         {content}</figure>\n"
    )
}

/// The buttons by which a reader with scripts chooses the order of rows; each has the rows of its order
/// by their numbers in the first.
fn orders(chart: &Chart) -> String {
    let orders = match &chart.y {
        Vertical::Rows(orders) if orders.len() > 1 => orders,
        _ => return String::new(),
    };
    let numbers: BTreeMap<&str, usize> = orders[0]
        .rows
        .iter()
        .enumerate()
        .map(|(number, row)| (row.anchor.as_str(), number))
        .collect();
    let button = |(which, order): (usize, &Order)| {
        let rows = order.rows.iter().filter_map(|row| numbers.get(row.anchor.as_str()));
        let rows: Vec<String> = rows.map(ToString::to_string).collect();
        let list = if which == 0 { String::new() } else { rows.join(" ") };
        format!(
            "<button type=\"button\" aria-pressed=\"{}\" data-rows=\"{list}\">{}</button>\n",
            which == 0,
            escape(order.name)
        )
    };
    let buttons: String = orders.iter().enumerate().map(button).collect();
    format!("<div class=\"orders\" role=\"group\" aria-label=\"Order\" hidden>\n{buttons}</div>\n")
}

/// A symbol and a name for each series that has one; a name that oscost explains is a link.
fn legend(chart: &Chart, words: &Words) -> String {
    let entry = |series: &Series| {
        let stroke = "<path class=\"l\" d=\"M0 7H22\"/>";
        let dotted = "<path class=\"l o\" d=\"M0 7H22\"/>";
        let sign = |kind: Symbol| format!("<use href=\"#{}\" x=\"11\" y=\"7\"/>", mark_id(kind));
        let area = |class: &str| {
            format!("<rect class=\"{class}\" x=\"4\" y=\"3\" width=\"14\" height=\"8\"/>")
        };
        let sign = match series.shape {
            Shape::Symbols(kind) => sign(kind),
            Shape::ConnectedSymbols(kind) => format!("{stroke}{}", sign(kind)),
            Shape::Line => stroke.to_owned(),
            Shape::DottedLine => dotted.to_owned(),
            Shape::DenseSymbols => sign(Symbol::Circle),
            Shape::Boxes | Shape::OpenBars => area("q"),
            Shape::Bars => area("f"),
        };
        let (word, rest) = series.name.split_once(", ").unwrap_or((&series.name, ""));
        let rest = if rest.is_empty() { String::new() } else { format!(", {}", escape(rest)) };
        let name = match words.anchor(word) {
            Some(anchor) => format!("<a href=\"#{anchor}\">{}</a>", escape(word)),
            None => escape(word),
        };
        format!(
            "<li><svg class=\"{}\" width=\"22\" height=\"14\" aria-hidden=\"true\">{sign}</svg>{name}\
             {rest}</li>\n",
            class(series.colour)
        )
    };
    let named = chart.series.iter().filter(|series| !series.name.is_empty());
    let entries: String = named.map(entry).collect();
    if entries.is_empty() { entries } else { format!("<ul class=\"legend\">\n{entries}</ul>\n") }
}

#[cfg(test)]
mod tests;
