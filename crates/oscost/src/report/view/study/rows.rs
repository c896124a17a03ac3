//! The rows of a table of a study of one target: what was published, and what was measured.

use crate::report::figures::{DIGITS, MIN_DIGITS, at_least, decimals_for, times};
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::studies::comparison::single_target::{ColumnResult, SingleTargetRow, SingleTargetTable};
use crate::studies::{IntervalEstimate, PublishedFigure};

/// A figure with its interval, in two lengths.
#[derive(Clone)]
pub(in crate::report::view) struct EstimateText {
    /// With the ends of the interval.
    pub(in crate::report::view) full: String,
    /// With half of the interval.
    pub(in crate::report::view) short: String,
}

/// A figure of oscost's own.
pub(super) fn estimate_text(estimate: IntervalEstimate) -> EstimateText {
    let digits = decimals_for(estimate.value, DIGITS);
    let figure = at_least(estimate.value, digits);
    let Some(interval) = estimate.interval else {
        return EstimateText { full: figure.clone(), short: figure };
    };
    let (low, high) = (at_least(interval.lo, digits), at_least(interval.hi, digits));
    let half = (interval.hi - interval.lo) / 2.0;
    let size = estimate.value.abs();
    // A figure that cannot be distinguished from zero has no size to relate its interval to.
    let half = match size > half {
        true => format!("{:.1}%", 100.0 * half / size),
        false => at_least(half, decimals_for(half, MIN_DIGITS)),
    };
    EstimateText {
        full: format!("{figure} [{low} .. {high}]"),
        short: format!("{figure} +-{half}"),
    }
}

/// The texts of a column of a row; `-` for an unknown value.
pub(in crate::report::view) struct ColumnText {
    /// The column's name and unit, where the table does not say them.
    pub(in crate::report::view) column: String,
    /// What was published.
    pub(in crate::report::view) then: String,
    /// What was measured, by the study's statistic.
    pub(in crate::report::view) here: String,
    /// The same by oscost's own estimate.
    pub(in crate::report::view) estimate: EstimateText,
    /// How many times as much it was then.
    pub(in crate::report::view) ratio: String,
    /// The same in cycles of both cores, each at its frequency.
    pub(in crate::report::view) ratio_in_cycles: String,
    /// What the processor counted.
    counted_cycles: String,
    /// How many times as many cycles it was then.
    ratio_in_counted_cycles: String,
}

impl ColumnText {
    /// The texts of a column of a row.
    pub(in crate::report::view) fn of(
        cell: &ColumnResult<'_>,
        table: &SingleTargetTable<'_>,
    ) -> Self {
        let dash = || "-".to_owned();
        let unit = cell.figure.unit.text();
        let column = match table.table.figures.len() > 1 {
            true => format!("{}, {unit}", cell.figure.name),
            false if cell.figure.unit != table.table.unit => unit.to_owned(),
            false => String::new(),
        };
        let printed = cell.published.or_else(|| first_published(cell, table));
        let here = cell.by_study_statistic.map(|here| {
            let default = decimals_for(here.value, DIGITS);
            let decimals = printed.map_or(default, |it| it.decimals);
            let figure = at_least(here.value, decimals);
            let of_deviation = printed.and_then(|it| it.deviation_decimals).unwrap_or(decimals);
            match here.deviation {
                Some(deviation) => format!("{figure} ({})", at_least(deviation, of_deviation)),
                None => figure,
            }
        });
        let ratio = |of: Option<[f64; 2]>| match of {
            Some([min, max]) if min == max => times(min),
            Some([min, max]) => format!("{}..{}", times(min), times(max)),
            None => dash(),
        };
        Self {
            column: plain(&column),
            then: cell.published.map_or_else(dash, |it| plain(&it.text)),
            here: here.unwrap_or_else(dash),
            estimate: cell
                .estimate
                .map_or_else(|| EstimateText { full: dash(), short: dash() }, estimate_text),
            ratio: ratio(cell.published_ratio),
            ratio_in_cycles: ratio(cell.published_ratio_in_cycles),
            counted_cycles: cell.counted_cycles.map_or_else(dash, cycles_text),
            ratio_in_counted_cycles: ratio(cell.published_ratio_in_counted_cycles),
        }
    }
}

/// A number of cycles.
fn cycles_text(cycles: f64) -> String {
    at_least(cycles, decimals_for(cycles, DIGITS))
}

/// The first figure that was published in the column of a cell.
fn first_published<'a>(
    cell: &ColumnResult<'_>,
    table: &SingleTargetTable<'a>,
) -> Option<&'a PublishedFigure> {
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let mut same = cells.filter(|it| it.figure == cell.figure);
    same.find_map(|it| it.published)
}

/// Those of a table's rows that `is_shown` chooses by their indices; `None` where they have no
/// figures.
pub(in crate::report::view) fn table_of_rows(
    table: &SingleTargetTable<'_>,
    is_shown: impl Fn(usize) -> bool,
) -> Option<Table> {
    let rows = table.rows.iter().enumerate().filter(|(at, _)| is_shown(*at));
    let shown: Vec<&SingleTargetRow<'_>> = rows.map(|(_, row)| row).collect();
    if !shown.iter().any(|row| has_figure(row)) {
        return None;
    }
    let here = if repeats_estimates(&shown) { HereColumn::Omitted } else { HereColumn::Own };
    let rows: Vec<TableRow> = shown.iter().flat_map(|row| lines(row, table, here)).collect();
    let columns = vec![
        Column::text("row"),
        Column::text("in"),
        Column::number("then", "then"),
        Column::number("here", "here"),
        Column::number("oscost's median", "median"),
        Column::number("then/here", "then_over_here"),
        Column::number("then/here\nin cycles", "then_over_here_in_cycles"),
        Column { optional: true, ..Column::number("counted cycles", "counted_cycles") },
        Column { optional: true, ..Column::number("then/counted", "then_over_counted_cycles") },
    ];
    let table = Table { columns, rows, rows_share_names: true, ..Table::default() };
    Some(table.without_empty_columns())
}

/// Whether a row has a figure that was published or measured.
pub(super) fn has_figure(row: &SingleTargetRow<'_>) -> bool {
    let has = |cell: &ColumnResult<'_>| {
        let measured = cell.by_study_statistic.is_some() || cell.estimate.is_some();
        cell.published.is_some() || measured
    };
    row.cells.iter().any(has)
}

/// Where the figure of this machine by the study's statistic is.
#[derive(Clone, Copy)]
enum HereColumn {
    /// In a column of its own.
    Own,
    /// It is oscost's own estimate in all rows, which has its interval beside it.
    Omitted,
}

/// Two computations of one figure differ by less than this, as a share.
const ROUNDING: f64 = 1e-9;

/// Whether the figures by the study's statistic are oscost's own estimates in all rows.
fn repeats_estimates(rows: &[&SingleTargetRow<'_>]) -> bool {
    let is_same = |cell: &ColumnResult<'_>| match (cell.by_study_statistic, cell.estimate) {
        (Some(here), Some(estimate)) => {
            here.deviation.is_none()
                && (here.value - estimate.value).abs() <= ROUNDING * estimate.value.abs()
        }
        (here, _) => here.is_none(),
    };
    rows.iter().flat_map(|row| &row.cells).all(is_same)
}

/// The columns of a row, each in a line.
fn lines(
    row: &SingleTargetRow<'_>,
    table: &SingleTargetTable<'_>,
    shown: HereColumn,
) -> Vec<TableRow> {
    // What cannot be measured has only what was published.
    let is_measured = row.row.case().is_some();
    let cells = row.cells.iter().filter(|cell| is_measured || cell.published.is_some());
    let line = |cell: &ColumnResult<'_>| {
        let text = ColumnText::of(cell, table);
        let middle = |of: Option<[f64; 2]>| of.map(|[low, high]| f64::midpoint(low, high));
        let here = match shown {
            HereColumn::Own => {
                Cell::number(text.here, cell.by_study_statistic.map(|here| here.value))
            }
            HereColumn::Omitted => Cell::number("-", None),
        };
        TableRow::of(vec![
            Cell::text(plain(&row.row.name)),
            Cell::text(text.column),
            Cell::number(text.then, cell.published.and_then(PublishedFigure::single)),
            here,
            Cell::number(text.estimate.full, cell.estimate.map(|it| it.value))
                .or_short(text.estimate.short),
            Cell::number(text.ratio, middle(cell.published_ratio)),
            Cell::number(text.ratio_in_cycles, middle(cell.published_ratio_in_cycles)),
            Cell::number(text.counted_cycles, cell.counted_cycles),
            Cell::number(
                text.ratio_in_counted_cycles,
                middle(cell.published_ratio_in_counted_cycles),
            ),
        ])
    };
    cells.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::comparison::single_target::StudyStatistic;
    use crate::studies::find_built_in;

    #[test]
    fn a_figure_that_is_oscost_s_own_estimate_is_shown_once() {
        let study = find_built_in("cse221-2014").unwrap();
        let table = study.tables.first().unwrap();
        let row = table.rows.iter().find(|row| row.case().is_some()).unwrap();
        let titles = |here: Option<f64>, estimate: Option<f64>| {
            let statistic = |value| StudyStatistic { value, deviation: None, by: None };
            let cell = ColumnResult {
                figure: table.figures[0].clone(),
                published: None,
                by_study_statistic: here.map(statistic),
                estimate: estimate.map(|value| IntervalEstimate { value, interval: None }),
                published_ratio: None,
                published_ratio_in_cycles: None,
                counted_cycles: None,
                published_ratio_in_counted_cycles: None,
            };
            let cells = vec![cell];
            let row = SingleTargetRow { row, measured: None, cells, expected: None, notes: vec![] };
            let joined = SingleTargetTable { table, rows: vec![row] };
            let shown = table_of_rows(&joined, |_| true)?;
            Some(shown.columns.into_iter().map(|it| it.title).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(titles(None, None), None, "a table without any figure is none");
        let once = titles(Some(5.0), Some(5.0)).unwrap();
        assert!(once.ends_with("oscost's median") && !once.contains("here"), "{once}");
        let both = titles(Some(5.0), Some(6.0)).unwrap();
        assert!(both.ends_with("here, oscost's median"), "{both}");
        assert!(titles(Some(5.0), None).unwrap().ends_with("here"), "a count has no estimate");
    }
}
