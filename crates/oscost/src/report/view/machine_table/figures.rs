//! Every figure of a table of machines in a line of its own, for other programs.

use oscost_model::record::Ratio;

use super::content::TableContent;
use crate::estimate::machine_table::{CaseLine, CountedModes, TableCell, TableColumn, TableFigure};
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// A line for each case and column.
pub fn figures(content: &TableContent<'_>) -> Table {
    let lines = content.table.lines.iter();
    let rows = lines.flat_map(|line| {
        let columns = content.table.columns.iter().zip(&line.cells);
        columns.map(move |(column, cell)| TableRow::of(cells(content, line, column, cell)))
    });
    Table {
        id: "figures".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::text("family"),
            Column { name: "treatments".to_owned(), ..Column::text("treatment") },
            Column::text("machine"),
            Column::number("machines", "machines"),
            Column::number("runs", "runs"),
            Column::text("unit"),
            Column::number("median", "median"),
            Column::number("95 % low", "ci95_low"),
            Column::number("95 % high", "ci95_high"),
            Column::text("interval"),
            Column::number("lowest", "lowest"),
            Column::number("highest", "highest"),
            Column::number("ratio", "ratio"),
            Column::number("95 % low", "ratio_ci95_low"),
            Column::number("95 % high", "ratio_ci95_high"),
            Column::text("why"),
            Column::text("counted_metric"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn cells(
    content: &TableContent<'_>,
    line: &CaseLine,
    column: &TableColumn,
    cell: &TableCell,
) -> Vec<Cell> {
    let figure = cell.figure();
    let of = |read: fn(&TableFigure) -> Option<f64>| number(figure.and_then(read));
    let of_ratio = |read: fn(&Ratio) -> Option<f64>| {
        number(figure.and_then(|it| it.ratio.as_ref()).and_then(read))
    };
    let interval = match figure {
        Some(TableFigure { is_exact: true, .. }) => "exact",
        Some(TableFigure { interval: Some(_), is_between_runs: true, .. }) => "between-runs",
        Some(TableFigure { interval: Some(_), .. }) => "within-run",
        _ => "",
    };
    let why = match cell {
        TableCell::Missing(why) => plain(why),
        TableCell::Figure(_) => String::new(),
    };
    vec![
        Cell::text(plain(&line.case)),
        Cell::text(plain(line.family())),
        Cell::text(plain(&line.treatments.join("+"))),
        Cell::text(content.machine_names(column)),
        number(Some(figure.map_or(0.0, |it| f64::from(it.machines)))),
        of(|it| Some(f64::from(it.runs))),
        Cell::text(line.unit.map_or("call/op", |unit| unit.text())),
        of(|it| Some(it.value)),
        of(|it| Some(it.interval?[0])),
        of(|it| Some(it.interval?[1])),
        Cell::text(interval),
        of(|it| Some(it.spread?[0])),
        of(|it| Some(it.spread?[1])),
        of_ratio(|it| Some(it.value)),
        of_ratio(|it| Some(it.ci95?[0])),
        of_ratio(|it| Some(it.ci95?[1])),
        Cell::text(why),
        Cell::text(line.counted.map_or("", CountedModes::metric)),
    ]
}

/// A number to its last digit; an unknown one is empty.
fn number(value: Option<f64>) -> Cell {
    Cell::number(value.map_or_else(String::new, |value| value.to_string()), value)
}
