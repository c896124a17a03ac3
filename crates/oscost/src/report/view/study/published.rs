//! A study as published: its tables, conditions and claims, and its programs.

use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::{
    Block, Cell, Column, Layout, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::study::heading::heading_lines;
use crate::report::view::study::method::method_text;
use crate::report::view::study::systems;
use crate::studies::{Study, Subject, Table as StudyTable, TableRow as StudyRow};

/// Rows of sentences; the first names what they are about.
pub(super) fn records(caption: String, rows: Vec<TableRow>, notes: Vec<String>) -> Block {
    let columns = ["", "", ""].map(Column::text).into_iter().collect();
    let layout = Layout::Records;
    Block::Table(Table { caption, columns, rows, notes, layout, ..Table::default() })
}

/// The command that measures it again; `name` is its name or its file.
pub(super) fn command(study: &Study, name: &str) -> String {
    let verb = if study.columns.is_some() { "ab" } else { "run" };
    format!("oscost {verb} --study {name}")
}

/// The text of a program that a study measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyCode {
    /// The command that compiled it.
    pub command: String,
    /// The text.
    pub text: String,
}

/// A study as published: its tables, conditions and claims, then the programs of its rows. `name` is
/// its name or its file.
pub fn page(study: &Study, name: &str, code: &[StudyCode]) -> View {
    let mut heading = heading_lines(study, None);
    heading.push(plain(&format!("again: {}", command(study, name))));
    let section = |title: &str, list: Option<Block>| {
        Some(Section { title: title.to_owned(), blocks: vec![list?], ..Section::default() })
    };
    let conditions = Block::list(study.conditions.iter().map(|it| {
        let how = it.how.as_ref().map(|how| format!(" (kept in every run: {how})"));
        plain(&format!("{}{}", it.text, how.unwrap_or_default()))
    }));
    let machine = Block::list(study.machine.iter().map(|it| {
        let note = it.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        plain(&format!("{}: {}{note}", it.name, it.published))
    }));
    let claims = Block::list(study.claims.iter().map(|it| {
        let printed = it.published.as_ref().map(|printed| format!(": printed: {}", printed.text));
        let printed = printed.unwrap_or_default();
        let note = it.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
        plain_paragraph(&format!("\"{}\" ({}){printed}{note}", it.statement, it.location))
    }));
    let tables = study.tables.iter().map(|table| Section {
        blocks: [table_as_published(study, table)]
            .into_iter()
            .chain(systems::blocks(study, table))
            .collect(),
        ..Section::default()
    });
    let code = code.iter().map(|it| Section {
        title: format!("Program of the study, by {}", it.command),
        blocks: vec![Block::Preformatted(it.text.clone())],
        ..Section::default()
    });
    let others = [
        section("Systems of the study", systems::list(study)),
        section("The study's machine", machine),
        section("Configuration of the study's machine", conditions),
        section("Claims of the study", claims),
    ];
    View {
        title: plain(&study.id),
        lead: heading.into_iter().map(Paragraph::from).collect(),
        sections: tables.chain(others.into_iter().flatten()).chain(code).collect(),
        ..View::default()
    }
}

/// A table: each row with what was published, its case and its method. A note that an earlier table has
/// is not repeated.
fn table_as_published(study: &Study, table: &StudyTable) -> Block {
    let columns: Vec<&str> = match &study.columns {
        Some(columns) => columns.iter().map(|column| column.name.as_str()).collect(),
        None => table.figures.iter().map(|figure| figure.name.as_str()).collect(),
    };
    let in_series = |at: usize| table.series.iter().any(|series| series.rows().contains(&at));
    let single = table.rows.iter().enumerate().filter(|(at, _)| !in_series(*at));
    let mut rows: Vec<TableRow> = single.map(|(_, row)| row_as_published(row, &columns)).collect();
    rows.extend(table.series.iter().map(|series| {
        let values: Vec<String> = series.values.iter().map(u64::to_string).collect();
        let first = table.rows[series.rows()].first();
        let case = first.and_then(StudyRow::case).unwrap_or_default();
        let given = series.given.as_deref().unwrap_or("not given");
        let text = format!("{} = {}; {case}", series.axis, values.join(" "));
        let head = format!("{}: {given}", series.name);
        TableRow::of(vec![Cell::text(plain(&head)), Cell::text(plain(&text))])
    }));
    let of_rows = table
        .rows
        .iter()
        .flat_map(|row| row.notes.iter().map(|note| format!("{}: {}", row.name, note.text)));
    let earlier = || study.tables.iter().take_while(|it| !std::ptr::eq(*it, table));
    let is_told = |text: &str| earlier().any(|it| it.notes.iter().any(|note| note.text == text));
    let of_table = table.notes.iter().filter(|note| !is_told(&note.text));
    let notes = of_table.map(|note| note.text.clone()).chain(of_rows);
    let notes = notes.map(|note| plain(&format!("note: {note}"))).collect();
    let title = format!("{}: {}. Unit: {}.", table.name, table.title, table.unit.plural());
    records(plain(&title), rows, notes)
}

fn row_as_published(row: &StudyRow, columns: &[&str]) -> TableRow {
    let figures = row.published.iter().zip(columns).map(|(figure, column)| {
        let text = figure.as_ref().map_or("-", |figure| figure.text.as_str());
        if column.is_empty() { text.to_owned() } else { format!("{column} {text}") }
    });
    let subject = match &row.subject {
        Subject::Case(case) => case.clone(),
        Subject::Unmeasurable(why) => format!("not measured: {why}"),
    };
    let peer = if row.peer { ", its other end on another machine" } else { "" };
    let metric = row.metric.as_ref().map(|metric| format!(", {metric}")).unwrap_or_default();
    let method = match (&row.subject, &row.study_method) {
        (Subject::Case(_), Some(method)) => format!("; {}", method_text(Some(method))),
        _ => String::new(),
    };
    let head = format!("{}: {}", row.name, figures.collect::<Vec<_>>().join("; "));
    let text = format!("{subject}{metric}{peer}{method}");
    TableRow::of(vec![Cell::text(plain(&head)), Cell::text(plain(&text))])
}

#[cfg(test)]
mod tests;
