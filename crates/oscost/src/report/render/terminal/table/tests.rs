//! Tables on a plain screen.

use oscost_model::point::Point;

use super::table;
use crate::report::render::terminal::layout::ScreenFormat;
use crate::report::view::document::{CaseName, Cell, Column, Table, TableRow};

fn rows(names: &[&str], figure: &str) -> Vec<TableRow> {
    let cells = |name: &&str| vec![Cell::text(*name), Cell::text(figure), Cell::text("")];
    names.iter().map(|name| TableRow::of(cells(name))).collect()
}

fn of(names: Column, rows: Vec<TableRow>) -> Table {
    let columns = vec![names, Column::number("cost", "cost"), Column::text("empty")];
    Table { columns, rows, ..Table::default() }
}

#[test]
fn an_empty_column_is_left_out() {
    let text =
        table(&of(Column::text("case"), rows(&["one", "three"], "12 ns")), ScreenFormat::PLAIN);
    assert_eq!(text, "case    cost\none    12 ns\nthree  12 ns\n");
}

#[test]
fn a_name_that_does_not_fit_has_a_line_of_its_own() {
    let long = "x".repeat(78);
    let text =
        table(&of(Column::text("case"), rows(&[&long, "one"], "12 ns")), ScreenFormat::PLAIN);
    assert_eq!(text, format!("case   cost\n{long}\n      12 ns\none   12 ns\n"));
}

#[test]
fn columns_that_do_not_fit_side_by_side_follow_below() {
    let names = Column::number("fds", "fds");
    let mut wide = of(names, rows(&["1", "10"], &"9".repeat(60)));
    wide.columns[2] = Column::number("more", "more");
    wide.rows.iter_mut().for_each(|row| row.cells[2].text = "8".repeat(60));
    let text = table(&wide, ScreenFormat::PLAIN);
    assert!(text.lines().all(|line| line.len() <= ScreenFormat::PLAIN.columns), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  10")).count(), 2, "{text}");
}

/// In time that is quadratic in the rows, this takes minutes.
#[test]
fn many_rows_of_one_benchmark_are_named_by_the_axis_in_which_they_differ() {
    const ROWS: u64 = 20_000;
    let row = |size: u64| {
        let point = Point::none().with("way", "raw").with("size", size);
        let case = CaseName { benchmark: "pipe/copy".to_owned(), point };
        let name = Cell { case: Some(case), ..Cell::text(format!("pipe/copy:size={size}")) };
        TableRow::of(vec![name, Cell::text("12 ns"), Cell::text("")])
    };
    let text = table(&of(Column::text("case"), (1..=ROWS).map(row).collect()), ScreenFormat::PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len() as u64, 3 + ROWS, "the titles of columns, family and benchmark");
    assert_eq!(lines[1..4], ["pipe", " copy:way=raw", "  size=1      12 ns"]);
    assert_eq!(lines[lines.len() - 1], "  size=20000  12 ns");
}
