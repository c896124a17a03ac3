//! Removes the raw batches of runs, which are most of a store, and says how large it is.

use std::time::Duration;

use oscost_model::journal::Entry;
use oscost_model::record::Record;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::error::{Cause, StoreError};
use super::file::{Store, transaction};
use super::limits::LOCK_TIMEOUT;
use super::tables::entry_row::EntryRow;
use super::tables::run_row::HAS_RAW_BATCHES;
use super::tables::schema;
use super::write::{insert, return_space};

/// What the removal of raw batches changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedBytes {
    /// The size of the journal before.
    pub before: u64,
    /// Its size now, with the record.
    pub after: u64,
}

impl Store {
    /// The size of the store in bytes.
    pub fn size_bytes(&self) -> Result<u64, StoreError> {
        let size = size_bytes(&self.conn);
        size.map_err(|cause| self.error("find the size of".to_owned(), cause))
    }

    /// The size of the journal of a run in bytes, with its raw batches.
    pub fn journal_bytes(&self, id: &str) -> Result<u64, StoreError> {
        let size = run_key(&self.conn, id).and_then(|run| journal_bytes(&self.conn, run));
        size.map_err(|cause| self.error(format!("find the size of run {id} in"), cause))
    }

    /// Keeps the record of a run instead of its journal, all of it or nothing. Of the journal the
    /// start stays, by which a run that was measured here differs from an imported one.
    ///
    /// A run without an end is refused, whatever its age: entries that are added later would be
    /// lost, and a clock that was set says nothing about the process that adds them.
    ///
    /// The space is free for other runs then; [`Store::return_space`] returns it to the file
    /// system.
    pub fn prune(
        &mut self,
        id: &str,
        at: &str,
        record: &Record,
    ) -> Result<PrunedBytes, StoreError> {
        prune(&mut self.conn, id, at, record)
            .map_err(|cause| self.error(format!("prune run {id} in"), cause))
    }

    /// The same where its disk may be full: the file is then changed in place, as for a deletion.
    pub fn prune_without_space(
        &mut self,
        id: &str,
        at: &str,
        record: &Record,
    ) -> Result<PrunedBytes, StoreError> {
        let pruned = match prune(&mut self.conn, id, at, record) {
            Err(cause) if cause.is_lack_of_space() => {
                self.reopen_in_place().and_then(|()| prune(&mut self.conn, id, at, record))
            }
            pruned => pruned,
        };
        pruned.map_err(|cause| self.error(format!("prune run {id} in"), cause))
    }

    /// Does something without waiting for other processes: while one of them has locked the store,
    /// the act fails.
    pub fn without_waiting<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> T,
    ) -> Result<T, StoreError> {
        self.set_patience(Duration::ZERO)?;
        let done = act(self);
        self.set_patience(LOCK_TIMEOUT)?;
        Ok(done)
    }

    fn set_patience(&self, time: Duration) -> Result<(), StoreError> {
        let set = self.conn.busy_timeout(time).map_err(Cause::from);
        set.map_err(|cause| self.error("set the lock timeout of".to_owned(), cause))
    }

    /// Returns the space of what was removed to the file system, as far as that is possible now.
    pub fn return_space(&mut self) -> Result<(), StoreError> {
        return_space(&self.conn).map_err(|cause| self.error("free the space of".to_owned(), cause))
    }
}

fn size_bytes(conn: &Connection) -> Result<u64, Cause> {
    let pragma = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok(pragma("page_count")?.cast_unsigned() * pragma("page_size")?.cast_unsigned())
}

/// The key of a run that was measured here, has ended, and has its raw batches.
fn run_key(conn: &Connection, id: &str) -> Result<i64, Cause> {
    let sql = format!("SELECT key, ended IS NOT NULL FROM run WHERE id = ?1 AND {HAS_RAW_BATCHES}");
    let found = conn.prepare_cached(&sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    match found.optional()? {
        Some((key, true)) => Ok(key),
        Some((_, false)) => Err(Cause::NotEnded),
        None => Err(Cause::NoRawBatches),
    }
}

fn journal_bytes(conn: &Connection, run: i64) -> Result<u64, Cause> {
    let sql = "SELECT ifnull(sum(octet_length(body) + ifnull(octet_length(samples), 0)), 0)
               FROM entry WHERE run = ?1";
    let bytes: i64 = conn.prepare_cached(sql)?.query_row([run], |row| row.get(0))?;
    Ok(bytes.cast_unsigned())
}

fn prune(conn: &mut Connection, id: &str, at: &str, record: &Record) -> Result<PrunedBytes, Cause> {
    let record = Some(Box::new(record.clone()));
    let body = EntryRow::of(&Entry::Pruned { at: at.to_owned(), record })?;
    let tx = transaction(conn)?;
    let run = run_key(&tx, id)?;
    let before = journal_bytes(&tx, run)?;
    delete_all_but_the_start(&tx, run)?;
    insert(&tx, run, &body)?;
    schema::mark_as_current(&tx)?;
    let after = journal_bytes(&tx, run)?;
    tx.commit()?;
    Ok(PrunedBytes { before, after })
}

fn delete_all_but_the_start(tx: &Transaction<'_>, run: i64) -> Result<(), Cause> {
    let start = "SELECT min(key) FROM entry WHERE run = ?1";
    tx.execute(&format!("DELETE FROM entry WHERE run = ?1 AND key > ({start})"), [run])?;
    Ok(())
}
