//! The cells of a heat map as a picture: a path for each colour, of one stroke for each run of
//! neighbours in a row that have it. A map of 200,000 cells is a few elements, and is drawn at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::report::view::document::heat_map::{HeatMap, STEPS, step};

/// The colours of the scale, the fastest first, as the style sheet has them.
pub(super) const COLOURS: [&str; 2 * STEPS.len() + 1] =
    ["m0", "m1", "m2", "m3", GROUND, "m5", "m6", "m7", "m8"];
/// The colour of what is nearer to 1 than the first step: the others are drawn on it.
pub(super) const GROUND: &str = "m4";
/// The colour of what was not measured.
pub(super) const NOT_MEASURED: &str = "mn";

/// What the scale shows of cells that are not judged.
pub(super) const NOT_JUDGED: &str = "mq";
/// The height of the bar with the colour of the ratio in such a cell, the rest of which is as if it had
/// not been measured.
const BAR: f64 = 0.45;

/// From this height on there is a gap between rows.
const GAP_PX: usize = 8;

/// The colour of a ratio.
pub(super) fn colour(ratio: f32) -> &'static str {
    let at = step(ratio).and_then(|step| usize::try_from(STEPS.len() as i32 + step).ok());
    at.and_then(|at| COLOURS.get(at).copied()).unwrap_or(NOT_MEASURED)
}

/// The cells, in rows of a height; a unit is a cell in both directions.
pub(super) fn picture(map: &HeatMap, label: &str, row_px: usize) -> String {
    let (width, height) = (map.columns.len(), map.rows.len());
    let stroke = if row_px >= GAP_PX { 0.9 } else { 1.0 };
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" style=\"height:{}px\" \
         role=\"img\" aria-labelledby=\"{label}\"><rect class=\"{GROUND}\" width=\"{width}\" \
         height=\"{height}\"/><g transform=\"translate(0 .5)\" stroke-width=\"{stroke}\">",
        height * row_px
    );
    for (colour, path) in paths(map) {
        let _ = write!(out, "<path class=\"{colour}\" d=\"{path}\"/>");
    }
    for (colour, path) in bars(map) {
        let _ = write!(out, "<path class=\"{colour}\" stroke-width=\"{BAR}\" d=\"{path}\"/>");
    }
    out += "</g>";
    let edges: String = map
        .groups()
        .iter()
        .filter(|group| group.first > 0)
        .map(|group| format!("M{} 0v{height}", group.first))
        .collect();
    if !edges.is_empty() {
        let _ = write!(out, "<path class=\"edges\" d=\"{edges}\"/>");
    }
    out + "</svg>"
}

/// The runs of each colour but that of the ground: where each begins, and how long it is.
fn paths(map: &HeatMap) -> BTreeMap<&'static str, String> {
    let of_cell = |row: usize, column: usize, ratio: f32| match map.is_not_judged(row, column) {
        true => Some(NOT_MEASURED),
        false => Some(colour(ratio)).filter(|colour| *colour != GROUND),
    };
    runs(map, of_cell)
}

/// The runs of each colour in cells that are not judged.
fn bars(map: &HeatMap) -> BTreeMap<&'static str, String> {
    runs(map, |row, column, ratio| map.is_not_judged(row, column).then(|| colour(ratio)))
}

/// The runs of neighbours in a row for which a colour is the same; none of those that have none.
fn runs(
    map: &HeatMap,
    colour: impl Fn(usize, usize, f32) -> Option<&'static str>,
) -> BTreeMap<&'static str, String> {
    let mut paths: BTreeMap<&'static str, String> = BTreeMap::new();
    for line in 0..map.rows.len() {
        let ratios = map.row(line).iter().enumerate();
        let colours: Vec<Option<&'static str>> =
            ratios.map(|(column, ratio)| colour(line, column, *ratio)).collect();
        let mut column = 0;
        for run in colours.chunk_by(|one, other| one == other) {
            if let Some(Some(colour)) = run.first() {
                let path = paths.entry(*colour).or_default();
                let _ = write!(path, "M{column} {line}h{}", run.len());
            }
            column += run.len();
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::heat_map::{HeatMapColumn, HeatMapRow};

    #[test]
    fn colours_are_those_of_the_steps() {
        let ratios = [0.1, 0.8, 0.88, 0.96, 1.0, 1.04, 1.15, 1.3, 9.0];
        assert_eq!(ratios.map(colour), COLOURS);
        assert_eq!([f32::NAN, 0.0, f32::INFINITY].map(colour), [NOT_MEASURED; 3]);
    }

    #[test]
    fn neighbours_of_one_colour_are_one_stroke_and_none_leaves_its_row() {
        let column = |group: &str| HeatMapColumn { name: String::new(), group: group.to_owned() };
        let row = HeatMapRow { name: String::new(), class: String::new(), ratio: None };
        let map = HeatMap {
            columns: ["a", "a", "b"].map(column).to_vec(),
            rows: vec![row; 2],
            ratios: vec![1.0, 1.3, 1.3, 1.3, f32::NAN, 0.5],
            ..HeatMap::default()
        };
        let drawn = picture(&map, "it", 16);
        for part in [
            "viewBox=\"0 0 3 2\"",
            "style=\"height:32px\"",
            "<path class=\"m7\" d=\"M1 0h2M0 1h1\"/>",
            "<path class=\"mn\" d=\"M1 1h1\"/>",
            "<path class=\"m0\" d=\"M2 1h1\"/>",
            "<path class=\"edges\" d=\"M2 0v2\"/>",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        assert_eq!(drawn.matches("<path").count(), 4, "the ground has no path: {drawn}");
        // What is not judged has a bar in its colour, also in that of the ground.
        let not_judged = vec![true, true, false, false, false, false];
        let drawn = picture(&HeatMap { not_judged, ..map }, "it", 16);
        for part in [
            "<path class=\"mn\" d=\"M0 0h2M1 1h1\"/>",
            "<path class=\"m7\" d=\"M2 0h1M0 1h1\"/>",
            "<path class=\"m4\" stroke-width=\"0.45\" d=\"M0 0h1\"/>",
            "<path class=\"m7\" stroke-width=\"0.45\" d=\"M1 0h1\"/>",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }
}
