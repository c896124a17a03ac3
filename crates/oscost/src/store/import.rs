//! Records from elsewhere: a file that a stranger may have written is looked at in full before
//! anything of it is kept.

use oscost_model::record::{Record, SCHEMA};
use serde::Deserialize;

use super::Store;
use super::check;
use super::error::{Cause, ImportError};
use super::write::{command_as_json, transaction};

/// The longest record that is taken: room for half a million samples, which take 130 bytes each in
/// JSON without spaces.
pub const MAX_IMPORT_BYTES: usize = 64 << 20;

/// What an error quotes of a record, in characters.
const MAX_QUOTED_CHARS: usize = 200;

impl Store {
    /// Takes in the record of a run that was measured elsewhere, and answers its id.
    ///
    /// What is kept is the record as it was understood: keys that this version does not know are
    /// left out.
    pub fn import(&mut self, bytes: &[u8]) -> Result<String, ImportError> {
        let record = validate(bytes)?;
        match self.insert(&record) {
            Ok(true) => Ok(record.id),
            Ok(false) => Err(ImportError::Exists { id: record.id }),
            Err(cause) => Err(self.error(format!("import run {} into", record.id), cause).into()),
        }
    }

    /// Whether the record was new.
    fn insert(&mut self, record: &Record) -> Result<bool, Cause> {
        let json =
            serde_json::to_string(record).map_err(|error| Cause::Invalid(error.to_string()))?;
        let command = command_as_json(&record.command)?;
        let rows = record.results.len() as i64;
        let workers = record.results.iter().map(|row| row.repetitions.len() as i64).sum::<i64>();
        let tx = transaction(&mut self.conn)?;
        let new = tx
            .prepare_cached(
                "INSERT INTO run (id, started, ended, complete, label, command, rows_requested, workers,
                                  record)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING",
            )?
            .execute((
                &record.id,
                &record.started,
                &record.ended,
                record.complete,
                &record.label,
                command,
                rows,
                workers,
                json,
            ))?;
        tx.commit()?;
        Ok(new == 1)
    }
}

/// Reads a record that anybody may have written. It takes any bytes, and memory in proportion to
/// them; what it answers holds no number that is not finite, no text that is overlong or that a
/// terminal would obey, and no index that leads nowhere.
pub fn validate(bytes: &[u8]) -> Result<Record, ImportError> {
    if bytes.len() > MAX_IMPORT_BYTES {
        return Err(ImportError::TooLarge { bytes: bytes.len(), most: MAX_IMPORT_BYTES });
    }
    // First the schema alone, so that a newer record is called newer, whatever else it changed.
    let head: Head = read(bytes)?;
    if head.schema != SCHEMA {
        let newer = is_newer(&head.schema);
        let (found, known) = (quoted(&head.schema), SCHEMA);
        return Err(match newer {
            true => ImportError::Newer { found, known },
            false => ImportError::OtherSchema { found, known },
        });
    }
    let record = read(bytes)?;
    check::check(&record)?;
    Ok(record)
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| {
        // The message may repeat a word of the record.
        ImportError::NotARecord(quoted(&error.to_string()))
    })
}

/// Whether a schema is this one of a later version.
fn is_newer(schema: &str) -> bool {
    let version = |schema: &str| {
        let (name, version) = schema.split_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    match (version(schema), version(SCHEMA)) {
        (Some((name, found)), Some((ours, known))) => name == ours && found > known,
        _ => false,
    }
}

/// The beginning of a stranger's text, fit to be shown.
fn quoted(text: &str) -> String {
    let shown = |c: char| if check::is_dangerous(c) || c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_QUOTED_CHARS).map(shown).collect()
}
