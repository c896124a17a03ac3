//! What changes the store. Each act is one committed transaction: all of it, or nothing.

use std::time::Duration;

use oscost_model::journal::{Entry, RunHeader};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::Store;
use super::body::EntryRow;
use super::error::{Cause, StoreError};
use super::figures::delete_unused_texts;
use super::file::LOCK_TIMEOUT;

impl Store {
    /// Begins a run: its journal then holds this one entry.
    pub fn begin(&mut self, started: &RunHeader) -> Result<(), StoreError> {
        begin(&mut self.conn, started)
            .map_err(|cause| self.error(format!("begin run {} in", started.id), cause))
    }

    /// Appends an entry to the journal of the run `id`. Once this has returned, no kill of any
    /// process takes it away.
    pub fn append(&mut self, id: &str, entry: &Entry) -> Result<(), StoreError> {
        append(&mut self.conn, id, entry)
            .map_err(|cause| self.error(format!("append to run {id} in"), cause))
    }

    /// Deletes a run and all that belongs to it, and gives its space back to the file system.
    pub fn delete(&mut self, id: &str) -> Result<(), StoreError> {
        delete(&mut self.conn, id)
            .map_err(|cause| self.error(format!("delete run {id} from"), cause))
    }
}

/// A transaction that holds the write lock from its start: one that first reads can find, when it
/// wants to write, that another process has written meanwhile, and then no waiting helps.
pub(super) fn transaction(conn: &mut Connection) -> Result<Transaction<'_>, Cause> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

fn begin(conn: &mut Connection, started: &RunHeader) -> Result<(), Cause> {
    let body = EntryRow::of(&Entry::Started(Box::new(started.clone())))?;
    let command = command_as_json(&started.command)?;
    let tx = transaction(conn)?;
    let new = tx
        .prepare_cached(
            "INSERT INTO run (id, started, complete, label, command, workers)
             VALUES (?1, ?2, FALSE, ?3, ?4, 0) ON CONFLICT (id) DO NOTHING RETURNING key",
        )?
        .query_row((&started.id, &started.started_at, &started.label, command), |row| row.get(0))
        .optional()?;
    insert(&tx, new.ok_or(Cause::Exists)?, &body)?;
    Ok(tx.commit()?)
}

fn append(conn: &mut Connection, id: &str, entry: &Entry) -> Result<(), Cause> {
    let body = EntryRow::of(entry)?;
    let tx = transaction(conn)?;
    let key: i64 = tx
        .prepare_cached("SELECT key FROM run WHERE id = ?1 AND record IS NULL")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .ok_or(Cause::NoRun)?;
    insert(&tx, key, &body)?;
    update_listing(&tx, key, entry)?;
    Ok(tx.commit()?)
}

fn insert(tx: &Transaction<'_>, run: i64, body: &EntryRow) -> Result<(), Cause> {
    tx.prepare_cached("INSERT INTO entry (run, body, samples) VALUES (?1, ?2, ?3)")?.execute((
        run,
        &body.json,
        &body.samples,
    ))?;
    Ok(())
}

/// Writes into the listing what follows for it from an entry.
fn update_listing(tx: &Transaction<'_>, run: i64, entry: &Entry) -> Result<(), Cause> {
    match entry {
        Entry::Planned { rows, .. } => {
            let asked = rows.iter().filter(|row| row.requested).count() as i64;
            tx.prepare_cached("UPDATE run SET rows_requested = ?2 WHERE key = ?1")?
                .execute((run, asked))?;
        }
        Entry::RowsAdded { rows } => {
            tx.prepare_cached(
                "UPDATE run SET rows_requested = rows_requested + ?2 WHERE key = ?1",
            )?
            .execute((run, rows.len() as i64))?;
        }
        Entry::Worker { .. } | Entry::Control { .. } => {
            tx.prepare_cached("UPDATE run SET workers = workers + 1 WHERE key = ?1")?
                .execute([run])?;
        }
        Entry::Ended { at, complete } => {
            tx.prepare_cached("UPDATE run SET ended = ?2, complete = ?3 WHERE key = ?1")?
                .execute((run, at, complete))?;
        }
        _ => {}
    }
    Ok(())
}

/// A command line as it stands in the listing.
pub(super) fn command_as_json(command: &[String]) -> Result<String, Cause> {
    serde_json::to_string(command).map_err(|error| Cause::Invalid(error.to_string()))
}

fn delete(conn: &mut Connection, id: &str) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    if tx.execute("DELETE FROM run WHERE id = ?1", [id])? == 0 {
        return Err(Cause::NoRun);
    }
    delete_unused_texts(&tx)?;
    tx.commit()?;
    // The run is gone. That its space cannot be given back now, since another process reads or the
    // disk is too full to move pages, is no error: the next run uses it, or gives it back too. So
    // nobody is waited for either.
    conn.busy_timeout(Duration::ZERO)?;
    let _ = run_pragma(conn, "incremental_vacuum")
        .and_then(|()| run_pragma(conn, "wal_checkpoint(TRUNCATE)"));
    Ok(conn.busy_timeout(LOCK_TIMEOUT)?)
}

/// The vacuum frees one page a step.
fn run_pragma(conn: &Connection, pragma: &str) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(&format!("PRAGMA {pragma}"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
