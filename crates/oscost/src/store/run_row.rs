//! A run as a row of the listing, as it is inserted.

use rusqlite::{OptionalExtension, Transaction};

use super::entry_row::to_json;
use super::error::Cause;

/// A new row of the listing.
#[derive(Default)]
pub(super) struct RunRow<'a> {
    pub(super) id: &'a str,
    pub(super) started: &'a str,
    pub(super) ended: Option<&'a str>,
    pub(super) complete: bool,
    pub(super) label: Option<&'a str>,
    pub(super) command: &'a [String],
    pub(super) rows_requested: Option<i64>,
    pub(super) workers: i64,
    /// The record of an imported run, as JSON.
    pub(super) record: Option<String>,
}

impl RunRow<'_> {
    /// Inserts the row and returns its key.
    pub(super) fn insert(&self, tx: &Transaction<'_>) -> Result<i64, Cause> {
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
                &self.record,
            ),
            |row| row.get(0),
        )
        .optional()?
        .ok_or(Cause::Exists)
    }
}
