//! A run as a row of the listing, as it is inserted.

use rusqlite::{OptionalExtension, Transaction};

use crate::store::error::Cause;
use crate::store::tables::json::to_json;

/// Whether a row of `run` was measured here and has its raw batches: more entries than its start
/// and the record that stands for the others.
pub(in crate::store) const HAS_RAW_BATCHES: &str = "(record IS NULL AND
    EXISTS (SELECT 1 FROM entry WHERE entry.run = run.key LIMIT 1 OFFSET 2))";

/// A new row of the listing.
#[derive(Default)]
pub(in crate::store) struct RunRow<'a> {
    pub(in crate::store) id: &'a str,
    pub(in crate::store) started: &'a str,
    pub(in crate::store) ended: Option<&'a str>,
    pub(in crate::store) complete: bool,
    pub(in crate::store) label: Option<&'a str>,
    pub(in crate::store) command: &'a [String],
    pub(in crate::store) rows_requested: Option<i64>,
    pub(in crate::store) workers: i64,
    /// Empty for an imported run, whose record is in a table of its own.
    pub(in crate::store) record: Option<&'static str>,
}

impl RunRow<'_> {
    /// Inserts the row and returns its key.
    pub(in crate::store) fn insert(&self, tx: &Transaction<'_>) -> Result<i64, Cause> {
        tx.prepare_cached(
            "INSERT INTO run (id, started, ended, complete, label, command, rows_requested,
                              workers, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO NOTHING RETURNING key",
        )?
        .query_row(
            (
                self.id,
                self.started,
                self.ended,
                self.complete,
                self.label,
                to_json(self.command)?,
                self.rows_requested,
                self.workers,
                self.record,
            ),
            |row| row.get(0),
        )
        .optional()?
        .ok_or(Cause::Exists)
    }
}
