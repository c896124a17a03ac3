//! The markup of a heat map: its caption, its scale, the names of its rows and groups, its cells, and
//! its figures.

use std::fmt::Write as _;

use super::cells::{COLOURS, GROUND, NOT_JUDGED, NOT_MEASURED, picture};
use super::figures;
use crate::report::render::svg::escape;
use crate::report::view::document::heat_map::{HeatMap, STEPS};

/// Up to this number rows have room for their names.
const MAX_NAMES: usize = 80;
/// Up to this number rows are told apart by the eye.
const MAX_APART: usize = 300;

/// The height of a row.
fn row_px(rows: usize) -> usize {
    match rows {
        few if few <= MAX_NAMES => 16,
        some if some <= MAX_APART => 8,
        _ => 3,
    }
}

/// The map with its caption and its scale.
pub(in crate::report::render::html) fn figure(map: &HeatMap) -> String {
    let (id, caption) = (escape(&map.id), escape(&map.caption));
    let label = format!("{id}-caption");
    let order = match map.order_note.is_empty() {
        true => String::new(),
        false => format!("<p>{}</p>\n", escape(&map.order_note)),
    };
    let names = if map.rows.len() <= MAX_NAMES { names(map) } else { String::new() };
    format!(
        "<figure class=\"map\" id=\"{id}\" aria-labelledby=\"{label}\">\n<figcaption \
         id=\"{label}\">{caption}</figcaption>\n{order}<div class=\"orders\" role=\"group\" \
         aria-label=\"Order\" hidden></div>\n<ul class=\"scale\">\n{}</ul>\n<div class=\"field\" \
         tabindex=\"0\" role=\"group\" aria-labelledby=\"{label}\">\n{}{names}{}\n</div>\n<output \
         aria-live=\"polite\" hidden></output>\n{}</figure>\n",
        scale(map),
        groups(map),
        picture(map, &label, row_px(map.rows.len())),
        figures::table(map)
    )
}

/// The names of the groups of columns, each as wide as its columns.
fn groups(map: &HeatMap) -> String {
    let groups = map.groups();
    let tracks: Vec<String> =
        groups.iter().map(|group| format!("minmax(0,{}fr)", group.count)).collect();
    let names: String =
        groups.iter().map(|group| format!("<span>{}</span>", escape(group.name))).collect();
    format!(
        "<div class=\"groups\" style=\"grid-template-columns:{}\">{names}</div>\n",
        tracks.join(" ")
    )
}

/// The name of each row with its ratio.
fn names(map: &HeatMap) -> String {
    let mut out = format!("<p>{}, its ratio</p>\n<ol class=\"names\">\n", map.row_noun);
    for row in &map.rows {
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), figures::figure);
        let _ = writeln!(out, "<li><span>{}</span> {ratio}</li>", escape(&row.name));
    }
    out + "</ol>\n"
}

/// The colours with their ratios, the fastest first.
fn scale(map: &HeatMap) -> String {
    let mut out = String::new();
    let mut entry = |colour: &str, text: &str| {
        let _ = writeln!(out, "<li><i class=\"{colour}\"></i>{text}");
    };
    let (faster, others) = COLOURS.split_at(STEPS.len());
    for (&colour, step) in faster.iter().zip(STEPS.iter().rev()) {
        entry(colour, &format!("{step:.2} times as fast"));
    }
    entry(GROUND, "nearer to 1");
    for (&colour, step) in others.iter().skip(1).zip(STEPS) {
        entry(colour, &format!("{step:.2} times as slow"));
    }
    entry(NOT_MEASURED, "not measured");
    if map.not_judged.contains(&true) {
        entry(NOT_JUDGED, "grey with a bar: measured, not judged");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::heat_map::{HeatMapColumn, HeatMapRow};

    fn map(rows: usize) -> HeatMap {
        let column = |at: usize| HeatMapColumn {
            name: format!("case{at}"),
            group: if at < 2 { "<pipe>" } else { "fault" }.to_owned(),
        };
        let row = |at: usize| HeatMapRow {
            name: format!("<node{at}>"),
            class: String::new(),
            ratio: (at > 0).then_some(1.234),
        };
        HeatMap {
            id: "map".to_owned(),
            row_noun: "node",
            columns: (0..3).map(column).collect(),
            rows: (0..rows).map(row).collect(),
            ratios: vec![1.0; 3 * rows],
            ..HeatMap::default()
        }
    }

    #[test]
    fn the_scale_has_a_colour_for_each_step_in_both_directions() {
        let scale = self::scale(&map(1));
        assert_eq!(scale.matches("<li>").count(), 2 * STEPS.len() + 2);
        assert!(scale.starts_with("<li><i class=\"m0\"></i>1.50 times as fast"), "{scale}");
        assert!(scale.contains("<i class=\"m3\"></i>1.03 times as fast"), "{scale}");
        assert!(scale.contains("<i class=\"m5\"></i>1.03 times as slow"), "{scale}");
        assert!(scale.contains("<i class=\"m8\"></i>1.50 times as slow"), "{scale}");
        let marked = HeatMap { not_judged: vec![false, true, false], ..map(1) };
        let entry = "<li><i class=\"mq\"></i>grey with a bar: measured, not judged";
        assert!(self::scale(&marked).contains(entry) && !scale.contains("not judged"));
    }

    #[test]
    fn rows_with_room_and_groups_are_named_and_the_order_is_told() {
        let mut map = map(MAX_NAMES);
        assert!(!figure(&map).contains("</figcaption>\n<p>"));
        map.order_note = "What stands out & the rest".to_owned();
        let named = figure(&map);
        for part in [
            "</figcaption>\n<p>What stands out &amp; the rest</p>\n",
            "grid-template-columns:minmax(0,2fr) minmax(0,1fr)\"><span>&lt;pipe&gt;</span>",
            "<li><span>&lt;node0&gt;</span> -</li>\n<li><span>&lt;node1&gt;</span> 1.23</li>",
            "style=\"height:1280px\"",
        ] {
            assert!(named.contains(part), "{part}: {named}");
        }
        let dense = figure(&self::map(MAX_APART + 1));
        assert!(dense.contains("style=\"height:903px\"") && !dense.contains("<ol"), "{dense}");
    }
}
