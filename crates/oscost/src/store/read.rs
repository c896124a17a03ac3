//! What only reads: listing runs, finding one, and loading it.

use oscost_model::journal::Entry;
use oscost_model::record::Record;
use rusqlite::{Connection, OptionalExtension, Row};

use super::Store;
use super::body::EntryRow;
use super::error::{Cause, FindError, StoreError};

/// The most runs that an error names.
const MAX_NAMED_RUNS: usize = 5;

/// A run as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// A UUID in lower case.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; `None` while it goes on, and when it was killed.
    pub ended: Option<String>,
    /// Whether everything that was asked for was done.
    pub complete: bool,
    /// The user's own words.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Rows that were asked for; `None` before they were planned. An imported record does not say
    /// who asked: there it is all its rows.
    pub rows_requested: Option<u64>,
    /// Workers that came back, whatever they brought.
    pub workers: u64,
    /// Whether it came as a record from elsewhere.
    pub imported: bool,
}

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// Measured here: its journal, from which its record follows.
    Journal(Vec<Entry>),
    /// Measured elsewhere: its record.
    Imported(Box<Record>),
}

impl Store {
    /// All runs, the newest first. It reads no journal and no record.
    pub fn list(&self) -> Result<Vec<Listing>, StoreError> {
        list(&self.conn).map_err(|cause| self.error("list the runs of".to_owned(), cause))
    }

    /// The id of the run that `asked` means: an id, the beginning of one and no other, `last` for
    /// the one that started last, or `last~N` for the one that started N runs before that.
    pub fn find(&self, asked: &str) -> Result<String, FindError> {
        let mut runs = self.list()?;
        if let Some(back) = before_last(asked)
            && back < runs.len()
        {
            return Ok(runs.swap_remove(back).id);
        }
        let beginning = asked.to_ascii_lowercase();
        let meant = |run: &&Listing| !beginning.is_empty() && run.id.starts_with(&beginning);
        let mut found: Vec<Listing> = runs.iter().filter(meant).cloned().collect();
        match found.len() {
            1 => Ok(found.swap_remove(0).id),
            0 => {
                runs.truncate(MAX_NAMED_RUNS);
                Err(FindError::Unknown { asked: asked.to_owned(), newest: runs })
            }
            count => {
                found.truncate(MAX_NAMED_RUNS);
                Err(FindError::Ambiguous { asked: asked.to_owned(), count, newest: found })
            }
        }
    }

    /// The run of exactly this id.
    pub fn load(&self, id: &str) -> Result<Stored, StoreError> {
        load(&self.conn, id).map_err(|cause| self.error(format!("read run {id} from"), cause))
    }
}

/// How many runs before the last one is meant; `None` where it is not named so.
fn before_last(asked: &str) -> Option<usize> {
    match asked.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

fn list(conn: &Connection) -> Result<Vec<Listing>, Cause> {
    let mut statement = conn.prepare_cached(
        "SELECT id, started, ended, complete, label, command, rows_requested, workers,
                record IS NOT NULL AS imported
         FROM run ORDER BY started DESC, id DESC",
    )?;
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
    })
}

fn load(conn: &Connection, id: &str) -> Result<Stored, Cause> {
    // One transaction, so that another process cannot delete the run between the two questions.
    let tx = conn.unchecked_transaction()?;
    let (key, record) = tx
        .prepare_cached("SELECT key, record FROM run WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)))
        .optional()?
        .ok_or(Cause::NoRun)?;
    match record {
        Some(json) => {
            let record = serde_json::from_str(&json);
            Ok(Stored::Imported(record.map_err(|error| damaged("its record", error))?))
        }
        None => Ok(Stored::Journal(journal(&tx, key)?)),
    }
}

fn journal(conn: &Connection, run: i64) -> Result<Vec<Entry>, Cause> {
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

fn damaged(what: &str, error: impl std::fmt::Display) -> Cause {
    Cause::Damaged(format!("{what} cannot be read: {error}"))
}
