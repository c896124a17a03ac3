//! The columns as docs/reference/EXPORTS.md lists them.

use crate::report::view::export::sheet::Column;
use crate::report::view::export::{comparisons, rows};

/// Each table's name and version, and its columns as a table of Markdown.
pub fn page() -> [(&'static str, String); 2] {
    [(rows::SCHEMA, table(rows::COLUMNS)), (comparisons::SCHEMA, table(comparisons::COLUMNS))]
}

fn table(columns: &[Column]) -> String {
    let head = "| column | type | means | empty when |\n| --- | --- | --- | --- |\n".to_owned();
    let line = |column: &Column| {
        let Column { name, kind, means, unknown, .. } = column;
        format!("| `{name}` | {} | {means} | {} |\n", kind.text(), unknown.unwrap_or("never"))
    };
    columns.iter().map(line).fold(head, |page, line| page + &line)
}
