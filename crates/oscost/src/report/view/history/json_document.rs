//! The history as JSON.

use serde::Serialize;

use crate::estimate::history::{History, LeftOut, Series};

/// The version of the document.
pub const SCHEMA: &str = "oscost.history/1";

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
