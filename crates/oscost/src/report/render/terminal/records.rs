//! A table whose cells are sentences: a paragraph for each row.

use crate::report::text::fold;
use crate::report::view::document::{Cell, Column, Table};

use super::layout::ScreenFormat;
use super::paint::Paint;

/// How far the cells of a row are indented below its name, and a sentence after its first line.
const STEP: usize = 2;

/// The rows, each with its cells below its name.
pub(super) fn records(table: &Table, indent: usize, screen: ScreenFormat) -> String {
    let columns = screen.prose();
    let mut out = String::new();
    let mut indent = indent;
    if !table.caption.is_empty() {
        out += &format!("{}\n", fold(&table.caption, columns - STEP, "  "));
        indent = STEP;
    }
    for row in &table.rows {
        let mut cells = table.columns.iter().zip(&row.cells);
        out +=
            &cells.next().map_or_else(String::new, |(_, name)| line(&name.text, indent, columns));
        for (column, cell) in cells {
            let lines = field(column, cell, indent + STEP, columns);
            out += &Paint::Word(cell.style).lines(&lines, screen.colour);
        }
        row.notes.iter().for_each(|note| out += &line(note, indent + STEP, columns));
    }
    table.notes.iter().for_each(|note| out += &line(note, indent, columns));
    out
}

/// A cell with the title of its column; several sentences below that title.
fn field(column: &Column, cell: &Cell, indent: usize, columns: usize) -> String {
    let titled = !column.title.is_empty();
    match &cell.parts[..] {
        _ if cell.text.is_empty() => String::new(),
        [_, _, ..] => {
            let title = match titled {
                true => line(&format!("{}:", column.title), indent, columns),
                false => String::new(),
            };
            let indent = if titled { indent + STEP } else { indent };
            cell.parts.iter().fold(title, |out, part| out + &line(part, indent, columns))
        }
        _ if titled => {
            let title = column.title.replace('\n', " ");
            line(&format!("{title}: {}", cell.text), indent, columns)
        }
        _ => line(&cell.text, indent, columns),
    }
}

fn line(text: &str, indent: usize, columns: usize) -> String {
    let hanging = " ".repeat(indent + STEP);
    format!("{:indent$}{}\n", "", fold(text, columns - hanging.len(), &hanging))
}
