//! The columns as docs/reference/EXPORTS.md lists them.

use crate::report::view::export::sheet::{Column, Heading};
use crate::report::view::export::{bill_changes, bills, comparisons, fleet_cases, rows};

/// Each table's name and version, and its columns as a table of Markdown.
pub fn page() -> [(&'static str, String); 5] {
    let of_figures = |columns: &[Column]| table(columns.iter().map(Column::heading));
    [
        (rows::SCHEMA, of_figures(rows::COLUMNS)),
        (comparisons::SCHEMA, of_figures(comparisons::COLUMNS)),
        (bills::SCHEMA, table(bills::headings())),
        (bill_changes::SCHEMA, table(bill_changes::headings())),
        (fleet_cases::SCHEMA, table(fleet_cases::headings())),
    ]
}

fn table(headings: impl Iterator<Item = Heading>) -> String {
    let head = "| column | type | means | empty when |\n| --- | --- | --- | --- |\n".to_owned();
    let line = |heading: Heading| {
        let Heading { name, kind, means, unknown } = heading;
        format!("| `{name}` | {} | {means} | {} |\n", kind.text(), unknown.unwrap_or("never"))
    };
    headings.map(line).fold(head, |page, line| page + &line)
}
