//! The ratios of a heat map as a table, in the colours of their cells.

use std::fmt::Write as _;

use super::cells::{GROUND, NOT_MEASURED, colour};
use crate::report::figures::times;
use crate::report::render::svg::escape;
use crate::report::text::plural;
use crate::report::view::document::heat_map::HeatMap;

/// Of more cells, those of the first rows have figures: the elements of a table take a hundred times
/// the memory of what is drawn.
const MAX_CELLS: usize = 20_000;

/// The table, folded; empty without a row that has room.
pub(super) fn table(map: &HeatMap) -> String {
    let rows = MAX_CELLS.checked_div(map.columns.len()).unwrap_or(0).min(map.rows.len());
    if rows == 0 {
        return String::new();
    }
    let all = plural(map.rows.len() as u64, map.row_noun);
    let title = match rows < map.rows.len() {
        true => format!("Figures of the first {rows} of {all}"),
        false => "Figures".to_owned(),
    };
    let mut out = format!(
        "<details class=\"figures\"><summary>{title}</summary>\n<div class=\"wide\" tabindex=\"0\" \
         role=\"group\" aria-label=\"{title}\">\n<table><thead><tr><th scope=\"col\">{}<th \
         scope=\"col\">ratio",
        map.row_noun
    );
    for column in &map.columns {
        let _ = write!(out, "<th scope=\"col\">{}", escape(&column.name));
    }
    out += "<tbody>\n";
    for (line, row) in map.rows.iter().take(rows).enumerate() {
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), figure);
        let _ = write!(out, "<tr><th scope=\"row\">{}<td>{ratio}", escape(&row.name));
        for (column, &ratio) in map.row(line).iter().enumerate() {
            out += &cell(ratio, map.is_not_judged(line, column));
        }
        out.push('\n');
    }
    out + "</table>\n</div>\n</details>\n"
}

fn cell(ratio: f32, is_not_judged: bool) -> String {
    let text = figure(f64::from(ratio));
    match colour(ratio) {
        _ if is_not_judged => format!("<td class={NOT_MEASURED}>{text}, not judged"),
        GROUND => format!("<td>{text}"),
        colour => format!("<td class={colour}>{text}"),
    }
}

/// A ratio in two decimals, and in fewer if it is large.
pub(super) fn figure(ratio: f64) -> String {
    match ratio {
        usual if (0.1..10.0).contains(&usual) => format!("{usual:.2}"),
        odd if odd.is_finite() && odd > 0.0 => times(odd),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::heat_map::{HeatMapColumn, HeatMapRow};

    fn map(rows: usize, columns: usize) -> HeatMap {
        let column = |at: usize| HeatMapColumn { name: format!("<{at}>"), group: String::new() };
        let row = |at: usize| HeatMapRow {
            name: format!("node{at}"),
            class: String::new(),
            ratio: Some(1.25),
        };
        HeatMap {
            row_noun: "node",
            columns: (0..columns).map(column).collect(),
            rows: (0..rows).map(row).collect(),
            ratios: vec![1.0; rows * columns],
            ..HeatMap::default()
        }
    }

    #[test]
    fn each_cell_has_its_figure_in_its_colour() {
        let mut map = map(2, 3);
        map.ratios = vec![1.31, 1.0, 0.7, f32::NAN, 12.3, 1.02];
        let table = table(&map);
        for part in [
            "<summary>Figures</summary>",
            "<th scope=\"col\">&lt;2&gt;",
            "<tr><th scope=\"row\">node0<td>1.25<td class=m7>1.31<td>1.00<td class=m1>0.70\n",
            "<tr><th scope=\"row\">node1<td>1.25<td class=mn>-<td class=m8>12<td>1.02\n",
        ] {
            assert!(table.contains(part), "{part}: {table}");
        }
        map.not_judged = vec![true, false, false, false, false, false];
        assert!(self::table(&map).contains("<td class=mn>1.31, not judged<td>1.00"));
    }

    #[test]
    fn of_many_cells_the_first_rows_have_figures_and_the_title_says_so() {
        let whole = table(&map(200, 100));
        assert_eq!(whole.matches("<tr><th scope=\"row\">").count(), 200);
        let cut = table(&map(2_000, 100));
        assert_eq!(cut.matches("<tr><th scope=\"row\">").count(), 200);
        assert!(cut.contains("<summary>Figures of the first 200 of 2000 nodes</summary>"));
        assert_eq!([table(&map(0, 5)), table(&map(5, 0))], [""; 2]);
    }
}
