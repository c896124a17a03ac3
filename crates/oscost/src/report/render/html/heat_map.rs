//! A heat map as a part of the page: its caption and its scale in the markup, its ratios packed, and
//! drawn by the page's script.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::report::render::svg::escape;
use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow, STEPS};

/// The logarithm of a ratio in steps of this size, a twentieth of a per cent.
const LOG_STEP: f64 = 0.0005;
/// The code of the ratio 1; 0 is the code of what was not measured.
const ONE: f64 = 32_768.0;

/// What the script draws.
#[derive(Serialize)]
pub(super) struct MapData<'a> {
    row_noun: &'a str,
    column_noun: &'a str,
    columns: Vec<ColumnData<'a>>,
    rows: Vec<RowData<'a>>,
    steps: [f64; STEPS.len()],
    log_step: f64,
    one: f64,
    /// Two bytes a cell, the low one first.
    cells: String,
}

#[derive(Serialize)]
struct ColumnData<'a> {
    name: &'a str,
    group: &'a str,
}

#[derive(Serialize)]
struct RowData<'a> {
    name: &'a str,
    class: &'a str,
    ratio: Option<f64>,
}

impl<'a> MapData<'a> {
    pub(super) fn of(map: &'a HeatMap) -> Self {
        let cells: Vec<u8> = map.ratios.iter().flat_map(|it| code(*it).to_le_bytes()).collect();
        let column = |it: &'a HeatMapColumn| ColumnData { name: &it.name, group: &it.group };
        let row =
            |it: &'a HeatMapRow| RowData { name: &it.name, class: &it.class, ratio: it.ratio };
        Self {
            row_noun: map.row_noun,
            column_noun: map.column_noun,
            columns: map.columns.iter().map(column).collect(),
            rows: map.rows.iter().map(row).collect(),
            steps: STEPS,
            log_step: LOG_STEP,
            one: ONE,
            cells: BASE64_STANDARD.encode(cells),
        }
    }
}

/// The code of a ratio. The first and the last stand for all beyond them, by a factor of 13 million.
fn code(ratio: f32) -> u16 {
    let ratio = f64::from(ratio);
    match ratio.is_finite() && ratio > 0.0 {
        true => (ONE + ratio.ln() / LOG_STEP).round().clamp(1.0, f64::from(u16::MAX)) as u16,
        false => 0,
    }
}

/// The map with its caption and its scale.
pub(super) fn figure(map: &HeatMap) -> String {
    let (id, caption) = (escape(&map.id), escape(&map.caption));
    format!(
        "<figure class=\"map\" id=\"{id}\" aria-labelledby=\"{id}-caption\">\n<figcaption \
         id=\"{id}-caption\">{caption}</figcaption>\n<div class=\"orders\" role=\"group\" \
         aria-label=\"Order\" hidden></div>\n<ul class=\"scale\">\n{}</ul>\n<p class=\"absent\">The \
         script of this page draws the map, and it does not run here: what stands out is in the \
         table.</p>\n<div class=\"field\" hidden><canvas tabindex=\"0\" role=\"img\" \
         aria-labelledby=\"{id}-caption\"></canvas></div>\n<output aria-live=\"polite\" hidden>\
         </output>\n</figure>\n",
        scale()
    )
}

/// The colours with their ratios, the fastest first.
fn scale() -> String {
    let last = STEPS.len();
    let mut out = String::new();
    let mut entry = |class: &str, text: &str| {
        let _ = writeln!(out, "<li><i class=\"{class}\"></i>{text}");
    };
    for (at, step) in STEPS.iter().enumerate().rev() {
        entry(&format!("m{}", last - 1 - at), &format!("{step:.2} times as fast"));
    }
    entry(&format!("m{last}"), "nearer to 1");
    for (at, step) in STEPS.iter().enumerate() {
        entry(&format!("m{}", last + 1 + at), &format!("{step:.2} times as slow"));
    }
    entry("mn", "not measured");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_ratios_to_a_twentieth_of_a_per_cent_and_have_one_for_what_is_not_measured() {
        for ratio in [1.0f32, 1.31, 0.5, 0.999, 1_000.0, 1e-6] {
            let read = ((f64::from(code(ratio)) - ONE) * LOG_STEP).exp();
            assert!((read / f64::from(ratio) - 1.0).abs() < 0.0003, "{ratio}: {read}");
        }
        assert_eq!([f32::NAN, 0.0, -1.0, f32::INFINITY].map(code), [0; 4]);
        assert_eq!([f32::MAX, f32::MIN_POSITIVE].map(code), [u16::MAX, 1]);
    }

    #[test]
    fn the_scale_has_a_colour_for_each_step_in_both_directions() {
        let scale = scale();
        assert_eq!(scale.matches("<li>").count(), 2 * STEPS.len() + 2);
        assert!(scale.starts_with("<li><i class=\"m0\"></i>1.50 times as fast"), "{scale}");
        assert!(scale.contains("<i class=\"m8\"></i>1.50 times as slow"), "{scale}");
    }
}
