//! A table whose cells are sentences: a paragraph for each row.

use crate::report::text::fold;
use crate::report::view::document::{Cell, Column, Table};

use super::layout::WIDTH;

/// How far the cells of a row are indented below its name, and a sentence after its first line.
const STEP: usize = 2;

/// The rows, each with its cells below its name.
pub(super) fn records(table: &Table, indent: usize) -> String {
    let mut out = String::new();
    let mut indent = indent;
    if !table.caption.is_empty() {
        out += &format!("{}\n", fold(&table.caption, WIDTH - STEP, "  "));
        indent = STEP;
    }
    for row in &table.rows {
        let mut cells = table.columns.iter().zip(&row.cells);
        out += &cells.next().map_or_else(String::new, |(_, name)| line(&name.text, indent));
        cells.for_each(|(column, cell)| out += &field(column, cell, indent + STEP));
        row.notes.iter().for_each(|note| out += &line(note, indent + STEP));
    }
    table.notes.iter().for_each(|note| out += &line(note, indent));
    out
}

/// A cell with the title of its column; several sentences below that title.
fn field(column: &Column, cell: &Cell, indent: usize) -> String {
    let titled = !column.title.is_empty();
    match &cell.parts[..] {
        _ if cell.text.is_empty() => String::new(),
        [_, _, ..] => {
            let title =
                if titled { line(&format!("{}:", column.title), indent) } else { String::new() };
            let indent = if titled { indent + STEP } else { indent };
            cell.parts.iter().fold(title, |out, part| out + &line(part, indent))
        }
        _ if titled => line(&format!("{}: {}", column.title, cell.text), indent),
        _ => line(&cell.text, indent),
    }
}

fn line(text: &str, indent: usize) -> String {
    let hanging = " ".repeat(indent + STEP);
    format!("{:indent$}{}\n", "", fold(text, WIDTH - hanging.len(), &hanging))
}
