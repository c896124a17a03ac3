//! Reads runs: lists them, loads one.

use oscost_model::journal::Entry;
use oscost_model::record::Record;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::de::DeserializeOwned;

use super::error::{Cause, StoreError};
use super::file::Store;
use super::listing::Listing;
use super::tables::entry_row::EntryRow;
use super::tables::packed_record::unpack;
use super::tables::run_row::HAS_RAW_BATCHES;

/// A stored run.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredRun {
    /// The journal of a run that was measured here: its record is computed from it.
    Journal(Vec<Entry>),
    /// The record of a run that was imported.
    Imported(Box<Record>),
}

impl Store {
    /// All runs, the newest first. Reads no journal and no record.
    pub fn list(&self) -> Result<Vec<Listing>, StoreError> {
        list(&self.conn).map_err(|cause| self.error("list the runs of".to_owned(), cause))
    }

    /// The run with exactly this id.
    pub fn load(&self, id: &str) -> Result<StoredRun, StoreError> {
        load(&self.conn, id).map_err(|cause| self.error(format!("read run {id} from"), cause))
    }
}

pub(super) fn list_sql() -> String {
    format!(
        "SELECT id, started, ended, complete, label, command, rows_requested, workers,
                record IS NOT NULL AS imported, {HAS_RAW_BATCHES} AS has_raw_batches
         FROM run ORDER BY started DESC, id DESC"
    )
}

fn list(conn: &Connection) -> Result<Vec<Listing>, Cause> {
    let mut statement = conn.prepare_cached(&list_sql())?;
    let mut rows = statement.query([])?;
    let mut listings = Vec::new();
    while let Some(row) = rows.next()? {
        listings.push(listing(row)?);
    }
    Ok(listings)
}

fn listing(row: &Row<'_>) -> Result<Listing, Cause> {
    let command: String = row.get("command")?;
    Ok(Listing {
        id: row.get("id")?,
        started: row.get("started")?,
        ended: row.get("ended")?,
        complete: row.get("complete")?,
        label: row.get("label")?,
        command: serde_json::from_str(&command).map_err(|error| damaged("its command", error))?,
        rows_requested: row.get::<_, Option<i64>>("rows_requested")?.map(i64::cast_unsigned),
        workers: row.get::<_, i64>("workers")?.cast_unsigned(),
        imported: row.get("imported")?,
        has_raw_batches: row.get("has_raw_batches")?,
    })
}

fn load(conn: &Connection, id: &str) -> Result<StoredRun, Cause> {
    // One transaction, so that another process cannot delete the run between the two queries.
    let tx = conn.unchecked_transaction()?;
    let (key, record) = tx
        .prepare_cached("SELECT key, record FROM run WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)))
        .optional()?
        .ok_or(Cause::NoRun)?;
    match record {
        Some(text) => Ok(StoredRun::Imported(Box::new(imported(&tx, key, &text)?))),
        None => Ok(StoredRun::Journal(journal(&tx, key)?)),
    }
}

/// An imported record, or those keys of it that `T` has. `text` is the record of an older import;
/// others are packed, and it is empty.
pub(super) fn imported<T: DeserializeOwned>(
    conn: &Connection,
    run: i64,
    text: &str,
) -> Result<T, Cause> {
    const WHAT: &str = "its record";
    if !text.is_empty() {
        return serde_json::from_str(text).map_err(|error| damaged(WHAT, error));
    }
    let packed: Option<Vec<u8>> = conn
        .prepare_cached("SELECT record FROM imported WHERE run = ?1")?
        .query_row([run], |row| row.get(0))
        .optional()?;
    let packed = packed.ok_or_else(|| damaged(WHAT, "it is missing"))?;
    unpack(&packed).map_err(|error| damaged(WHAT, error))
}

pub(super) fn journal(conn: &Connection, run: i64) -> Result<Vec<Entry>, Cause> {
    let mut statement =
        conn.prepare_cached("SELECT body, samples FROM entry WHERE run = ?1 ORDER BY key")?;
    let mut rows = statement.query([run])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let body = EntryRow { json: row.get(0)?, samples: row.get(1)? };
        let entry = body.into_entry();
        entries.push(entry.map_err(|error| damaged(&format!("entry {}", entries.len()), error))?);
    }
    Ok(entries)
}

pub(super) fn damaged(what: &str, error: impl std::fmt::Display) -> Cause {
    Cause::Damaged(format!("{what} cannot be read: {error}"))
}
