//! Writes runs. Each operation is one committed transaction: either all of it is stored, or
//! nothing.

use std::time::Duration;

use oscost_model::journal::{Entry, RunHeader};
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::error::{Cause, StoreError};
use super::file::{Store, transaction};
use super::limits::LOCK_TIMEOUT;
use super::read::{StoredRun, journal};
use super::tables::bill_row::delete_bill;
use super::tables::entry_row::EntryRow;
use super::tables::run_row::RunRow;
use super::tables::schema::has_imported;
use super::tables::texts::delete_unused_texts;

impl Store {
    /// Begins a run, whose journal then consists of this entry.
    pub fn begin(&mut self, started: &RunHeader) -> Result<(), StoreError> {
        begin(&mut self.conn, started)
            .and_then(|()| self.place())
            .map_err(|cause| self.error(format!("begin run {} in", started.id), cause))
    }

    /// Appends an entry to the journal of the run `id`. After this has returned, the entry survives
    /// the death of any process. If the file was deleted meanwhile ([`Cause::Gone`]), the run can
    /// be moved to a new one ([`Store::move_to_new_file`]).
    pub fn append(&mut self, id: &str, entry: &Entry) -> Result<(), StoreError> {
        append(&mut self.conn, id, entry)
            .and_then(|()| self.place())
            .map_err(|cause| self.error(format!("append to run {id} in"), cause))
    }

    /// Moves a run from a file that was deleted or replaced, but is still open, to the file that is
    /// at its path now, or to a new one. Other runs are not moved: they were deleted. A file that
    /// is an earlier copy of the store has the beginning of the run, which is continued.
    pub fn move_to_new_file(&mut self, id: &str) -> Result<(), StoreError> {
        let entries = match self.load(id)? {
            StoredRun::Journal(entries) => entries,
            StoredRun::Imported(_) => {
                return Err(self.error(format!("move run {id} to"), Cause::NoRun));
            }
        };
        let mut new = self.open_anew()?;
        insert_journal(&mut new.conn, &entries)
            .and_then(|()| new.place())
            .map_err(|cause| new.error(format!("move run {id} to"), cause))?;
        *self = new;
        Ok(())
    }

    /// Deletes a run with everything that belongs to it, or a bill, and returns its space to the
    /// file system.
    pub fn delete(&mut self, id: &str) -> Result<(), StoreError> {
        let deleted = match delete(&mut self.conn, id) {
            // A deletion, too, is first written to the log.
            Err(cause) if cause.is_lack_of_space() => {
                self.reopen_in_place().and_then(|()| delete(&mut self.conn, id))
            }
            deleted => deleted,
        };
        deleted.map_err(|cause| self.error(format!("delete {id} from"), cause))
    }

    /// Deletes all visits of a fleet, or none of them; returns how many there were.
    pub fn delete_fleet(&mut self, fleet: &str) -> Result<usize, StoreError> {
        let deleted = match delete_fleet(&mut self.conn, fleet) {
            Err(cause) if cause.is_lack_of_space() => {
                self.reopen_in_place().and_then(|()| delete_fleet(&mut self.conn, fleet))
            }
            deleted => deleted,
        };
        deleted.map_err(|cause| self.error(format!("delete fleet {fleet} from"), cause))
    }
}

fn begin(conn: &mut Connection, started: &RunHeader) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    insert_start(&tx, started)?;
    Ok(tx.commit()?)
}

/// Inserts a run with its first entry; returns its key.
fn insert_start(tx: &Transaction<'_>, started: &RunHeader) -> Result<i64, Cause> {
    let body = EntryRow::of(&Entry::Started(Box::new(started.clone())))?;
    let row = RunRow {
        id: &started.id,
        started: &started.started_at,
        label: started.label.as_deref(),
        command: &started.command,
        ..RunRow::default()
    };
    let run = row.insert(tx)?;
    insert(tx, run, &body)?;
    Ok(run)
}

/// Inserts a whole run, which begins with its start, or what is missing of it: another run of its
/// id stays as it is.
fn insert_journal(conn: &mut Connection, entries: &[Entry]) -> Result<(), Cause> {
    let [Entry::Started(started), rest @ ..] = entries else {
        return Err(Cause::Damaged("the run has no start".to_owned()));
    };
    let tx = transaction(conn)?;
    let found = tx
        .prepare_cached("SELECT key, record IS NULL FROM run WHERE id = ?1")?
        .query_row([&started.id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (run, missing) = match found {
        None => (insert_start(&tx, started)?, rest),
        Some((run, true)) => {
            let beginning = journal(&tx, run)?;
            (run, entries.strip_prefix(&beginning[..]).ok_or(Cause::Exists)?)
        }
        Some((_, false)) => return Err(Cause::Exists),
    };
    for entry in missing {
        insert(&tx, run, &EntryRow::of(entry)?)?;
        update_listing(&tx, run, entry)?;
    }
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

pub(super) fn insert(tx: &Transaction<'_>, run: i64, body: &EntryRow) -> Result<(), Cause> {
    tx.prepare_cached("INSERT INTO entry (run, body, samples) VALUES (?1, ?2, ?3)")?.execute((
        run,
        &body.json,
        &body.samples,
    ))?;
    Ok(())
}

/// Updates the listing for a new entry.
fn update_listing(tx: &Transaction<'_>, run: i64, entry: &Entry) -> Result<(), Cause> {
    match entry {
        Entry::Planned { rows, .. } => {
            let requested = rows.iter().filter(|row| row.requested).count() as i64;
            tx.prepare_cached("UPDATE run SET rows_requested = ?2 WHERE key = ?1")?
                .execute((run, requested))?;
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

fn delete(conn: &mut Connection, id: &str) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    if tx.execute("DELETE FROM run WHERE id = ?1", [id])? > 0 {
        delete_unused_texts(&tx)?;
    } else if !delete_bill(&tx, id)? {
        return Err(Cause::NoRun);
    }
    tx.commit()?;
    return_space(conn)
}

fn delete_fleet(conn: &mut Connection, fleet: &str) -> Result<usize, Cause> {
    let tx = transaction(conn)?;
    if !has_imported(&tx)? {
        return Ok(0);
    }
    let sql = "DELETE FROM run WHERE key IN (SELECT run FROM imported WHERE fleet = ?1)";
    let deleted = tx.execute(sql, [fleet])?;
    delete_unused_texts(&tx)?;
    tx.commit()?;
    return_space(conn)?;
    Ok(deleted)
}

/// Returns free space to the file system. It is not an error if that cannot be done now, because
/// another process is reading or the disk is too full to move pages: the next run uses the space,
/// or the next deletion returns it. So this does not wait for a lock either.
pub(super) fn return_space(conn: &Connection) -> Result<(), Cause> {
    conn.busy_timeout(Duration::ZERO)?;
    let _ = vacuum(conn).and_then(|()| run_pragma(conn, "wal_checkpoint(TRUNCATE)"));
    Ok(conn.busy_timeout(LOCK_TIMEOUT)?)
}

/// Frees a thousand pages at a time, each a transaction: a run that is being measured waits for the
/// lock only so long.
fn vacuum(conn: &Connection) -> rusqlite::Result<()> {
    let free = || conn.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    let mut before = free()?;
    while before > 0 {
        run_pragma(conn, "incremental_vacuum(1000)")?;
        let after = free()?;
        if after >= before {
            break; // Another process needs the pages.
        }
        before = after;
    }
    Ok(())
}

/// Runs a pragma to its end: the vacuum frees one page a step.
fn run_pragma(conn: &Connection, pragma: &str) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(&format!("PRAGMA {pragma}"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
