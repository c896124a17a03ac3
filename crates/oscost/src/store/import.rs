//! Records from elsewhere: a file is untrusted, and checked completely before it is stored.

use oscost_model::bill::BILL_SCHEMA;
use oscost_model::fleet::FleetVisit;
use oscost_model::record::{Record, SCHEMA};
use rusqlite::{Connection, Transaction};
use serde::Deserialize;

use super::check;
use super::error::{Cause, ImportError, StoreError};
use super::file::{Store, transaction};
use super::record_kind::RecordKind;
use super::tables::bill_row::has_bill;
use super::tables::packed_record::pack_valid;
use super::tables::run_row::RunRow;
use super::tables::schema::create_imported;

/// The maximum size of a record: room for half a million samples, which take 130 bytes each in JSON
/// without spaces.
pub const MAX_IMPORT_BYTES: usize = 64 << 20;

/// The maximum number of characters of a record that an error quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// A record that was checked, as it is stored. It is made without the store, also in another thread:
/// that takes longer than to store it.
pub struct CheckedRecord {
    id: String,
    started: String,
    ended: Option<String>,
    complete: bool,
    label: Option<String>,
    command: Vec<String>,
    rows: usize,
    workers: usize,
    fleet: Option<FleetVisit>,
    packed: Vec<u8>,
}

/// What became of a record that was to be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is stored now.
    Stored,
    /// It was stored before: a run is the same visit of a fleet's node.
    Known,
    /// Another run or a bill has its id, and stays as it is.
    IdTaken,
}

impl CheckedRecord {
    /// Parses and checks an untrusted record.
    pub fn of(bytes: &[u8]) -> Result<Self, ImportError> {
        let record = validate(bytes)?;
        let packed =
            pack_valid(&record).map_err(|cause| ImportError::NotARecord(cause.to_string()))?;
        Ok(Self {
            rows: record.results.len(),
            workers: record.results.iter().map(|row| row.repetitions.len()).sum(),
            id: record.id,
            started: record.started,
            ended: record.ended,
            complete: record.complete,
            label: record.label,
            command: record.command,
            fleet: record.fleet,
            packed,
        })
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Which visit of a fleet's node it is.
    pub fn fleet(&self) -> Option<&FleetVisit> {
        self.fleet.as_ref()
    }

    /// How many bytes it has in the store.
    pub fn packed_bytes(&self) -> usize {
        self.packed.len()
    }

    fn import(&self, tx: &Transaction<'_>) -> Result<ImportOutcome, Cause> {
        if has_bill(tx, &self.id)? {
            return Ok(ImportOutcome::IdTaken);
        }
        // Also under another id: a task that was done twice is one visit.
        if self.is_stored(tx)? {
            return Ok(ImportOutcome::Known);
        }
        let row = RunRow {
            id: &self.id,
            started: &self.started,
            ended: self.ended.as_deref(),
            complete: self.complete,
            label: self.label.as_deref(),
            command: &self.command,
            rows_requested: Some(self.rows as i64),
            workers: self.workers as i64,
            record: Some(""),
        };
        let key = match row.insert(tx) {
            Ok(key) => key,
            Err(Cause::Exists) => return Ok(ImportOutcome::IdTaken),
            Err(cause) => return Err(cause),
        };
        let fleet = self.fleet.as_ref();
        tx.prepare_cached(
            "INSERT INTO imported (run, fleet, plan, task, node, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            key,
            fleet.map(|it| &it.fleet),
            fleet.map(|it| &it.plan),
            fleet.map(|it| it.task),
            fleet.map(|it| &it.node),
            &self.packed,
        ))?;
        Ok(ImportOutcome::Stored)
    }

    /// Whether a run is the same visit.
    fn is_stored(&self, tx: &Transaction<'_>) -> Result<bool, Cause> {
        let Some(visit) = &self.fleet else { return Ok(false) };
        let sql = "SELECT 1 FROM imported WHERE fleet = ?1 AND plan = ?2 AND task = ?3";
        let values = (&visit.fleet, &visit.plan, visit.task);
        Ok(tx.prepare_cached(sql)?.exists(values)?)
    }
}

impl Store {
    /// Stores the record of a run that was measured elsewhere, and returns its id.
    ///
    /// The stored record is the parsed one: keys that this version does not know are left out.
    pub fn import(&mut self, bytes: &[u8]) -> Result<String, ImportError> {
        let record = CheckedRecord::of(bytes)?;
        let outcome = import_many(&mut self.conn, std::slice::from_ref(&record))
            .map_err(|cause| self.error(format!("import run {} into", record.id), cause))?;
        match outcome[..] {
            [ImportOutcome::Stored] => Ok(record.id),
            _ => Err(ImportError::Exists { id: self.run_in_place_of(record)? }),
        }
    }

    /// The id of the run because of which a record is not imported: the same visit, or its own id.
    fn run_in_place_of(&self, record: CheckedRecord) -> Result<String, StoreError> {
        let CheckedRecord { id, fleet, .. } = record;
        let Some(visit) = fleet else { return Ok(id) };
        let visits = self.visits_of_plan(&visit.fleet, &visit.plan)?;
        let same = visits.into_iter().find(|it| it.task == visit.task);
        Ok(same.map_or(id, |it| it.run))
    }

    /// Stores records in one transaction: all that are new, or nothing. What became of each is
    /// returned in their order.
    pub fn import_many(
        &mut self,
        records: &[CheckedRecord],
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        import_many(&mut self.conn, records)
            .map_err(|cause| self.error("import runs into".to_owned(), cause))
    }
}

fn import_many(
    conn: &mut Connection,
    records: &[CheckedRecord],
) -> Result<Vec<ImportOutcome>, Cause> {
    let tx = transaction(conn)?;
    create_imported(&tx)?;
    let outcomes = records.iter().map(|record| record.import(&tx)).collect::<Result<_, Cause>>()?;
    tx.commit()?;
    Ok(outcomes)
}

/// Parses and checks an untrusted record. Any bytes may be given, and memory use is proportional to
/// them. In the returned record all numbers are finite, no text is too long or contains control
/// sequences for a terminal, and all indices are valid.
pub fn validate(bytes: &[u8]) -> Result<Record, ImportError> {
    if bytes.len() > MAX_IMPORT_BYTES {
        return Err(ImportError::TooLarge { bytes: bytes.len(), max_bytes: MAX_IMPORT_BYTES });
    }
    let record = match read::<Record>(bytes) {
        Ok(record) if record.schema == SCHEMA => record,
        // A newer record is reported as newer, whatever else changed.
        other => match check_schema(bytes, SCHEMA)? {
            RecordKind::Bill => return Err(ImportError::IsBill),
            RecordKind::Run => other?,
        },
    };
    check::check(&record)?;
    Ok(record)
}

/// The kind of record that untrusted bytes are, by their schema's name; `None` if it names none.
pub fn kind_of(bytes: &[u8]) -> Option<RecordKind> {
    kind_of_schema(&read::<Head>(bytes).ok()?.schema)
}

fn kind_of_schema(schema: &str) -> Option<RecordKind> {
    let (name, _) = schema.split_once('/')?;
    let is_of = |known: &str| known.split_once('/').is_some_and(|(known, _)| known == name);
    if is_of(SCHEMA) {
        Some(RecordKind::Run)
    } else if is_of(BILL_SCHEMA) {
        Some(RecordKind::Bill)
    } else {
        None
    }
}

/// The kind of record that bytes are: one of this schema, or of the other kind in any version.
pub(super) fn check_schema(bytes: &[u8], known: &'static str) -> Result<RecordKind, ImportError> {
    let head: Head = read(bytes)?;
    match kind_of_schema(&head.schema) {
        Some(kind) if head.schema == known || Some(kind) != kind_of_schema(known) => Ok(kind),
        _ => {
            let newer = is_newer(&head.schema, known);
            let found = quoted(&head.schema);
            Err(match newer {
                true => ImportError::Newer { found, known },
                false => ImportError::OtherSchema { found, known },
            })
        }
    }
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| {
        // The message may quote the record.
        ImportError::NotARecord(quoted(&error.to_string()))
    })
}

/// Whether a schema is a later version of the known one.
fn is_newer(schema: &str, known: &str) -> bool {
    let version = |schema: &str| {
        let (name, version) = schema.split_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    match (version(schema), version(known)) {
        (Some((name, found)), Some((ours, known))) => name == ours && found > known,
        _ => false,
    }
}

/// The start of an untrusted text, without its control characters.
fn quoted(text: &str) -> String {
    let shown = |c: char| if check::is_dangerous(c) || c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_QUOTED_CHARS).map(shown).collect()
}
