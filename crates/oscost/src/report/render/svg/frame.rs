//! The parts of a picture: its area of values, and the legend above.

use super::sheet::{
    LETTER, MAX_LABEL, ROW_HEIGHT, VALUES_HEIGHT, WIDTH, class, coordinate, escape,
};
use super::symbol::symbol;
use crate::report::view::document::chart::{Chart, Series, Shape, Symbol, Vertical};

/// The height of a line of the legend.
const LEGEND_LINE: f64 = 18.0;

/// Where the parts of a picture are.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) height: f64,
}

/// A name in the legend, and where it begins.
struct Entry<'a> {
    series: &'a Series,
    x: f64,
    line: usize,
}

/// A text of at most this many letters.
pub(super) fn cut(text: &str, letters: usize) -> String {
    match text.chars().count() > letters {
        true => text.chars().take(letters - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

impl Frame {
    pub(super) fn of(chart: &Chart) -> Self {
        let lines = entries(chart).last().map_or(0, |entry| entry.line + 1);
        let (left, above, height) = match &chart.y {
            Vertical::Axis(_) => (86.0, 22.0, VALUES_HEIGHT),
            Vertical::Rows(orders) => {
                let rows = orders.first().map(|order| &order.rows[..]).unwrap_or_default();
                let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
                let rows = rows.len();
                (14.0 + LETTER * longest.min(MAX_LABEL) as f64, 6.0, ROW_HEIGHT * rows as f64)
            }
        };
        let top = 8.0 + LEGEND_LINE * lines as f64 + above;
        let bottom = top + height;
        Self { left, right: WIDTH - 24.0, top, bottom, height: bottom + 42.0 }
    }

    /// The legend: a symbol and a name for each series that has one.
    pub(super) fn legend(&self, chart: &Chart) -> String {
        let entry = |Entry { series, x, line }: Entry<'_>| {
            let y = 8.0 + LEGEND_LINE * line as f64 + 8.0;
            let stroke = format!("<path stroke-width=\"1.6\" d=\"M{} {y}h16\"/>\n", coordinate(x));
            let sign = match series.shape {
                Shape::Symbols(kind) => symbol(kind, [x + 8.0, y]),
                Shape::ConnectedSymbols(kind) => stroke + &symbol(kind, [x + 8.0, y]),
                Shape::Line | Shape::DottedLine => stroke,
                Shape::DenseSymbols | Shape::Boxes | Shape::Bars => {
                    symbol(Symbol::Square, [x + 8.0, y])
                }
                Shape::OpenBars => symbol(Symbol::OpenSquare, [x + 8.0, y]),
            };
            format!(
                "<g class=\"{}\" stroke=\"currentColor\">\n{sign}</g>\n<text class=\"i\" x=\"{}\" \
                 y=\"{}\">{}</text>\n",
                class(series.colour),
                coordinate(x + 22.0),
                coordinate(y + 4.0),
                escape(&series.name)
            )
        };
        entries(chart).into_iter().map(entry).collect()
    }
}

/// The names of the legend, as many in a line as fit.
fn entries(chart: &Chart) -> Vec<Entry<'_>> {
    let (mut x, mut line) = (12.0, 0);
    let mut found = Vec::new();
    for series in chart.series.iter().filter(|series| !series.name.is_empty()) {
        let width = 40.0 + LETTER * series.name.chars().count() as f64;
        if x > 12.0 && x + width > WIDTH {
            (x, line) = (12.0, line + 1);
        }
        found.push(Entry { series, x, line });
        x += width;
    }
    found
}
