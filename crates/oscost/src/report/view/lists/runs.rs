//! The list of runs.

use crate::report::text::{minute, plain, shortest_unique};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// A run, as it is listed.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Whether it was measured to its end.
    pub complete: bool,
    /// The user's label.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
}

/// The runs: enough of the id to name each, when it was started, and its label or command.
pub fn view(lines: &[Line]) -> View {
    if lines.is_empty() {
        return View::sentence("no runs are kept");
    }
    let length = shortest_unique(&lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>());
    let row = |line: &Line| {
        let what = match &line.label {
            Some(label) => format!("{label:?}"),
            None => line.command.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
        };
        let cut_short = if line.complete { "" } else { "(cut short) " };
        TableRow::of(vec![
            Cell::text(line.id.get(..length).unwrap_or(&line.id)),
            Cell::text(minute(&line.started)),
            Cell::text(format!("{cut_short}{}", plain(&what))),
        ])
    };
    let table = Table {
        columns: vec![Column::text(""), Column::text(""), Column::excerpt("")],
        rows: lines.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str) -> Line {
        Line {
            id: id.to_owned(),
            started: "2026-11-21T08:00:00.000Z".to_owned(),
            complete: false,
            label: None,
            command: vec!["oscost".into(), "run".into(), "x".repeat(200)],
        }
    }

    #[test]
    fn ids_are_as_long_as_they_must_be_and_lines_fit() {
        let text =
            crate::report::terminal(&view(&[line("0197aaaa-1111-x"), line("0197aaaa-1122-x")]));
        assert!(text.starts_with("0197aaaa-112  ") || text.starts_with("0197aaaa-111  "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
