//! Fleets: the records of their nodes' visits, which are imported.

use oscost_model::record::Record;
use rusqlite::{Connection, OptionalExtension};
use serde::de::DeserializeOwned;

use super::error::{Cause, StoreError};
use super::file::Store;
use super::read::imported;
use super::tables::schema::has_imported;

/// A fleet of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFleet {
    /// Its name.
    pub name: String,
    /// How many visits it has.
    pub visits: u64,
    /// How many nodes they are of.
    pub nodes: u64,
    /// When the newest began, RFC 3339, UTC.
    pub newest: String,
}

/// A visit of a plan that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVisit {
    /// The number of its task.
    pub task: u32,
    /// The id of its run.
    pub run: String,
}

impl Store {
    /// The fleets, by name.
    pub fn fleets(&self) -> Result<Vec<StoredFleet>, StoreError> {
        fleets(&self.conn).map_err(|cause| self.error("list the fleets of".to_owned(), cause))
    }

    /// The ids of a fleet's runs, the oldest first.
    pub fn runs_of_fleet(&self, fleet: &str) -> Result<Vec<String>, StoreError> {
        runs_of_fleet(&self.conn, fleet)
            .map_err(|cause| self.error(format!("find the runs of fleet {fleet} in"), cause))
    }

    /// The visits of a plan that were imported, by task.
    pub fn visits_of_plan(&self, fleet: &str, plan: &str) -> Result<Vec<StoredVisit>, StoreError> {
        visits_of_plan(&self.conn, fleet, plan)
            .map_err(|cause| self.error(format!("find the runs of fleet {fleet} in"), cause))
    }

    /// The record of an imported run, or those keys of it that `T` has: the others are passed over,
    /// which is most of the work for a whole record.
    pub fn imported_record<T: DeserializeOwned>(&self, id: &str) -> Result<T, StoreError> {
        imported_record(&self.conn, id)
            .map_err(|cause| self.error(format!("read run {id} from"), cause))
    }

    /// Reads the records of a fleet one after the other, the oldest first. Runs that another process
    /// deletes meanwhile are left out.
    pub fn records_of_fleet(
        &self,
        fleet: &str,
        each: &mut dyn FnMut(&Record),
    ) -> Result<(), StoreError> {
        for id in self.runs_of_fleet(fleet)? {
            match self.imported_record::<Record>(&id) {
                Ok(record) => each(&record),
                Err(error) if matches!(error.cause, Cause::NoRun) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn fleets(conn: &Connection) -> Result<Vec<StoredFleet>, Cause> {
    if !has_imported(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT fleet, count(*), count(DISTINCT node), max(started)
         FROM imported JOIN run ON run.key = imported.run
         WHERE fleet IS NOT NULL GROUP BY fleet ORDER BY fleet",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(StoredFleet {
            name: row.get(0)?,
            visits: row.get::<_, i64>(1)?.cast_unsigned(),
            nodes: row.get::<_, i64>(2)?.cast_unsigned(),
            newest: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn runs_of_fleet(conn: &Connection, fleet: &str) -> Result<Vec<String>, Cause> {
    if !has_imported(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT id FROM imported JOIN run ON run.key = imported.run
         WHERE fleet = ?1 ORDER BY started, id",
    )?;
    let rows = statement.query_map([fleet], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn visits_of_plan(conn: &Connection, fleet: &str, plan: &str) -> Result<Vec<StoredVisit>, Cause> {
    if !has_imported(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT task, id FROM imported JOIN run ON run.key = imported.run
         WHERE fleet = ?1 AND plan = ?2 ORDER BY task, id",
    )?;
    let rows = statement
        .query_map([fleet, plan], |row| Ok(StoredVisit { task: row.get(0)?, run: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn imported_record<T: DeserializeOwned>(conn: &Connection, id: &str) -> Result<T, Cause> {
    // One transaction, so that another process cannot delete the run between the two queries.
    let tx = conn.unchecked_transaction()?;
    let (key, text) = tx
        .prepare_cached("SELECT key, record FROM run WHERE id = ?1 AND record IS NOT NULL")?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .optional()?
        .ok_or(Cause::NoRun)?;
    imported(&tx, key, &text)
}
