//! How figures went from run to run: series with their changes, and what was updated meanwhile.
//!
//! [`History`] has all that is shown of it, in whatever form: nothing here asks a store.

mod plot;
mod text;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use text::text;
pub(super) use text::{ADVICE, notes};

pub use crate::estimate::history::{
    Change, History, LeftOut, Mark, Newest, Point, Series, Updated,
};
use crate::report::text::plain;
use oscost_stats::change;

/// The fewest runs among which changes are looked for.
pub const FEWEST: usize = change::MIN_POINTS;

/// The version of the document.
pub const SCHEMA: &str = "oscost.history/1";

impl Series {
    /// What is found in it, a sentence or two a piece.
    pub(super) fn says(&self) -> Vec<String> {
        text::lines(self)
    }
}

impl Mark {
    /// What was updated, from what and to what.
    pub(super) fn text(&self) -> String {
        let whose = if self.peer { " of the other end" } else { "" };
        let [from, to] = [&self.from, &self.to].map(|text| text::cut(&plain(text)));
        format!("{}{whose} {from} -> {to}", self.what.text())
    }
}

impl Updated {
    /// Its letter in a picture.
    fn letter(self) -> char {
        match self {
            Updated::Kernel => 'K',
            Updated::Image => 'I',
            Updated::Microcode => 'M',
            Updated::CommandLine => 'L',
            Updated::Mitigations => 'G',
            Updated::Modules => 'S',
            Updated::Tracers => 'T',
            Updated::Clock => 'R',
            Updated::Mode => 'W',
            Updated::Cpu => 'P',
            Updated::Oscost => 'O',
            Updated::Worker => 'C',
        }
    }
}

/// The history as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    target: &'a str,
    window: usize,
    series: &'a [Series],
    without_figures: &'a [LeftOut],
    left_out: &'a [LeftOut],
    other_targets: &'a [String],
}

/// The history as JSON, indented, with a line end.
pub fn json(history: &History) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        target: &history.target,
        window: history.window,
        series: &history.series,
        without_figures: &history.without_figures,
        left_out: &history.left_out,
        other_targets: &history.other_targets,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
