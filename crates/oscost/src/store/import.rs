//! Records from elsewhere: a file is untrusted, and checked completely before it is stored.

use oscost_model::bill::BILL_SCHEMA;
use oscost_model::record::{Record, SCHEMA};
use serde::Deserialize;

use super::check;
use super::error::{Cause, ImportError};
use super::file::{Store, transaction};
use super::record_kind::RecordKind;
use super::tables::bill_row::has_bill;
use super::tables::json::to_json;
use super::tables::run_row::RunRow;

/// The maximum size of a record: room for half a million samples, which take 130 bytes each in JSON
/// without spaces.
pub const MAX_IMPORT_BYTES: usize = 64 << 20;

/// The maximum number of characters of a record that an error quotes.
const MAX_QUOTED_CHARS: usize = 200;

impl Store {
    /// Stores the record of a run that was measured elsewhere, and returns its id.
    ///
    /// The stored record is the parsed one: keys that this version does not know are left out.
    pub fn import(&mut self, bytes: &[u8]) -> Result<String, ImportError> {
        let record = validate(bytes)?;
        match self.insert(&record) {
            Ok(()) => Ok(record.id),
            Err(Cause::Exists) => Err(ImportError::Exists { id: record.id }),
            Err(cause) => Err(self.error(format!("import run {} into", record.id), cause).into()),
        }
    }

    fn insert(&mut self, record: &Record) -> Result<(), Cause> {
        let row = RunRow {
            id: &record.id,
            started: &record.started,
            ended: record.ended.as_deref(),
            complete: record.complete,
            label: record.label.as_deref(),
            command: &record.command,
            rows_requested: Some(record.results.len() as i64),
            workers: record.results.iter().map(|row| row.repetitions.len() as i64).sum(),
            record: Some(to_json(record)?),
        };
        let tx = transaction(&mut self.conn)?;
        if has_bill(&tx, &record.id)? {
            return Err(Cause::Exists);
        }
        row.insert(&tx)?;
        Ok(tx.commit()?)
    }
}

/// Parses and checks an untrusted record. Any bytes may be given, and memory use is proportional to
/// them. In the returned record all numbers are finite, no text is too long or contains control
/// sequences for a terminal, and all indices are valid.
pub fn validate(bytes: &[u8]) -> Result<Record, ImportError> {
    if bytes.len() > MAX_IMPORT_BYTES {
        return Err(ImportError::TooLarge { bytes: bytes.len(), max_bytes: MAX_IMPORT_BYTES });
    }
    // Only the schema first, so that a newer record is reported as newer, whatever else changed.
    if check_schema(bytes, SCHEMA)? == RecordKind::Bill {
        return Err(ImportError::IsBill);
    }
    let record = read(bytes)?;
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
