//! What the script of a page reads of a heat map: its names, and its ratios packed.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow};

/// The logarithm of a ratio in steps of this size, a twentieth of a per cent.
const LOG_STEP: f64 = 0.0005;
/// The code of the ratio 1; 0 is the code of what was not measured.
const ONE: f64 = 32_768.0;

/// A heat map, without what the markup has.
#[derive(Serialize)]
pub(in crate::report::render::html) struct MapData<'a> {
    row_noun: &'a str,
    column_noun: &'a str,
    order_name: &'a str,
    columns: Vec<&'a str>,
    rows: Vec<RowData<'a>>,
    log_step: f64,
    one: f64,
    /// Two bytes a cell, the low one first.
    cells: String,
    /// The cells that are not judged: a row, the first column, and how many columns.
    not_judged: Vec<[usize; 3]>,
}

#[derive(Serialize)]
struct RowData<'a> {
    name: &'a str,
    class: &'a str,
    ratio: Option<f64>,
}

impl<'a> MapData<'a> {
    pub(in crate::report::render::html) fn of(map: &'a HeatMap) -> Self {
        let cells: Vec<u8> = map.ratios.iter().flat_map(|it| code(*it).to_le_bytes()).collect();
        let column = |it: &'a HeatMapColumn| it.name.as_str();
        let row =
            |it: &'a HeatMapRow| RowData { name: &it.name, class: &it.class, ratio: it.ratio };
        Self {
            row_noun: map.row_noun,
            column_noun: map.column_noun,
            order_name: map.order_name,
            columns: map.columns.iter().map(column).collect(),
            rows: map.rows.iter().map(row).collect(),
            log_step: LOG_STEP,
            one: ONE,
            cells: BASE64_STANDARD.encode(cells),
            not_judged: not_judged(map),
        }
    }
}

/// The runs of neighbours in a row that are not judged.
fn not_judged(map: &HeatMap) -> Vec<[usize; 3]> {
    let mut runs: Vec<[usize; 3]> = Vec::new();
    // Without a column there is no cell, and no length of a row to divide by.
    let width = map.columns.len().max(1);
    for at in (0..map.not_judged.len()).filter(|at| map.not_judged[*at]) {
        let (row, column) = (at / width, at % width);
        match runs.last_mut() {
            Some([last, first, count]) if *last == row && *first + *count == column => *count += 1,
            _ => runs.push([row, column, 1]),
        }
    }
    runs
}

/// The code of a ratio. The first and the last stand for all beyond them, by a factor of 13 million.
fn code(ratio: f32) -> u16 {
    let ratio = f64::from(ratio);
    match ratio.is_finite() && ratio > 0.0 {
        true => (ONE + ratio.ln() / LOG_STEP).round().clamp(1.0, f64::from(u16::MAX)) as u16,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_not_judged_are_one_run_and_none_leaves_its_row() {
        let column = |_| HeatMapColumn { name: String::new(), group: String::new() };
        let map = HeatMap {
            columns: (0..3).map(column).collect(),
            not_judged: vec![false, true, true, true, false, true],
            ..HeatMap::default()
        };
        assert_eq!(not_judged(&map), [[0, 1, 2], [1, 0, 1], [1, 2, 1]]);
        assert!(not_judged(&HeatMap::default()).is_empty());
    }

    #[test]
    fn codes_keep_ratios_to_a_twentieth_of_a_per_cent_and_have_one_for_what_is_not_measured() {
        for ratio in [1.0f32, 1.31, 0.5, 0.999, 1_000.0, 1e-6] {
            let read = ((f64::from(code(ratio)) - ONE) * LOG_STEP).exp();
            assert!((read / f64::from(ratio) - 1.0).abs() < 0.0003, "{ratio}: {read}");
        }
        assert_eq!([f32::NAN, 0.0, -1.0, f32::INFINITY].map(code), [0; 4]);
        assert_eq!([f32::MAX, f32::MIN_POSITIVE].map(code), [u16::MAX, 1]);
    }
}
