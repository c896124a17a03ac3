//! The figures of several systems in a table of a study, as published.

use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Table, TableRow};
use crate::studies::{Study, Table as StudyTable};

/// The width that the figures of one table may take together; more are in further tables.
const MAX_WIDTH: usize = 60;

/// The systems, each with what it is.
pub(super) fn list(study: &Study) -> Option<Block> {
    Block::list(study.systems.list.iter().map(|it| {
        let year = it.year.map(|year| format!(" ({year})")).unwrap_or_default();
        plain(&format!("{}{year}: {}", it.name, it.description))
    }))
}

/// Tables as in the paper: systems in lines, or, where there are fewer of them than rows, in columns.
pub(super) fn blocks(study: &Study, table: &StudyTable) -> Vec<Block> {
    let Some(systems) = &table.systems else { return Vec::new() };
    let name = |at: &usize| study.systems.list.get(*at).map_or("", |it| it.name.as_str());
    let names: Vec<&str> = systems.order.iter().map(name).collect();
    let rows: Vec<_> = table.rows.iter().filter(|row| !row.by_system.is_empty()).collect();
    let text = |row: usize, system: usize| {
        let figure = rows[row].by_system.get(system).and_then(Option::as_ref);
        figure.map_or_else(|| "-".to_owned(), |it| plain(&it.text))
    };
    let of_rows: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let is_turned = rows.len() > names.len();
    let (heads, lines) = if is_turned { (&names, &of_rows) } else { (&of_rows, &names) };
    let cell = |line, column| if is_turned { text(line, column) } else { text(column, line) };
    let reference = study.systems.reference().map_or("", |it| it.name.as_str());
    let beside = match row_has_published(table) {
        true => format!("; beside a run stand the figures of {reference}"),
        false => String::new(),
    };
    let caption = plain(&format!("as published, in {}{beside}", systems.unit.plural()));
    let width = |column: usize| {
        let figures = (0..lines.len()).map(|line| cell(line, column).len());
        2 + figures.max().unwrap_or(0).max(heads[column].len())
    };
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut taken = MAX_WIDTH + 1;
    for column in 0..heads.len() {
        taken += width(column);
        match parts.last_mut().filter(|_| taken <= MAX_WIDTH) {
            Some(part) => part.push(column),
            None => {
                parts.push(vec![column]);
                taken = width(column);
            }
        }
    }
    let part = |(number, part): (usize, &Vec<usize>)| {
        let line = |(at, name): (usize, &&str)| {
            let cells = part.iter().map(|column| Cell::number(cell(at, *column), None));
            TableRow::of([Cell::text(plain(name))].into_iter().chain(cells).collect())
        };
        let first = Column::text(if is_turned { "row" } else { "system" });
        let columns =
            part.iter().map(|column| Column::number(&plain(heads[*column]), heads[*column]));
        Block::Table(Table {
            caption: if number == 0 { caption.clone() } else { String::new() },
            columns: [first].into_iter().chain(columns).collect(),
            rows: lines.iter().enumerate().map(line).collect(),
            ..Table::default()
        })
    };
    parts.iter().enumerate().map(part).collect()
}

fn row_has_published(table: &StudyTable) -> bool {
    table.rows.iter().any(|row| row.published.iter().any(Option::is_some))
}
