//! The records that come with oscost, each with its provenance.

use crate::report::text::{minute, plain, shell_command};
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// What a list without records says.
pub const NO_REFERENCES: &str = "no reference record comes with this oscost";

/// A record that comes with oscost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its name, without the `@`.
    pub name: String,
    /// The processor.
    pub processor: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    /// The version of oscost, and its commit.
    pub tool: String,
    /// The command line.
    pub command: Vec<String>,
}

/// The records, a row each; what measured them is below each on demand.
pub fn references(records: &[Reference], verbose: bool) -> Table {
    let known = |text: &Option<String>| Cell::text(plain(text.as_deref().unwrap_or("-")));
    let command =
        |it: &Reference| plain(&format!("oscost {}: {}", it.tool, shell_command(&it.command)));
    let row = |it: &Reference| TableRow {
        notes: verbose.then(|| command(it)).into_iter().collect(),
        ..TableRow::of(vec![
            Cell::text(plain(&format!("@{}", it.name))),
            Cell::text(minute(&it.started)),
            known(&it.kernel),
            known(&it.processor),
        ])
    };
    Table {
        columns: vec![
            Column::text("run"),
            Column::text("started"),
            Column::text("kernel"),
            Column::excerpt("machine"),
        ],
        rows: records.iter().map(row).collect(),
        ..Table::default()
    }
}

/// How to see what measured the records.
pub const COMMANDS: &str = "`oscost table --list --verbose` shows the command of each";
