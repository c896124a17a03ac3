//! The sheet that a picture is drawn on: its measures, and how numbers, colours and texts are written.

use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::chart::Colour;

/// The width of a picture, in units of it.
pub(super) const WIDTH: f64 = 760.0;
/// The height of the area of values.
pub(super) const VALUES_HEIGHT: f64 = 320.0;
/// The height of a row in a chart of rows.
pub(super) const ROW_HEIGHT: f64 = 20.0;
/// The width of a letter at most, on average.
pub(super) const LETTER: f64 = 7.0;
/// The space at the edge of a picture.
pub(super) const EDGE: f64 = 12.0;
/// The space between two names of an axis at least.
pub(super) const GAP: f64 = 5.0;
/// Letters of a name at the edge; longer names are cut.
pub(super) const MAX_LABEL: usize = 34;

/// The class of a colour.
pub(in crate::report::render) fn class(colour: Colour) -> &'static str {
    const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    match colour {
        Colour::Palette(number) => CLASSES[number % CLASSES.len()],
        Colour::Worse => CLASSES[7],
        Colour::Better => CLASSES[2],
        Colour::Muted => CLASSES[6],
    }
}

/// Text without what XML gives a meaning.
pub(in crate::report::render) fn escape(text: &str) -> String {
    without_markup(&plain(text))
}

/// The same of a text that is composed of several.
pub(in crate::report::render) fn escape_paragraph(text: &str) -> String {
    without_markup(&plain_paragraph(text))
}

fn without_markup(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// A coordinate, with one decimal: pictures do not show more, and files stay small.
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
